"""`quire review reject` asks at a terminal, and elsewhere wants to be told what it is about."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from fake_line import FakeOpener

from quire_client.__main__ import main
from quire_journal.workspaces.identity import settle
from quire_journal.workspaces.layout import place_of

WRITER = {"id": "w1", "agent": "ann", "agent_session": "s1"}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def hunk(line: int) -> dict[str, Any]:
    rows = [f"-{line}", f"+ann's {line}"]
    return {"start": line, "end": line, "writers": [WRITER], "rows": rows, "rows_more": 0, "whole": False}


def opener() -> FakeOpener:
    files = [{"path": path, "status": "changed", "hunks": [hunk(2), hunk(9)]} for path in ("a.py", "b.py")]
    review = {"ok": True, "message": "4 places to review in 2 files.", "files": files, "by": [], "more": 0, "seq": 9}
    places = [{"path": path, "places": 2} for path in ("a.py", "b.py")]
    reject = {"ok": True, "message": "", "files": places, "rejections": [10, 11], "waits_for": [], "more": 0}
    undo = {"ok": True, "message": "Undone.", "files": [{"path": "a.py", "action": "write"}]}
    return FakeOpener({"review": review, "reject": reject, "undo": undo})


def undone(of: FakeOpener) -> list[int]:
    return [number for tool, arguments in of.asked if tool == "undo" for number in arguments["rejected"]]


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(place_of(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO())


@pytest.mark.parametrize("words", [[], ["--writer", "ann"], ["--json"]])
def test_without_a_terminal_nothing_goes_unless_a_path_or_yes_is_named(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    to = opener()
    assert main(["review", "reject", *words], to) != 0
    assert undone(to) == []
    said = capsys.readouterr()
    assert "Name a PATH, or say --yes" in said.out + said.err


@pytest.mark.parametrize("words", [["a.py", "b.py"], ["--yes"]])
def test_what_was_taken_back_is_listed(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    to = opener()
    assert main(["review", "reject", *words], to) == 0
    assert undone(to) == [10, 11]
    assert capsys.readouterr().out == "4 places taken back.\n  a.py: 2 places\n  b.py: 2 places\n"


@pytest.mark.parametrize(("typed", "goes"), [("y\n", 2), ("\n", 0)])
def test_a_person_sees_the_places_and_is_asked(typed: str, goes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    to = opener()
    assert main(["review", "reject"], to) == (0 if goes else 1)
    assert len(undone(to)) == goes
