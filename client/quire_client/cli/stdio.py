"""Standard input, output and error, as a command may find them: closed, without a reader, or on a full disk.

- What is closed at the start is opened on `/dev/null`: nobody wants it. Left closed, the number would go to the next
  file or socket that is opened, and what somebody prints would be written into that.
- Output whose reader has gone ends quietly, with the status that the command has without it.
- Output that cannot be written is `OutputFailure`, whoever prints: it is told apart from a file's fault by where it
arises.
- Standard error is the last way to say something. Where it takes nothing, nothing can be said, and the command goes on.
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
    """The output took less than it was given; the text is the reason, such as `No space left on device`."""


def settle() -> None:
    """Open what is closed, and see to it that whatever is printed can be written, or is told of as above."""
    _fill()
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115  (as long as the process)
    sys.stdout = _watched(sys.stdout or _silent(_OUT), _OUT, Output)
    sys.stderr = _watched(sys.stderr or _silent(_ERR), _ERR, _Speech)
    for stream in (sys.stdout, sys.stderr):
        # File names and contents may hold what the terminal's encoding lacks; that must not end the output.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def silence() -> None:
    """Let standard output take the rest, and drop it: else it would be written once more at the exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _fill() -> None:
    """Open `/dev/null` for each of the three numbers that stands for nothing."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one


def _silent(fd: int) -> TextIO:
    """What Python left out because it was closed."""
    return open(fd, "w", encoding="utf-8", closefd=False)


def _watched(stream: TextIO, fd: int, kind: type[io.FileIO]) -> TextIO:
    """`stream` over a file that knows whose it is; as it is where it is not the process's own, as in a test."""
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # unbuffered there is nothing in between
    if type(raw) is not io.FileIO or raw.fileno() != fd:
        return stream
    stream.flush()
    whole = io.BufferedWriter(kind(fd, "w", closefd=False))
    lines = stream.line_buffering or buffer is raw
    return io.TextIOWrapper(whole, encoding=stream.encoding, errors=stream.errors, line_buffering=bool(lines))


class Output(io.FileIO):
    """A file that is a command's output. A reader that is gone stays a `BrokenPipeError`, all else is
    `OutputFailure`."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputFailure(error.strerror or str(error)) from error


class _Speech(io.FileIO):
    """Standard error."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes
