"""The door: who does not read costs no memory and loses nothing, and at its end whoever comes late still rings."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import zmq

from quire_daemon.server.socket import MOST_UNREAD, Server, listen
from quire_journal.model.messages import Request, decode_reply, encode

TRIES = 2000
"""Looks at the socket, of a few milliseconds each, before something is taken for lost."""


LONGEST_S = 30.0
"""How long the door waits at most where nothing ends that."""


class Caller:
    """One that reads its replies late, or never."""

    def __init__(self, door: Server) -> None:
        self._door = door
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.RCVHWM, 1)
        self._socket.connect(f"ipc://{door.path}")
        self.send(encode(Request(1, "status")))
        (one,) = self.heard(1)
        self.identity = one

    def send(self, *frames: bytes) -> None:
        for frame in frames:
            self._socket.send(frame)

    def heard(self, requests: int) -> list[bytes]:
        """The connections of that many requests, when the door has taken them."""
        taken: list[bytes] = []
        for _ in range(TRIES):
            if len(taken) >= requests:
                break
            taken += [one.identity for one in self._door.poll(0.005)]
        return taken

    def read(self, replies: int) -> list[int]:
        """The numbers of as many replies, without those to no request."""
        numbers: list[int] = []
        for _ in range(TRIES):
            while self._socket.poll(0):
                numbers += [number] if (number := decode_reply(self._socket.recv()).id) else []
            if len(numbers) >= replies:
                break
            self._door.poll(0.005)
        return numbers

    def read_at_rest(self, replies: int) -> None:
        """Read as many, whatever the door does meanwhile."""
        while replies:
            replies -= bool(decode_reply(self._socket.recv()).id)

    def close(self) -> None:
        self._context.destroy(linger=0)


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Server]:
    path = tmp_path / "socket"
    door = Server(listen(path), path, "epoch")
    yield door
    door.close()


@pytest.fixture
def caller(door: Server) -> Iterator[Caller]:
    caller = Caller(door)
    yield caller
    caller.close()


def test_a_caller_that_was_asked_often_whether_it_is_there_gets_its_reply_when_it_reads(
    door: Server, caller: Caller
) -> None:
    """An agent that had been idle for a night, beside `quire top`, was asked so often that its next reply was lost."""
    replies = 0
    while door.undeliverable == 0 and not door.unread:
        for _ in range(1000):
            assert door.reaches(caller.identity)
        replies += 1
        door.reply(caller.identity, replies, {})
    assert caller.read(replies) == [*range(1, replies + 1)]
    assert not door.unread


def test_replies_that_nobody_reads_are_kept_up_to_a_bound_and_come_in_order_to_who_reads_late(
    door: Server, caller: Caller
) -> None:
    """A thousand were kept, of up to 16 MiB each."""
    sent = 0
    while door.undeliverable == 0:
        sent += 1
        door.reply(caller.identity, sent, {"content": "x" * 100_000})
    assert sent < 2 * MOST_UNREAD
    assert {*door.unread} == {caller.identity}
    assert caller.read(sent - 1) == [*range(1, sent)]
    assert not door.unread


def test_who_has_read_is_served_at_once(door: Server, caller: Caller) -> None:
    """What else it had asked for waited as long as the loop does when there is nothing to do."""
    sent = 0
    while not door.unread:
        sent += 1
        door.reply(caller.identity, sent, {"content": "x" * 100_000})
    reading = threading.Thread(target=caller.read_at_rest, args=[sent])
    reading.start()
    began = time.monotonic()
    while door.unread:
        door.poll(LONGEST_S)
    assert time.monotonic() < began + LONGEST_S
    reading.join()


def test_replies_to_one_that_has_gone_are_forgotten(door: Server, caller: Caller) -> None:
    while not door.unread:
        door.reply(caller.identity, 1, {"content": "x" * 100_000})
    caller.close()
    for _ in range(TRIES):
        if not door.unread:
            break
        door.poll(0.005)
    assert not door.unread


def test_large_requests_are_taken_a_few_at_a_time(door: Server, caller: Caller) -> None:
    """Sixty of them at once had everybody else wait for seconds."""
    large = encode(Request(1, "x" * 5_000_000))
    caller.send(*[large] * 9)
    turns = []
    for _ in range(TRIES):
        if sum(turns) == 9:
            break
        turns.append(len(door.poll(0.005)))
    assert sum(turns) == 9
    assert max(turns) <= 2


def test_a_socket_that_calls_itself_as_callers_by_files_are_called_is_not_heard(door: Server, caller: Caller) -> None:
    """Its reply went to a file of the name that it chose, or ended the daemon where that is none."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    other = context.socket(zmq.DEALER)
    other.setsockopt(zmq.ROUTING_ID, b"spool:\xff")
    other.connect(f"ipc://{door.path}")
    other.send(encode(Request(1, "status")))
    for _ in range(TRIES):
        if door.undeliverable:
            break
        assert door.poll(0.005) == []
    assert door.undeliverable
    context.destroy(linger=0)


def test_who_rings_when_the_door_is_closed_writes_into_no_other_file(tmp_path: Path) -> None:
    """Its descriptors are those of other files by then: a second SIGTERM wrote into the mark of the good end."""
    path = tmp_path / "socket"
    door = Server(listen(path), path, "epoch")
    door.close()
    with ExitStack() as opened:
        files = [opened.enter_context((tmp_path / f"{n}").open("wb", buffering=0)) for n in range(20)]
        door.wake()
        assert [os.fstat(file.fileno()).st_size for file in files] == [0] * 20
