"""Agent processes: which session is at work where, as the rows of ancestors of real agents tell it."""

from __future__ import annotations

from collections.abc import Sequence

from quire_daemon.engine.agent_processes import (
    MOST_SESSIONS,
    AgentProcesses,
    AgentSession,
    HookTold,
    agent_process,
)
from quire_daemon.ops import Process, ProcessId

CLAUDE, CODEX = AgentSession("claude-code", "s1"), AgentSession("codex", "t1")


def row(*names: str, first: int = 100) -> tuple[Process, ...]:
    """A process and its ancestors, the last of which has the pid `first`; `name!`: a person types there."""
    pids = range(first + len(names) - 1, first - 1, -1)
    return tuple(
        Process(pid, pid * 10, name.rstrip("!"), f"/bin/{name.rstrip('!')}", name.endswith("!"))
        for pid, name in zip(pids, names, strict=True)
    )


def below(above: Sequence[Process], *names: str, first: int = 500) -> tuple[Process, ...]:
    """Further processes below the first of a row."""
    return (*row(*names, first=first), *above)


TERMINAL = row("bash!", "tmux", "systemd", first=1)
AGENT = below(TERMINAL, "claude", first=40)


def nobody_has(process: ProcessId) -> bool:
    """Every process runs."""
    return False


def everybody_has(process: ProcessId) -> bool:
    """No process runs any more."""
    return True


def told(
    table: AgentProcesses, who: AgentSession, chain: Sequence[Process], moment: str = "before", turn: str = ""
) -> AgentProcesses:
    return table.told(HookTold(who, chain, moment, turn), nobody_has)


def test_the_agent_is_the_nearest_process_that_is_no_launcher() -> None:
    rows = {
        "claude": below(TERMINAL, "python3.11", "sh", "claude"),
        "codex": below(TERMINAL, "python3.11", "codex", "node"),
        "gemini": below(TERMINAL, "python3.11", "node", "node"),
        "opencode": below(TERMINAL, "python3.11", "opencode", "node"),
        "by uv": below(TERMINAL, "python3.11", "uv", "sh", "claude"),
    }
    found = {name: agent_process(chain) for name, chain in rows.items()}
    assert {name: one and (one.name, one.pid) for name, one in found.items()} == {
        "claude": ("claude", 500),
        "codex": ("codex", 501),
        "gemini": ("node", 501),
        "opencode": ("opencode", 501),
        "by uv": ("claude", 500),
    }


def test_a_hook_that_a_person_calls_by_hand_has_no_agent() -> None:
    assert agent_process(below(TERMINAL, "python3.11")) is None
    assert agent_process(below(row("init", first=1), "python3.11")) is None
    assert agent_process(()) is None


def test_the_server_that_an_agent_started_has_the_session_of_its_hooks() -> None:
    table = told(AgentProcesses(), CLAUDE, below(AGENT, "python3.11", "sh"))
    assert table.session_of(below(AGENT, "python3.11", first=600), "claude-code") == CLAUDE


def test_a_server_that_says_it_is_another_agents_is_not_joined() -> None:
    """A Gemini that Claude runs, and that has no hooks."""
    table = told(AgentProcesses(), CLAUDE, below(AGENT, "python3.11", "sh"))
    gemini = below(AGENT, "python3.11", "node", "bash", first=600)
    assert table.session_of(gemini, "gemini") is None
    assert table.session_of(gemini, "claude-code") is None, "its own process is not that of the session"


def test_a_command_belongs_to_the_nearest_agent_above_it() -> None:
    inner = below(AGENT, "codex", "node", "bash", first=200)
    table = told(AgentProcesses(), CLAUDE, below(AGENT, "python3.11", "sh"))
    table = told(table, CODEX, below(inner, "python3.11"))
    assert table.session_of(below(AGENT, "python3.11", "make", "bash", first=700)) == CLAUDE
    assert table.session_of(below(inner, "python3.11", "bash", first=700)) == CODEX


def test_a_command_that_a_person_types_in_the_terminal_of_an_editor_is_theirs() -> None:
    editor = row("electron", "systemd", first=1)
    table = told(AgentProcesses(), AgentSession("cursor", "c1"), below(editor, "python3.11", "sh"))
    assert table.session_of(below(editor, "python3.11", "bash", first=700)) is not None
    assert table.session_of(below(editor, "python3.11", "bash!", first=700)) is None


def test_two_agents_in_one_terminal_are_two() -> None:
    other = below(TERMINAL, "claude", first=70)
    table = told(AgentProcesses(), CLAUDE, below(AGENT, "python3.11", "sh"))
    assert table.session_of(below(other, "python3.11"), "claude-code") is None
    second = AgentSession("claude-code", "s2")
    table = told(table, second, below(other, "python3.11", "sh"))
    assert table.session_of(below(other, "python3.11"), "claude-code") == second
    assert table.session_of(below(AGENT, "python3.11"), "claude-code") == CLAUDE


