"""Replies that nobody reads: who is waited for, and who is let go."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator

import pytest

from quire_daemon.server.backlog import GRACE_S, LOOK_S, MOST_BYTES, MOST_SENT, SLOW_S, Backlog, Link

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing tells what is unread")

MUCH = MOST_SENT + 1
NOBODY: frozenset[bytes] = frozenset()


class Ends:
    """Connections that have asked, each with an end of ours and one of its own."""

    def __init__(self) -> None:
        self.backlog = Backlog()
        self._pairs: dict[bytes, tuple[socket.socket, socket.socket]] = {}

    def sent(self, who: bytes, size: int, now_s: float) -> Link:
        """So much went out to somebody, who has not read it."""
        if who not in self._pairs:
            self._pairs[who] = socket.socketpair()
            ours = self._pairs[who][0]
            assert self.backlog.begin(who, Link(ours.fileno(), 0, 1)) is None
        link = self.backlog.links[who]
        self._pairs[who][0].send(b"x")  # the rest of it is still in libzmq
        self.backlog.send(link, size, now_s)
        return link

    def read(self, who: bytes) -> None:
        self._pairs[who][1].recv(1000)

    def close(self) -> None:
        for pair in self._pairs.values():
            for end in pair:
                end.close()


@pytest.fixture
def ends() -> Iterator[Ends]:
    ends = Ends()
    yield ends
    ends.close()


def slow(ends: Ends, now_s: float) -> list[bytes]:
    """Who is let go."""
    found = []
    for identity, _ in ends.backlog.slow(now_s, NOBODY):
        found.append(identity)
        ends.backlog.forget(identity)
    return found


def test_who_reads_is_sent_the_next_reply(ends: Ends) -> None:
    link = ends.sent(b"ann", MUCH, 0.0)
    assert not ends.backlog.has_read(link)
    ends.read(b"ann")
    assert ends.backlog.has_read(link)
    assert not link.sent


def test_who_does_not_read_for_long_is_let_go_and_who_has_little_to_read_stays(ends: Ends) -> None:
    ends.sent(b"ann", MUCH, 0.0)
    ends.sent(b"ben", MOST_SENT, 0.0)
    assert slow(ends, SLOW_S - 1) == []
    assert slow(ends, SLOW_S + LOOK_S) == [b"ann"]


def test_of_too_many_bytes_the_oldest_go_soon_until_there_are_few_enough(ends: Ends) -> None:
    for at, who in enumerate([b"ann", b"ben", b"eve"]):
        ends.sent(who, MOST_BYTES // 2, at / 10)
    assert slow(ends, GRACE_S / 2) == []
    assert ends.backlog.crowded
    assert slow(ends, GRACE_S + 0.5) == [b"ann"]
    assert not ends.backlog.crowded


def test_who_was_seen_to_read_is_served_in_a_crowd_and_a_newcomer_waits(ends: Ends) -> None:
    for who in (b"ann", b"ben", b"eve"):
        ends.sent(who, MOST_BYTES // 2, 0.0)
        ends.backlog.links[who].owed += 1
    ends.read(b"ben")
    assert slow(ends, 0.1) == []
    assert ends.backlog.newcomers == {b"ann", b"eve"}


def test_a_descriptor_that_came_again_is_another_connections(ends: Ends) -> None:
    link = ends.sent(b"ann", MUCH, 0.0)
    assert ends.backlog.begin(b"ben", Link(link.fd, 1, 1)) == b"ann"
    assert [*ends.backlog.links] == [b"ben"]
    assert slow(ends, SLOW_S * 2) == []
