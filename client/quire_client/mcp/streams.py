"""The MCP server's stdin and stdout, reserved for messages."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, Final

MOST_MESSAGE: Final = 24 * 1024 * 1024
"""Maximum number of bytes of one message: the largest editable file, escaped as JSON."""

MOST_LINE: Final = 64 * 1024 * 1024
"""Maximum number of bytes of one stdio message: a hook sends a file before and after a write."""


@contextmanager
def standard_streams() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Yield stdin and stdout for messages; other output to stdout goes to stderr within the context."""
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    try:
        with os.fdopen(os.dup(0), "rb") as stdin, os.fdopen(os.dup(wire), "wb") as stdout:
            yield stdin, stdout
    finally:
        os.dup2(wire, 1)
        os.close(wire)


def read_line(stdin: BinaryIO, most: int = MOST_LINE) -> bytes | None:
    """Return the next line, or None at the end. A line above `most` bytes is cut to `most` + 1 bytes."""
    line = stdin.readline(most + 1)
    if not line:
        return None
    if len(line) > most and not line.endswith(b"\n"):
        while (rest := stdin.readline(1 << 16)) and not rest.endswith(b"\n"):
            pass
    return line


def write_line(stdout: BinaryIO, data: bytes) -> None:
    with suppress(BrokenPipeError):  # the client has ended, as the end of stdin shows
        stdout.write(data + b"\n")
        stdout.flush()
