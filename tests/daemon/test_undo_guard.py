"""The guard of an undo: no line goes or comes back that the chosen batches do not account for; the rest is named."""

from __future__ import annotations

from typing import Any

from desk import Desk, lines
from undoings import START, desk_with, only_file

from quire_daemon.handlers.base import Who
from quire_daemon.handlers.undo import REDO_TOOL, RESTORE_TOOL, ROLLBACK_TOOL, UNDO_TOOL


def named(reply: dict[str, Any]) -> list[tuple[int, str]]:
    """The records that the conflicts of a reply name, and why."""
    return [(conflict["seq"], conflict["why"]) for file in reply["files"] for conflict in file["conflicts"]]


def put(desk: Desk, old: str, new: str, who: Who, path: str = "f.txt") -> int:
    """Replace a part of the text; the batch."""
    text = desk.text(path)
    assert text is not None
    assert text.count(old.encode()) == 1
    return desk.write(path, text.replace(old.encode(), new.encode()), who)


def test_an_undo_that_meets_a_conflict_does_not_bring_back_what_another_undo_took_away() -> None:
    desk = Desk()
    desk.write("f.txt", START, desk.ann)
    put(desk, "two", "TWO", desk.ann)
    bens = put(desk, "five\n", "", desk.ben)
    undone = desk.call(UNDO_TOOL, desk.ann)["batch"]
    before = desk.text("f.txt")
    reply = desk.call(UNDO_TOOL, desk.ben, writer="ann", last=1)
    assert reply["error"] == "conflict"
    assert desk.text("f.txt") == before
    assert {*named(reply)} == {(bens, "bytes"), (undone, "lines")}


def test_an_undo_that_meets_a_conflict_does_not_take_back_the_redo_of_somebody_else() -> None:
    desk = desk_with(lines("A", "S", "C", "D"))
    cyd = desk.introduce("cyd", "s9")
    edit = put(desk, "S", "T by cyd", cyd)
    outside = desk.outside("f.txt", lines("A", "T by cyd", "U", "C", "D"))
    desk.call(UNDO_TOOL, cyd, batch=edit)
    removed = put(desk, "U\n", "", cyd)
    redone = desk.call(REDO_TOOL, cyd)["batch"]
    reply = desk.call(UNDO_TOOL, desk.ann, batch=outside)
    assert desk.text("f.txt") == lines("A", "T by cyd", "C", "D")
    assert (reply["error"], {*named(reply)}) == ("conflict", {(removed, "lines"), (redone, "lines")})


def test_lines_that_somebody_typed_again_are_not_undone_with_whoever_wrote_them_first() -> None:
    desk = desk_with()
    cal = desk.introduce("cal", "s3")
    put(desk, "three\n", "three\nblock 1\nblock 2\n", desk.ann)
    put(desk, "block 1\nblock 2\n", "", desk.ben)
    again = put(desk, "three\n", "three\nblock 1\nblock 2\n", cal)
    before = desk.text("f.txt")
    reply = desk.call(UNDO_TOOL, desk.ben, writer="ann")
    assert (reply["error"], named(reply)) == ("conflict", [(again, "lines")])
    assert only_file(reply)["conflicts"][0]["lines"] == [{"start": 4, "end": 5}]
    assert only_file(reply)["conflicts"][0]["writer"]["agent"] == "cal"
    assert desk.text("f.txt") == before


def test_what_nobody_typed_again_is_undone_beside_what_somebody_did() -> None:
    desk = desk_with()
    mine = put(desk, "three\n", "three\nblock 1\nblock 2\n", desk.ann)
    put(desk, "two\n", "", desk.ben)
    put(desk, "block 1\n", "", desk.ben)
    again = put(desk, "block 2\n", "block 1\nblock 2\n", desk.ben)
    reply = desk.call(UNDO_TOOL, desk.ann)
    assert desk.text("f.txt") == lines("one", "three", "block 1", "four", "five", "six")
    assert (reply["batches"], named(reply)) == ([mine], [(again, "lines")])


