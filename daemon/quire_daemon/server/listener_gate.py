"""Admission of connections, one by one, and none without a free descriptor.

libzmq aborts the process if accept(2) fails with EMFILE. So the listener is disabled in the epoll set of libzmq's
thread, found through /proc/self/fdinfo, and enabled for one event at a time (EPOLLONESHOT). Until then callers wait in
the kernel's queue. Without that table (macOS) libzmq accepts freely.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Final, NamedTuple

_DESCRIPTORS: Final = Path("/proc/self/fd")
_TOLD: Final = Path("/proc/self/fdinfo")

_MOD: Final = 3
_IN: Final = 0x001
_ONESHOT: Final = 1 << 30

SETTLE_S: Final = 1.0

MOST_CONNECTIONS: Final = 1024
"""Most connections, some 20 KB of libzmq each."""

SPARE: Final = 32
"""Descriptors reserved for edits and searches."""


class _Event(ctypes.Structure):
    """`struct epoll_event`."""

    _pack_ = 1 if platform.machine() in ("x86_64", "AMD64") else 0
    _fields_ = (("events", ctypes.c_uint32), ("data", ctypes.c_uint64))


class Gate:
    """The listener's entry in the epoll set of libzmq's thread."""

    def __init__(self, listener: int, epoll: int, data: int, others: frozenset[int]) -> None:
        self._listener, self._epoll, self._data = listener, epoll, data
        self._others = others  # members of the set that are no connections
        self._libc = ctypes.CDLL(None, use_errno=True)

    def close(self) -> None:
        self._set(0)

    def admit(self) -> None:
        """Accept one waiting connection. Raises OSError."""
        self._set(_IN | _ONESHOT)

    def connections(self) -> list[int]:
        """Descriptors of the accepted connections. Raises OSError."""
        return [entry.fd for entry in _entries(self._epoll) if entry.fd not in self._others]

    def is_open(self) -> bool:
        """True if the last `admit` is still unused. Raises OSError."""
        return any(entry.fd == self._listener and entry.events & _IN for entry in _entries(self._epoll))

    def _set(self, events: int) -> None:
        event = _Event(events, self._data)
        if self._libc.epoll_ctl(self._epoll, _MOD, self._listener, ctypes.byref(event)):
            raise OSError(ctypes.get_errno(), "the listener is not in libzmq's set any more")


class _Entry(NamedTuple):
    fd: int
    events: int
    data: int


def gate_of(listener: int) -> Gate | None:
    """The closed gate of a listener of libzmq; None if unsupported."""
    if sys.platform != "linux":
        return None
    until = time.monotonic() + SETTLE_S
    while time.monotonic() < until:
        try:
            for name in os.listdir(_DESCRIPTORS):
                entries = _entries(int(name))
                for entry in entries:
                    if entry.fd == listener and entry.events & _IN:
                        gate = Gate(listener, int(name), entry.data, frozenset(one.fd for one in entries))
                        gate.close()
                        return gate
        except OSError:
            return None
        time.sleep(0.001)
    return None


def _entries(epoll: int) -> list[_Entry]:
    """Entries of the epoll set, or []. Raises OSError."""
    try:
        told = (_TOLD / str(epoll)).read_bytes()
    except FileNotFoundError:
        return []
    found = []
    for line in told.splitlines():
        if line.startswith(b"tfd:"):
            _, fd, _, events, _, data, *_ = line.split()
            found.append(_Entry(int(fd), int(events, 16), int(data, 16)))
    return found


def room(limit: int, used: int, connections: int) -> int:
    """Number of further connections, for a limit of `limit` descriptors of which `used` are open."""
    return max(0, min(limit - SPARE - used, MOST_CONNECTIONS - connections))


def limit_of_files() -> int:
    """Most descriptors of this process."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def files_open() -> int:
    """Open descriptors of this process. Raises OSError, also if none is left to count."""
    return len(os.listdir(_DESCRIPTORS)) - 1  # that of the listing itself


class ConnectionState(NamedTuple):
    """A connection, as admission sees it."""

    fd: int
    since_s: float  # monotonic time of the last request, or of the first sight
    asked: bool  # has it ever asked anything?
    owed: bool  # a reply is due, or the connection holds a lease
    unread: bool  # replies wait to be read


STRANGER_S: Final = 2.0
"""Seconds for which a connection without any request keeps a needed place."""

IDLE_S: Final = 10.0
"""Seconds for which an idle connection keeps a needed place; its client reconnects with the next call."""


LEAVING: Final = 32
"""Most connections ended at once: the length of the kernel's queue."""


def to_leave(seen: Collection[ConnectionState], now_s: float) -> list[ConnectionState]:
    """Connections to end for waiting callers: first without requests, then not reading, then idle."""

    def may_leave(one: ConnectionState) -> bool:
        stays_s = STRANGER_S if not one.asked or one.unread else IDLE_S
        return one.since_s < now_s - stays_s and (one.unread or not one.owed)

    def rank(one: ConnectionState) -> tuple[bool, bool, float]:
        return one.asked, not one.unread, one.since_s

    return sorted(filter(may_leave, seen), key=rank)[:LEAVING]
