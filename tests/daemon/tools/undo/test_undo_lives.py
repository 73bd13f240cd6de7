"""A file that an undo brings back is the file that went, under whichever name it comes back."""

from __future__ import annotations

import pytest

from memory_daemon import MemoryDaemon, lines
from quire_daemon.tools.history.blame import BLAME_TOOL
from quire_daemon.tools.read import READ_TOOL
from quire_daemon.tools.undo.tool import REDO_TOOL, ROLLBACK_TOOL, UNDO_TOOL
from quire_journal.model.events import FileDeleted, OutsideMoved, WritesAbandoned
from quire_journal.model.ids import blob_id

ONE, TWO = lines("one", "1"), lines("two", "2")


@pytest.fixture
def daemon() -> MemoryDaemon:
    return MemoryDaemon()


def texts(daemon: MemoryDaemon) -> dict[str, bytes]:
    return dict(daemon.files)


def test_it_goes_again_with_what_made_it(daemon: MemoryDaemon) -> None:
    """It came back under its first name, and ended under another."""
    made = daemon.write("a", ONE, daemon.ann)
    daemon.move("a", "b", daemon.ben)
    daemon.delete("b", daemon.ben)
    assert daemon.call(UNDO_TOOL, daemon.ben, writer="ben")["ok"]
    assert texts(daemon) == {"a": ONE}
    assert daemon.call(UNDO_TOOL, daemon.ann, batch=made)["ok"]
    assert texts(daemon) == {}
    assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
    assert texts(daemon) == {"a": ONE}


def test_it_is_not_made_a_second_time_under_its_other_name(daemon: MemoryDaemon) -> None:
    daemon.write("a", ONE, daemon.ann)
    moved = daemon.move("a", "b", daemon.ben)
    daemon.call(UNDO_TOOL, daemon.ann, batch=moved)
    daemon.delete("a", daemon.ann)
    daemon.call(ROLLBACK_TOOL, daemon.ann, to=f"seq:{moved}", writer="*")
    assert texts(daemon) == {"b": ONE}
    assert daemon.call(UNDO_TOOL, daemon.ann, batch=moved)["files"][0]["action"] == "move"
    assert texts(daemon) == {"a": ONE}


def test_what_came_to_its_name_in_between_has_a_life_of_its_own(daemon: MemoryDaemon) -> None:
    """Another file stood there, and was gone again when it came back."""
    first = daemon.write("a", ONE, daemon.ann)
    daemon.write("b", TWO, daemon.ann)
    daemon.delete("a", daemon.ann)
    moved = daemon.move("b", "a", daemon.ann)
    daemon.call(ROLLBACK_TOOL, daemon.ann, to=f"seq:{first}", writer="*")
    assert texts(daemon) == {"a": ONE}
    undone = daemon.call(UNDO_TOOL, daemon.ann, writer="ann")
    assert texts(daemon) == {}
    assert daemon.call(REDO_TOOL, daemon.ann, batch=undone["batch"])["ok"]
    assert texts(daemon) == {"a": ONE}
    assert daemon.call(UNDO_TOOL, daemon.ann, batch=first)["ok"]
    assert texts(daemon) == {}
    assert moved


def test_two_files_that_come_back_under_names_of_each_other_are_told_apart(daemon: MemoryDaemon) -> None:
    daemon.write("a", ONE, daemon.ann)
    daemon.write("b", TWO, daemon.ann)
    start = daemon.move("a", "c", daemon.ann)
    daemon.move("b", "a", daemon.ann)
    daemon.write("b", lines("three"), daemon.ann)
    daemon.delete("a", daemon.ann)
    daemon.call(ROLLBACK_TOOL, daemon.ann, to=f"seq:{start}", writer="*")
    assert texts(daemon) == {"c": ONE, "b": TWO}
    all_of_it = daemon.call(UNDO_TOOL, daemon.ann, writer="ann")["batch"]
    assert texts(daemon) == {}
    assert daemon.call(REDO_TOOL, daemon.ann, batch=all_of_it)["ok"]
    assert texts(daemon) == {"c": ONE, "b": TWO}


