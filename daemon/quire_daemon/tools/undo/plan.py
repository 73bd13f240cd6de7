"""The plan of an undo: one action for each file on disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from quire_daemon.core import FileNow, World
from quire_daemon.tools.leases import covers, disturbs, lines_at, others
from quire_journal.history import Conflict, State, Unwound
from quire_journal.model import FOLDER, LINK, REGULAR, above
from quire_journal.text import Text
from quire_journal.views import EXCLUSIVE, Lease, Version, standing

AS_THEN: Final = "as_then"
"""Skip reason: the file is already as it was at the point, and would not be without the change that restored it."""

UNSEEN: Final = "creation_not_seen"
"""Skip reason: nothing shows that the file was created with its first known version."""


LEASED: Final = "leased"


class Action(msgspec.Struct, frozen=True, gc=False):
    """The action on one file. `do` is "write", "mode", "create", "make" (link or folder), "delete", "move" or
    "none".
    """

    do: str
    unwound: Unwound
    now: FileNow | None = None  # the file on disk at its current or future path
    then: FileNow | None = None  # the file on disk at the target of a move
    text: Text | None = None  # future content
    skipped: str = ""  # reason to do nothing
    lease: Lease | None = None  # the lease that blocks the action
    conflicts: tuple[Conflict, ...] = ()
    waits: bool = False  # the target path must be vacated by another action first
    clears: FileNow | None = None  # folder at the target, removed once its files are gone

    @property
    def takes_folder(self) -> FileNow | None:
        """The folder that the action removes, if it removes one."""
        return self.now if self.do == "delete" and self.now is not None and self.now.kind == "folder" else None

    @property
    def path(self) -> str:
        """The path that the reply names: the file's current path, or its future one."""
        return self.unwound.now.path if self.unwound.now.present else self.unwound.path

    @property
    def left_alone(self) -> bool:
        """True if the file stays as it is."""
        return bool(self.skipped)

    @property
    def built_on(self) -> tuple[Conflict, ...]:
        """The conflicts: places that the undo leaves, because others changed them after the changes to be undone."""
        return tuple(conflict for conflict in self.conflicts if conflict.why != UNSEEN)

    @property
    def first_seen(self) -> int:
        """Seq of the first known version if the file goes back to it, else 0."""
        if self.do == "none":
            return 0
        return next((conflict.seq for conflict in self.conflicts if conflict.why == UNSEEN), 0)

    @property
    def before(self) -> Text:
        """The file's current text; empty if the file is created."""
        return self.now.text if self.now is not None and self.now.text is not None else Text.of(b"")

    @property
    def after(self) -> Text:
        """The file's future text; empty if the file is deleted."""
        return self.text if self.text is not None else Text.of(b"")


def in_order(actions: Sequence[Action]) -> list[tuple[Action, bool]]:
    """Return the actions in an executable order, so that a name is vacated before it is taken. In a cycle of renames
    one action comes twice, first with True: its file moves to a temporary name.
    """
    goes_from = {a.path: a for a in actions if a.do in ("move", "delete")}
    aside: dict[str, Action] = {}
    ordered: list[Action] = []
    begun: set[int] = set()
    done: set[int] = set()
    for action in actions:
        todo = [action]  # without recursion: thousands of files may each wait for the next
        while todo:
            one = todo[-1]
            if id(one) in begun:
                todo.pop()
                if id(one) not in done:
                    done.add(id(one))
                    ordered.append(one)
                continue
            begun.add(id(one))
            for first in _go_first(one, goes_from):
                if id(first) not in begun:
                    todo.append(first)
                elif id(first) not in done:  # this action waits for `first`
                    aside[first.path] = first
    return [*((one, True) for one in aside.values()), *((one, False) for one in ordered)]


def _go_first(action: Action, goes_from: Mapping[str, Action]) -> Iterator[Action]:
    """Yield the actions that vacate the target path, a folder above it, or a folder that is removed."""
    folder = action.takes_folder or action.clears
    for name in folder.inside if folder is not None else ():
        if name.removesuffix("/") in goes_from:
            yield goes_from[name.removesuffix("/")]
    if action.do not in ("create", "make", "move"):
        return
    path = action.unwound.path
    if action.waits:
        yield goes_from[path]
    yield from (goes_from[folder] for folder in above(path) if folder in goes_from)


