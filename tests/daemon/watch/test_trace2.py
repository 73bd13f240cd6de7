"""What git processes say of themselves, made into commands; and what of it labels an outside write."""

from __future__ import annotations

import json
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from select import select
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import live
from letters import texts
from quire_daemon.server.socket import listen
from quire_daemon.watch.git.trace2 import (
    KEPT_NS,
    MOST_CONNECTIONS,
    MOST_LINE,
    REST_NS,
    SILENT_NS,
    Command,
    Commands,
    GitTrace,
)

MS = 1_000_000
NOW = 1_790_000_000_000 * MS
ROOT = "/w/site"


def told(event: str, **fields: Any) -> bytes:
    """A line as git writes it."""
    return json.dumps({"event": event, "sid": "s", **fields}, separators=(",", ":")).encode()


def lines(name: str, *arguments: str, worktree: str = ROOT, agent: str = "", sid: str = "s") -> list[bytes]:
    """What a git command says before it does anything."""
    said = [
        told("version", evt="3"),
        told("start", argv=["git", "-c", "a=b", name, *arguments], sid=sid),
        told("def_repo", repo=1, worktree=worktree, sid=sid),
        told("cmd_name", name=name, hierarchy=name, sid=sid),
    ]
    if agent:
        said.append(told("def_param", param="QUIRE_AGENT", value=agent, sid=sid))
        said.append(told("def_param", param="QUIRE_SESSION", value="s1", sid=sid))
    return said


class Gits:
    """Git processes that run, each by a number."""

    def __init__(self) -> None:
        self.commands = Commands(ROOT)

    def starts(self, number: int, said: list[bytes], now_ns: int = NOW) -> bool:
        """Is it still listened to after what it said?"""
        self.commands.connected(number, Command(1000, number, came_ns=now_ns))
        heard = [self.commands.said(number, line, now_ns) for line in said]
        return all(heard)

    def ends(self, number: int, now_ns: int, code: int = 0) -> None:
        self.commands.said(number, told("exit", code=code), now_ns)
        self.commands.gone(number, now_ns)

    def at(self, at_ns: int, path: str = "f.txt", slack_ns: int = 0) -> list[str]:
        return [command.line for command in self.commands.writing(path, at_ns, slack_ns)]


def test_only_writes_during_its_run_are_attributed_to_a_command() -> None:
    gits = Gits()
    assert gits.starts(7, lines("checkout", "-q", "main", agent="ada"))
    assert gits.at(NOW + MS) == ["checkout -q main"]
    gits.ends(7, NOW + 50 * MS)
    assert gits.at(NOW + 50 * MS) == ["checkout -q main"]
    assert gits.at(NOW + 51 * MS) == []
    assert gits.at(NOW + 51 * MS, slack_ns=5 * MS) == ["checkout -q main"]
    assert gits.at(NOW - 100 * MS) == []
    (command,) = gits.commands.ended
    assert (command.agent, command.agent_session, command.exit_code, command.pid) == ("ada", "s1", 0, 7)


@pytest.mark.parametrize(
    ("words", "labels"),
    [
        (("checkout", "-q", "-b", "side"), False),
        (("switch", "-c", "side"), False),
        (("commit", "-qm", "two"), False),
        (("checkout", "-b", "side", "main"), True),
        (("checkout", "-f", "-b", "side"), True),
        (("checkout", "side"), True),
        (("checkout", "--", "-b"), True),
    ],
)
def test_a_write_within_a_tick_of_either_end_is_not_attributed_to_a_command_that_keeps_the_tree(
    words: tuple[str, ...], labels: bool
) -> None:
    gits = Gits()
    gits.starts(7, lines(*words))
    gits.ends(7, NOW + 50 * MS)
    assert bool(gits.at(NOW + 46 * MS)) is labels
    assert gits.at(NOW + 30 * MS), "by a hook"
    assert bool(gits.at(NOW - 4 * MS)) is labels


def test_an_ended_command_is_forgotten_after_a_while() -> None:
    gits = Gits()
    gits.starts(7, lines("checkout"))
    gits.ends(7, NOW)
    gits.starts(8, lines("status"))
    gits.commands.gone(8, NOW + KEPT_NS)
    assert gits.at(NOW) == []


def test_a_killed_command_has_no_exit_code() -> None:
    gits = Gits()
    gits.starts(7, lines("checkout"))
    gits.commands.gone(7, NOW + MS)
    assert [(c.exit_code, c.ended_ns) for c in gits.commands.ended] == [(None, NOW + MS)]


@pytest.mark.parametrize("said", [lines("status"), lines("add", "f"), lines("checkout", worktree="/w/other")])
def test_who_changes_no_tree_or_another_one_is_not_listened_to(said: list[bytes]) -> None:
    gits = Gits()
    assert not gits.starts(7, said)
    gits.commands.gone(7, NOW)
    assert gits.commands.ended == []
    assert gits.at(NOW) == []


