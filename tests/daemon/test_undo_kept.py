"""What others did to a file stays when one writer's work is undone, and what of it is in the way is named."""

from __future__ import annotations

from typing import Any

from desk import Desk, lines
from undoings import START, desk_with, only_file

from quire_daemon.handlers.undo import UNDO_TOOL
from quire_journal import blobs
from quire_journal.events import BytesGone, CaptureFailed, FileMoved, OutsideDeleted, OutsideWritten
from quire_journal.ids import blob_id

BINARY, OTHER = b"\0one", b"\0two"


def undo(desk: Desk, **args: Any) -> dict[str, Any]:
    """Ann's work is undone."""
    return desk.call(UNDO_TOOL, desk.ann, writer="ann", **args)


def is_so_already(desk: Desk) -> bool:
    """Is nothing left to undo, nor in the way of it?"""
    reply = undo(desk)
    return reply["error"] == "not_found" and "the files are like that already" in reply["message"]


def in_the_way(reply: dict[str, Any]) -> list[tuple[int, str]]:
    return [(one["seq"], one["why"]) for one in only_file(reply)["conflicts"]]


# ── bytes ────────────────────────────────────────────────────────────────────


def test_of_what_others_did_to_a_file_that_was_made_the_change_of_its_bytes_keeps_it() -> None:
    desk = Desk()
    desk.write("f.txt", START, desk.ann)
    desk.chmod("f.txt", 0o755, desk.ben)
    desk.move("f.txt", "g.txt", desk.ben)
    changed = desk.write("g.txt", START + b"seven\n", desk.ben)
    desk.write("g.txt", START + b"seven\neight\n", desk.ben)
    reply = undo(desk)
    assert in_the_way(reply) == [(changed, "bytes")]
    assert desk.text("g.txt") == START + b"seven\neight\n"


def test_bytes_that_others_only_moved_or_brought_back_are_in_nobodys_way() -> None:
    desk = desk_with(BINARY)
    desk.write("f.txt", OTHER, desk.ann)
    desk.move("f.txt", "g.txt", desk.ben)
    assert only_file(undo(desk))["conflicts"] == []
    assert desk.text("g.txt") == BINARY

    desk = desk_with(BINARY)
    desk.write("f.txt", OTHER, desk.ann)
    desk.write("f.txt", BINARY, desk.ben)
    desk.chmod("f.txt", 0o755, desk.ann)
    assert only_file(undo(desk))["conflicts"] == []
    assert (desk.text("f.txt"), desk.files["f.txt"].mode) == (BINARY, 0o644)

    desk = desk_with(BINARY)
    desk.chmod("f.txt", 0o755, desk.ann)
    desk.write("f.txt", OTHER, desk.ben, mode=0o755)
    assert only_file(undo(desk))["conflicts"] == []
    assert (desk.text("f.txt"), desk.files["f.txt"].mode) == (OTHER, 0o644)


def test_bytes_that_are_no_text_are_not_merged_and_the_first_change_of_them_is_named() -> None:
    for first, then, last in ((BINARY, OTHER, b"text\n"), (START, BINARY, b"text\n"), (START, b"text\n", BINARY)):
        desk = desk_with(first)
        desk.write("f.txt", then, desk.ann)
        desk.chmod("f.txt", 0o755, desk.ben)
        changed = desk.write("f.txt", last, desk.ben, mode=0o755)
        reply = undo(desk, conflicts="skip")
        assert in_the_way(reply) == [(changed, "bytes")]
        assert desk.text("f.txt") == last


# ── a file that went, or came ────────────────────────────────────────────────


def test_a_file_that_others_deleted_stays_deleted_and_the_deletion_is_named() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.write("f.txt", START.replace(b"two", b"TWO").replace(b"six", b"SIX"), desk.ben)
    deleted = desk.delete("f.txt", desk.ben)
    assert in_the_way(undo(desk)) == [(deleted, "deleted")]
    assert desk.files == {}


def test_a_file_that_others_deleted_as_it_had_been_is_in_nobodys_way() -> None:
    desk = desk_with()
    desk.chmod("f.txt", 0o755, desk.ann)
    desk.delete("f.txt", desk.ben)
    assert is_so_already(desk)

    desk = Desk()
    desk.write("f.txt", START, desk.ann)
    desk.delete("f.txt", desk.ben)
    assert is_so_already(desk)


def test_a_file_comes_back_where_others_made_one_and_removed_it_again() -> None:
    desk = desk_with()
    desk.delete("f.txt", desk.ann)
    desk.write("f.txt", lines("another"), desk.ben)
    desk.delete("f.txt", desk.ben)
    assert only_file(undo(desk))["conflicts"] == []
    assert desk.text("f.txt") == START


