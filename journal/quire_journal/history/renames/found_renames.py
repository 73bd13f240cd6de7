"""Found renames: files that git, or a program while nobody watched, moved, and those that a program wrote under a new
name just before it removed the old one. The journal has a record of the new name and one of the old. A file added and a
file removed at one time, with equal or similar contents, are one file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from quire_journal.history import NEAR_NS, History, is_by_git
from quire_journal.history.renames.similar_files import SIMILAR, alike, base_name, similarity, with_same_bytes
from quire_journal.model import (
    EXACT,
    FOLDER,
    OUTSIDE,
    SCANNED,
    WATCHED,
    OutsideDeleted,
    OutsideMoved,
    OutsideWritten,
    Record,
    cached_property,
)
from quire_journal.text import Text
from quire_journal.views import OUTSIDE_TYPE, Version

MOST_RECORDS: Final = 4_000
"""Maximum number of records around a version that are searched, in each direction."""

BESIDE_NS: Final = 1_000_000_000
"""Maximum pause in ns between the records of the two names of a file, unless git moved it or a scan found it."""

MOST_BESIDE: Final = 100
"""Maximum number of records searched in each direction around a version that git did not move and no scan found."""

MOST_READ: Final = 20_000
"""Maximum number of records that are searched in all; then no further rename is found."""


class FoundRename(NamedTuple):
    old: str
    left: int  # the record by which the file left `old`
    new: str
    came: int  # the record by which it came to `new`

    @property
    def before(self) -> int:
        """Seq of the newest record before the file left the old name and came to the new one."""
        return min(self.left, self.came) - 1


class _Write(NamedTuple):
    seq: int
    event: OutsideDeleted | OutsideMoved | OutsideWritten


_FOUND: Final = b"found"
_KINDS: Final = frozenset(kind.kind for kind in (OutsideDeleted, OutsideMoved, OutsideWritten))


class FoundRenames:
    """Finder of renames among the records around a version, when asked about the version."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._left_to_read = MOST_READ
        self._searched: dict[tuple[int, bytes], _Group] = {}  # by each record and the mover of the group

    def of(self, path: str, version: Version) -> FoundRename | None:
        """Return the rename by which the file of `version` left `path`, or came to it; None for no rename."""
        is_end = version.gone or not version.base
        if version.type != OUTSIDE_TYPE or not is_end or version.moved_from or version.moved_to:
            return None
        first = self._history.record(version.seq)
        movers = () if first is None else next(map(self._movers, _writes([first])), ())
        found = (self._group(first, mover).renamed(path, version.seq) for mover in movers if first is not None)
        return next((rename for rename in found if rename is not None), None)

    def _group(self, first: Record, mover: bytes) -> _Group:
        if (first.seq, mover) not in self._searched:
            self._search(first, mover)
        return self._searched[first.seq, mover]

    def _search(self, first: Record, mover: bytes) -> None:
        seq = first.seq
        most, pause_ns = (MOST_RECORDS, NEAR_NS) if mover == _FOUND else (MOST_BESIDE, BESIDE_NS)
        earlier = [*self._near(first, islice(self._history.records(upto=seq - 1, reverse=True), most), pause_ns)]
        later = self._near(first, islice(self._history.records(after=seq), most), pause_ns)
        for writes in _groups([*earlier[::-1], *_writes([first]), *later]):
            moving = [write for write in writes if mover in self._movers(write)]
            group = _Group(self._history, moving, mover == _FOUND)
            self._searched.update(dict.fromkeys(((write.seq, mover) for write in moving), group))

    def _near(self, first: Record, records: Iterable[Record], pause_ns: int) -> Iterator[_Write]:
        """Yield the writes by other programs in `records`, until a pause of more than `pause_ns`."""
        last_ns = first.at_ns
        for record in records:
            self._left_to_read -= 1
            if self._left_to_read < 0 or abs(record.at_ns - last_ns) > pause_ns:
                return
            for write in _writes([record]):
                last_ns = record.at_ns
                yield write

    def _movers(self, write: _Write) -> Sequence[bytes]:
        """Return who may have moved a file with this write: `_FOUND` for git, or if a scan found the write; the caller
        of a write that the watcher saw. () for other writes, such as what an agent announced.
        """
        by_git = [_FOUND] if is_by_git(write.event.hint) else []
        version = self._history.version(write.event.path, write.seq)
        if version is None or version.evidence == SCANNED:
            return by_git or ([] if version is None else [_FOUND])
        is_seen = write.event.evidence == WATCHED and version.evidence != EXACT
        is_told = is_seen and (version.writer != OUTSIDE or not by_git)
        return [*by_git, b"by " + self._history.caller_of(version.writer)] if is_told else by_git


