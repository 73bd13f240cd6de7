"""`quire patch`: what goes to stdout for `git apply`, and what is left out."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import Quire

PATCH = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n-x\n+y\n"
HEAD = ("--against", "v3")


def reply(**more: Any) -> dict[str, Any]:
    file = {"path": "a.py", "status": "changed", "patch": PATCH, "others": ["ben"], **more}
    return {"ok": True, "from": "v3", "to": "seq:9", "files": [file]}


def test_a_patch_has_nothing_but_the_changes(quire: Quire) -> None:
    ran = quire("patch", "--writer", "ada", *HEAD, "a.py", diff=reply())
    assert (ran.out, ran.status) == (PATCH, 0)
    assert ran.asked[0][1] == {"alone": "apart", "writer": "ada", "paths": ["a.py"], "from": "v3"}


def test_lines_that_rest_on_those_of_others_are_named_and_the_status_is_1(quire: Quire) -> None:
    told = reply(resting=[{"start": 4, "end": 6}, {"start": 9, "end": 8}])
    ran = quire("patch", "--writer", "ada", *HEAD, diff=told)
    assert (ran.out, ran.status) == (PATCH, 1)
    assert "a.py:4-6 rest on lines that are not in the commit (ben); left out" in ran.err
    assert "a.py:9 a removal rests on lines" in ran.err
    ran = quire("patch", "--writer", "ada", *HEAD, "--with-needed", diff=told)
    assert (ran.asked[0][1]["alone"], ran.status) == ("needed", 0)
    assert "these come with it" in ran.err


def test_lines_of_others_within_the_patch_are_named_and_the_status_is_0(quire: Quire) -> None:
    ben, cy = ({"agent": name, "agent_session": "s1"} for name in ("ben", "cy"))
    lines = [{"start": 4, "end": 6, "writer": ben}, {"start": 9, "end": 9, "writer": cy}]
    ran = quire("patch", "--writer", "ada", *HEAD, diff=reply(left_out=lines))
    assert (ran.out, ran.status) == (PATCH, 0)
    assert ran.err == "a.py:4-6,9: 4 lines of ben/s1, cy/s1 stand between lines of this patch; left out.\n"


def test_lines_of_others_in_the_place_of_the_writers_are_named_and_the_status_is_0(quire: Quire) -> None:
    """They were told as a removal by the writer, which came along with nothing."""
    lines = [{"start": 5, "end": 5, "writer": {"agent": "ben", "agent_session": "s1"}}]
    ran = quire("patch", "--writer", "ada", *HEAD, diff=reply(patch="", replaced=lines))
    assert (ran.out, ran.status) == ("", 0)
    assert (
        "a.py:5: 1 line of ben/s1 stands where lines of this writer stood, and replaced these; left out.\n" in ran.err
    )
    assert "too long" not in ran.err


def test_a_file_that_cannot_be_divided_is_left_out(quire: Quire) -> None:
    ran = quire("patch", "--turn", "t1", *HEAD, diff=reply(patch="", inseparable=True))
    assert (ran.out, ran.status) == ("", 1)
    assert "a.py: ben changed it, too, and it cannot be divided into lines; left out." in ran.err


def test_a_patch_wants_to_know_whose_changes_and_upon_what(quire: Quire) -> None:
    assert "Say whose changes: `quire patch --writer me`" in quire("patch").err
    assert "There is no commit yet" in quire("patch", "--writer", "me").err


def test_what_is_only_probable_is_named_and_the_status_is_1_without_it(quire: Quire) -> None:
    told = {**reply(), "left_out": [{"path": "b.py"}]}
    ran = quire("patch", "--writer", "me", *HEAD, diff=told)
    assert (ran.out, ran.status) == (PATCH, 1)
    assert ran.err == "b.py: changes that are only probable (~) are left out, --probable takes them, too.\n"
    ran = quire("patch", "--writer", "me", "--probable", *HEAD, diff=reply(probable=True))
    assert (ran.asked[0][1]["probable"], ran.out, ran.status) == (True, PATCH, 0)
    assert ran.err == "a.py: a part is only probable (~).\n"


@pytest.fixture
def repository(site: Path) -> Path:
    """A checkout with a commit of `a.py`."""
    (site / "a.py").write_text("one\ntwo\n")
    names = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    for words in (["init", "-q"], ["add", "a.py"], [*names, "commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=site, check=True)
    return site


def test_a_file_whose_rename_by_git_is_staged_has_its_new_name(quire: Quire, repository: Path) -> None:
    """`git apply --cached` answered that the old name is not in the index."""
    subprocess.run(["git", "mv", "a.py", "b c.py"], cwd=repository, check=True)
    told = reply(patch=PATCH.replace("-x\n+y", "-one\n+ONE"), others=None, resting=[{"start": 1, "end": 1}])
    ran = quire("patch", "--writer", "ada", diff=told)
    named = "diff --git a/b c.py b/b c.py\n--- a/b c.py\t\n+++ b/b c.py\t\n"
    assert ran.out == f"{named}@@ -1,1 +1,1 @@\n-one\n+ONE\n"
    assert ran.err.startswith("b c.py:1 rests on lines")
    ran = quire("patch", "--writer", "ada", *HEAD, diff=told)
    assert ran.out.startswith("diff --git a/a.py b/a.py\n")


def test_a_rename_by_the_writer_that_is_staged_is_not_in_the_patch_again(quire: Quire, repository: Path) -> None:
    """`git mv` of an agent: `git apply --cached` answered that the old name is not in the index."""
    subprocess.run(["git", "mv", "a.py", "b.py"], cwd=repository, check=True)
    renamed = "diff --git a/a.py b/b.py\nsimilarity index 50%\nrename from a.py\nrename to b.py\n"
    body = "@@ -1,1 +1,1 @@\n-one\n+ONE\n"
    patch = f"{renamed}--- a/a.py\n+++ b/b.py\n{body}"
    told = reply(path="b.py", moved_from="a.py", hunks=[{}], patch=patch, others=None)
    ran = quire("patch", "--writer", "ada", diff=told)
    assert ran.out == f"diff --git a/b.py b/b.py\n--- a/b.py\n+++ b/b.py\n{body}"
    told = reply(path="b.py", moved_from="a.py", hunks=[], patch=renamed, others=None)
    ran = quire("patch", "--writer", "ada", diff=told)
    assert (ran.out, ran.err.strip()) == ("", "Git's index has these changes.")
    elsewhere = reply(path="c.py", moved_from="a.py", hunks=[], patch=renamed.replace("b.py", "c.py"), others=None)
    assert "rename to c.py" in quire("patch", "--writer", "ada", diff=elsewhere).out
