"""Samples: what the real binaries of four agents sent to an MCP server, line by line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from messages import initialize, raw

from quire_client.mcp.identity import RequestIds, ids_of

SAMPLES = Path(__file__).parents[1] / "samples"
RUNS = sorted(
    path.relative_to(SAMPLES).as_posix().removesuffix(".mcp_in.jsonl") for path in SAMPLES.glob("*/*.mcp_in.*")
)
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}

Served = Callable[..., Any]


def lines(run: str) -> list[dict[str, Any]]:
    """The messages of a run."""
    return [json.loads(line) for line in (SAMPLES / f"{run}.mcp_in.jsonl").read_text().splitlines()]


LINES = [(run, place) for run in RUNS for place in range(len(lines(run)))]


def answered(server: Any, message: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request. Those without an envelope come after a handshake."""
    envelope = "io.modelcontextprotocol/protocolVersion" in message["params"].get("_meta", {})
    before = [] if envelope or message["method"] == "initialize" else [{**initialize(), "id": 9001}, INITIALIZED]
    found = {answer["id"]: answer for answer in raw(server, *before, message)}
    return found[message["id"]]


@pytest.mark.parametrize(("run", "place"), LINES, ids=[f"{run} {place + 1}" for run, place in LINES])
def test_a_message_is_answered_and_a_call_reaches_the_daemon_with_the_ids_that_it_has(
    served: Served, run: str, place: int
) -> None:
    message = {"params": {}, **lines(run)[place]}
    if "id" not in message:
        assert message["method"] == "notifications/initialized"
        return
    server = served()
    answer = answered(server.server, message)
    called = message["params"].get("name", "")
    if called == "edit_replace":  # which these agents are not offered unless the settings say so
        assert answer["error"]["message"] == "Unknown tool: edit_replace"
        return
    assert "error" not in answer
    if message["method"] == "initialize":
        assert answer["result"]["protocolVersion"] == message["params"]["protocolVersion"]
        assert answer["result"]["serverInfo"]["name"] == "quire"
    if called:
        (request,) = [request for request in server.line.requests if request.tool == called]
        ids = ids_of(message["params"]["_meta"])
        assert (request.caller.turn, request.caller.tool_call) == (ids.turn, ids.tool_call)


def test_what_codex_and_claude_code_tell_of_themselves_is_what_their_hooks_tell() -> None:
    for run in ("codex/run2", "codex/run4-codemode"):
        (start, turn, *_) = [json.loads(line) for line in (SAMPLES / f"{run}.hooks.jsonl").read_text().splitlines()]
        told = [ids_of(one["params"]["_meta"]) for one in lines(run) if one["method"] == "tools/call"]
        assert {one._replace(tool_call="") for one in told} == {
            RequestIds(start["session_id"], turn["turn_id"], "", start["model"])
        }
        assert all(one.tool_call.startswith(("call_", "exec-")) for one in told)
    calls = [one["params"]["_meta"] for one in lines("claude-code/run3") if one["method"] == "tools/call"]
    assert [ids_of(meta) for meta in calls] == [RequestIds(tool_call=meta["claudecode/toolUseId"]) for meta in calls]
