"""What the processes that wrote a file say about an announced call."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from quire_daemon.core.announcement import AnnouncedCall, WritePart
from quire_daemon.core.traced_writer import Ancestor, TracedWriter
from quire_daemon.tools.evidence.trace import LATE_S, TICK_S, EndedCall, by_processes, trace

AGENT = Ancestor(10, 5, "claude", "/usr/bin/claude")
SHELL = Ancestor(20, 1000, "bash", "/bin/bash")
SCREEN = Ancestor(2, 1, "code", "/usr/share/code/code")
IDENTITY = (10, 5)
ANNOUNCED_S, ENDED_S = 100.0, 110.0


def writer(*line: Ancestor, began_s: float = 101.0, last_s: float = 102.0) -> TracedWriter:
    return TracedWriter(line, began_s, last_s, last_s)


def said(*writers: TracedWriter) -> str:
    return trace(writers, IDENTITY, ANNOUNCED_S, ENDED_S)


SED = writer(Ancestor(21, 1001, "sed", "/bin/sed"), SHELL, AGENT, SCREEN)


def test_a_process_that_the_agent_started_in_the_call_is_evidence() -> None:
    assert said(SED) == "traced"
    assert said(SED, writer(SHELL, AGENT)) == "traced"


def test_what_is_above_the_agent_does_not_matter() -> None:
    """Agents run in editors and terminals."""
    assert said(writer(SHELL, AGENT, SCREEN, Ancestor(1, 0, "tmux: server", "/usr/bin/tmux"))) == "traced"


def test_a_process_of_somebody_else_is_none_whoever_wrote_beside_it() -> None:
    mine = writer(Ancestor(30, 1001, "vim", "/usr/bin/vim"), Ancestor(3, 2, "bash", "/bin/bash"))
    assert said(mine) == "not_of_the_agent"
    assert said(SED, mine) == "not_of_the_agent"


def test_another_process_that_got_the_agents_pid_is_not_the_agent() -> None:
    assert said(writer(SHELL, AGENT._replace(start=6))) == "not_of_the_agent"


def test_a_process_that_was_there_before_the_call_may_write_for_another_reason() -> None:
    assert said(writer(SHELL, AGENT, began_s=ANNOUNCED_S - 1)) == "started_before"
    assert said(writer(AGENT)) == "started_before"


def test_the_start_of_a_process_is_told_a_tick_too_early() -> None:
    assert said(writer(SHELL, AGENT, began_s=ANNOUNCED_S - TICK_S / 2)) == "traced"
    assert said(writer(SHELL, AGENT, began_s=ANNOUNCED_S - TICK_S * 2)) == "started_before"


def test_what_a_program_of_an_earlier_call_starts_is_not_of_this_call() -> None:
    """One that watches the tree starts a formatter when a person saves."""
    watching = Ancestor(15, 1000 - 500, "node", "/usr/bin/node")
    prettier = Ancestor(22, 1001, "prettier", "/usr/bin/node")
    assert said(writer(prettier, watching, AGENT)) == "started_before"
    assert said(writer(prettier, watching._replace(start=1000), AGENT)) == "traced"


def test_what_is_written_after_the_end_of_the_call_is_not_its_own() -> None:
    assert said(writer(SHELL, AGENT, last_s=ENDED_S + LATE_S / 2)) == "traced"
    assert said(writer(SHELL, AGENT, last_s=ENDED_S + LATE_S * 2)) == "wrote_after"
    assert trace([writer(SHELL, AGENT, last_s=ENDED_S + 1)], IDENTITY, ANNOUNCED_S) == "traced"


@pytest.mark.parametrize(
    ("name", "exe"),
    [
        ("vim", "/usr/bin/vim.basic"),
        ("view", "/usr/bin/vim.tiny"),
        ("nvim", "/usr/bin/nvim"),
        ("emacs", "/usr/bin/emacs-gtk"),
        ("emacs-29.1", ""),
        ("code", "/usr/share/code/code"),
        ("Code-insiders", ""),
        ("idea64", ""),
        ("java", "/opt/idea/jbr/bin/java"),
        ("tmux: server", "/usr/bin/tmux"),
        ("MainThread", "/usr/share/codium/codium"),
    ],
)
def test_an_editor_or_a_terminal_that_the_agent_started_may_be_a_persons(name: str, exe: str) -> None:
    editor = Ancestor(21, 1001, name, exe)
    assert said(writer(editor, SHELL, AGENT)) == "typed_into"
    assert said(writer(Ancestor(22, 1002, "prettier", "/usr/bin/node"), editor, SHELL, AGENT)) == "typed_into"


def test_a_shell_at_a_terminal_may_be_a_persons() -> None:
    assert said(writer(SHELL._replace(at_terminal=True), AGENT)) == "typed_into"


@pytest.mark.parametrize(
    "name", ["node", "python3.11", "codegen", "viper", "makensis", "sed", "opencode", "statictool"]
)
def test_other_programs_are_nobodys_editors(name: str) -> None:
    assert said(writer(Ancestor(21, 1001, name, f"/usr/bin/{name}"), SHELL, AGENT)) == "traced"


def test_where_nobody_was_seen_or_not_all_were_nothing_is_proved() -> None:
    assert said() == "unknown"
    assert trace(None, IDENTITY, ANNOUNCED_S, ENDED_S) == "unknown"


CALL = AnnouncedCall(7, 3, process=IDENTITY, began_s=ANNOUNCED_S)
VIM = writer(Ancestor(30, 1001, "vim", "/usr/bin/vim"), Ancestor(3, 2, "bash", "/bin/bash"))


def test_a_call_whose_processes_alone_wrote_is_the_writer() -> None:
    assert by_processes([CALL], "f", [SED]) == WritePart(None, 3, "traced", 7)


def test_two_calls_of_one_agent_are_told_apart_by_their_agent_session_alone() -> None:
    later = AnnouncedCall(9, 3, process=IDENTITY, began_s=ANNOUNCED_S)
    child = AnnouncedCall(9, 4, process=IDENTITY, began_s=ANNOUNCED_S)
    assert by_processes([CALL, later], "f", [SED]) == WritePart(None, 3, "traced", 9)
    assert by_processes([CALL, child], "f", [SED]) is None


def test_calls_of_one_session_are_of_one_writer_whatever_their_numbers() -> None:
    calls = [replace(CALL, burst=n, writer=n, owner=b"ann") for n in (7, 9)]
    assert by_processes(calls, "f", [SED]) == WritePart(None, 9, "traced", 9)
    assert by_processes([*calls, replace(CALL, owner=b"ann's child")], "f", [SED]) is None


def test_what_a_call_left_in_the_background_is_not_of_another_one_that_is_under_way() -> None:
    child = replace(CALL, burst=5, writer=5, owner=b"ann's child")
    assert by_processes([CALL], "f", [SED], [EndedCall(child, 105.0)]) is None
    assert by_processes([replace(child, began_s=101.5)], "f", [SED]) is None  # it was there before


@pytest.mark.parametrize(
    "over",
    [
        EndedCall(replace(CALL, writer=5, began_s=101.5), 105.0),
        EndedCall(replace(CALL, writer=5), 100.5),
        EndedCall(replace(CALL, burst=5), 105.0),
        EndedCall(replace(CALL, writer=5, process=(11, 6)), 105.0),
    ],
)
def test_a_process_belongs_to_no_call_that_had_ended_or_was_not_yet_announced(over: EndedCall) -> None:
    assert by_processes([CALL], "f", [SED], [over]) == WritePart(None, 3, "traced", 7)


def test_of_two_children_of_one_agent_each_call_may_have_started_either() -> None:
    naming = AnnouncedCall(9, 4, ("f",), process=IDENTITY, began_s=ANNOUNCED_S)
    assert by_processes([CALL, naming], "f", [writer(AGENT, began_s=1.0), SED]) is None


def test_what_none_of_the_agents_processes_wrote_is_somebody_elses() -> None:
    assert by_processes([CALL], "f", [VIM]) == WritePart(None, 0, "traced")
    assert by_processes([CALL], "f", [VIM, SED]) == WritePart(None, 0, "overlap", candidates=(7,))


def test_what_git_wrote_elsewhere_is_told_as_gits() -> None:
    git = writer(Ancestor(31, 1001, "git", "/usr/bin/git"), Ancestor(3, 2, "bash", "/bin/bash"))
    assert by_processes([CALL], "f", [git]) is None


def test_the_agents_own_process_writes_the_file_that_its_call_names() -> None:
    naming = AnnouncedCall(7, 3, ("f",), process=IDENTITY, began_s=ANNOUNCED_S)
    assert by_processes([naming], "f", [writer(AGENT, began_s=1.0)]) == WritePart(None, 3, "traced", 7)
    assert by_processes([CALL], "f", [writer(AGENT, began_s=1.0)]) is None


def test_where_nothing_is_known_nothing_is_proved() -> None:
    assert by_processes([CALL], "f", None) is None
    assert by_processes([AnnouncedCall(7, 3)], "f", [SED]) is None


def test_a_process_that_left_its_parents_since_the_call_may_be_of_it() -> None:
    adrift = writer(Ancestor(40, 1001, "sed", "/bin/sed"), Ancestor(1, 0, "init", "/sbin/init"))
    assert said(adrift) == "unknown"
    assert by_processes([CALL], "f", [adrift]) is None
    old = writer(Ancestor(41, 1001, "sed", "/bin/sed"), Ancestor(3, 2, "bash", "/bin/bash"), Ancestor(1, 0, "init", ""))
    assert said(old) == "not_of_the_agent"


def test_an_agent_that_is_an_editor_is_typed_into() -> None:
    cursor = Ancestor(10, 5, "cursor", "/usr/share/cursor/cursor")
    naming = AnnouncedCall(7, 3, ("f",), process=IDENTITY, began_s=ANNOUNCED_S)
    assert by_processes([naming], "f", [writer(cursor, began_s=1.0)]) == WritePart(None, 0, "traced")
