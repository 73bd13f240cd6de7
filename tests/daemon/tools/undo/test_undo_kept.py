"""What others did to a file stays when one writer's work is undone, and what of it is in the way is named."""

from __future__ import annotations

from typing import Any

from undoings import START, daemon_with, only_file

from memory_daemon import MemoryDaemon, lines
from quire_daemon.tools.undo.tool import REDO_TOOL, UNDO_TOOL
from quire_journal.model.events import (
    BurstBegun,
    BytesGone,
    CaptureFailed,
    FileMoved,
    OutsideDeleted,
    OutsideWritten,
    WriteAttributed,
)
from quire_journal.model.ids import blob_id

BINARY, OTHER = b"\0one", b"\0two"


def undo(daemon: MemoryDaemon, **args: Any) -> dict[str, Any]:
    """Ann's work is undone."""
    return daemon.call(UNDO_TOOL, daemon.ann, writer="ann", **args)


def is_so_already(daemon: MemoryDaemon) -> bool:
    """Is nothing left to undo, nor in the way of it?"""
    reply = undo(daemon)
    return reply["error"] == "not_found" and "the files are like that already" in reply["message"]


def in_the_way(reply: dict[str, Any]) -> list[tuple[int, str]]:
    return [(one["seq"], one["why"]) for one in only_file(reply)["conflicts"]]


# ── bytes ────────────────────────────────────────────────────────────────────


def test_undo_keeps_a_created_file_if_others_changed_its_bytes() -> None:
    daemon = MemoryDaemon()
    daemon.write("f.txt", START, daemon.ann)
    daemon.chmod("f.txt", 0o755, daemon.ben)
    daemon.move("f.txt", "g.txt", daemon.ben)
    changed = daemon.write("g.txt", START + b"seven\n", daemon.ben)
    daemon.write("g.txt", START + b"seven\neight\n", daemon.ben)
    reply = undo(daemon)
    assert in_the_way(reply) == [(changed, "bytes")]
    assert daemon.text("g.txt") == START + b"seven\neight\n"


def test_bytes_that_others_only_moved_or_brought_back_are_in_nobodys_way() -> None:
    daemon = daemon_with(BINARY)
    daemon.write("f.txt", OTHER, daemon.ann)
    daemon.move("f.txt", "g.txt", daemon.ben)
    assert only_file(undo(daemon))["conflicts"] == []
    assert daemon.text("g.txt") == BINARY

    daemon = daemon_with(BINARY)
    daemon.write("f.txt", OTHER, daemon.ann)
    daemon.write("f.txt", BINARY, daemon.ben)
    daemon.chmod("f.txt", 0o755, daemon.ann)
    assert only_file(undo(daemon))["conflicts"] == []
    assert (daemon.text("f.txt"), daemon.mode("f.txt")) == (BINARY, 0o644)

    daemon = daemon_with(BINARY)
    daemon.chmod("f.txt", 0o755, daemon.ann)
    daemon.write("f.txt", OTHER, daemon.ben, mode=0o755)
    assert only_file(undo(daemon))["conflicts"] == []
    assert (daemon.text("f.txt"), daemon.mode("f.txt")) == (OTHER, 0o644)


def test_bytes_that_are_no_text_are_not_merged_and_the_first_change_of_them_is_named() -> None:
    for first, then, last in ((BINARY, OTHER, b"text\n"), (START, BINARY, b"text\n"), (START, b"text\n", BINARY)):
        daemon = daemon_with(first)
        daemon.write("f.txt", then, daemon.ann)
        daemon.chmod("f.txt", 0o755, daemon.ben)
        changed = daemon.write("f.txt", last, daemon.ben, mode=0o755)
        reply = undo(daemon, conflicts="skip")
        assert in_the_way(reply) == [(changed, "bytes")]
        assert daemon.text("f.txt") == last


# ── a file that went, or came ────────────────────────────────────────────────


def test_a_file_that_others_deleted_stays_deleted_and_the_deletion_is_named() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    daemon.write("f.txt", START.replace(b"two", b"TWO").replace(b"six", b"SIX"), daemon.ben)
    deleted = daemon.delete("f.txt", daemon.ben)
    assert in_the_way(undo(daemon)) == [(deleted, "deleted")]
    assert daemon.files == {}


