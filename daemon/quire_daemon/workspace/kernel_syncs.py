"""fsync on threads of the kernel: begun in one call, waited for in another (io_submit(2), IOCB_CMD_FSYNC).

It is the same work, with the same errors, as fsync(2) on a thread of ours. But a thread of ours wants the interpreter
before it can call and again when it has, and the loop, which makes a commit ready meanwhile, has to hand it over and
get it back: 8 of the 27 context switches of an edit, and more of its time the busier the machine is. The kernel's
threads want nothing of us.

What does not have these calls (macOS, a container that forbids them, a kernel before 4.18), or has no room for one more
of them, is told by None: whoever asks syncs on a thread then.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from typing import Any, Final

_ROOM: Final = 64
"""Syncs that are under way at once, at most."""

_FSYNC: Final = 2  # IOCB_CMD_FSYNC

_CALLS: Final = {
    "x86_64": (206, 207, 208, 209),
    "aarch64": (0, 1, 4, 2),
    "riscv64": (0, 1, 4, 2),
}
"""io_setup, io_destroy, io_getevents and io_submit, which the C library does not wrap, by machine."""


class _Iocb(ctypes.Structure):
    """struct iocb of a machine with the lower half first, as all of `_CALLS` are."""

    _fields_ = (
        ("data", ctypes.c_uint64),
        ("key", ctypes.c_uint32),
        ("rw_flags", ctypes.c_uint32),
        ("opcode", ctypes.c_uint16),
        ("priority", ctypes.c_int16),
        ("fd", ctypes.c_uint32),
        ("buffer", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("offset", ctypes.c_int64),
        ("unused", ctypes.c_uint64),
        ("flags", ctypes.c_uint32),
        ("event_fd", ctypes.c_uint32),
    )


class _Ended(ctypes.Structure):
    """struct io_event."""

    _fields_ = (
        ("data", ctypes.c_uint64),
        ("iocb", ctypes.c_uint64),
        ("result", ctypes.c_int64),
        ("more", ctypes.c_int64),
    )


class KernelSyncs:
    """Syncs that the kernel is asked for. For one thread, and not across a fork: a child has no such context."""

    def __init__(self) -> None:
        self._call: Any = None
        self._setup, self._destroy, self._get, self._submit = _CALLS.get(platform.machine(), (0, 0, 0, 0))
        self._works = sys.platform == "linux" and platform.machine() in _CALLS
        self._context = ctypes.c_ulong(0)  # of the kernel; 0: not asked for yet
        self._iocb = _Iocb(opcode=_FSYNC)
        self._list = (ctypes.c_void_p * 1)(ctypes.addressof(self._iocb))
        self._event = _Ended()
        self._under_way: set[int] = set()
        self._results: dict[int, int] = {}  # of those that have ended: 0, or -errno
        self._last = 0

    def begin(self, fd: int) -> int | None:
        """Begin to sync the file; a number to `wait` for. None: here the kernel does not do it, or has no room.

        The descriptor may be closed meanwhile.
        """
        if not self._works or len(self._under_way) >= _ROOM or not (self._context or self._open()):
            return None
        number = self._last + 1
        self._iocb.data, self._iocb.fd = number, fd
        if self._call(self._submit, self._context, 1, self._list, None, None) != 1:
            return None  # of this file, it may be: whoever syncs it otherwise hears why
        self._last = number
        self._under_way.add(number)
        return number

    def wait(self, number: int) -> None:
        """Until that sync has ended. Once for each. Raises OSError as fsync does."""
        while number not in self._results:
            if self._call(self._get, self._context, 1, 1, ctypes.byref(self._event), None) == 1:
                self._results[self._event.data] = self._event.result
                self._under_way.discard(self._event.data)
            elif (problem := ctypes.get_errno()) != errno.EINTR:  # a signal: its handler has run by now
                raise OSError(problem, os.strerror(problem))
        result = self._results.pop(number)
        if result < 0:
            raise OSError(-result, os.strerror(-result))

    def close(self) -> None:
        """Wait for what is under way and give the context back. Idempotent."""
        if self._context:
            self._call(self._destroy, self._context, 0, None, None, None)
            self._context = ctypes.c_ulong(0)
        self._works = False

    def _open(self) -> bool:
        """Ask for a context; False: there is none here, and it is not asked for again."""
        call = ctypes.CDLL(None, use_errno=True)["syscall"]
        number, pointer = ctypes.c_long, ctypes.c_void_p
        call.argtypes, call.restype = (number, ctypes.c_ulong, number, pointer, pointer, pointer), number
        self._call = call
        made = ctypes.c_ulong(0)
        self._works = call(self._setup, _ROOM, ctypes.addressof(made), None, None, None) == 0
        self._context = made
        return self._works
