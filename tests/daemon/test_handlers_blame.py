"""`blame`: who wrote each line, as a reply tells it."""

from __future__ import annotations

from typing import Any

import pytest
from desk import BEGAN_NS, SECOND, Desk, OnDesk, lines

from quire_daemon.handlers.blame import BLAME_TOOL, MOST_LINES
from quire_daemon.handlers.read import READ_TOOL
from quire_daemon.handlers.undo import UNDO_TOOL
from quire_journal.events import CaptureFailed, CheckpointNamed
from quire_journal.points import rfc3339


def seqs(reply: dict[str, Any]) -> list[int]:
    """The record of each line."""
    return [line["seq"] for line in reply["lines"]]


def test_every_line_names_its_record_its_writer_the_turn_and_the_time() -> None:
    desk = Desk()
    eve = desk.introduce("eve", "s3", turn="t7")
    first = desk.outside("f.txt", lines("one", "two"))
    second = desk.write("f.txt", lines("one", "TWO", "three"), eve)
    reply = desk.call(BLAME_TOOL, desk.ann, path="f.txt")
    assert (reply["ok"], reply["path"], reply["version"], reply["lineCount"]) == (True, "f.txt", f"v{second}", 3)
    assert reply["message"] == "Lines 1-3 of 3 of f.txt come from 2 versions."
    one, two, three = reply["lines"]
    assert (one["line"], one["seq"], one["version"], one["text"]) == (1, first, f"v{first}", "one")
    assert (one["writer"]["id"], one["writer"]["type"], one["evidence"]) == ("outside", "outside", "watched")
    assert (two["line"], two["seq"], two["turn"], two["text"]) == (2, second, "t7", "TWO")
    assert (two["writer"]["agent"], two["writer"]["agent_session"], two["writer"]["type"]) == ("eve", "s3", "edit")
    assert two["at"] == rfc3339(BEGAN_NS + second * SECOND)
    assert "evidence" not in two
    assert {**two, "line": 3, "text": "three"} == three


@pytest.mark.parametrize(
    ("writer", "told", "message"),
    [
        ("ann", [1, 4], "Of lines 1-5 of 5 of f, ann wrote 2."),
        ("ben/s2", [2, 3], "Of lines 1-5 of 5 of f, ben/s2 wrote 2."),
        ("outside", [5], "Of lines 1-5 of 5 of f, outside wrote 1."),
        ("user", [], "Of lines 1-5 of 5 of f, user wrote none."),
        ("be", [], "Of lines 1-5 of 5 of f, be wrote none."),
    ],
)
def test_only_the_lines_of_one_writer_are_told_where_one_is_named(writer: str, told: list[int], message: str) -> None:
    desk = Desk()
    desk.write("f", lines("a", "b", "c"), desk.ann)
    desk.write("f", lines("a", "x", "y", "c"), desk.ben)
    desk.outside("f", lines("a", "x", "y", "c", "z"))
    reply = desk.call(BLAME_TOOL, desk.ann, path="f", writer=writer)
    assert (reply["message"], [line["line"] for line in reply["lines"]]) == (message, told)
    assert [line for run in reply["runs"] for line in range(run["start"], run["end"] + 1)] == told
    assert (reply["startLine"], reply["endLine"], "warnings" in reply) == (1, 5, writer == "be")


def test_neighbours_of_one_version_are_told_as_runs_too() -> None:
    desk = Desk()
    first = desk.write("f", lines("a", "b", "c", "d"), desk.ann)
    second = desk.write("f", lines("a", "x", "y", "c", "d"), desk.ben)
    reply = desk.call(BLAME_TOOL, desk.ann, path="f")
    assert [(r["start"], r["end"], r["seq"], r["writer"]["agent"]) for r in reply["runs"]] == [
        (1, 1, first, "ann"),
        (2, 3, second, "ben"),
        (4, 5, first, "ann"),
    ]


@pytest.mark.parametrize(
    ("start", "end", "told", "asked"),
    [
        (2, 3, [2, 3], (2, 3)),
        (0, 2, [1, 2], (1, 2)),
        (4, 99, [4, 5], (4, 5)),
        (4, None, [4, 5], (4, 5)),
        (9, None, [], (6, 5)),
        (3, 2, [], (3, 2)),
    ],
)
def test_some_lines_are_asked_for_and_clamped_to_the_file(
    start: int, end: int | None, told: list[int], asked: tuple[int, int]
) -> None:
    desk = Desk()
    desk.write("f", lines("a", "b", "c", "d", "e"), desk.ann)
    reply = desk.call(BLAME_TOOL, desk.ann, path="f", start_line=start, end_line=end)
    assert [line["line"] for line in reply["lines"]] == told
    assert (reply["startLine"], reply["endLine"], reply["truncated"]) == (*asked, False)
    assert [n for r in reply["runs"] for n in range(r["start"], r["end"] + 1)] == told


