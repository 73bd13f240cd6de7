"""Whatever three writers and other programs do, undo and redo: each file stays itself, and nothing is done unsaid.

The machine knows what a file is by itself: the first line of each names it and is never edited, and each other line
names the file that it was written into. Of each line it knows the batch that brought it.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from live import LONG
from memory_daemon import MemoryDaemon
from quire_daemon.core.decision import Tool, Who
from quire_daemon.tools.undo.tool import REDO_TOOL, ROLLBACK_TOOL, UNDO_TOOL
from quire_journal.model.events import FileMoved
from quire_journal.model.ids import above, blob_id

PATHS = ("a", "b", "c", "c/d")
WRITERS = ("ann", "ben", "cal")
ANY = st.integers(0, 999)
WHO = st.sampled_from(range(3))

CONFLICTS = st.sampled_from(["skip", "skip", "abort"])

CHOICES = st.one_of(
    st.builds(lambda n: {"batch": n}, ANY),
    st.builds(lambda who: {"writer": who}, st.sampled_from([*WRITERS, "*"])),
    st.builds(lambda last: {"last": last}, st.integers(1, 3)),
    st.builds(lambda who, last: {"writer": who, "last": last}, st.sampled_from(WRITERS), st.integers(1, 3)),
    st.builds(lambda path: {"path": path}, st.sampled_from(PATHS)),
    st.just(dict[str, Any]()),
)


def text(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


class Undoing(RuleBasedStateMachine):
    """A daemon, and what is known of its lines."""

    def __init__(self) -> None:
        super().__init__()
        self.daemon = MemoryDaemon()
        self.who = (self.daemon.ann, self.daemon.ben, self.daemon.introduce("cal", "s3"))
        self.batches: list[int] = []
        self.lines = 0
        self.made = 0
        self.brought: dict[str, int] = {}  # line → the batch that wrote it
        self.fresh: list[str] = []  # lines that are being written

    # ── what is there ──

    def texts(self) -> dict[str, bytes]:
        return dict(self.daemon.files)

    def lines_of(self, path: str) -> list[str]:
        return self.daemon.files[path].decode().splitlines()

    def here(self, n: int) -> str:
        return sorted(self.daemon.files)[n % len(self.daemon.files)]

    @property
    def free(self) -> list[str]:
        there = {name for path in self.daemon.files for name in (path, *above(path))}
        return [path for path in PATHS if path not in there and not {*above(path)} & self.daemon.files.keys()]

    def line(self, file: str) -> str:
        self.lines += 1
        self.fresh.append(f"{file}.{self.lines}")
        return self.fresh[-1]

    def did(self, batch: int) -> None:
        self.batches.append(batch)
        self.brought |= dict.fromkeys(self.fresh, batch)
        self.fresh = []

    def edited(self, path: str, at: int, how: int) -> bytes:
        """Its text with a line more, with another one, or with one less."""
        lines = self.lines_of(path)
        at = 1 + at % max(1, len(lines) - 1)
        if how % 3 == 2 and len(lines) > 3:
            del lines[at]
        else:
            lines[at : at + (how % 3)] = [self.line(lines[0][1:])]
        return text(lines)

    # ── what is done ──

    @precondition(lambda self: self.free)
    @rule(who=WHO, n=ANY, outside=st.booleans())
    def create(self, who: int, n: int, outside: bool) -> None:
        path = self.free[n % len(self.free)]
        self.made += 1
        data = text([f"#{self.made}", *(self.line(str(self.made)) for _ in range(4))])
        self.did(self.daemon.outside(path, data) if outside else self.daemon.write(path, data, self.who[who]))

    @precondition(lambda self: self.daemon.files)
    @rule(who=WHO, n=ANY, at=ANY, how=ANY, outside=st.booleans())
    def edit(self, who: int, n: int, at: int, how: int, outside: bool) -> None:
        path = self.here(n)
        data = self.edited(path, at, how)
        self.did(self.daemon.outside(path, data) if outside else self.daemon.write(path, data, self.who[who]))

    @precondition(lambda self: len(self.daemon.files) > 1)
    @rule(who=WHO, at=ANY, how=ANY)
    def edit_all(self, who: int, at: int, how: int) -> None:
        data = {path: self.edited(path, at, how) for path in sorted(self.daemon.files)}
        self.did(self.daemon.write_all(data, self.who[who]))

    @precondition(lambda self: self.daemon.files)
    @rule(who=WHO, n=ANY, outside=st.booleans())
    def delete(self, who: int, n: int, outside: bool) -> None:
        path = self.here(n)
        self.did(self.daemon.outside_deletes(path) if outside else self.daemon.delete(path, self.who[who]))

    @precondition(lambda self: self.daemon.files and self.free)
    @rule(who=WHO, n=ANY, to=ANY, at=ANY, how=ANY, edits=st.booleans())
    def move(self, who: int, n: int, to: int, at: int, how: int, edits: bool) -> None:
        path, there = self.here(n), self.free[to % len(self.free)]
        data = self.edited(path, at, how) if edits else self.daemon.files[path]
        moved = FileMoved(path, there, blob_id(data), len(data), 0o644, self.daemon.head_of(path))
        self.did(self.daemon.note(moved, who=self.who[who], blobs=(data,)))
        del self.daemon.files[path]
        self.daemon.files[there] = data

    # ── what is undone ──

    @precondition(lambda self: self.batches)
    @rule(who=WHO, choice=CHOICES, redo=st.booleans(), conflicts=CONFLICTS, again=st.booleans())
    def undo(self, who: int, choice: dict[str, Any], redo: bool, conflicts: str, again: bool) -> None:
        if "batch" in choice:
            choice = {"batch": self.batches[choice["batch"] % len(self.batches)]}
        self.go_back(REDO_TOOL if redo else UNDO_TOOL, self.who[who], {**choice, "conflicts": conflicts}, again)

    @precondition(lambda self: self.batches)
    @rule(who=WHO, n=ANY, whose=st.sampled_from([*WRITERS, "*"]), again=st.booleans())
    def rollback(self, who: int, n: int, whose: str, again: bool) -> None:
        choice = {"to": f"seq:{self.batches[n % len(self.batches)]}", "writer": whose}
        self.go_back(ROLLBACK_TOOL, self.who[who], choice, again)

    def go_back(self, tool: Tool[Any], who: Who, choice: dict[str, Any], again: bool) -> None:
        """Do it, and take it back at once or leave it at that."""
        before = self.texts()
        reply = self.call(tool, who, choice)
        if not reply["ok"]:
            return
        if tool is not REDO_TOOL and "path" not in choice and not self.told(reply):
            gone = {line for line, batch in self.brought.items() if batch in reply["batches"]}
            assert not gone.intersection(b"".join(self.texts().values()).decode().splitlines())
        if again:
            taken_back = self.call(UNDO_TOOL if tool is REDO_TOOL else REDO_TOOL, who, {"batch": reply["batch"]})
            assert taken_back["ok"]
            assert self.texts() == before

    def call(self, tool: Tool[Any], who: Who, choice: dict[str, Any]) -> dict[str, Any]:
        """What changes is told, of a refusal nothing does."""
        before = self.texts()
        reply = self.daemon.call(tool, who, **choice)
        after = self.texts()
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        if not reply["ok"]:
            assert not changed
            return reply
        self.did(reply["batch"])
        done = [file for file in reply["files"] if file["action"] != "none"]
        assert changed <= {path for file in done for path in (file["path"], file.get("to"))}
        return reply

    def told(self, reply: dict[str, Any]) -> bool:
        """Does it say that something stays?"""
        return any(file["conflicts"] or file["action"] == "none" for file in reply["files"])

    @invariant()
    def each_file_is_itself(self) -> None:
        """No file stands under two names, no line in another file or twice."""
        names = [self.lines_of(path)[0] for path in self.daemon.files]
        assert len({*names}) == len(names)
        for path in self.daemon.files:
            name, *lines = self.lines_of(path)
            assert name.startswith("#")
            assert {line.partition(".")[0] for line in lines} <= {name[1:]}
            assert len({*lines}) == len(lines)


TestUndoing = Undoing.TestCase
TestUndoing.pytestmark = [pytest.mark.timeout(1800)]
TestUndoing.settings = settings(max_examples=300 if LONG else 20, stateful_step_count=50 if LONG else 30)
