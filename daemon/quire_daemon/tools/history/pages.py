"""One page of the log: matching records, found by indexes within a work limit.

Records of a few paths are found in the table of versions, those of a writer, agent session, turn or kind in the index
of terms. A page ends when it is full or its work limit is reached; a unit of work is about 10 µs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from quire_daemon.tools.history.difference import Room, before, difference, lines_counted
from quire_daemon.tools.history.filters import SHOWN_KINDS, VERSION_KINDS, Filter, common_part, single_path
from quire_journal.history import History
from quire_journal.model import FOLDER, REGULAR, Record, path_after
from quire_journal.storage.blobs import BlobCache, NotHeld
from quire_journal.views import Version
from quire_journal.views.indexes import BLOCK

WORK: Final = 1000
"""Maximum number of work units of one page."""

RECORD_WORK: Final = 0.5

STEP_WORK: Final = 0.1

TEXT_WORK: Final = 12
"""Work units for loading a version's bytes, in addition to one for every `BYTES_OF_WORK`."""

BYTES_OF_WORK: Final = 4096

DIFFERENCE_WORK: Final = 40

MOST_UNDONE: Final = 20
"""Maximum number of undone batches listed for a file's record."""

NEAR_BYTES: Final = 4 << 20
"""Cache size in bytes for version texts."""

MOST_PATHS: Final = 400


class LogQuery(msgspec.Struct, frozen=True):
    """Filters, bounds and output options of one `log` call."""

    keep: Filter
    path: str  # the caller's path argument
    after: int
    upto: int
    newest_first: bool
    limit: int
    contains: bytes = b""  # text in the version's bytes
    text_changed: bytes = b""  # text whose number of occurrences changed
    patch: bool = False
    stat: bool = False
    patch_bytes: int = 0


class LogRow(msgspec.Struct, frozen=True):
    """A listed record with its additional reply fields."""

    record: Record
    told: dict[str, Any] = msgspec.field(default_factory=dict)


class Page(msgspec.Struct, frozen=True):
    """Result of one call. `looked_to` is the last record examined; `more` is True if further matches may follow."""

    found: list[LogRow]
    looked_to: int | None
    more: bool
    left_out: int = 0  # records whose writer is unproved but may be the requested one


def page(wish: LogQuery, history: History) -> Page:
    """Return the next matching records, in order."""
    found: list[LogRow] = []
    looked_to: int | None = None
    gatherer = _Looking(wish, history)
    for reached, seqs in _steps(wish, history):
        gatherer.left -= STEP_WORK
        for seq in seqs:
            if gatherer.left <= 0 or len(found) == wish.limit:
                return Page(found, looked_to, True, gatherer.left_out)
            entry = gatherer.at(seq)
            if gatherer.full:
                return Page(found, looked_to, True, gatherer.left_out)
            looked_to = seq
            if entry is not None:
                found.append(entry)
        looked_to = reached
        if gatherer.left <= 0:
            return Page(found, looked_to, True, gatherer.left_out)
    return Page(found, looked_to, False, gatherer.left_out)


# ── which records to look at ─────────────────────────────────────────────────


def _steps(wish: LogQuery, history: History) -> Iterator[tuple[int, Sequence[int]]]:
    wanted = wish.keep.sought()
    numbers = _paths_of(wish, history)
    if numbers is None:
        yield from history.with_terms(wanted, wish.after, wish.upto, wish.newest_first)
        return
    may_be = history.term_filter(wanted)
    for seq in history.touching(numbers, wish.after, wish.upto, wish.newest_first):
        yield seq, (seq,) if may_be.admits(seq) else ()


def _paths_of(wish: LogQuery, history: History) -> Sequence[int] | None:
    if wish.keep.path is None or not wish.keep.kinds <= SHOWN_KINDS:
        return None
    single = single_path(wish.path, history)
    if single is not None:
        return numbers_of([single, *wish.keep.earlier], history)
    # A short range of records is cheaper to scan than paths are to resolve (usual for `since`).
    if wish.upto - wish.after < 4 * BLOCK:
        return None
    return few_numbers(wish.path, wish.keep.path, history)