def test_a_long_file_is_told_in_pages() -> None:
    desk = Desk()
    desk.write("f", b"x\n" * (MOST_LINES + 5), desk.ann)
    desk.write("wide", lines(*["y" * 100_000] * 5), desk.ann)
    for path, pages in (("f", 2), ("wide", 3)):
        told, at, calls = [], 1, 0
        while at:
            reply = desk.call(BLAME_TOOL, desk.ann, path=path, start_line=at)
            told += [line["line"] for line in reply["lines"]]
            at, calls = reply.get("next_line", 0), calls + 1
        assert told == list(range(1, reply["lineCount"] + 1))
        assert calls == pages


def test_any_point_will_do() -> None:
    desk = Desk()
    first = desk.write("f", lines("a"), desk.ann)
    desk.note(CheckpointNamed("here", desk.journal.head), who=desk.ann)
    second = desk.write("f", lines("b"), desk.ben)
    assert seqs(desk.call(BLAME_TOOL, desk.ann, path="f", at="here")) == [first]
    assert seqs(desk.call(BLAME_TOOL, desk.ann, path="f", at=f"v{first}")) == [first]
    assert seqs(desk.call(BLAME_TOOL, desk.ann, path="f")) == [second]
    assert desk.call(BLAME_TOOL, desk.ann, path="f", at="seq:1")["error"] == "not_found"
    assert desk.call(BLAME_TOOL, desk.ann, path="f", at="seq:999")["error"] == "not_found"


def test_a_file_that_was_removed_is_blamed_at_a_point_when_it_was_there() -> None:
    desk = Desk()
    first = desk.write("f", lines("a"), desk.ann)
    desk.delete("f", desk.ben)
    refused = desk.call(BLAME_TOOL, desk.ann, path="f")
    assert refused["error"] == "not_found"
    assert "removed by ben/s2 at " in refused["message"]
    assert seqs(desk.call(BLAME_TOOL, desk.ann, path="f", at=f"v{first}")) == [first]


def test_former_names_are_told() -> None:
    desk = Desk()
    first = desk.write("f", lines("a"), desk.ann)
    desk.move("f", "g", desk.ben)
    reply = desk.call(BLAME_TOOL, desk.ann, path="g")
    assert (seqs(reply), reply["names"]) == ([first], ["f", "g"])
    assert desk.call(BLAME_TOOL, desk.ann, path="f")["error"] == "not_found"


def test_an_undo_is_told_as_one() -> None:
    desk = Desk()
    first = desk.write("f", lines("a", "b"), desk.ann)
    desk.write("f", lines("a", "B"), desk.ben)
    desk.call(UNDO_TOOL, desk.ben)
    kept, back = desk.call(BLAME_TOOL, desk.ann, path="f")["lines"]
    assert (kept["seq"], kept["writer"]["type"]) == (first, "edit")
    assert (back["seq"] > first, back["writer"]["type"], back["text"]) == (True, "undo", "b")
    assert ("how" in kept, back["how"]) == (False, "undo")


def test_what_was_not_captured_is_said() -> None:
    desk = Desk()
    desk.write("f", lines("a"), desk.ann)
    failed = desk.note(CaptureFailed("f", "too_large", 1 << 40))
    after = desk.outside("f", lines("a", "b"))
    reply = desk.call(BLAME_TOOL, desk.ann, path="f")
    assert reply["gaps"] == [{"version": f"v{failed}", "why": "too_large", "attributed_to": f"v{after}"}]
    assert f"beyond v{after} nothing is known (too_large)" in reply["message"]
    assert seqs(reply) == [after, after]


def test_what_has_no_lines_is_refused() -> None:
    desk = Desk()
    desk.outside("b", b"\0\1\2")
    assert desk.call(BLAME_TOOL, desk.ann, path="b")["error"] == "binary_file"
    desk.files[".env"] = OnDesk(b"TOKEN=1\n")
    desk.note(CaptureFailed(".env", "secret", 8))
    refused = desk.call(BLAME_TOOL, desk.ann, path=".env")
    assert (refused["error"], refused["why"]) == ("uncaptured", "secret")
    desk.outside("big", b"x" * (9 << 20))
    assert desk.call(BLAME_TOOL, desk.ann, path="big")["error"] == "file_too_large"
    assert desk.call(BLAME_TOOL, desk.ann, path="never")["error"] == "not_found"


def test_bytes_that_are_not_utf8_are_shown_and_said_to_be_lossy() -> None:
    desk = Desk()
    desk.outside("f", b"caf\xe9\nplain\n")
    reply = desk.call(BLAME_TOOL, desk.ann, path="f")
    assert (reply["lines"][0]["text"], reply["lossy"]) == ("caf\ufffd", True)
    assert "lossy" not in desk.call(BLAME_TOOL, desk.ann, path="f", start_line=2)


def test_who_read_the_file_hears_of_changes_and_a_blame_is_no_reading() -> None:
    desk = Desk()
    desk.write("f", lines("a"), desk.ann)
    desk.call(READ_TOOL, desk.ann, path="f")
    head = desk.write("f", lines("b"), desk.ben)
    for _ in range(2):
        assert "changed_since_your_read" in desk.call(BLAME_TOOL, desk.ann, path="f")
    assert desk.journal.head == head
