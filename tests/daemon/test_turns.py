"""Turns of a daemon without its process: requests that come together, over a journal in memory that can be full."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quire_daemon.app import App
from quire_daemon.clock import SystemClock
from quire_daemon.config import Retention, Settings
from quire_daemon.ignore import Ignore
from quire_daemon.logfile import Log
from quire_daemon.server import Incoming, Peer, Server, listen
from quire_daemon.workspace import Workspace
from quire_journal.journal import Journal
from quire_journal.log import StoreFailed
from quire_journal.messages import Caller, Request
from quire_journal.stores.memory import MemoryStore


class Hearing(Server):
    """A server that keeps its replies."""

    def __init__(self, folder: Path) -> None:
        super().__init__(listen(folder / "socket"), folder / "socket", "epoch")
        self.replies: dict[bytes, dict[str, Any]] = {}

    def reply(self, identity: bytes, request_id: int, body: dict[str, object]) -> None:
        self.replies[identity] = body


class Daemon:
    """As `__main__` puts it together. It watches nothing: files are looked at when a request names them."""

    def __init__(self, folder: Path) -> None:
        self.root, self.state = folder / "checkout", folder / "state"
        for path in (self.root, self.state):
            path.mkdir()
        (self.state / "lock").touch()
        self.store, self.clock = MemoryStore(), SystemClock()
        self.server = Hearing(folder)
        journal, ignore = Journal.open(self.store, self.clock.now_ns()), Ignore(self.root)
        workspace, settings = Workspace(self.root), Settings(retention=Retention(reserve_bytes=0))
        self.app = App(self.root, self.state, journal, workspace, self.server, settings, ignore, self.clock, Log())
        self.app.deciding.open()

    def turn(self, **calls: tuple[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """These calls come together, each of its own caller; their replies."""
        self.server.replies.clear()
        me = Peer(os.getuid(), 1)
        self.app.turn(
            [
                Incoming(
                    name.encode(),
                    me,
                    Request(1, tool, msgspec.Raw(msgspec.msgpack.encode(args)), Caller(agent=name)),
                )
                for name, (tool, args) in calls.items()
            ]
        )
        return {identity.decode(): body for identity, body in self.server.replies.items()}


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    one = Daemon(tmp_path)
    yield one
    one.store.fault = None
    one.app.close()


def write(path: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": path, "content": "new\n"}


def read(path: str) -> tuple[str, dict[str, Any]]:
    return "read_file", {"path": path}


def test_an_edit_whose_records_went_with_anothers_commit_is_not_made(daemon: Daemon) -> None:
    """A full disk took nothing of what was noted in the turn; the next commit had nothing to refuse."""
    left = 1

    def full() -> None:
        nonlocal left
        if left:
            left -= 1
            raise StoreFailed("the disk is full", disk_full=True)

    (daemon.root / "b").write_text("outside\n")
    assert daemon.turn(ann=write("first"))["ann"]["ok"]
    daemon.store.fault = full
    replies = daemon.turn(ann=write("a"), ben=read("b"), eve=write("c"))
    assert {name: reply.get("error") for name, reply in replies.items()} == {
        "ann": "disk_full",
        "ben": "disk_full",
        "eve": None,
    }
    assert replies["ann"]["outcome"] == "not_applied"
    assert sorted(path.name for path in daemon.root.iterdir() if path.is_file()) == ["b", "c", "first"]
    with daemon.app.recorder.history() as history:
        assert history.file("a") is None
        assert history.file("c") is not None
