"""Who a request over MCP comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from quire_client.mcp.identity import Own, RequestIds, Who, alone, among_others, ids_of

NOBODY, NOTHING = Own(), RequestIds()
SAMPLES = Path(__file__).parents[1] / "vectors" / "mcp"


def called(agent: str) -> list[dict[str, Any]]:
    """The `_meta` of each call of a tool, as the agent of that name sends it."""
    rows = map(json.loads, (SAMPLES / f"{agent}.jsonl").read_text().splitlines())
    return [row["params"].get("_meta", {}) for row in rows if row["method"] == "tools/call"]


def test_over_stdio_the_client_is_the_agent() -> None:
    assert alone(Own(guess="p1"), "claude-code", NOTHING) == Who("claude-code", "p1", guessed=True)
    assert alone(Own("ann", guess="p1"), "claude-code", NOTHING).agent == "ann"
    assert alone(NOBODY, "", NOTHING).agent == "mcp"


def test_an_agent_has_the_name_that_its_hooks_have() -> None:
    assert [alone(NOBODY, name, NOTHING).agent for name in ("codex-mcp-client", "gemini-cli-mcp-client")] == [
        "codex",
        "gemini",
    ]


def test_a_session_that_is_stated_is_no_guess() -> None:
    environment = {"CLAUDE_CODE_SESSION_ID": "c1"}
    assert alone(Own(session="s1", environment=environment), "claude-code", NOTHING) == Who("claude-code", "s1")


def test_a_session_of_the_environment_is_a_guess_for_it_may_have_changed_since() -> None:
    environment = {"CLAUDE_CODE_SESSION_ID": "c1"}
    own = Own(guess="p1", environment=environment)
    assert alone(own, "claude-code", NOTHING) == Who("claude-code", "c1", guessed=True)
    own = Own(guess="p1", environment={**environment, "QUIRE_SESSION": "q1"})
    assert alone(own, "claude-code", NOTHING) == Who("claude-code", "q1", guessed=True)


def test_variables_of_the_agent_that_started_this_one_say_nothing() -> None:
    outer = {"CLAUDE_CODE_SESSION_ID": "c1", "QUIRE_AGENT": "claude-code", "QUIRE_SESSION": "c1"}
    assert alone(Own(guess="p1", environment=outer), "gemini-cli-mcp-client", NOTHING).session == "p1"


def test_codex_says_its_session_its_turn_and_its_model_with_each_call() -> None:
    session = "01a20309-8eac-77f0-93af-58e3cf658875"
    said = ids_of(called("codex")[0])
    assert said == RequestIds(session, "01a20309-8ed3-7041-bf1c-681fd3bb121c", "call_000600", "gpt-5.5")
    assert alone(Own(guess="p1"), "codex-mcp-client", said) == Who("codex", session)
    assert among_others(NOBODY, "codex-mcp-client", said, {}, None, "new") == Who("codex", session)


def test_a_thread_of_codex_below_its_session_is_a_child() -> None:
    said = ids_of({"x-codex-turn-metadata": {"session_id": "s1", "thread_id": "t1"}})
    assert (said.session, said.parent) == ("s1.t1", "s1")
    assert alone(NOBODY, "codex", said) == Who("codex", "s1.t1", parent="s1")


def test_claude_says_its_call_and_the_others_nothing() -> None:
    assert ids_of(called("claude-code")[0]) == RequestIds(tool_call="toolu_000300")
    assert {ids_of(meta) for meta in called("gemini")} == {NOTHING}


def test_over_http_the_header_says_the_session_before_all_else() -> None:
    headers = {"quire-session": "s1", "mcp-session-id": "0123456789abcdef"}
    assert among_others(NOBODY, "codex", NOTHING, headers, "s2", "new") == Who("codex", "s1")


def test_a_handle_is_taken_and_told_again() -> None:
    assert among_others(NOBODY, "codex", NOTHING, {"mcp-session-id": "0123"}, "s2", "new") == Who("codex", "s2", "s2")


def test_the_handshake_era_has_a_session_and_needs_no_handle() -> None:
    headers = {"mcp-session-id": "0123456789abcdef"}
    assert among_others(NOBODY, "codex", NOTHING, headers, None, "new") == Who("codex", "mcp-0123456789ab")


def test_without_any_of_it_a_new_handle_is_given_out() -> None:
    assert among_others(NOBODY, "codex", NOTHING, {}, None, "new") == Who("codex", "new", "new")
    assert among_others(NOBODY, "codex", NOTHING, {}, 7, "new") == Who("codex", "new", "new")


def test_a_header_can_name_the_agent_too() -> None:
    assert among_others(Own("ann"), "codex", NOTHING, {"quire-agent": "ben"}, None, "new").agent == "ben"
    assert among_others(Own("ann"), "codex", NOTHING, {}, None, "new").agent == "ann"


def test_names_from_outside_are_made_printable_and_short() -> None:
    assert alone(NOBODY, "evil\x1b[31m\n\u202ename", NOTHING).agent == "evil[31mname"
    assert len(alone(NOBODY, "x" * 500, NOTHING).agent) == 64
    assert ids_of({"x-codex-turn-metadata": {"session_id": 7, "turn_id": ["a"]}, "callId": {}}).session == "7"


def test_the_trace_is_the_turn_and_the_agents_id_the_tool_call() -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    meta = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01", "claudecode/toolUseId": "toolu_1"}
    assert ids_of(meta) == RequestIds(turn=trace, tool_call="toolu_1")
    assert ids_of({"traceparent": "no"}) == NOTHING
