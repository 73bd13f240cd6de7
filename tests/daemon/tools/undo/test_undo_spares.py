"""What an undo never deletes or takes along: what was only found, what others did, what cannot be looked at."""

from __future__ import annotations

import pytest
from undoings import START, daemon_with, only_file

from memory_daemon import MemoryDaemon, lines
from quire_daemon.config.settings import Policy, Settings
from quire_daemon.tools.undo.tool import REDO_TOOL, RESTORE_TOOL, ROLLBACK_TOOL, UNDO_TOOL
from quire_journal.model.events import (
    FOLDER,
    LINK,
    OutsideWritten,
    WorkspaceScanned,
)
from quire_journal.model.ids import SETUP, blob_id


def test_a_plan_tells_whose_later_lines_are_kept_also_those_of_other_programs() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", text := START.replace(b"one", b"ONE"), daemon.ann)
    daemon.outside("f.txt", text.replace(b"six", b"SIX"))
    plan = daemon.call(UNDO_TOOL, daemon.ann, plan=True)
    assert [kept["writer"]["id"] for kept in only_file(plan)["kept"]] == ["outside"]


def test_a_plan_tells_what_git_only_brought_from_what_others_wrote() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", text := START.replace(b"one", b"ONE"), daemon.ann)
    for data, hint in ((START, "git stash (pid 7)"), (text, "git stash pop (pid 8)"), (text + b"more\n", "")):
        written = OutsideWritten("f.txt", blob_id(data), len(data), 0o644, "watched", hint=hint)
        daemon.note(written, blobs=(data,))
        daemon.files["f.txt"] = data
    plan = daemon.call(UNDO_TOOL, daemon.ann, plan=True)
    assert [kept.get("by_git", False) for kept in only_file(plan)["kept"]] == [True, True, False]


@pytest.mark.parametrize("evidence", ["captured", "scanned", "read"])
def test_a_file_that_was_only_found_is_not_deleted_as_if_it_had_been_made(evidence: str) -> None:
    daemon = MemoryDaemon()
    daemon.note(WorkspaceScanned("start", 0, 0))
    data = lines("the user's own")
    daemon.note(OutsideWritten("own", blob_id(data), len(data), 0o644, evidence), blobs=(data,))
    daemon.files["own"] = data
    for args in ({"writer": "outside"}, {"writer": "*"}, {"writer": "*", "from": "seq:1"}):
        refused = daemon.call(UNDO_TOOL, daemon.ann, **args)
        assert (refused["error"], only_file(refused)["skipped"]) == ("conflict", "creation_not_seen")
        assert refused["suggested_action"] == "narrow_the_choice", "nobody built on it: markers would not help"
    assert daemon.text("own") == data


def found_then_edited() -> MemoryDaemon:
    """A file that the journal learned of after its first whole look at the tree, and that Ann edited then."""
    daemon = MemoryDaemon()
    daemon.note(WorkspaceScanned("start", 0, 0))
    daemon.note(OutsideWritten("own", blob_id(START), len(START), 0o644, "read"), blobs=(START,))
    daemon.files["own"] = START
    daemon.write("own", START.replace(b"two", b"TWO"), daemon.ann)
    return daemon


def test_of_a_file_that_was_only_found_the_later_changes_come_out_and_that_it_stays_is_told() -> None:
    daemon = found_then_edited()
    reply = daemon.call(UNDO_TOOL, daemon.ann, writer="*")
    assert daemon.text("own") == START
    assert only_file(reply)["conflicts"] == []
    assert only_file(reply)["first_seen"]["writer"]["id"] == "outside"
    assert "1 file stays as first looked at" in reply["message"]
    assert "others built" not in reply["message"]
    assert len(reply["stayed"]) == 1


def test_what_others_did_and_took_back_does_not_stay_because_the_file_does() -> None:
    daemon = MemoryDaemon()
    found = daemon.outside("own", START)
    there_and_back = [daemon.outside("own", text) for text in (START.replace(b"two", b"TWO"), START)]
    last = daemon.outside("own", START.replace(b"six", b"SIX"))
    reply = daemon.call(UNDO_TOOL, daemon.ann, writer="outside")
    assert (reply["batches"], reply["stayed"]) == ([last, *reversed(there_and_back)], [found])
    assert daemon.text("own") == START


def test_a_file_that_was_only_found_comes_back_when_its_deletion_is_undone_with_everything() -> None:
    daemon = found_then_edited()
    daemon.delete("own", daemon.ann)
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="*")["ok"]
    assert daemon.text("own") == START