def test_an_undo_narrowed_to_an_old_name_applies_to_the_whole_file(daemon: MemoryDaemon) -> None:
    """It took a move from that name back. All of it taken back later, the file is where it was before."""
    daemon.write("a", ONE, daemon.ann)
    start = daemon.move("a", "b", daemon.ann)
    daemon.move("b", "a", daemon.ann)
    daemon.move("a", "c", daemon.ben)
    assert daemon.call(UNDO_TOOL, daemon.ben, path="a")["ok"]
    assert texts(daemon) == {"a": ONE}
    assert daemon.call(UNDO_TOOL, daemon.ben)["error"] == "not_found"
    rolled = daemon.call(ROLLBACK_TOOL, daemon.ann, to=f"seq:{start}", writer="*")
    assert texts(daemon) == {"b": ONE}
    assert daemon.call(REDO_TOOL, daemon.ann, batch=rolled["batch"])["ok"]
    assert texts(daemon) == {"a": ONE}


def test_a_redo_that_was_narrowed_to_a_name_is_of_the_whole_file_that_had_it(daemon: MemoryDaemon) -> None:
    made = daemon.write("b", ONE, daemon.ann)
    daemon.move("b", "a", daemon.ann)
    daemon.write("b", TWO, daemon.ann)
    daemon.call(UNDO_TOOL, daemon.ann, batch=made)
    daemon.call(REDO_TOOL, daemon.ann, path="a")
    assert texts(daemon) == {"a": ONE, "b": TWO}
    undone = daemon.call(UNDO_TOOL, daemon.ann, writer="ann")
    assert texts(daemon) == {}
    daemon.call(REDO_TOOL, daemon.ann, batch=undone["batch"])
    assert texts(daemon) == {"a": ONE, "b": TWO}


def test_what_was_made_where_a_file_was_deleted_does_not_get_its_lines(daemon: MemoryDaemon) -> None:
    """Ben takes back that he removed the last line; of the file that he had it in nothing is left."""
    daemon.write("a", lines("one", "1", "last"), daemon.ann)
    daemon.write("a", ONE, daemon.ben)
    daemon.delete("a", daemon.ann)
    made = daemon.write("a", TWO, daemon.ann)
    refused = daemon.call(UNDO_TOOL, daemon.ben)
    assert (refused["error"], refused["files"][0]["conflicts"][0]["seq"]) == ("conflict", made)
    assert texts(daemon) == {"a": TWO}


def test_what_was_made_anew_with_lines_that_it_had_goes_on(daemon: MemoryDaemon) -> None:
    """As an editor saves that removes the file first."""
    daemon.write("a", lines("one", "1", "last"), daemon.ann)
    daemon.write("a", ONE, daemon.ben)
    daemon.outside_deletes("a")
    daemon.outside("a", lines("new", "one", "1"))
    assert daemon.call(UNDO_TOOL, daemon.ben)["ok"]
    assert texts(daemon) == {"a": lines("new", "one", "1", "last")}


def renamed(daemon: MemoryDaemon, path: str, to: str) -> None:
    """Another program renames, and both ends are seen together."""
    data = daemon.files[path]
    event = OutsideMoved(path, to, blob_id(data), len(data), daemon.mode(path), "watched", daemon.head_of(path))
    daemon.note(event)
    daemon.files.move(path, to)


def test_it_goes_on_where_it_is_renamed_back_though_it_was_told_as_deleted_when_it_went(daemon: MemoryDaemon) -> None:
    """One end of the first rename was seen before the watcher told of the other."""
    daemon.outside("a", b"1\n2\n3\n4\n5\n")
    daemon.write("a", b"ann\n2\n3\n4\n5\n", daemon.ann)
    daemon.write("a", both := b"ann\n2\n3\n4\nben\n", daemon.ben)
    daemon.outside_deletes("a")
    daemon.outside("c", both)
    renamed(daemon, "c", "a")
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="ann")["ok"]
    assert texts(daemon) == {"a": b"1\n2\n3\n4\nben\n"}
    assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
    assert texts(daemon) == {"a": both}


