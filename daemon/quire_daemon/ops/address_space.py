"""Address space under a limit (`ulimit -v`). Some libraries abort when an allocation fails, so no request begins with
too little.
"""

from __future__ import annotations

import ctypes
import resource
import sys
from typing import Final

NEEDED: Final = 64 << 20
"""Bytes of address space that must be free to serve a request."""

_M_ARENA_MAX: Final = -8
_M_MMAP_THRESHOLD: Final = -3


def memory_left() -> int:
    """Return the bytes left under RLIMIT_AS; `sys.maxsize` without a limit, or if the use is unknown."""
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return sys.maxsize
    try:
        with open("/proc/self/statm", "rb", 0) as told:
            used = int(told.read(64).split()[0]) * resource.getpagesize()
    except OSError:  # not Linux, or no descriptor is left, which is reported elsewhere
        return sys.maxsize
    return most - used


ARENAS: Final = 4
"""Maximum number of malloc arenas: the main one, one for the journal's first thread, one for each thread of libzmq,
which drops requests without memory.
"""


MAPPED: Final = 128 << 10
"""Bytes from which an allocation is its own mapping (mallopt(3)): glibc's initial value, fixed so that arenas do not
fragment.
"""


def bound_malloc() -> None:
    """Bound the number and growth of glibc malloc's arenas. Call it before the first thread starts."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):  # glibc
        libc.mallopt(_M_ARENA_MAX, ARENAS)
        libc.mallopt(_M_MMAP_THRESHOLD, MAPPED)
