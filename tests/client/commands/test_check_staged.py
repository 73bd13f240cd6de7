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
        StagedFile("a b.py", (HunkLines(2, 1, ("TWO", "++ more"), ("two",)), HunkLines(9, 0, ("end",)))),
        StagedFile("gone", (HunkLines(1, 2, (), ("x", "-- y")),)),
        StagedFile("mode"),
        StagedFile("x\ny", (HunkLines(1, 1, (), ("old",)), HunkLines(0, 0, ("new",)))),
    ]
    assert parsed("") == []


def test_a_renamed_file_is_read_with_both_names() -> None:
    listed = (
        ":100644 100644 1 1 R100\0old\0new\0:100644 100644 1 2 R090\0a\0b c\0:100644 100644 1 2 M\0f\0\0"
        "diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n"
        "diff --git a/a b/b c\nsimilarity index 90%\nrename from a\nrename to b c\n--- a/a\n+++ b/b c\t\n"
        "@@ -2 +2 @@\n-two\n+TWO\n"
        "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+one\n"
    )
    assert parsed(listed) == [
        StagedFile("new", (), "old"),
        StagedFile("b c", (HunkLines(2, 1, ("TWO",), ("two",)),), "a"),
        StagedFile("f", (HunkLines(0, 0, ("one",)),)),
    ]


def test_a_part_of_the_own_lines_is_nobody_elses() -> None:
    own = [HunkLines(2, 1, ("TWO", "more")), HunkLines(9, 0, ("end",))]
    assert [*foreign([HunkLines(2, 1, ("TWO",))], own)] == []
    assert [*foreign([HunkLines(2, 2, ("TWO", "theirs"), ("two", "three"))], own)] == [(["three"], ["theirs"])]
    assert [*foreign([HunkLines(30, 0, ("end",))], own)] == [([], ["end"])], "the same words elsewhere"


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

    def wrote(asked: dict[str, Any]) -> dict[str, Any]:
        return {"ok": True, "lines": [] if asked.get("writer") else [{"line": 3, "text": "end", "writer": ben}]}

    ran = quire("check-staged", "--writer", "ada", diff=own, blame=wrote)
    assert (ran.out, ran.status) == ("a.py: 1 staged line of others (ben/s)\n    +end\n", 1)
    hunk["lines"] += ["+end"]
    own["files"][0]["hunks"] += [{**hunk, "old_start": 2, "old_lines": 0, "lines": ["+end"]}]
    assert quire("check-staged", "--writer", "ada", diff=own, blame=wrote).status == 0


def test_lines_that_the_writer_typed_in_place_of_others_are_not_lines_of_others(quire: Quire, repository: Path) -> None:
    """They rest on changes of others, and `patch --with-needed` had staged them; the writer was among the others."""
    del repository
    ada = {"id": "w1", "type": "", "agent": "ada", "agent_session": "s"}
    lines = [{"line": 1, "text": "ONE", "writer": ada}, {"line": 3, "text": "end", "writer": {**ada, "agent": "ben"}}]

    def blame(asked: dict[str, Any]) -> dict[str, Any]:
        return {"ok": True, "lines": lines[:1] if asked.get("writer") else lines}

    ran = quire("check-staged", "--writer", "ada", diff={"ok": True, "files": []}, blame=blame)
    assert (ran.out, ran.status) == ("a.py: 1 staged line of others (ben/s)\n    +end\n", 1)


def test_in_a_merge_only_lines_count_that_neither_side_has(quire: Quire, repository: Path) -> None:
    """The pre-commit hook refused an agent's merge for the lines of the other branch, and for its own resolution."""

    def git(*words: str, fails: bool = False) -> None:
        names = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        assert bool(subprocess.run(["git", *names, *words], cwd=repository, capture_output=True).returncode) is fails

    git("checkout", "-q", "-b", "side")
    git("commit", "-qam", "side")
    git("checkout", "-q", "-b", "other", "HEAD~1")
    (repository / "a.py").write_text("uno\ntwo\n")
    git("commit", "-qam", "other")
    git("merge", "side", fails=True)
    (repository / "a.py").write_text("both\ntwo\nend\nmore\n")
    git("add", "a.py")
    ada = {"id": "w1", "type": "", "agent": "ada", "agent_session": "s"}
    lines = [{"line": 1, "text": "both", "writer": ada}, {"line": 4, "text": "more", "writer": {**ada, "agent": "ben"}}]

    def blame(asked: dict[str, Any]) -> dict[str, Any]:
        return {"ok": True, "lines": lines[:1] if asked.get("writer") == "ada" else lines}

    ran = quire("check-staged", "--writer", "ada", blame=blame)
    assert (ran.out, ran.status, ran.err) == ("a.py: 1 staged line of others (ben/s)\n    +more\n", 1, "")
    lines.pop()
    (repository / "a.py").write_text("both\ntwo\nend\n")
    git("add", "a.py")
    assert quire("check-staged", "--writer", "ada", blame=blame).status == 0