class _Group:
    """Writes at one time, and the renames among them: first pairs with equal bytes, then pairs that alone have a base
    name, as in git, then the most similar pairs.
    """

    def __init__(self, history: History, writes: Sequence[_Write], in_any_order: bool) -> None:
        """With `in_any_order` False, a rename counts only if the new name came while the old file was there."""
        self._history, self._in_any_order = history, in_any_order
        self._gone = {w.event.path: w.seq for w in writes if isinstance(w.event, OutsideDeleted)}
        self._came = {w.event.path: w.seq for w in writes if isinstance(w.event, OutsideWritten) and not w.event.base}

    def renamed(self, path: str, seq: int) -> FoundRename | None:
        """Return the rename of which record `seq` is an end, with `path` as that end's name; None for no rename."""
        if not self._gone or not self._came or seq not in (self._gone.get(path), self._came.get(path)):
            return None
        news = {old: new for new, old in self._alike.items()}
        new = path if path in self._came else news.get(path) or self._new_of_base.get(base_name(path), "")
        old = self._alike.get(new) or self._old_of_base.get(base_name(new), "")
        if path not in (old, new) or old not in self._olds or new not in self._news:
            return None
        there, one = self._olds[old], FoundRename(old, self._gone[old], new, self._came[new])
        if there.seq > one.before or not (self._in_any_order or one.came < one.left):
            return None
        known = new in self._alike or similarity(there, self._news[new], self._text_of) >= SIMILAR
        return one if known else None

    @cached_property
    def _olds(self) -> dict[str, Version]:
        return _files((path, self._history.version_at(path, seq - 1)) for path, seq in self._gone.items())

    @cached_property
    def _news(self) -> dict[str, Version]:
        return _files((path, self._history.version(path, seq)) for path, seq in self._came.items())

    @cached_property
    def _same(self) -> dict[str, str]:
        return with_same_bytes(self._olds, self._news)

    @cached_property
    def _old_of_base(self) -> dict[str, str]:
        """Base name → the only old path with it, where only one new path has it too."""
        olds = _by_base({*self._olds} - {*self._same.values()})
        return {base: path for base, path in olds.items() if path and self._by_new_base.get(base)}

    @cached_property
    def _new_of_base(self) -> dict[str, str]:
        return {base: self._by_new_base[base] for base in self._old_of_base}

    @cached_property
    def _by_new_base(self) -> dict[str, str]:
        return _by_base({*self._news} - {*self._same})

    @cached_property
    def _alike(self) -> dict[str, str]:
        """New path → old path, except for files that are found by their base names."""
        apart = {*self._same, *self._same.values(), *self._old_of_base.values(), *self._new_of_base.values()}
        olds = {path: one for path, one in self._olds.items() if path not in apart}
        news = {path: one for path, one in self._news.items() if path not in apart}
        return self._same | alike(olds, news, self._text_of)

    def _text_of(self, version: Version) -> Text | None:
        return None if version.uncaptured else self._history.text_held(version.blob)


def _by_base(paths: Iterable[str]) -> dict[str, str]:
    """Return base name → the path with it, "" for several."""
    found: dict[str, str] = {}
    for path in paths:
        found[base_name(path)] = "" if base_name(path) in found else path
    return found


def _writes(records: Iterable[Record]) -> Iterator[_Write]:
    for record in records:
        if record.kind in _KINDS and isinstance(
            event := record.event(), OutsideDeleted | OutsideMoved | OutsideWritten
        ):
            yield _Write(record.seq, event)


def _groups(writes: Iterable[_Write]) -> Iterator[list[_Write]]:
    """Yield the writes in groups. A new group begins where a name taken in the group is left, or a name left in the
    group is taken again.
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