class _Room(msgspec.Struct, frozen=True):
    """Permission to use a path: the state that the path then has, and what must be vacated first."""

    then: FileNow
    waits: bool = False
    clears: FileNow | None = None

    def given_to(self, action: Action) -> Action:
        """Return the action with these preconditions; an action that does nothing stays as it is."""
        if action.do == "none":
            return action
        return msgspec.structs.replace(action, waits=self.waits, clears=self.clears)


class Planner(msgspec.Struct):
    """Turns file states without the undone work into actions on the files on disk."""

    world: World
    allow_uncaptured: bool
    point: int = 0  # of a rollback: files already in their state at it stay
    taken: set[str] = msgspec.field(default_factory=set)  # paths changed or created
    left: set[str] = msgspec.field(default_factory=set)  # paths vacated
    reached: set[str] = msgspec.field(default_factory=set)  # targets of moves
    leaving: set[str] = msgspec.field(default_factory=set)  # paths that become free
    coming: set[str] = msgspec.field(default_factory=set)  # paths created or moved to
    needed: set[str] = msgspec.field(default_factory=set)  # folders above `coming`

    def actions(self, found: Sequence[Unwound]) -> list[Action]:
        """Return the actions for all files."""
        gone = (u for u in found if u.now.present and not u.missing and (not u.present or u.path != u.now.path))
        self.leaving = {u.now.path for u in gone}
        actions = [self.action(u) for u in found]
        while True:  # a skipped action keeps its own name, which may block others
            free = {a.path for a in actions if a.do in ("move", "delete")}
            if free == self.leaving:
                return actions
            self.leaving = free
            actions = [self._unless_stuck(action) for action in actions]

    def _unless_stuck(self, action: Action) -> Action:
        u = action.unwound
        if action.takes_folder is not None and not self._goes(action.takes_folder):
            return self._skip(u, "occupied")
        stays = action.clears is not None and not self._empties(action.clears)
        if stays or (action.waits and u.path not in self.leaving):
            return self._occupied(u, self.world.files.get(u.path))
        file = self._file_above(u.path) if action.do in ("create", "make", "move") else None
        return action if file is None else self._skip(u, "occupied", Conflict(file.seq, "occupied"))

    def action(self, u: Unwound) -> Action:
        """Return the action for one file."""
        if u.missing:
            return self._skip(u, u.missing)
        if u.is_now:
            return Action("none", u, conflicts=u.conflicts)
        if self.point and self._as_then(u.now):
            return Action("none", u, skipped=AS_THEN)
        if self._is_taken(u):
            return self._skip(u, "occupied")
        action = self._create(u) if not u.now.present else self._change(u)
        if action.do != "none" and (lease := self._in_the_way(action)) is not None:
            action = msgspec.structs.replace(self._skip(u, LEASED), lease=lease)
        if action.do in ("move", "delete"):
            self.left.add(u.now.path)
            self.reached |= {u.path} if action.do == "move" else set()
        elif action.waits:
            self.reached.add(u.path)
        elif not action.skipped:
            self.taken.add(u.path)
        if action.do in ("create", "make", "move"):
            self.coming.add(u.path)
            self.needed.update(above(u.path))
        return action

    def _in_the_way(self, action: Action) -> Lease | None:
        """Return an exclusive lease of another caller on what the action changes, or None. A lease on lines that stay
        does not count.
        """
        u, world = action.unwound, self.world
        paths = {path for path, there in ((u.now.path, u.now.present), (u.path, u.present)) if there}
        for lease in others(world):
            if lease.strength != EXCLUSIVE or not any(covers(lease, path) for path in paths):
                continue
            lines = lines_at(lease, world.history.file(u.now.path), world.history) if action.do == "write" else None
            if lines is None or lease.path != u.now.path or disturbs(action.before, action.after, lines):
                return lease
        return None

    def _is_taken(self, u: Unwound) -> bool:
        """True if an earlier action uses the path that the file has or gets."""
        here, there, taken, left, reached = u.now.path, u.path, self.taken, self.left, self.reached
        if u.present and (not u.now.present or here != there) and self._is_in_the_way(there):
            return True
        if not u.now.present:
            return there in taken or there in reached
        if u.present and here == there:
            return here in taken or here in left or here in reached
        return here in taken or here in left or (u.present and (there in taken or there in reached))

    def _is_in_the_way(self, path: str) -> bool:
        return path in self.needed or any(folder in self.coming for folder in above(path))

    def _as_then(self, now: State) -> bool:
        was, head = standing(self.world.history.version_at(now.path, self.point)), standing(now.version)
        if was is None or head is None:
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
        if there is not None and there.kind == "folder" and u.entry == FOLDER:
            return Action("none", u)
        room = self._coming(u)
        if isinstance(room, Action):
            return room
        if u.entry != REGULAR:
            return Action("make", u, room.then, clears=room.clears)
        return room.given_to(self._with_data("create", u, room.then))

    def _coming(self, u: Unwound) -> _Room | Action:
        there = self.world.files.get(u.path)
        if there is None and self._protected(u.path):
            return self._skip(u, "protected")
        room = self._room(u.path, there)
        if room is None or (room.waits and u.entry != REGULAR):
            return self._occupied(u, there)
        file = self._file_above(u.path)
        return room if file is None else self._skip(u, "occupied", Conflict(file.seq, "occupied"))

    def _room(self, path: str, there: FileNow | None) -> _Room | None:
        """Return the permission to use `path`, whose current state is `there`; None if the path stays in use."""
        if there is None or there.path != path:
            return None
        if there.kind == "missing":
            return _Room(there)
        if path in self.leaving:
            return _Room(FileNow(path, "missing"), waits=True)
        if there.kind == "folder" and self._empties(there):
            return _Room(FileNow(path, "missing"), clears=there)
        return None

    def _empties(self, folder: FileNow) -> bool:
        return not folder.inside_cut and all(name in self.leaving or name.endswith("/") for name in folder.inside)

    def _goes(self, folder: FileNow) -> bool:
        return not folder.inside_cut and all(name.removesuffix("/") in self.leaving for name in folder.inside)

    def _file_above(self, path: str) -> Version | None:
        for folder in above(path):
            head = standing(self.world.history.file(folder))
            if head is not None and head.entry != FOLDER and folder not in self.leaving:
                return head
        return None

    def _protected(self, path: str) -> bool:
        return self.world.kept_off.get(path) == "permission_denied"

    def _change(self, u: Unwound) -> Action:
        now, head = self.world.files.get(u.now.path), u.now.version
        if now is None and self._protected(u.now.path):
            return self._skip(u, "protected")
        if now is None and head is not None and head.entry != REGULAR:
            return self._skip(u, "not_a_file")
        if now is None or head is None:
            return self._skip(u, "changed_meanwhile")
        is_link = now.kind == "link" and head.entry == LINK and (not u.present or self._is_led_back(u))
        is_file = now.kind == "file" and head.entry == REGULAR and (not u.present or u.entry == REGULAR)
        if now.kind == "folder" and u.now.folder and not u.present:
            return self._take_folder(u, now)
        if now.path != u.now.path or not (is_file or is_link):
            return self._skip(u, "not_a_file")
        if (now.uncaptured or now.version is None) and not self.allow_uncaptured:
            return self._skip(u, "uncaptured")
        if now.version is not None and now.version.seq != head.seq:
            return self._skip(u, "changed_meanwhile")
        if not u.present:
            return Action("delete", u, now, conflicts=u.conflicts)
        if is_link:
            return Action("make", u, now, conflicts=u.conflicts)
        if u.path != u.now.path:
            room = self._coming(u)
            return room if isinstance(room, Action) else room.given_to(self._with_data("move", u, now, room.then))
        return self._with_data("write" if u.blob != u.now.blob else "mode", u, now)

    def _is_led_back(self, u: Unwound) -> bool:
        """True if a link is to get its former target, under its current path."""
        return u.entry == LINK and u.path == u.now.path and u.made is None and self.world.history.holds(u.blob)

    def _take_folder(self, u: Unwound, now: FileNow) -> Action:
        if u.now.path in self.needed:
            return Action("none", u)
        return Action("delete", u, now) if self._goes(now) else self._skip(u, "occupied")

    def _with_data(self, do: str, u: Unwound, now: FileNow, then: FileNow | None = None) -> Action:
        text = u.made if u.made is not None else self.world.history.text_held(u.blob)
        if text is None:
            return self._skip(msgspec.structs.replace(u, missing="uncaptured"), "uncaptured")
        return Action(do, u, now, then, text, conflicts=u.conflicts)
