"""Points as git writes them, on the command line."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import Quire

from quire_client.commands.git_points import commit_named, uncommitted

POINT = {"ok": False, "error": "not_found", "message": "There is none.", "suggested_action": "name_a_point"}


@pytest.fixture
def commits(site: Path) -> list[str]:
    """A repository in the workspace with two commits; their ids."""
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*words: str) -> str:
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        ran = subprocess.run(["git", *who, *words], cwd=site, env=environ, capture_output=True, check=True, text=True)
        return ran.stdout.strip()

    git("init", "-q", "-b", "main")
    found = []
    for name in ("one", "two"):
        git("commit", "-q", "--allow-empty", "-m", name)
        found.append(git("rev-parse", "HEAD"))
    return found


def knows_commits(args: dict[str, Any]) -> dict[str, Any]:
    """A daemon that knows no point but a commit."""
    named = [value for value in args.values() if isinstance(value, str) and not value.startswith("commit:")]
    return {**POINT, "point": named[0]} if named else {"ok": True, "files": []}


def test_what_git_knows_is_a_point(quire: Quire, commits: list[str]) -> None:
    asked = quire("diff", "HEAD~1..main", diff=knows_commits).asked
    assert asked[-1] == ("diff", {"from": f"commit:{commits[0]}", "to": f"commit:{commits[1]}"})
    assert quire("diff", commits[0][:8], diff=knows_commits).asked[-1] == ("diff", {"from": f"commit:{commits[0]}"})
    ran = quire("diff", "nothing..", diff=knows_commits)
    assert (ran.status, len(ran.asked)) == (3, 1)


def test_a_refusal_names_commits_as_they_were_typed(quire: Quire, commits: list[str]) -> None:
    def later(args: dict[str, Any]) -> dict[str, Any]:
        known = knows_commits(args)
        wrong = f"since: {args['since']!r} is later than {args['until']!r} of until; swap them."
        return {"ok": False, "error": "schema_invalid", "message": wrong} if known["ok"] else known

    ran = quire("log", "--since", "main", "--until", "HEAD~1", stories=later)
    assert "'main' is later than 'HEAD~1' of until" in ran.err
    assert not any(commit in ran.err for commit in commits)


def test_what_was_before_something_is_a_point(quire: Quire) -> None:
    calls = [{"command": "ruff format .", "burst": 30, "writes": 1}, {"batch": 41}]
    stories = [
        {"form": "turn", "first": 3, "prompt": "go", "calls": calls, "writer": {"agent": "ada", "agent_session": "s1"}},
        {"form": "crowd", "first": 20, "program": {"kind": "build", "called": "make"}},
        {"form": "git", "first": 12, "commands": ["checkout: moving from main to topic"]},
    ]

    def read(args: dict[str, Any]) -> dict[str, Any]:
        named = str(args["at"])
        return {"ok": True, "content_base64": ""} if named.startswith("seq:") else {**POINT, "point": named}

    def point(word: str) -> object:
        told = quire("cat", f"a.py@before:{word}", read_file=read, stories={"ok": True, "stories": stories}).asked[-1]
        return told[1].get("at")

    assert [point(word) for word in ("ruff", "make", "checkout")] == ["seq:30", "seq:19", "seq:11"]
    ran = quire("cat", "a.py@before:ruff", read_file=read, stories={"ok": True, "stories": stories})
    assert ran.err.startswith("before:ruff is in front of `ruff format .` of ada/s1, ")
    by_git = quire("cat", "a.py@before:topic", read_file=read, stories={"ok": True, "stories": stories})
    assert by_git.err.startswith("before:topic is in front of `git checkout topic`, ")
    assert [args.get("path") for tool, args in ran.asked if tool == "stories"] == ["a.py"], "runs that wrote the file"
    for word in ("x", "ruf"):
        ran = quire("cat", f"a.py@before:{word}", read_file=read, stories={"ok": True, "stories": stories})
        assert ran.status == 3
        assert ran.err.startswith(f"Nothing called '{word}' is known to have written a.py. A program has a name where")


def test_what_others_saved_during_a_call_before_it_wrote_the_file_was_before_it(quire: Quire) -> None:
    """`PATH@before:black` was the file at the beginning of the agent's call, without a later save."""
    calls = [{"command": "sleep 3; black a.py", "burst": 30, "writes": 1}]
    stories = {"ok": True, "stories": [{"form": "turn", "first": 3, "calls": calls}]}
    records = [{"seq": 33, "version": None}, {"seq": 36, "version": "v36"}, {"seq": 37, "version": "v37"}]

    def read(args: dict[str, Any]) -> dict[str, Any]:
        named = str(args["at"])
        return {"ok": True, "content_base64": ""} if named.startswith("seq:") else {**POINT, "point": named}

    ran = quire("cat", "a.py@before:black", read_file=read, stories=stories, log={"ok": True, "records": records})
    assert ran.asked[-1][1]["at"] == "seq:35"
    (asked,) = [args for tool, args in ran.asked if tool == "log"]
    assert (asked["path"], asked["burst"], asked["order"]) == ("a.py", 30, "oldest")


