"""First answers: the same as those of the SDK, which is loaded behind them and told what was said."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from messages import META, initialize, raw

import sdk
from quire_client.mcp.first_answers import HANDSHAKE_VERSIONS, FirstAnswers, Given
from quire_client.mcp.identity import Own, RequestIds, Who, alone
from quire_daemon.config.settings import Settings
from quire_daemon.tools.admin.describe import DescribeParams, answer
from quire_daemon.tools.table import TOOLS

Served = Callable[..., Any]

INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def first(load: Callable[[], object] = lambda: None, daemon: bool = True) -> FirstAnswers:
    """A conversation that begins; `daemon`: it can tell which tools there are."""

    def listed(who: Who) -> Any:
        return answer(DescribeParams(offered=True), TOOLS, Settings(), who.agent)["tools"] if daemon else None

    def who(name: str, said: RequestIds) -> Who:
        return alone(Own(guess="p1"), name, said)

    return FirstAnswers(Given(who, listed, lambda event: {"heard": event["hook_event_name"]}, "hook"), load)


def line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def request(method: str, number: int | str = 2, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def served_from(said: list[bytes], load: Callable[[], object] = lambda: None) -> tuple[FirstAnswers, list[Any], bool]:
    """The conversation after these lines, what was answered, and whether the SDK goes on."""
    out, one = io.BytesIO(), first(load)
    goes_on = one.serve(io.BytesIO(b"".join(said)), out)
    return one, [json.loads(written) for written in out.getvalue().splitlines()], goes_on


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_after_a_handshake_they_are_what_the_sdk_answers(served: Served, version: str) -> None:
    asked = [request("tools/list"), request("resources/list", 3), request("resources/templates/list", 4)]
    messages = [initialize(version), INITIALIZED, *asked]
    one = first()
    ours = [one.answer(line(message)) for message in messages]
    assert ours[1] == {}
    assert [found for found in ours if found] == raw(served().server, *messages)


def test_in_an_envelope_they_are_what_the_sdk_answers(served: Served) -> None:
    methods = ("server/discover", "tools/list", "resources/list", "resources/templates/list")
    messages = [request(method, number, _meta=META) for number, method in enumerate(methods)]
    one = first()
    assert [one.answer(line(message)) for message in messages] == raw(served().server, *messages)


@pytest.mark.parametrize(
    "message",
    [
        request("tools/list"),
        request("initialize", protocolVersion="1999-01-01", capabilities={}, clientInfo={"name": "x", "version": "1"}),
        request("initialize", protocolVersion="2025-06-18", capabilities={}),
        request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": 1, "version": "1"}),
        request("tools/list", _meta={**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}),
        request("tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"}),
        request("tools/list", _meta=META, cursor="2"),
        request("tools/call", _meta=META, name="log", arguments={}),
        {**request("tools/list", _meta=META), "id": True},
        {**request("tools/list", _meta=META), "jsonrpc": "1.0"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        INITIALIZED,
    ],
)
def test_what_is_not_in_the_plainest_form_is_left_to_the_sdk(message: dict[str, Any]) -> None:
    one = first()
    assert one.answer(line(message)) is None
    assert (one.heard, one.answered) == ([], [])


@pytest.mark.parametrize("said", [b"nonsense\n", b"[1]\n", b"17\n", b"{}\n", b"\xff\n", b"[" * 5000])
def test_what_is_no_message_is_left_to_the_sdk(said: bytes) -> None:
    assert first().answer(said) is None


def test_where_the_daemon_cannot_tell_the_sdk_says_why() -> None:
    one = first(daemon=False)
    assert one.answer(line(request("tools/list", _meta=META))) is None


def test_the_sdk_is_loaded_behind_the_list_of_tools_and_told_what_was_said() -> None:
    loaded: list[str] = []
    said = [line(m) for m in (initialize(), INITIALIZED, request("tools/list"), request("tools/call", 3, name="log"))]
    one, answers, goes_on = served_from(said, lambda: loaded.append("sdk"))
    assert goes_on
    assert loaded == ["sdk"]
    assert [found["id"] for found in answers] == [1, 2]
    assert (one.heard, one.answered) == (said, [1, 2])


def test_a_client_that_goes_at_once_loads_nothing() -> None:
    loaded: list[str] = []
    _, answers, goes_on = served_from([line(initialize())], lambda: loaded.append("sdk"))
    assert (goes_on, loaded, len(answers)) == (False, [], 1)


def test_an_event_of_the_agent_is_answered_once() -> None:
    event = request("tools/call", 7, name="hook", arguments={"hook_event_name": "Stop"})
    one, answers, _ = served_from([line(m) for m in (initialize(), INITIALIZED, event)])
    assert json.loads(answers[1]["result"]["content"][0]["text"]) == {"heard": "Stop"}
    assert one.answered == [1], "the SDK is not told, for it would do it again"


def test_what_was_answered_is_not_answered_again(served: Served) -> None:
    said = [line(m) for m in (initialize(), INITIALIZED, request("tools/list"), request("tools/call", 3, name="log"))]
    before, _, _ = served_from(said)
    server, out = served(log={"ok": True, "message": "Fine."}).server, io.BytesIO()

    async def main() -> None:
        async with sdk.stdio.messages(io.BytesIO(line(request("ping", 4))), out, first=before) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(main)
    assert {found["id"] for found in map(json.loads, out.getvalue().splitlines())} == {3, 4}


def test_a_hook_of_twenty_megabytes_is_answered_like_any_other() -> None:
    """Each line end in it is escaped twice; what is passed over would be written without a look at who else writes."""
    text = ("x" * 39 + "\n") * 500_000
    told = json.dumps({"file_path": "/w/f", "content": text})
    event = {"hook_event_name": "PostToolUse", "tool_input": told, "tool_response.originalFile": text}
    call = request("tools/call", 3, name="hook", arguments=event)
    _, answers, goes_on = served_from([line(initialize()), line(INITIALIZED), line(call)])
    assert json.loads(answers[-1]["result"]["content"][0]["text"]) == {"heard": "PostToolUse"}
    assert not goes_on