@pytest.mark.parametrize(
    ("worktree", "path", "wrote"),
    [
        ("/w", "f.txt", True),
        ("/", "f.txt", True),
        (f"{ROOT}/", "f.txt", True),
        (f"{ROOT}/sub", "sub/f.txt", True),
        (f"{ROOT}/sub", "f.txt", False),
        (f"{ROOT}/sub", "subway/f.txt", False),
        (f"{ROOT}2", "f.txt", False),
        ("site", "f.txt", False),
        ("", "f.txt", False),
    ],
)
def test_a_command_writes_in_its_worktree(worktree: str, path: str, wrote: bool) -> None:
    gits = Gits()
    gits.starts(7, lines("reset", "--hard", worktree=worktree))
    assert bool(gits.at(NOW, path)) is wrote


def test_commands_that_git_runs_itself_count_as_the_called_command() -> None:
    gits = Gits()
    gits.starts(7, lines("pull", sid="a"))
    assert not gits.starts(8, lines("merge", sid="a/b"))
    gits.commands.gone(8, NOW)
    assert gits.at(NOW) == ["pull"]
    gits.ends(7, NOW + MS)
    assert [command.name for command in gits.commands.ended] == ["pull"]


def test_an_alias_is_told_by_the_command_behind_it() -> None:
    gits = Gits()
    assert gits.starts(7, [told("start", argv=["git", "co"], sid="a"), told("cmd_name", name="_run_git_alias_")])
    assert gits.starts(8, lines("checkout", "main", sid="a/b"))
    assert gits.at(NOW) == ["checkout main"]


def test_passwords_in_urls_and_gits_own_options_are_left_out_of_the_command() -> None:
    gits = Gits()
    gits.starts(7, lines("pull", "https://ada:secret@example.org/r.git", "x" * 500))
    (line,) = gits.at(NOW)
    assert line.startswith("pull https://example.org/r.git x")
    assert len(line) == 120


def test_a_time_that_cannot_be_is_not_believed() -> None:
    gits = Gits()
    for number, time in enumerate(("1970-01-01T00:00:00Z", "2200-01-01T00:00:00Z", "yesterday", "2026-09-21")):
        gits.starts(number, [told("start", argv=[], time=time), *lines("checkout")[2:]])
    assert {command.started_ns for command in gits.commands.begun} == {NOW}


def test_a_silent_connection_is_closed_soon() -> None:
    gits = Gits()
    gits.starts(7, [told("version", evt="3")])
    gits.starts(8, lines("checkout"))
    assert gits.commands.silent(NOW + SILENT_NS) == []
    assert gits.commands.silent(NOW + SILENT_NS + 1) == [7]


MOST = live.length(3, None)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts(live.length(20, None)),
    lambda v: st.lists(v, max_size=MOST) | st.dictionaries(texts(live.length(20, None)), v, max_size=MOST),
    max_leaves=live.length(8, 100),
)
fields = st.dictionaries(
    st.sampled_from(["sid", "time", "argv", "worktree", "name", "param", "value", "code"]), json_values, max_size=MOST
)
events = st.sampled_from(["start", "def_repo", "cmd_name", "def_param", "exit", "data"])
anything = st.binary() | st.builds(lambda event, more: told(event, **more), events, fields)


@settings(max_examples=live.length(8, 500))
@given(st.lists(anything, max_size=live.length(5, 12)))
def test_whatever_is_said_nothing_breaks_and_everything_stays_short(said: list[bytes]) -> None:
    gits = Gits()
    gits.starts(7, [*said, *lines("checkout", "\u202e\x1b[2J" * 50, agent="a\u202eb\n" * 100)])
    gits.ends(7, NOW)
    for command in gits.commands.ended:
        told = [command.line, command.agent, command.agent_session]
        assert all(text.isprintable() and len(text) <= 200 for text in told)


# ── the socket ───────────────────────────────────────────────────────────────


class Polled:
    """Descriptors that are watched."""

    def __init__(self) -> None:
        self.fds: set[int] = set()

    def watch(self, fd: int) -> None:
        self.fds.add(fd)

    def ready(self, fd: int) -> bool:
        return fd in self.fds and bool(select([fd], [], [], 0)[0])

    def unwatch(self, fd: int) -> None:
        self.fds.remove(fd)


@pytest.fixture
def trace(tmp_path: Path) -> Iterator[GitTrace]:
    made = GitTrace(listen(tmp_path / "t"), Polled(), Commands(ROOT))
    yield made
    made.close()
    assert not (tmp_path / "t").exists()


def connected(tmp_path: Path) -> socket.socket:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    line.connect(str(tmp_path / "t"))
    return line