def test_a_call_that_did_not_write_the_file_is_not_the_one(quire: Quire) -> None:
    calls = [{"command": "ruff one", "burst": 30, "writes": 1}, {"command": "ruff two", "burst": 40, "writes": 0}]
    stories = {"ok": True, "stories": [{"form": "turn", "first": 3, "calls": calls}]}

    def known(args: dict[str, Any]) -> dict[str, Any]:
        named = str(args.get("at") or args["from"])
        return {"ok": True, "files": []} if named.startswith("seq:") else {**POINT, "point": named}

    assert quire("diff", "before:ruff", "a.py", diff=known, stories=stories).asked[-1][1]["from"] == "seq:30"
    assert quire("diff", "before:ruff", diff=known, stories=stories).asked[-1][1]["from"] == "seq:40"


def test_a_bare_diff_is_against_head(quire: Quire, commits: list[str]) -> None:
    assert quire("diff", diff={"ok": True, "files": []}).asked == [("diff", {"from": f"commit:{commits[1]}"})]


def test_a_diff_of_a_writer_whose_work_is_committed_says_so(quire: Quire, commits: list[str]) -> None:
    ran = quire("diff", "--writer", "ada", diff={"ok": True, "files": []})
    assert ran.err == "Of what ada did nothing differs from HEAD; --since 1h compares with an hour ago.\n"
    ran = quire("diff", "v1", "--writer", "ada", diff={"ok": True, "files": []})
    assert ran.err == "Of what ada did nothing differs; `quire log` tells what was done.\n"


def test_a_file_at_a_commit_is_the_version_with_its_bytes(quire: Quire, commits: list[str]) -> None:
    def read(args: dict[str, Any]) -> dict[str, Any]:
        return {**POINT, "point": args["at"]} if args["at"] != "v7" else {"ok": True, "content_base64": ""}

    tree = {"ok": True, "entries": [{"path": "a.py", "version": "v7"}]}
    asked = quire("cat", "a.py@HEAD", read_file=read, tree=tree).asked
    assert asked[1] == ("tree", {"at": f"commit:{commits[1]}", "path": "a.py"})
    assert asked[2][1]["at"] == "v7"
    gone = {"ok": True, "entries": [{"path": "a.py", "version": None}]}
    ran = quire("cat", "a.py@HEAD", read_file=read, tree=gone)
    assert ran.status == 3
    assert "`git show HEAD:a.py` prints it" in ran.err
    assert "HEAD has no file a.py." in quire("cat", "a.py@HEAD", read_file=read, tree={"ok": True, "entries": []}).err


def test_a_restore_of_a_folder_at_a_commit_names_gits_restore(quire: Quire, commits: list[str]) -> None:
    """It said that the commit has no file of this name."""

    def restore(args: dict[str, Any]) -> dict[str, Any]:
        return {**POINT, "point": args["at"]}

    tree = {"ok": True, "entries": [{"path": "docs/a.md", "version": "v7"}]}
    ran = quire("restore", "docs@HEAD", restore=restore, tree=tree)
    assert "docs is not one file; of a commit, as HEAD, one file at a time" in ran.err
    assert "`git restore --source=HEAD -- docs`" in ran.err
    assert commits


def test_a_file_that_was_renamed_since_a_commit_is_that_of_its_name_there(quire: Quire, commits: list[str]) -> None:
    def read(args: dict[str, Any]) -> dict[str, Any]:
        return {**POINT, "point": args["at"]} if args["at"] != "v7" else {"ok": True, "content_base64": ""}

    tree = {"ok": True, "entries": [{"path": "old.py", "renamed_to": "a.py", "version": "v7"}]}
    assert quire("cat", "a.py@HEAD", read_file=read, tree=tree).asked[2][1]["at"] == "v7"
    gone = {"ok": True, "entries": [{"path": "old.py", "renamed_to": "a.py", "version": None}]}
    assert "`git show HEAD:old.py` prints it" in quire("cat", "a.py@HEAD", read_file=read, tree=gone).err


