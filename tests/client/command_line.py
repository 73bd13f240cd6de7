"""A command line that is run here, and what it printed, asked for and ended with."""

from __future__ import annotations

from collections.abc import Callable

from fake_line import FakeOpener

WRITER = {"id": "w3", "type": "edit", "agent": "alice", "agent_session": "s1"}


class Ran:
    """What a command line printed and ended with, and what it asked the daemon."""

    def __init__(self, status: int, out: str, err: str, opener: FakeOpener) -> None:
        self.status, self.out, self.err, self.opener = status, out, err, opener
        self.asked = opener.asked


Quire = Callable[..., Ran]