def test_a_session_that_changes_in_its_process_is_followed() -> None:
    hook, server = below(AGENT, "python3.11", "sh"), below(AGENT, "python3.11", first=600)
    cleared = AgentSession("claude-code", "s2")
    table = told(AgentProcesses(), CLAUDE, hook)
    table = told(table, CLAUDE, hook, "session_end")
    assert table.session_of(server, "claude-code") is None
    table = told(table, cleared, hook, "start")
    assert table.session_of(server, "claude-code") == cleared
    assert told(table, CLAUDE, hook, "start").session_of(server, "claude-code") == CLAUDE, "it was resumed"


def test_a_claim_from_outside_of_the_process_tree_is_none_and_changes_nothing() -> None:
    table = told(AgentProcesses(), CLAUDE, below(AGENT, "python3.11", "sh"))
    liar = below(TERMINAL, "python3.11", "sh", "python3.11", first=80)
    assert table.belongs(CLAUDE, below(AGENT, "python3.11", "sh", first=900), nobody_has)
    assert not table.belongs(CLAUDE, liar, nobody_has)
    assert not table.belongs(CLAUDE, (), nobody_has)
    assert told(table, CLAUDE, liar, "session_end") == table


def test_a_session_whose_process_has_ended_goes_on_in_another() -> None:
    table = told(AgentProcesses(), CLAUDE, below(AGENT, "python3.11", "sh"))
    later = below(TERMINAL, "claude", first=80)
    assert table.belongs(CLAUDE, below(later, "python3.11"), everybody_has)
    table = table.told(HookTold(CLAUDE, below(later, "python3.11"), "start"), everybody_has)
    assert table.homes[CLAUDE].process == (80, 800)


def test_where_the_system_tells_of_no_processes_every_claim_stands() -> None:
    table = told(AgentProcesses(), CLAUDE, ())
    assert table == AgentProcesses()
    assert table.belongs(CLAUDE, (), nobody_has)


def test_a_session_has_the_turn_that_its_hooks_told_last() -> None:
    hook = below(AGENT, "python3.11", "sh")
    table = told(AgentProcesses(), CLAUDE, hook, "turn", "t1")
    assert told(table, CLAUDE, hook, "before").homes[CLAUDE].turn == "t1"
    assert told(table, CLAUDE, hook, "turn", "t2").homes[CLAUDE].turn == "t2"
    assert told(table, CLAUDE, hook, "turn").homes[CLAUDE].turn == "", "it has no name"


def test_a_program_below_the_agent_that_calls_the_hook_is_not_the_agent() -> None:
    table = told(AgentProcesses(), CLAUDE, below(AGENT, "python3.11", "sh"))
    table = told(table, CLAUDE, below(AGENT, "python3.11", "sh", "make", first=900))
    assert table.homes[CLAUDE].process == (40, 400)


def test_the_sessions_that_are_remembered_have_a_bound() -> None:
    table = AgentProcesses()
    for number in range(MOST_SESSIONS + 3):
        table = told(table, AgentSession("claude-code", f"s{number}"), below(AGENT, "python3.11", "sh"))
    assert len(table.homes) == MOST_SESSIONS
    assert AgentSession("claude-code", "s2") not in table.homes


def wrapped(number: int, agent: Sequence[Process] = AGENT) -> tuple[Process, ...]:
    """A hook that a script for `node` of the user's starts."""
    return below(agent, "python3.11", "node", "sh", first=number * 100)


def test_a_script_that_starts_the_hook_is_not_the_agent_once_two_hooks_have_told() -> None:
    server, command = below(AGENT, "python3.11", first=600), below(AGENT, "python3.11", "make", "bash", first=700)
    table = told(AgentProcesses(), CLAUDE, wrapped(8))
    table = table.told(HookTold(CLAUDE, wrapped(9), "turn"), everybody_has)
    assert table.homes[CLAUDE].process == (40, 400)
    assert table.session_of(server, "claude-code") == table.session_of(command) == CLAUDE
    assert table.belongs(CLAUDE, wrapped(10), nobody_has), "while another call's hook is under way"
    assert not table.belongs(CLAUDE, wrapped(10, below(TERMINAL, "claude", first=70)), nobody_has)


def test_two_sessions_whose_hooks_are_started_by_scripts_stay_apart() -> None:
    parent = below(row("init", first=1), "python3.11", first=20)
    first, second = (below(parent, "claude", first=pid) for pid in (40, 70))
    other = AgentSession("claude-code", "s2")
    table = AgentProcesses()
    for number in (8, 10):
        table = table.told(HookTold(CLAUDE, wrapped(number, first), "turn"), everybody_has)
        table = table.told(HookTold(other, wrapped(number + 1, second), "turn"), everybody_has)
    assert table.session_of(below(first, "python3.11"), "claude-code") == CLAUDE
    assert table.session_of(below(second, "python3.11"), "claude-code") == other
    assert not table.belongs(CLAUDE, wrapped(12, second), nobody_has)


def test_an_agent_that_is_started_anew_by_the_same_program_is_no_script_around_a_hook() -> None:
    parent = below(row("init", first=1), "python3.11", first=20)
    first, later = (below(parent, "claude", first=pid) for pid in (40, 70))
    table = told(told(AgentProcesses(), CLAUDE, below(first, "python3.11")), CLAUDE, below(first, "python3.11"))
    table = table.told(HookTold(CLAUDE, below(later, "python3.11"), "start"), everybody_has)
    assert table.homes[CLAUDE].process == (70, 700)
