"""Makes standard input, output and error safe if they are closed, have no reader, or are on a full disk.

- A closed stream is opened on `/dev/null`, so that no other file gets its descriptor number.
- Output without a reader ends silently, with the command's usual status.
- Output that cannot be written raises `OutputFailure`.
- A failure of standard error is ignored.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_OUT: Final = 1
_ERR: Final = 2


class OutputFailure(Exception):
    """The output was not written completely; the text is the reason, such as `No space left on device`."""


def settle() -> None:
    """Open closed standard streams on `/dev/null`, and make failures of stdout raise OutputFailure."""
    _fill()
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115  (as long as the process)
    sys.stdout = _watched(sys.stdout or _silent(_OUT), _OUT, Output)
    sys.stderr = _watched(sys.stderr or _silent(_ERR), _ERR, _Speech)
    for stream in (sys.stdout, sys.stderr):
        # File names and contents may have characters that the terminal's encoding lacks; that must not end the output.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def silence() -> None:
    """Redirect stdout to `/dev/null`, as Python flushes unwritten output again at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _fill() -> None:
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is `fd`'s


def _silent(fd: int) -> TextIO:
    return open(fd, "w", encoding="utf-8", closefd=False)


def _watched(stream: TextIO, fd: int, kind: type[io.FileIO]) -> TextIO:
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # an unbuffered stream has no `raw`
    if type(raw) is not io.FileIO or raw.fileno() != fd:
        return stream
    stream.flush()
    whole = io.BufferedWriter(kind(fd, "w", closefd=False))
    lines = stream.line_buffering or buffer is raw
    return io.TextIOWrapper(whole, encoding=stream.encoding, errors=stream.errors, line_buffering=bool(lines))


class Output(io.FileIO):
    """Standard output. A missing reader raises BrokenPipeError, any other failure OutputFailure."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputFailure(error.strerror or str(error)) from error


class _Speech(io.FileIO):
    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes
