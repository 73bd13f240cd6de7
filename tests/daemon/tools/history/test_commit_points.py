"""Commits of git as points: their files beside the journal's, and when HEAD came to them."""

from __future__ import annotations

from hashlib import sha256

from memory_daemon import MemoryDaemon, lines
from quire_daemon.tools.history.log import LOG_TOOL
from quire_journal.export.git_patch import git_blob_name
from quire_journal.history.commit_tree import CommitBlobs, CommitTree
from quire_journal.model.events import CaptureFailed, GitRan, WorkspaceScanned
from quire_journal.model.uncaptured import IGNORED

ONE = "1" * 40
TWO = "2" * 40


def committed() -> MemoryDaemon:
    """A commit of which the journal has a.py as it is, b.py as it was, and never had c.py like that."""
    daemon = MemoryDaemon()
    daemon.outside("a.py", lines("same"))
    daemon.outside("b.py", lines("committed"))
    daemon.outside("b.py", lines("changed"))
    daemon.outside("c.py", lines("new here"))
    daemon.outside("untracked", lines("x"))
    daemon.git_answers.trees[ONE] = {
        "a.py": ("100755", lines("same")),
        "b.py": ("100644", lines("committed")),
        "c.py": ("100644", lines("only in git")),
        "ignored.log": ("100644", b"x"),
    }
    return daemon


def test_a_difference_from_a_commit_is_what_git_would_show_with_what_is_not_tracked() -> None:
    daemon = committed()
    reply = daemon.ask("diff", {"from": f"commit:{ONE}"})
    assert [(f["path"], f["status"]) for f in reply["files"]] == [
        ("a.py", "mode"),
        ("b.py", "changed"),
        ("c.py", "changed"),
        ("untracked", "added"),
    ]
    assert "old mode 100755\nnew mode 100644\n" in reply["patch"]
    assert "-committed\n+changed\n" in reply["patch"]
    assert "-only in git\n+new here\n" in reply["patch"]
    assert "1 file not" in reply["warnings"][0]["message"]
    asked = daemon.git_answers.asked
    assert (asked[0], len(asked), isinstance(asked[1], CommitBlobs)) == (CommitTree(ONE), 2, True)
    assert daemon.ask("diff", {"from": f"commit:{ONE}", "path": "b.py"})["message"] == "1 file differs."
    assert daemon.ask("diff", {"from": f"commit:{ONE}", "path": "nowhere"})["error"] == "not_found"


def test_a_difference_to_a_commit_and_between_two_commits() -> None:
    daemon = committed()
    back = daemon.ask("diff", {"from": f"seq:{daemon.journal.head}", "to": f"commit:{ONE}", "path": "b.py"})
    assert "-changed\n+committed\n" in back["patch"]
    daemon.git_answers.trees[TWO] = {"moved.py": ("100644", lines("committed")), "a.py": ("100755", lines("same"))}
    between = daemon.ask("diff", {"from": f"commit:{ONE}", "to": f"commit:{TWO}"})
    told = [(f["path"], f["status"], f.get("moved_from")) for f in between["files"]]
    assert told == [("c.py", "removed", None), ("ignored.log", "removed", None), ("moved.py", "same", "b.py")]


def test_a_file_that_only_git_has_in_both_of_two_commits_differs() -> None:
    """A commit of a part of a file upon another such commit was told as one in which nothing differs."""
    daemon = committed()
    daemon.git_answers.trees[TWO] = {"c.py": ("100644", lines("only in git, and longer"))}
    between = daemon.ask("diff", {"from": f"commit:{ONE}", "to": f"commit:{TWO}", "path": "c.py"})
    assert "-only in git\n+only in git, and longer\n" in between["patch"]
    daemon.git_answers.trees["3" * 40] = {"c.py": ("100644", lines("only in git"))}
    assert daemon.ask("diff", {"from": f"commit:{ONE}", "to": f"commit:{'3' * 40}", "path": "c.py"})["files"] == []


def test_a_file_that_is_ignored_by_now_does_not_differ_from_a_commit_without_it() -> None:
    daemon = committed()
    daemon.note(CaptureFailed("untracked", IGNORED))
    for asked in ({"from": f"commit:{ONE}"}, {"from": f"seq:{daemon.journal.head}", "to": f"commit:{ONE}"}):
        assert [f["path"] for f in daemon.ask("diff", asked)["files"]] == ["a.py", "b.py", "c.py"]