@pytest.mark.parametrize("conflicts", ["skip", "markers", "abort"])
def test_how_a_file_was_first_found_is_nobodys_conflict(conflicts: str) -> None:
    daemon = found_then_edited()
    plan = daemon.call(UNDO_TOOL, daemon.ann, writer="*", conflicts=conflicts, plan=True)
    assert plan["message"] == "Plan: 1 file to change, 1 file stays as first looked at."
    assert only_file(plan)["conflicts"] == []
    assert only_file(plan)["first_seen"]["why"].startswith("it was there when it was first looked at")
    assert daemon.call(UNDO_TOOL, daemon.ann, token=plan["token"])["ok"]
    assert daemon.text("own") == START


def test_a_file_that_is_as_it_was_first_found_does_not_keep_others_from_being_undone() -> None:
    daemon = found_then_edited()
    daemon.note(OutsideWritten("other", blob_id(START), len(START), 0o644, "read"))
    daemon.files["other"] = START
    reply = daemon.call(UNDO_TOOL, daemon.ann, writer="*", conflicts="abort")
    assert {f["path"]: f["skipped"] for f in reply["files"]} == {"own": None, "other": "creation_not_seen"}
    assert (daemon.text("own"), daemon.text("other")) == (START, START)


def test_abort_names_who_built_on_it_and_not_how_the_file_was_found() -> None:
    daemon = found_then_edited()
    daemon.write("own", START.replace(b"two", b"TWO!"), daemon.ben)
    refused = daemon.call(UNDO_TOOL, daemon.ann, writer="ann", conflicts="abort")
    assert refused["error"] == "conflict"
    assert "ben/s2 built on it" in refused["message"]


def test_a_file_that_cannot_be_looked_at_now_is_busy_and_worth_another_try() -> None:
    daemon = MemoryDaemon()
    daemon.outside("f.txt", START)
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    with open(daemon.files.at("f.txt"), "ab"):  # by another program
        refused = daemon.call(UNDO_TOOL, daemon.ann)
    assert (refused["error"], only_file(refused)["skipped"]) == ("busy", "changed_meanwhile")
    assert refused["retry_after_ms"] > 0
    assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]


def test_a_batch_whose_only_file_is_skipped_stays_in_force() -> None:
    daemon = MemoryDaemon()
    for path in ("f.txt", "g.txt"):
        daemon.outside(path, START)
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    skipped = daemon.write("g.txt", START.replace(b"one", b"ONE"), daemon.ann)
    with open(daemon.files.at("g.txt"), "ab"):  # by another program
        assert daemon.call(UNDO_TOOL, daemon.ann, last=2)["stayed"] == [skipped]
    assert daemon.call(UNDO_TOOL, daemon.ann)["batches"] == [skipped]
    assert daemon.text("g.txt") == START


@pytest.mark.parametrize("path", ["barred.lock", "deep/.git/config", ".quire.toml", "deep/.quireignore"])
def test_a_protected_file_is_called_protected_whether_it_is_there_or_not(path: str) -> None:
    daemon = MemoryDaemon()
    daemon.outside(path, START)
    daemon.outside(path, lines("later"))
    daemon.settings = Settings(policy=Policy(forbidden_globs=["*.lock"]))
    refused = daemon.call(UNDO_TOOL, daemon.ann, writer="outside", last=1)
    assert (refused["error"], only_file(refused)["skipped"]) == ("conflict", "protected")
    daemon.outside_deletes(path)
    refused = daemon.call(UNDO_TOOL, daemon.ann, writer="outside", last=1)
    assert (refused["error"], only_file(refused)["skipped"]) == ("conflict", "protected")


def test_a_file_below_what_is_a_file_now_is_not_made() -> None:
    daemon = daemon_with()
    daemon.write("folder/b", START, daemon.ann)
    daemon.delete("folder/b", daemon.ann)
    daemon.outside("folder", lines("a file now"))
    refused = daemon.call(UNDO_TOOL, daemon.ann)
    assert (refused["error"], only_file(refused)["skipped"]) == ("conflict", "occupied")
    assert only_file(refused)["conflicts"][0]["writer"]["id"] == "outside"


def test_a_file_is_made_below_a_file_that_goes_with_the_same_undo() -> None:
    daemon = daemon_with()
    daemon.outside("folder/b", START)
    daemon.delete("folder/b", daemon.ann)
    daemon.write("folder", lines("a file now"), daemon.ann)
    plan = daemon.call(UNDO_TOOL, daemon.ann, last=2, plan=True)
    assert {f["path"]: (f["action"], f["skipped"]) for f in plan["files"]} == {
        "folder": ("delete", None),
        "folder/b": ("create", None),
    }


def test_a_restored_link_that_is_what_it_was_is_unchanged() -> None:
    daemon = MemoryDaemon()
    daemon.files.link("link", "to")
    at = daemon.note(OutsideWritten("link", blob_id(b"to"), 2, 0o777, "watched", entry=LINK), blobs=(b"to",))
    reply = daemon.call(RESTORE_TOOL, daemon.ann, at=f"seq:{at}", path="link")
    assert (reply["ok"], reply["unchanged"], only_file(reply)["skipped"]) == (True, True, None)