def test_a_file_that_others_deleted_as_it_had_been_is_in_nobodys_way() -> None:
    daemon = daemon_with()
    daemon.chmod("f.txt", 0o755, daemon.ann)
    daemon.delete("f.txt", daemon.ben)
    assert is_so_already(daemon)

    daemon = MemoryDaemon()
    daemon.write("f.txt", START, daemon.ann)
    daemon.delete("f.txt", daemon.ben)
    assert is_so_already(daemon)


def test_a_file_comes_back_where_others_made_one_and_removed_it_again() -> None:
    daemon = daemon_with()
    daemon.delete("f.txt", daemon.ann)
    daemon.write("f.txt", lines("another"), daemon.ben)
    daemon.delete("f.txt", daemon.ben)
    assert only_file(undo(daemon))["conflicts"] == []
    assert daemon.text("f.txt") == START


def test_what_others_made_where_a_file_was_deleted_is_in_the_way_unless_it_is_the_same() -> None:
    daemon = daemon_with()
    daemon.delete("f.txt", daemon.ann)
    daemon.write("f.txt", START, daemon.ben)
    assert is_so_already(daemon)

    daemon = daemon_with()
    daemon.delete("f.txt", daemon.ann)
    made = daemon.write("f.txt", lines("another"), daemon.ben)
    daemon.write("f.txt", lines("another", "line"), daemon.ben)
    assert in_the_way(undo(daemon)) == [(made, "occupied")]
    assert daemon.text("f.txt") == lines("another", "line")


# ── names and modes ──────────────────────────────────────────────────────────


def test_a_name_and_a_mode_that_others_gave_stay_and_are_named() -> None:
    daemon = daemon_with()
    daemon.move("f.txt", "g.txt", daemon.ann)
    daemon.write("g.txt", START + b"seven\n", daemon.ben)
    moved = daemon.move("g.txt", "h.txt", daemon.ben)
    daemon.write("h.txt", START + b"seven\neight\n", daemon.ben)
    assert in_the_way(undo(daemon)) == [(moved, "moved")]
    assert daemon.text("h.txt") == START + b"seven\neight\n"

    daemon = daemon_with()
    daemon.chmod("f.txt", 0o755, daemon.ann)
    daemon.write("f.txt", START + b"seven\n", daemon.ben, mode=0o755)
    changed = daemon.chmod("f.txt", 0o700, daemon.ben)
    daemon.write("f.txt", START + b"seven\neight\n", daemon.ben, mode=0o700)
    assert in_the_way(undo(daemon)) == [(changed, "mode")]
    assert daemon.mode("f.txt") == 0o700


def test_a_name_and_a_mode_go_back_though_others_changed_the_text() -> None:
    daemon = daemon_with()
    daemon.move("f.txt", "g.txt", daemon.ann)
    daemon.chmod("g.txt", 0o755, daemon.ann)
    daemon.write("g.txt", START + b"seven\n", daemon.ben, mode=0o755)
    assert only_file(undo(daemon))["conflicts"] == []
    assert {path: (data, daemon.mode(path)) for path, data in daemon.files.items()} == {
        "f.txt": (START + b"seven\n", 0o644)
    }


def test_a_name_and_a_mode_restored_by_others_are_no_conflict() -> None:
    daemon = daemon_with()
    daemon.move("f.txt", "g.txt", daemon.ann)
    daemon.move("g.txt", "f.txt", daemon.ben)
    daemon.chmod("f.txt", 0o755, daemon.ann)
    daemon.chmod("f.txt", 0o644, daemon.ben)
    assert is_so_already(daemon)


# ── lines ────────────────────────────────────────────────────────────────────


