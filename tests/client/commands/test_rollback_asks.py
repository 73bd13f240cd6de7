"""`quire rollback` at a person's terminal: whose work goes is shown, and the person is asked."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from fake_line import FakeOpener

from quire_client.__main__ import main
from quire_journal.workspaces.identity import settle
from quire_journal.workspaces.layout import place_of


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def rolled_back(arguments: dict[str, Any]) -> dict[str, Any]:
    """The reply of `rollback`, or of its plan."""
    if not arguments.get("plan"):
        return {"ok": True, "message": "Rolled back 1 file.", "files": []}
    ann = {"writer": {"agent": "ann", "agent_session": "s1"}, "batches": 2}
    plan = {"ok": True, "message": "Plan: 1 file to change.", "files": [], "valid": True, "token": "T"}
    return {**plan, "writers": [ann, {"writer": {"id": "outside"}, "batches": 1}]}


def caller(agent: str) -> dict[str, Any]:
    """The reply of `who` to a caller."""
    return {"ok": True, "writers": [{"you": True, "agent": agent}]}


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(place_of(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("typed", "goes"), [("y\n", True), ("\n", False), ("", False)])
def test_a_person_sees_whose_work_goes_and_is_asked(
    typed: str, goes: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opener = FakeOpener({"rollback": rolled_back, "who": caller("")})
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    assert main(["rollback", "v1"], opener) == (0 if goes else 1)
    said = capsys.readouterr()
    assert "  of ann/s1: 2 changes\n  of outside: 1 change\n" in said.out
    assert "Take all of this back? [y/N]" in said.err
    asked = [arguments for tool, arguments in opener.asked if tool == "rollback"]
    assert asked == [{"to": "v1", "writer": "*", "plan": True}, *([{"token": "T"}] if goes else [])]


@pytest.mark.parametrize("agent", ["claude-code", None])
def test_an_agent_and_a_script_roll_back_their_own_work(agent: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    opener = FakeOpener({"rollback": rolled_back, "who": caller(agent or "")})
    monkeypatch.setattr("sys.stdin", Terminal("y\n") if agent else io.StringIO("y\n"))
    assert main(["rollback", "v1"], opener) == 0
    assert [arguments for tool, arguments in opener.asked if tool == "rollback"] == [{"to": "v1"}]


def test_all_writers_is_said_where_nobody_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    opener = FakeOpener({"rollback": rolled_back})
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["rollback", "v1", "--all-writers"], opener) == 0
    assert opener.asked == [("rollback", {"to": "v1", "writer": "*"})]
    assert main(["rollback", "v1", "--all-writers", "--only", "ann"], opener) == 2


@pytest.mark.parametrize("words", [["--plan"], ["--yes"]])
def test_a_plan_of_a_person_is_about_everyone_too(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    opener = FakeOpener({"rollback": rolled_back, "who": caller("")})
    monkeypatch.setattr("sys.stdin", Terminal(""))
    assert main(["rollback", "v1", *words], opener) == 0
    asked = [arguments for tool, arguments in opener.asked if tool == "rollback"]
    assert [(one["to"], one["writer"]) for one in asked] == [("v1", "*")]
