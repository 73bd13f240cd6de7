"""Whatever is undone, redone, restored, rolled back, renamed, copied or checked out: each line stays its author's.

Each line says in its text who typed it, so the truth needs no model. Nobody types a line again.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from memory_daemon import MemoryDaemon, lines
from quire_journal.model.events import OutsideMoved, OutsideWritten
from quire_journal.model.ids import blob_id

PATHS = ("f", "g")
AGENTS = ("ann", "ben")
KINDS = ("type", "save", "back", "undo", "redo", "restore", "rollback", "move", "delete", "copy")


class World:
    """A daemon, to which things happen."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw, self.daemon, self.typed, self.done = draw, MemoryDaemon(), 0, list[str]()
        self.heads = [0]  # points in the log
        self.contents: dict[str, list[list[str]]] = {path: [] for path in PATHS}

    def __repr__(self) -> str:
        """What happened, for who has to find out."""
        return "".join(f"\n    {one}" for one in self.done)

    def pick(self, *of: Any) -> Any:
        return self.draw(st.sampled_from(of))

    def now(self, path: str) -> list[str] | None:
        text = self.daemon.read(path)
        return None if text is None else text.splitlines()

    def changed(self, path: str, by: str) -> list[str]:
        """The lines of a file, some of which `by` replaces by new ones."""
        before = self.now(path) or []
        at = self.draw(st.integers(0, len(before)))
        cut = self.draw(st.integers(0, min(2, len(before) - at)))
        fresh = []
        for _ in range(self.draw(st.integers(0 if before else 1, 3))):
            self.typed += 1
            fresh.append(f"{by} typed this as line {self.typed}")
        return before[:at] + fresh + before[at + cut :]

    def outside(self, path: str, content: list[str], hint: str = "") -> None:
        data = lines(*content)
        self.daemon.files[path] = data
        event = OutsideWritten(path, blob_id(data), len(data), 0o644, "watched", self.daemon.head_of(path), hint=hint)
        self.daemon.note(event, blobs=(data,))

    def step(self) -> None:
        """Something happens."""
        path, by = self.pick(*PATHS), self.pick(*AGENTS)
        content = self.now(path)
        what = self.pick(
            "type", "type", "save", "back", "undo", "redo", "restore", "rollback", "move", "delete", "copy"
        )
        who = self.daemon.who(by)
        self.done.append(f"{self.daemon.journal.head}: {what} {path} {by}")
        if what == "type":
            self.daemon.write(path, lines(*self.changed(path, by)), who)
        elif what == "save":
            self.outside(path, self.changed(path, "outside"))
        elif what == "back" and self.contents[path]:
            self.outside(path, self.pick(*self.contents[path]), self.pick("", "git checkout main (pid 7)"))
        elif what == "undo":
            self.daemon.ask("undo", {"last": self.pick(1, 2)}, who)
        elif what == "redo":
            self.daemon.ask("redo", {}, who)
        elif what == "restore":
            self.daemon.ask("restore", {"path": path, "at": f"seq:{self.pick(*self.heads)}"}, who)
        elif what == "rollback":
            self.daemon.ask("rollback", {"to": f"seq:{self.pick(*self.heads)}"}, who)
        elif what == "delete" and content is not None:
            self.daemon.delete(path, who)
        elif what == "copy" and content:
            self.outside(self.pick(*PATHS), content)
        elif what == "move" and content is not None:
            (to,) = [other for other in PATHS if other != path]
            if self.now(to) is None:
                self.move(path, to, who)
        self.heads.append(self.daemon.journal.head)
        for each in PATHS:
            after = self.now(each)
            if after is not None and after not in self.contents[each]:
                self.contents[each].append(after)

    def move(self, path: str, to: str, who: Any) -> None:
        if self.draw(st.booleans()):
            self.daemon.move(path, to, who)
            return
        data = self.daemon.files[path]
        event = OutsideMoved(path, to, blob_id(data), len(data), 0o644, "watched", self.daemon.head_of(path))
        self.daemon.files.move(path, to)
        self.daemon.note(event)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    world = World(draw)
    for _ in range(draw(st.integers(2, 20))):
        world.step()
    return world


@given(worlds())
def test_each_line_is_its_authors_whatever_moved_it(world: World) -> None:
    for path in PATHS:
        if world.now(path):
            told = world.daemon.ask("blame", {"path": path})
            wrong = [
                (line["text"], line["writer"]["agent"], line["version"])
                for line in told["lines"]
                if not line["text"].startswith(f"{line['writer']['agent'] or 'outside'} typed")
            ]
            assert not wrong
