"""Timelines: the versions of one file, under changing paths. A `FileTimeline` follows moves, recorded or found
(`found_renames`), deletion and a later creation, but not another file moved to the path. A folder made by a tool has a
timeline of its presence only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain

import msgspec

from quire_journal.history.history import History
from quire_journal.history.renames import FoundRename, FoundRenames
from quire_journal.model import FOLDER
from quire_journal.views import OUTSIDE_TYPE, Version


class State(msgspec.Struct, frozen=True, gc=False):
    path: str
    version: Version | None  # None: unknown to the journal
    folder: bool = False  # in the timeline of a folder

    @property
    def present(self) -> bool:
        """True if there is a file or link (in a folder's timeline: a folder)."""
        version = self.version
        return version is not None and not version.gone and (version.entry == FOLDER) == self.folder

    @property
    def mode(self) -> int:
        """Permission bits; 0 if unknown."""
        return self.version.mode if self.version is not None else 0

    @property
    def blob(self) -> bytes:
        """Address of the bytes; b"" if none or unknown."""
        return self.version.blob if self.version is not None and self.present else b""

    @property
    def seq(self) -> int:
        return self.version.seq if self.version is not None else 0


class TimelineStep(msgspec.Struct, frozen=True, gc=False):
    """Change of a file by one record."""

    before: State
    after: State
    seq: int
    undone: bool

    @property
    def batch(self) -> int:
        return self.after.version.batch if self.after.version is not None else 0


class FileTimeline(msgspec.Struct, frozen=True, gc=False):
    """Changes of a file, from the state before its first undone record until now."""

    steps: tuple[TimelineStep, ...]

    @property
    def now(self) -> State:
        return self.steps[-1].after

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([self.steps[0].before.path, *(s.after.path for s in self.steps)]))

    def with_bytes(self, blob: bytes) -> Version | None:
        """Return the first version with these bytes, or None; b"" finds a version whose address is unknown."""
        states = (self.steps[0].before, *(s.after for s in self.steps))
        return next((s.version for s in states if s.present and s.blob == blob), None)


def lives(history: History, starts: Iterable[tuple[str, int]], undone: Callable[[Version], bool]) -> list[FileTimeline]:
    """Return the timelines of the files that the records `starts` (path, seq) changed, each once, folders last.
    `undone` returns True for a version that is to be undone.
    """
    found: list[FileTimeline] = []
    folders: dict[str, Version] = {}
    covered: set[tuple[str, int]] = set()
    renamed = partial(_found, history, history.once(FoundRenames), undone)
    for path, seq in sorted(starts, key=lambda start: start[1]):
        first = None if (path, seq) in covered else history.version(path, seq)
        if first is not None and first.gone and (one := renamed(path, first)) is not None:
            path, first = one.new, None if (one.new, one.came) in covered else history.version(one.new, one.came)
        if first is None:
            continue
        if first.entry == FOLDER:
            folders.setdefault(path, first)
            continue
        steps = tuple(_steps(history, path, first, undone, renamed))
        for step in steps:
            covered.update({(step.before.path, step.seq), (step.after.path, step.seq)})
        if steps:
            found.append(FileTimeline(steps))
    return found + [FileTimeline(tuple(_folder_steps(history, path, first, undone))) for path, first in folders.items()]


def _folder_steps(
    history: History, path: str, first: Version, undone: Callable[[Version], bool]
) -> Iterator[TimelineStep]:
    before = State(path, history.version_at(path, first.seq - 1), folder=True)
    for version in (first, *history.versions(path, after=first.seq)):
        after = State(path, version, folder=True)
        yield TimelineStep(before, after, version.seq, undone(version))
        before = after


_Renamed = Callable[[str, Version], FoundRename | None]


def _found(
    history: History, renames: FoundRenames, undone: Callable[[Version], bool], path: str, version: Version
) -> FoundRename | None:
    """Return the rename to which `version` belongs; None also if only one of the rename's two
    records is to be undone.
    """
    found = renames.of(path, version)
    if found is None:
        return None
    left, came = history.version(found.old, found.left), history.version(found.new, found.came)
    return found if left is not None and came is not None and undone(left) == undone(came) else None


