"""Replies that were sent and are not read: how many bytes each connection has of them, and who is let go for that.

What libzmq was given is in its memory until the kernel has room for it, and the kernel tells what the other end has
still to read (SIOCOUTQ). A reply goes out at once; the next one only when what went before is read, or is little.
"""

from __future__ import annotations

import fcntl
import struct
import termios
from collections.abc import Container, Iterator
from typing import Final

MOST_SENT: Final = 64 << 10
"""Bytes that somebody has not read, beyond which nothing more is sent to him."""

MOST_BYTES: Final = 32 << 20
"""Unread bytes of all connections together. Who asks for the first time waits then until there are fewer."""

GRACE_S: Final = 1.0
"""How long a connection may leave its replies unread where that bound is reached. Who is alive reads within it."""

SLOW_S: Final = 60.0
"""And where it is not, if they are more than `MOST_SENT`."""

LOOK_S: Final = 1.0
"""Between two looks for those."""

_UNREAD: Final = struct.Struct("i")


class Link:
    """A connection over which something has been asked."""

    __slots__ = ("fd", "heard_s", "inode", "owed", "pid", "reads", "sent", "since_s")

    def __init__(self, fd: int, inode: int, pid: int) -> None:
        self.fd, self.inode, self.pid = fd, inode, pid
        self.heard_s = 0.0  # monotonic: when it asked last
        self.owed = 0  # requests that are not answered
        self.sent = 0  # bytes that it is not known to have read
        self.since_s = 0.0  # monotonic: since when that is not 0
        self.reads = False  # has it ever read all that it was sent?


class Backlog:
    """All connections over which something has been asked."""

    def __init__(self) -> None:
        self.links: dict[bytes, Link] = {}
        self.kept = 0  # bytes of replies that wait in the server
        self.crowded = False  # are there too many bytes, and nobody who could be let go for them yet?
        self._sent = 0  # the sum of `Link.sent`
        self._by_fd: dict[int, bytes] = {}
        self._looked_s = 0.0

    @property
    def unread(self) -> int:
        """All that is not known to be read."""
        return self._sent + self.kept

    @property
    def newcomers(self) -> set[bytes]:
        """Connections that wait for an answer and have never been seen to read one."""
        return {identity for identity, link in self.links.items() if link.owed and not link.reads}

    def begin(self, identity: bytes, link: Link) -> bytes | None:
        """Somebody asks for the first time. Whose descriptor it was before has gone: that one's identity."""
        gone = self._by_fd.get(link.fd)
        if gone is not None:
            self.forget(gone)
        self.links[identity] = link
        self._by_fd[link.fd] = identity
        return gone

    def forget(self, identity: bytes) -> None:
        """This connection has ended."""
        link = self.links.pop(identity, None)
        if link is not None:
            self._sent -= link.sent
            self._by_fd.pop(link.fd, None)

    def hear(self, identity: bytes, now_s: float) -> None:
        """It asks something."""
        link = self.links[identity]
        link.heard_s = now_s
        link.owed += 1

    def answered(self, identity: bytes) -> None:
        """It gets an answer."""
        link = self.links.get(identity)
        if link is not None and link.owed:
            link.owed -= 1

    def send(self, link: Link, size: int, now_s: float) -> None:
        """So many bytes have gone out."""
        if not link.sent:
            link.since_s = now_s
        link.sent += size
        self._sent += size

    def has_read(self, link: Link) -> bool:
        """Has it read all that it was sent?"""
        if link.sent and not _unread(link.fd):
            self._sent -= link.sent
            link.sent, link.reads = 0, True
        return not link.sent

    def slow(self, now_s: float, waited_for: Container[bytes]) -> Iterator[tuple[bytes, Link]]:
        """Who is to be let go now, who has read nothing for longest first. The caller forgets each at once.

        `waited_for`: for whom replies are kept until there is room.
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
    """Bytes that the other end of a socket has not read; 0 where that is not told, or the socket has gone."""
    try:
        return int(_UNREAD.unpack(fcntl.ioctl(fd, termios.TIOCOUTQ, bytes(_UNREAD.size)))[0])
    except OSError:
        return 0