def few_numbers(given: str, fits: Callable[[str], object], history: History) -> Sequence[int] | None:
    """Return the numbers of the paths that fit `given`, whose filter is `fits`; None if there are more than
    `MOST_PATHS`.
    """
    numbers = history.path_numbers(given, fits, common_part(given, history), MOST_PATHS)
    return numbers if len(numbers) <= MOST_PATHS else None


def numbers_of(paths: Iterable[str], history: History) -> list[int]:
    """Return the numbers of the paths that have versions."""
    return [number for path in paths if (number := history.path_id(path)) is not None]


# ── a look at one ────────────────────────────────────────────────────────────


class _Looking:
    def __init__(self, wish: LogQuery, history: History) -> None:
        self.left: float = WORK
        self.full = False  # the next record's patch does not fit the reply
        self._wish = wish
        self._history = history
        self.left_out = 0
        self._admits: Callable[[Record], bool | None] = wish.keep.admitting()
        self._counts: dict[bytes, int] = {}
        self._near = BlobCache(NEAR_BYTES)
        self._room = Room(wish.patch_bytes)

    def at(self, seq: int) -> LogRow | None:
        """Return the record as a row; None if it does not match. A record that is only possibly of the requested writer
        is counted in `left_out`.
        """
        self.left -= RECORD_WORK
        record = self._history.record(seq)
        admitted = None if record is None else self._admits(record)
        if record is None or not admitted:
            self.left_out += record is not None and admitted is None
            return None
        wish = self._wish
        if wish.contains and not self._contains(record):
            return None
        told: dict[str, Any] = {}
        if wish.text_changed or wish.patch or wish.stat:
            changed = self._change(record)
            if wish.text_changed:
                counts = None if changed is None else [self._count(changed[1]), self._count(changed[3])]
                if counts is None or None in counts or counts[0] == counts[1]:
                    return None
                told["occurrences"] = counts
            if changed is not None:
                told |= self._difference(changed)
        return LogRow(record, told)

    def _contains(self, record: Record) -> bool:
        blob: bytes = getattr(record.event(), "blob", b"")
        data = self._bytes(blob) if blob else None
        return data is not None and self._wish.contains in data

    def _change(self, record: Record) -> tuple[str, Version | None, str, Version] | None:
        """Return (old path, old version, new path, new version) of a record that changed a file; None for other
        records.
        """
        if record.kind not in VERSION_KINDS:
            return None
        path = path_after(record.event())
        version = self._history.version(path, record.seq) if path is not None else None
        if path is None or version is None or version.displaced:
            return None
        return *before(self._history, path, version), path, version

    def _count(self, version: Version | None) -> int | None:
        if version is None or version.gone or version.entry == FOLDER:
            return 0
        known = self._counts.get(version.blob)
        if known is None:
            data = None if version.uncaptured else self._bytes(version.blob)
            if data is None:
                return None
            known = self._counts[version.blob] = data.count(self._wish.text_changed)
        return known

    def _bytes(self, blob: bytes) -> bytes | None:
        try:
            data = self._history.bytes_near(blob, self._near)
        except NotHeld:
            return None
        self.left -= TEXT_WORK + len(data) / BYTES_OF_WORK
        return data

    def _difference(self, changed: tuple[str, Version | None, str, Version]) -> dict[str, Any]:
        wish, history, told = self._wish, self._history, dict[str, Any]()
        old_path, old, path, new = changed
        if not (wish.stat or wish.patch):
            return told
        sizes = sum(v.size for v in (old, new) if v is not None and v.entry == REGULAR)
        self.left -= DIFFERENCE_WORK + 2 * sizes / BYTES_OF_WORK
        if wish.stat:
            told["stat"] = lines_counted(old, new, history)
        if wish.patch:
            fresh = self._room.left == wish.patch_bytes
            shown = difference(old_path, old, path, new, history, self._room)
            shown.pop("hunks", None)
            self.full = bool(shown.get("truncated")) and not fresh
            told["diff"] = shown
        return told
