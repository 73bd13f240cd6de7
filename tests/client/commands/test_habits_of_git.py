"""What git's users type is understood, or answered with the line that does it here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import Quire


@pytest.fixture
def repository(quire: Quire, site: Path) -> Quire:
    """`quire` in a checkout with a commit of `a.py`."""
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org"]
    (site / "a.py").write_text("x\n")
    for words in (["init", "-q"], ["add", "a.py"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True, cwd=site, env=environ)
    return quire


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["checkout", "v3"], "`quire restore PATH@POINT`"),
        (["stash"], "`quire rollback NAME`"),
        (["search", "x"], "`quire log -S TEXT`"),
        (["find", "x"], "`quire log --contains TEXT`"),
        (["rm", "a.py"], "`quire restore PATH@POINT`"),
        (["revert", "v3"], "`quire undo VERSION`"),
        (["commit", "-m", "x"], "each save is recorded by itself"),
        (["log", "--grep", "x"], "`-S TEXT`"),
        (["diff", "--cached"], "no index"),
        (["log", "HEAD"], "--since HEAD"),
        (["log", "v1..v2", "--since", "v1"], "give one of them"),
        (["log", "HEAD..HEAD@{0}"], "`quire log --commit HEAD..HEAD@{0}`"),
        (["log", "HEAD..HEAD@{0}"], "`quire why HEAD..HEAD@{0}`"),
        (["show", "HEAD"], "`quire diff HEAD~1..HEAD`"),
        (["log", "a.py:1"], "`quire blame a.py:1`"),
        (["show", "a.py:1-2"], "`quire blame a.py:1-2`"),
        (["restore", "--source", "HEAD", "a.py"], "--at POINT"),
        (["log", "--at", "v1"], "--until POINT"),
        (["diff", "--at", "v1", "a.py"], "`quire diff POINT PATH`"),
        (["cat", "a.py:1-2"], "`quire read a.py:1-2` prints them"),
        (["diff", "a.py:1"], "`quire undo a.py:1`"),
        (["why", "a.py:1-2"], "as a.py:1;"),
        (["undo", "v3..v9"], "--since v3 --until v9"),
        (["undo", "a.py:5-2"], "as PATH:10-24"),
        (["undo", "a.py:0"], "as PATH:10-24"),
        (["diff", "v1", "--since", "v1"], "give one of them"),
        (["report", "v1..v2", "--since", "v1"], "give one of them"),
        (["diff", "--color"], "NO_COLOR=1"),
        (["undo", "v3", "--dry-run"], "`quire undo --plan` only tells"),
        (["rollback", "v3", "--dry-run"], "`quire rollback --plan` only tells"),
        (
            ["undo", "--path", "a.py"],
            "A path stands without an option here: `quire undo [VERSION ...] [PATH[:LINES] ...]`",
        ),
        (["diff", "--shortstat"], "--stat"),
    ],
)
def test_unsupported_names_are_answered_with_the_alternatives(typed: list[str], told: str, repository: Quire) -> None:
    ran = repository(*typed, show={"ok": True, "message": "", "record": {}})
    assert (ran.status, told in ran.err) == (2, True), ran.err


@pytest.mark.parametrize(
    ("typed", "tool", "asked"),
    [
        (["log", "v1..v9"], "stories", {"since": "v1", "until": "v9", "limit": 15}),
        (["log", "v1.."], "stories", {"since": "v1", "limit": 15}),
        (["log", "--after", "v1", "--before", "v9"], "stories", {"since": "v1", "until": "v9", "limit": 15}),
        (["diff", "--since", "v1"], "diff", {"from": "v1"}),
        (["diff", "--since", "v1", "--until", "v2", "a.py"], "diff", {"from": "v1", "to": "v2", "paths": ["a.py"]}),
        (["blame", "v3", "a.py"], "blame", {"path": "a.py", "at": "v3"}),
        (["blame", "a.py", "v3"], "blame", {"path": "a.py", "at": "v3"}),
        (["blame", "-L", "3,+2", "a.py"], "blame", {"path": "a.py", "start_line": 3, "end_line": 4}),
        (["cat", "a.py@stash@{0}"], "read_file", {"path": "a.py", "at": "stash@{0}", "content_base64": True}),
        (["show", "HEAD@{1}:a.py"], "show", {"path": "a.py", "version": "HEAD@{1}"}),
        (["diff", "v1", "HEAD@{1}"], "diff", {"from": "v1", "to": "HEAD@{1}"}),
    ],
)
def test_what_is_typed_as_for_git_is_understood(
    typed: list[str], tool: str, asked: dict[str, Any], repository: Quire
) -> None:
    ran = repository(*typed, **{tool: {"ok": True, "message": "", "stories": [], "files": []}})
    arguments = next(arguments for called, arguments in ran.asked if called == tool)
    assert arguments == asked
