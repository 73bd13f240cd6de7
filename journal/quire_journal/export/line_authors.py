"""Authors of the lines that a step adds, as in blame: git, an undo, a copy and a rename are no authors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quire_journal.export.git_patch import changed_lines, is_plain
from quire_journal.export.source import Source
from quire_journal.export.steps import PathChange, Step, git_mode
from quire_journal.history import UNDOING, LineOrigin
from quire_journal.model import CAPTURED, LINK, OUTSIDE
from quire_journal.views import OUTSIDE_TYPE, Version


def line_authors(change: PathChange, source: Source) -> Iterator[tuple[int, int, Version]]:
    """Yield (start, stop, version that wrote the lines) of the lines that a change adds (0-based, half-open); nothing
    for bytes that are no text.
    """
    version = change.after
    data = _text(version, source)
    if data is None or version is None:
        return
    changed = [(start, stop) for _, _, start, stop in changed_lines(_text(change.before, source) or b"", data)]
    origins = None if _is_typed(change) or version.evidence == CAPTURED else source.origins(change.path, version)
    for start, stop in changed:
        if start < stop:
            yield from _by_author(start, stop, version, origins)


def brought_authors(step: Step, source: Source) -> list[int]:
    """Return the writers who authored lines of a step but did not make the step."""
    found: dict[int, None] = {}
    for change in step.changes:
        if change.after is not None and not _is_typed(change):
            found.update(dict.fromkeys(version.writer for _, _, version in line_authors(change, source)))
    return [writer for writer in found if writer not in step.writers and writer != OUTSIDE]


def _is_typed(change: PathChange) -> bool:
    version, before = change.after, change.before
    if version is None or version.type in (OUTSIDE_TYPE, UNDOING) or version.moved_from:
        return False
    return version.index == (0 if before is None else before.index + 1)


def _by_author(
    start: int, stop: int, version: Version, origins: Sequence[LineOrigin] | None
) -> Iterator[tuple[int, int, Version]]:
    if origins is None or len(origins) < stop:
        yield start, stop, version
        return
    first = start
    for number in range(start + 1, stop + 1):
        if number == stop or origins[number].version.seq != origins[first].version.seq:
            yield first, number, origins[first].version
            first = number


def _text(version: Version | None, source: Source) -> bytes | None:
    if version is None or not git_mode(version) or version.entry == LINK or source.missing(version):
        return None
    data = source.bytes_of(version.blob)
    return data if is_plain(data) else None
