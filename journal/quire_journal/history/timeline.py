"""The lives of files: which versions, under which names, are those of one file.

A `FileTimeline` is one file through time: it follows moves, and goes on through a deletion and what is made there
later, but not into a file that comes there from another name: that has a life of its own. A folder that a tool made has
one, too, as something that is there or not; what is in it is no part of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

import msgspec

from quire_journal.history.history import History
from quire_journal.model import FOLDER
from quire_journal.views import OUTSIDE_TYPE, Version


class State(msgspec.Struct, frozen=True, gc=False):
    """A file at one moment of its life."""

    path: str
    version: Version | None  # None: the journal knew nothing there
    folder: bool = False  # in the life of a folder

    @property
    def present(self) -> bool:
        """Was there a file, or a link? An empty folder is none, but in the life of one."""
        version = self.version
        return version is not None and not version.gone and (version.entry == FOLDER) == self.folder

    @property
    def mode(self) -> int:
        """Its permission bits; 0 where the journal knew nothing."""
        return self.version.mode if self.version is not None else 0

    @property
    def blob(self) -> bytes:
        """Its bytes' address; b"" where there were none, or none known."""
        return self.version.blob if self.version is not None and self.present else b""

    @property
    def seq(self) -> int:
        """Of the version; 0 where the journal knew nothing."""
        return self.version.seq if self.version is not None else 0


class TimelineStep(msgspec.Struct, frozen=True, gc=False):
    """One record in the life of a file."""

    before: State
    after: State
    seq: int
    undone: bool

    @property
    def batch(self) -> int:
        """The one that the record belongs to."""
        return self.after.version.batch if self.after.version is not None else 0


class FileTimeline(msgspec.Struct, frozen=True, gc=False):
    """A file from the state before its first undone record until now."""

    steps: tuple[TimelineStep, ...]

    @property
    def now(self) -> State:
        """The file as the journal has it now."""
        return self.steps[-1].after

    @property
    def paths(self) -> tuple[str, ...]:
        """Every name it had, oldest first."""
        return tuple(dict.fromkeys([self.steps[0].before.path, *(s.after.path for s in self.steps)]))

    def with_bytes(self, blob: bytes) -> Version | None:
        """The first version that had these bytes; b"": bytes of which not even the address is known."""
        states = (self.steps[0].before, *(s.after for s in self.steps))
        return next((s.version for s in states if s.present and s.blob == blob), None)


def lives(history: History, starts: Iterable[tuple[str, int]], undone: Callable[[Version], bool]) -> list[FileTimeline]:
    """The lives that hold the records `starts` (path, seq), each once; those of folders come last."""
    found: list[FileTimeline] = []
    folders: dict[str, Version] = {}
    covered: set[tuple[str, int]] = set()
    for path, seq in sorted(starts, key=lambda start: start[1]):
        first = None if (path, seq) in covered else history.version(path, seq)
        if first is None:
            continue
        if first.entry == FOLDER:
            folders.setdefault(path, first)
            continue
        steps = tuple(_steps(history, path, first, undone))
        for step in steps:
            covered.update({(step.before.path, step.seq), (step.after.path, step.seq)})
        if steps:
            found.append(FileTimeline(steps))
    return found + [FileTimeline(tuple(_folder_steps(history, path, first, undone))) for path, first in folders.items()]


def _folder_steps(
    history: History, path: str, first: Version, undone: Callable[[Version], bool]
) -> Iterator[TimelineStep]:
    """The steps of the folder at `path`, from `first` on: all that was there, for what is no folder is its end."""
    before = State(path, history.version_at(path, first.seq - 1), folder=True)
    for version in (first, *history.versions(path, after=first.seq)):
        after = State(path, version, folder=True)
        yield TimelineStep(before, after, version.seq, undone(version))
        before = after


def _steps(history: History, path: str, first: Version, undone: Callable[[Version], bool]) -> Iterator[TimelineStep]:
    """The steps of the file of which `first` is at `path`, from that one on."""
    seq, before = first.seq, _before(history, path, first)
    later: Iterator[Version] = chain(() if first.displaced else (first,), history.versions(path, after=seq))
    on_the_way = True
    others = False  # has the path been another file's since this one went?
    last = before.blob  # what it held before it went
    left = {before.path: seq} if before.path != path else {}  # its other names, each with the record by which it went
    while on_the_way:
        on_the_way = False
        for version in later:
            if version.entry == FOLDER and not before.present:
                continue  # an empty folder came or went where no file was: that is nobody's life
            if not before.present and version.seq != seq:
                others = not _goes_on(version, before, last, others)
                if others:
                    continue
            again = _back_at_other_name(history, before, version, left)
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


def _before(history: History, path: str, first: Version) -> State:
    """What a record found of the file that it left at `path`."""
    came_from = first.moved_from or path
    base = history.version(came_from, first.base) if first.base else None
    if base is not None and came_from == path and 0 <= base.index == first.index - 1:
        return State(path, base)  # as mostly, and it need not be looked for
    there = history.version_at(came_from, first.seq - 1)
    if base is not None and base.gone:
        return State(came_from, base)  # it came back; the path may be another file's by now
    return State(came_from, there)


def _back_elsewhere(history: History, gone: State) -> State | None:
    """Where a file came back that had gone from where another one is, or was since."""
    if gone.present or gone.version is None:
        return None
    for version in history.versions(gone.path, after=gone.version.seq, displaced=True):
        if version.displaced and version.gone and version.base == gone.version.seq:
            there = history.version(version.moved_to, version.seq)
            return None if there is None else State(version.moved_to, there)
    return None


def _back_at_other_name(history: History, at: State, end: Version, left: Mapping[str, int]) -> State | None:
    """Where a file stood again that was found gone by `end`, under a name that it had `left`, by the record given.

    It was renamed back, and one of the two ends was looked at before the watcher told of the other; or git made it anew
    there, by a checkout or a stash. A write counts that is the first one at that name since, with the same bytes.
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
    """Is a file that comes to a path the one that went from there? `others`: there was another one since.

    What brings a file back says so by its base; what is made anew goes on with what was there last. So does what
    another program renames to it with what it held `last`: that it had gone by a rename was not seen in time.
    """
    if version.moved_from and version.type == OUTSIDE_TYPE and version.blob == last and not others:
        return True
    if gone.version is not None and version.base == gone.version.seq:
        return True
    return not (others or version.moved_from or version.base)
