"""The server as the SDK's own client sees it, in both eras of the protocol; and what it answers to raw messages."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import msgspec
import pytest
from messages import META, initialize, raw

import sdk
from quire_journal.model.messages import Request

ERAS = ("legacy", "auto")

Served = Callable[..., Any]


def talk(server: Any, act: Callable[[sdk.Client], Coroutine[Any, Any, Any]], mode: str = "auto", **options: Any) -> Any:
    """What `act` returns, given a client of `server`."""

    async def main() -> Any:
        async with sdk.Client(server, mode=mode, **options) as client:
            return await act(client)

    return anyio.run(main)


def failure(
    server: Any, act: Callable[[sdk.Client], Coroutine[Any, Any, Any]], mode: str = "auto"
) -> sdk.types.ErrorData:
    """The error of the protocol that `act` ends in."""

    async def caught(client: sdk.Client) -> sdk.types.ErrorData:
        with pytest.raises(sdk.MCPError) as raised:
            await act(client)
        return raised.value.error

    return talk(server, caught, mode)


def sent(one: Any, tool: str) -> Request:
    """The last call of `tool`. (The SDK's client lists the tools by itself, before it believes a result.)"""
    return next(request for request in reversed(one.line.requests) if request.tool == tool)


# ── tools ──


@pytest.mark.parametrize("mode", ERAS)
def test_the_tools_are_listed_as_every_client_can_take_them(served: Served, mode: str) -> None:
    listed = talk(served().server, lambda client: client.list_tools(), mode)
    assert 10 < len(listed.tools) <= 12
    assert listed.next_cursor is None, "one client reads the first page only"
    for tool in listed.tools:
        told = json.dumps(tool.input_schema)
        assert "$ref" not in told
        assert "null" not in told
        assert tool.input_schema["type"] == "object"
        notes = tool.annotations
        hints = (notes.read_only_hint, notes.destructive_hint, notes.idempotent_hint, notes.open_world_hint)
        assert None not in hints
        assert tool.description
        assert "my_agent_session" not in told


@pytest.mark.parametrize("mode", ERAS)
def test_the_order_of_the_tools_does_not_change(served: Served, mode: str) -> None:
    names = [[tool.name for tool in talk(served().server, lambda c: c.list_tools(), mode).tools] for _ in range(2)]
    assert names[0] == names[1]


@pytest.mark.parametrize("mode", ERAS)
def test_a_reply_is_structured_and_the_same_as_text(served: Served, mode: str) -> None:
    reply = {"ok": True, "message": "3 lines.", "lines": ["1#aaaaaa [high]|é"], "sha256": "00"}
    result = talk(served(read_file=reply).server, lambda c: c.call_tool("read_file", {"path": "a"}), mode)
    assert result.is_error is False
    assert result.structured_content == reply
    assert json.loads(result.content[0].text) == reply


@pytest.mark.parametrize("mode", ERAS)
def test_a_refusal_is_a_result_with_everything_in_it_and_no_error_of_the_protocol(served: Served, mode: str) -> None:
    refusal = {"ok": False, "error": "anchor_stale", "message": "Changed by ben.", "changes": [{"lines": [[1, 1]]}]}
    result = talk(served(edit=refusal).server, lambda c: c.call_tool("edit", {"path": "a", "operations": []}), mode)
    assert result.is_error is True
    assert result.structured_content == refusal


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("name", ["nothing", "shutdown", "verify", "rollback"])
def test_a_tool_that_is_not_offered_is_unknown_and_never_called(served: Served, mode: str, name: str) -> None:
    one = served()
    error = failure(one.server, lambda client: client.call_tool(name, {}), mode)
    assert error.code == sdk.types.INVALID_PARAMS
    assert name in error.message
    assert set(one.asked) <= {"describe"}


def test_a_number_that_no_message_can_carry_is_a_refusal(served: Served) -> None:
    result = talk(served().server, lambda client: client.call_tool("log", {"limit": 10**30}))
    assert result.structured_content["error"] == "schema_invalid"


def test_a_null_counts_as_left_out(served: Served) -> None:
    one = served()
    talk(one.server, lambda client: client.call_tool("log", {"path": "a", "cursor": None}))
    assert msgspec.msgpack.decode(sent(one, "log").args) == {"path": "a"}


def test_what_is_left_out_or_an_integer_to_the_schema_is_so_on_every_level(served: Served) -> None:
    one = served()
    operations = [{"op": "delete_line", "hash": "ab12cd", "occurrence": 2.0, "line": None}, None, 0.5, 1e300, True]
    talk(one.server, lambda client: client.call_tool("edit", {"path": "a", "operations": operations}))
    assert msgspec.msgpack.decode(sent(one, "edit").args)["operations"] == [
        {"op": "delete_line", "hash": "ab12cd", "occurrence": 2},
        None,
        0.5,
        1e300,
        True,
    ]
    assert type(msgspec.msgpack.decode(sent(one, "edit").args)["operations"][0]["occurrence"]) is int


@pytest.mark.parametrize("mode", ERAS)
def test_the_client_is_the_writer_and_the_process_its_session(served: Served, mode: str) -> None:
    one = served()
    info = sdk.types.Implementation(name="claude-code", version="2")
    talk(one.server, lambda client: client.call_tool("log", {}), mode, client_info=info)
    callers = {(request.caller.agent, request.caller.agent_session) for request in one.line.requests}
    assert callers == {("claude-code", "p1")}


def test_the_trace_of_a_request_is_its_turn(served: Served) -> None:
    one = served()
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    meta: Any = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01", "claudecode/toolUseId": "toolu_1"}
    talk(one.server, lambda client: client.call_tool("log", {}, meta=meta))
    caller = sent(one, "log").caller
    assert (caller.turn, caller.tool_call) == (trace, "toolu_1")


def test_a_server_of_many_gives_a_caller_without_a_session_a_handle(served: Served) -> None:
    one = served(shared=True)

    async def act(client: sdk.Client) -> list[Any]:
        listed = await client.list_tools()
        assert all("my_agent_session" in tool.input_schema["properties"] for tool in listed.tools)
        first = (await client.call_tool("log", {})).structured_content
        handle = first["my_agent_session"]
        second = (await client.call_tool("log", {"my_agent_session": handle})).structured_content
        return [handle, second["my_agent_session"]]

    handles = talk(one.server, act)
    assert handles[0] == handles[1]
    logs = [request for request in one.line.requests if request.tool == "log"]
    assert {request.caller.agent_session for request in logs} == {handles[0]}
    assert [msgspec.msgpack.decode(request.args) for request in logs] == [{}, {}]


def test_long_work_tells_of_its_progress_to_who_asked(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quire_client.mcp.server.PROGRESS_S", 0.01)
    told: list[tuple[float, str | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append((done, message))

    def slow(args: dict[str, Any]) -> dict[str, Any]:
        until = time.monotonic() + 10
        while not told and time.monotonic() < until:
            time.sleep(0.005)
        return {"ok": True, "message": "Done."}

    one = served(undo=slow)
    result = talk(one.server, lambda client: client.call_tool("undo", {}, progress_callback=progress))
    assert result.structured_content["ok"]
    assert told
    assert "undo has been going on" in str(told[0][1])


def test_a_daemon_that_cannot_be_reached_is_told_as_a_result(served: Served) -> None:
    one = served()

    async def act(client: sdk.Client) -> Any:
        await client.call_tool("log", {})
        one.line.lives = False  # and the door has no other
        return await client.call_tool("log", {})

    result = talk(one.server, act)
    assert result.is_error
    assert result.structured_content["error"] == "no_daemon"


def test_where_the_daemon_cannot_even_say_which_tools_there_are_calls_and_listings_say_why(served: Served) -> None:
    down = {"ok": False, "error": "no_daemon", "message": "No daemon could be started: disk full."}
    one = served(describe=down)
    result = talk(one.server, lambda client: client.call_tool("log", {}))
    assert result.structured_content == down
    error = failure(one.server, lambda client: client.list_tools())
    assert (error.code, error.message) == (sdk.types.INTERNAL_ERROR, down["message"])


# ── resources ──


@pytest.mark.parametrize("mode", ERAS)
def test_resources_are_listed_and_read(served: Served, mode: str) -> None:
    page = {"ok": True, "message": "", "content": "x = 1\n", "version": "v2", "truncated": False}
    one = served(read_file=page)

    async def act(client: sdk.Client) -> Any:
        uris = {str(one.uri) for one in (await client.list_resources()).resources}
        templates = {one.uri_template for one in (await client.list_resource_templates()).resource_templates}
        assert "quire://log" in uris
        assert "quire://file/{+path}{?at}" in templates
        return await client.read_resource("quire://file/src/a.py?at=v2")

    assert talk(one.server, act, mode).contents[0].text == "x = 1\n"
    assert msgspec.msgpack.decode(sent(one, "read_file").args) == {"path": "src/a.py", "at": "v2"}


@pytest.mark.parametrize("mode", ERAS)
def test_a_resource_that_there_is_not_is_an_error_that_names_it(served: Served, mode: str) -> None:
    one = served(read_file={"ok": False, "error": "not_found", "message": "a.py does not exist."})
    error = failure(one.server, lambda client: client.read_resource("quire://file/a.py"), mode)
    assert error.code == sdk.types.INVALID_PARAMS
    assert error.data == {"uri": "quire://file/a.py"}


# ── the wire ──


def test_who_it_is_and_what_it_is_for_is_said_at_once_without_a_daemon(served: Served) -> None:
    one = served()
    (answer,) = raw(one.server, initialize())
    result = answer["result"]
    assert (result["protocolVersion"], result["serverInfo"]["name"]) == ("2025-11-25", "quire")
    assert len(result["instructions"]) < 2048
    assert result["instructions"].isascii()
    assert set(result["capabilities"]) >= {"tools", "resources"}
    assert one.asked == []


def test_discover_answers_who_comes_without_a_handshake(served: Served) -> None:
    (answer,) = raw(
        served().server, {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": META}}
    )
    assert answer["result"]["supportedVersions"] == ["2026-07-28"]
    assert "tools" in answer["result"]["capabilities"]


def test_an_unknown_version_of_the_handshake_era_is_answered_with_one_that_is_served(served: Served) -> None:
    (answer,) = raw(served().server, initialize("1999-01-01"))
    assert answer["result"]["protocolVersion"] == "2025-11-25"


def test_an_unknown_version_of_the_newer_era_is_refused_with_those_that_are_served(served: Served) -> None:
    meta = {**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    (answer,) = raw(served().server, {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}})
    assert answer["error"]["code"] == sdk.types.UNSUPPORTED_PROTOCOL_VERSION
    assert answer["error"]["data"]["supported"] == ["2026-07-28"]


def test_an_unknown_method_and_wrong_parameters_have_their_codes(served: Served) -> None:
    answers = raw(
        served().server,
        initialize(),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/destroy"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"arguments": {}}},
        {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "log", "arguments": [1]}},
    )
    assert [answer.get("error", {}).get("code") for answer in answers] == [
        None,
        sdk.types.METHOD_NOT_FOUND,
        sdk.types.INVALID_PARAMS,
        sdk.types.INVALID_PARAMS,
    ]


def test_garbage_between_messages_is_answered_and_does_not_end_the_conversation(served: Served) -> None:
    answers = raw(served().server, b"{nonsense\n", initialize(), b"[1, 2]\n")
    assert answers[0]["result"]["serverInfo"]["name"] == "quire"
    assert {answer["error"]["code"] for answer in answers[1:]} == {sdk.types.PARSE_ERROR, sdk.types.INVALID_REQUEST}