@pytest.mark.parametrize("gone_first", [False, True])
def test_it_goes_on_where_it_stands_again_though_it_was_told_as_deleted_where_it_was(
    daemon: MemoryDaemon, gone_first: bool
) -> None:
    """One end of the second rename was seen before the watcher told of the other."""
    daemon.outside("a", b"1\n2\n3\n4\n5\n")
    daemon.write("a", b"ann\n2\n3\n4\n5\n", daemon.ann)
    daemon.write("a", both := b"ann\n2\n3\n4\nben\n", daemon.ben)
    renamed(daemon, "a", "c")
    if gone_first:
        daemon.outside_deletes("c")
    daemon.outside("a", both)
    if not gone_first:
        daemon.outside_deletes("c")
    daemon.write("a", both + b"more\n", daemon.ben)
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="ann")["ok"]
    assert texts(daemon) == {"a": b"1\n2\n3\n4\nben\nmore\n"}
    assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
    assert texts(daemon) == {"a": both + b"more\n"}


def brought(daemon: MemoryDaemon, path: str, data: bytes, gone: str) -> None:
    """Git makes a file anew under one name, and takes it from another."""
    daemon.outside(path, data)
    daemon.outside_deletes(gone)


@pytest.mark.parametrize("now", [ONE, ONE + TWO])
def test_a_move_is_undone_after_git_has_stashed_it_and_brought_it_back(daemon: MemoryDaemon, now: bytes) -> None:
    daemon.outside("a", ONE)
    daemon.move("a", "b", daemon.ann)
    if now != ONE:
        daemon.write("b", now, daemon.ann)
    for _ in range(2):
        brought(daemon, "a", ONE, gone="b")
        brought(daemon, "b", now, gone="a")
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="ann")["ok"]
    assert texts(daemon) == {"a": ONE}
    assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
    assert texts(daemon) == {"b": now}


def test_another_file_that_is_renamed_to_where_it_was_deleted_is_another(daemon: MemoryDaemon) -> None:
    daemon.outside("a", ONE)
    daemon.write("a", ONE + TWO, daemon.ann)
    daemon.outside_deletes("a")
    daemon.outside("c", TWO)
    renamed(daemon, "c", "a")
    assert not daemon.call(UNDO_TOOL, daemon.ann, writer="ann")["ok"]
    assert texts(daemon) == {"a": TWO}


def test_what_came_to_the_name_that_it_left_says_nothing_of_the_one_to_which_it_came_back(daemon: MemoryDaemon) -> None:
    """Another file is where it went from; an editor that removes it first then saves it, elsewhere."""
    daemon.write("a", lines("one", "1", "last"), daemon.ann)
    second = daemon.write("a", ONE, daemon.ben)
    daemon.move("a", "b", daemon.ann)
    daemon.delete("b", daemon.ann)
    cleo = daemon.introduce("cleo", "s3")
    daemon.write("c", TWO, cleo)
    daemon.move("c", "b", cleo)
    daemon.call(ROLLBACK_TOOL, daemon.ann, to=f"seq:{second}", writer="ann")
    assert texts(daemon) == {"a": ONE, "b": TWO}
    daemon.outside_deletes("a")
    daemon.outside("a", lines("new", "one", "1"))
    assert daemon.call(UNDO_TOOL, daemon.ben)["ok"]
    assert texts(daemon) == {"a": lines("new", "one", "1", "last"), "b": TWO}


def test_what_came_to_the_name_by_which_it_went_is_undone_together_with_that(daemon: MemoryDaemon) -> None:
    """It comes back elsewhere, and needs that name no more: the other was called occupied, and stayed there."""
    daemon.outside("a", ONE)
    daemon.outside("c", TWO)
    daemon.move("a", "b", daemon.ann)
    daemon.delete("b", daemon.ann)
    daemon.move("c", "b", daemon.ann)
    daemon.write("b", lines("two", "2", "3"), daemon.ann)
    after = texts(daemon)
    for _ in range(2):
        undone = daemon.call(UNDO_TOOL, daemon.ann, last=4)
        assert (undone["ok"], undone.get("stayed")) == (True, None)
        assert texts(daemon) == {"a": ONE, "c": TWO}
        assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
        assert texts(daemon) == after


