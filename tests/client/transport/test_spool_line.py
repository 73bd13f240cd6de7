"""A line by files: to whom nothing is given, what can be taken back, and what cannot."""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quire_client.transport.errors import NoDaemon, NoReply, NotSent
from quire_client.transport.file_transport import SpoolLine, way_in
from quire_journal.model.file_transport import LOCK, MAX_BYTES, SPOOL_FOLDER
from quire_journal.model.messages import Reply, encode
from quire_journal.workspaces.layout import Place
from quire_journal.workspaces.lock import LockHolder


@pytest.fixture
def folder(place: Place) -> Path:
    made = place.root.joinpath(*SPOOL_FOLDER)
    made.mkdir(parents=True, mode=0o700)
    return made


class Taker:
    """What a daemon does at its side of the folder: it holds the lock, and takes what it is told to take."""

    def __init__(self, folder: Path, epoch: str = "e1") -> None:
        self.folder = folder
        self.fd = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self.fd, fcntl.LOCK_EX)
        os.pwrite(self.fd, json.dumps(LockHolder(1, epoch, "")._asdict()).encode(), 0)

    def requests(self) -> list[Path]:
        return list(self.folder.glob("*.request"))

    def take(self) -> Path:
        """The name of the reply to the one request that comes, which is gone then."""
        until = time.monotonic() + 10
        while not (found := self.requests()):
            assert time.monotonic() < until
            time.sleep(0.001)
        found[0].unlink()
        return found[0].with_suffix(".reply")

    def end(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


@pytest.fixture
def taker(folder: Path) -> Iterator[Taker]:
    one = Taker(folder)
    yield one
    one.end()


@pytest.fixture
def line(place: Place, taker: Taker) -> Iterator[SpoolLine]:
    found = way_in(place)
    assert found is not None
    yield found
    found.close()


def meanwhile(act: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=act)
    thread.start()
    return thread


def soon() -> float:
    return time.monotonic() + 0.05


def test_without_a_daemon_there_is_no_way_in(place: Place, folder: Path, taker: Taker) -> None:
    taker.end()
    assert way_in(place) is None


def test_a_fifo_in_place_of_the_daemons_lock_keeps_nobody_waiting(place: Place, folder: Path) -> None:
    os.mkfifo(folder / LOCK)
    assert way_in(place) is None


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_nothing_is_left_where_others_may_write(place: Place, folder: Path, taker: Taker, mode: int) -> None:
    folder.chmod(mode)
    assert way_in(place) is None


def test_a_link_is_no_way_in(place: Place, folder: Path, taker: Taker) -> None:
    away = place.root / "away"
    folder.rename(away)
    folder.symlink_to(away)
    assert way_in(place) is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_what_belongs_to_another_user_is_no_way_in_and_no_reply(
    place: Place, folder: Path, taker: Taker, line: SpoolLine
) -> None:
    def answer() -> None:
        reply = taker.take()
        part = reply.with_suffix(".part")
        part.write_bytes(encode(Reply(1, {"ok": True})))
        os.chown(part, 12345, 12345)
        part.rename(reply)

    thread = meanwhile(answer)
    with pytest.raises(NoReply, match="Another user's file"):
        line.exchange(1, b"frame", time.monotonic() + 10)
    thread.join()
    os.chown(folder, 12345, 12345)
    assert way_in(place) is None


def test_a_reply_is_fetched_and_nothing_stays(folder: Path, taker: Taker, line: SpoolLine) -> None:
    def answer() -> None:
        reply = taker.take()
        part = reply.with_suffix(".part")
        part.write_bytes(encode(Reply(7, {"ok": True}, "e1")))
        part.rename(reply)

    thread = meanwhile(answer)
    assert line.exchange(7, b"frame", time.monotonic() + 10).body == {"ok": True}
    thread.join()
    line.close()
    assert os.listdir(folder) == [LOCK]


def test_a_request_that_nobody_took_in_time_was_not_sent(taker: Taker, line: SpoolLine) -> None:
    with pytest.raises(NotSent, match="did not answer in time"):
        line.exchange(1, b"frame", soon())
    assert taker.requests() == []  # it is not performed later


def test_a_taken_but_unanswered_request_may_have_been_performed(taker: Taker, line: SpoolLine) -> None:
    thread = meanwhile(lambda: taker.take() and None)
    with pytest.raises(NoReply, match="did not answer in time"):
        line.exchange(1, b"frame", time.monotonic() + 0.5)
    thread.join()


def test_a_daemon_that_ends_is_not_waited_for(taker: Taker, line: SpoolLine) -> None:
    def end() -> None:
        taker.take()
        taker.end()

    thread = meanwhile(end)
    with pytest.raises(NoReply, match="ended during the call"):
        line.exchange(1, b"frame", time.monotonic() + 30)
    thread.join()
    assert not line.usable()
    with pytest.raises(NotSent):
        line.exchange(2, b"frame", time.monotonic() + 30)


def test_another_run_of_the_daemon_is_another_line(folder: Path, taker: Taker, line: SpoolLine) -> None:
    taker.end()
    second = Taker(folder, "e2")
    try:
        assert not line.usable()
    finally:
        second.end()


def test_what_is_too_large_for_a_file_is_refused(taker: Taker, line: SpoolLine) -> None:
    reply = line.exchange(1, bytes(MAX_BYTES + 1), soon()).body
    assert (reply["ok"], reply["error"]) == (False, "file_too_large")
    assert taker.requests() == []


def test_where_no_file_can_be_left_that_is_said_and_not_tried_again(
    folder: Path, taker: Taker, line: SpoolLine
) -> None:
    (folder / f".{line._client}-1.request.new").mkdir()
    with pytest.raises(NoDaemon, match="cannot be left in"):
        line.exchange(1, b"frame", time.monotonic() + 30)
