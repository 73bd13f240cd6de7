"""A connection without a socket: replies by tool, and a list of what was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from quire_client.api import Client
from quire_client.commands.base import ClientOptions
from quire_client.transport.errors import NoDaemon, NoReply, NotSent
from quire_journal.model.messages import Caller, Reply, Request, decode_request
from quire_journal.workspaces.layout import Place

Answer = Mapping[str, Any] | Exception | Callable[[dict[str, Any]], Mapping[str, Any]]


class FakeLine:
    """Answers from a table; an exception in it is raised, a function gets the arguments."""

    def __init__(self, answers: Mapping[str, Answer], epoch: str = "e1", version: str = "") -> None:
        self.answers = answers
        self.epoch = epoch
        self.version = version
        self.lives = True
        self.closed = False
        self.requests: list[Request] = []

    def usable(self) -> bool:
        return self.lives

    def alive(self) -> bool:
        return self.lives

    def exchange(self, request_id: int, frame: bytes, until: float) -> Reply:
        request = decode_request(frame)
        self.requests.append(request)
        answer = self.answers.get(request.tool, {"ok": True, "message": "Done."})
        if isinstance(answer, NoReply | NotSent):
            self.lives = False
        if isinstance(answer, Exception):
            raise answer
        body = answer(msgspec.msgpack.decode(request.args)) if callable(answer) else answer
        return Reply(request_id, dict(body), self.epoch, daemon=self.version)

    def close(self) -> None:
        self.closed = True


class FakeDoor:
    """Opens the lines that it was given, one after the other, then fails as if no daemon ran."""

    def __init__(self, place: Place, *lines: FakeLine) -> None:
        self.place = place
        self.lines = list(lines)
        self.started: list[bool] = []  # for each opening: might a daemon be started?

    def open(self, until: float, starting: bool = True) -> FakeLine:
        self.started.append(starting)
        if not self.lines:
            raise NoDaemon("No daemon runs for it; start one with `quire up`.")
        return self.lines.pop(0)


class FakeOpener:
    """What the command line opens its clients with: every client gets the answers, `asked` remembers the calls."""

    def __init__(self, answers: Mapping[str, Answer], runs: bool = True) -> None:
        self.line = FakeLine(answers)
        self.wanted: list[ClientOptions] = []
        self._runs = runs

    def __call__(self, wanted: ClientOptions) -> Client:
        self.wanted.append(wanted)
        if not self._runs:
            raise NoDaemon(f"No daemon runs for {wanted.place.root}; start one with `quire up`.")
        door = FakeDoor(wanted.place, self.line)
        return Client(door, Caller(wanted.agent, wanted.session), wanted.timeout_s).open()

    @property
    def asked(self) -> list[tuple[str, dict[str, Any]]]:
        """The tools that were called, and their arguments."""
        return [(request.tool, msgspec.msgpack.decode(request.args)) for request in self.line.requests]
