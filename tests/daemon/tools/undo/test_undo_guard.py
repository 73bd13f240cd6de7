"""The guard of an undo: no line goes or comes back that the chosen batches do not account for; the rest is named."""

from __future__ import annotations

from typing import Any

from undoings import START, daemon_with, only_file

from memory_daemon import MemoryDaemon, lines
from quire_daemon.core.decision import Who
from quire_daemon.tools.undo.tool import REDO_TOOL, RESTORE_TOOL, ROLLBACK_TOOL, UNDO_TOOL
from quire_journal.model.events import OutsideWritten
from quire_journal.model.ids import blob_id


def named(reply: dict[str, Any]) -> list[tuple[int, str]]:
    """The records that the conflicts of a reply name, and why."""
    return [(conflict["seq"], conflict["why"]) for file in reply["files"] for conflict in file["conflicts"]]


def put(daemon: MemoryDaemon, old: str, new: str, who: Who, path: str = "f.txt") -> int:
    """Replace a part of the text; the batch."""
    text = daemon.text(path)
    assert text is not None
    assert text.count(old.encode()) == 1
    return daemon.write(path, text.replace(old.encode(), new.encode()), who)


def test_an_undo_that_meets_a_conflict_does_not_bring_back_what_another_undo_took_away() -> None:
    daemon = MemoryDaemon()
    daemon.write("f.txt", START, daemon.ann)
    put(daemon, "two", "TWO", daemon.ann)
    bens = put(daemon, "five\n", "", daemon.ben)
    undone = daemon.call(UNDO_TOOL, daemon.ann)["batch"]
    before = daemon.text("f.txt")
    reply = daemon.call(UNDO_TOOL, daemon.ben, writer="ann", last=1)
    assert reply["error"] == "conflict"
    assert daemon.text("f.txt") == before
    assert {*named(reply)} == {(bens, "bytes"), (undone, "lines")}


def test_an_undo_with_a_conflict_keeps_the_redo_of_another_writer() -> None:
    daemon = daemon_with(lines("A", "S", "C", "D"))
    cyd = daemon.introduce("cyd", "s9")
    edit = put(daemon, "S", "T by cyd", cyd)
    outside = daemon.outside("f.txt", lines("A", "T by cyd", "U", "C", "D"))
    daemon.call(UNDO_TOOL, cyd, batch=edit)
    removed = put(daemon, "U\n", "", cyd)
    redone = daemon.call(REDO_TOOL, cyd)["batch"]
    reply = daemon.call(UNDO_TOOL, daemon.ann, batch=outside)
    assert daemon.text("f.txt") == lines("A", "T by cyd", "C", "D")
    assert (reply["error"], {*named(reply)}) == ("conflict", {(removed, "lines"), (redone, "lines")})


def test_lines_that_somebody_typed_again_are_not_undone_with_whoever_wrote_them_first() -> None:
    daemon = daemon_with()
    cal = daemon.introduce("cal", "s3")
    put(daemon, "three\n", "three\nblock 1\nblock 2\n", daemon.ann)
    put(daemon, "block 1\nblock 2\n", "", daemon.ben)
    again = put(daemon, "three\n", "three\nblock 1\nblock 2\n", cal)
    before = daemon.text("f.txt")
    reply = daemon.call(UNDO_TOOL, daemon.ben, writer="ann")
    assert (reply["error"], named(reply)) == ("conflict", [(again, "lines")])
    assert only_file(reply)["conflicts"][0]["lines"] == [{"start": 4, "end": 5}]
    assert only_file(reply)["conflicts"][0]["writer"]["agent"] == "cal"
    assert daemon.text("f.txt") == before


def test_what_nobody_typed_again_is_undone_beside_what_somebody_did() -> None:
    daemon = daemon_with()
    mine = put(daemon, "three\n", "three\nblock 1\nblock 2\n", daemon.ann)
    put(daemon, "two\n", "", daemon.ben)
    put(daemon, "block 1\n", "", daemon.ben)
    again = put(daemon, "block 2\n", "block 1\nblock 2\n", daemon.ben)
    reply = daemon.call(UNDO_TOOL, daemon.ann)
    assert daemon.text("f.txt") == lines("one", "three", "block 1", "four", "five", "six")
    assert (reply["batches"], named(reply)) == ([mine], [(again, "lines")])


def test_lines_that_the_undo_of_an_undo_brought_back_are_those_of_their_author() -> None:
    daemon = daemon_with()
    put(daemon, "three\n", "three\nblock\n", daemon.ann)
    put(daemon, "block\n", "", daemon.ben)
    daemon.call(UNDO_TOOL, daemon.ben)
    assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
    assert daemon.text("f.txt") == START


