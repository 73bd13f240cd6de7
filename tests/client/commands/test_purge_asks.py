"""`quire purge`: nothing goes before a person saw what would go and agreed, or --yes was said."""

from __future__ import annotations

import io
import json
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


def purged(arguments: dict[str, Any]) -> dict[str, Any]:
    """What the daemon replies to a plan and to a purge of 12 versions."""
    versions = [{"path": "a.py", "version": f"v{n}"} for n in range(12)]
    message = "It would go." if arguments["plan"] else "It is gone."
    return {"ok": True, "message": message, "blobs": 9, "versions": versions, "versions_total": 12}


@pytest.fixture
def opener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeOpener:
    """A workspace is the current folder, and nobody is at its terminal."""
    settle(place_of(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    return FakeOpener({"purge": purged})


def plans(opener: FakeOpener) -> list[bool]:
    """Of each call of the daemon: was it only for a plan?"""
    return [arguments["plan"] for _, arguments in opener.asked]


def test_without_a_terminal_nothing_goes_unless_yes_is_said(
    opener: FakeOpener, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["purge", "a.py"], opener) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "--yes was not said. `--plan` shows what would go." in said.err
    assert main(["purge", "a.py", "--json"], opener) == 1
    assert json.loads(capsys.readouterr().out)["error"] == "not_confirmed"
    assert plans(opener) == [True, True]
    assert main(["purge", "a.py", "--yes"], opener) == 0
    assert plans(opener) == [True, True, False]


def test_a_plan_needs_no_yes(opener: FakeOpener) -> None:
    assert main(["purge", "a.py", "--plan"], opener) == 0
    assert plans(opener) == [True]


@pytest.mark.parametrize(
    ("typed", "goes"), [("y\n", True), ("yes\n", True), ("\n", False), ("no\n", False), ("", False)]
)
def test_a_person_sees_what_would_go_and_is_asked(
    typed: str, goes: bool, opener: FakeOpener, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    assert main(["purge", "a.py"], opener) == (0 if goes else 1)
    shown, question, end = capsys.readouterr().err.partition("9 blobs would be gone for good. Purge? [y/N] ")
    assert question
    assert end == ("" if goes else "Nothing was purged.\n"), "who said no is not told to say --yes"
    assert shown.splitlines()[-3:] == ["a.py  v9", "… and 2 versions more", "It would go."]
    assert plans(opener) == ([True, False] if goes else [True])


@pytest.mark.parametrize("stdin", [Terminal, io.StringIO])
def test_a_refusal_comes_before_the_question_and_the_advice_to_say_yes(
    stdin: type[io.StringIO], opener: FakeOpener, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opener.line.answers = {"purge": {"ok": False, "error": "busy", "message": "A purge is going on already."}}
    monkeypatch.setattr("sys.stdin", stdin("y\n"))
    assert main(["purge", "a.py"], opener) == 1
    assert "A purge is going on already." in capsys.readouterr().err
    assert plans(opener) == [True]


def test_of_nothing_nobody_is_asked(
    tmp_path: Path, opener: FakeOpener, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = {"ok": True, "message": "There is nothing to purge.", "versions": [], "versions_total": 0, "records": 0}
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert main(["purge", "--matching", "x"], FakeOpener({"purge": nothing})) == 0
    assert capsys.readouterr() == ("There is nothing to purge.\n", "")