def test_what_was_written_at_the_name_by_which_another_went_is_undone_there(daemon: MemoryDaemon) -> None:
    daemon.outside("a", ONE)
    daemon.move("a", "b", daemon.ann)
    daemon.delete("b", daemon.ann)
    daemon.outside("c", TWO)
    daemon.move("c", "b", daemon.ben)
    daemon.write("b", lines("two", "2", "3"), daemon.ann)
    assert daemon.call(UNDO_TOOL, daemon.ann, last=3)["ok"]
    assert texts(daemon) == {"a": ONE, "b": TWO}


def test_it_stays_the_same_where_its_mode_goes_back_with_its_name(daemon: MemoryDaemon) -> None:
    first = daemon.write("a", ONE, daemon.ann)
    daemon.chmod("a", 0o755, daemon.ben)
    daemon.move("a", "b", daemon.ben)
    daemon.call(UNDO_TOOL, daemon.ben, last=2)
    assert (texts(daemon), daemon.mode("a")) == ({"a": ONE}, 0o644)
    assert daemon.call(REDO_TOOL, daemon.ben)["files"][0]["action"] == "move"
    assert (texts(daemon), daemon.mode("b")) == ({"b": ONE}, 0o755)
    daemon.call(UNDO_TOOL, daemon.ben, last=2)
    assert daemon.call(UNDO_TOOL, daemon.ann, batch=first)["ok"]
    assert texts(daemon) == {}


def test_what_a_redo_had_to_leave_alone_is_undone_as_before(daemon: MemoryDaemon) -> None:
    """Another file stood there. It is not made by an undo of what made it at first, but can be once there is room."""
    daemon.write("c", TWO, daemon.ann)
    daemon.move("c", "b", daemon.ann)
    daemon.move("b", "c", daemon.ben)
    made = daemon.write("b", ONE, daemon.ann)
    daemon.write("b", lines("one", "more"), daemon.ann)
    daemon.call(UNDO_TOOL, daemon.ann, writer="*")
    redone = daemon.call(REDO_TOOL, daemon.ann, writer="ann")
    assert [file.get("skipped") for file in redone["files"]] == [None, "occupied"]
    daemon.move("b", "a", daemon.ann)
    refused = daemon.call(UNDO_TOOL, daemon.ann, batch=made)
    assert refused["error"] == "not_found"
    assert texts(daemon) == {"a": TWO}


def test_what_an_undo_had_to_leave_alone_can_be_undone_once_there_is_room(daemon: MemoryDaemon) -> None:
    """Ann removed `a`, and made `b`; Ben's file came to the place of `a`."""
    daemon.outside("a", ONE)
    daemon.outside("c", TWO)
    both = daemon.note(FileDeleted("a", daemon.head_of("a")), FileDeleted("c", daemon.head_of("c")), who=daemon.ann)
    daemon.files.clear()
    daemon.write("b", lines("ben's"), daemon.ben)
    daemon.move("b", "a", daemon.ben)
    undone = daemon.call(UNDO_TOOL, daemon.ann)
    assert [(file["path"], file.get("skipped")) for file in undone["files"]] == [("a", "occupied"), ("c", None)]
    daemon.move("a", "elsewhere", daemon.ben)
    assert daemon.call(UNDO_TOOL, daemon.ann, batch=both)["ok"]
    assert texts(daemon) == {"a": ONE, "c": TWO, "elsewhere": lines("ben's")}
    assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
    assert texts(daemon) == {"c": TWO, "elsewhere": lines("ben's")}
    assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
    assert texts(daemon) == {"elsewhere": lines("ben's")}


def test_it_is_followed_also_where_another_file_stands_at_the_name_by_which_it_went(daemon: MemoryDaemon) -> None:
    daemon.write("b", ONE, daemon.ann)
    daemon.outside("c", TWO)
    daemon.move("c", "a", daemon.ben)
    daemon.delete("a", daemon.ben)
    daemon.move("b", "a", daemon.ann)
    assert daemon.call(UNDO_TOOL, daemon.ben, last=2)["ok"]
    assert texts(daemon) == {"a": ONE, "c": TWO}
    redone = daemon.call(REDO_TOOL, daemon.ben)
    assert [(file["path"], file["action"]) for file in redone["files"]] == [("c", "delete")]
    assert texts(daemon) == {"a": ONE}
    assert daemon.call(UNDO_TOOL, daemon.ben, batch=redone["batch"])["ok"]
    assert texts(daemon) == {"a": ONE, "c": TWO}


