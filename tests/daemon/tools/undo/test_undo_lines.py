"""An undo of lines: what was written in them goes, and the rest of the same change stays and can be undone later."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from memory_daemon import MemoryDaemon, lines
from quire_journal.model.events import OutsideWritten
from quire_journal.model.ids import blob_id

START = lines("a", "b", "c", "d", "e", "f")


def daemon_with(text: bytes = START) -> MemoryDaemon:
    daemon = MemoryDaemon()
    daemon.outside("f.txt", text)
    return daemon


def undone(daemon: MemoryDaemon, asked: str, **more: Any) -> dict[str, Any]:
    return daemon.ask("undo", {"path": "f.txt", "lines": asked, **more})


def test_only_the_lines_that_are_named_go_back() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", lines("A", "b", "c", "d", "E", "f"), daemon.ann)
    assert undone(daemon, "4-6")["ok"]
    assert daemon.text("f.txt") == lines("A", "b", "c", "d", "e", "f")


def test_the_rest_of_the_change_is_in_force_and_a_redo_brings_the_lines_back() -> None:
    daemon = daemon_with()
    changed = lines("A", "b", "c", "d", "E", "f")
    daemon.write("f.txt", changed, daemon.ann)
    undone(daemon, "5")
    assert daemon.ask("redo", {})["ok"]
    assert daemon.text("f.txt") == changed
    undone(daemon, "5")
    assert daemon.ask("undo", {"last": 1})["ok"]
    assert daemon.text("f.txt") == START


@pytest.mark.parametrize("more", [{}, {"last": 1}, {"writer": "ann", "last": 1}, {"path": "f.txt"}])
def test_a_call_of_which_nothing_is_left_is_not_the_last_one(more: dict[str, Any]) -> None:
    """It was answered that the files are like that already."""
    daemon = daemon_with()
    first = daemon.write("f.txt", lines("A", "b", "c", "d", "e", "f"), daemon.ann)
    daemon.write("f.txt", lines("A", "b", "c", "d", "E", "f"), daemon.ann)
    undone(daemon, "5")
    plan = daemon.ask("undo", {**more, "plan": True})
    assert plan["batches"] == [first]
    assert daemon.ask("undo", {**more, "token": plan["token"]})["ok"]
    assert daemon.text("f.txt") == START
    assert daemon.ask("undo", more)["error"] == "not_found"


@pytest.mark.parametrize("more", [{"writer": "ann"}, {"writer": "ann", "path": "f.txt"}, {"writer": "ann", "last": 1}])
def test_a_redo_by_writer_or_version_finds_what_an_undo_of_lines_took(more: dict[str, Any]) -> None:
    daemon = daemon_with()
    changed = lines("A", "b", "c", "d", "E", "f")
    batch = daemon.write("f.txt", changed, daemon.ann)
    daemon.write("f.txt", both := changed.replace(b"c\n", b"C\n"), daemon.ben)
    for chosen in (more, {"batch": batch}):
        assert undone(daemon, "5", writer="ann")["ok"]
        assert daemon.ask("redo", {"writer": "ben"})["error"] == "not_found"
        assert daemon.ask("redo", {"writer": "ann", "path": "other"})["error"] == "not_found"
        assert daemon.ask("redo", chosen)["ok"]
        assert daemon.text("f.txt") == both
        assert daemon.ask("redo", chosen)["error"] == "not_found"


def test_what_an_undo_of_lines_took_of_several_writers_comes_back_at_once_only() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"b\n", b"B\n"), daemon.ann)
    daemon.write("f.txt", both := START.replace(b"b\n", b"B\n").replace(b"e\n", b"E\n"), daemon.ben)
    assert undone(daemon, "1-6", writer="*")["ok"]
    assert daemon.ask("redo", {"writer": "ann"})["error"] == "conflict"
    assert daemon.ask("redo", {"writer": "*"})["ok"]
    assert daemon.text("f.txt") == both


def test_lines_that_came_go_one_by_one_and_so_do_those_of_a_file_that_was_made() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START + lines("g", "h", "i"), daemon.ann)
    assert undone(daemon, "8")["ok"]
    assert daemon.text("f.txt") == START + lines("g", "i")
    daemon.write("new.txt", lines("1", "2", "3"), daemon.ann)
    assert daemon.ask("undo", {"path": "new.txt", "lines": "2-3"})["ok"]
    assert daemon.text("new.txt") == lines("1")


def test_a_change_of_several_versions_goes_back_to_before_all_of_them() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"c\n", b"C\n"), daemon.ann)
    daemon.write("f.txt", START.replace(b"c\n", b"C\n").replace(b"d\n", b"D\n"), daemon.ann)
    assert undone(daemon, "3-4")["ok"]
    assert daemon.text("f.txt") == START


def test_the_making_of_the_file_is_not_taken_back_beside_a_later_change() -> None:
    daemon = MemoryDaemon()
    daemon.write("f.txt", START, daemon.ann)
    daemon.write("f.txt", START.replace(b"b\n", b"B\n"), daemon.ben)
    daemon.write("f.txt", START.replace(b"b\n", b"BB\n").replace(b"e\n", b"E\n"), daemon.ann)
    assert undone(daemon, "2-5")["ok"]
    assert daemon.text("f.txt") == START.replace(b"b\n", b"B\n")


def test_a_line_that_an_equal_file_had_before_goes_back_here() -> None:
    daemon = MemoryDaemon()
    for path in ("g.txt", "f.txt"):
        daemon.outside(path, START)
        daemon.write(path, START.replace(b"b\n", b"B\n"), daemon.ann)
        daemon.outside(path, START.replace(b"b\n", b"B\n").replace(b"e\n", b"E\n"))
    assert undone(daemon, "5")["ok"]
    assert daemon.text("f.txt") == START.replace(b"b\n", b"B\n")
    assert daemon.text("g.txt") == START.replace(b"b\n", b"B\n").replace(b"e\n", b"E\n")


def test_lines_of_several_writers_want_the_name_of_the_one_that_is_meant() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"b\n", b"B\n"), daemon.ann)
    daemon.write("f.txt", START.replace(b"b\n", b"B\n").replace(b"e\n", b"E\n"), daemon.ben)
    refused = undone(daemon, "1-6")
    assert (refused["error"], refused["argument"]) == ("schema_invalid", "writer")
    assert "ann" in refused["message"]
    assert "ben" in refused["message"]
    assert undone(daemon, "1-6", writer="ben")["ok"]
    assert daemon.text("f.txt") == START.replace(b"b\n", b"B\n")


def test_what_was_there_already_is_nobodys() -> None:
    daemon = MemoryDaemon()
    daemon.note(OutsideWritten("f.txt", blob_id(START), len(START), 0o644, "captured"), blobs=(START,))
    daemon.files["f.txt"] = START
    refused = undone(daemon, "1-2")
    assert refused["error"] == "not_found"


def test_a_plan_says_what_goes_and_its_token_does_that() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", lines("A", "b", "c", "d", "E", "f"), daemon.ann)
    plan = undone(daemon, "5", plan=True)
    assert plan["files"][0]["changed"][0]["start"] == 5
    assert daemon.ask("undo", {"token": plan["token"]})["ok"]
    assert daemon.text("f.txt") == lines("A", "b", "c", "d", "e", "f")


def test_a_change_that_reaches_beyond_the_lines_and_cannot_be_cut_is_refused_with_its_lines() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", lines("X", "Y", "Z", "e", "f"), daemon.ann)
    refused = undone(daemon, "2")
    assert "lines 1-3" in refused["message"]
    assert undone(daemon, "1-3")["ok"]
    assert daemon.text("f.txt") == START


@pytest.mark.parametrize("wrong", ["0", "5-2", "x", "1-2-3"])
def test_what_are_no_lines_is_refused_by_name(wrong: str) -> None:
    refused = undone(daemon_with(), wrong)
    assert (refused["error"], refused["argument"]) == ("schema_invalid", "lines")


@given(st.lists(st.sampled_from("abcABC"), min_size=1, max_size=6), st.integers(1, 6), st.integers(0, 4))
def test_nothing_outside_the_lines_changes(text: list[str], first: int, more: int) -> None:
    daemon = daemon_with()
    wrote = lines(*text)
    if wrote == START:
        return
    daemon.write("f.txt", wrote, daemon.ann)
    last = first + more
    if not undone(daemon, f"{first}-{last}", writer="ann")["ok"]:
        assert daemon.text("f.txt") == wrote
        return
    now, was = (daemon.text("f.txt") or b"").splitlines(), wrote.splitlines()
    assert now[: first - 1] == was[: first - 1]
    assert now[len(now) - len(was[last:]) :] == was[last:]


def built_on() -> MemoryDaemon:
    """Ann added six lines; of these a person changed the second, and ben the fifth."""
    daemon = daemon_with(lines("a", "b"))
    daemon.write("f.txt", lines("a", "L1", "L2", "L3", "L4", "L5", "L6", "b"), daemon.ann)
    daemon.write("f.txt", lines("a", "L1", "L2", "L3", "L4", "ben", "L6", "b"), daemon.ben)
    daemon.outside("f.txt", lines("a", "L1", "me", "L3", "L4", "ben", "L6", "b"))
    return daemon


def test_lines_that_nobody_built_on_go_back_beside_lines_of_the_same_change_that_others_built_on() -> None:
    daemon = built_on()
    reply = undone(daemon, "4-5", writer="ann")
    assert reply["ok"], reply
    assert reply["files"][0]["conflicts"] == []
    assert daemon.text("f.txt") == lines("a", "L1", "me", "ben", "L6", "b")
    assert daemon.ask("redo", {})["ok"]
    assert daemon.text("f.txt") == lines("a", "L1", "me", "L3", "L4", "ben", "L6", "b")


def test_of_named_lines_those_that_another_built_on_stay_and_are_told() -> None:
    daemon = built_on()
    reply = undone(daemon, "4-6", writer="ann")
    assert [(one["writer"]["agent"], one["lines"]) for one in reply["files"][0]["conflicts"]] == [
        ("ben", [{"start": 6, "end": 6}])
    ]
    assert daemon.text("f.txt") == lines("a", "L1", "me", "ben", "L6", "b")


def test_replaced_lines_that_nobody_built_on_go_back_one_by_one() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", lines("a", "B", "C", "D", "e", "f"), daemon.ann)
    daemon.write("f.txt", lines("a", "B", "ben", "D", "e", "f"), daemon.ben)
    assert undone(daemon, "4", writer="ann")["ok"]
    assert daemon.text("f.txt") == lines("a", "B", "ben", "d", "e", "f")
    assert undone(daemon, "3", writer="ann")["error"] in ("conflict", "not_found")


@pytest.mark.parametrize("named", ["2-2", "4-4", "2-4"])
def test_a_line_of_a_change_that_others_built_on_and_that_cannot_be_cut_is_told_as_in_the_way(named: str) -> None:
    """The file was said to be like that already."""
    daemon = MemoryDaemon()
    daemon.outside("f", lines("one", "two", "three"))
    daemon.write("f", lines("one", "TWO", "THREE", "four"), daemon.ann)
    daemon.write("f", lines("one", "TWO", "THREE, too", "four"), daemon.ben)
    refused = daemon.ask("undo", {"path": "f", "lines": named, "writer": "ann"})
    assert (refused["error"], refused["files"][0]["conflicts"][0]["lines"]) == (
        "conflict",
        [{"start": 3, "end": 3}],
    )