def test_a_line_that_is_there_again_after_a_rollback_is_that_of_its_author() -> None:
    """Cal wrote the last line again while it was gone; the rollback takes cal's away and gives the first one back."""
    daemon = daemon_with(lines("one", "five", "six"))
    cal = daemon.introduce("cal", "s3")
    point = daemon.journal.head
    daemon.delete("f.txt", cal)
    daemon.write("f.txt", lines("seven", "five"), daemon.ann)
    daemon.outside("f.txt", lines("seven", "five", "nine"))
    gone = daemon.call(ROLLBACK_TOOL, daemon.ann, to=f"seq:{point + 1}", writer="*")["batch"]
    daemon.write("f.txt", lines("ten", "six", "eleven"), cal)
    assert daemon.call(ROLLBACK_TOOL, cal, to=f"seq:{point}", writer="cal")["ok"]
    assert daemon.text("f.txt") == lines("one", "five", "six")
    reply = daemon.call(UNDO_TOOL, daemon.ann, batch=gone)
    assert b"six\n" in (daemon.text("f.txt") or b""), reply


def test_a_line_of_a_file_that_was_made_again_is_not_the_one_that_went_with_it() -> None:
    """Cal's restore removed a line that Ann had typed into the new file, not the one that stood in the old."""
    daemon = daemon_with(lines("one", "five", "six"))
    cal = daemon.introduce("cal", "s3")
    point = daemon.outside("f.txt", lines("one", "five"))
    daemon.outside("f.txt", lines("one", "five", "six", "seven"))
    daemon.delete("f.txt", daemon.ann)
    daemon.write("f.txt", lines("ten", "six", "eleven"), daemon.ann)
    daemon.call(RESTORE_TOOL, cal, path="f.txt", at=f"seq:{point}")
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="*", **{"from": f"seq:{point + 1}"})["ok"]
    assert daemon.text("f.txt") == lines("one", "five", "six", "seven")
    put(daemon, "one\n", "ONE\n", daemon.ben)
    reply = daemon.call(REDO_TOOL, cal, writer="cal", last=1)
    assert b"six\n" in (daemon.text("f.txt") or b""), reply


def test_lines_that_another_program_brought_back_are_those_of_their_author() -> None:
    daemon = daemon_with()
    put(daemon, "three\n", "three\nblock\n", daemon.ann)
    put(daemon, "block\n", "", daemon.ben)
    daemon.outside("f.txt", START.replace(b"three\n", b"three\nblock\n"))
    assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
    assert daemon.text("f.txt") == START


def test_a_mode_that_somebody_gave_again_is_not_undone_with_whoever_gave_it_first() -> None:
    daemon = daemon_with()
    daemon.chmod("f.txt", 0o755, daemon.ann)
    daemon.chmod("f.txt", 0o644, daemon.ben)
    again = daemon.chmod("f.txt", 0o755, daemon.ben)
    reply = daemon.call(UNDO_TOOL, daemon.ann)
    assert (reply["error"], named(reply)) == ("conflict", [(again, "mode")])
    assert daemon.mode("f.txt") == 0o755


def test_a_name_that_somebody_gave_again_is_not_undone_with_whoever_gave_it_first() -> None:
    daemon = daemon_with()
    daemon.move("f.txt", "g.txt", daemon.ann)
    daemon.move("g.txt", "f.txt", daemon.ben)
    again = daemon.move("f.txt", "g.txt", daemon.ben)
    reply = daemon.call(UNDO_TOOL, daemon.ann)
    assert (reply["error"], named(reply)) == ("conflict", [(again, "moved")])
    assert [*daemon.files] == ["g.txt"]


def test_a_file_that_somebody_made_again_is_not_undone_with_whoever_made_it_first() -> None:
    for data in (START, b"", b"\0binary"):
        daemon = MemoryDaemon()
        daemon.write("f.txt", data, daemon.ann)
        daemon.delete("f.txt", daemon.ben)
        again = daemon.write("f.txt", data, daemon.ben)
        reply = daemon.call(UNDO_TOOL, daemon.ann)
        assert (reply["error"], named(reply)) == ("conflict", [(again, "occupied")])
        assert daemon.text("f.txt") == data


def test_bytes_that_are_no_text_and_that_somebody_wrote_again_stay() -> None:
    daemon = daemon_with(b"\0one")
    daemon.write("f.txt", b"\0two", daemon.ann)
    daemon.write("f.txt", b"\0one", daemon.ben)
    again = daemon.write("f.txt", b"\0two", daemon.ben)
    reply = daemon.call(UNDO_TOOL, daemon.ann)
    assert (reply["error"], named(reply)) == ("conflict", [(again, "bytes")])
    assert daemon.text("f.txt") == b"\0two"


