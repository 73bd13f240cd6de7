"""Who a request over MCP comes from."""

from __future__ import annotations

from quire_client.mcp.identity import Own, alone, among_others, turn_of

NOBODY = Own()


def test_over_stdio_the_client_is_the_agent_and_the_process_the_session() -> None:
    assert alone(Own(session="p1"), "claude-code") == ("claude-code", "p1", "")
    assert alone(Own("ann", "p1"), "claude-code") == ("ann", "p1", "")
    assert alone(Own(session="p1"), "") == ("mcp", "p1", "")


def test_over_http_the_header_says_the_session_before_all_else() -> None:
    headers = {"quire-session": "s1", "mcp-session-id": "0123456789abcdef"}
    assert among_others(NOBODY, "codex", headers, "s2", "new") == ("codex", "s1", "")


def test_a_handle_is_taken_and_told_again() -> None:
    assert among_others(NOBODY, "codex", {"mcp-session-id": "0123"}, "s2", "new") == ("codex", "s2", "s2")


def test_the_handshake_era_has_a_session_and_needs_no_handle() -> None:
    assert among_others(NOBODY, "codex", {"mcp-session-id": "0123456789abcdef"}, None, "new") == (
        "codex",
        "mcp-0123456789ab",
        "",
    )


def test_without_any_of_it_a_new_handle_is_given_out() -> None:
    assert among_others(NOBODY, "codex", {}, None, "new") == ("codex", "new", "new")
    assert among_others(NOBODY, "codex", {}, 7, "new") == ("codex", "new", "new")


def test_a_header_can_name_the_agent_too() -> None:
    assert among_others(Own("ann"), "codex", {"quire-agent": "ben"}, None, "new").agent == "ben"
    assert among_others(Own("ann"), "codex", {}, None, "new").agent == "ann"


def test_names_from_outside_are_made_printable_and_short() -> None:
    assert alone(NOBODY, "evil\x1b[31m\n\u202ename").agent == "evil[31mname"
    assert len(alone(NOBODY, "x" * 500).agent) == 64


def test_the_trace_is_the_turn_and_the_agents_id_the_tool_call() -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    meta = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01", "claudecode/toolUseId": "toolu_1"}
    assert turn_of(meta) == (trace, "toolu_1")
    assert turn_of({"traceparent": "no"}) == ("", "")