def test_what_others_made_where_a_file_was_deleted_is_in_the_way_unless_it_is_the_same() -> None:
    desk = desk_with()
    desk.delete("f.txt", desk.ann)
    desk.write("f.txt", START, desk.ben)
    assert is_so_already(desk)

    desk = desk_with()
    desk.delete("f.txt", desk.ann)
    made = desk.write("f.txt", lines("another"), desk.ben)
    desk.write("f.txt", lines("another", "line"), desk.ben)
    assert in_the_way(undo(desk)) == [(made, "occupied")]
    assert desk.text("f.txt") == lines("another", "line")


# ── names and modes ──────────────────────────────────────────────────────────


def test_a_name_and_a_mode_that_others_gave_stay_and_are_named() -> None:
    desk = desk_with()
    desk.move("f.txt", "g.txt", desk.ann)
    desk.write("g.txt", START + b"seven\n", desk.ben)
    moved = desk.move("g.txt", "h.txt", desk.ben)
    desk.write("h.txt", START + b"seven\neight\n", desk.ben)
    assert in_the_way(undo(desk)) == [(moved, "moved")]
    assert desk.text("h.txt") == START + b"seven\neight\n"

    desk = desk_with()
    desk.chmod("f.txt", 0o755, desk.ann)
    desk.write("f.txt", START + b"seven\n", desk.ben, mode=0o755)
    changed = desk.chmod("f.txt", 0o700, desk.ben)
    desk.write("f.txt", START + b"seven\neight\n", desk.ben, mode=0o700)
    assert in_the_way(undo(desk)) == [(changed, "mode")]
    assert desk.files["f.txt"].mode == 0o700


def test_a_name_and_a_mode_go_back_though_others_changed_the_text() -> None:
    desk = desk_with()
    desk.move("f.txt", "g.txt", desk.ann)
    desk.chmod("g.txt", 0o755, desk.ann)
    desk.write("g.txt", START + b"seven\n", desk.ben, mode=0o755)
    assert only_file(undo(desk))["conflicts"] == []
    assert {path: (lying.data, lying.mode) for path, lying in desk.files.items()} == {
        "f.txt": (START + b"seven\n", 0o644)
    }


def test_a_name_that_others_gave_back_and_a_mode_that_they_had_given_before_are_in_nobodys_way() -> None:
    desk = desk_with()
    desk.move("f.txt", "g.txt", desk.ann)
    desk.move("g.txt", "f.txt", desk.ben)
    desk.chmod("f.txt", 0o755, desk.ann)
    desk.chmod("f.txt", 0o644, desk.ben)
    assert is_so_already(desk)


# ── lines ────────────────────────────────────────────────────────────────────


def test_lines_in_the_way_are_told_and_marked_where_they_stand_now_and_not_where_they_did_then() -> None:
    """Ann worked on between what is in her way and what moved it."""
    desk = desk_with()
    text = START.replace(b"two", b"TWO")
    desk.write("f.txt", text, desk.ann)
    blocking = desk.write("f.txt", text := text.replace(b"TWO", b"TWO by ben"), desk.ben)
    desk.write("f.txt", text := text.replace(b"six", b"SIX"), desk.ann)
    desk.write("f.txt", b"zero\n" + text, desk.ben)
    plan = undo(desk, conflicts="markers", plan=True)
    (conflict,) = only_file(plan)["conflicts"]
    assert (conflict["seq"], conflict["lines"]) == (blocking, [{"start": 3, "end": 3}])
    assert desk.call(UNDO_TOOL, desk.ann, token=plan["token"])["ok"]
    marked = ["<<<<<<< undone by ann/s1", "two", "=======", "TWO by ben", f">>>>>>> ben/s2 v{blocking}"]
    assert desk.text("f.txt") == lines("zero", "one", *marked, "three", "four", "five", "six")


def test_lines_in_the_way_that_are_gone_by_now_are_told_without_a_place() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    blocking = desk.write("f.txt", START.replace(b"two", b"TWO by ben"), desk.ben)
    desk.write("f.txt", START.replace(b"two", b"TWO by ben").replace(b"six", b"SIX"), desk.ann)
    desk.write("f.txt", START.replace(b"two\n", b"").replace(b"six", b"SIX"), desk.ben)
    (conflict,) = only_file(undo(desk))["conflicts"]
    assert (conflict["seq"], conflict["lines"]) == (blocking, [])
    assert desk.text("f.txt") == START.replace(b"two\n", b"")


