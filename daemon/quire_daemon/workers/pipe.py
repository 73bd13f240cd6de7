"""What the daemon's other processes have in common: their messages, and that they end when the daemon does.

A message is its length (8 bytes, the highest first) and then its bytes, mostly msgpack.
"""

from __future__ import annotations

import os
import resource
import signal
import struct
import sys
from typing import IO, Final

LENGTH: Final = struct.Struct(">Q")


def framed(message: bytes) -> bytes:
    """A message as it goes over a pipe or a socket."""
    return LENGTH.pack(len(message)) + message


def received(pipe: IO[bytes]) -> bytes:
    """The next message. Raises `EOFError` when there is none any more, or only a part of one."""
    head = pipe.read(LENGTH.size)
    size = LENGTH.unpack(head)[0] if len(head) == LENGTH.size else 0
    message = pipe.read(size)
    if len(head) != LENGTH.size or len(message) != size:
        raise EOFError
    return message


def die_with(parent: int) -> None:
    """End when whoever started this process does, where the system can do that; and leave no core dump."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG, see prctl(2)
    if os.getppid() != parent:
        os._exit(0)
