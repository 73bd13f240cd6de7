"""Carry out an undo plan: its events, its writes and the reply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from quire_daemon.core import Clear, Decision, FileNow, Make, Move, Put, Remove, World, Write
from quire_daemon.tools import news, seen_with
from quire_daemon.tools.edit import OFF, localised_diff, withheld
from quire_daemon.tools.history import ENTRIES
from quire_daemon.tools.undo.choice import Choice
from quire_daemon.tools.undo.params import How
from quire_daemon.tools.undo.plan import Action, in_order
from quire_daemon.tools.undo.report import (
    as_found_sentence,
    batches_json,
    file_json,
    lacking_sentence,
    places_marked,
)
from quire_journal.history import Unwound
from quire_journal.model import (
    FOLDER,
    LINK,
    BatchUndone,
    Event,
    FileDeleted,
    FileMoved,
    FileWritten,
    ModeChanged,
    RejectionEnded,
    above,
    counted,
    version_token,
)
from quire_journal.text import diff, first_difference
from quire_journal.views import standing

MOST_SHOWN: Final = 50
"""Files whose diff one reply shows; other files get changed line ranges only."""

ASIDE: Final = ".undo-"
"""Prefix of the temporary name that breaks a cycle of renames; the record's seq follows."""

_ALSO_ABOVE: Final = (
    "path",
    "version",
    "sha256",
    "sizeBytes",
    "baseline_continuity",
    "operations_applied",
    "lines_before",
    "lines_after",
    "net_lines",
    "changed",
    "anchors_valid_through",
    "must_refresh_from_line",
    "diff",
    "diff_truncated",
    "safety_status",
    "warnings",
    "binary",
    "changed_since_your_read",
    "changed_since_your_read_more",
)


