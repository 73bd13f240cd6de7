"""Address space left under a limit (`ulimit -v`), and bounds of malloc. Without address space libraries end the
process, so nothing begins with too little left.
"""

from __future__ import annotations

import ctypes
import resource
import sys
from typing import Final

NEEDED: Final = 64 << 20
"""Bytes of address space that a call may need."""

_M_ARENA_MAX: Final = -8
_M_MMAP_THRESHOLD: Final = -3
"""glibc's numbers of settings (malloc.h)."""


def memory_left() -> int:
    """Bytes of address space left."""
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
"""Arenas of malloc: the main one, one for the journal's first thread, and one for each thread of libzmq, which without
memory silently drops a request.
"""


MAPPED: Final = 128 << 10
"""Bytes from which an allocation is a mapping of its own, returned as a whole: glibc's initial value, as holes in the
arenas grow otherwise.
"""


def bound_malloc() -> None:
    """Limit the arenas and the mapping threshold of malloc, before the first thread begins."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):  # glibc
        libc.mallopt(_M_ARENA_MAX, ARENAS)
        libc.mallopt(_M_MMAP_THRESHOLD, MAPPED)
