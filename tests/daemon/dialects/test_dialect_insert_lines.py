"""`insert_lines`: lines before a line that is named by its number."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon


def insert(daemon: MemoryDaemon, number: int, text: str, **args: Any) -> dict[str, Any]:
    """A call on f.txt."""
    return daemon.ask("insert_lines", {"file": "f.txt", "line_number": number, "text": text, **args})


@pytest.mark.parametrize(
    ("before", "number", "text", "after"),
    [
        (b"a\nb\n", 0, "X", b"X\na\nb\n"),
        (b"a\nb\n", 1, "X\nY", b"X\nY\na\nb\n"),
        (b"a\nb\n", 2, "X\n", b"a\nX\nb\n"),
        (b"a\nb\n", 3, "X", b"a\nb\nX\n"),
        (b"a\nb\n", -1, "X", b"a\nb\nX\n"),
        (b"a\nb", 2, "X", b"a\nX\nb"),  # the last line is not concerned
        (b"a\nb", 3, "X", b"a\nb\nX\n"),
        (b"a\nb", -1, "X", b"a\nb\nX\n"),
        (b"a", -1, "X\r\nY", b"a\nX\nY\n"),
        (b"", 0, "X", b"X\n"),
        (b"", 1, "X", b"X\n"),
        (b"", -1, "X\nY\n", b"X\nY\n"),
        (b"a\n", 1, "", b"\na\n"),
        (b"a\n", -1, "X\n\n", b"a\nX\n\n"),
        (b"a\r\nb\r\n", 2, "X", b"a\r\nX\r\nb\r\n"),
        (b"a\r\nb", -1, "X", b"a\r\nb\r\nX\r\n"),
        (b"a\rb\r", 0, "X", b"X\ra\rb\r"),
        (b"a\nb\r\n", 2, "X", b"a\nX\nb\r\n"),  # of the nearest line before
        (b"\xef\xbb\xbfa\n", 0, "X", b"\xef\xbb\xbfX\na\n"),
        (b"a\x0cb\n\xff\n", 2, "X", b"a\x0cb\nX\n\xff\n"),
    ],
)
def test_the_text_comes_before_the_line_as_lines_of_its_own(
    before: bytes, number: int, text: str, after: bytes
) -> None:
    daemon = MemoryDaemon({"f.txt": before})
    reply = insert(daemon, number, text)
    assert (reply["ok"], reply["lines_inserted"]) == (True, reply["net_lines"])
    assert daemon.files["f.txt"] == after


@pytest.mark.parametrize("number", [4, 10, -2, -100, 2**40])
def test_a_line_that_is_not_there_is_refused(number: int) -> None:
    daemon = MemoryDaemon({"f.txt": "a\nb\n"})
    reply = insert(daemon, number, "X")
    assert (reply["error"], reply["lineCount"], reply["lines_inserted"]) == ("line_out_of_range", 2, 0)
    assert daemon.read("f.txt") == "a\nb\n"


def test_a_line_number_is_stale_when_others_changed_the_file_since() -> None:
    daemon = MemoryDaemon({"f.txt": "a\nb\nc\nd\n"})
    daemon.ask("read_file", {"path": "f.txt"})
    daemon.save("f.txt", "zero\na\nb\nc\nd\n")
    reply = insert(daemon, 4, "X")
    assert (reply["error"], reply["suggested_action"]) == ("stale_base", "re-read_file")
    assert reply["changes"][0]["lines"] == [[1, 1]]
    assert daemon.read("f.txt") == "zero\na\nb\nc\nd\n"
    assert insert(daemon, 4, "X")["ok"]  # the refusal has shown what is there


def test_a_line_number_follows_its_line_when_rebased() -> None:
    daemon = MemoryDaemon({"f.txt": "a\nb\nc\nd\n"})
    daemon.ask("read_file", {"path": "f.txt"})
    daemon.save("f.txt", "zero\na\nb\nc\nd\n")
    reply = insert(daemon, 4, "X", on_stale="rebase")
    assert (reply["ok"], reply["cross_version"]) == (True, True)
    assert daemon.read("f.txt") == "zero\na\nb\nc\nX\nd\n"


@pytest.mark.parametrize(("number", "after"), [(0, "X\nzero\na\n"), (-1, "zero\na\nX\n")])
def test_top_and_end_are_where_they_are_whatever_others_changed(number: int, after: str) -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    daemon.ask("read_file", {"path": "f.txt"})
    daemon.save("f.txt", "zero\na\n")
    reply = insert(daemon, number, "X")
    assert reply["ok"]
    assert reply["changed_since_your_read"]
    assert daemon.read("f.txt") == after


@pytest.mark.parametrize(
    "args", [{"line_number": "1", "text": "x"}, {"text": "x"}, {"line_number": 1}, {"line_number": 1.5, "text": ""}]
)
def test_bad_arguments_are_refused(args: dict[str, Any]) -> None:
    reply = MemoryDaemon({"f.txt": "a\n"}).ask("insert_lines", {"file": "f.txt", **args})
    assert reply["error"] == "schema_invalid"
