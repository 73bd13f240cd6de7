"""`why`: the record behind a file or a line, and what it took the place of."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon, lines
from quire_daemon.core.decision import Tool
from quire_daemon.tools.history.blame import BLAME_TOOL
from quire_daemon.tools.history.why import WHY_TOOL
from quire_daemon.tools.undo.tool import UNDO_TOOL
from quire_journal.history.authorship import CommitFileLines, CommitLine
from quire_journal.model.events import OutsideWritten
from quire_journal.model.ids import blob_id


def a_file() -> tuple[MemoryDaemon, dict[str, int]]:
    """Ann makes it in a turn, Ben replaces a line and writes another file with it, something is put above."""
    daemon = MemoryDaemon()
    ann = daemon.introduce("ann", "s1", "turn-1")
    made = {"made": daemon.write("a.py", lines("one", "two", "three"), ann)}
    made["ben"] = daemon.write_all({"a.py": lines("one", "TWO", "three"), "b.py": lines("b")}, daemon.ben)
    made["above"] = daemon.outside("a.py", lines("zero", "one", "TWO", "three"))
    return daemon, made


def test_a_line_is_told_with_what_it_replaced_and_who_had_written_that() -> None:
    daemon, made = a_file()
    reply = daemon.call(WHY_TOOL, daemon.ann, path="a.py", line=3)
    assert (reply["text"], reply["version"], reply["line_then"]) == ("TWO", f"v{made['ben']}", 2)
    assert reply["message"].startswith(f"Line 3 of a.py was written by ben/s2 in v{made['ben']} at ")
    assert reply["wrote"] == {"start": 2, "end": 2, "lines": ["TWO"]}
    assert reply["replaced"]["lines"] == ["two"]
    assert [entry["version"] for entry in reply["replaced"]["by"]] == [f"v{made['made']}"]
    assert (reply["previous"]["version"], reply["next"]["version"]) == (f"v{made['made']}", f"v{made['above']}")
    assert [file["path"] for file in reply["batch_files"]] == ["b.py"]
    assert "-two\n+TWO\n" in reply["diff"]["patch"]


def test_a_line_that_was_there_from_the_start_or_put_between_replaced_nothing() -> None:
    daemon, made = a_file()
    first = daemon.call(WHY_TOOL, daemon.ann, path="a.py", line=4)
    assert (first["version"], first["line_then"], first["replaced"]) == (f"v{made['made']}", 3, None)
    assert (first["record"]["writer"]["turn"], first["previous"]) == ("turn-1", None)
    assert "in turn turn-1" in first["message"]
    above = daemon.call(WHY_TOOL, daemon.ann, path="a.py", line=1)
    assert (above["version"], above["replaced"], above["operation"]) == (f"v{made['above']}", None, "outside_written")


def test_nobody_is_said_to_have_written_what_the_first_capture_found() -> None:
    daemon = MemoryDaemon()
    data = lines("old")
    seq = daemon.note(OutsideWritten("a.py", blob_id(data), len(data), 0o644, "captured"), blobs=(data,))
    daemon.files["a.py"] = data
    told = f" was there already when the journal first saw the file, in v{seq} at "
    for asked, what in (({"line": 1}, "Line 1 of a.py"), ({}, "a.py")):
        reply = daemon.call(WHY_TOOL, daemon.ann, path="a.py", **asked)
        assert reply["message"].startswith(f"{what}{told}")
        assert reply["message"].endswith("; who wrote it is not known.")
        assert reply["diff"] is None  # nobody put all its lines in


def test_of_a_line_only_what_is_around_it_is_shown() -> None:
    daemon = MemoryDaemon()
    many = [f"line {n}" for n in range(1, 401)]
    daemon.write("a.py", lines(*many), daemon.ann)
    shown = daemon.call(WHY_TOOL, daemon.ann, path="a.py", line=200)["diff"]
    assert shown["partial"] is True
    added = "".join(f"+line {n}\n" for n in range(190, 211))
    assert shown["patch"].startswith("diff --git a/a.py b/a.py\nnew file mode 100644\nindex 0000000000..")
    assert shown["patch"][shown["patch"].index("--- ") :] == f"--- /dev/null\n+++ b/a.py\n@@ -0,0 +190,21 @@\n{added}"
    daemon.write("a.py", lines("top", *many[:299], "changed", *many[300:]), daemon.ben)
    shown = daemon.call(WHY_TOOL, daemon.ann, path="a.py", line=301)["diff"]
    assert shown["patch"].splitlines()[4:9] == [
        "@@ -297,7 +298,7 @@",
        " line 297",
        " line 298",
        " line 299",
        "-line 300",
    ]
    whole = daemon.call(WHY_TOOL, daemon.ann, path="a.py")["diff"]
    assert ("partial" in whole, whole["patch"].count("@@ -")) == (False, 2)


def test_what_an_undo_brought_back_is_its_authors_and_a_caller_without_a_name_is_the_user() -> None:
    daemon = MemoryDaemon()
    user = daemon.introduce("", "")
    made = daemon.write("a.py", lines("one", "two"), user)
    changed = daemon.write("a.py", lines("one", "TWO"), daemon.ann)
    undone = daemon.call(UNDO_TOOL, daemon.ann)["batch"]
    told = daemon.call(WHY_TOOL, daemon.ann, path="a.py", line=2)
    assert told["message"].startswith(f"Line 2 of a.py was written by the user in v{made} at ")
    assert f", brought back by undo of batch {changed} (ann/s1) in v{undone} at " in told["message"]
    assert (told["version"], told["brought"]["version"], told["brought"]["by"]) == (f"v{made}", f"v{undone}", "undo")
    assert told["brought"]["writer"] == "ann/s1"
    other = daemon.call(WHY_TOOL, daemon.ann, path="a.py", line=1)
    assert ("brought" in other, "brought back" in other["message"]) == (False, False)


@pytest.mark.parametrize(
    ("hint", "by"),
    [
        ("git checkout -q main (ben/s2, pid 8)", "git checkout"),
        ("git: checkout: moving from a to b (HEAD a 1 -> b 2)", "git checkout"),
        ("git: stash pop (HEAD a 1 -> a 1)", "git stash pop"),
        ("git stash (pid 8)", "git stash"),
        ("git: index.lock was held", "git"),
        ("git: HEAD moved (HEAD a -> b)", "git"),
        ("git", "git"),
    ],
)
def test_the_command_that_brought_a_line_back_is_named_by_its_first_words(hint: str, by: str) -> None:
    daemon = MemoryDaemon()
    daemon.write("a.py", lines("one", "two"), daemon.ann)
    daemon.outside("a.py", lines("other"))
    data = lines("one", "two")
    daemon.note(OutsideWritten("a.py", blob_id(data), len(data), 0o644, "watched", hint=hint), blobs=(data,))
    daemon.files["a.py"] = data
    assert daemon.call(WHY_TOOL, daemon.ann, path="a.py", line=2)["brought"]["by"] == by


def test_a_line_tells_who_wrote_it_and_which_git_command_brought_it_back() -> None:
    daemon = MemoryDaemon()
    made = daemon.write("a.py", lines("one", "two"), daemon.ann)
    daemon.outside("a.py", lines("other"))
    data = lines("one", "two")
    hint = "git checkout -q main (ben/s2, pid 8)"
    back = daemon.note(OutsideWritten("a.py", blob_id(data), len(data), 0o644, "watched", hint=hint), blobs=(data,))
    daemon.files["a.py"] = data
    told = daemon.call(WHY_TOOL, daemon.ann, path="a.py", line=2)
    assert told["message"].startswith(f"Line 2 of a.py was written by ann/s1 in v{made} at ")
    assert f", brought back by git checkout in v{back} at " in told["message"]
    assert (told["version"], told["line_then"], told["brought"]["by"]) == (f"v{made}", 2, "git checkout")


def a_first_look(daemon: MemoryDaemon, path: str, data: bytes) -> int:
    """The journal sees a file for the first time."""
    daemon.files[path] = data
    return daemon.note(OutsideWritten(path, blob_id(data), len(data), 0o644, "captured"), blobs=(data,))


def test_what_the_first_capture_found_is_a_commits_where_git_tells_so() -> None:
    daemon = MemoryDaemon()
    seq = a_first_look(daemon, "a.py", lines("old", "mine"))
    max_ = CommitLine("1a2b3c4d" * 5, "Max", "2025-03-01T10:00:00+01:00")
    daemon.git_answers.of["a.py"] = CommitFileLines(b"old\n", (max_,), (0,))
    told = daemon.call(WHY_TOOL, daemon.ann, path="a.py", line=1)
    assert told["message"].startswith(
        f"Line 1 of a.py comes from commit 1a2b3c4 Max 2025-03-01; the journal first saw it in v{seq} at "
    )
    assert told["commit"] == {"id": max_.commit, "author": "Max", "at": max_.at}
    other = daemon.call(WHY_TOOL, daemon.ann, path="a.py", line=2)
    assert other["message"].endswith("; who wrote it is not known.")
    assert "commit" not in other


def test_while_git_has_not_answered_that_is_said() -> None:
    daemon = MemoryDaemon()
    a_first_look(daemon, "a.py", lines("old"))
    daemon.git_answers.slow = True
    told = daemon.call(WHY_TOOL, daemon.ann, path="a.py", line=1)
    assert told["message"].endswith("; whether a commit tells is not known yet, ask again.")
    assert told["commit_pending"] is True


def test_a_line_is_followed_through_a_rename() -> None:
    daemon, made = a_file()
    daemon.move("a.py", "moved.py", daemon.ann)
    reply = daemon.call(WHY_TOOL, daemon.ann, path="moved.py", line=3)
    assert (reply["path"], reply["version"]) == ("a.py", f"v{made['ben']}")
    assert reply["message"].startswith("Line 3 of moved.py (a.py then) was written by ben")


def test_a_file_is_told_by_its_newest_version_and_one_that_is_gone_by_who_removed_it() -> None:
    daemon, made = a_file()
    whole = daemon.call(WHY_TOOL, daemon.ann, path="a.py")
    assert (whole["version"], "line" in whole) == (f"v{made['above']}", False)
    removed = daemon.delete("a.py", daemon.ben)
    gone = daemon.call(WHY_TOOL, daemon.ann, path="a.py")
    assert (gone["version"], gone["record"]["kind"]) == (f"v{removed}", "file_deleted")
    assert gone["message"].startswith("a.py was removed by ben/s2")
    then = daemon.call(WHY_TOOL, daemon.ann, path="a.py", at=f"v{made['ben']}", line=2)
    assert then["version"] == f"v{made['ben']}"


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"path": "a.py", "line": 9}, "line_out_of_range"),
        ({"path": "a.py", "line": 0}, "line_out_of_range"),
        ({"path": "nowhere"}, "not_found"),
        ({"path": "a.py", "at": "seq:0"}, "not_found"),
    ],
)
def test_what_is_not_there_is_refused(args: dict[str, object], code: str) -> None:
    daemon, _ = a_file()
    assert daemon.call(WHY_TOOL, daemon.ann, **args)["error"] == code


def test_at_a_point_a_name_stands_for_what_it_was_then_and_not_for_where_it_leads_as_a_link_now() -> None:
    daemon = MemoryDaemon({"target": "theirs\n"})
    daemon.ask("read_file", {"path": "target"})
    made = daemon.ask("write_file", {"path": "name", "content": "mine\n"}, by="ben")["version"]
    daemon.ask("delete_file", {"path": "name"}, by="ben")
    daemon.files.link("name", "target")
    assert daemon.ask("why", {"path": "name", "line": 1})["path"] == "target"
    then = daemon.ask("why", {"path": "name", "line": 1, "at": made})
    assert (then["path"], then["text"], then["version"]) == ("name", "mine", made)


@pytest.mark.parametrize("tool", [WHY_TOOL, BLAME_TOOL])
def test_a_question_about_an_ignored_file_does_not_bring_it_into_the_journal(tool: Tool[Any]) -> None:
    daemon = MemoryDaemon({".gitignore": "*.log\n", "a.log": "one\n"})
    ann, head = daemon.ann, daemon.journal.head
    refused = daemon.call(tool, ann, path="a.log")
    assert (refused["error"], refused["path"]) == ("not_found", "a.log")
    assert "is ignored, so it is not recorded" in refused["message"]
    assert daemon.journal.head == head
    daemon.write("a.log", lines("two"), ann)
    assert daemon.call(tool, ann, path="a.log")["ok"]
