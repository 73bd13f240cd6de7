"""A process that wrote a file, as the kernel named it while the process could still be read."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Ancestor(NamedTuple):
    """A process that another one descends from, or that one itself."""

    pid: int
    start: int  # clock ticks after boot; tells a recycled pid apart
    name: str  # as the process calls itself, at most 15 bytes; it can say anything
    exe: str  # the file of its program; "" where that may not be read
    at_terminal: bool = False  # leads the session of a terminal, and was given no command: a person types there


class TracedWriter(msgspec.Struct, frozen=True, array_like=True):
    """A process that wrote, removed or renamed a file within the time that was asked for. Seconds are monotonic."""

    line: tuple[Ancestor, ...]  # the process, its parent, the parent of that; it may end early, where one has ended
    began_s: float  # when the process started, at most a tick of the kernel's (10 ms) too early
    first_s: float  # when its first event was read: at the write or a moment later, never before
    last_s: float

    @property
    def process(self) -> Ancestor:
        """The process itself."""
        return self.line[0]
