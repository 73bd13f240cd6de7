"""The lanes of other hosts on the page: asked for once in a while, told as they are, and none without a team."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest
from page_world import PORT, STATIC, TOKEN, Pages
from starlette.testclient import TestClient

from quire_client.page.app import application
from quire_client.page.daemons import Daemon
from quire_client.page.keys import Keys
from quire_client.page.other_hosts import KEPT_S, OtherHosts
from quire_client.transport import NoDaemon


def nobody(start: bool) -> Any:
    raise AssertionError("no daemon is asked")


def absent(start: bool) -> Any:
    raise NoDaemon("No daemon runs.")


def test_lanes_between_two_times_come_from_the_hub_with_the_same_for_a_terminal() -> None:
    asked: list[tuple[int, int]] = []

    def lanes(since_ms: int, until_ms: int) -> dict[str, Any]:
        asked.append((since_ms, until_ms))
        return {"ok": True, "message": "1 lane.", "lanes": [{"checkout": "alpha:one"}], "hosts": []}

    gate = application(Daemon(nobody), Keys(), TOKEN, PORT, lambda: 0.0, lambda: TOKEN, static=STATIC, elsewhere=lanes)
    client = TestClient(gate, f"http://127.0.0.1:{PORT}", headers={"Authorization": f"Bearer {TOKEN}"})
    answer = client.get("/api/elsewhere?since_ms=5&until_ms=9")
    assert answer.json()["lanes"] == [{"checkout": "alpha:one"}]
    assert answer.headers["quire-command"] == "quire log --host all"
    assert asked == [(5, 9)]


def test_a_hub_that_is_slow_keeps_no_other_question_waiting() -> None:
    """Each tab asks for other hosts: eight of them took all the places that questions to the daemon have."""
    answered = threading.Event()

    def slow(since_ms: int, until_ms: int) -> dict[str, Any]:
        answered.wait(20)
        return {"ok": True, "message": "", "lanes": [], "hosts": []}

    gate = application(Daemon(absent), Keys(), TOKEN, PORT, lambda: 0.0, lambda: TOKEN, static=STATIC, elsewhere=slow)

    async def ask(path: str, query: bytes = b"") -> int:
        headers = [(b"host", b"127.0.0.1:%d" % PORT), (b"authorization", b"Bearer " + TOKEN.encode())]
        scope = {"type": "http", "method": "GET", "path": path, "query_string": query, "headers": headers}
        statuses: list[int] = []

        async def send(message: MutableMapping[str, Any]) -> None:
            statuses.append(message.get("status", 0))

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        await gate(scope, receive, send)
        return statuses[0]

    async def run() -> int:
        waiting = [asyncio.ensure_future(ask("/api/elsewhere", b"since_ms=1&until_ms=2")) for _ in range(9)]
        await asyncio.sleep(0)
        try:
            return await asyncio.wait_for(ask("/api/status"), 10)
        finally:
            answered.set()
            await asyncio.gather(*waiting)

    assert asyncio.run(run()) == 200


@pytest.mark.parametrize(
    "query", ["", "since_ms=1", "since_ms=x&until_ms=2", "since_ms=-1&until_ms=2", f"since_ms={10**19}&until_ms=2"]
)
def test_times_that_are_none_are_refused(page: Pages, query: str) -> None:
    assert page().script().get(f"/api/elsewhere?{query}").json()["error"] == "schema_invalid"


def test_a_page_of_no_team_has_no_lanes_of_others(page: Pages, tmp_path: Path) -> None:
    assert page().browser().get("/api/elsewhere?since_ms=1&until_ms=2").json()["lanes"] == []
    assert OtherHosts(tmp_path, dict, lambda: 0.0).lanes(1, 2)["lanes"] == []


def test_a_stranger_sees_no_lanes(page: Pages) -> None:
    assert page().stranger().get("/api/elsewhere?since_ms=1&until_ms=2").status_code == 401


def test_a_hub_that_cannot_be_reached_is_told_and_asked_again_after_a_while(tmp_path: Path) -> None:
    now_s, asked = 0.0, []
    (tmp_path / "hub").write_text("nats://example.org/no-tls")

    def own() -> dict[str, Any]:
        asked.append(now_s)
        return {"journal": "mine"}

    elsewhere = OtherHosts(tmp_path, own, lambda: now_s)
    for at_s in (0.0, KEPT_S, KEPT_S + 1):
        now_s = at_s
        assert elsewhere.lanes(1, 2)["error"] == "unreachable"
    assert asked == [0.0, KEPT_S + 1]
