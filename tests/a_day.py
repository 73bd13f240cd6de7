"""The journal of a real day, some 10,000 records: two agents with turns, a person's editor, git, builds, a formatter.

The day ends now, so that `1h` means what it does to a person. Lunch was four hours ago.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from memory_daemon import MemoryDaemon
from quire_daemon.core.call import Who
from quire_journal.model.events import (
    BurstBegun,
    BurstEnded,
    GitRan,
    OutsideWritten,
    ReadServed,
    TurnBegan,
    WorkspaceScanned,
    WriteAttributed,
)
from quire_journal.model.ids import blob_id

HOUR_S: Final = 3600
FOREVER: Final = 1 << 62
FUNCTIONS: Final = ("dispatch", "route", "parse", "render", "load", "store", "check", "helper")


def app(**bodies: str) -> bytes:
    """`src/app.py` with these bodies of its functions."""
    parts = [f"def {name}(request):\n    {bodies.get(name, 'return request')}\n\n\n" for name in FUNCTIONS]
    return "".join(parts).encode()


class Day:
    """The day, with the daemon that recorded it."""

    def __init__(self) -> None:
        self.daemon = daemon = MemoryDaemon(began_ns=time.time_ns() - 9 * HOUR_S * 10**9)
        daemon.clock.recorder = None  # a record takes no second here
        self.person = daemon.introduce("", "")
        self.bodies: dict[str, str] = {}
        self._turns = 0
        self._capture()
        self._morning()
        self._afternoon()

    def ask(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """What the person is answered."""
        return self.daemon.ask(tool, arguments, self.person)

    @property
    def records(self) -> int:
        """How many there are."""
        return int(self.daemon.journal.head)

    # ── what happens ──

    def _capture(self) -> None:
        self.daemon.files["src/app.py"] = app()
        self._found("src/app.py", app(), "captured")
        for number in range(400):
            self._found(f"src/lib/m{number}.py", f"value = {number}\n".encode(), "captured")
        self.daemon.note(WorkspaceScanned("start", 401, 0))

    def _found(self, path: str, data: bytes, evidence: str = "watched", hint: str = "") -> int:
        head = self.daemon.head_of(path)
        found = OutsideWritten(path, blob_id(data), len(data), 0o644, evidence, head, hint=hint)
        return self.daemon.note(found, blobs=(data,))

    def _many(self, files: Sequence[tuple[str, bytes]], hint: str) -> None:
        """Another program writes many files at once."""
        events = [
            OutsideWritten(path, blob_id(data), len(data), 0o644, "watched", self.daemon.head_of(path), hint=hint)
            for path, data in files
        ]
        self.daemon.note(*events, blobs=[data for _, data in files])

    def _wait(self, minutes: float) -> None:
        self.daemon.after(minutes * 60)

    def turn(self, agent: str, session: str, prompt: str) -> Who:
        """A person gives an agent a task."""
        self._turns += 1
        who = self.daemon.introduce(agent, session, f"t{self._turns}")
        self.daemon.note(TurnBegan(prompt), who=who)
        self.daemon.ask("status", {}, who)  # as the agent's hooks call the daemon, it is heard
        return who

    def edits(self, who: Who, function: str, body: str) -> int:
        """An agent edits a function by its own Edit, which is announced."""
        daemon = self.daemon
        burst = daemon.note(BurstBegun("Edit src/app.py", "tool_call", FOREVER, outside=True), who=who)
        self.bodies[function] = body
        data = app(**self.bodies)
        daemon.files["src/app.py"] = data
        seq = self._found("src/app.py", data, hint=f"Edit src/app.py ({who.agent})")
        daemon.note(WriteAttributed((seq,), who.writer, "exact", burst), who=who)
        daemon.note(BurstEnded(burst), who=who)
        self._wait(0.5)
        return seq

    def saves(self, function: str, body: str) -> int:
        """The person saves it in an editor."""
        self.bodies[function] = body
        data = app(**self.bodies)
        self.daemon.files["src/app.py"] = data
        return self._found("src/app.py", data)

    def runs(self, who: Who, command: str, files: Sequence[tuple[str, bytes]]) -> None:
        """An agent's shell runs something that writes many files."""
        burst = self.daemon.note(BurstBegun("Bash", "tool_call", FOREVER, outside=True, command=command), who=who)
        self._wait(0.1)
        self._many(files, f"Bash ({who.agent}/{who.agent_session})")
        self.daemon.note(BurstEnded(burst), who=who)
        self._wait(1)

    def _build(self, who: Who, version: int) -> None:
        self.runs(who, "make -j4 build", [(f"build/o{n}.o", f"{n} {version}\n".encode()) for n in range(2950)])

    def _checks_out(self, branch: str, other: str, version: int) -> None:
        self.daemon.note(GitRan(f"checkout {branch}", head_before=f"{other} aaaaaaa", head_after=f"{branch} bbbbbbb"))
        files = [(f"src/lib/m{n}.py", f"value = {n} + {version}\n".encode()) for n in range(150)]
        self._many(files, f"git checkout {branch}")
        self._wait(3)

    def _writes(self, who: Who, path: str, count: int) -> None:
        """An agent writes with Quire's tools."""
        for number in range(count):
            self.daemon.note(ReadServed(path, max(self.daemon.head_of(path), 1), ((0, 1),)), who=who)
            self.daemon.write(path, f"# Notes\n\nstep {number} of {count}\n".encode(), who)
            self._wait(0.2)

    def _morning(self) -> None:
        ada = partial(self.turn, "claude-code", "c1")
        bob = partial(self.turn, "codex", "x1")
        for number in range(60):
            self._found(f"notes/n{number % 7}.md", f"{number}\n".encode())
            self._wait(1)
        self._build(ada("build it once so that we can compare"), 1)
        self._checks_out("topic", "main", 1)
        self._checks_out("main", "topic", 2)
        writer = bob("write the notes on the design")
        self._writes(writer, "docs/design.md", 40)
        maker = ada("make render lazy")
        for number in range(12):
            self.edits(maker, "render", f"return lazy({number})")
        self._build(maker, 2)
        self.daemon.note(GitRan("commit -m render", head_before="main bbbbbbb", head_after="main ccccccc"))
        self._until(4)

    def _until(self, hours: float) -> None:
        """Time passes until so many hours before now."""
        left = time.time_ns() - hours * HOUR_S * 10**9 - self.daemon.now_ns
        self.daemon.after(max(left / 1e9, 1))

    def _afternoon(self) -> None:
        daemon = self.daemon
        self.lunch = self.records
        maker = self.turn("claude-code", "c1", "cache what load returns\nand say so in the docs")
        for number in range(10):
            self.edits(maker, "load", f"return cached({number})")
        self._writes(maker, "docs/cache.md", 12)
        self.saves("helper", "return request or None  # mine")
        self._wait(10)
        self.before_formatting = bytes(daemon.files["src/app.py"])
        maker = self.turn("claude-code", "c1", "format the whole tree")
        tree = [(f"src/lib/m{n}.py", f"value = {n}  # formatted\n".encode()) for n in range(80)]
        self.bodies |= {name: f"{self.bodies.get(name, 'return request')}  # formatted" for name in FUNCTIONS[:2]}
        formatted = app(**self.bodies)
        daemon.files["src/app.py"] = formatted
        self.runs(maker, "ruff format .", [("src/app.py", formatted), *tree])
        self._until(2.5)
        for number in range(60):
            self._found(f"notes/n{number % 7}.md", f"afternoon {number}\n".encode())
            self._wait(0.5)
        self._build(self.turn("codex", "x1", "run the build again"), 3)
        self._until(0.9)
        other = self.turn("codex", "x1", "dispatch must refuse an empty request")
        self._until(0.2)
        self.edits(other, "dispatch", "request = request or REFUSED\n    return request")
        maker = self.turn("claude-code", "c1", "dispatch by the kind of the request")
        self.broke = self.edits(maker, "dispatch", "request = request or REFUSED\n    return request.kind  # broken")
        self.edits(other, "route", "return dispatch(request)")
        self.edits(maker, "store", "return saved(request)")
        self.saves("helper", "return request or None  # mine, too")
