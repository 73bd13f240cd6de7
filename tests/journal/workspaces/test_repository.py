"""The repository of a folder is the one that git finds there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from quire_journal.workspaces.family import branch_of, family_of
from quire_journal.workspaces.repository import git_folder


def test_a_link_to_a_file_that_names_the_folder_is_followed_as_git_follows_it(tmp_path: Path) -> None:
    """What is relative in the file starts at the worktree, wherever the link leads."""
    worktree, named = tmp_path / "worktree", tmp_path / "deep/er/named"
    subprocess.run(["git", "init", "-qb", "main", "--separate-git-dir", tmp_path / "store", worktree], check=True)
    named.parent.mkdir(parents=True)
    named.write_text("gitdir: ../store\n")
    (worktree / ".git").unlink()
    (worktree / ".git").symlink_to("../deep/er/named")
    asked = subprocess.run(["git", "rev-parse", "--git-dir"], cwd=worktree, check=True, capture_output=True, text=True)
    assert os.path.samefile(git_folder(str(worktree)), asked.stdout.strip())
    assert (branch_of(worktree), family_of(worktree)) == ("main", f"git:{os.path.realpath(tmp_path / 'store')}")


@pytest.mark.parametrize("target", ["missing", ".git", "pipe", "text"])
def test_a_link_to_anything_else_is_no_repository(tmp_path: Path, target: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_text("not a gitdir\n")
    (tmp_path / ".git").symlink_to(target)
    assert git_folder(str(tmp_path)) == ""
