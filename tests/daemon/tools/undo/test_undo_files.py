"""Undo of files that came, went or moved, and of bytes that are not there."""

from __future__ import annotations

from undoings import START, daemon_with, only_file

from memory_daemon import BEGAN_NS, MemoryDaemon, lines
from quire_daemon.config.settings import CaptureSettings, Settings
from quire_daemon.tools.undo.tool import REDO_TOOL, RESTORE_TOOL, UNDO_TOOL
from quire_journal.journal import NewRecord
from quire_journal.model.events import BytesGone, CaptureFailed
from quire_journal.model.ids import BatchId, WriterId, blob_id
from quire_journal.model.uncaptured import IGNORED


def test_a_creation_is_removed_while_its_bytes_are_unchanged() -> None:
    daemon = MemoryDaemon()
    daemon.write("new", lines("n"), daemon.ann)
    reply = daemon.call(UNDO_TOOL, daemon.ann)
    assert only_file(reply)["action"] == "delete"
    assert daemon.text("new") is None


def test_a_creation_that_others_changed_stays() -> None:
    daemon = MemoryDaemon()
    daemon.write("new", lines("n"), daemon.ann)
    later = daemon.write("new", lines("n", "more"), daemon.ben)
    refused = daemon.call(UNDO_TOOL, daemon.ann)
    assert refused["error"] == "conflict"
    assert [c["seq"] for c in only_file(refused)["conflicts"]] == [later]
    assert daemon.text("new") == lines("n", "more")


def test_a_deletion_is_taken_back_where_nothing_stands() -> None:
    daemon = daemon_with()
    daemon.delete("f.txt", daemon.ann)
    assert only_file(daemon.call(UNDO_TOOL, daemon.ann))["action"] == "create"
    assert daemon.text("f.txt") == START


def test_a_deletion_is_not_taken_back_over_something_new() -> None:
    daemon = daemon_with()
    daemon.delete("f.txt", daemon.ann)
    daemon.outside("f.txt", lines("other"))
    refused = daemon.call(UNDO_TOOL, daemon.ann)
    assert refused["error"] == "conflict"
    assert [c["why"] for c in only_file(refused)["conflicts"]] == ["occupied"]
    assert daemon.text("f.txt") == lines("other")


def test_an_edit_of_a_file_that_others_deleted_is_a_conflict() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    daemon.outside_deletes("f.txt")
    assert daemon.call(UNDO_TOOL, daemon.ann)["error"] == "conflict"
    assert daemon.text("f.txt") is None


def test_a_move_is_moved_back_with_what_others_wrote_there() -> None:
    daemon = daemon_with()
    daemon.move("f.txt", "g.txt", daemon.ann)
    daemon.write("g.txt", START.replace(b"six", b"SIX"), daemon.ben)
    reply = daemon.call(UNDO_TOOL, daemon.ann)
    assert (only_file(reply)["action"], only_file(reply)["to"]) == ("move", "f.txt")
    assert (daemon.text("f.txt"), daemon.text("g.txt")) == (START.replace(b"six", b"SIX"), None)


def test_a_move_is_not_moved_back_over_something_new() -> None:
    daemon = daemon_with()
    daemon.move("f.txt", "g.txt", daemon.ann)
    standing = daemon.write("f.txt", lines("new"), daemon.ben)
    refused = daemon.call(UNDO_TOOL, daemon.ann)
    assert refused["error"] == "conflict"
    assert [c["seq"] for c in only_file(refused)["conflicts"]] == [standing]
    assert (daemon.text("f.txt"), daemon.text("g.txt")) == (lines("new"), START)


def test_an_edit_is_undone_where_others_moved_the_file() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    daemon.move("f.txt", "g.txt", daemon.ben)
    assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
    assert (daemon.text("f.txt"), daemon.text("g.txt")) == (None, START)
    assert daemon.call(UNDO_TOOL, daemon.ann)["error"] == "not_found"


def test_a_plan_says_what_a_file_was_called_when_it_was_changed() -> None:
    """Somebody who takes back what was done to `f.txt` reads of `g.txt`, of which nobody spoke."""
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    daemon.write("new", lines("n"), daemon.ann)
    daemon.move("f.txt", "g.txt", daemon.ben)
    planned = daemon.call(UNDO_TOOL, daemon.ann, last=2, plan=True)
    assert {file["path"]: file.get("was") for file in planned["files"]} == {"g.txt": "f.txt", "new": None}
    daemon.move("new", "newer", daemon.ann)
    files = daemon.call(UNDO_TOOL, daemon.ann, last=2, plan=True)["files"]
    assert [(file["path"], file["action"], file.get("was")) for file in files] == [("newer", "delete", "new")]


