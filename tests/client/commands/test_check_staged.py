"""`quire check-staged`: which staged lines are not the writer's own."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import Quire

from quire_client.commands.commit.check_staged import HunkLines, StagedFile, foreign, parsed

LISTED = """\
:100644 100644 1 2 M\0a b.py\0:100644 000000 1 0 D\0gone\0:100644 100755 1 1 M\0mode\0:100644 120000 1 2 T\0x\ny\0\0\
diff --git a/a b.py b/a b.py
--- a/a b.py\t
+++ b/a b.py\t
@@ -2 +2,2 @@ def f():
-two
+TWO
+++ more
@@ -9,0 +11 @@
+end
diff --git a/gone b/gone
--- a/gone
+++ /dev/null
@@ -1,2 +0,0 @@
-x
--- y
diff --git a/mode b/mode
old mode 100644
new mode 100755
diff --git "a/x\\ny" "b/x\\ny"
deleted file mode 100644
--- "a/x\\ny"
+++ /dev/null
@@ -1 +0,0 @@
-old
diff --git "a/x\\ny" "b/x\\ny"
new file mode 120000
--- /dev/null
+++ "b/x\\ny"
@@ -0,0 +1 @@
+new
\\ No newline at end of file
"""


def test_a_patch_without_context_is_read_by_its_hunks() -> None:
    assert parsed(LISTED) == [
        StagedFile("a b.py", (HunkLines(2, 1, ("TWO", "++ more")), HunkLines(9, 0, ("end",)))),
        StagedFile("gone", (HunkLines(1, 2, ()),)),
        StagedFile("mode"),
        StagedFile("x\ny", (HunkLines(1, 1, ()), HunkLines(0, 0, ("new",)))),
    ]
    assert parsed("") == []


def test_a_part_of_the_own_lines_is_nobody_elses() -> None:
    own = [HunkLines(2, 1, ("TWO", "more")), HunkLines(9, 0, ("end",))]
    assert foreign([HunkLines(2, 1, ("TWO",))], own) == (0, [])
    assert foreign([HunkLines(2, 2, ("TWO", "theirs"))], own) == (1, ["theirs"])
    assert foreign([HunkLines(30, 0, ("end",))], own) == (0, ["end"]), "the same words elsewhere"


@pytest.fixture
def repository(site: Path) -> Path:
    def git(*words: str) -> None:
        names = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", *names, *words], cwd=site, check=True, capture_output=True)

    git("init", "-q")
    (site / "a.py").write_text("one\ntwo\n")
    git("add", "a.py")
    git("commit", "-qm", "one")
    (site / "a.py").write_text("ONE\ntwo\nend\n")
    git("add", "a.py")
    return site


def test_lines_of_others_are_named_and_the_status_is_1(quire: Quire, repository: Path) -> None:
    del repository
    hunk = {"old_start": 1, "old_lines": 1, "new_start": 1, "new_lines": 1, "lines": ["-one", "+ONE"]}
    own: dict[str, Any] = {"ok": True, "files": [{"path": "a.py", "hunks": [hunk]}]}
    ben = {"id": "w2", "type": "", "agent": "ben", "agent_session": "s"}
    wrote = {"ok": True, "lines": [{"line": 3, "text": "end", "writer": ben}]}
    ran = quire("check-staged", "--writer", "ada", diff=own, blame=wrote)
    assert (ran.out, ran.status) == ("a.py: 1 staged line of others (ben/s)\n    +end\n", 1)
    hunk["lines"] += ["+end"]
    own["files"][0]["hunks"] += [{**hunk, "old_start": 2, "old_lines": 0, "lines": ["+end"]}]
    assert quire("check-staged", "--writer", "ada", diff=own, blame=wrote).status == 0