class CarryingOut:
    """Collects the events and writes of an undo: event number n gets seq `next_seq + n`."""

    def __init__(self, world: World, choice: Choice, stayed: tuple[int, ...] = (), left: tuple[int, ...] = ()) -> None:
        self.world = world
        self.choice = choice
        self.stayed = stayed  # chosen batches that the undo leaves in force
        self.left = left  # records of the other batches in skipped files
        self.events: list[Event] = []
        self.writes: list[Write] = []
        self.blobs: list[bytes] = []
        self.shown = 0
        self.aside: dict[str, tuple[str, int]] = {}  # path → (temporary name, seq of the move)
        self.cleared: set[str] = set()  # folders that are removed

    def decision(self, actions: Sequence[Action]) -> Decision:
        """Return the decision that carries out all actions."""
        files, changed = [], []
        going = (action.clears or action.takes_folder for action in actions)
        self.cleared = {folder.path for folder in going if folder is not None}
        for action, aside in in_order(actions):
            if aside:
                self._step_aside(action)
                continue
            version = self._perform(action) if action.do != "none" else action.unwound.now.seq
            entry = {**file_json(action, self.choice, self.world.history), **self._result(action, version)}
            if action.do in ("write", "create", "move"):
                self.shown += 1
                entry |= self._showing(action, version) if self.shown <= MOST_SHOWN else {"diff_truncated": True}
            files.append(entry)
            changed += [entry] if action.do != "none" else []
        done = len(changed)
        if done:
            if self.choice.rejections:
                self.events.append(RejectionEnded(self.choice.rejections))
            # Last of its batch, so that a backward reader of the log meets it before the writes that it explains.
            undone = tuple(batch for batch in self.choice.batches if batch not in self.stayed)
            if self.choice.partial:  # an undo of lines leaves the rest of the batch in force
                undone = ()
            self.events.append(BatchUndone(undone, self.choice.how, self._paths(), self.left, self.choice.at))
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
            reply.update({name: changed[0][name] for name in _ALSO_ABOVE if name in changed[0]})
        reply["writer_type"] = "undo"
        return Decision(reply, self.events, self.writes, self.blobs)

    def _paths(self) -> tuple[str, ...]:
        return () if self.choice.how == "restore" else self.choice.paths

    def _message(self, actions: Sequence[Action], done: int) -> str:
        history = self.world.history
        if not done:
            return "The files are like that already."
        as_found = as_found_sentence(actions)
        conflicts = sum(len(a.built_on) for a in actions)
        alone = sum(a.left_alone for a in actions)
        lacking = [a for a in actions if a.skipped == "uncaptured"]
        said = f"{_DONE[self.choice.how]} {counted(done, 'file')}"
        marked = sum(places_marked(a) for a in actions) if self.choice.conflicts == "markers" else 0
        if marked:
            said += f"; {counted(marked, 'place')} with both sides, between conflict markers"
        if conflicts and not marked:
            said += (
                f"; {counted(conflicts, 'place')} stayed, because others built on {'it' if conflicts == 1 else 'them'}"
            )
        if as_found:
            said += f"; {as_found}"
        if lacking:
            said += f"; {counted(len(lacking), 'file')} left alone, for bytes that the journal does not hold: "
            said += lacking_sentence(lacking, history)
        if others := alone - len(lacking):
            said += f"; {counted(others, 'more file' if lacking else 'file')} left alone"
        return said + "."

    def _note(self, event: Event) -> int:
        self.events.append(event)
        return self.world.next_seq + len(self.events) - 1

    def _perform(self, action: Action) -> int:
        """Add the events and writes of one action, and return the seq of the new version."""
        u, now = action.unwound, action.now
        if now is None:
            raise ValueError(f"{action.do} of {action.path} without a look at it")
        if action.clears is not None:
            self._clear(action.clears)
        match action.do:
            case "delete":
                return self._remove(u.now.path, u.now.seq, now)
            case "mode":
                return self._mode(action, now)
            case "move" if action.then is not None:
                return self._move(action, now, action.then)
            case "write":
                return self._put(action, now, base=u.now.seq)
            case "make":
                return self._make(u, now)
            case _:
                return self._put(action, now, base=0)

    def _put(self, action: Action, over: FileNow, base: int) -> int:
        u, text = action.unwound, action.after
        data = text.data
        lost = withheld(u.path, text, self.world)[0] if u.made is not None else ""
        event: Event
        if self._went_elsewhere(u) and not lost:
            event = FileMoved(u.now.path, u.path, text.blob, len(data), u.mode, u.now.seq, "undo")
        else:
            base = base or self._went_long_ago(u)
            event = FileWritten(u.path, text.blob, len(data), u.mode, base, "undo", over.inode, uncaptured=lost)
        seq = self._note(event)
        self.writes.append(Put(seq, u.path, data, u.mode, over, text, bool(lost)))
        if u.made is not None and not lost:  # any other bytes belong to a version in the journal
            self.blobs.append(data)
        return seq

    def _went_elsewhere(self, u: Unwound) -> bool:
        return not u.now.present and u.now.path != u.path and u.now.seq > 0

    def _went_long_ago(self, u: Unwound) -> int:
        """Return the seq of the deletion of the file, if another file has taken its path since; else 0."""
        head = None if u.now.present else self.world.history.file(u.now.path)
        return u.now.seq if head is not None and head.seq != u.now.seq else 0

    def _make(self, u: Unwound, over: FileNow) -> int:
        target = self.world.history.bytes_of(u.blob) if u.entry == LINK else b""
        if over.kind == "link":  # it leads elsewhere, and no link can be edited
            self._remove(over.path, u.now.seq, over)
            over = FileNow(over.path, "missing")
        base = self._went_long_ago(u)
        seq = self._note(FileWritten(u.path, u.blob, len(target), u.mode, base, "undo", entry=u.entry))
        self.writes.append(Make(seq, u.path, u.entry, target, u.mode, over))
        return seq

    def _remove(self, path: str, base: int, over: FileNow) -> int:
        seq = self._note(FileDeleted(path, base, "undo", over.inode))
        self.writes.append(Clear(seq, path, over) if over.kind == "folder" else Remove(seq, path, over))
        return seq

    def _clear(self, folder: FileNow) -> None:
        """Remove a folder and the folders in it; for folders that the journal knows this is recorded."""
        found = [*(name[:-1] for name in folder.inside if name.endswith("/")), folder.path]
        seqs: dict[str, int] = {}
        for path in found:
            head = self.world.history.file(path)
            if head is not None and not head.gone and head.entry == FOLDER:
                seqs[path] = self._note(FileDeleted(path, head.seq, "undo"))
        coming = self.world.next_seq + len(self.events)  # seq of the record that takes the name
        self.writes += [Clear(seqs.get(path, coming), path, FileNow(path, "folder")) for path in found]

    def _step_aside(self, action: Action) -> None:
        """Move a file to an unused name in its folder, or, if folders above are removed, above the topmost of these."""
        now, head = action.now, action.unwound.now.version
        if now is None or head is None:
            raise ValueError(f"{action.path} cannot step aside without a look at it")
        own = action.path.rpartition("/")[0]
        going = next((name for name in (*above(own), own) if name in self.cleared), None)
        folder = own if going is None else going.rpartition("/")[0]
        aside = f"{folder}/{ASIDE}" if folder else ASIDE
        aside += str(self.world.next_seq + len(self.events))
        moved = FileMoved(action.path, aside, head.blob, head.size, head.mode, head.seq, "undo", now.inode, head.entry)
        seq = self._note(moved)
        self.writes.append(Move(seq, action.path, aside, now))
        self.aside[action.path] = aside, seq

    def _mode(self, action: Action, over: FileNow) -> int:
        u, data = action.unwound, action.after.data
        seq = self._note(ModeChanged(u.path, u.blob, len(data), u.mode, u.now.seq, "undo"))
        self.writes.append(Put(seq, u.path, data, u.mode, over, action.after))
        return seq

    def _move(self, action: Action, over: FileNow, there: FileNow) -> int:
        """Rename a file back, and return the seq of the record. Changed bytes are written to the new path before the
        old path is removed.
        """
        u, head, text = action.unwound, action.unwound.now.version, action.after
        path, base = self.aside.get(u.now.path, (u.now.path, u.now.seq))
        edited = head is not None and (u.blob, u.mode) != (head.blob, head.mode)
        if head is None or over.text is None:  # bytes unknown: recovery could not finish a move
            seq = self._put(action, there, base=0)
            self._remove(path, base, over)
            return seq
        size = len(text.data) if edited else head.size
        seq = self._note(FileMoved(path, u.path, u.blob, size, u.mode, base, "undo", over.inode, head.entry))
        if not edited:
            self.writes.append(Move(seq, path, u.path, over))
            return seq
        self.writes += [Put(seq, u.path, text.data, u.mode, there, text), Remove(seq, path, over)]
        if u.made is not None:
            self.blobs.append(text.data)
        return seq

    def _result(self, action: Action, version: int) -> dict[str, Any]:
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
        through = self._valid_through(action)
        result |= {"operations_applied": 1, "safety_status": OFF, "warnings": []}
        result |= {"anchors_valid_through": through, "must_refresh_from_line": through + 1}
        return result | news(self.world, path)

    def _valid_through(self, action: Action) -> int:
        before, history = action.before, self.world.history
        seen = history.shown(self.world.who.key, action.path)
        if seen is None or seen.version == action.unwound.now.seq:
            return first_difference(before, action.after)
        version = standing(history.version(action.path, seen.version))
        if version is None or version.blob == before.blob:
            return first_difference(before, action.after)
        return first_difference(history.text_held(version.blob) or before, action.after)

    def _showing(self, action: Action, version: int) -> dict[str, Any]:
        """Return the diff with fresh anchors, and record these lines as shown to the caller; {} for a binary file."""
        before, after = action.before, action.after
        if before.binary or after.binary:
            return {}
        rows, ranges, cut = localised_diff(before, after, diff(before, after))
        path = action.unwound.path
        self._note(seen_with(ranges, True, path, version, after, self.world))
        return {"diff": rows, "diff_truncated": True} if cut else {"diff": rows}


_DONE: Final[dict[How, str]] = {
    "undo": "Undone in",
    "redo": "Redone in",
    "rollback": "Rolled back",
    "restore": "Restored",
}
