"""Files without the chosen batches (the projection), and the chosen batches that stay in force.

Only the journal is read. The engine learns from `implied_by` which files to observe, and the decision reuses the
`UndoProjection` unless the log has moved on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from quire_daemon.core import ImpliedFiles, Who
from quire_daemon.tools.history import and_before_it, file_at, named_burst, path_filter, single_path
from quire_daemon.tools.undo.batches import Batches
from quire_daemon.tools.undo.choice import Choice
from quire_daemon.tools.undo.effective import lives_without
from quire_daemon.tools.undo.guard import Guard
from quire_daemon.tools.undo.line_range import only_lines, with_spared
from quire_daemon.tools.undo.params import Params, RedoParams, UndoParams, of_last_calls, several
from quire_daemon.tools.undo.plan import UNSEEN
from quire_daemon.tools.undo.select import choose
from quire_journal.history import (
    RECORD_LOST,
    FileTimeline,
    History,
    State,
    TimelineStep,
    Unwound,
    blame,
    is_by_git,
    is_lost,
    unwind,
    version_then,
)
from quire_journal.model import (
    FOLDER,
    LINK,
    REGULAR,
    BatchUndone,
    EditRefused,
    JournalDamaged,
    ReadServed,
    Refusal,
    ReplyKept,
    WriterIntroduced,
    WritesAbandoned,
    WritesSettled,
    above,
    caller_name,
    paced,
    paths_of,
    pause,
    version_token,
)
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import Along, Dispute, MarkedDispute, changes, mark, place_after
from quire_journal.views import OUTSIDE_WRITES, TOOL_WRITES, Version, standing

MOST_STEPS: Final = 2000
"""Timeline steps that one undo recomputes to find batches that stay; batches not tried count as undone."""

MOST_SPENT: Final = 10
"""Maximum number of times that an undo of the last calls goes on to older ones, as nothing is left of the newer."""

MOST_NAME: Final = 60
"""Longest writer name in conflict markers, in characters."""


# ── what the files come to ───────────────────────────────────────────────────


class ProjectedFile(NamedTuple):
    """A file's timeline (its changes, through renames), with undone steps marked, and its state without these."""

    life: FileTimeline
    unwound: Unwound


def _unwound(known: Batches, choice: Choice) -> list[ProjectedFile]:
    guard = Guard(known, choice.batches)
    found = [
        ProjectedFile(life, _unwound_since(known.history, life, guard, choice)) for life in lives_without(known, choice)
    ]
    if choice.how != "redo":
        return found
    # A chosen undo may have touched files that the redone batch never touched; those stay as they are.
    return [one for one in found if not one.unwound.is_now or one.unwound.conflicts or one.unwound.missing]


def _unwound_since(history: History, life: FileTimeline, guard: Guard, choice: Choice) -> Unwound:
    """Return the state of a file without its undone steps; its `kept` lists only versions later than the first chosen
    step.
    """
    pause()  # cached texts cause no read that would pause
    planned = unwind(history, life)
    ranges = _ranges(choice, planned.now.path)
    found = guard.check(life, with_spared(planned, ranges, history) if ranges else planned)
    first = next((step for step in life.steps if step.batch in guard.chosen), None)
    if first is None:
        return found
    was = first.after.path if first.after.path != found.now.path else ""
    return replace(found, kept=tuple(seq for seq in found.kept if seq > first.seq), was=was)


def _restored(history: History, choice: Choice) -> list[Unwound]:
    found: list[Unwound] = []
    paths = _restore_paths(history, choice)
    states = {
        path: (State(path, history.file(path)), State(path, _version_then(history, path, choice))) for path in paths
    }
    inhabited = {folder for path, (_, then) in states.items() if standing(then.version) for folder in above(path)}
    for path, (now, then) in states.items():
        if is_lost(then.version):
            found.append(Unwound.left_alone(now, RECORD_LOST))
        elif then.version is None or then.version.gone:
            found.append(Unwound.left_alone(now, "not_there_then"))
        elif then.version.entry == FOLDER and path in inhabited:
            continue  # not empty at the point: restored through its files
        elif _same_link(now.version, then.version):
            found.append(Unwound.left_alone(now, ""))
        elif then.version.entry != REGULAR and not now.present and (not then.blob or history.holds(then.blob)):
            found.append(Unwound(now, True, path, then.version.mode, then.blob, entry=then.version.entry))
        elif then.version.entry == LINK and _is_link(now.version) and history.holds(then.blob):
            found.append(Unwound(now, True, path, then.version.mode, then.blob, entry=LINK))
        elif then.version.entry != REGULAR and now.present:
            found.append(Unwound.left_alone(now, "not_a_file"))
        elif then.version.uncaptured or not history.holds(then.blob):
            found.append(Unwound.left_alone(now, "uncaptured", then.version))
        else:
            found.append(Unwound(now, True, path, then.version.mode, then.blob))
    return found


