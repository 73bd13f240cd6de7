"""Found renames: files that git, or a program while nobody watched, moved. The journal has a record of the new name and
one of the old, in either order. A file added and a file removed at one time, with equal or similar contents, are one
file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from quire_journal.history import NEAR_NS, History, is_by_git
from quire_journal.history.renames.similar_files import alike
from quire_journal.model import FOLDER, SCANNED, OutsideDeleted, OutsideMoved, OutsideWritten, Record
from quire_journal.text import Text
from quire_journal.views import OUTSIDE_TYPE, Version

MOST_RECORDS: Final = 4_000
"""Maximum number of records around a version that are searched, in each direction."""

MOST_READ: Final = 20_000
"""Maximum number of records that are searched in all; then no further rename is found."""


class FoundRename(NamedTuple):
    old: str
    left: int  # the record by which the file left `old`
    new: str
    came: int  # the record by which it came to `new`

    @property
    def before(self) -> int:
        """The newest record before both."""
        return min(self.left, self.came) - 1


class _Write(NamedTuple):
    seq: int
    event: OutsideDeleted | OutsideMoved | OutsideWritten


_KINDS: Final = frozenset(kind.kind for kind in (OutsideDeleted, OutsideMoved, OutsideWritten))


class FoundRenames:
    """The renames around the versions that are asked about."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._left_to_read = MOST_READ
        self._searched: set[int] = set()
        self._by_end: dict[tuple[str, int], FoundRename] = {}  # (path, record) of each end

    def of(self, path: str, version: Version) -> FoundRename | None:
        """Return the rename by which a version left `path`, or came to it."""
        is_end = version.gone or not version.base
        if version.type != OUTSIDE_TYPE or not is_end or version.moved_from or version.moved_to:
            return None
        if version.seq not in self._searched:
            self._search(version.seq)
        return self._by_end.get((path, version.seq))

    def _search(self, seq: int) -> None:
        self._searched.add(seq)
        first = self._history.record(seq)
        if first is None or not all(map(self._is_mover, _writes([first]))):
            return
        earlier = list(self._near(first, self._history.records(upto=seq - 1, reverse=True)))
        later = self._near(first, self._history.records(after=seq))
        for group in _groups([*earlier[::-1], *_writes([first]), *later]):
            self._searched.update(write.seq for write in group)
            for one in self._renames(group):
                self._by_end[one.old, one.left] = self._by_end[one.new, one.came] = one

    def _near(self, first: Record, records: Iterator[Record]) -> Iterator[_Write]:
        """Yield git's writes among the records, until there is none for `NEAR_NS`."""
        last_ns = first.at_ns
        for _, record in zip(range(MOST_RECORDS), records, strict=False):
            self._left_to_read -= 1
            if self._left_to_read < 0 or abs(record.at_ns - last_ns) > NEAR_NS:
                return
            for write in _writes([record]):
                last_ns = record.at_ns
                yield write

    def _renames(self, group: Sequence[_Write]) -> Iterator[FoundRename]:
        history = self._history
        gone = {w.event.path: w.seq for w in group if isinstance(w.event, OutsideDeleted) and self._is_mover(w)}
        came = {w.event.path: w.seq for w in group if isinstance(w.event, OutsideWritten) and self._is_new(w)}
        if not gone or not came:
            return
        olds = {path: history.version_at(path, seq - 1) for path, seq in gone.items()}
        news = {path: history.version(path, seq) for path, seq in came.items()}
        for new, old in alike(_files(olds.items()), _files(news.items()), self._text_of).items():
            there = olds[old]
            if there is not None and there.seq < min(gone[old], came[new]):
                yield FoundRename(old, gone[old], new, came[new])

    def _is_new(self, write: _Write) -> bool:
        return not (isinstance(write.event, OutsideWritten) and write.event.base) and self._is_mover(write)

    def _is_mover(self, write: _Write) -> bool:
        """True for a write by git, or one that a scan found and nobody is proved to have made."""
        if is_by_git(write.event.hint):
            return True
        version = self._history.version(write.event.path, write.seq)
        return version is not None and version.evidence == SCANNED

    def _text_of(self, version: Version) -> Text | None:
        return None if version.uncaptured else self._history.text_held(version.blob)


def _writes(records: Iterable[Record]) -> Iterator[_Write]:
    for record in records:
        if record.kind in _KINDS and isinstance(
            event := record.event(), OutsideDeleted | OutsideMoved | OutsideWritten
        ):
            yield _Write(record.seq, event)


def _groups(writes: Iterable[_Write]) -> Iterator[list[_Write]]:
    """Yield the writes in groups. Another one begins where a name that was taken is left, or one that was left is taken
    again.
    """
    found: list[_Write] = []
    left: set[str] = set()
    taken: set[str] = set()
    for write in writes:
        event = write.event
        leaves = "" if isinstance(event, OutsideWritten) else event.path
        takes = event.to if isinstance(event, OutsideMoved) else event.path if isinstance(event, OutsideWritten) else ""
        if leaves in taken or takes in left:
            yield found
            found, left, taken = [], set(), set()
        found.append(write)
        left |= {leaves} - {""}
        taken |= {takes} - {""} if not isinstance(event, OutsideWritten) or not event.base else set()
    if found:
        yield found


def _files(versions: Iterable[tuple[str, Version | None]]) -> dict[str, Version]:
    return {path: one for path, one in versions if one is not None and not one.gone and one.entry != FOLDER}
