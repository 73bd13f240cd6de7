"""Framing of messages to and from worker processes: length (8 bytes, big-endian), then the bytes."""

from __future__ import annotations

import os
import resource
import signal
import struct
import sys
from typing import IO, Final

LENGTH: Final = struct.Struct(">Q")


def framed(message: bytes) -> bytes:
    return LENGTH.pack(len(message)) + message


def received(pipe: IO[bytes]) -> bytes:
    """Read the next message from `pipe`. Raises `EOFError` if the pipe ends."""
    head = pipe.read(LENGTH.size)
    size = LENGTH.unpack(head)[0] if len(head) == LENGTH.size else 0
    message = pipe.read(size)
    if len(head) != LENGTH.size or len(message) != size:
        raise EOFError
    return message


def die_with(parent: int) -> None:
    """Let the kernel kill this process when `parent` ends (Linux), and disable core dumps. Exits if it has ended."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG, see prctl(2)
    if os.getppid() != parent:
        os._exit(0)