def test_an_edit_and_a_move_come_back_together_and_go_again() -> None:
    """In one record, as an edit that renames is one."""
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    daemon.move("f.txt", "g.txt", daemon.ann)
    undone = daemon.call(UNDO_TOOL, daemon.ann, last=2)
    with daemon.history() as history:
        kinds = [record.kind for record in history.batch(undone["batch"])]
    assert kinds == ["file_moved", "read_served", "batch_undone"]
    assert (daemon.text("f.txt"), daemon.text("g.txt")) == (START, None)
    assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
    assert (daemon.text("f.txt"), daemon.text("g.txt")) == (None, START.replace(b"two", b"TWO"))


def test_permission_bits_come_back_without_touching_bytes_of_others() -> None:
    daemon = daemon_with()
    daemon.chmod("f.txt", 0o755, daemon.ann)
    daemon.write("f.txt", START.replace(b"six", b"SIX"), daemon.ben, mode=0o755)
    assert only_file(daemon.call(UNDO_TOOL, daemon.ann))["action"] == "mode"
    assert daemon.mode("f.txt") == 0o644
    assert daemon.text("f.txt") == START.replace(b"six", b"SIX")


def test_a_binary_file_comes_back_whole_or_not_at_all() -> None:
    daemon = daemon_with(b"\0one")
    daemon.write("f.txt", b"\0two", daemon.ann)
    assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
    assert daemon.text("f.txt") == b"\0one"
    daemon.call(REDO_TOOL, daemon.ann)
    daemon.outside("f.txt", b"\0three")
    assert daemon.call(UNDO_TOOL, daemon.ann)["error"] == "conflict"


def test_bytes_that_were_never_captured_cannot_come_back_and_that_is_said() -> None:
    daemon = MemoryDaemon()
    daemon.note(CaptureFailed("big", "too_large", 1 << 40, mode=0o644))
    daemon.write("big", lines("small now"), daemon.ann)
    refused = daemon.call(UNDO_TOOL, daemon.ann)
    assert refused["error"] == "uncaptured"
    assert only_file(refused)["skipped"] == "uncaptured"


def test_a_file_that_a_rule_ignores_from_now_on_is_no_save_to_take_back() -> None:
    """A line in .git/info/exclude was the newest save of another program, and its undo was refused."""
    daemon = daemon_with()
    daemon.outside("settings.json", b"{}\n")
    daemon.outside("f.txt", START.replace(b"two", b"TWO"))
    daemon.note(CaptureFailed("settings.json", IGNORED, evidence="scanned"))
    reply = daemon.call(UNDO_TOOL, daemon.ann, writer="outside", last=1)
    assert reply["ok"], reply
    assert (daemon.text("f.txt"), daemon.text("settings.json")) == (START, b"{}\n")


def test_an_undo_does_not_overwrite_bytes_that_are_not_in_the_journal() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    daemon.settings = Settings(capture=CaptureSettings(max_bytes=10))
    daemon.save("f.txt", b"x" * 11)
    assert daemon.call(UNDO_TOOL, daemon.ann)["error"] == "uncaptured"
    assert daemon.call(RESTORE_TOOL, daemon.ann, path="f.txt", at="v3")["error"] == "uncaptured"


def test_a_restore_or_an_undo_to_dropped_bytes_names_the_file_what_became_of_them_and_what_to_do() -> None:
    daemon = daemon_with()
    daemon.outside("g.txt", lines("kept"))
    then = daemon.journal.head
    daemon.write_all({"f.txt": lines("new"), "g.txt": lines("new")}, daemon.ann)
    old = blob_id(START)
    gone = NewRecord(BytesGone((old,), "dropped", ("f.txt",)), WriterId(0), BEGAN_NS, BatchId(daemon.journal.head + 1))
    daemon.journal.append([gone], dropped=[old])

    refused = daemon.call(RESTORE_TOOL, daemon.ann, path="f.txt", at=f"seq:{then}")
    assert refused["error"] == "uncaptured"
    assert "f.txt (its bytes were dropped by retention on 2" in refused["message"]
    assert "`quire log f.txt`" in refused["message"]
    assert "dropped by retention on 2" in only_file(refused)["why"]

    done = daemon.call(RESTORE_TOOL, daemon.ann, path=".", at=f"seq:{then}")
    assert daemon.text("g.txt") == lines("kept")
    assert "Restored 1 file; 1 file left alone, for bytes that the journal does not hold: f.txt (" in done["message"]

    refused = daemon.call(UNDO_TOOL, daemon.ann, path="f.txt")
    assert refused["error"] == "uncaptured"
    assert "f.txt (its bytes were dropped by retention on 2" in refused["message"]
    assert "allow_uncaptured" not in refused["message"]
