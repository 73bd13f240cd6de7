"""`quire undo` at a person's terminal: the plan is shown with the lines that come and go, and the person is asked."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from fake_line import FakeOpener

from quire_client.__main__ import main
from quire_journal.workspaces.identity import settle
from quire_journal.workspaces.layout import place_of

ANN = {"agent": "ann", "agent_session": "s1"}
CHANGED = [
    {"start": 3, "end": 5, "was_start": 3, "was_end": 2, "shift": 3},
    {"start": 9, "end": 9, "was_start": 6, "was_end": 7, "shift": -1},
]
PLAN = {
    "ok": True,
    "message": "Plan: 1 file to change.",
    "valid": True,
    "token": "T",
    "batches": [8],
    "files": [{"path": "a.py", "action": "write", "changed": CHANGED, "conflicts": [], "skipped": None}],
    "writers": [{"writer": ANN, "batches": 1}],
}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def undone(arguments: dict[str, Any]) -> dict[str, Any]:
    return PLAN if arguments.get("plan") else {"ok": True, "message": "Undid 1 file.", "files": []}


def opener(agent: str = "", undo_seq: int = 3, undo_of: str = "") -> FakeOpener:
    """The newest undo is the caller's, or that of `undo_of`."""
    you = {"you": True, "agent": agent, "agent_session": "s1"}
    who = {"ok": True, "writers": [you]}
    undoer = undo_of or (f"{agent}/s1" if agent else "user")

    def log(arguments: dict[str, Any]) -> dict[str, Any]:
        known = undo_seq and arguments.get("writer", undoer) == undoer
        return {"ok": True, "records": [{"seq": undo_seq, "how": "undo"}] if known else []}

    record = {"at": "2026-01-31T12:00:00Z", "writer": {"id": "w1", "uid": 1}}
    return FakeOpener({"undo": undone, "who": who, "log": log, "show": {"ok": True, "record": record}})


def asked(of: FakeOpener) -> list[dict[str, Any]]:
    return [arguments for tool, arguments in of.asked if tool == "undo"]


def caller(of: FakeOpener) -> tuple[str, str]:
    return of.wanted[-1].agent, of.wanted[-1].session


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(place_of(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))


@pytest.mark.parametrize(("typed", "goes"), [("y\n", True), ("\n", False), ("", False)])
def test_a_person_sees_the_plan_and_is_asked(
    typed: str, goes: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    to = opener()
    assert main(["undo", "--writer", "ann"], to) == (0 if goes else 1)
    said = capsys.readouterr()
    assert "  write   a.py  +4 -2\n  of ann/s1: 1 change\n" in said.out
    assert "Take it back? [y/N]" in said.err
    assert asked(to) == [{"writer": "ann", "plan": True}, *([{"token": "T"}] if goes else [])]


@pytest.mark.parametrize("words", [["--yes"], ["--plan"], ["--json"]])
def test_nobody_is_asked_who_said_what_is_wanted(words: list[str]) -> None:
    to = opener()
    assert main(["undo", "--writer", "ann", *words], to) == 0
    assert len(asked(to)) == 1


def test_an_agent_is_not_asked() -> None:
    to = opener(agent="claude-code", undo_seq=0)
    assert main(["undo"], to) == 0
    assert asked(to) == [{}]


def test_an_agents_undo_after_an_undo_names_what_it_would_take_and_does_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    to = opener(agent="claude-code", undo_seq=9)
    assert main(["undo"], to) == 1
    assert asked(to) == [{"plan": True}]
    said = capsys.readouterr().err
    assert "write   a.py" in said
    assert "`quire undo v8` takes it back" in said
    to = opener(agent="claude-code", undo_seq=3)
    assert main(["undo"], to) == 0
    assert asked(to) == [{"plan": True}, {}]


def test_the_undo_that_an_undo_would_go_on_with_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    main(["undo", "--yes"], opener(undo_seq=30))
    told = " ".join(capsys.readouterr().err.split())
    assert "Your v8 before it changed a.py: `quire undo v8` takes it back, too." in told


def test_an_undo_by_another_is_in_the_way_of_nobodys_undo(capsys: pytest.CaptureFixture[str]) -> None:
    to = opener(agent="claude-code", undo_seq=9, undo_of="user")
    assert main(["undo"], to) == 0
    assert asked(to) == [{}]
    assert main(["undo"], opener(undo_seq=9, undo_of="claude-code/s1")) == 0
    assert "already" not in capsys.readouterr().out


def test_an_undo_after_an_undo_says_what_it_would_take(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["undo"], opener(undo_seq=9)) == 0
    said = capsys.readouterr().out
    assert "It is what you did at 2026-01-31 12:00:00.\nYou have undone later work already" in said
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert main(["undo"], opener(undo_seq=3)) == 0
    assert "already" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        (["--burst", "3", "--burst", "5"], {"burst": [3, 5]}),
        (["v8", "9"], {"batch": ["v8", "v9"]}),
        (["--batch", "8", "--batch", "v9"], {"batch": ["8", "v9"]}),
        (["a.py:10-24"], {"path": "a.py", "lines": "10-24"}),
        (["a.py:10"], {"path": "a.py", "lines": "10"}),
    ],
)
def test_several_bursts_or_versions_and_the_lines_of_a_file_are_one_choice(
    words: list[str], chosen: dict[str, Any]
) -> None:
    to = opener()
    assert main(["undo", *words, "--yes"], to) == 0
    assert asked(to) == [chosen]


