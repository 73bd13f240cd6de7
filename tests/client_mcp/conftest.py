"""A server of MCP in this process, before a daemon that answers from a table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "client"))

from fake_line import FakeDoor, FakeLine

import live
import sdk
from quire_client.api import Client
from quire_client.mcp.agents import AgentSessions
from quire_client.mcp.identity import Own, Who
from quire_daemon.config.settings import Settings
from quire_daemon.tools.admin.describe import DescribeParams, answer
from quire_daemon.tools.table import TOOLS
from quire_journal.model.messages import Caller
from quire_journal.workspaces.layout import place_of


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A scratch folder, in memory where that can be."""
    with live.folder_for_journals() as folder:
        yield folder


class Served:
    """`server` is the server; `line` answers, and has the requests that came through."""

    def __init__(self, tmp_path: Path, shared: bool, answers: Mapping[str, Any]) -> None:
        told: Mapping[str, Any] = {"describe": answer(DescribeParams(offered=True), TOOLS, Settings()), **answers}
        self.line = FakeLine(told)
        place = place_of(tmp_path, tmp_path / "state")

        def connect(who: Who) -> Client:
            return Client(FakeDoor(place, self.line), Caller(who.agent, who.session, guessed=who.guessed))

        self.sessions = AgentSessions(connect)
        self.server = sdk.server(self.sessions, Own(session="p1"), shared=shared)

    @property
    def asked(self) -> list[str]:
        """The tools that were called."""
        return [request.tool for request in self.line.requests]


@pytest.fixture
def served(tmp_path: Path) -> Callable[..., Served]:
    """`served(read_file={…reply…})`."""

    def make(shared: bool = False, **answers: Any) -> Served:
        return Served(tmp_path, shared, answers)

    return make
