"""Git beside the real daemon: who is told to have written lines that git brings, takes away and brings back."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import live

pytestmark = pytest.mark.real


def git(root: Path, *words: str, author: str = "Max") -> str:
    """What a git command prints, with nobody's configuration."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", f"user.name={author}", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    ran = subprocess.run(
        ["git", *who, *words], cwd=root, env={**plain, **nobody}, check=True, capture_output=True, timeout=30
    )
    return ran.stdout.decode()


def committed(at: live.Live) -> None:
    """A file by two people, in three commits."""
    git(at.root, "init", "-q")
    for author, text in (("Max", "one\ntwo\n"), ("Mia", "one\ntwo\nthree\n"), ("Max", "zero\none\ntwo\nthree\n")):
        at.write("f.txt", text)
        git(at.root, "add", "f.txt")
        git(at.root, "commit", "-qm", f"by {author}", author=author)


def of_git(root: Path) -> list[tuple[str, str]]:
    """(commit, author) of each line, by `git blame`."""
    found, commit = [], ""
    for row in git(root, "blame", "--line-porcelain", "HEAD", "--", "f.txt").split("\n"):
        if len(row.split(" ")[0]) == 40:
            commit = row.split(" ")[0]
        elif row.startswith("author "):
            found.append((commit, row[7:]))
    return found


def edit(client: Any, old: str, new: str) -> None:
    """A journaled edit."""
    sha256 = live.ok(client.read_file("f.txt"))["sha256"]
    live.ok(client.edit_file("f.txt", sha256, [{"oldText": old, "newText": new}]))


def told(client: Any) -> list[tuple[str, str]]:
    """(line, who wrote it) by `quire blame`: an agent, a commit's author, or outside."""
    lines = live.ok(client.blame("f.txt"))["lines"]
    assert not [line for line in lines if line.get("commit_pending")]
    return [
        (line["text"], line.get("commit", {}).get("author") or line["writer"]["agent"] or "outside") for line in lines
    ]


def test_lines_that_were_there_are_told_by_git_blame_and_keep_their_authors_whatever_git_does(daemon: Any) -> None:
    at = daemon()
    committed(at)
    with at.connect("ada") as ada, at.connect("ben") as ben:
        live.eventually("the first capture", lambda: ada.status()["capture"]["finished"])
        lines = live.ok(ada.blame("f.txt"))["lines"]
        assert [(line["commit"]["id"], line["commit"]["author"]) for line in lines] == of_git(at.root)

        edit(ada, "two\n", "two by ada\n")
        git(at.root, "commit", "-qam", "ada's")
        git(at.root, "checkout", "-qb", "side")
        edit(ben, "three\n", "three by ben\nfour by ben\n")
        git(at.root, "commit", "-qam", "ben's")
        on_side = told(ada)
        by_ben = [("three by ben", "ben"), ("four by ben", "ben")]
        assert on_side == [("zero", "Max"), ("one", "Max"), ("two by ada", "ada"), *by_ben]

        git(at.root, "checkout", "-q", "main")
        assert told(ada) == [("zero", "Max"), ("one", "Max"), ("two by ada", "ada"), ("three", "Mia")]
        git(at.root, "checkout", "-q", "side")
        assert told(ada) == on_side

        edit(ada, "zero\n", "zero by ada\n")
        git(at.root, "stash", "-q")
        assert told(ada) == on_side
        git(at.root, "stash", "pop", "-q")
        changed = [("zero by ada", "ada"), *on_side[1:]]
        assert told(ada) == changed

        git(at.root, "commit", "-qam", "ada's second")
        git(at.root, "checkout", "-q", "main")
        edit(ben, "one\n", "one\nbetween by ben\n")
        git(at.root, "commit", "-qam", "ben's second")
        git(at.root, "checkout", "-q", "side")
        git(at.root, "rebase", "-q", "main")
        rebased = [changed[0], changed[1], ("between by ben", "ben"), *changed[2:]]
        assert told(ada) == rebased
        git(at.root, "checkout", "-q", "main")
        git(at.root, "merge", "-q", "--no-ff", "-m", "merged", "side")
        assert told(ada) == rebased

        live.ok(ben.undo())
        live.ok(ben.redo())
        assert told(ada) == rebased
        git(at.root, "mv", "f.txt", "g.txt")
        git(at.root, "mv", "g.txt", "f.txt")
        assert told(ada) == rebased
        config = at.read(".git/config")
    assert b"quire" not in config.lower()


def test_what_a_pull_brings_is_its_commits(daemon: Any) -> None:
    at = daemon()
    committed(at)
    git(at.top, "clone", "-q", str(at.root), "theirs")
    with at.connect("ada") as ada:
        live.eventually("the first capture", lambda: ada.status()["capture"]["finished"])
        edit(ada, "two\n", "two by ada\n")
        git(at.root, "commit", "-qam", "ada's")
        theirs = at.top / "theirs"
        (theirs / "f.txt").write_text("zero\none\ntwo\nthree\nfour by mia\n")
        git(theirs, "commit", "-qam", "mia's", author="Mia")
        git(at.root, "pull", "-q", "--no-rebase", "--no-edit", str(theirs), "main")
        assert told(ada) == [
            *(("zero", "Max"), ("one", "Max"), ("two by ada", "ada"), ("three", "Mia"), ("four by mia", "Mia"))
        ]
        (line,) = [line for line in live.ok(ada.blame("f.txt"))["lines"] if line["text"] == "two by ada"]
        assert "brought" not in line
