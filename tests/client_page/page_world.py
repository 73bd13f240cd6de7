"""The page in this process, before a daemon that answers from a table; and browsers that ask it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "client"))

from fake_line import FakeDoor, FakeLine
from starlette.testclient import TestClient

from quire_client.api import Client
from quire_client.page.app import application
from quire_client.page.daemons import Daemon
from quire_client.page.gate import host_of
from quire_client.page.keys import Keys, Right
from quire_journal.model.messages import Caller
from quire_journal.workspaces.layout import place_of

PORT = 8123
TOKEN = "t" * 43
ORIGIN = f"http://{host_of(TOKEN)}:{PORT}"
CHANGING = {"Origin": ORIGIN, "X-Quire": "1"}
"""What a browser of ours says with a change."""

STATIC = {"/": (b"<!doctype html>", "text/html; charset=utf-8"), "/app.1.js": (b"1", "text/javascript")}


Pages = Callable[..., "Page"]


class Page:
    """`browser()` is one that has opened a link; `script` has the token; `line` answers as the daemon."""

    def __init__(self, folder: Path, answers: Mapping[str, Any], token: str = TOKEN) -> None:
        self.line = FakeLine(answers)
        self.now_s = 1000.0
        self.keys = Keys()
        self.daemon = Daemon(
            lambda start: Client(FakeDoor(place_of(folder, folder / "state"), self.line), Caller("", ""))
        )
        self.gate = application(
            self.daemon, self.keys, token, PORT, lambda: self.now_s, lambda: "n" * 43, ("box.example:80",), STATIC
        )

    def stranger(self) -> TestClient:
        """A browser without a cookie."""
        return TestClient(self.gate, base_url=ORIGIN, follow_redirects=False, raise_server_exceptions=False)

    def browser(self, right: Right = "write") -> TestClient:
        client = self.stranger()
        assert client.get("/open", params={"key": self.keys.mint(right, self.now_s)}).status_code == 303
        return client

    def script(self, token: str = TOKEN) -> TestClient:
        client = TestClient(self.gate, f"http://127.0.0.1:{PORT}", raise_server_exceptions=False)
        client.headers["Authorization"] = f"Bearer {token}"
        return client

    @property
    def asked(self) -> list[str]:
        return [request.tool for request in self.line.requests]
