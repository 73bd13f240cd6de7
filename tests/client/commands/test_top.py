"""`quire top` and `quire ui` from the command line: once, as JSON, and where there is no terminal or no Textual."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_line import FakeOpener

from quire_client.__main__ import main
from quire_journal.workspaces.identity import settle
from quire_journal.workspaces.layout import place_of

AT = "2026-01-31T12:00:00.5Z"
ALICE = {"id": "w3", "type": "edit", "agent": "alice", "agent_session": "s1"}


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the daemon of the current folder says."""
    settle(place_of(tmp_path))
    monkeypatch.chdir(tmp_path)
    writing = {"writing": [{"path": "src/app.py", "at": AT}]}
    return {
        "status": {"ok": True, "message": "Serving /site, full, 812 records.", "coverage": {"state": "full"}},
        "who": {"ok": True, "writers": [{**ALICE, "present": True, "last_seen": AT, "on": writing}]},
        "claims": {"ok": True, "leases": [], "waiting": []},
    }


@pytest.mark.parametrize("words", [["top"], ["top", "--once"]])
def test_where_stdout_is_no_terminal_it_is_printed_once(
    words: list[str], answers: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words, FakeOpener(answers)) == 0
    out = capsys.readouterr().out
    assert out.startswith("Who works now\n  A alice")
    assert "      writes src/app.py" in out
    assert out.endswith("Serving /site, full, 812 records.\n")


def test_as_json_it_is_the_replies(answers: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--json"], FakeOpener(answers)) == 0
    told = json.loads(capsys.readouterr().out)
    assert {name: told[name] for name in answers} == answers


def test_it_calls_as_nobody_so_that_no_agent_loses_what_it_is_to_be_told(
    answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUIRE_AGENT", "ada")
    opener = FakeOpener(answers)
    assert main(["top", "--once"], opener) == 0
    assert (opener.wanted[0].agent, opener.wanted[0].start) == ("", False)


def test_without_a_daemon_it_ends_with_status_4(answers: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--once"], FakeOpener(answers, runs=False)) == 4
    assert "No daemon runs" in capsys.readouterr().err


def test_names_cannot_control_the_terminal(answers: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    answers["who"]["writers"][0]["agent"] = "a\x1b]0;owned\x07\n"
    assert main(["top"], FakeOpener(answers)) == 0
    assert not {"\x1b", "\x07"} & set(capsys.readouterr().out)


def test_ui_without_a_terminal_says_what_prints_the_same(
    answers: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ui"], FakeOpener(answers)) == 2
    assert "`quire log` prints the same" in capsys.readouterr().err


def test_no_other_command_loads_textual() -> None:
    program = (
        "import sys, quire_client.__main__ as m\n"
        "from quire_client.commands import COMMANDS, offered\n"
        "[offered(name) for name in COMMANDS]\n"
        "print('textual' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"