def test_a_renamed_file_is_restored_to_what_it_was_under_its_earlier_name() -> None:
    daemon = MemoryDaemon({"f.txt": "one\n"})
    daemon.outside("f.txt", b"first\n")
    first = f"v{daemon.head_of('f.txt')}"
    daemon.outside("f.txt", b"second\n")
    assert daemon.ask("move_file", {"path": "f.txt", "to": "g.txt"})["ok"]
    daemon.outside("other", START)
    assert daemon.call(RESTORE_TOOL, daemon.ann, path="other", at=first)["error"] == "not_found"
    assert daemon.call(RESTORE_TOOL, daemon.ann, path="g.txt", at=first)["ok"]
    assert (daemon.text("g.txt"), daemon.text("f.txt")) == (b"first\n", None)
    assert daemon.call(RESTORE_TOOL, daemon.ann, path=".", at=first)["ok"]
    assert daemon.text("f.txt") == b"first\n", "in a folder each file comes back under its name then"


def test_a_folder_that_was_empty_before_the_point_is_no_part_of_a_restore_of_what_is_in_it() -> None:
    daemon = MemoryDaemon()
    daemon.note(OutsideWritten("d", b"", 0, 0o700, "watched", entry=FOLDER))
    daemon.outside("d/f", START)
    at = f"seq:{daemon.journal.head}"
    daemon.outside("d/f", lines("later"))
    reply = daemon.call(RESTORE_TOOL, daemon.ann, at=at, path="d")
    assert [(f["path"], f["action"]) for f in reply["files"]] == [("d/f", "write")]
    assert daemon.text("d/f") == START


def test_a_file_that_was_seen_before_the_first_whole_look_at_the_tree_is_not_deleted() -> None:
    daemon = daemon_with()
    daemon.note(WorkspaceScanned("start", 1, 1))
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="outside")["error"] == "conflict"
    daemon.outside("made later", lines("m"))
    daemon.outside_deletes("f.txt")
    daemon.outside("f.txt", lines("anew"))
    reply = daemon.call(UNDO_TOOL, daemon.ann, writer="outside", last=1)
    assert only_file(reply)["action"] == "delete"
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="outside", path="made later")["ok"]
    assert sorted(daemon.files) == []
    assert daemon.call(REDO_TOOL, daemon.ann, last=2)["ok"]
    assert sorted(daemon.files) == ["f.txt", "made later"]


def test_outside_work_is_never_undone_unless_it_is_named() -> None:
    daemon = daemon_with()
    daemon.note(WorkspaceScanned("start", 1, 1))
    point = f"seq:{daemon.journal.head}"
    daemon.outside("f.txt", START.upper())
    daemon.outside("new", lines("n"))
    for args in ({}, {"from": point}, {"path": "new"}, {"last": 5}):
        assert daemon.call(UNDO_TOOL, daemon.ann, **args)["error"] == "not_found"
    assert daemon.call(ROLLBACK_TOOL, daemon.ann, to=point)["error"] == "not_found"


def test_a_file_that_was_made_and_then_moved_away_and_replaced_loses_only_what_was_made() -> None:
    daemon = MemoryDaemon()
    batch = daemon.write("new", lines("n"), daemon.ann)
    daemon.move("new", "kept", daemon.ben)
    daemon.write("new", lines("ben's"), daemon.ben)
    reply = daemon.call(UNDO_TOOL, daemon.ann, batch=batch)
    assert [f["path"] for f in reply["files"] if f["action"] == "delete"] == ["kept"]
    assert daemon.text("new") == lines("ben's")


def test_what_quires_own_setup_wrote_goes_only_where_it_is_named() -> None:
    daemon = daemon_with()
    quire = daemon.introduce(SETUP, "")
    written = daemon.write(".mcp.json", lines("{}"), quire)
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    plan = daemon.call(ROLLBACK_TOOL, daemon.ann, to="seq:3", writer="*", plan=True)
    assert [file["path"] for file in plan["files"]] == ["f.txt"]
    assert [(one["path"], one["why"]) for one in plan["left_out"]] == [(".mcp.json", "setup")]
    assert "What `quire setup` wrote stays (.mcp.json): `quire unsetup AGENT` takes it out." in plan["message"]
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="*", **{"from": "seq:3"})["ok"]
    assert daemon.text(".mcp.json") == lines("{}")
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="*", path=".mcp.json")["left_out"] == [written]
    assert daemon.call(UNDO_TOOL, daemon.ann, writer=SETUP)["ok"]
    assert daemon.text(".mcp.json") is None
