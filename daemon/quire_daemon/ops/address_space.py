"""Measures the address space left under a limit (`ulimit -v`) and bounds malloc. Some libraries abort the process when
an allocation fails, so no request begins with too little left.
"""

from __future__ import annotations

import ctypes
import resource
import sys
from typing import Final

NEEDED: Final = 64 << 20
"""Bytes of address space that must be free before a request is served."""

_M_ARENA_MAX: Final = -8
_M_MMAP_THRESHOLD: Final = -3
"""Option numbers of glibc's mallopt(3), from malloc.h."""


def memory_left() -> int:
    """Bytes of address space left under RLIMIT_AS; `sys.maxsize` without a limit."""
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
"""Maximum number of malloc arenas: the main one, one for the journal's first thread, and one for each of two libzmq
threads, which drop a request silently when memory runs out.
"""


MAPPED: Final = 128 << 10
"""Size in bytes from which malloc gives an allocation its own memory mapping, which is freed as a whole. It is glibc's
initial value, fixed here so that arenas do not fragment.
"""


def bound_malloc() -> None:
    """Limit the number of arenas and fix the mmap threshold of glibc's malloc. Call it before the first thread
    starts.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):  # glibc
        libc.mallopt(_M_ARENA_MAX, ARENAS)
        libc.mallopt(_M_MMAP_THRESHOLD, MAPPED)