def test_the_file_that_stands_at_the_name_by_which_it_went_has_no_part_in_that(daemon: MemoryDaemon) -> None:
    """Who was shown it knows it still, and who wrote its lines did."""
    made = daemon.outside("c", lines("one", "two"))
    daemon.move("c", "a", daemon.ben)
    daemon.delete("a", daemon.ben)
    daemon.write("b", ONE, daemon.ann)
    standing = daemon.move("b", "a", daemon.ann)
    daemon.call(READ_TOOL, daemon.ben, path="a", hashes=True)
    assert daemon.call(UNDO_TOOL, daemon.ben, last=2)["ok"]
    with daemon.history() as history:
        shown = history.shown(daemon.ben.key, "a")
    assert shown is not None
    assert (shown.version, shown.lines) == (standing, ((0, 2),))
    blamed = daemon.call(BLAME_TOOL, daemon.ann, path="c")
    assert {line["version"] for line in blamed["lines"]} == {f"v{made}"}, "ann's `one` is another"
    brought = [line["brought"] for line in blamed["lines"]]
    assert {(one["by"], one["writer"]) for one in brought} == {("undo", "ben/s2")}


def test_what_an_undo_brought_back_elsewhere_is_taken_back_with_it(daemon: MemoryDaemon) -> None:
    """The journal takes the record back; the file that stands there stays the one that it was."""
    daemon.outside("c", TWO)
    daemon.move("c", "a", daemon.ben)
    daemon.delete("a", daemon.ben)
    daemon.write("b", ONE, daemon.ann)
    head = daemon.move("b", "a", daemon.ann)
    undone = daemon.call(UNDO_TOOL, daemon.ben, last=2)["batch"]
    with daemon.history() as history:
        before = history.file("a")
        seqs = tuple(history.batch_writes(undone))
    edited = daemon.write("a", lines("one", "more"), daemon.ann)
    daemon.note(WritesAbandoned(seqs, "held_open"))
    with daemon.history() as history:
        after, gone = history.file("a"), history.file("c")
    assert before is not None
    assert after is not None
    assert gone is not None
    assert (before.seq, after.seq, after.index, gone.gone) == (head, edited, before.index + 1, True)


def test_a_rollback_to_a_point_within_a_batch_undoes_the_rest_of_it_and_no_more(daemon: MemoryDaemon) -> None:
    """Of what had been made by then the batch is still in force: it can be undone, and that taken back."""
    batch = daemon.write_all({"a": ONE, "b": TWO}, daemon.ann)
    rolled = daemon.call(ROLLBACK_TOOL, daemon.ann, to=f"seq:{batch}")
    assert [(file["path"], file.get("skipped")) for file in rolled["files"]] == [("a", "as_then"), ("b", None)]
    assert daemon.call(UNDO_TOOL, daemon.ann, batch=batch)["ok"]
    assert texts(daemon) == {}
    assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
    assert texts(daemon) == {"a": ONE}
    assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
    assert texts(daemon) == {"a": ONE, "b": TWO}


def test_what_came_to_a_name_that_another_had_before_an_undo_goes_with_all_of_its_own_work(
    daemon: MemoryDaemon,
) -> None:
    """That other one was looked at together with the undo, and of this one only what it did under that name."""
    daemon.outside("b", TWO)
    daemon.move("b", "a", daemon.ann)
    daemon.call(UNDO_TOOL, daemon.ann)
    daemon.write("c", ONE, daemon.ann)
    daemon.move("c", "a", daemon.ann)
    daemon.write_all({"b": TWO + b"more\n", "a": ONE + b"more\n"}, daemon.ann)
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="*")["ok"]
    assert texts(daemon) == {"b": TWO}