def test_of_changes_in_the_way_the_first_is_named_that_was_not_taken_back() -> None:
    desk = desk_with()
    twos = START.replace(b"two", b"TWO")
    desk.write("f.txt", twos, desk.ann)
    desk.write("f.txt", twos.replace(b"TWO", b"TWO by ben"), desk.ben)
    desk.write("f.txt", twos, desk.ben)
    named = desk.write("f.txt", twos.replace(b"TWO", b"2"), desk.ben)
    desk.write("f.txt", twos.replace(b"TWO", b"zwei"), desk.ben)
    desk.delete("f.txt", desk.ben)  # which is not the way to take it back
    desk.write("f.txt", twos.replace(b"TWO", b"deux"), desk.ben)
    assert in_the_way(undo(desk)) == [(named, "lines")]


def test_where_nothing_of_the_text_is_left_what_was_made_anew_is_in_the_way() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.write("f.txt", START.replace(b"two", b"TWO").replace(b"six", b"SIX"), desk.ben)
    desk.delete("f.txt", desk.ben)
    made = desk.write("f.txt", lines("another"), desk.ben)
    desk.write("f.txt", lines("another", "line"), desk.ben)
    assert in_the_way(undo(desk)) == [(made, "occupied")]
    assert desk.text("f.txt") == lines("another", "line")


# ── how the journal saw it first ─────────────────────────────────────────────


def test_a_file_is_not_removed_that_was_there_before_the_journal_saw_it() -> None:
    """What was done to it since is undone, and the rest is told."""
    desk = Desk()
    first = desk.note(OutsideWritten("f.txt", blob_id(START), len(START), 0o644, "scanned"), blobs=(START,))
    desk.files["f.txt"] = desk_with().files["f.txt"]
    nothing = desk.call(UNDO_TOOL, desk.ann, writer="outside")
    assert only_file(nothing)["skipped"] == "creation_not_seen"
    desk.outside("f.txt", START + b"seven\n")
    desk.outside("f.txt", START)
    nothing = desk.call(UNDO_TOOL, desk.ann, writer="outside")
    assert only_file(nothing)["skipped"] == "creation_not_seen"
    desk.outside("f.txt", START + b"seven\neight\n")
    reply = desk.call(UNDO_TOOL, desk.ann, writer="outside")
    assert (reply["ok"], only_file(reply)["first_seen"]["version"]) == (True, f"v{first}")
    assert desk.text("f.txt") == START


def test_a_file_that_came_and_went_unseen_needs_no_undo() -> None:
    desk = Desk()
    desk.note(OutsideWritten("f.txt", blob_id(START), len(START), 0o644, "scanned"), blobs=(START,))
    desk.note(OutsideDeleted("f.txt", "watched"))
    entry = only_file(desk.call(UNDO_TOOL, desk.ann, writer="outside"))
    assert entry.get("skipped") != "creation_not_seen"


def test_a_file_whose_bytes_the_journal_was_not_to_hold_stays() -> None:
    desk = Desk()
    desk.note(CaptureFailed("f.txt", "secret", 4, blob_id(b"key\n"), 0o600))
    desk.files["f.txt"] = desk_with().files["f.txt"]
    desk.write("f.txt", START, desk.ann)
    reply = undo(desk)
    assert only_file(reply)["skipped"] == "uncaptured"
    assert "f.txt (its bytes were never kept (secret))" in reply["message"]
    assert desk.text("f.txt") == START


def test_what_became_of_bytes_is_told_that_are_needed_for_the_work_of_others_to_stay() -> None:
    desk = desk_with()
    twos = START.replace(b"two", b"TWO")
    desk.write("f.txt", twos, desk.ann)
    bens = desk.write("f.txt", twos.replace(b"six", b"SIX"), desk.ben)
    desk.note(BytesGone((blob_id(START),), "purged", ("f.txt",)))
    with desk.journal.store.writing() as w:
        blobs.drop(w, blob_id(START))
    reply = undo(desk)
    assert only_file(reply)["skipped"] == "uncaptured"
    assert [kept["version"] for kept in only_file(reply)["kept"]] == [f"v{bens}"]
    assert "f.txt (its bytes were purged on 2023-11-14)" in reply["message"]


def test_what_came_back_under_another_name_goes_again_though_another_file_stands_at_its_own() -> None:
    desk = desk_with()
    gone = desk.delete("f.txt", desk.ben)
    desk.write("f.txt", lines("another"), desk.ben)
    came = FileMoved("f.txt", "g.txt", blob_id(START), len(START), 0o644, gone)
    back = desk.note(came, who=desk.ann)
    desk.files["g.txt"] = desk_with().files["f.txt"]
    assert desk.call(UNDO_TOOL, desk.ann, batch=back)["ok"]
    assert {path: lying.data for path, lying in desk.files.items()} == {"f.txt": lines("another")}
