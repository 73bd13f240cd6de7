"""`text_editor`: one tool with five commands, three of which say what other tools do."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon
from quire_daemon.core.decision import MOST_INSIDE

FIVE = "one 1\ntwo 2\nthree 3\nfour 4\nfive 5\n"


def editor(daemon: MemoryDaemon, command: str, by: str = "ann", path: str = "f.txt", **args: Any) -> dict[str, Any]:
    """A call."""
    return daemon.ask("text_editor", {"command": command, "path": path, **args}, by=by)


# ── view ─────────────────────────────────────────────────────────────────────


def test_view_numbers_the_lines() -> None:
    reply = editor(MemoryDaemon({"f.txt": FIVE}), "view")
    assert reply["lines"][0] == "     1\tone 1"
    assert len(reply["lines"]) == 5


@pytest.mark.parametrize(("range_", "numbers"), [([2, 3], [2, 3]), ([4, -1], [4, 5]), ([5, 99], [5])])
def test_view_shows_a_range(range_: list[int], numbers: list[int]) -> None:
    reply = editor(MemoryDaemon({"f.txt": FIVE}), "view", view_range=range_)
    assert [int(line.split("\t")[0]) for line in reply["lines"]] == numbers


@pytest.mark.parametrize("range_", [[0, 2], [3, 2], [1, -2], [1]])
def test_a_range_that_is_none_is_refused_by_name(range_: list[int]) -> None:
    reply = editor(MemoryDaemon({"f.txt": FIVE}), "view", view_range=range_)
    assert reply["error"] == "schema_invalid"
    assert "view_range" in reply["message"]


def test_what_was_viewed_is_the_base_of_what_follows() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    editor(daemon, "view")
    daemon.save("f.txt", "zero\n" + FIVE)
    reply = editor(daemon, "insert", insert_line=2, insert_text="x")
    assert (reply["error"], daemon.read("f.txt")) == ("stale_base", "zero\n" + FIVE)
    editor(daemon, "view")
    daemon.save("f.txt", "minus one\nzero\n" + FIVE)
    reply = editor(daemon, "insert", insert_line=4, insert_text="x", on_stale="rebase")
    assert reply["ok"], reply
    assert daemon.read("f.txt") == "minus one\nzero\none 1\ntwo 2\nthree 3\nx\nfour 4\nfive 5\n"


def test_view_of_a_folder_shows_what_is_in_it() -> None:
    reply = editor(MemoryDaemon({"src/a.py": "a\n", "src/b.py": "b\n", "c.py": "c\n"}), "view", path="src")
    assert reply["ok"], reply
    assert (reply["lines"], reply["truncated"]) == (["src/a.py", "src/b.py"], False)
    assert reply["message"].startswith("src is a folder: 2 names")


def test_view_of_a_folder_has_an_end() -> None:
    reply = editor(MemoryDaemon({f"src/{n:04}": "x\n" for n in range(MOST_INSIDE + 1)}), "view", path="src")
    assert (len(reply["lines"]), reply["truncated"]) == (MOST_INSIDE, True)
    assert f"{MOST_INSIDE} names in it, and there are more" in reply["message"]


def test_a_folder_has_no_lines_and_is_not_edited() -> None:
    daemon = MemoryDaemon({"src/a.py": "a\n"})
    ranged = editor(daemon, "view", path="src", view_range=[1, 2])
    assert (ranged["error"], ranged["argument"]) == ("schema_invalid", "view_range")
    for command, args in (("str_replace", {"old_str": "a"}), ("insert", {"insert_line": 0, "insert_text": "x"})):
        assert editor(daemon, command, path="src", **args)["error"] == "not_a_file"


# ── create ───────────────────────────────────────────────────────────────────


def test_create_makes_a_file_and_its_folders() -> None:
    daemon = MemoryDaemon()
    reply = editor(daemon, "create", path="a/b.txt", file_text="hello\n")
    assert reply["ok"], reply
    assert daemon.read("a/b.txt") == "hello\n"


def test_create_never_overwrites_unasked() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    editor(daemon, "view")
    reply = editor(daemon, "create", file_text="gone\n")
    assert (reply["error"], daemon.read("f.txt")) == ("write_conflict", FIVE)


def test_create_takes_the_argument_that_its_refusal_asks_for() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    shown = editor(daemon, "view")
    assert "`base`" in editor(daemon, "create", file_text="new\n")["message"]
    assert editor(daemon, "create", file_text="new\n", base=shown["version"])["ok"]
    assert daemon.read("f.txt") == "new\n"


# ── str_replace ──────────────────────────────────────────────────────────────


def test_str_replace_changes_the_only_place() -> None:
    daemon = MemoryDaemon({"f.txt": b"a\r\nb\r\n\xff\r\n"})
    reply = editor(daemon, "str_replace", old_str="a\nb", new_str="A\nx\nB")
    assert reply["ok"], reply
    assert daemon.files["f.txt"] == b"A\r\nx\r\nB\r\n\xff\r\n"


def test_str_replace_without_a_new_text_removes_the_old_one() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    assert editor(daemon, "str_replace", old_str="two 2\n")["ok"]
    assert daemon.read("f.txt") == FIVE.replace("two 2\n", "")


def test_a_text_in_several_places_is_refused_with_their_lines() -> None:
    daemon = MemoryDaemon({"f.txt": "x\ny\nx\n"})
    reply = editor(daemon, "str_replace", old_str="x", new_str="z")
    assert (reply["error"], reply["matchCount"], reply["match_lines"]) == ("multiple_matches", 2, [1, 3])
    assert daemon.read("f.txt") == "x\ny\nx\n"


def test_a_text_that_is_nowhere_is_refused_with_what_comes_near() -> None:
    reply = editor(MemoryDaemon({"f.txt": FIVE}), "str_replace", old_str="two  2", new_str="z")
    assert (reply["error"], reply["near_miss"]["line"]) == ("old_text_not_found", 2)


def test_an_empty_text_is_refused() -> None:
    reply = editor(MemoryDaemon({"f.txt": FIVE}), "str_replace", old_str="", new_str="z")
    assert reply["error"] == "empty_old_text"
    assert "the command insert" in reply["message"]


def test_str_replace_takes_its_text_as_proof_and_reports_what_others_did() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    editor(daemon, "view")
    editor(daemon, "str_replace", by="ben", old_str="five 5", new_str="FIVE")
    reply = editor(daemon, "str_replace", old_str="one 1", new_str="ONE")
    assert reply["ok"], reply
    assert [news["writer"]["agent"] for news in reply["changed_since_your_read"]] == ["ben"]


# ── insert ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("before", "line", "after"),
    [("a\nb\n", 0, "x\na\nb\n"), ("a\nb\n", 1, "a\nx\nb\n"), ("a\nb\n", 2, "a\nb\nx\n"), ("a\nb", 2, "a\nb\nx")],
)
def test_insert_puts_lines_after_a_line(before: str, line: int, after: str) -> None:
    for argument in ("insert_text", "new_str"):
        daemon = MemoryDaemon({"f.txt": before})
        assert editor(daemon, "insert", insert_line=line, **{argument: "x"})["ok"]
        assert daemon.read("f.txt") == after


@pytest.mark.parametrize("line", [-1, 6])
def test_insert_beyond_the_file_is_refused(line: int) -> None:
    reply = editor(MemoryDaemon({"f.txt": FIVE}), "insert", insert_line=line, insert_text="x")
    assert (reply["error"], reply["lineCount"]) == ("line_out_of_range", 5)


# ── undo_edit ────────────────────────────────────────────────────────────────


def test_undo_edit_takes_back_ones_own_last_edit_and_keeps_everyone_elses() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE, "g.txt": "g\n"})
    editor(daemon, "str_replace", old_str="one 1", new_str="ONE")
    editor(daemon, "str_replace", by="ben", old_str="five 5", new_str="FIVE")
    editor(daemon, "str_replace", path="g.txt", old_str="g", new_str="G")
    reply = editor(daemon, "undo_edit")
    assert reply["ok"], reply
    assert (daemon.read("f.txt"), daemon.read("g.txt")) == (FIVE.replace("five 5", "FIVE"), "G\n")


def test_undo_edit_tells_of_its_file_what_every_edit_does() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    edited = editor(daemon, "str_replace", old_str="one 1\n", new_str="ONE\nTWO\n")
    reply = editor(daemon, "undo_edit")
    assert (reply["lines_before"], reply["lines_after"], reply["net_lines"]) == (6, 5, -1)
    assert reply["changed"] == [{"start": 1, "end": 1, "was_start": 1, "was_end": 2, "shift": -1}]
    assert [row[0] for row in reply["diff"]] == ["-", "-", "+", " ", " ", " "]
    assert (reply["path"], reply["writer_type"], reply["baseline_continuity"]) == ("f.txt", "undo", "mixed")
    assert reply["version"] != edited["version"]


def test_undo_edit_again_takes_back_the_edit_before() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    for old, new in (("one 1", "ONE"), ("two 2", "TWO")):
        editor(daemon, "str_replace", old_str=old, new_str=new)
    editor(daemon, "undo_edit")
    editor(daemon, "undo_edit")
    assert daemon.read("f.txt") == FIVE
    assert editor(daemon, "undo_edit")["error"] == "not_found"


def test_undo_edit_without_an_edit_of_ones_own_is_refused() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    editor(daemon, "str_replace", by="ben", old_str="one 1", new_str="ONE")
    assert editor(daemon, "undo_edit")["error"] == "not_found"
    assert daemon.read("f.txt") == FIVE.replace("one 1", "ONE")


# ── arguments ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("command", "args", "named"),
    [
        ("create", {}, "file_text"),
        ("str_replace", {"new_str": "x"}, "old_str"),
        ("insert", {"insert_text": "x"}, "insert_line"),
        ("insert", {"insert_line": 1}, "insert_text"),
        ("insert", {"insert_line": 1, "insert_text": "x", "new_str": "y"}, "insert_text"),
        ("view", {"old_str": "x"}, "old_str"),
        ("undo_edit", {"file_text": "x"}, "file_text"),
        ("rename", {}, "command"),
        ("view", {"colour": "red"}, "colour"),
    ],
)
def test_arguments_that_are_missing_or_belong_elsewhere_are_refused_by_name(
    command: str, args: dict[str, Any], named: str
) -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    reply = editor(daemon, command, **args)
    assert reply["error"] == "schema_invalid"
    assert named in reply["message"]
    assert daemon.read("f.txt") == FIVE


def test_a_dry_run_of_each_command_that_writes_changes_nothing() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    editor(daemon, "str_replace", old_str="one 1", new_str="ONE")
    was = dict(daemon.files)
    assert editor(daemon, "str_replace", old_str="two 2", new_str="x", dry_run=True)["valid"]
    assert editor(daemon, "insert", insert_line=1, insert_text="x", dry_run=True)["valid"]
    assert editor(daemon, "create", path="new.txt", file_text="x", dry_run=True)["valid"]
    assert editor(daemon, "undo_edit", dry_run=True)["valid"]
    assert daemon.files == was