def test_lines_in_the_way_are_told_and_marked_where_they_stand_now_and_not_where_they_did_then() -> None:
    """Ann worked on between what is in her way and what moved it."""
    daemon = daemon_with()
    text = START.replace(b"two", b"TWO")
    daemon.write("f.txt", text, daemon.ann)
    blocking = daemon.write("f.txt", text := text.replace(b"TWO", b"TWO by ben"), daemon.ben)
    daemon.write("f.txt", text := text.replace(b"six", b"SIX"), daemon.ann)
    daemon.write("f.txt", b"zero\n" + text, daemon.ben)
    plan = undo(daemon, conflicts="markers", plan=True)
    (conflict,) = only_file(plan)["conflicts"]
    assert (conflict["seq"], conflict["lines"]) == (blocking, [{"start": 3, "end": 3}])
    assert daemon.call(UNDO_TOOL, daemon.ann, token=plan["token"])["ok"]
    marked = ["<<<<<<< undone by ann/s1", "two", "=======", "TWO by ben", f">>>>>>> ben/s2 v{blocking}"]
    assert daemon.text("f.txt") == lines("zero", "one", *marked, "three", "four", "five", "six")


def test_lines_in_the_way_that_are_gone_by_now_are_told_without_a_place() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    blocking = daemon.write("f.txt", START.replace(b"two", b"TWO by ben"), daemon.ben)
    daemon.write("f.txt", START.replace(b"two", b"TWO by ben").replace(b"six", b"SIX"), daemon.ann)
    daemon.write("f.txt", START.replace(b"two\n", b"").replace(b"six", b"SIX"), daemon.ben)
    (conflict,) = only_file(undo(daemon))["conflicts"]
    assert (conflict["seq"], conflict["lines"]) == (blocking, [])
    assert daemon.text("f.txt") == START.replace(b"two\n", b"")


def test_of_changes_in_the_way_the_first_is_named_that_was_not_taken_back() -> None:
    daemon = daemon_with()
    twos = START.replace(b"two", b"TWO")
    daemon.write("f.txt", twos, daemon.ann)
    daemon.write("f.txt", twos.replace(b"TWO", b"TWO by ben"), daemon.ben)
    daemon.write("f.txt", twos, daemon.ben)
    named = daemon.write("f.txt", twos.replace(b"TWO", b"2"), daemon.ben)
    daemon.write("f.txt", twos.replace(b"TWO", b"zwei"), daemon.ben)
    daemon.delete("f.txt", daemon.ben)  # which is not the way to take it back
    daemon.write("f.txt", twos.replace(b"TWO", b"deux"), daemon.ben)
    assert in_the_way(undo(daemon)) == [(named, "lines")]


def test_where_nothing_of_the_text_is_left_what_was_made_anew_is_in_the_way() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    daemon.write("f.txt", START.replace(b"two", b"TWO").replace(b"six", b"SIX"), daemon.ben)
    daemon.delete("f.txt", daemon.ben)
    made = daemon.write("f.txt", lines("another"), daemon.ben)
    daemon.write("f.txt", lines("another", "line"), daemon.ben)
    assert in_the_way(undo(daemon)) == [(made, "occupied")]
    assert daemon.text("f.txt") == lines("another", "line")


# ── how the journal saw it first ─────────────────────────────────────────────


def test_a_file_is_not_removed_that_was_there_before_the_journal_saw_it() -> None:
    """What was done to it since is undone, and the rest is told."""
    daemon = MemoryDaemon()
    first = daemon.note(OutsideWritten("f.txt", blob_id(START), len(START), 0o644, "scanned"), blobs=(START,))
    daemon.files["f.txt"] = START
    nothing = daemon.call(UNDO_TOOL, daemon.ann, writer="outside")
    assert only_file(nothing)["skipped"] == "creation_not_seen"
    daemon.outside("f.txt", START + b"seven\n")
    daemon.outside("f.txt", START)
    nothing = daemon.call(UNDO_TOOL, daemon.ann, writer="outside")
    assert only_file(nothing)["skipped"] == "creation_not_seen"
    daemon.outside("f.txt", START + b"seven\neight\n")
    reply = daemon.call(UNDO_TOOL, daemon.ann, writer="outside")
    assert (reply["ok"], only_file(reply)["first_seen"]["version"]) == (True, f"v{first}")
    assert daemon.text("f.txt") == START


