"""Unwinding: the state of a file if some of its versions had never been made.

From the first undone step on, two states are followed: the real file, and the file without undone steps (`rest`). A
kept step changes both, the second by three-way merge (`rebase_steps`). Consecutive kept steps are merged as one, so
that reverted changes do not conflict.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import msgspec
from msgspec.structs import replace

from quire_journal.history.gaps import RECORD_LOST, gaps_before
from quire_journal.history.history import History
from quire_journal.history.rebase_steps import Conflict, NotARegularFile, Rest, StepRebase
from quire_journal.history.timeline import FileTimeline, State, TimelineStep
from quire_journal.model import FOLDER, LINK, NAMING, REGULAR, WATCHED
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import Text
from quire_journal.views import OUTSIDE_TYPE, Version, standing


class Unwound(msgspec.Struct, frozen=True, gc=False):
    """Result of a timeline without its undone steps. `made` is a text that no version has yet; if None, the bytes are
    those of `blob`. `missing`: why the result is unknown: "uncaptured", "not_a_file", "creation_not_seen",
    "record_lost".
    """

    now: State
    present: bool
    path: str
    mode: int
    blob: bytes
    made: Text | None = None
    kept: tuple[int, ...] = ()  # seqs of later versions whose changes stay
    conflicts: tuple[Conflict, ...] = ()
    missing: str = ""
    entry: int = REGULAR  # REGULAR, LINK or FOLDER
    needed: Version | None = None  # the version whose missing bytes are needed
    was: str = ""  # the path that the file had when the undone changes were made, if another than now

    @classmethod
    def left_alone(cls, now: State, why: str, needed: Version | None = None, kept: Sequence[int] = ()) -> Unwound:
        """Return a result equal to the present state, as the right result is unknown (`why`) or
        nothing changes ("").
        """
        return cls(now, now.present, now.path, now.mode, now.blob, kept=tuple(kept), missing=why, needed=needed)

    @property
    def is_now(self) -> bool:
        now = self.now
        if not self.present or not now.present or now.folder:
            return self.present == now.present
        return (self.path, self.mode, self.blob) == (now.path, now.mode, now.blob)


def unwind(history: History, life: FileTimeline) -> Unwound:
    """Return the result of `life` without its undone steps. An undone first step stays, with a conflict, if nothing
    shows that it created the file and later steps can be undone.
    """
    first = life.steps[0]
    if _begins_with_lost(history, life):
        return Unwound.left_alone(life.now, RECORD_LOST)
    if first.before.folder:
        return _unwind_folder(life)
    if first.undone and any(s.undone for s in life.steps[1:]) and not _made_then(history, first):
        found = _unwind(history, FileTimeline((replace(first, undone=False), *life.steps[1:])))
        if not found.is_now and not found.missing:
            return replace(found, conflicts=(Conflict(first.seq, "creation_not_seen"), *found.conflicts))
    return _unwind(history, life)


def _begins_with_lost(history: History, life: FileTimeline) -> bool:
    if not history.lost():
        return False
    steps = ((step.before.version, step.after.version) for step in life.steps if step.undone)
    return any(after is not None and bool(gaps_before(history, after, before)) for before, after in steps)


def _unwind_folder(life: FileTimeline) -> Unwound:
    kept = [step for step in life.steps if not step.undone]
    then, now = kept[-1].after if kept else life.steps[0].before, life.now
    present = then.present and (now.present or standing(now.version) is None)
    return Unwound(now, present, now.path, then.mode, b"", kept=tuple(step.seq for step in kept), entry=FOLDER)


def _unwind(history: History, life: FileTimeline) -> Unwound:
    rest = Rest.of(life.steps[0].before)
    conflicts: list[Conflict] = []
    kept: list[int] = []
    try:
        for undone, run in groupby(life.steps, key=lambda step: step.undone):
            if not undone:
                steps = list(run)
                kept += [s.seq for s in steps]
                merging = StepRebase(history, rest, steps, life.now)
                rest = merging.rest
                conflicts += merging.conflicts
    except NotARegularFile:
        return Unwound.left_alone(life.now, "not_a_file", kept=kept)
    except NotHeld as lost:
        return Unwound.left_alone(life.now, "uncaptured", life.with_bytes(lost.blob), kept)
    if not rest.present and life.now.present and not _made_then(history, life.steps[0]):
        return Unwound.left_alone(life.now, "creation_not_seen", kept=kept)
    if rest.entry == LINK and history.holds(rest.blob):
        return Unwound(
            life.now, True, rest.path, rest.mode, rest.blob, kept=tuple(kept), conflicts=tuple(conflicts), entry=LINK
        )
    if rest.present and rest.made is None and not rest.held:
        return Unwound.left_alone(life.now, rest.lacking or "uncaptured", life.with_bytes(rest.blob), kept)
    return Unwound(life.now, rest.present, rest.path, rest.mode, rest.blob, rest.made, tuple(kept), tuple(conflicts))


def _made_then(history: History, first: TimelineStep) -> bool:
    """True if the file is known not to have existed before this step.

    A tool creates only files that do not exist. An outside file was new if its path was known to be free, or the
    watcher saw it after a scan.
    """
    if first.before.present or first.before.version is not None:
        return True
    version = first.after.version
    if version is None or version.type != OUTSIDE_TYPE:
        return True
    looked = history.first_scan()
    return version.evidence in (WATCHED, *NAMING) and looked is not None and looked < version.seq
