"""Writers, agent sessions and turns are named by their beginning, as listings show them."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon, lines
from quire_daemon.tools.history.blame import BLAME_TOOL
from quire_daemon.tools.history.diff import DIFF_TOOL
from quire_daemon.tools.history.log import LOG_TOOL
from quire_daemon.tools.history.stories import STORIES_TOOL
from quire_daemon.tools.undo.tool import REDO_TOOL, UNDO_TOOL

FIRST = "77aa9a1e-1111-4a4a-8b8b-0123456789ab"
SECOND = "77bb0000-1111-4a4a-8b8b-0123456789ab"
TURN = "c2ffc3e9-435e-469b-acde-668af904ee71"


@pytest.fixture
def daemon() -> MemoryDaemon:
    daemon = MemoryDaemon()
    daemon.write("a.py", lines("first"), daemon.introduce("claude", FIRST, TURN))
    daemon.write("b.py", lines("second"), daemon.introduce("claude", SECOND))
    return daemon


def called(daemon: MemoryDaemon, tool: Any, **asked: Any) -> dict[str, Any]:
    """The reply."""
    reply: dict[str, Any] = daemon.call(tool, daemon.introduce("", ""), **asked)
    return reply


@pytest.mark.parametrize(
    "whose",
    [
        {"writer": "claude/77aa9a1e"},
        {"writer": f"claude/{FIRST}"},
        {"agent_session": "77aa9a1e"},
        {"agent_session": FIRST},
        {"turn": "c2ffc3e9"},
        {"turn": TURN},
    ],
)
def test_a_beginning_means_the_whole(daemon: MemoryDaemon, whose: dict[str, str]) -> None:
    assert [r["path"] for r in called(daemon, LOG_TOOL, **whose)["records"]] == ["a.py"]
    assert [s["files"][0]["path"] for s in called(daemon, STORIES_TOOL, **whose)["stories"]] == ["a.py"]
    assert [f["path"] for f in called(daemon, DIFF_TOOL, **{"from": "seq:0"}, **whose)["files"]] == ["a.py"]
    assert [f["path"] for f in called(daemon, UNDO_TOOL, **whose)["files"]] == ["a.py"]
    assert [f["path"] for f in called(daemon, REDO_TOOL, **whose)["files"]] == ["a.py"]


def test_blame_takes_a_writer_by_its_beginning(daemon: MemoryDaemon) -> None:
    assert len(called(daemon, BLAME_TOOL, path="a.py", writer="claude/77aa9a1e")["lines"]) == 1


@pytest.mark.parametrize("whose", [{"writer": "claude/77"}, {"agent_session": "77"}])
def test_a_beginning_of_few_characters_names_nobody(daemon: MemoryDaemon, whose: dict[str, str]) -> None:
    refused = called(daemon, STORIES_TOOL, **whose)
    assert (refused["error"], "called" in refused["message"]) == ("not_found", True)


def test_a_number_is_no_beginning_of_a_longer_one(daemon: MemoryDaemon) -> None:
    daemon.write("c.py", lines("third"), daemon.introduce("claude", "session-10"))
    for whose in ({"agent_session": "session-1"}, {"writer": "claude/session-1"}):
        assert called(daemon, UNDO_TOOL, **whose)["error"] == "not_found"


def test_a_turn_that_was_undone_already_is_not_said_to_be_the_callers(daemon: MemoryDaemon) -> None:
    assert called(daemon, UNDO_TOOL, turn=TURN)["ok"]
    again = called(daemon, UNDO_TOOL, turn=TURN)
    assert (again["error"], "your own" in again["message"]) == ("not_found", False)


def test_an_undo_of_a_turn_that_several_sessions_have_is_refused_without_one(daemon: MemoryDaemon) -> None:
    for session in (FIRST, SECOND):
        daemon.write(f"{session}.py", lines("x"), daemon.introduce("claude", session, "t1"))
    assert called(daemon, UNDO_TOOL, turn="t1")["message"].startswith("Several agent sessions have a turn 't1'")
    assert [f["path"] for f in called(daemon, UNDO_TOOL, turn="t1", agent_session=FIRST)["files"]] == [f"{FIRST}.py"]


def test_a_beginning_of_several_is_refused_with_all_of_them(daemon: MemoryDaemon) -> None:
    daemon.write("c.py", lines("third"), daemon.introduce("claude", FIRST.replace("1111", "2222")))
    for tool, more in ((STORIES_TOOL, {}), (UNDO_TOOL, {}), (DIFF_TOOL, {"from": "seq:0"})):
        refused = called(daemon, tool, writer="claude/77aa9a1e", **more)
        assert refused["message"].startswith("Several begin with 'claude/77aa9a1e': claude/77aa9a1e-2222")


def test_a_whole_name_that_others_begin_with_is_itself(daemon: MemoryDaemon) -> None:
    daemon.write("c.py", lines("third"), daemon.introduce("claude", FIRST[:8]))
    assert [r["path"] for r in called(daemon, LOG_TOOL, agent_session=FIRST[:8])["records"]] == ["c.py"]


def test_the_session_of_a_subagent_does_not_count_beside_its_parents(daemon: MemoryDaemon) -> None:
    daemon.write("c.py", lines("third"), daemon.introduce("claude", f"{FIRST}.sub"))
    assert called(daemon, LOG_TOOL, agent_session="77aa9a1e")["records"][0]["path"] == "a.py"


@pytest.mark.parametrize(
    ("whose", "said"),
    [
        ({"agent_session": "typo"}, "No agent session is called 'typo'."),
        ({"turn": "typo"}, "No turn is called 'typo'."),
        ({"writer": "typo"}, "Nobody in the journal is called 'typo'."),
    ],
)
def test_a_name_that_nobody_has_is_refused(daemon: MemoryDaemon, whose: dict[str, str], said: str) -> None:
    for tool, more in ((STORIES_TOOL, {}), (UNDO_TOOL, {}), (DIFF_TOOL, {"from": "seq:0"})):
        refused = called(daemon, tool, **whose, **more)
        assert (refused["error"], refused["message"][: len(said)]) == ("not_found", said)


def test_a_caller_without_a_name_does_not_hide_the_session_of_an_agent(daemon: MemoryDaemon) -> None:
    daemon.write("c.py", lines("third"), daemon.introduce("", FIRST[:8]))
    assert [r["path"] for r in called(daemon, LOG_TOOL, agent_session=FIRST[:8])["records"]] == ["a.py"]
    daemon.write("d.py", lines("fourth"), daemon.introduce("", "mine"))
    assert [r["path"] for r in called(daemon, LOG_TOOL, agent_session="mine")["records"]] == ["d.py"]