def _version_then(history: History, path: str, choice: Choice) -> Version | None:
    """Return the version of a file at the point of a restore; for a file that the caller names, also under its earlier
    path.
    """
    then = version_then(history, path, choice.at)
    if is_lost(then) or standing(then) is not None:
        return then
    is_named = any(single_path(asked, history) == path for asked in choice.paths)
    return file_at(path, choice.at, history)[1] if is_named else then


def _same_link(now: Version | None, then: Version) -> bool:
    """True if a link or folder is unchanged. Links and folders never replace each other."""
    if now is None or now.gone or then.entry == REGULAR:
        return False
    return now.seq == then.seq or ((now.entry, now.blob) == (then.entry, then.blob) and not now.uncaptured)


def _is_link(version: Version | None) -> bool:
    head = standing(version)
    return head is not None and head.entry == LINK


def _restore_paths(history: History, choice: Choice) -> list[str]:
    found: dict[str, None] = {}
    for asked in choice.paths:
        single = single_path(asked, history)
        if single is not None:
            found[single] = None
            continue
        fits = path_filter(asked, history)
        there = [
            path for path in history.names() if fits(path) and standing(history.version_at(path, choice.at)) is not None
        ]
        if not there:
            if not any(map(fits, history.names())):
                raise Refusal("not_found", f"The journal knows no file {asked}.", "check_path", path=asked)
            message = f"{asked} was not there at that point.{and_before_it(choice.at, history)}"
            raise Refusal("not_found", message, "log", path=asked)
        found.update(dict.fromkeys(there))
    return list(found)


def outcome(known: Batches, choice: Choice, who: Who) -> tuple[Sequence[Unwound], Sequence[FileTimeline]]:
    """Return (the files without the chosen batches, their timelines; none for a restore).

    Raises `Refusal` if a file to restore did not exist.
    """
    if choice.how == "restore":
        return _restored(known.history, choice), ()
    lived = _unwound(known, choice)
    found, lives = [one.unwound for one in lived], [one.life for one in lived]
    found = [only_lines(u, ranges, known.history) if (ranges := _ranges(choice, u.now.path)) else u for u in found]
    return ([_with_markers(u, known.history, who) for u in found] if choice.conflicts == "markers" else found), lives


def _ranges(choice: Choice, path: str) -> Sequence[tuple[int, int]]:
    """Return the lines (from 0, half-open) of the file to which the choice is limited; () for all."""
    return [choice.lines] if choice.lines is not None else dict(choice.places).get(path, ())


def left_alone(seen: UndoProjection, skipped: Sequence[bool]) -> tuple[int, ...]:
    """Return the seqs of the chosen batches' records in skipped files: these stay in force."""
    chosen = {*seen.choice.batches}
    steps = (step for life, left in zip(seen.lives, skipped, strict=False) if left for step in life.steps)
    return tuple(sorted(step.seq for step in steps if step.undone and step.batch in chosen))


# ── what stays in force ──────────────────────────────────────────────────────


def stayed(known: Batches, seen: UndoProjection, skipped: Sequence[bool]) -> tuple[int, ...]:
    """Return the chosen batches that stay in force entirely, in the order of the choice. `skipped`: for each file, True
    if the undo does not change it. Return () for a redo, and for conflict markers, which keep both sides.
    """
    choice, found = seen.choice, seen.found
    if choice.partial or choice.how not in ("undo", "rollback") or choice.conflicts == "markers":
        return ()
    if not any(skipped) and not any(u.conflicts for u in found):
        return ()
    return _Staying(known, seen, skipped).batches()


