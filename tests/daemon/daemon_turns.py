"""A daemon without its process, turn by turn: requests that come together, over a journal in memory that can fail."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from quire_daemon.app import App
from quire_daemon.clock import SystemClock
from quire_daemon.commit.disk_space import Reserve
from quire_daemon.commit.recorder import Recorder
from quire_daemon.config.live import LiveSettings
from quire_daemon.config.settings import Settings
from quire_daemon.core.call import IncomingRequest, Peer
from quire_daemon.ops.daemon_log import Log
from quire_daemon.server.socket import Server, listen
from quire_daemon.watch.ignore import Ignore
from quire_daemon.workspace.workspace import Workspace
from quire_journal import VERSION, WIRE
from quire_journal.journal import Journal
from quire_journal.model.evidence import WATCHED
from quire_journal.model.messages import Caller, Reply, Request, encode
from quire_journal.storage.memory import MemoryStore
from shapes import checked

LONGEST_S = 30.0
"""For the turns that a call may take, some of which wait for the disk."""


class Hearing(Server):
    """A server that keeps its replies."""

    def __init__(self, folder: Path) -> None:
        super().__init__(listen(folder / "socket"), folder / "socket", "epoch")
        self.replies: dict[bytes, dict[str, Any]] = {}
        self.gone: set[bytes] = set()  # connections that have ended
        self.full: set[bytes] = set()  # connections that take no more
        self.answered: list[int] = []  # which requests, by their callers' numbers

    def reply(self, identity: bytes, request_id: int, body: dict[str, object]) -> None:
        encode(Reply(request_id, body, self.epoch, WIRE, VERSION))
        self.answered.append(request_id)
        self.replies[identity] = body

    @property
    def unread(self) -> set[bytes]:
        return self.full

    def reaches(self, identity: bytes) -> bool:
        return identity not in self.gone


class Hasty(SystemClock):
    """The machine's clock, and a test can have time pass, or stand still."""

    passed_s = 0.0
    set_s = 0.0  # by how much it was set, which no other clock shows
    stands_s = 0.0  # 0.0: it does not
    ticks_s = 0.0  # that pass with each look at it

    def mono_s(self) -> float:  # type: ignore[override]  # there it is the very function, for speed
        self.passed_s += self.ticks_s
        return self.stands_s or time.monotonic() + self.passed_s

    def now_ns(self) -> int:
        return super().now_ns() + int((self.passed_s + self.set_s) * 1e9)

    def set_ns(self) -> int:
        return int(self.set_s * 1e9)


class Said(logging.Handler):
    """What the daemon's own log is told."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append((record.getMessage(), record.__dict__["fields"]))


class Daemon:
    """As `__main__` puts it together. It watches nothing: files are looked at when a request names them."""

    def __init__(self, folder: Path, log: Log | None = None) -> None:
        self.root, self.state = folder / "checkout", folder / "state"
        for path in (self.root, self.state):
            path.mkdir()
        (self.state / "lock").touch()
        self.store, self.clock = MemoryStore(logs=True), Hasty()
        self.server = Hearing(folder)
        journal, ignore = Journal.open(self.store, self.clock.now_ns()), Ignore(self.root)
        workspace = Workspace(self.root, steps=lambda step: self.at_step(step))
        reserve = Reserve(self.state / "reserve", 0)
        self.at_step: Callable[[str], None] = lambda step: None  # done between the steps of a write
        recorder, in_force = Recorder(journal, self.clock), LiveSettings(Settings())
        parts = recorder, workspace, self.server, in_force, ignore, log or Log(), reserve
        self.app = App(self.state, *parts, step=lambda step: self.at_step(step))
        self.app.decider.open()

    def text(self, path: str) -> str | None:
        """What is on the disk."""
        file = self.root / path
        return file.read_text() if file.exists() else None

    def seen(self, path: str) -> int:
        """What the watcher would tell of is looked at; the record that this came to."""
        observer, recorder = self.app.observer, self.app.recorder
        observation = observer.observe(path, WATCHED)
        observer.note(observation, observation.event)
        recorder.commit()
        return recorder.journal.head

    def wait(self) -> None:
        """As long as the loop would for the disk, where a request of many writes waits for it."""
        if wait_s := self.app.performer.patience_s():
            self.server.poll(wait_s)

    def turn(self, **calls: tuple[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """These calls come together, each of its own caller; their replies, after as many turns as it takes."""
        self.server.replies.clear()
        self.app.turn([incoming(name, tool, args) for name, (tool, args) in calls.items()])
        until = self.clock.mono_s() + LONGEST_S
        while len(self.server.replies) < len(calls) and self.clock.mono_s() < until:
            self.wait()
            self.app.turn([])
        replies = {identity.decode(): body for identity, body in self.server.replies.items()}
        return {name: checked(calls[name][0], body) for name, body in replies.items()}


def incoming(caller: str, tool: str, args: dict[str, Any], op: bytes = b"") -> IncomingRequest:
    """What has come from this caller, on a connection of its own."""
    request = Request(1, tool, msgspec.Raw(msgspec.msgpack.encode(args)), Caller(agent=caller), op)
    return IncomingRequest(caller.encode(), Peer(os.getuid(), 1), request)


KEY = "key = 'AKIA" + "IOSFODNN7EXAMPLQ'\n"
"""A text that the journal does not hold."""


def write(path: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": path, "content": "new\n"}


def read(path: str) -> tuple[str, dict[str, Any]]:
    return "read_file", {"path": path}