def test_a_file_that_came_and_went_unseen_needs_no_undo() -> None:
    daemon = MemoryDaemon()
    daemon.note(OutsideWritten("f.txt", blob_id(START), len(START), 0o644, "scanned"), blobs=(START,))
    daemon.note(OutsideDeleted("f.txt", "watched"))
    entry = only_file(daemon.call(UNDO_TOOL, daemon.ann, writer="outside"))
    assert entry.get("skipped") != "creation_not_seen"


def test_a_file_whose_bytes_the_journal_was_not_to_hold_stays() -> None:
    daemon = MemoryDaemon()
    daemon.note(CaptureFailed("f.txt", "secret", 4, blob_id(b"key\n"), 0o600))
    daemon.files["f.txt"] = START
    daemon.write("f.txt", START, daemon.ann)
    reply = undo(daemon)
    assert only_file(reply)["skipped"] == "uncaptured"
    assert "f.txt (its bytes were never kept (secret))" in reply["message"]
    assert daemon.text("f.txt") == START


def test_what_became_of_bytes_is_told_that_are_needed_for_the_work_of_others_to_stay() -> None:
    daemon = daemon_with()
    twos = START.replace(b"two", b"TWO")
    daemon.write("f.txt", twos, daemon.ann)
    bens = daemon.write("f.txt", twos.replace(b"six", b"SIX"), daemon.ben)
    daemon.note(BytesGone((blob_id(START),), "purged", ("f.txt",)))
    daemon.lose(START)
    reply = undo(daemon)
    assert only_file(reply)["skipped"] == "uncaptured"
    assert [kept["version"] for kept in only_file(reply)["kept"]] == [f"v{bens}"]
    assert "f.txt (its bytes were purged on 2023-11-14)" in reply["message"]


def test_what_came_back_under_another_name_goes_again_though_another_file_stands_at_its_own() -> None:
    daemon = daemon_with()
    gone = daemon.delete("f.txt", daemon.ben)
    daemon.write("f.txt", lines("another"), daemon.ben)
    came = FileMoved("f.txt", "g.txt", blob_id(START), len(START), 0o644, gone)
    back = daemon.note(came, who=daemon.ann)
    daemon.files["g.txt"] = START
    assert daemon.call(UNDO_TOOL, daemon.ann, batch=back)["ok"]
    assert dict(daemon.files) == {"f.txt": lines("another")}


def test_each_of_several_who_built_on_the_same_change_is_named_with_their_lines() -> None:
    daemon = daemon_with()
    added = ["L1", "L2", "L3"]
    daemon.write("f.txt", START + lines(*added), daemon.ann)
    added[2] = "L3 by ben"
    ben = daemon.write("f.txt", START + lines(*added), daemon.ben)
    added[0] = "L1 by a person"
    person = daemon.outside("f.txt", START + lines(*added))
    added[1] = "L2 by a person"
    next_to_bens = daemon.outside("f.txt", START + lines(*added))
    plan = daemon.call(UNDO_TOOL, daemon.who("max"), writer="ann", plan=True)
    names = f"outside (v{person}), outside (v{next_to_bens}), ben/s2 (v{ben}) built on it; nothing was changed."
    assert names in plan["message"]
    (file,) = plan["files"]
    found = {one["seq"]: one["lines"] for one in file["conflicts"]}
    assert found == {
        person: [{"start": 7, "end": 7}],
        next_to_bens: [{"start": 8, "end": 8}],
        ben: [{"start": 9, "end": 9}],
    }


def added_within(daemon: MemoryDaemon) -> None:
    """Ann adds a block to the file, Ben a line in it, and Ann changes the block behind his line."""
    block = ["def f():", "    1", "", "def g():", "    2"]
    daemon.write("f.txt", START + lines(*block), daemon.ann)
    block.insert(2, "    ben")
    daemon.write("f.txt", START + lines(*block), daemon.ben)
    block[-1] = "    3"
    daemon.write("f.txt", START + lines(*block), daemon.ann)


def test_of_an_added_block_the_lines_that_others_inserted_stay() -> None:
    daemon = daemon_with()
    added_within(daemon)
    before = daemon.text("f.txt")
    assert in_the_way(undo(daemon)) == []
    assert daemon.text("f.txt") == START + lines("    ben")
    assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
    assert daemon.text("f.txt") == before