class _Staying:
    """Finds batches that stay in force, because undoing only the others gives the same files with fewer conflicts."""

    def __init__(self, known: Batches, seen: UndoProjection, skipped: Sequence[bool]) -> None:
        self._known, self._choice = known, seen.choice
        self._files = list(zip(seen.lives, seen.found, skipped, strict=True))
        self._touched: dict[int, set[int]] = {}  # batch → indexes of the files in which it is undone
        for number, (life, _, _) in enumerate(self._files):
            for step in life.steps:
                if step.undone:
                    self._touched.setdefault(step.batch, set()).add(number)
        self._out: set[int] = set()
        self._conflicts = [len(u.conflicts) for u in seen.found]  # per file, with `_out` left out
        self._steps = 0

    def batches(self) -> tuple[int, ...]:
        """Return the batches that stay in force."""
        self._try([batch for batch in self._choice.batches if self._may_stay(batch)])
        eased = [
            skipped or n < len(u.conflicts) for (_, u, skipped), n in zip(self._files, self._conflicts, strict=True)
        ]
        return tuple(b for b in self._choice.batches if b in self._out and all(eased[n] for n in self._touched[b]))

    def _may_stay(self, batch: int) -> bool:
        """True if the batch is in force itself and all its files have conflicts or are skipped."""
        known, choice = self._known, self._choice
        if known.undid(batch) or {*known.undoers(batch)} & {*choice.batches}:
            return False
        touched = self._touched.get(batch, set())
        if not touched or known.undone(batch, known.meant(choice.paths)):
            return False
        return all(self._stuck(batch, number) for number in touched)

    def _stuck(self, batch: int, number: int) -> bool:
        """True if every place that the batch changed in the file has a conflict, or the file is skipped."""
        life, found, skipped = self._files[number]
        first = life.steps[0].batch == batch  # only the first step can conflict as first seen
        conflicts = [conflict for conflict in found.conflicts if first or conflict.why != UNSEEN]
        if skipped or not conflicts:
            return skipped
        if not all(conflict.lines for conflict in conflicts):
            return True
        ranges = [lines for conflict in conflicts for lines in conflict.lines]
        steps = (step for step in life.steps if step.undone and step.batch == batch)
        try:
            places = [place for step in steps for place in self._places_now(step, found.now)]
        except NotHeld:
            return True
        return all(_meets(place, ranges) for place in places)

    def _places_now(self, step: TimelineStep, now: State) -> Iterator[tuple[int, int]]:
        if not (step.before.present and step.after.present and now.present) or step.before.blob == step.after.blob:
            return
        text_of = self._known.history.text_of
        after = text_of(step.after.blob)
        since, shift = Along(changes(after, text_of(now.blob))), 0
        for splice in paced(changes(text_of(step.before.blob), after)):
            start = splice.start + shift
            yield place_after(since, start, start + len(splice.lines))
            shift += splice.shift

    def _try(self, candidates: Sequence[int]) -> None:
        """Leave the candidates in force where that makes no difference, in halved groups, as mostly all or none
        qualify.
        """
        todo = [candidates] if candidates else []
        while todo and self._steps < MOST_STEPS:
            group = todo.pop()
            left = self._left_with({*group})
            if left is not None:
                self._out |= {*group}
                for number, conflicts in left.items():
                    self._conflicts[number] = conflicts
            elif len(group) > 1:
                half = len(group) // 2
                todo += [group[half:], group[:half]]  # newest first: older ones may depend on them

    def _left_with(self, group: set[int]) -> dict[int, int] | None:
        """Return file index → number of conflicts if these batches are not undone either; None if a file's result
        differs.
        """
        left: dict[int, int] = {}
        guard = Guard(self._known, {*self._choice.batches} - self._out - group)
        for number in {n for batch in group for n in self._touched[batch]}:
            life, was, skipped = self._files[number]
            if skipped:
                continue
            self._steps += len(life.steps)
            kept = self._out | group
            steps = tuple(replace(s, undone=s.undone and s.batch not in kept) for s in life.steps)
            now = unwind(self._known.history, FileTimeline(steps))
            now = guard.check(FileTimeline(steps), now)
            same = (now.present, now.path, now.mode, now.blob) == (was.present, was.path, was.mode, was.blob)
            if not same or now.missing or len(now.conflicts) > self._conflicts[number]:
                return None
            left[number] = len(now.conflicts)
        return left


def _meets(place: tuple[int, int], ranges: Sequence[tuple[int, int]]) -> bool:
    pause()
    start, stop = place
    return any(start <= b and a <= stop for a, b in ranges)


def _with_markers(u: Unwound, history: History, who: Who) -> Unwound:
    """Return the file with conflict markers at the places where others built on undone changes. Conflicts about whole
    files stay.
    """
    places = [(conflict, conflict.place) for conflict in u.conflicts if conflict.place is not None]
    if not places or not u.present or not u.now.present:
        return u
    now = history.text_of(u.now.blob)
    rest = u.made if u.made is not None else history.text_of(u.blob)
    since = Along(changes(now, rest))
    by = plain_name(caller_name(who.agent, who.agent_session))
    marked = []
    for conflict, place in places:
        start, stop = place_after(since, place.start, place.stop)
        sides = f"undone by {by}", _blocker(_last_at(place, conflict.seq, u.now, history), history)
        marked.append(MarkedDispute(replace(place, start=start, stop=stop), *sides))
    made = mark(rest, sorted(marked, key=lambda one: (one.place.start, one.place.stop)))
    return replace(u, blob=made.blob, made=made)


