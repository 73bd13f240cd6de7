"""How connections get in: one by one, and none for which there is no descriptor.

libzmq accepts whatever waits at its listener, and aborts the process where accept(2) finds no descriptor left (EMFILE);
nothing of it can be asked to wait. So the listener is made silent in the epoll set of libzmq's own thread, whose entry
the kernel tells of (/proc/self/fdinfo), and is woken there for one event each time (EPOLLONESHOT): libzmq accepts one
connection for one event. The loop sees who waits, and wakes it when there is room. Until then callers wait in the
kernel's queue. Where the system does not tell (macOS), libzmq accepts as it likes.
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
"""How long libzmq's thread may take to begin to listen."""

MOST_CONNECTIONS: Final = 1024
"""Each takes some 20 KB of libzmq when nothing is asked over it; agents and people of one checkout are dozens."""

SPARE: Final = 32
"""Descriptors that no connection gets: an edit opens a few, and a process for a search some pipes."""


class _Event(ctypes.Structure):
    """`struct epoll_event`."""

    _pack_ = 1 if platform.machine() in ("x86_64", "AMD64") else 0
    _fields_ = (("events", ctypes.c_uint32), ("data", ctypes.c_uint64))


class Gate:
    """The listener's entry in the epoll set of libzmq's thread."""

    def __init__(self, listener: int, epoll: int, data: int, others: frozenset[int]) -> None:
        self._listener, self._epoll, self._data = listener, epoll, data
        self._others = others  # what is in the set and is no connection
        self._libc = ctypes.CDLL(None, use_errno=True)

    def close(self) -> None:
        """Let nobody in. Raises OSError."""
        self._set(0)

    def admit(self) -> None:
        """Let one connection in, which waits. Raises OSError."""
        self._set(_IN | _ONESHOT)

    def connections(self) -> list[int]:
        """The descriptors of those that are in. Raises OSError."""
        return [entry.fd for entry in _entries(self._epoll) if entry.fd not in self._others]

    def is_open(self) -> bool:
        """Has libzmq still to take up the last `admit`? Raises OSError."""
        return any(entry.fd == self._listener and entry.events & _IN for entry in _entries(self._epoll))

    def _set(self, events: int) -> None:
        event = _Event(events, self._data)
        if self._libc.epoll_ctl(self._epoll, _MOD, self._listener, ctypes.byref(event)):
            raise OSError(ctypes.get_errno(), "the listener is not in libzmq's set any more")


class _Entry(NamedTuple):
    """What an epoll set waits for."""

    fd: int
    events: int
    data: int


def gate_of(listener: int) -> Gate | None:
    """The gate of a listener that libzmq has been given, closed; None where there can be none."""
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
    """What the epoll set with this descriptor waits for; nothing where it is none. Raises OSError."""
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
    """How many more connections there may be, of a process that may have `limit` descriptors and has `used`."""
    return max(0, min(limit - SPARE - used, MOST_CONNECTIONS - connections))


def limit_of_files() -> int:
    """How many descriptors this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def files_open() -> int:
    """How many it has. Raises OSError, also where there is none left to look."""
    return len(os.listdir(_DESCRIPTORS)) - 1  # that of the look itself


class ConnectionState(NamedTuple):
    """A connection as the door knows it."""

    fd: int
    since_s: float  # monotonic: when it was heard last; of one that never asked anything, when it was seen first
    asked: bool  # has it ever asked anything?
    owed: bool  # is a reply still to come, or does it hold a lease?
    unread: bool  # are there replies that it does not read?


STRANGER_S: Final = 2.0
"""For how long somebody who has never asked anything keeps a place that others wait for."""

IDLE_S: Final = 10.0
"""And somebody who has not asked anything lately: its client connects again with the next call."""


LEAVING: Final = 32
"""Connections that are ended at once where somebody waits: as many may wait as the kernel keeps."""


def to_leave(seen: Collection[ConnectionState], now_s: float) -> list[ConnectionState]:
    """Who leaves the connection to somebody who waits: who never asked, then who does not read, then who is idle."""

    def may_leave(one: ConnectionState) -> bool:
        stays_s = STRANGER_S if not one.asked or one.unread else IDLE_S
        return one.since_s < now_s - stays_s and (one.unread or not one.owed)

    def rank(one: ConnectionState) -> tuple[bool, bool, float]:
        return one.asked, not one.unread, one.since_s

    return sorted(filter(may_leave, seen), key=rank)[:LEAVING]