def test_of_a_created_file_that_stays_only_others_are_named_though_its_writer_changed_it_again() -> None:
    daemon = MemoryDaemon()
    daemon.write("f.txt", lines(*"abcdefg"), daemon.ann)
    bens = daemon.write("f.txt", lines("a", "b", "ben", *"cdefg"), daemon.ben)
    daemon.write("f.txt", lines("a", "b", "ben", *"cdeFg"), daemon.ann)
    daemon.outside("f.txt", lines("a", "b", "ben", *"cdeFg", "mine"))
    assert in_the_way(undo(daemon)) == [(bens, "bytes")]
    assert daemon.text("f.txt") == lines("a", "b", "ben", *"cdeFg", "mine")


def test_of_an_added_block_the_lines_that_others_replaced_stay_and_are_named() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START + lines(*"abcd"), daemon.ann)
    bens = daemon.write("f.txt", START + lines(*"aBcd"), daemon.ben)
    daemon.write("f.txt", START + lines(*"aBcD"), daemon.ann)
    assert in_the_way(undo(daemon)) == [(bens, "lines")]
    assert daemon.text("f.txt") == START + lines("B")


def test_a_writer_whose_work_is_undone_is_never_named_as_in_the_way_of_it() -> None:
    daemon = daemon_with(lines(*"abcz"))
    daemon.write("f.txt", lines(*"aBCDEz"), daemon.ann)
    bens = daemon.write("f.txt", lines(*"aBCDxEz"), daemon.ben)
    daemon.write("f.txt", lines(*"aBCDxFz"), daemon.ann)
    assert in_the_way(undo(daemon)) == [(bens, "lines")]


def test_each_writer_whose_work_stays_is_told_also_among_many_versions() -> None:
    daemon = daemon_with(START)
    daemon.write("f.txt", START + b"ann's\n", daemon.ann)
    data = START.replace(b"one\n", b"ben's\n") + b"ann's\n"
    daemon.write("f.txt", data, daemon.ben)
    for number in range(30):
        daemon.write("f.txt", data.replace(b"two\n", b"max %d\n" % number), daemon.who("max"))
    file = only_file(undo(daemon, plan=True))
    assert {one["writer"]["agent"] for one in file["kept"]} == {"ben", "max"}
    assert (len(file["kept"]), file["kept_more"]) == (20, 11)


def test_a_conflict_names_each_line_with_the_record_that_made_it() -> None:
    """A line that ben had put behind one that was replaced was told as of the program that replaced it."""
    daemon = MemoryDaemon()
    daemon.outside("f.txt", lines("a", "b"))
    daemon.write("f.txt", lines("a", "b", "ann's"), daemon.ann)
    bens = daemon.write("f.txt", lines("a", "b", "ann's", "ben's"), daemon.ben)
    saved = daemon.outside("f.txt", lines("a", "b", "theirs", "ben's"))
    (file,) = daemon.ask("undo", {"writer": "ann", "plan": True}, daemon.ben)["files"]
    found = {one["seq"]: one["lines"] for one in file["conflicts"]}
    assert found == {saved: [{"start": 3, "end": 3}], bens: [{"start": 4, "end": 4}]}


def test_a_conflict_with_a_run_names_the_burst_that_an_undo_of_takes_out_of_the_way() -> None:
    daemon = MemoryDaemon()
    daemon.outside("f.txt", lines("a"))
    daemon.write("f.txt", lines("a", "ann's( )"), daemon.ann)
    burst = daemon.note(BurstBegun("black f.txt", "run", 1 << 62, True, command="black f.txt"), who=daemon.ben)
    made = daemon.outside("f.txt", lines("a", "ann's()"))
    daemon.note(WriteAttributed((made,), daemon.ben.writer, "traced", burst), who=daemon.ben)
    (file,) = daemon.ask("undo", {"writer": "ann", "plan": True}, daemon.ben)["files"]
    assert [one["run"] for one in file["conflicts"]] == [burst]
    assert daemon.ask("undo", {"burst": burst}, daemon.ben)["ok"]
    assert daemon.ask("undo", {"writer": "ann"}, daemon.ben)["ok"]
    assert daemon.text("f.txt") == lines("a")