def test_a_commit_that_git_does_not_have_is_not_found() -> None:
    reply = MemoryDaemon().ask("diff", {"from": "commit:abcdef0"})
    assert (reply["error"], reply["message"]) == ("not_found", "Git has no commit abcdef0 in this repository.")


def test_the_tree_of_a_commit_names_the_versions_that_have_its_bytes() -> None:
    daemon = committed()
    reply = daemon.ask("tree", {"at": f"commit:{ONE}"})
    with daemon.history() as history:
        first = next(history.versions("b.py")).seq
    told = {one["path"]: (one["version"], one["mode"], one.get("uncaptured")) for one in reply["entries"]}
    assert told["b.py"] == (f"v{first}", "0644", None)
    assert told["a.py"][1:] == ("0755", None)
    assert told["c.py"] == (None, "0644", "in_git")
    assert [one["path"] for one in daemon.ask("tree", {"at": f"commit:{ONE}", "path": "b.py"})["entries"]] == ["b.py"]


def test_a_renamed_file_has_in_the_tree_of_a_commit_the_name_that_it_had_there() -> None:
    daemon = committed()
    assert daemon.ask("move_file", {"path": "b.py", "to": "moved.py"})["ok"]
    assert daemon.ask("move_file", {"path": "moved.py", "to": "again.py"})["ok"]
    (entry,) = daemon.ask("tree", {"at": f"commit:{ONE}", "path": "again.py"})["entries"]
    assert (entry["path"], entry["renamed_to"]) == ("b.py", "again.py")
    read = daemon.ask("read_file", {"path": "again.py", "at": entry["version"]})
    assert (read["path"], read["content"]) == ("b.py", "committed\n")
    daemon.git_answers.trees[TWO] = {"b.py": ("100644", b"x"), "moved.py": ("100644", lines("committed"))}
    assert [one["path"] for one in daemon.ask("tree", {"at": f"commit:{TWO}", "path": "again.py"})["entries"]] == [
        "moved.py"
    ]
    assert daemon.ask("tree", {"at": f"commit:{ONE}", "path": "untracked"})["entries"] == []


def test_a_commit_is_the_moment_at_which_head_came_to_it() -> None:
    daemon = MemoryDaemon()
    daemon.note(WorkspaceScanned("start", 0, 0, head=f"main {TWO[:12]}"))
    daemon.outside("a", lines("before"))
    daemon.note(GitRan("checkout main", head_before=f"side {TWO[:12]}", head_after=f"main {ONE[:12]}"))
    after = daemon.outside("a", lines("after"))
    records = daemon.call(LOG_TOOL, daemon.ann, since=f"commit:{ONE}", path="a")["records"]
    assert [record["seq"] for record in records] == [after]
    assert len(daemon.call(LOG_TOOL, daemon.ann, since=f"commit:{TWO[:7]}", path="a")["records"]) == 2
    reply = daemon.call(LOG_TOOL, daemon.ann, since="commit:3333333")
    assert (reply["error"], reply["suggested_action"]) == ("not_found", "choose_another_point")


def test_a_command_that_leaves_head_where_it_is_does_not_come_to_its_commit() -> None:
    daemon = MemoryDaemon()
    daemon.note(GitRan("commit -m x", head_before=f"main {TWO[:12]}", head_after=f"main {ONE[:12]}"))
    wrote = daemon.outside("a", lines("after"))
    daemon.note(GitRan("stash", head_before=f"main {ONE[:12]}", head_after=f"main {ONE[:12]}"))
    records = daemon.call(LOG_TOOL, daemon.ann, since=f"commit:{ONE}", path="a")["records"]
    assert [record["seq"] for record in records] == [wrote]


def test_a_call_does_not_wait_for_git_for_ever() -> None:
    daemon = committed()
    daemon.git_answers.slow = True
    reply = daemon.ask("diff", {"from": f"commit:{ONE}"})
    assert (reply["error"], reply["suggested_action"]) == ("busy", "retry")


def test_the_name_that_git_gives_bytes_is_found_out_once() -> None:
    daemon = committed()
    for _ in range(2):
        daemon.ask("diff", {"from": f"commit:{ONE}"})
    with daemon.history() as history:
        version = history.file("a.py")
        assert version is not None
        assert history.git_name(version.blob, 40) == git_blob_name(lines("same"))
        assert history.git_name(version.blob, 64) == sha256(b"blob 5\0same\n").hexdigest()
