"""The process that wrote a file, as the kernel reported it while the process was alive."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Ancestor(NamedTuple):
    """A writing process or one of its ancestors."""

    pid: int
    start: int  # clock ticks after boot; tells a recycled pid apart
    name: str  # self-chosen process name, at most 15 bytes
    exe: str  # path of the executable; "" if not readable
    at_terminal: bool = False  # session leader of a terminal without a command: a person types there


class TracedWriter(msgspec.Struct, frozen=True, array_like=True):
    """A process that wrote, removed or renamed a file within the requested time. Seconds are monotonic."""

    line: tuple[Ancestor, ...]  # the process and its ancestors, up to one that has ended
    began_s: float  # start of the process, at most a kernel tick (10 ms) too early
    first_s: float  # arrival of its first event: at the write or shortly after
    last_s: float

    @property
    def process(self) -> Ancestor:
        """The writing process, without its ancestors."""
        return self.line[0]
