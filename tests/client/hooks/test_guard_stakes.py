"""The guard's answer, from what git and the journal say."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from quire_client.hooks import claude_code, codex, cursor, gemini
from quire_client.hooks.base import Intent, Outcome
from quire_client.hooks.guard import MAY_TAKE, Stake, is_made_anew, judged, reason

LOSS = {
    "command": "git checkout",
    "folder": "",
    "paths": [],
    "changed": True,
    "untracked": False,
    "ignored": False,
    "inside": True,
    "new_folders": True,
    "globs_cross": True,
}
BEN = {"id": "w2", "type": "", "agent": "ben", "agent_session": "s2"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for line in ("git init -q", "git config user.name A", "git config user.email a@example.org"):
        subprocess.run(line.split(), cwd=tmp_path, check=True)
    (tmp_path / "src").mkdir()
    for name in ("a.py", "src/b.py", "src/c.md"):
        (tmp_path / name).write_text("1\n")
    (tmp_path / ".gitignore").write_text("data/\n*.pyc\n")
    subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
    subprocess.run(["git", "commit", "-qm", "base"], cwd=tmp_path, check=True)
    for name in ("a.py", "src/b.py", "src/c.md", "new"):
        (tmp_path / name).write_text("2\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.db").write_text("2\n")
    (tmp_path / "x.pyc").write_text("2\n")
    return tmp_path


def asked(
    root: Path, mode: str = "ask", you: bool = False, held: bool = True, **loss: Any
) -> tuple[Outcome, list[str]]:
    """The outcome, and the paths whose writers were asked for."""
    told: list[str] = []
    given = {**LOSS, "folder": str(root), **loss}
    given["paths"] = [str(root / path) for path in given["paths"]]

    def call(tool: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        if tool == "guard":
            return {"ok": True, "mode": mode, "losses": [given], "aliases": []}
        told.extend(args["paths"])
        share = {"writer": BEN, "you": you, "lines": 2}
        return {"ok": True, "files": [{"path": p, "status": "", "held": held, "writers": [share]} for p in told]}

    return judged("x", str(root), root, os.environ, call), sorted(told)


@pytest.mark.parametrize(
    ("loss", "paths"),
    [
        ({}, ["a.py", "src/b.py", "src/c.md"]),
        ({"paths": ["src"]}, ["src/b.py", "src/c.md"]),
        ({"paths": ["src/b.py", "main"]}, ["src/b.py"]),
        ({"paths": ["*.py"]}, ["a.py", "src/b.py"]),
        ({"paths": ["*.py"], "globs_cross": False}, ["a.py"]),
        ({"paths": ["**/*.py"], "globs_cross": False}, ["a.py", "src/b.py"]),
        ({"paths": ["src"], "inside": False}, []),
        ({"changed": False, "untracked": True}, ["new"]),
        ({"changed": False, "ignored": True}, ["data", "x.pyc"]),
        ({"changed": False, "ignored": True, "paths": ["data/x.db", "data/none"]}, ["data/x.db"]),
    ],
)
def test_git_tells_which_files_a_command_concerns(root: Path, loss: dict[str, Any], paths: list[str]) -> None:
    assert asked(root, **loss)[1] == paths


def test_a_staged_new_file_concerns_a_command_that_takes_such_files(root: Path) -> None:
    subprocess.run(["git", "add", "new"], cwd=root, check=True)
    assert asked(root, changed=False, added=True)[1] == ["new"]
    assert asked(root, added=False)[1] == ["a.py", "src/b.py", "src/c.md"]


def test_the_callers_own_work_is_no_question(root: Path) -> None:
    assert asked(root, you=True)[0] == Outcome()


def test_what_the_journal_does_not_hold_is_a_question_even_if_it_is_the_callers(root: Path) -> None:
    outcome, _ = asked(root, you=True, held=False, changed=False, ignored=True)
    assert "- data: the journal does not hold it" in outcome.reason
    assert "x.pyc" not in outcome.reason
    assert "not yours" not in outcome.reason, "it may be the caller's own"
    assert "undo" not in outcome.reason, "there is nothing to bring back"


def test_the_repository_itself_is_a_question(root: Path) -> None:
    loss = {"command": "rm", "untracked": True, "ignored": True, "globs_cross": False}
    assert "- .git: the journal does not hold it" in asked(root, you=True, paths=[".git"], **loss)[0].reason
    assert "- .git: the journal does not hold it" in asked(root, you=True, paths=["."], **loss)[0].reason
    assert asked(root, you=True, paths=[".git/index.lock"], **loss)[0] == Outcome()


def test_where_there_is_no_git_only_what_the_journal_lacks_is_a_question(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    assert asked(tmp_path, paths=["a"]) == (Outcome(), ["a"])
    assert "- a: the journal does not hold it" in asked(tmp_path, held=False, paths=["a"])[0].reason


@pytest.mark.parametrize(
    ("path", "made"),
    [("build/x", True), ("a/node_modules", True), ("x.pyc", True), (".env", False), ("data", False), ("builds", False)],
)
def test_what_a_build_makes_again_is_no_loss(tmp_path: Path, path: str, made: bool) -> None:
    assert is_made_anew(path, tmp_path) == made


def test_a_folder_marked_as_a_cache_is_no_loss(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "CACHEDIR.TAG").touch()
    assert is_made_anew("store/x", tmp_path)


def test_the_reason_names_writers_and_counts() -> None:
    stakes = [Stake("a", True, (('"ben/s2"', 1), ("a person", None))), *[Stake(f"f{n}", False) for n in range(9)]]
    text = reason({"git stash": stakes})
    assert '- a: uncommitted, 1 line of "ben/s2", a person' in text
    assert "- and 2 more files" in text
    renamed = reason({"git stash": [Stake("b", True, (('"ben/s2"', 0),))]})
    assert '- b: uncommitted, renamed by "ben/s2"' in renamed


def test_an_agent_that_can_ask_asks_and_others_deny() -> None:
    outcome = Outcome(allow=False, reason="why", ask=True)
    claude = claude_code.answer(Intent("PreToolUse", "before"), outcome)
    assert claude["hookSpecificOutput"]["permissionDecision"] == "ask"
    assert codex.AGENT.answer(Intent("PreToolUse", "before"), outcome)["hookSpecificOutput"] == {
        **claude["hookSpecificOutput"],
        "permissionDecision": "deny",
    }
    assert cursor.answer(Intent("beforeShellExecution", "before"), outcome)["permission"] == "ask"
    assert gemini.answer(Intent("BeforeTool", "before"), outcome)["decision"] == "deny"


def test_a_line_without_a_program_that_takes_needs_no_question() -> None:
    assert MAY_TAKE.search("cd x && /usr/bin/git stash")
    assert not MAY_TAKE.search("npm run format && legit --rmx")