def test_it_reports_activity_while_a_process_connects_or_is_connected(trace: GitTrace, tmp_path: Path) -> None:
    assert not trace.stirs()
    with connected(tmp_path):
        assert trace.stirs()
        trace.look(lambda: NOW)
        assert trace.stirs()
    trace.look(lambda: NOW)
    assert not trace.stirs()


def test_a_daemon_without_descriptors_rests_and_hears_who_waited(tmp_path: Path) -> None:
    """The listener stayed readable, so that each poll ended at once."""
    poll = Polled()
    listener = listen(tmp_path / "t")
    trace = GitTrace(listener, poll, Commands(ROOT))
    with connected(tmp_path) as git:
        git.sendall(b"\n".join([*lines("checkout", "main"), b""]))
        with no_descriptors():
            trace.look(lambda: NOW)
        assert (poll.fds, trace.stirs()) == (set(), True)
        trace.look(lambda: NOW + REST_NS - 1)
        assert (poll.fds, trace.open) == (set(), 0)
        trace.look(lambda: NOW + REST_NS)
        assert (listener.fileno() in poll.fds, trace.open) == (True, 1)
        assert [command.name for command in trace.commands.begun] == ["checkout"]
        with connected(tmp_path), no_descriptors():
            trace.look(lambda: NOW + REST_NS)
        trace.close()
    assert poll.fds == set()


@contextmanager
def no_descriptors() -> Iterator[None]:
    """This process may open nothing."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_lines_come_in_pieces_and_one_that_is_too_long_is_left_out(trace: GitTrace, tmp_path: Path) -> None:
    with connected(tmp_path) as git:
        huge = told("start", argv=["x" * (2 * MOST_LINE)])
        stream = b"\n".join([huge, *lines("checkout", "main"), b""])
        for at in range(0, len(stream), 30_000):
            git.sendall(stream[at : at + 30_000])
            trace.look(lambda: NOW)
        (command,) = trace.commands.writing("f", NOW)
        assert (command.line, command.pid > 0) == ("checkout main", True)
    trace.look(lambda: NOW + MS)
    assert trace.open == 0
    assert [command.ended_ns for command in trace.commands.ended] == [NOW + MS]


def test_a_command_that_ran_during_the_wait_has_the_times_that_it_reported(trace: GitTrace, tmp_path: Path) -> None:
    """On a busy machine the loop may be stopped between its look at the clock and what it hears."""

    def at(ms: int) -> str:
        return datetime.fromtimestamp((NOW // MS + ms) / 1000, UTC).isoformat()

    with connected(tmp_path) as git:
        start = told("start", argv=["git", "checkout", "main"], time=at(20))
        git.sendall(b"\n".join([start, *lines("checkout")[2:], told("exit", code=0, time=at(60)), b""]))
        moments = iter((NOW, NOW + 70 * MS))
        trace.look(lambda: next(moments, NOW + 70 * MS))
    assert trace.commands.writing("f", NOW + 40 * MS)
    assert [(c.started_ns, c.ended_ns) for c in trace.commands.ended] == [(NOW + 20 * MS, NOW + 60 * MS)]


def test_connections_are_bounded_and_those_without_interest_are_closed(trace: GitTrace, tmp_path: Path) -> None:
    gits = [connected(tmp_path) for _ in range(MOST_CONNECTIONS)]
    trace.look(lambda: NOW)
    late = connected(tmp_path)
    trace.look(lambda: NOW)
    assert trace.open == MOST_CONNECTIONS
    assert late.recv(1) == b""
    gits[0].sendall(b"\n".join([*lines("status"), b""]))
    trace.look(lambda: NOW)
    assert trace.open == MOST_CONNECTIONS - 1
    assert gits[0].recv(1) == b""
    for git in (*gits, late):
        git.close()


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        (("stash",), True),
        (("stash", "-q"), True),
        (("stash", "pop", "-q"), True),
        (("stash", "drop", "-q"), False),
        (("stash", "list"), False),
        (("bisect", "log"), False),
        (("bisect", "good"), True),
        (("worktree", "list"), False),
        (("submodule", "-q", "status"), False),
    ],
)
def test_a_command_that_only_tells_or_drops_something_changes_no_tree(words: tuple[str, ...], counts: bool) -> None:
    gits = Gits()
    gits.starts(1, lines(*words))
    gits.ends(1, NOW + MS)
    assert bool(gits.commands.ended) is counts


def test_a_word_with_spaces_is_quoted_in_a_command() -> None:
    command = Command(1000, 7, name="commit", argv=["git", "commit", "-m", "two words", "--", "HEAD~1", "it's"])
    assert command.line == "commit -m 'two words' -- HEAD~1 'it'\"'\"'s'"