def _last_at(place: Dispute, first: int, now: State, history: History) -> int:
    """Return the seq of the newest version that wrote one of the disputed lines, at least `first`."""
    if now.version is None or place.start == place.stop:
        return first
    try:
        origins = blame(history, now.path, now.version).origins[place.start : place.stop]
    except (NotHeld, JournalDamaged):
        return first
    return max(first, *(origin.version.seq for origin in origins))


def _blocker(seq: int, history: History) -> str:
    return f"{plain_name(maker(seq, history))} {version_token(seq)}"


def maker(seq: int, history: History) -> str:
    """Return the name of the writer of a record, or `git`; "someone" if the record is lost."""
    record = history.record(seq)
    if record is None:
        return "someone"
    return "git" if is_by_git(getattr(record.event(), "hint", "")) else history.named(history.author(record))


def plain_name(name: str) -> str:
    """Return a caller-chosen name made safe for a file: printable characters only, at most `MOST_NAME`."""
    return "".join(c for c in name if c.isprintable())[:MOST_NAME]


class UndoProjection(msgspec.Struct, frozen=True):
    """The choice of a call, and the files without the chosen batches, as of record `head`."""

    params: Params
    head: int
    choice: Choice
    found: Sequence[Unwound]
    lives: Sequence[FileTimeline] = ()  # parallel to `found`; empty for a restore


def foresee(params: Params, known: Batches, who: Who) -> UndoProjection:
    """Return the choice that the arguments mean, and its projection. The last calls are the newest that left something
    to take back. Raises `Refusal`.
    """
    choice = choose(params, known, who)
    seen = UndoProjection(params, known.history.head(), choice, *outcome(known, choice, who))
    return (_of_older_calls(seen, known, who) or seen) if of_last_calls(params) else seen


def _of_older_calls(seen: UndoProjection, known: Batches, who: Who) -> UndoProjection | None:
    """Return the projection of the newest calls that left something to take back, perhaps `seen`; None if none did."""
    spent = frozenset[int]()
    for _ in range(MOST_SPENT):
        if any(map(_is_left, seen.found)):
            return seen
        spent |= {*seen.choice.batches}
        try:
            choice = choose(seen.params, known, who, spent)
        except Refusal:
            return None
        found, lives = outcome(known, choice, who)
        seen = replace(seen, choice=choice, found=found, lives=lives)
    return None


def _is_left(file: Unwound) -> bool:
    """True if an undo would change the file, or cannot."""
    return not file.is_now or bool(file.conflicts or file.missing)


def implied_by(params: Params, history: History, who: Who) -> ImpliedFiles:
    """Return the paths that a decision must observe; none for arguments that the decision refuses."""
    try:
        seen = foresee(params, Batches(history), who)
    except Refusal:
        return ImpliedFiles()
    paths = list(dict.fromkeys(path for u in seen.found for path in (u.now.path, u.path)))
    return _implied(paths, seen, who)


def _implied(paths: Sequence[str], seen: UndoProjection, who: Who) -> ImpliedFiles:
    return ImpliedFiles(paths, seen, partial(_still, paths, seen, who))


def _still(
    paths: Sequence[str], seen: UndoProjection, who: Who, history: History, upto: int, narrow: bool
) -> ImpliedFiles | None:
    """Return the projection as that of record `upto` if all records since are unrelated work of others, else None.
    `narrow`: only records about these files count.
    """
    if not narrow and not _of_own_or_named(seen, history):
        return None
    about, chosen = {*paths}, {*seen.choice.batches}
    for record in history.records(after=seen.head, upto=upto):
        event = record.event()
        if isinstance(event, (*TOOL_WRITES, *OUTSIDE_WRITES)):
            if not about.isdisjoint(paths_of(event)):
                return None
            if not narrow and history.caller_of(history.author(record)) == who.key:
                return None
        elif isinstance(event, BatchUndone) and narrow:
            if not chosen.isdisjoint((record.batch, *event.undone)):
                return None
        elif isinstance(event, WritesAbandoned) and narrow:
            if not about.isdisjoint(path for seq in event.seqs for path in paths_of(history.event(seq))):
                return None
        elif not narrow and not isinstance(event, _OF_NO_ACCOUNT):
            return None
    return _implied(paths, replace(seen, head=upto), who)


def _of_own_or_named(seen: UndoProjection, history: History) -> bool:
    params = seen.params
    if not isinstance(params, UndoParams | RedoParams) or seen.choice.paths:
        return False
    if params.writer or params.agent_session or params.turn or params.from_ or params.to:
        return False
    if params.burst is None:
        return True
    bursts = (named_burst(one, history) for one in several(params.burst))
    return all(batch <= seen.head for burst in bursts for batch in history.burst_batches(burst))


_OF_NO_ACCOUNT: Final = (WriterIntroduced, WritesSettled, ReadServed, EditRefused, ReplyKept)
"""Records that cannot change the result of an undo."""
