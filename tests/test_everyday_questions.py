"""The seven questions of every day: each takes one command, and its answer fits on one screen and is right."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from a_day import Day

sys.path.append(str(Path(__file__).parent / "client"))

from fake_line import FakeOpener

from quire_client.__main__ import main
from quire_journal.workspaces.identity import settle
from quire_journal.workspaces.layout import place_of

LINES, COLUMNS = 40, 100
"""One screen."""


class _Answers(dict[str, Any]):
    """The replies of the daemon of that day."""

    def __init__(self, day: Day) -> None:
        self._day = day

    def get(self, tool: str, default: object = None) -> Callable[[dict[str, Any]], Any]:
        return lambda arguments: self._day.ask(tool, arguments)


@pytest.fixture(scope="module")
def day() -> Day:
    return Day()


@pytest.fixture
def answer(
    day: Day, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """What a command line prints, which is at most one screen."""
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    (root / "src" / "app.py").write_bytes(day.daemon.files["src/app.py"])
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    settle(place_of(root))
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    for name in ("QUIRE_AGENT", "QUIRE_SESSION", "CODEX_SESSION_ID"):
        monkeypatch.delenv(name, raising=False)
    opener = FakeOpener({})
    opener.line.answers = _Answers(day)

    def said(*words: str) -> str:
        assert main(words, opener) == 0, capsys.readouterr()
        shown = capsys.readouterr().out
        lines = shown.splitlines()
        assert len(lines) <= LINES, shown
        assert max(map(len, lines), default=0) <= COLUMNS, shown
        return shown

    return said


def alike(text: str) -> str:
    """The text with what depends on the hour of the day left out."""
    return re.sub(r" +", " ", re.sub(r"(\d{4}-\d\d-\d\d )?\d\d:\d\d(:\d\dZ?)?|\d+m ago|\bv\d+|seq:\d+", "#", text))


def test_the_recorded_terminal_of_the_readme_is_what_is_printed(answer: Callable[..., str]) -> None:
    readme = (Path(__file__).resolve().parents[1] / "README.md").read_text()
    block = re.findall(r"^```console\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)[0]
    asked = re.findall(r"^\$ quire (.*?) +# (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    assert len(asked) >= 4
    for words, _, shown in asked:
        printed = alike(answer(*words.split()))
        for line in shown.splitlines():
            assert alike(line) in printed, (words, line, printed)


def test_it_is_a_real_day(day: Day) -> None:
    assert 9_500 < day.records < 10_500


def test_what_did_claude_code_do_in_the_last_hour(answer: Callable[..., str]) -> None:
    said = answer("log", "--writer", "claude-code", "--since", "1h")
    assert "“dispatch by the kind of the request”" in said
    assert "dispatch, store" in said or "store, dispatch" in said
    assert "make render lazy" not in said
    assert "codex" not in said


def test_who_broke_this_function(answer: Callable[..., str], day: Day) -> None:
    said = answer("blame", "src/app.py:dispatch").splitlines()
    broken = next(line for line in said if "# broken" in line)
    assert f"v{day.broke}" in broken
    assert "claude-code/c1" in broken
    assert not any("def route" in line for line in said)


def test_undo_claude_code_since_lunch_and_keep_mine(answer: Callable[..., str]) -> None:
    said = answer("undo", "--writer", "claude-code", "--since", "4h", "--plan")
    assert "write   src/app.py" in said
    assert "delete  docs/cache.md" in said
    assert "keeps what" in said


def test_that_undo_keeps_what_others_did_and_what_it_did_before_lunch() -> None:
    day = Day()
    reply = day.ask("undo", {"writer": "claude-code", "from": f"seq:{day.lunch}"})
    assert reply["ok"]
    now = bytes(day.daemon.files["src/app.py"]).decode()
    assert "# mine, too" in now
    assert "return lazy(11)" in now, "what it did before lunch stays"
    assert "cached" not in now
    assert "saved(request)" not in now
    day.ask("redo", {})
    assert "saved(request)" in bytes(day.daemon.files["src/app.py"]).decode()


def test_what_changed_while_i_was_away(answer: Callable[..., str]) -> None:
    said = answer("away", "--since", "3h")
    assert "claude-code" in said
    assert "codex" in said
    assert "build (make build)" in said
    assert "changed by several" in said
    assert "src/app.py: " in said


def test_the_file_as_it_was_before_the_formatter(answer: Callable[..., str], day: Day) -> None:
    said = answer("cat", "src/app.py@before:ruff")
    assert said == day.before_formatting.decode()
    assert "# formatted" not in said


def test_who_works_now_and_where_do_they_collide(answer: Callable[..., str]) -> None:
    first, *rest = answer("who").splitlines()
    assert first.startswith("src/app.py: ")
    assert "claude-code/c1" in first
    assert "codex/x1" in first
    assert "both in dispatch" in first
    assert any(line.startswith("claude-code/c1") and "present" in line for line in rest)


def test_this_session_as_a_pull_request(answer: Callable[..., str]) -> None:
    said = answer("report", "x1")
    assert said.startswith("## codex/x1")
    assert "`src/app.py`" in said
    assert "`docs/design.md` added" in said
    assert "### Refused, or changed by others too" in said
    assert "claude-code" in said