def _steps(
    history: History, path: str, first: Version, undone: Callable[[Version], bool], renamed: _Renamed
) -> Iterator[TimelineStep]:
    seq, before = first.seq, _before(history, path, first, renamed)
    later: Iterator[Version] = chain(() if first.displaced else (first,), history.versions(path, after=seq))
    on_the_way = True
    others = False  # True: the path has had another file since this file left
    last = before.blob  # the bytes before the file left
    left = (
        {before.path: seq} if before.path != path else {}
    )  # the file's other paths, each with the record by which it left
    while on_the_way:
        on_the_way = False
        for version in later:
            if version.entry == FOLDER and not before.present:
                continue  # an empty folder where there was no file
            if not before.present and version.seq != seq:
                others = not _goes_on(version, before, last, others)
                if others:
                    continue
            again = _found_elsewhere(history, path, before, version, renamed)
            again = again or _back_at_other_name(history, before, version, left)
            if again is not None and again.version is not None:
                yield TimelineStep(before, again, again.version.seq, undone(again.version))
                left[path] = version.seq
                before, path, on_the_way = again, again.path, True
                later = history.versions(path, after=again.version.seq)
                break
            target = history.version(version.moved_to, version.seq) if version.gone and version.moved_to else None
            after = State(path, version) if target is None else State(version.moved_to, target)
            yield TimelineStep(before, after, version.seq, undone(version))
            last, before = before.blob or last, after
            if target is not None:
                left[path] = version.seq
                path, on_the_way = after.path, True
                later = history.versions(path, after=version.seq)
                break
        back = None if on_the_way else _back_elsewhere(history, before)
        if back is not None and back.version is not None:
            yield TimelineStep(before, back, back.version.seq, undone(back.version))
            before, path, on_the_way, others = back, back.path, True, False
            later = history.versions(path, after=back.version.seq)


def _found_elsewhere(history: History, path: str, at: State, end: Version, renamed: _Renamed) -> State | None:
    """Return the state under its new name of a file that left `path` with `end` by a found rename; None without one."""
    one = renamed(path, end) if end.gone and at.present else None
    if one is None or one.new == path or one.came <= at.seq:
        return None
    return State(one.new, history.version(one.new, one.came))


def _before(history: History, path: str, first: Version, renamed: _Renamed) -> State:
    one = None if first.gone else renamed(path, first)
    if one is not None:
        return State(one.old, history.version_at(one.old, one.before))
    came_from = first.moved_from or path
    base = history.version(came_from, first.base) if first.base else None
    if base is not None and came_from == path and 0 <= base.index == first.index - 1:
        return State(path, base)  # the common case, without a search
    there = history.version_at(came_from, first.seq - 1)
    if base is not None and base.gone:
        return State(came_from, base)  # restored; the path may have another file now
    return State(came_from, there)


def _back_elsewhere(history: History, gone: State) -> State | None:
    if gone.present or gone.version is None:
        return None
    for version in history.versions(gone.path, after=gone.version.seq, displaced=True):
        if version.displaced and version.gone and version.base == gone.version.seq:
            there = history.version(version.moved_to, version.seq)
            return None if there is None else State(version.moved_to, there)
    return None


def _back_at_other_name(history: History, at: State, end: Version, left: Mapping[str, int]) -> State | None:
    """Return the state of a file that is gone by `end`, if it came back with the same bytes at a path that it had
    `left` (path → record); else None.
    """
    if not (end.gone and end.type == OUTSIDE_TYPE) or end.moved_to or not at.blob:
        return None
    for name, seq in sorted(left.items(), key=lambda one: one[1], reverse=True):
        there = next(iter(history.versions(name, after=seq)), None) if name != at.path else None
        if there is None or there.type != OUTSIDE_TYPE or there.base or there.moved_from or there.gone:
            continue
        if there.blob == at.blob:
            return State(name, there)
    return None


def _goes_on(version: Version, gone: State, last: bytes, others: bool) -> bool:
    """True if a file that appears at a path continues the file that left it. `others`: the path has had another file
    since.

    A restored file names its base, a new file without base continues the old, and so does an outside move of the `last`
    bytes back.
    """
    if version.moved_from and version.type == OUTSIDE_TYPE and version.blob == last and not others:
        return True
    if gone.version is not None and version.base == gone.version.seq:
        return True
    return not (others or version.moved_from or version.base)
