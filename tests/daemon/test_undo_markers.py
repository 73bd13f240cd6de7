"""Conflict markers: an undo that writes both sides where others built on the undone lines."""

from __future__ import annotations

from desk import lines
from undoings import START, built_on, desk_with, only_file

from quire_daemon.handlers.undo import REDO_TOOL, UNDO_TOOL


def test_markers_write_both_sides_where_others_built_on_the_undone_lines() -> None:
    desk = desk_with()
    both, blocking = built_on(desk)
    plan = desk.call(UNDO_TOOL, desk.ann, conflicts="markers", plan=True)
    assert only_file(plan)["marked"] == 1
    reply = desk.call(UNDO_TOOL, desk.ann, token=plan["token"])
    assert "1 place with both sides" in reply["message"]
    assert desk.text("f.txt") == lines(
        "zero",
        "one",
        "<<<<<<< undone by ann/s1",
        "two",
        "=======",
        "TWO by ben",
        f">>>>>>> ben/s2 v{blocking}",
        "three",
        "four",
        "five",
        "six",
    )
    assert [c["seq"] for c in only_file(reply)["conflicts"]] == [blocking]
    assert desk.call(REDO_TOOL, desk.ann)["ok"]
    assert desk.text("f.txt") == both


def test_markers_alone_are_enough_to_do_where_skipping_would_do_nothing() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.outside("f.txt", START.replace(b"two", b"TWO!"))
    assert desk.call(UNDO_TOOL, desk.ann)["error"] == "conflict"
    assert desk.call(UNDO_TOOL, desk.ann, conflicts="markers")["ok"]
    marked = desk.text("f.txt") or b""
    assert b"<<<<<<< undone by ann/s1\ntwo\n=======\nTWO!\n>>>>>>> outside v" in marked


def test_of_a_line_that_was_put_elsewhere_both_places_are_marked() -> None:
    desk = desk_with(lines("one", "two", "three", "four"))
    desk.write("f.txt", lines("two", "three", "four", "one"), desk.ann)
    blocking = desk.write("f.txt", lines("two", "three", "four", "ONE"), desk.ben)
    desk.call(UNDO_TOOL, desk.ann, conflicts="markers")
    head, end = ("<<<<<<< undone by ann/s1", f">>>>>>> ben/s2 v{blocking}")
    at_first, at_last = (head, "one", "=======", end), (head, "=======", "ONE", end)
    assert desk.text("f.txt") == lines(*at_first, "two", "three", "four", *at_last)


def test_markers_stand_where_the_disputed_lines_are_gone_and_keep_breaks() -> None:
    start = b"one\r\ntwo\r\nthree"
    desk = desk_with(start)
    desk.write("f.txt", b"one\r\nTWO\r\nthree", desk.ann)
    blocking = desk.write("f.txt", b"one\r\nthree", desk.ben)
    desk.write("f.txt", b"zero\r\none\r\nthree", desk.ben)
    assert desk.call(UNDO_TOOL, desk.ann, conflicts="markers")["ok"]
    head = b"zero\r\none\r\n<<<<<<< undone by ann/s1\r\ntwo\r\n=======\r\n"
    assert desk.text("f.txt") == head + f">>>>>>> ben/s2 v{blocking}\r\nthree".encode()


def test_markers_cannot_settle_what_is_about_the_whole_file() -> None:
    desk = desk_with(b"\0one")
    desk.write("f.txt", b"\0two", desk.ann)
    desk.outside("f.txt", b"\0three")
    refused = desk.call(UNDO_TOOL, desk.ann, conflicts="markers")
    assert (refused["error"], only_file(refused)["marked"]) == ("conflict", 0)


def test_a_name_in_a_marker_is_one_short_line() -> None:
    desk = desk_with()
    eve = desk.introduce("eve\nexec rm\x1b" + "x" * 300, "s9")
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.write("f.txt", START.replace(b"two", b"TWO!"), eve)
    assert desk.call(UNDO_TOOL, eve, writer="ann", conflicts="markers")["ok"]
    marked = (desk.text("f.txt") or b"").split(b"\n")
    assert len(marked) == 11
    assert max(map(len, marked)) < 90