def test_lines_that_the_undo_of_an_undo_brought_back_are_those_of_their_author() -> None:
    desk = desk_with()
    put(desk, "three\n", "three\nblock\n", desk.ann)
    put(desk, "block\n", "", desk.ben)
    desk.call(UNDO_TOOL, desk.ben)
    assert desk.call(UNDO_TOOL, desk.ann)["ok"]
    assert desk.text("f.txt") == START


def test_a_line_that_is_there_again_after_a_rollback_is_that_of_its_author() -> None:
    """Cal wrote the last line again while it was gone; the rollback takes cal's away and gives the first one back."""
    desk = desk_with(lines("one", "five", "six"))
    cal = desk.introduce("cal", "s3")
    point = desk.journal.head
    desk.delete("f.txt", cal)
    desk.write("f.txt", lines("seven", "five"), desk.ann)
    desk.outside("f.txt", lines("seven", "five", "nine"))
    gone = desk.call(ROLLBACK_TOOL, desk.ann, to=f"seq:{point + 1}", writer="*")["batch"]
    desk.write("f.txt", lines("ten", "six", "eleven"), cal)
    assert desk.call(ROLLBACK_TOOL, cal, to=f"seq:{point}", writer="cal")["ok"]
    assert desk.text("f.txt") == lines("one", "five", "six")
    reply = desk.call(UNDO_TOOL, desk.ann, batch=gone)
    assert b"six\n" in (desk.text("f.txt") or b""), reply


def test_a_line_of_a_file_that_was_made_again_is_not_the_one_that_went_with_it() -> None:
    """Cal's restore removed a line that Ann had typed into the new file, not the one that stood in the old."""
    desk = desk_with(lines("one", "five", "six"))
    cal = desk.introduce("cal", "s3")
    point = desk.outside("f.txt", lines("one", "five"))
    desk.outside("f.txt", lines("one", "five", "six", "seven"))
    desk.delete("f.txt", desk.ann)
    desk.write("f.txt", lines("ten", "six", "eleven"), desk.ann)
    desk.call(RESTORE_TOOL, cal, path="f.txt", at=f"seq:{point}")
    assert desk.call(UNDO_TOOL, desk.ann, writer="*", **{"from": f"seq:{point + 1}"})["ok"]
    assert desk.text("f.txt") == lines("one", "five", "six", "seven")
    put(desk, "one\n", "ONE\n", desk.ben)
    reply = desk.call(REDO_TOOL, cal, writer="cal", last=1)
    assert b"six\n" in (desk.text("f.txt") or b""), reply


def test_lines_that_another_program_brought_back_are_those_of_their_author() -> None:
    desk = desk_with()
    put(desk, "three\n", "three\nblock\n", desk.ann)
    put(desk, "block\n", "", desk.ben)
    desk.outside("f.txt", START.replace(b"three\n", b"three\nblock\n"))
    assert desk.call(UNDO_TOOL, desk.ann)["ok"]
    assert desk.text("f.txt") == START


def test_a_mode_that_somebody_gave_again_is_not_undone_with_whoever_gave_it_first() -> None:
    desk = desk_with()
    desk.chmod("f.txt", 0o755, desk.ann)
    desk.chmod("f.txt", 0o644, desk.ben)
    again = desk.chmod("f.txt", 0o755, desk.ben)
    reply = desk.call(UNDO_TOOL, desk.ann)
    assert (reply["error"], named(reply)) == ("conflict", [(again, "mode")])
    assert desk.files["f.txt"].mode == 0o755


