"""How much more memory this process may take, where its address space is limited (`ulimit -v`); and giving it back.

Without any, not only a call fails: libraries end the process. So nothing is begun with too little left.
"""

from __future__ import annotations

import ctypes
import resource
import sys
from typing import Final

NEEDED: Final = 64 << 20
"""Bytes of address space that a call may need: a file of the largest size that is edited, some times over."""

_M_ARENA_MAX: Final = -8
_M_MMAP_THRESHOLD: Final = -3
"""glibc's names of settings (malloc.h)."""


def memory_left() -> int:
    """Bytes of address space that can still be had."""
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return sys.maxsize
    try:
        with open("/proc/self/statm", "rb", 0) as told:
            used = int(told.read(64).split()[0]) * resource.getpagesize()
    except OSError:  # not Linux, or no descriptor is left, which is told by itself
        return sys.maxsize
    return most - used


ARENAS: Final = 4
"""Arenas of malloc: the main one, one for the journal's first thread, and one for each of the two threads of libzmq.

libzmq drops a request in silence when it finds no memory for it. An arena of its own has address space in reserve, so
that the request arrives and is refused by `memory_left`.
"""


MAPPED: Final = 128 << 10
"""Bytes from which on an allocation is a mapping of its own, which goes back to the system as a whole.

glibc begins with the same measure, and raises it to the size of whatever is freed. Texts come and go in any order, so
that those below it leave holes in the arenas: these grew by 1.7 MB in ten minutes of a soak.
"""


def bound_malloc() -> None:
    """Let few arenas and large mappings hold the daemon's memory. To be called before the first thread begins.

    The caches keep what a thread reads, in an arena of that thread. Those arenas grew by 2 MB in ten minutes of a soak,
    while the main one had room.
    """
    if (libc := _glibc()) is not None:
        libc.mallopt(_M_ARENA_MAX, ARENAS)
        libc.mallopt(_M_MMAP_THRESHOLD, MAPPED)


def give_back() -> None:
    """Give free memory back to the system: after a lot was freed, malloc keeps it for what may come."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    """The C library, if it is glibc."""
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "malloc_trim") else None
