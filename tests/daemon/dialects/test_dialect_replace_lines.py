"""`replace_lines`: a range of lines gives way to a text."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon

SIX = "1\n2\n3\n4\n5\n6\n"


def replace(daemon: MemoryDaemon, start: int, end: int, text: str, **args: Any) -> dict[str, Any]:
    """A call on f.txt."""
    return daemon.ask(
        "replace_lines", {"file": "f.txt", "start_line": start, "end_line": end, "new_text": text, **args}
    )


@pytest.mark.parametrize(
    ("before", "start", "end", "text", "after", "removed", "added"),
    [
        (b"1\n2\n3\n", 2, 2, "X", b"1\nX\n3\n", 1, 1),
        (b"1\n2\n3\n", 1, 2, "A\nB\nC\n", b"A\nB\nC\n3\n", 2, 3),
        (b"1\n2\n3\n", 2, 3, "", b"1\n", 2, 0),
        (b"1\n2\n3\n", 1, 3, "", b"", 3, 0),
        (b"1\n2\n3\n", 2, 2, "\n", b"1\n\n3\n", 1, 1),
        (b"1\n2", 2, 2, "X", b"1\nX", 1, 1),  # no final break before, none after
        (b"1\n2", 2, 2, "X\n", b"1\nX", 1, 1),
        (b"1\n2", 2, 2, "", b"1", 1, 0),
        (b"1\r\n2\n3\r\n", 1, 2, "A\nB", b"A\r\nB\n3\r\n", 2, 2),
        (b"1\r2\r3\r", 2, 2, "A\nB", b"1\rA\rB\r3\r", 1, 2),
        (b"\xef\xbb\xbf1\n2\n", 1, 1, "A", b"\xef\xbb\xbfA\n2\n", 1, 1),
        (b"\xff\n2\n\x0c\n", 2, 2, "A", b"\xff\nA\n\x0c\n", 1, 1),
    ],
)
def test_the_lines_of_the_range_give_way_and_no_others(
    before: bytes, start: int, end: int, text: str, after: bytes, removed: int, added: int
) -> None:
    daemon = MemoryDaemon({"f.txt": before})
    reply = replace(daemon, start, end, text)
    assert (reply["ok"], reply["lines_removed"], reply["lines_added"]) == (True, removed, added)
    assert daemon.files["f.txt"] == after


@pytest.mark.parametrize(
    ("start", "end", "code"),
    [
        (5, 2, "invalid_range"),
        (0, 2, "invalid_range"),
        (-1, 2, "invalid_range"),
        (1, 0, "invalid_range"),
        (-3, -1, "invalid_range"),
        (9, 7, "invalid_range"),
        (7, 7, "line_out_of_range"),
        (999, 1000, "line_out_of_range"),
    ],
)
def test_a_range_that_is_none_is_refused(start: int, end: int, code: str) -> None:
    daemon = MemoryDaemon({"f.txt": SIX})
    reply = replace(daemon, start, end, "X")
    assert (reply["error"], reply["lines_removed"], reply["lines_added"]) == (code, 0, 0)
    assert daemon.read("f.txt") == SIX


def test_an_end_beyond_the_file_is_the_last_line_with_a_warning() -> None:
    daemon = MemoryDaemon({"f.txt": SIX})
    daemon.ask("read_file", {"path": "f.txt"})
    reply = replace(daemon, 5, 99, "X")
    assert (reply["ok"], reply["lines_removed"], len(reply["warnings"])) == (True, 2, 1)
    assert daemon.read("f.txt") == "1\n2\n3\n4\nX\n"


def test_an_empty_file_has_no_lines() -> None:
    reply = replace(MemoryDaemon({"f.txt": ""}), 1, 1, "X")
    assert (reply["error"], reply["suggested_action"]) == ("line_out_of_range", "write_file")


def test_line_numbers_are_stale_when_others_changed_the_file_since() -> None:
    daemon = MemoryDaemon({"f.txt": SIX})
    daemon.ask("read_file", {"path": "f.txt"})
    daemon.save("f.txt", "0\n" + SIX)
    reply = replace(daemon, 5, 5, "X")
    assert (reply["error"], reply["touches"]) == ("stale_base", "none")
    assert daemon.read("f.txt") == "0\n" + SIX


def test_line_numbers_follow_their_lines_when_rebased_and_not_into_what_others_wrote() -> None:
    daemon = MemoryDaemon({"f.txt": SIX})
    base = daemon.ask("read_file", {"path": "f.txt"})["version"]
    daemon.save("f.txt", "0\n" + SIX)
    assert replace(daemon, 5, 5, "X", on_stale="rebase")["ok"]
    assert daemon.read("f.txt") == "0\n1\n2\n3\n4\nX\n6\n"
    reply = replace(daemon, 1, 1, "Y", on_stale="rebase", base=base)
    assert reply["error"] == "stale_base"
    assert reply["conflict"]["yours"]


def test_a_caller_moves_its_base_along_by_its_own_edits() -> None:
    daemon = MemoryDaemon({"f.txt": SIX})
    daemon.ask("read_file", {"path": "f.txt"})
    assert replace(daemon, 1, 2, "A\nB\nC")["ok"]
    assert replace(daemon, 4, 4, "three")["ok"]
    assert daemon.read("f.txt") == "A\nB\nC\nthree\n4\n5\n6\n"


def test_unknown_arguments_are_refused() -> None:
    assert replace(MemoryDaemon({"f.txt": SIX}), 1, 1, "X", count=2)["error"] == "schema_invalid"