def test_a_name_that_somebody_gave_again_is_not_undone_with_whoever_gave_it_first() -> None:
    desk = desk_with()
    desk.move("f.txt", "g.txt", desk.ann)
    desk.move("g.txt", "f.txt", desk.ben)
    again = desk.move("f.txt", "g.txt", desk.ben)
    reply = desk.call(UNDO_TOOL, desk.ann)
    assert (reply["error"], named(reply)) == ("conflict", [(again, "moved")])
    assert [*desk.files] == ["g.txt"]


def test_a_file_that_somebody_made_again_is_not_undone_with_whoever_made_it_first() -> None:
    for data in (START, b"", b"\0binary"):
        desk = Desk()
        desk.write("f.txt", data, desk.ann)
        desk.delete("f.txt", desk.ben)
        again = desk.write("f.txt", data, desk.ben)
        reply = desk.call(UNDO_TOOL, desk.ann)
        assert (reply["error"], named(reply)) == ("conflict", [(again, "occupied")])
        assert desk.text("f.txt") == data


def test_bytes_that_are_no_text_and_that_somebody_wrote_again_stay() -> None:
    desk = desk_with(b"\0one")
    desk.write("f.txt", b"\0two", desk.ann)
    desk.write("f.txt", b"\0one", desk.ben)
    again = desk.write("f.txt", b"\0two", desk.ben)
    reply = desk.call(UNDO_TOOL, desk.ann)
    assert (reply["error"], named(reply)) == ("conflict", [(again, "bytes")])
    assert desk.text("f.txt") == b"\0two"


def test_a_redo_of_one_work_does_not_bring_back_what_was_undone_with_it() -> None:
    desk = desk_with()
    put(desk, "three\n", "three\nann 1\nann 2\n", desk.ann)
    bens = put(desk, "ann 2\n", "ben\n", desk.ben)
    assert desk.call(UNDO_TOOL, desk.ann, writer="*", **{"from": f"seq:{desk.head_of('f.txt') - 2}"})["ok"]
    assert desk.text("f.txt") == START
    desk.call(REDO_TOOL, desk.ann, writer="ben", last=1)
    assert b"ann" not in (desk.text("f.txt") or b"")
    with desk.history() as history:
        assert history.undone_by(bens - 1) is not None


def test_a_rollback_leaves_what_somebody_else_typed_again() -> None:
    desk = desk_with()
    point = desk.journal.head
    put(desk, "three\n", "three\nblock\n", desk.ann)
    put(desk, "one\n", "ONE\n", desk.ann)
    put(desk, "block\n", "", desk.ben)
    again = put(desk, "three\n", "three\nblock\n", desk.ben)
    reply = desk.call(ROLLBACK_TOOL, desk.ann, to=f"seq:{point}")
    assert (reply["ok"], named(reply)) == (True, [(again, "lines")])
    assert desk.text("f.txt") == START.replace(b"three\n", b"three\nblock\n")


def test_markers_show_both_sides_of_what_somebody_typed_again() -> None:
    desk = desk_with()
    put(desk, "three\n", "3\n", desk.ann)
    put(desk, "3\n", "three\n", desk.ben)
    again = put(desk, "three\n", "3\n", desk.ben)
    assert desk.call(UNDO_TOOL, desk.ann, conflicts="markers")["ok"]
    marked = ["<<<<<<< undone by ann/s1", "three", "=======", "3", f">>>>>>> ben/s2 v{again}"]
    assert desk.text("f.txt") == lines("one", "two", *marked, "four", "five", "six")


def test_of_equal_lines_it_makes_no_difference_which_one_goes() -> None:
    """Ann's two lines end as Ben's do that stand above: what is removed may be told of either pair."""
    desk = desk_with(lines("begin", "end"))
    put(desk, "end\n", "a\n}\nend\n", desk.ben)
    put(desk, "}\n", "}\nb\n}\n", desk.ann)
    put(desk, "begin\n", "start\n", desk.ben)
    assert desk.call(UNDO_TOOL, desk.ann)["ok"]
    assert desk.text("f.txt") == lines("start", "a", "}", "end")