def test_a_redo_of_one_work_does_not_bring_back_what_was_undone_with_it() -> None:
    daemon = daemon_with()
    put(daemon, "three\n", "three\nann 1\nann 2\n", daemon.ann)
    bens = put(daemon, "ann 2\n", "ben\n", daemon.ben)
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="*", **{"from": f"seq:{daemon.head_of('f.txt') - 2}"})["ok"]
    assert daemon.text("f.txt") == START
    daemon.call(REDO_TOOL, daemon.ann, writer="ben", last=1)
    assert b"ann" not in (daemon.text("f.txt") or b"")
    with daemon.history() as history:
        assert history.undone_by(bens - 1) is not None


def test_a_rollback_leaves_what_somebody_else_typed_again() -> None:
    daemon = daemon_with()
    point = daemon.journal.head
    put(daemon, "three\n", "three\nblock\n", daemon.ann)
    put(daemon, "one\n", "ONE\n", daemon.ann)
    put(daemon, "block\n", "", daemon.ben)
    again = put(daemon, "three\n", "three\nblock\n", daemon.ben)
    reply = daemon.call(ROLLBACK_TOOL, daemon.ann, to=f"seq:{point}")
    assert (reply["ok"], named(reply)) == (True, [(again, "lines")])
    assert daemon.text("f.txt") == START.replace(b"three\n", b"three\nblock\n")


def test_markers_show_both_sides_of_what_somebody_typed_again() -> None:
    daemon = daemon_with()
    put(daemon, "three\n", "3\n", daemon.ann)
    put(daemon, "3\n", "three\n", daemon.ben)
    again = put(daemon, "three\n", "3\n", daemon.ben)
    assert daemon.call(UNDO_TOOL, daemon.ann, conflicts="markers")["ok"]
    marked = ["<<<<<<< undone by ann/s1", "three", "=======", "3", f">>>>>>> ben/s2 v{again}"]
    assert daemon.text("f.txt") == lines("one", "two", *marked, "four", "five", "six")


def test_of_equal_lines_it_makes_no_difference_which_one_goes() -> None:
    """Ann's two lines end as Ben's do that stand above: what is removed may be told of either pair."""
    daemon = daemon_with(lines("begin", "end"))
    put(daemon, "end\n", "a\n}\nend\n", daemon.ben)
    put(daemon, "}\n", "}\nb\n}\n", daemon.ann)
    put(daemon, "begin\n", "start\n", daemon.ben)
    assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
    assert daemon.text("f.txt") == lines("start", "a", "}", "end")


def by_git(daemon: MemoryDaemon, command: str, data: bytes) -> int:
    """Git writes the file."""
    written = OutsideWritten("f.txt", blob_id(data), len(data), 0o644, "watched", hint=f"git {command} (pid 7)")
    daemon.files["f.txt"] = data
    return daemon.note(written, blobs=(data,))


def test_undo_takes_back_lines_of_their_author_that_a_merge_brought_back() -> None:
    """On another branch somebody wrote elsewhere in the file, so that the merge has bytes which never were."""
    daemon = daemon_with()
    put(daemon, "two", "TWO by ann", daemon.ann)
    put(daemon, "five\n", "", daemon.ann)
    side = daemon.text("f.txt")
    assert side is not None
    by_git(daemon, "checkout main", START)
    main = daemon.outside("f.txt", lines("zero") + START)
    merged = by_git(daemon, "merge side", lines("zero") + side)
    reply = daemon.call(UNDO_TOOL, daemon.ben, writer="ann", last=2)
    assert daemon.text("f.txt") == lines("zero", "one", "two", "three", "four", "six")
    assert named(reply) == [(merged, "lines")]  # who says that it did not remove the fifth line itself?
    assert main


def test_undo_of_an_overwritten_line_keeps_the_text_that_git_put_in_its_place() -> None:
    daemon = daemon_with()
    put(daemon, "two", "TWO by ann", daemon.ann)
    by_git(daemon, "checkout main", START)
    pulled = START.replace(b"two", b"of somebody far away")
    merged = by_git(daemon, "pull", pulled)
    reply = daemon.call(UNDO_TOOL, daemon.ben, writer="ann")
    assert daemon.text("f.txt") == pulled
    assert (reply["error"], named(reply)) == ("conflict", [(merged, "lines")])