def test_what_a_rebase_has_left_behind_is_no_merge(quire: Quire, repository: Path) -> None:
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, check=True, capture_output=True).stdout
    (repository / ".git" / "REBASE_HEAD").write_bytes(head)
    ran = quire("check-staged", "--writer", "ada", diff={"ok": True, "files": []})
    assert next(tool for tool, _ in ran.asked) == "diff"
    assert ran.status == 1


def test_staged_lines_are_shown_as_they_are_and_the_rest_is_counted(quire: Quire, repository: Path) -> None:
    (repository / "a.py").write_text("one\ntwo\n\tif x:\n\t\ta  =  1  # \x1b[31m\n    b\n" + "c\n" * 4)
    subprocess.run(["git", "add", "a.py"], cwd=repository, check=True)
    shown = "    +\tif x:\n    +\t\ta  =  1  # [31m\n    +    b\n    +c\n    +c\n    and 2 more\n"
    ran = quire("check-staged", "--writer", "ada", diff={"ok": True, "files": []})
    assert ran.out == f"a.py: 7 staged lines of others\n{shown}"


def test_a_rename_is_of_others_only_if_somebody_renamed_by_a_tool(quire: Quire, repository: Path) -> None:
    for words in (["reset", "-q", "--hard"], ["mv", "a.py", "b.py"]):
        subprocess.run(["git", *words], cwd=repository, check=True)
    file: dict[str, Any] = {"path": "b.py", "status": "changed", "moved_from": "a.py", "held": True, "writers": []}
    known = {"ok": True, "files": [file], "more": 0}
    own: dict[str, Any] = {"ok": True, "files": []}
    assert quire("check-staged", "--writer", "ada", diff=own, contributions=known).status == 0
    wrote = {"writer": {"id": "w3", "agent": "max", "agent_session": "s"}, "you": False, "lines": 2}
    file["writers"] = [wrote]  # lines that are not staged
    assert quire("check-staged", "--writer", "ada", diff=own, contributions=known).status == 0
    file["writers"] = [wrote, {"writer": {"id": "w2", "agent": "ben", "agent_session": "s"}, "you": False, "lines": 0}]
    ran = quire("check-staged", "--writer", "ada", diff=own, contributions=known)
    assert (ran.out, ran.status) == ("b.py: a staged change of others (ben/s)\n", 1)


def test_lines_in_a_file_that_another_renamed_are_those_of_the_old_name(quire: Quire, repository: Path) -> None:
    text = "".join(f"line {n}\n" for n in range(9))
    (repository / "a.py").write_text(text)
    names = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in ([*names, "commit", "-qam", "lines"], ["mv", "a.py", "b.py"]):
        subprocess.run(["git", *words], cwd=repository, check=True)
    (repository / "b.py").write_text(text.replace("line 2", "ada's"))
    subprocess.run(["git", "add", "b.py"], cwd=repository, check=True)
    hunk = {"old_start": 3, "old_lines": 1, "new_start": 3, "new_lines": 1, "lines": ["-line 2", "+ada's"]}
    own: dict[str, Any] = {"ok": True, "files": [{"path": "a.py", "hunks": [hunk]}]}
    assert quire("check-staged", "--writer", "ada", diff=own).status == 0


def test_removed_lines_of_others_are_shown_and_what_is_only_probable_is_told_as_such(
    quire: Quire, repository: Path
) -> None:
    del repository
    end = {"old_start": 2, "old_lines": 0, "new_start": 3, "new_lines": 1, "lines": ["+end"]}
    one = {"old_start": 1, "old_lines": 1, "new_start": 1, "new_lines": 1, "lines": ["-one", "+ONE"]}

    def told(words: list[str], *hunks: dict[str, Any], **more: Any) -> tuple[str, int]:
        own = {"ok": True, "from": "", "to": "", "files": [{"path": "a.py", "hunks": [*hunks]}], **more}
        ran = quire("check-staged", *words, diff=own)
        return ran.out, ran.status

    assert told([], end) == ("a.py: 2 staged lines of others\n    -one\n    +ONE\n", 1)
    assert told(["--probable"], end, one) == ("", 0)


def test_staged_lines_that_are_only_probably_the_writers_are_no_lines_of_others(quire: Quire, repository: Path) -> None:
    del repository
    hunk = {"old_start": 1, "old_lines": 1, "new_start": 1, "new_lines": 1, "lines": ["-one", "+ONE"]}
    end = {"old_start": 2, "old_lines": 0, "new_start": 3, "new_lines": 1, "lines": ["+end"]}
    sure: dict[str, Any] = {"ok": True, "from": "", "to": "", "files": [{"path": "a.py", "hunks": [end]}]}
    both = {**sure, "files": [{"path": "a.py", "hunks": [hunk, end]}]}

    def diff(asked: dict[str, Any]) -> dict[str, Any]:
        return both if asked.get("probable") else {**sure, "left_out": [{"path": "a.py"}]}

    ran = quire("check-staged", diff=diff)
    assert ran.out == "a.py: 2 staged lines only probably (~) of me\n    -one\n    +ONE\n"
    assert ran.status == 1
