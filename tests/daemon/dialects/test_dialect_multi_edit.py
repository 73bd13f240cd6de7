"""`multi_edit`: replacements one after another, each in what the ones before made."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon


def edit(daemon: MemoryDaemon, *pairs: tuple[str, str], **args: Any) -> dict[str, Any]:
    """A call on f.txt."""
    edits = [{"old_text": old, "new_text": new} for old, new in pairs]
    return daemon.ask("multi_edit", {"file": "f.txt", "edits": edits, **args})


def test_each_edit_sees_what_the_ones_before_made() -> None:
    daemon = MemoryDaemon({"f.txt": "import os\nx = 1\n"})
    reply = edit(daemon, ("import os", "import os\nimport sys"), ("import sys", "import re"), ("x = 1", "x = 42"))
    assert (reply["ok"], reply["applied"], reply["failed"], reply["operations_applied"]) == (True, 3, [], 3)
    assert daemon.read("f.txt") == "import os\nimport re\nx = 42\n"


def test_an_edit_that_fails_is_skipped_and_told_and_the_others_proceed() -> None:
    daemon = MemoryDaemon({"f.txt": "x = 1\ny = 2\n"})
    reply = edit(daemon, ("x = 1", "x = 10"), ("NOPE", "z"), ("y = 2", "y = 20"))
    assert (reply["ok"], reply["applied"], len(reply["failed"])) == (True, 2, 1)
    assert reply["failed"][0].startswith("Edit 2: ")
    assert "'NOPE'" in reply["failed"][0]
    assert reply["message"].startswith("2 operations applied")
    assert daemon.read("f.txt") == "x = 10\ny = 20\n"


def test_an_edit_whose_text_an_earlier_one_removed_fails() -> None:
    daemon = MemoryDaemon({"f.txt": "abc\n"})
    reply = edit(daemon, ("abc", "x"), ("abc", "y"))
    assert (reply["applied"], len(reply["failed"])) == (1, 1)
    assert daemon.read("f.txt") == "x\n"


def test_no_edit_applied_is_a_refusal_that_lists_them_all() -> None:
    daemon = MemoryDaemon({"f.txt": "abc\n"})
    reply = edit(daemon, ("NOPE1", "a"), ("ab c", "b"))
    assert (reply["ok"], reply["error"], reply["applied"]) == (False, "old_text_not_found", 0)
    assert [row[:7] for row in reply["failed"]] == ["Edit 1:", "Edit 2:"]
    assert "Line 1" in reply["failed"][1]
    assert daemon.read("f.txt") == "abc\n"


def test_no_edits_is_a_refusal() -> None:
    reply = edit(MemoryDaemon({"f.txt": "abc\n"}))
    assert (reply["error"], reply["applied"]) == ("empty_edits", 0)


def test_an_empty_text_refuses_the_whole_call() -> None:
    daemon = MemoryDaemon({"f.txt": "abc\n"})
    reply = edit(daemon, ("abc", "x"), ("", "y"))
    assert (reply["error"], reply["editIndex"], reply["applied"]) == ("empty_old_text", 1, 0)
    assert daemon.read("f.txt") == "abc\n"


def test_the_first_of_several_places_is_taken_with_a_warning() -> None:
    daemon = MemoryDaemon({"f.txt": "a\na\n"})
    reply = edit(daemon, ("a", "b"))
    assert [w["type"] for w in reply["warnings"]] == ["multiple_matches"]
    assert "edit 1" in reply["warnings"][0]["message"]
    assert daemon.read("f.txt") == "b\na\n"


def test_lines_that_no_edit_names_keep_their_bytes() -> None:
    daemon = MemoryDaemon({"f.txt": b"\xef\xbb\xbfa\r\nb \xff\nc\rd"})
    assert edit(daemon, ("a", "A"), ("A\nb", "A\nX\nb"), ("d", "D"))["ok"]
    assert daemon.files["f.txt"] == b"\xef\xbb\xbfA\r\nX\r\nb \xff\nc\rD"


def test_edits_that_undo_each_other_change_nothing() -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    reply = edit(daemon, ("a", "b"), ("b", "a"))
    assert (reply["applied"], reply["unchanged"]) == (2, True)


@pytest.mark.parametrize("edits", [None, [{"old_text": "a"}], [{"old_text": "a", "new_text": "b", "count": 2}], "a"])
def test_edits_of_another_shape_are_refused(edits: Any) -> None:
    reply = MemoryDaemon({"f.txt": "a\n"}).ask("multi_edit", {"file": "f.txt", "edits": edits})
    assert (reply["ok"], reply["error"]) == (False, "schema_invalid")


def test_changes_by_others_are_told_and_kept() -> None:
    daemon = MemoryDaemon({"f.txt": "one\ntwo\n"})
    daemon.ask("read_file", {"path": "f.txt"})
    daemon.save("f.txt", "zero\none\ntwo\n")
    reply = edit(daemon, ("two", "2"))
    assert reply["ok"]
    assert reply["changed_since_your_read"][0]["lines"] == [[1, 1]]
    assert daemon.read("f.txt") == "zero\none\n2\n"
