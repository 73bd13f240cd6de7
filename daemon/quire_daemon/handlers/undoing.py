"""Undoing, file by file: what is to be done to what is there now, how a reply tells it, and how it is carried out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from quire_daemon.handlers.base import Decision, FileNow, Make, Move, Put, Remove, World, Write
from quire_daemon.handlers.choosing import Choice, How
from quire_daemon.handlers.difference import ENTRIES
from quire_daemon.handlers.localised import localised_diff
from quire_daemon.handlers.log import writer_type
from quire_daemon.handlers.outcome import withheld
from quire_daemon.handlers.staleness import news
from quire_daemon.handlers.unwinding import is_now
from quire_journal.blobs import NotHeld
from quire_journal.diff import changed_ranges, diff
from quire_journal.events import (
    FOLDER,
    LINK,
    REGULAR,
    BatchUndone,
    Event,
    FileDeleted,
    FileMoved,
    FileWritten,
    ModeChanged,
    ReadServed,
)
from quire_journal.history import History, Missing
from quire_journal.ids import version_token
from quire_journal.points import rfc3339
from quire_journal.splice import carry_ranges
from quire_journal.text import Text, merge_ranges
from quire_journal.unwind import Conflict, State, Unwound
from quire_journal.views.files import Version

MOST_KEPT: Final = 20
"""Entries of `kept` and `takes_back` that a reply lists for a file; the rest is counted."""

MOST_SHOWN: Final = 50
"""Files of which one reply shows the diff, with fresh anchors; of the rest it tells which lines changed."""


UNSEEN: Final = "creation_not_seen"
"""Why the first known version of a file stays: nobody is in the way, but nothing shows that it was made then."""


@dataclass(frozen=True)
class Action:
    """What happens to one file. `do`: "write", "mode", "create", "make" (link, folder), "delete", "move", "none"."""

    do: str
    unwound: Unwound
    now: FileNow | None = None  # at the path where the file is now, or where it will be made
    then: FileNow | None = None  # at the path that it will have, where that is another
    text: Text | None = None  # what it will hold
    skipped: str = ""  # why nothing is done
    conflicts: tuple[Conflict, ...] = ()

    @property
    def path(self) -> str:
        """The path that the reply speaks of: where the file is now, or will be."""
        return self.unwound.now.path if self.unwound.now.present else self.unwound.path

    @property
    def built_on(self) -> tuple[Conflict, ...]:
        """The conflicts with what others did."""
        return tuple(conflict for conflict in self.conflicts if conflict.why != UNSEEN)

    @property
    def first_seen(self) -> int:
        """The record that a changed file goes back to because it is how it was first seen; 0 where there is none."""
        if self.do == "none":
            return 0
        return next((conflict.seq for conflict in self.conflicts if conflict.why == UNSEEN), 0)

    @property
    def after(self) -> Text:
        """What the file will hold; nothing where it goes."""
        return self.text if self.text is not None else Text.of(b"")


@dataclass
class Planning:
    """Turns what the files would come to into actions on the files that are there."""

    world: World
    allow_uncaptured: bool
    point: int = 0  # that is gone back to; what is as it was then is not led away from it
    taken: set[str] = field(default_factory=set)
    leaving: set[str] = field(default_factory=set)  # paths that become free

    def actions(self, found: Sequence[Unwound]) -> list[Action]:
        """What is to be done for all of the files."""
        gone = (u for u in found if u.now.present and not u.missing and (not u.present or u.path != u.now.path))
        self.leaving = {u.now.path for u in gone}
        return [self.action(u) for u in found]

    def action(self, u: Unwound) -> Action:
        """What is to be done for one file."""
        if u.missing:
            return self._skip(u, u.missing)
        if is_now(u):
            return Action("none", u, conflicts=u.conflicts)
        if self.point and self._as_then(u.now):
            return Action("none", u, skipped=AS_THEN)
        if self.taken & {u.now.path, u.path}:
            # Two histories end under one name; the first has it, the second would overwrite its result.
            return self._skip(u, "occupied")
        action = self._create(u) if not u.now.present else self._change(u)
        if not action.skipped:
            self.taken |= {u.now.path, u.path}
        return action

    def _as_then(self, now: State) -> bool:
        """Is the file as it was at the point?"""
        was, head = self.world.history.version_at(now.path, self.point), now.version
        if was is None or head is None or was.gone or head.gone:
            return False
        return (was.entry, was.mode, was.blob) == (head.entry, head.mode, head.blob)

    def _skip(self, u: Unwound, why: str, *conflicts: Conflict) -> Action:
        return Action("none", u, skipped=why, conflicts=(*u.conflicts, *conflicts))

    def _occupied(self, u: Unwound, there: FileNow | None) -> Action:
        head = self.world.history.file(u.path)
        seq = head.seq if head is not None else 0
        return self._skip(u, "occupied", *([Conflict(seq, "occupied")] if there is not None and seq else []))

    def _create(self, u: Unwound) -> Action:
        there = self.world.files.get(u.path)
        if there is None and self._protected(u.path):
            return self._skip(u, "protected")
        if there is None or there.kind != "missing" or there.path != u.path:
            if there is not None and there.kind == "folder" and u.entry == FOLDER:
                return Action("none", u)
            return self._occupied(u, there)
        above = self._file_above(u.path)
        if above is not None:
            return self._skip(u, "occupied", Conflict(above.seq, "occupied"))
        if u.entry != REGULAR:
            return Action("make", u, there)
        return self._with_data("create", u, there)

    def _file_above(self, path: str) -> Version | None:
        """What is no folder where one of the folders of `path` would be, and does not go either."""
        names = path.split("/")
        for folder in ("/".join(names[:count]) for count in range(1, len(names))):
            head = self.world.history.file(folder)
            if head is not None and not head.gone and head.entry != FOLDER and folder not in self.leaving:
                return head
        return None

    def _protected(self, path: str) -> bool:
        """Was the daemon refused a look at it?"""
        return self.world.kept_off.get(path) == "permission_denied"

    def _change(self, u: Unwound) -> Action:
        now, head = self.world.files.get(u.now.path), u.now.version
        if now is None and self._protected(u.now.path):
            return self._skip(u, "protected")
        if now is None and head is not None and head.entry != REGULAR:
            return self._skip(u, "not_a_file")
        if now is None or head is None:
            return self._skip(u, "changed_meanwhile")
        if now.path != u.now.path or now.kind != "file" or head.entry != REGULAR:
            return self._skip(u, "not_a_file")
        if (now.uncaptured or now.version is None) and not self.allow_uncaptured:
            return self._skip(u, "uncaptured")
        if now.version is not None and now.version.seq != head.seq:
            return self._skip(u, "changed_meanwhile")
        if not u.present:
            return Action("delete", u, now, conflicts=u.conflicts)
        if u.path != u.now.path:
            there = self.world.files.get(u.path)
            if there is None and self._protected(u.path):
                return self._skip(u, "protected")
            if there is None or there.kind != "missing" or there.path != u.path:
                return self._occupied(u, there)
            above = self._file_above(u.path)
            if above is not None:
                return self._skip(u, "occupied", Conflict(above.seq, "occupied"))
            return self._with_data("move", u, now, there)
        return self._with_data("write" if u.blob != u.now.blob else "mode", u, now)

    def _with_data(self, do: str, u: Unwound, now: FileNow, then: FileNow | None = None) -> Action:
        try:
            text = u.made if u.made is not None else self.world.history.text_of(u.blob)
        except NotHeld:
            return self._skip(u, "uncaptured")
        return Action(do, u, now, then, text, conflicts=u.conflicts)


# ── told ──────────────────────────────────────────────────────────────────────


MOST_NAMED: Final = 5
"""Files in a sentence."""

AS_THEN: Final = "as_then"

SKIPPED: Final = {
    "uncaptured": "bytes that are needed, or that would be lost, are not in the journal",
    "not_a_file": "it is not a regular file",
    "protected": "it is protected, or forbidden by the settings; tools leave it alone",
    "occupied": "something else stands there now",
    "changed_meanwhile": "it is being changed at this moment",
    UNSEEN: "it was there when it was first looked at; nothing shows that it was made then",
    "not_there_then": "it was not there at that point",
    AS_THEN: "it is as it was at that point; without the change that brought it there it would not be",
}


def file_json(action: Action, choice: Choice, history: History) -> dict[str, Any]:
    """One entry of `files`: `{path, action, to?, kept, conflicts, marked?, skipped, why?}` and the lines' counts.

    `first_seen` is the version that stays because the file was there when it was first looked at, which is no conflict.
    `marked` is how many places of the file get conflict markers, where those were asked for.
    `kept` are later versions of others whose changes stay; a restore has `takes_back` instead, the versions since the
    point. Both are cut at `MOST_KEPT`, and the rest counted (`kept_more`, `takes_back_more`).
    """
    u = action.unwound
    name, later = "kept", u.kept
    if choice.how == "restore":
        name, later = "takes_back", tuple(v.seq for v in history.versions(u.path, after=choice.at))
    entry: dict[str, Any] = {
        "path": action.path,
        "action": action.do,
        name: [_brief(seq, history) for seq in later[-MOST_KEPT:]],
        "conflicts": [_conflict_json(conflict, history) for conflict in action.built_on],
        "skipped": action.skipped or None,
    }
    if action.first_seen:
        entry["first_seen"] = {**_brief(action.first_seen, history), "why": SKIPPED[UNSEEN]}
    if choice.conflicts == "markers":
        entry["marked"] = places_marked(action)
    if len(later) > MOST_KEPT:
        entry[f"{name}_more"] = len(later) - MOST_KEPT
    if action.do == "move":
        entry["to"] = u.path
    if action.skipped:
        entry["why"] = SKIPPED.get(action.skipped, action.skipped)
        lacking = lacking_bytes(action, choice, history)
        if lacking is not None and lacking.why != "not_held":
            entry["why"] += f": they were {lacking.told}"
    if action.do in ("write", "create", "delete", "move"):
        entry.update(_lines_json(action))
    return entry


def lacking_bytes(action: Action, choice: Choice, history: History) -> Missing | None:
    """What became of the bytes that a file would need; None where it is left alone for another reason."""
    u = action.unwound
    if action.skipped != "uncaptured" or not u.missing:
        return None
    then = history.version_at(u.path, choice.at) if choice.how == "restore" else None
    if then is not None and then.uncaptured:
        return Missing(then.uncaptured, f"never kept ({then.uncaptured.replace('_', ' ')})")
    if then is not None:
        return history.missing_blob(then.blob)
    return history.missing_blob(u.needed)


def lacking_sentence(actions: Sequence[Action], choice: Choice, history: History) -> str:
    """Which files are left alone for bytes that the journal does not hold, what became of them, and what to do."""
    told: list[str] = []
    gone = lost = ""
    for action in actions:
        lacking = lacking_bytes(action, choice, history)
        if lacking is not None:
            gone = gone or action.path
            told.append(f"{action.path} (its bytes were {lacking.told})")
        elif action.skipped == "uncaptured":
            lost = lost or action.path
            told.append(f"{action.path} (what is there now would be lost)")
    said = ", ".join(told[:MOST_NAMED]) + (f" and {len(told) - MOST_NAMED} more" if len(told) > MOST_NAMED else "")
    if gone:
        said += f". `quire log {gone}` tells its other versions; a backup, or git, may have this one"
    if lost:
        said += f". `allow_uncaptured` goes over what is in {lost} now"
    return said


def batches_json(choice: Choice, stayed: Sequence[int]) -> dict[str, Any]:
    """`batches` are those that are undone from now on; `stayed` those of which nothing comes out, if there are any."""
    undone = [batch for batch in choice.batches if batch not in stayed]
    return {"batches": undone, "stayed": list(stayed)} if stayed else {"batches": undone}


def as_found_sentence(actions: Sequence[Action]) -> str:
    """How many files change, but not to before they were first seen; "" when there are none."""
    count = sum(bool(action.first_seen) for action in actions)
    return f"{count} file{' stays' if count == 1 else 's stay'} as first looked at" if count else ""


def places_marked(action: Action) -> int:
    """How many places of the file have both sides in them afterwards, if markers are wanted."""
    if action.do == "none" or not action.unwound.present:
        return 0
    return sum(conflict.place is not None for conflict in action.conflicts)


def _brief(seq: int, history: History) -> dict[str, Any]:
    """Who made a record, and when."""
    record = history.record(seq)
    if record is None:
        return {"version": version_token(seq)}
    return {
        "version": version_token(seq),
        "at": rfc3339(record.at_ns),
        "batch": record.batch,
        "writer": history.writer_json(record.writer, writer_type(record)),
    }


def _conflict_json(conflict: Conflict, history: History) -> dict[str, Any]:
    """`lines` are of the file as it is now, 1-based and inclusive."""
    lines = [{"start": start + 1, "end": stop} for start, stop in conflict.lines]
    return {**_brief(conflict.seq, history), "seq": conflict.seq, "why": conflict.why, "lines": lines}


def _lines_json(action: Action) -> dict[str, Any]:
    """How the lines change; nothing for a binary file."""
    before, after = _texts(action)
    if before.binary or after.binary:
        return {"binary": True}
    return {
        "lines_before": len(before),
        "lines_after": len(after),
        "net_lines": len(after) - len(before),
        "changed": changed_ranges(diff(before, after)),
    }


# ── carried out ───────────────────────────────────────────────────────────────


_ALSO_ABOVE: Final = (
    "path",
    "version",
    "sha256",
    "sizeBytes",
    "baseline_continuity",
    "lines_before",
    "lines_after",
    "net_lines",
    "changed",
    "diff",
    "diff_truncated",
    "binary",
)
"""What a reply about one file has at its top, too, as that of every writing tool."""


class Performing:
    """Collects the events and writes of the actions, in step: event number n gets seq `next_seq + n`."""

    def __init__(self, world: World, choice: Choice, stayed: tuple[int, ...] = ()) -> None:
        self.world = world
        self.choice = choice
        self.stayed = stayed  # chosen batches of which nothing comes out: they are in force as before
        self.events: list[Event] = []
        self.writes: list[Write] = []
        self.blobs: list[bytes] = []
        self.shown = 0

    def decision(self, actions: Sequence[Action]) -> Decision:
        """The decision that carries all of them out."""
        files = []
        for action in actions:
            version = self._perform(action) if action.do != "none" else _seq(action.unwound.now)
            entry = {**file_json(action, self.choice, self.world.history), **self._result(action, version)}
            if action.do in ("write", "create", "move"):
                self.shown += 1
                entry |= self._showing(action, version) if self.shown <= MOST_SHOWN else {"diff_truncated": True}
            files.append(entry)
        done = sum(a.do != "none" for a in actions)
        if done:
            # Last of its batch: whoever reads the log backwards learns first what the records before it are.
            undone = tuple(batch for batch in self.choice.batches if batch not in self.stayed)
            self.events.append(BatchUndone(undone, self.choice.how, self._paths()))
        reply: dict[str, Any] = {
            "ok": True,
            "message": self._message(actions, done),
            "batch": self.world.next_seq if done else None,
            **batches_json(self.choice, self.stayed),
            "files": files,
        }
        if not done:
            reply["unchanged"] = True
        if done == 1:
            only = next(f for f, a in zip(files, actions, strict=True) if a.do != "none")
            reply.update({name: only[name] for name in _ALSO_ABOVE if name in only})
        reply["writer_type"] = "undo"
        return Decision(reply, self.events, self.writes, self.blobs)

    def _paths(self) -> tuple[str, ...]:
        """What the undo was narrowed to; a restore says so by its records."""
        return () if self.choice.how == "restore" else self.choice.paths

    def _message(self, actions: Sequence[Action], done: int) -> str:
        history = self.world.history
        if not done:
            return "The files are like that already."
        as_found = as_found_sentence(actions)
        conflicts = sum(len(a.built_on) for a in actions)
        skipped = sum(bool(a.skipped) for a in actions)
        lacking = [a for a in actions if a.skipped == "uncaptured"]
        said = f"{_DONE[self.choice.how]} {done} file{'' if done == 1 else 's'}"
        marked = sum(places_marked(a) for a in actions) if self.choice.conflicts == "markers" else 0
        if marked:
            said += f"; {marked} place{'' if marked == 1 else 's'} with both sides, between conflict markers"
        if conflicts and not marked:
            said += f"; {conflicts} place{'' if conflicts == 1 else 's'} stayed, because others built on them"
        if as_found:
            said += f"; {as_found}"
        if skipped:
            said += f"; {skipped} file{'' if skipped == 1 else 's'} left alone"
        if lacking:
            said += f", for bytes that the journal does not hold: {lacking_sentence(lacking, self.choice, history)}"
        return said + "."

    def _note(self, event: Event) -> int:
        self.events.append(event)
        return self.world.next_seq + len(self.events) - 1

    def _perform(self, action: Action) -> int:
        """Add what carries the action out; the seq of the version that it makes."""
        u, now = action.unwound, action.now
        if now is None:
            raise ValueError(f"{action.do} of {action.path} without a look at it")
        match action.do:
            case "delete":
                return self._remove(u, now)
            case "mode":
                return self._mode(action, now)
            case "move" if action.then is not None:
                return self._move(action, now, action.then)
            case "write":
                return self._put(action, now, base=_seq(u.now))
            case "make":
                return self._make(u, now)
            case _:
                return self._put(action, now, base=0)

    def _put(self, action: Action, over: FileNow, base: int) -> int:
        u, text = action.unwound, action.after
        data = text.data
        lost = withheld(u.path, text, self.world)[0] if u.made is not None else ""
        event = FileWritten(u.path, text.blob, len(data), u.mode, base, "undo", over.inode, uncaptured=lost)
        seq = self._note(event)
        self.writes.append(Put(seq, u.path, data, u.mode, over, text))
        if u.made is not None and not lost:  # other bytes are an earlier version's, which the journal holds
            self.blobs.append(data)
        return seq

    def _make(self, u: Unwound, over: FileNow) -> int:
        target = self.world.history.bytes_of(u.blob) if u.entry == LINK else b""
        seq = self._note(FileWritten(u.path, u.blob, len(target), u.mode, 0, "undo", entry=u.entry))
        self.writes.append(Make(seq, u.path, u.entry, target, u.mode, over))
        return seq

    def _remove(self, u: Unwound, over: FileNow) -> int:
        seq = self._note(FileDeleted(u.now.path, _seq(u.now), "undo", over.inode))
        self.writes.append(Remove(seq, u.now.path, over))
        return seq

    def _mode(self, action: Action, over: FileNow) -> int:
        u, data = action.unwound, action.after.data
        seq = self._note(ModeChanged(u.path, u.blob, len(data), u.mode, _seq(u.now), "undo"))
        self.writes.append(Put(seq, u.path, data, u.mode, over, action.after))
        return seq

    def _move(self, action: Action, over: FileNow, there: FileNow) -> int:
        """Rename back; where the bytes change too, it is made there first, and then the old name goes."""
        u, head, text = action.unwound, action.unwound.now.version, action.after
        edited = head is not None and u.blob != head.blob
        if head is None or over.text is None or (not edited and u.mode != head.mode):
            # Bytes that are not known, or another mode alone: a start after a crash could not finish that as a move.
            seq = self._put(action, there, base=0)
            self._remove(u, over)
            return seq
        size = len(text.data) if edited else head.size
        seq = self._note(FileMoved(u.now.path, u.path, u.blob, size, u.mode, head.seq, "undo", over.inode, head.entry))
        if not edited:
            self.writes.append(Move(seq, u.now.path, u.path, over))
            return seq
        self.writes += [Put(seq, u.path, text.data, u.mode, there, text), Remove(seq, u.now.path, over)]
        if u.made is not None:
            self.blobs.append(text.data)
        return seq

    def _result(self, action: Action, version: int) -> dict[str, Any]:
        """The file as it is afterwards."""
        result: dict[str, Any] = {"version": version_token(version) if version else None}
        if action.do == "none":
            return result
        path = action.unwound.path if action.unwound.present else action.path
        result["writer_type"] = "undo"
        result["baseline_continuity"] = self.world.history.continuity(path, "undo")
        if action.do == "make":
            result["entry"] = ENTRIES[action.unwound.entry]
        elif action.do != "delete":
            result["sha256"] = action.after.blob.hex()
            result["sizeBytes"] = len(action.after.data)
        return result | news(self.world, path)

    def _showing(self, action: Action, version: int) -> dict[str, Any]:
        """The localised diff with fresh anchors, which the caller is thereby shown; nothing for a binary file."""
        before, after = _texts(action)
        if before.binary or after.binary:
            return {}
        rows, ranges, cut = localised_diff(before, after, diff(before, after))
        seen = merge_ranges([*self._still_shown(action.unwound, after), *ranges])
        self._note(ReadServed(action.unwound.path, version, seen, anchors=True))
        return {"diff": rows, "diff_truncated": True} if cut else {"diff": rows}

    def _still_shown(self, u: Unwound, after: Text) -> Sequence[tuple[int, int]]:
        """The lines of `after` that the caller has seen before."""
        history = self.world.history
        seen = history.shown(self.world.who.key, u.path)
        base = history.version(u.path, seen.version) if seen is not None else None
        if seen is None or base is None or base.gone:
            return ()
        try:
            return carry_ranges(diff(history.text_of(base.blob), after), seen.lines)
        except NotHeld:
            return ()


def _texts(action: Action) -> tuple[Text, Text]:
    """The file before and after an action."""
    before = action.now.text if action.now is not None and action.now.text is not None else Text.of(b"")
    return before, action.after


def _seq(state: State) -> int:
    return state.version.seq if state.version is not None else 0


_DONE: Final[dict[How, str]] = {
    "undo": "Undone in",
    "redo": "Redone in",
    "rollback": "Rolled back",
    "restore": "Restored",
}