def test_gits_reflog_dates_a_move_of_head_that_the_journal_does_not_know(quire: Quire, commits: list[str]) -> None:
    def log(args: dict[str, Any]) -> dict[str, Any]:
        since = args["since"]
        if since.endswith("Z"):
            return {"ok": True, "records": [], "stories": []}
        return {**POINT, "point": since, "suggested_action": "choose_another_point" if ":" in since else "name_a_point"}

    for words in (("log", "--records"), ("log",)):
        asked = [args["since"] for _, args in quire(*words, "--since", "HEAD~1", log=log, stories=log).asked]
        assert [since[:9] for since in dict.fromkeys(asked)][:2] == ["HEAD~1", f"commit:{commits[0][:2]}"]
        assert asked[-1].endswith(".999999Z")


def test_git_tells_which_files_are_not_committed(site: Path, commits: list[str]) -> None:
    (site / "new name.py").touch()
    assert uncommitted(["new name.py", "nowhere.py"], site, os.environ) == ["new name.py"]
    assert uncommitted([], site, os.environ) == []


def test_a_name_may_begin_or_end_with_white_space(site: Path, commits: list[str]) -> None:
    names = [" first", "last "]
    for name in names:
        (site / name).write_text("x")
    assert uncommitted(names, site, os.environ) == names


def test_git_is_asked_for_commits_only_and_in_its_repository(tmp_path: Path, site: Path, commits: list[str]) -> None:
    assert commit_named("HEAD", site, os.environ) == commits[1]
    assert commit_named("--help", site, os.environ) == commit_named("HEAD", tmp_path / "none", os.environ) == ""


# -- habits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [("main", "side"), ("main", "feature/a"), ("feature/a", "main"), ("main..feature/a",), ("feature/a..side",)],
)
def test_a_diff_takes_branches_for_both_ends(
    quire: Quire, site: Path, commits: list[str], words: tuple[str, ...]
) -> None:
    """They were taken for files that the journal does not know."""
    for branch in ("side", "feature/a"):
        subprocess.run(["git", "branch", branch, commits[0]], cwd=site, check=True)
    asked = quire("diff", *words, diff={"ok": True, "files": []}).asked[-1][1]
    assert (asked["from"], asked["to"]) == tuple("..".join(words).split(".."))
    assert "paths" not in asked


def test_a_path_may_name_lines(quire: Quire, site: Path) -> None:
    assert quire("blame", "a.py:3").asked[0] == ("blame", {"path": "a.py", "start_line": 3, "end_line": 3})
    assert quire("blame", "a.py:3-9").asked[0][1] == {"path": "a.py", "start_line": 3, "end_line": 9}
    (site / "a.py:3").write_text("x")
    assert quire("blame", "a.py:3").asked[0][1] == {"path": "a.py:3"}


def test_a_point_may_stand_before_its_path_as_git_writes_it(quire: Quire, site: Path) -> None:
    read = {"ok": True, "content_base64": ""}
    (site / "src").mkdir(exist_ok=True)
    assert quire("cat", "HEAD~1:src/a.py", read_file=read).asked[0][1]["path"] == "src/a.py"
    assert quire("cat", "HEAD~1:src/a.py", read_file=read).asked[0][1]["at"] == "HEAD~1"
    show = {"ok": True, "record": {"seq": 1}, "content": ""}
    assert quire("show", "v3:./a.py", show=show).asked[0] == ("show", {"path": "a.py", "version": "v3"})
    assert quire("blame", "a.py@HEAD~1").asked[0][1] == {"path": "a.py", "at": "HEAD~1"}


def test_undo_takes_a_version(quire: Quire) -> None:
    assert quire("undo", "v11122", "--plan").asked[0] == ("undo", {"batch": "v11122", "plan": True})
    assert quire("undo", "11122", "src", "--plan").asked[0][1] == {"batch": "v11122", "path": "src", "plan": True}
    assert quire("undo", "v1", "2", "--plan").asked[0][1] == {"batch": ["v1", "v2"], "plan": True}
    assert "--batch may be given several times" in quire("undo", "v1", "--batch", "2").err


def test_an_option_that_is_given_twice_is_refused(quire: Quire) -> None:
    ran = quire("undo", "--writer", "ann", "--writer", "ben")
    assert (ran.status, ran.err) == (2, "quire: --writer is given twice, once as 'ann' and once as 'ben'.\n")
    assert quire("undo", "--writer", "ann", "--writer", "ann", "--plan", "--plan").status == 0


def test_an_unsupported_git_option_is_answered_with_the_alternative(quire: Quire) -> None:
    assert quire("diff", "--staged").err.startswith("quire: Quire knows no index: `git diff --cached` shows")
    assert quire("log", "--author", "ann").err.startswith("quire: Who wrote is --writer here")
    assert quire("diff", "-p", "v1", diff={"ok": True, "files": []}).asked == [("diff", {"from": "v1"})]
