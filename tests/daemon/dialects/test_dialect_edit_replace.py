"""`edit_replace`: an exact text, replaced where it stands."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon


def replace(daemon: MemoryDaemon, old: str, new: str, by: str = "ann", **args: Any) -> dict[str, Any]:
    """A call on f.txt."""
    return daemon.ask("edit_replace", {"file": "f.txt", "old_text": old, "new_text": new, **args}, by=by)


def refused(daemon: MemoryDaemon, reply: dict[str, Any], code: str) -> dict[str, Any]:
    """`reply` is a refusal with `code`, and nothing was written."""
    assert (reply["ok"], reply["error"]) == (False, code)
    return reply


def test_the_first_place_is_replaced_and_the_others_are_told() -> None:
    daemon = MemoryDaemon({"f.txt": "foo bar foo\n"})
    reply = replace(daemon, "foo", "qux")
    assert (reply["ok"], reply["replacements_made"], reply["operations_applied"]) == (True, 1, 1)
    assert reply["warnings"][0]["type"] == "multiple_matches"
    assert "2 times" in reply["warnings"][0]["message"]
    assert daemon.read("f.txt") == "qux bar foo\n"


@pytest.mark.parametrize(
    ("count", "made", "after"), [(0, 3, "b b b"), (2, 2, "b b a"), (3, 3, "b b b"), (9, 3, "b b b")]
)
def test_count_is_the_most_that_is_replaced_and_none_is_all(count: int, made: int, after: str) -> None:
    daemon = MemoryDaemon({"f.txt": "a a a"})
    reply = replace(daemon, "a", "b", count=count)
    assert (reply["replacements_made"], bool(reply["warnings"])) == (made, made < 3)
    assert daemon.read("f.txt") == after


def test_an_old_text_may_span_lines_of_any_style_and_each_line_keeps_its_own() -> None:
    daemon = MemoryDaemon({"f.txt": b"a\r\nb\nc\r\n"})
    assert replace(daemon, "a\nb\r\nc", "A\nB\nC")["ok"]
    assert daemon.files["f.txt"] == b"A\r\nB\nC\r\n"


def test_bytes_that_are_no_text_survive_beside_the_match() -> None:
    daemon = MemoryDaemon({"f.txt": b"\xef\xbb\xbfx = \xff\x0c1\r\n"})
    assert replace(daemon, "x", "y")["ok"]
    assert daemon.files["f.txt"] == b"\xef\xbb\xbfy = \xff\x0c1\r\n"


def test_removing_a_line_with_its_break_removes_the_line() -> None:
    daemon = MemoryDaemon({"f.txt": "import os\nimport sys\n"})
    reply = replace(daemon, "import sys\n", "")
    assert (reply["lines_after"], daemon.read("f.txt")) == (1, "import os\n")


def test_a_text_that_is_not_there_is_refused_with_the_place_that_is_like_it() -> None:
    daemon = MemoryDaemon({"f.txt": "if x:\n    foo()\n    bar()\n"})
    reply = refused(daemon, replace(daemon, "foo()\nbar()", "baz()"), "old_text_not_found")
    assert (reply["near_miss"]["line"], reply["near_miss"]["differs"]) == (2, "whitespace")
    assert "Line 2" in reply["message"]
    assert reply["replacements_made"] == 0
    assert daemon.read("f.txt") == "if x:\n    foo()\n    bar()\n"


def test_what_a_lossy_read_shows_never_matches() -> None:
    daemon = MemoryDaemon({"f.txt": b"caf\xe9\n"})
    reply = refused(daemon, replace(daemon, "caf\ufffd", "tea"), "old_text_not_found")
    assert "U+FFFD" in reply["message"]
    assert daemon.files["f.txt"] == b"caf\xe9\n"


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"old_text": "", "new_text": "x"}, "empty_old_text"),
        ({"old_text": "", "new_text": "x", "count": 0}, "empty_old_text"),
        ({"old_text": "a", "new_text": "x", "count": -1}, "schema_invalid"),
        ({"old_text": "a", "new_text": "x", "count": 1.5}, "schema_invalid"),
        ({"old_text": "a", "new_text": "x", "count": True}, "schema_invalid"),
        ({"old_text": "a"}, "schema_invalid"),
        ({"old_text": "a", "new_text": "x", "regex": True}, "schema_invalid"),
        ({"old_text": "a", "new_text": "x", "path": "g.txt"}, "schema_invalid"),
    ],
)
def test_bad_arguments_are_refused_and_change_nothing(args: dict[str, Any], code: str) -> None:
    daemon = MemoryDaemon({"f.txt": "a\n", "g.txt": "a\n"})
    refused(daemon, daemon.ask("edit_replace", {"file": "f.txt", **args}), code)
    assert (daemon.read("f.txt"), daemon.read("g.txt")) == ("a\n", "a\n")


@pytest.mark.parametrize("name", ["path", "file"])
def test_the_file_may_be_called_file_or_path(name: str) -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    assert daemon.ask("edit_replace", {name: "f.txt", "old_text": "a", "new_text": "b"})["ok"]
    both = {"path": "f.txt", "file": "f.txt", "old_text": "b", "new_text": "c"}
    assert daemon.ask("edit_replace", both)["ok"]
    refused(daemon, daemon.ask("edit_replace", {"old_text": "a", "new_text": "b"}), "schema_invalid")


def test_a_folder_is_no_file_and_what_is_missing_is_not_found() -> None:
    daemon = MemoryDaemon({"d/f.txt": "a\n"})
    for path, code in (("d", "not_a_file"), ("gone.txt", "not_found")):
        refused(daemon, daemon.ask("edit_replace", {"file": path, "old_text": "a", "new_text": "b"}), code)


def test_the_text_is_proof_enough_after_a_change_by_others_which_is_told() -> None:
    daemon = MemoryDaemon({"f.txt": "one\ntwo\nthree\n"})
    daemon.ask("read_file", {"path": "f.txt"})
    daemon.save("f.txt", "ONE\ntwo\nthree\nfour\n")
    reply = replace(daemon, "two", "2")
    assert reply["ok"]
    assert reply["changed_since_your_read"][0]["lines"] == [[1, 1], [4, 4]]
    assert daemon.read("f.txt") == "ONE\n2\nthree\nfour\n"


def test_a_text_that_others_removed_is_not_found_though_the_base_had_it() -> None:
    daemon = MemoryDaemon({"f.txt": "one\ntwo\n"})
    daemon.ask("read_file", {"path": "f.txt"})
    daemon.save("f.txt", "one\n2\n")
    reply = refused(daemon, replace(daemon, "two", "deux"), "old_text_not_found")
    assert reply["changed_since_your_read"]
    assert daemon.read("f.txt") == "one\n2\n"


def test_replacing_a_text_by_itself_changes_nothing() -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    reply = replace(daemon, "a", "a")
    assert (reply["unchanged"], reply["replacements_made"]) == (True, 1)


def test_a_dry_run_says_what_would_be_and_writes_nothing() -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    assert replace(daemon, "a", "b", dry_run=True)["valid"] is True
    assert replace(daemon, "x", "b", dry_run=True)["valid"] is False
    assert daemon.read("f.txt") == "a\n"
