"""Who is let in: as many as there are descriptors for, and who leaves for somebody who waits."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from quire_daemon.server.listener_gate import (
    IDLE_S,
    LEAVING,
    MOST_CONNECTIONS,
    SPARE,
    STRANGER_S,
    ConnectionState,
    room,
    to_leave,
)
from quire_daemon.server.socket import Server, listen
from quire_daemon.workers import process
from quire_journal.model.limits import reached


@pytest.mark.parametrize(
    ("limit", "used", "connections", "more"),
    [
        (120, 30, 0, 120 - SPARE - 30),
        (120, 120 - SPARE, 50, 0),
        (120, 200, 50, 0),  # the limit was lowered meanwhile
        (1 << 20, 30, 0, MOST_CONNECTIONS),
        (1 << 20, MOST_CONNECTIONS + 30, MOST_CONNECTIONS, 0),
    ],
)
def test_connections_leave_descriptors_for_the_work(limit: int, used: int, connections: int, more: int) -> None:
    assert room(limit, used, connections) == more


LONG = 1000.0
STRANGER = ConnectionState(1, LONG - STRANGER_S - 1, asked=False, owed=False, unread=False)
DEAF = ConnectionState(2, LONG - STRANGER_S - 1, asked=True, owed=True, unread=True)
IDLE = ConnectionState(3, LONG - IDLE_S - 1, asked=True, owed=False, unread=False)
IDLER = IDLE._replace(fd=4, since_s=0.0)


def test_who_never_asked_leaves_before_who_does_not_read_and_he_before_who_is_idle() -> None:
    assert to_leave([IDLE, DEAF, IDLER, STRANGER], LONG) == [STRANGER, DEAF, IDLER, IDLE]


@pytest.mark.parametrize(
    "stays",
    [
        STRANGER._replace(since_s=LONG),  # just came
        DEAF._replace(since_s=LONG),
        IDLE._replace(since_s=LONG - STRANGER_S - 1),
        IDLER._replace(owed=True),  # waits for a reply, or holds a lease
    ],
)
def test_who_has_just_come_or_asked_or_waits_for_his_reply_stays(stays: ConnectionState) -> None:
    assert to_leave([stays], LONG) == []


def test_a_crowd_leaves_in_portions() -> None:
    assert len(to_leave([STRANGER] * 1000, LONG)) == LEAVING


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Server]:
    door = Server(listen(tmp_path / "socket"), tmp_path / "socket", "epoch")
    yield door
    door.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere libzmq accepts as it likes")
def test_nobody_is_let_in_before_the_loop_has_seen_him(door: Server) -> None:
    gate = door.gate
    assert gate is not None
    callers = [socket.socket(socket.AF_UNIX) for _ in range(5)]
    for caller in callers:
        caller.connect(str(door.path))
    assert gate.connections() == []
    gate.admit()
    while gate.is_open():
        pass
    while not gate.connections():
        pass
    assert len(gate.connections()) == 1, "one event, one connection"
    while len(gate.connections()) < len(callers):
        door.poll(0.001)
    for caller in callers:
        caller.close()


def test_a_start_without_threads_or_files_to_be_had_is_told() -> None:
    before = threading.stack_size(1 << 46)  # no process has room for that
    try:
        with pytest.raises(RuntimeError) as no_thread:
            process.require_threads()
    finally:
        threading.stack_size(before)
    with pytest.raises(OSError, match="needs 4611686018427387904 open files") as no_file:
        process.require_files(1 << 62)
    assert [reached(no_thread.value), reached(no_file.value)] == ["threads", "descriptors"]
    process.require_threads()
    process.require_files()
