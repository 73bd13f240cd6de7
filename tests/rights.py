"""Fewer rights, and limits of its own, for a fork of a test: programs get them by `setpriv`, `unshare`. Linux."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

import pytest

import live

_NOT_HERE: Final = 77  # the exit status of a fork that could not become what it should be
_CLONE_NEWUSER = 0x10000000
_PR_CAPBSET_DROP = 24
_CAPABILITIES = 0x20080522  # version 3 of the two calls
_DAC_OVERRIDE, _DAC_READ_SEARCH = 1, 2


def printed(become: Callable[[], None], act: Callable[[], object], within_s: float = 10.0) -> str:
    """What `act` prints in a fork that has become so (`be_anybody`); skips where that is not to be had."""
    with tempfile.TemporaryFile("w+") as out:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the other threads are waiting, and it needs none
            pid = os.fork()
        if not pid:
            _be(become, act, out.fileno())
        try:
            (status,) = live.eventually("the fork has ended", lambda: _ended(pid), within_s)
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        out.seek(0)
        said = out.read()
    if status == _NOT_HERE:
        pytest.skip(f"{become.__name__} does not work here: {said.strip()}")
    assert status == 0
    return said


def _be(become: Callable[[], None], act: Callable[[], object], out: int) -> NoReturn:
    """The fork: prints into the descriptor `out`, and ends."""
    status = 1
    try:
        os.dup2(out, 1)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        status = _done_so(become, act)
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001  the status says that there was one
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(status)


def _done_so(become: Callable[[], None], act: Callable[[], object]) -> int:
    try:
        become()
    except OSError as error:
        print(error)
        return _NOT_HERE
    act()
    return 0


def _ended(pid: int) -> list[int]:
    """The exit status of a child, once there is one."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    return [os.waitstatus_to_exitcode(status)] if ended else []


def be_anybody() -> None:
    """Read and write only where modes allow it: root does so everywhere. This process and what it starts.

    Raises OSError.
    """
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, rights = struct.pack("=Ii", _CAPABILITIES, 0), ctypes.create_string_buffer(24)
    _done(libc.capget(header, rights))
    kept = ~(1 << _DAC_OVERRIDE | 1 << _DAC_READ_SEARCH)
    low, high = struct.iter_unpack("=3I", rights.raw)
    for capability in (_DAC_OVERRIDE, _DAC_READ_SEARCH):
        _done(libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0))
    _done(libc.capset(header, struct.pack("=6I", *(one & kept & 0xFFFFFFFF for one in low), *high)))


def have_own_limits() -> None:
    """Be root of a user namespace, which has limits of its own. Raises OSError."""
    user, group = os.geteuid(), os.getegid()
    _done(ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWUSER))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def _done(result: int) -> None:
    if result:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