def test_lines_are_of_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["undo", "a.py:10-24", "b.py"], opener()) == 2
    assert "one file" in capsys.readouterr().err
    assert main(["redo", "a.py:10"], opener()) == 2


def test_a_person_is_asked_about_lines_of_several_writers() -> None:
    to = opener()
    refused = {"ok": False, "error": "schema_invalid", "message": "Lines 1-2 are of two.", "argument": "writer"}
    to.line.answers["undo"] = lambda given: undone(given) if {"writer", "token"} & given.keys() else refused
    assert main(["undo", "a.py:1-2"], to) == 0
    lines = {"path": "a.py", "lines": "1-2"}
    assert asked(to) == [{**lines, "plan": True}, {**lines, "writer": "*", "plan": True}, {"token": "T"}]


def test_a_session_without_an_agent_is_whose_work_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    to = opener(undo_seq=0)
    assert main(["undo", "--session", "s1", "--yes"], to) == 0
    assert (asked(to), caller(to)) == ([{"agent_session": "s1"}], ("", ""))
    to = opener(undo_seq=0)
    assert main(["undo", "--agent", "ann", "--session", "s1", "--yes"], to) == 0
    assert (asked(to), caller(to)) == ([{}], ("ann", "s1"))
    monkeypatch.setenv("QUIRE_AGENT", "ann")
    to = opener(undo_seq=0)
    assert main(["undo", "--session", "s1", "--yes"], to) == 0
    assert caller(to) == ("ann", "s1")


def redo_opener(agent: str = "") -> FakeOpener:
    who = {"ok": True, "writers": [{"you": True, "agent": agent}]}
    record = {"at": "2026-01-31T12:00:00Z"}
    return FakeOpener({"redo": undone, "who": who, "show": {"ok": True, "record": record}})


def redone(of: FakeOpener) -> list[dict[str, Any]]:
    return [arguments for tool, arguments in of.asked if tool == "redo"]


@pytest.mark.parametrize(("typed", "goes"), [("y\n", True), ("\n", False)])
def test_a_person_sees_what_a_redo_brings_back_and_when_it_was_undone(
    typed: str, goes: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    to = redo_opener()
    assert main(["redo"], to) == (0 if goes else 1)
    said = capsys.readouterr()
    assert "  write   a.py  +4 -2\nIt was undone at 2026-01-31 " in said.out
    assert "Bring it back? [y/N]" in said.err
    assert redone(to) == [{"plan": True}, *([{"token": "T"}] if goes else [])]


@pytest.mark.parametrize(("words", "agent"), [(["--yes"], ""), (["--plan"], ""), ([], "claude-code")])
def test_a_redo_asks_nobody_who_said_what_is_wanted_and_no_agent(words: list[str], agent: str) -> None:
    to = redo_opener(agent)
    assert main(["redo", *words], to) == 0
    assert len(redone(to)) == 1
