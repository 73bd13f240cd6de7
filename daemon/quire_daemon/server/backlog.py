"""Backlog: unread reply bytes of each connection, and which connections to end for it.

libzmq keeps replies in memory until the kernel has room, and the kernel reports what the peer has not read (SIOCOUTQ).
A further reply is sent only if the unread rest is small.
"""

from __future__ import annotations

import fcntl
import struct
import termios
from collections.abc import Container, Iterator
from typing import Final

MOST_SENT: Final = 64 << 10
"""Unread bytes beyond which nothing more is sent to a connection."""

MOST_BYTES: Final = 32 << 20
"""Unread bytes of all connections together, beyond which new callers wait."""

GRACE_S: Final = 1.0
"""Seconds that a connection may leave replies unread beyond `MOST_BYTES`."""

SLOW_S: Final = 60.0
"""Seconds otherwise, for more than `MOST_SENT` unread bytes."""

LOOK_S: Final = 1.0
"""Seconds between two checks."""

_UNREAD: Final = struct.Struct("i")


class Link:
    """A connection that has sent a request."""

    __slots__ = ("fd", "heard_s", "inode", "owed", "pid", "reads", "sent", "since_s")

    def __init__(self, fd: int, inode: int, pid: int) -> None:
        self.fd, self.inode, self.pid = fd, inode, pid
        self.heard_s = 0.0  # monotonic time of the last request
        self.owed = 0  # unanswered requests
        self.sent = 0  # bytes not known to be read
        self.since_s = 0.0  # monotonic time since which `sent` is not 0
        self.reads = False  # has it ever read everything?


class Backlog:
    """All connections that have sent a request."""

    def __init__(self) -> None:
        self.links: dict[bytes, Link] = {}
        self.unread = 0  # bytes of all connections: the sum of `Link.sent`, and the replies waiting in the server
        self.crowded = False  # too many bytes, and no connection to end yet
        self._by_fd: dict[int, bytes] = {}
        self._looked_s = 0.0

    @property
    def newcomers(self) -> set[bytes]:
        """Connections that wait for a reply and have never read one."""
        return {identity for identity, link in self.links.items() if link.owed and not link.reads}

    def begin(self, identity: bytes, link: Link) -> bytes | None:
        """Add a new connection. Returns the identity that used its descriptor before, whose connection has ended."""
        gone = self._by_fd.get(link.fd)
        if gone is not None:
            self.forget(gone)
        self.links[identity] = link
        self._by_fd[link.fd] = identity
        return gone

    def forget(self, identity: bytes) -> None:
        link = self.links.pop(identity, None)
        if link is not None:
            self.unread -= link.sent
            self._by_fd.pop(link.fd, None)

    def send(self, link: Link, size: int, now_s: float) -> None:
        """Record `size` bytes sent."""
        if not link.sent:
            link.since_s = now_s
        link.sent += size
        self.unread += size

    def has_read(self, link: Link) -> bool:
        """True if the peer has read everything."""
        if link.sent and not _unread(link.fd):
            self.unread -= link.sent
            link.sent, link.reads = 0, True
        return not link.sent

    def slow(self, now_s: float, waited_for: Container[bytes]) -> Iterator[tuple[bytes, Link]]:
        """Connections to end now, longest unread first. The caller forgets each at once; `waited_for` have replies
        still to send.
        """
        self.crowded = self.unread > MOST_BYTES
        if not self.crowded and now_s < self._looked_s + LOOK_S:
            return
        self._looked_s = now_s
        behind = [(link.since_s, identity, link) for identity, link in self.links.items() if not self.has_read(link)]
        for since_s, identity, link in sorted(behind, key=lambda one: one[0]):
            self.crowded = self.unread > MOST_BYTES
            much = link.sent > MOST_SENT or identity in waited_for
            if since_s < now_s - (GRACE_S if self.crowded else SLOW_S) and much:
                yield identity, link
        self.crowded = self.unread > MOST_BYTES


def _unread(fd: int) -> int:
    try:
        return int(_UNREAD.unpack(fcntl.ioctl(fd, termios.TIOCOUTQ, bytes(_UNREAD.size)))[0])
    except OSError:
        return 0
