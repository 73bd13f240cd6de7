"""Conflict markers: an undo that writes both sides where others built on the undone lines."""

from __future__ import annotations

from undoings import START, built_on, daemon_with, only_file

from memory_daemon import lines
from quire_daemon.tools.undo.tool import REDO_TOOL, UNDO_TOOL


def test_markers_write_both_sides_where_others_built_on_the_undone_lines() -> None:
    daemon = daemon_with()
    both, blocking = built_on(daemon)
    plan = daemon.call(UNDO_TOOL, daemon.ann, conflicts="markers", plan=True)
    assert only_file(plan)["marked"] == 1
    reply = daemon.call(UNDO_TOOL, daemon.ann, token=plan["token"])
    assert "1 place with both sides" in reply["message"]
    assert daemon.text("f.txt") == lines(
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
    assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
    assert daemon.text("f.txt") == both


def test_a_marker_names_who_wrote_the_disputed_lines_last() -> None:
    daemon = daemon_with()
    built_on(daemon)
    both = daemon.text("f.txt") or b""
    eve = daemon.introduce("eve", "s9")
    last = daemon.write("f.txt", both.replace(b"TWO by ben", b"TWO by eve"), eve)
    daemon.write("f.txt", both.replace(b"TWO by ben", b"TWO by eve") + b"seven\n", daemon.ben)
    assert daemon.call(UNDO_TOOL, daemon.ann, conflicts="markers")["ok"]
    assert f"=======\nTWO by eve\n>>>>>>> eve/s9 v{last}\n".encode() in (daemon.text("f.txt") or b"")


def test_markers_alone_are_enough_to_do_where_skipping_would_do_nothing() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    daemon.outside("f.txt", START.replace(b"two", b"TWO!"))
    assert daemon.call(UNDO_TOOL, daemon.ann)["error"] == "conflict"
    assert daemon.call(UNDO_TOOL, daemon.ann, conflicts="markers")["ok"]
    marked = daemon.text("f.txt") or b""
    assert b"<<<<<<< undone by ann/s1\ntwo\n=======\nTWO!\n>>>>>>> outside v" in marked


def test_what_git_built_on_the_undone_lines_is_called_gits() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    daemon.by_git("git merge side", **{"f.txt": START.replace(b"two", b"TWO!")})
    version = daemon.head_of("f.txt")
    refused = daemon.call(UNDO_TOOL, daemon.ann)
    assert refused["message"] == f"f.txt: git built on it with v{version}; nothing was changed."
    assert daemon.call(UNDO_TOOL, daemon.ann, conflicts="markers")["ok"]
    assert f">>>>>>> git v{version}".encode() in (daemon.text("f.txt") or b"")


def test_of_a_line_that_was_put_elsewhere_both_places_are_marked() -> None:
    daemon = daemon_with(lines("one", "two", "three", "four"))
    daemon.write("f.txt", lines("two", "three", "four", "one"), daemon.ann)
    blocking = daemon.write("f.txt", lines("two", "three", "four", "ONE"), daemon.ben)
    daemon.call(UNDO_TOOL, daemon.ann, conflicts="markers")
    head, end = ("<<<<<<< undone by ann/s1", f">>>>>>> ben/s2 v{blocking}")
    at_first, at_last = (head, "one", "=======", end), (head, "=======", "ONE", end)
    assert daemon.text("f.txt") == lines(*at_first, "two", "three", "four", *at_last)


def test_markers_stand_where_the_disputed_lines_are_gone_and_keep_breaks() -> None:
    start = b"one\r\ntwo\r\nthree"
    daemon = daemon_with(start)
    daemon.write("f.txt", b"one\r\nTWO\r\nthree", daemon.ann)
    blocking = daemon.write("f.txt", b"one\r\nthree", daemon.ben)
    daemon.write("f.txt", b"zero\r\none\r\nthree", daemon.ben)
    assert daemon.call(UNDO_TOOL, daemon.ann, conflicts="markers")["ok"]
    head = b"zero\r\none\r\n<<<<<<< undone by ann/s1\r\ntwo\r\n=======\r\n"
    assert daemon.text("f.txt") == head + f">>>>>>> ben/s2 v{blocking}\r\nthree".encode()


def test_markers_cannot_settle_what_is_about_the_whole_file() -> None:
    daemon = daemon_with(b"\0one")
    daemon.write("f.txt", b"\0two", daemon.ann)
    daemon.outside("f.txt", b"\0three")
    refused = daemon.call(UNDO_TOOL, daemon.ann, conflicts="markers")
    assert (refused["error"], only_file(refused)["marked"]) == ("conflict", 0)


def test_a_name_in_a_marker_is_one_short_line() -> None:
    daemon = daemon_with()
    eve = daemon.introduce("eve\nexec rm\x1b" + "x" * 300, "s9")
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    daemon.write("f.txt", START.replace(b"two", b"TWO!"), eve)
    assert daemon.call(UNDO_TOOL, eve, writer="ann", conflicts="markers")["ok"]
    marked = (daemon.text("f.txt") or b"").split(b"\n")
    assert len(marked) == 11
    assert max(map(len, marked)) < 90
