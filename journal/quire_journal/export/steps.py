"""Steps: the log in units of a commit, a patch or a trace: a run of records of a batch, of a burst, or between two
checkpoints. The tree after a step is the journal's after its newest record, so a burst interrupted by other writes
becomes several steps. The first scan is one step.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from quire_journal.export.source import Row, Source
from quire_journal.model import CAPTURED, FOLDER, LINK, NAMING, OVERLAP, CaptureFailed, Event, OutsideWritten, plain
from quire_journal.views import Version

MOST_LABEL: Final = 200

_CAPTURE: Final = "what was found at the start"


class PathChange(msgspec.Struct, frozen=True):
    """Change of one path; None where there is no file."""

    path: str
    before: Version | None
    after: Version | None


class Step(msgspec.Struct, frozen=True):
    """Run of records that an export shows as one change."""

    first: int  # seq of the first record with a change
    last: int  # seq of the newest record
    at_ns: int  # time of the newest record
    label: str  # of the burst, of the checkpoint; "" for a batch
    batches: tuple[int, ...]
    writers: tuple[int, ...]  # by number of versions, the most first
    hints: tuple[str, ...]  # of outside versions
    changes: tuple[PathChange, ...]
    evidence: tuple[str, ...] = ()  # of attributed outside versions


def steps(source: Source, by: str) -> Iterator[Step | None]:
    """Yield the steps of the range in order, before them a step that creates the tree before the range, unless it is
    empty. None is a pause point. `by` is a key of `BY`.
    """
    tree = source.tree()
    if tree:
        yield _given(source, tree)
    key_of = BY[by](source)
    open_step: _Open | None = None
    for count, row in enumerate(source.rows(), 1):
        if not row.versions:
            if count % 100 == 0:
                yield None
            continue
        key = key_of(row)
        if open_step is not None and open_step.key != key:
            yield open_step.closed()
            open_step = None
        if open_step is None:
            open_step = _Open(key, row.record.seq)
        open_step.add(row, tree)
    if open_step is not None:
        yield open_step.closed()


def git_mode(version: Version | None) -> str:
    """Return git's mode of a version; "" if git does not store it (gone, a folder)."""
    if version is None or version.gone or version.entry == FOLDER:
        return ""
    if version.entry == LINK:
        return "120000"
    return "100755" if version.mode & 0o100 else "100644"


class _Open(msgspec.Struct):
    key: tuple[str, int]
    first: int
    last: int = 0
    at_ns: int = 0
    batches: dict[int, None] = msgspec.field(default_factory=dict)
    writers: dict[int, int] = msgspec.field(default_factory=dict)
    hints: dict[str, None] = msgspec.field(default_factory=dict)
    evidence: dict[str, None] = msgspec.field(default_factory=dict)
    before: dict[str, Version | None] = msgspec.field(default_factory=dict)
    after: dict[str, Version | None] = msgspec.field(default_factory=dict)

    def add(self, row: Row, tree: dict[str, Version]) -> None:
        self.last, self.at_ns = row.record.seq, row.record.at_ns
        self.batches[row.record.batch] = None
        hint = getattr(row.event, "hint", "")
        if hint:
            self.hints[plain(hint, MOST_LABEL)] = None
        for path, version in row.versions:
            self.writers[version.writer] = self.writers.get(version.writer, 0) + 1
            if version.evidence in (*NAMING, OVERLAP):
                self.evidence[version.evidence] = None
            self.before.setdefault(path, tree.get(path))
            if version.gone:
                tree.pop(path, None)
                self.after[path] = None
            else:
                tree[path] = self.after[path] = version

    def closed(self) -> Step:
        return Step(
            self.first,
            self.last,
            self.at_ns,
            self.key[0],
            tuple(self.batches),
            tuple(sorted(self.writers, key=lambda writer: -self.writers[writer])),
            tuple(self.hints),
            tuple(PathChange(path, self.before[path], self.after[path]) for path in self.before),
            tuple(self.evidence),
        )


def _given(source: Source, tree: dict[str, Version]) -> Step:
    at_ns = max(version.at_ns for version in tree.values())
    changes = tuple(PathChange(path, None, version) for path, version in tree.items())
    after = source.stretch.after
    return Step(after, after, at_ns, f"the state after record {after}", (), (), (), changes)


# ── grouping ──

_KeyOf = Callable[[Row], tuple[str, int]]
"""Function from a row to (label, number) of its step; consecutive rows with equal keys are one step."""


def _by_batch(source: Source) -> _KeyOf:
    capturing = False

    def key(row: Row) -> tuple[str, int]:
        nonlocal capturing
        capturing = _captured(row.event) or (capturing and isinstance(row.event, CaptureFailed))
        return (_CAPTURE, 0) if capturing else ("", row.record.batch)

    return key


def _by_burst(source: Source) -> _KeyOf:
    bursts, by_batch = source.bursts(), _by_batch(source)

    def key(row: Row) -> tuple[str, int]:
        burst = bursts.get(row.record.batch)
        return by_batch(row) if burst is None else (plain(f"burst {burst[0]}: {burst[1]}", MOST_LABEL), burst[0])

    return key


def _by_checkpoint(source: Source) -> _KeyOf:
    named = source.checkpoints()
    cursors = [cursor for cursor, _ in named]

    def key(row: Row) -> tuple[str, int]:
        at = bisect_left(cursors, row.record.seq)
        if at == len(named):
            return "after the last checkpoint", at
        names = ", ".join(name for cursor, name in named if cursor == cursors[at])
        return plain(f"checkpoint {names}", MOST_LABEL), at

    return key


def _captured(event: Event | None) -> bool:
    return isinstance(event, OutsideWritten) and event.evidence == CAPTURED


BY: Final[dict[str, Callable[[Source], _KeyOf]]] = {
    "batch": _by_batch,
    "burst": _by_burst,
    "checkpoint": _by_checkpoint,
}
