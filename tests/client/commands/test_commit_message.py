"""`quire commit-message`: trailers for those whose lines are staged, and for nobody else."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import Quire


def line(text: str, agent: str, session: str = "s1", model: str = "", parent: str = "") -> dict[str, Any]:
    writer = {"id": "w2", "type": "", "agent": agent, "agent_session": session, "model": model, "uid": 0}
    return {"line": 1, "text": text, "writer": {**writer, **({"parent": parent} if parent else {})}}


@pytest.fixture
def repository(site: Path) -> Path:
    def git(*words: str) -> None:
        names = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", *names, *words], cwd=site, check=True, capture_output=True)

    git("init", "-q")
    (site / "a.py").write_text("one\ntwo\n")
    git("add", "a.py")
    git("commit", "-qm", "one")
    (site / "a.py").write_text("one\nTWO\nthree\nfour\n")
    git("add", "a.py")
    return site


def test_agents_of_staged_lines_are_named_once_each(quire: Quire, repository: Path) -> None:
    assert repository
    lines = [
        line("one", "codex"),
        line("TWO", "claude-code", "sub", "opus", parent="s1"),
        line("three", "claude-code", "s1", "opus"),
        line("four", "aider", ""),
    ]
    ran = quire("commit-message", blame={"ok": True, "lines": lines})
    assert ran.out.splitlines() == [
        "Co-authored-by: Claude <noreply@anthropic.com>",
        "Agent: aider",
        "Agent: claude-code/s1 (opus)",
    ]


def test_lines_of_people_and_of_quire_setup_have_no_trailer(quire: Quire, repository: Path) -> None:
    assert repository
    lines = [line("TWO", "", "max"), line("three", "", ""), line("four", "quire", "")]
    ran = quire("commit-message", blame={"ok": True, "lines": lines})
    assert (ran.out.strip(), ran.status) == ("", 0)


def test_an_equal_line_that_was_committed_before_is_not_staged(quire: Quire, repository: Path) -> None:
    assert repository
    lines = [line("four", "codex"), {**line("four", "aider", ""), "line": 4}]
    run = {"start": 4, "end": 4, "writer": lines[1]["writer"]}
    known = {"ok": True, "files": [{"path": "a.py", "status": "changed", "writers": [], "runs": [run]}]}
    ran = quire("commit-message", blame={"ok": True, "lines": lines}, contributions=known)
    assert ran.out.splitlines() == ["Agent: aider"]


def test_a_blank_line_of_another_agent_that_is_not_staged_gives_it_no_trailer(quire: Quire, repository: Path) -> None:
    (repository / "a.py").write_text("one\nTWO\n\ntwo\n")
    subprocess.run(["git", "add", "a.py"], cwd=repository, check=True)
    lines = [line("TWO", "claude-code"), line("", "claude-code"), line("", "codex"), line("not staged", "codex")]
    assert "codex" not in quire("commit-message", blame={"ok": True, "lines": lines}).out
    lines = [line("TWO", "claude-code"), line("", "codex")]
    assert "codex" in quire("commit-message", blame={"ok": True, "lines": lines}).out


def test_without_a_commit_there_is_no_index_to_compare(quire: Quire) -> None:
    assert "There is no commit yet" in quire("commit-message").err
