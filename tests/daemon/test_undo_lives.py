"""A file that an undo brings back is the file that went, under whichever name it comes back."""

from __future__ import annotations

import pytest
from desk import Desk, lines

from quire_daemon.handlers.blame import BLAME_TOOL
from quire_daemon.handlers.read import READ_TOOL
from quire_daemon.handlers.undo import REDO_TOOL, ROLLBACK_TOOL, UNDO_TOOL
from quire_journal.events import FileDeleted, OutsideMoved, WritesAbandoned
from quire_journal.ids import blob_id

ONE, TWO = lines("one", "1"), lines("two", "2")


@pytest.fixture
def desk() -> Desk:
    return Desk()


def texts(desk: Desk) -> dict[str, bytes]:
    return {path: lying.data for path, lying in desk.files.items()}


def test_it_goes_again_with_what_made_it(desk: Desk) -> None:
    """It came back under its first name, and ended under another."""
    made = desk.write("a", ONE, desk.ann)
    desk.move("a", "b", desk.ben)
    desk.delete("b", desk.ben)
    assert desk.call(UNDO_TOOL, desk.ben, writer="ben")["ok"]
    assert texts(desk) == {"a": ONE}
    assert desk.call(UNDO_TOOL, desk.ann, batch=made)["ok"]
    assert texts(desk) == {}
    assert desk.call(REDO_TOOL, desk.ann)["ok"]
    assert texts(desk) == {"a": ONE}


def test_it_is_not_made_a_second_time_under_its_other_name(desk: Desk) -> None:
    desk.write("a", ONE, desk.ann)
    moved = desk.move("a", "b", desk.ben)
    desk.call(UNDO_TOOL, desk.ann, batch=moved)
    desk.delete("a", desk.ann)
    desk.call(ROLLBACK_TOOL, desk.ann, to=f"seq:{moved}", writer="*")
    assert texts(desk) == {"b": ONE}
    assert desk.call(UNDO_TOOL, desk.ann, batch=moved)["files"][0]["action"] == "move"
    assert texts(desk) == {"a": ONE}


def test_what_came_to_its_name_in_between_has_a_life_of_its_own(desk: Desk) -> None:
    """Another file stood there, and was gone again when it came back."""
    first = desk.write("a", ONE, desk.ann)
    desk.write("b", TWO, desk.ann)
    desk.delete("a", desk.ann)
    moved = desk.move("b", "a", desk.ann)
    desk.call(ROLLBACK_TOOL, desk.ann, to=f"seq:{first}", writer="*")
    assert texts(desk) == {"a": ONE}
    undone = desk.call(UNDO_TOOL, desk.ann, writer="ann")
    assert texts(desk) == {}
    assert desk.call(REDO_TOOL, desk.ann, batch=undone["batch"])["ok"]
    assert texts(desk) == {"a": ONE}
    assert desk.call(UNDO_TOOL, desk.ann, batch=first)["ok"]
    assert texts(desk) == {}
    assert moved


def test_two_files_that_come_back_under_names_of_each_other_are_told_apart(desk: Desk) -> None:
    desk.write("a", ONE, desk.ann)
    desk.write("b", TWO, desk.ann)
    start = desk.move("a", "c", desk.ann)
    desk.move("b", "a", desk.ann)
    desk.write("b", lines("three"), desk.ann)
    desk.delete("a", desk.ann)
    desk.call(ROLLBACK_TOOL, desk.ann, to=f"seq:{start}", writer="*")
    assert texts(desk) == {"c": ONE, "b": TWO}
    all_of_it = desk.call(UNDO_TOOL, desk.ann, writer="ann")["batch"]
    assert texts(desk) == {}
    assert desk.call(REDO_TOOL, desk.ann, batch=all_of_it)["ok"]
    assert texts(desk) == {"c": ONE, "b": TWO}


def test_an_undo_that_was_narrowed_to_a_name_is_of_the_whole_file_that_had_it(desk: Desk) -> None:
    """It took a move from that name back. All of it taken back later, the file is where it was before."""
    desk.write("a", ONE, desk.ann)
    start = desk.move("a", "b", desk.ann)
    desk.move("b", "a", desk.ann)
    desk.move("a", "c", desk.ben)
    assert desk.call(UNDO_TOOL, desk.ben, path="a")["ok"]
    assert texts(desk) == {"a": ONE}
    assert desk.call(UNDO_TOOL, desk.ben)["error"] == "not_found"
    rolled = desk.call(ROLLBACK_TOOL, desk.ann, to=f"seq:{start}", writer="*")
    assert texts(desk) == {"b": ONE}
    assert desk.call(REDO_TOOL, desk.ann, batch=rolled["batch"])["ok"]
    assert texts(desk) == {"a": ONE}


def test_a_redo_that_was_narrowed_to_a_name_is_of_the_whole_file_that_had_it(desk: Desk) -> None:
    made = desk.write("b", ONE, desk.ann)
    desk.move("b", "a", desk.ann)
    desk.write("b", TWO, desk.ann)
    desk.call(UNDO_TOOL, desk.ann, batch=made)
    desk.call(REDO_TOOL, desk.ann, path="a")
    assert texts(desk) == {"a": ONE, "b": TWO}
    undone = desk.call(UNDO_TOOL, desk.ann, writer="ann")
    assert texts(desk) == {}
    desk.call(REDO_TOOL, desk.ann, batch=undone["batch"])
    assert texts(desk) == {"a": ONE, "b": TWO}


def test_what_was_made_where_a_file_was_deleted_does_not_get_its_lines(desk: Desk) -> None:
    """Ben takes back that he removed the last line; of the file that he had it in nothing is left."""
    desk.write("a", lines("one", "1", "last"), desk.ann)
    desk.write("a", ONE, desk.ben)
    desk.delete("a", desk.ann)
    made = desk.write("a", TWO, desk.ann)
    refused = desk.call(UNDO_TOOL, desk.ben)
    assert (refused["error"], refused["files"][0]["conflicts"][0]["seq"]) == ("conflict", made)
    assert texts(desk) == {"a": TWO}


def test_what_was_made_anew_with_lines_that_it_had_goes_on(desk: Desk) -> None:
    """As an editor saves that removes the file first."""
    desk.write("a", lines("one", "1", "last"), desk.ann)
    desk.write("a", ONE, desk.ben)
    desk.outside_deletes("a")
    desk.outside("a", lines("new", "one", "1"))
    assert desk.call(UNDO_TOOL, desk.ben)["ok"]
    assert texts(desk) == {"a": lines("new", "one", "1", "last")}


def renamed(desk: Desk, path: str, to: str) -> None:
    """Another program renames, and both ends are seen together."""
    lying = desk.files.pop(path)
    event = OutsideMoved(path, to, blob_id(lying.data), len(lying.data), lying.mode, "watched", desk.head_of(path))
    desk.note(event)
    desk.files[to] = lying


def test_it_goes_on_where_it_is_renamed_back_though_it_was_told_as_deleted_when_it_went(desk: Desk) -> None:
    """One end of the first rename was seen before the watcher told of the other."""
    desk.outside("a", b"1\n2\n3\n4\n5\n")
    desk.write("a", b"ann\n2\n3\n4\n5\n", desk.ann)
    desk.write("a", both := b"ann\n2\n3\n4\nben\n", desk.ben)
    desk.outside_deletes("a")
    desk.outside("c", both)
    renamed(desk, "c", "a")
    assert desk.call(UNDO_TOOL, desk.ann, writer="ann")["ok"]
    assert texts(desk) == {"a": b"1\n2\n3\n4\nben\n"}
    assert desk.call(REDO_TOOL, desk.ann)["ok"]
    assert texts(desk) == {"a": both}


@pytest.mark.parametrize("gone_first", [False, True])
def test_it_goes_on_where_it_stands_again_though_it_was_told_as_deleted_where_it_was(
    desk: Desk, gone_first: bool
) -> None:
    """One end of the second rename was seen before the watcher told of the other."""
    desk.outside("a", b"1\n2\n3\n4\n5\n")
    desk.write("a", b"ann\n2\n3\n4\n5\n", desk.ann)
    desk.write("a", both := b"ann\n2\n3\n4\nben\n", desk.ben)
    renamed(desk, "a", "c")
    if gone_first:
        desk.outside_deletes("c")
    desk.outside("a", both)
    if not gone_first:
        desk.outside_deletes("c")
    desk.write("a", both + b"more\n", desk.ben)
    assert desk.call(UNDO_TOOL, desk.ann, writer="ann")["ok"]
    assert texts(desk) == {"a": b"1\n2\n3\n4\nben\nmore\n"}
    assert desk.call(REDO_TOOL, desk.ann)["ok"]
    assert texts(desk) == {"a": both + b"more\n"}


def test_another_file_that_is_renamed_to_where_it_was_deleted_is_another(desk: Desk) -> None:
    desk.outside("a", ONE)
    desk.write("a", ONE + TWO, desk.ann)
    desk.outside_deletes("a")
    desk.outside("c", TWO)
    renamed(desk, "c", "a")
    assert not desk.call(UNDO_TOOL, desk.ann, writer="ann")["ok"]
    assert texts(desk) == {"a": TWO}


def test_what_came_to_the_name_that_it_left_says_nothing_of_the_one_to_which_it_came_back(desk: Desk) -> None:
    """Another file is where it went from; an editor that removes it first then saves it, elsewhere."""
    desk.write("a", lines("one", "1", "last"), desk.ann)
    second = desk.write("a", ONE, desk.ben)
    desk.move("a", "b", desk.ann)
    desk.delete("b", desk.ann)
    cleo = desk.introduce("cleo", "s3")
    desk.write("c", TWO, cleo)
    desk.move("c", "b", cleo)
    desk.call(ROLLBACK_TOOL, desk.ann, to=f"seq:{second}", writer="ann")
    assert texts(desk) == {"a": ONE, "b": TWO}
    desk.outside_deletes("a")
    desk.outside("a", lines("new", "one", "1"))
    assert desk.call(UNDO_TOOL, desk.ben)["ok"]
    assert texts(desk) == {"a": lines("new", "one", "1", "last"), "b": TWO}


def test_what_came_to_the_name_by_which_it_went_is_undone_together_with_that(desk: Desk) -> None:
    """It comes back elsewhere, and needs that name no more: the other was called occupied, and stayed there."""
    desk.outside("a", ONE)
    desk.outside("c", TWO)
    desk.move("a", "b", desk.ann)
    desk.delete("b", desk.ann)
    desk.move("c", "b", desk.ann)
    desk.write("b", lines("two", "2", "3"), desk.ann)
    after = texts(desk)
    for _ in range(2):
        undone = desk.call(UNDO_TOOL, desk.ann, last=4)
        assert (undone["ok"], undone.get("stayed")) == (True, None)
        assert texts(desk) == {"a": ONE, "c": TWO}
        assert desk.call(REDO_TOOL, desk.ann)["ok"]
        assert texts(desk) == after


def test_what_was_written_at_the_name_by_which_another_went_is_undone_there(desk: Desk) -> None:
    desk.outside("a", ONE)
    desk.move("a", "b", desk.ann)
    desk.delete("b", desk.ann)
    desk.outside("c", TWO)
    desk.move("c", "b", desk.ben)
    desk.write("b", lines("two", "2", "3"), desk.ann)
    assert desk.call(UNDO_TOOL, desk.ann, last=3)["ok"]
    assert texts(desk) == {"a": ONE, "b": TWO}


def test_it_stays_the_same_where_its_mode_goes_back_with_its_name(desk: Desk) -> None:
    first = desk.write("a", ONE, desk.ann)
    desk.chmod("a", 0o755, desk.ben)
    desk.move("a", "b", desk.ben)
    desk.call(UNDO_TOOL, desk.ben, last=2)
    assert (texts(desk), desk.files["a"].mode) == ({"a": ONE}, 0o644)
    assert desk.call(REDO_TOOL, desk.ben)["files"][0]["action"] == "move"
    assert (texts(desk), desk.files["b"].mode) == ({"b": ONE}, 0o755)
    desk.call(UNDO_TOOL, desk.ben, last=2)
    assert desk.call(UNDO_TOOL, desk.ann, batch=first)["ok"]
    assert texts(desk) == {}


def test_what_a_redo_had_to_leave_alone_is_undone_as_before(desk: Desk) -> None:
    """Another file stood there. It is not made by an undo of what made it at first, but can be once there is room."""
    desk.write("c", TWO, desk.ann)
    desk.move("c", "b", desk.ann)
    desk.move("b", "c", desk.ben)
    made = desk.write("b", ONE, desk.ann)
    desk.write("b", lines("one", "more"), desk.ann)
    desk.call(UNDO_TOOL, desk.ann, writer="*")
    redone = desk.call(REDO_TOOL, desk.ann, writer="ann")
    assert [file.get("skipped") for file in redone["files"]] == [None, "occupied"]
    desk.move("b", "a", desk.ann)
    refused = desk.call(UNDO_TOOL, desk.ann, batch=made)
    assert refused["error"] == "not_found"
    assert texts(desk) == {"a": TWO}


def test_what_an_undo_had_to_leave_alone_can_be_undone_once_there_is_room(desk: Desk) -> None:
    """Ann removed `a`, and made `b`; Ben's file came to the place of `a`."""
    desk.outside("a", ONE)
    desk.outside("c", TWO)
    both = desk.note(FileDeleted("a", desk.head_of("a")), FileDeleted("c", desk.head_of("c")), who=desk.ann)
    desk.files.clear()
    desk.write("b", lines("ben's"), desk.ben)
    desk.move("b", "a", desk.ben)
    undone = desk.call(UNDO_TOOL, desk.ann)
    assert [(file["path"], file.get("skipped")) for file in undone["files"]] == [("a", "occupied"), ("c", None)]
    desk.move("a", "elsewhere", desk.ben)
    assert desk.call(UNDO_TOOL, desk.ann, batch=both)["ok"]
    assert texts(desk) == {"a": ONE, "c": TWO, "elsewhere": lines("ben's")}
    assert desk.call(REDO_TOOL, desk.ann)["ok"]
    assert texts(desk) == {"c": TWO, "elsewhere": lines("ben's")}
    assert desk.call(REDO_TOOL, desk.ann)["ok"]
    assert texts(desk) == {"elsewhere": lines("ben's")}


def test_it_is_followed_also_where_another_file_stands_at_the_name_by_which_it_went(desk: Desk) -> None:
    desk.write("b", ONE, desk.ann)
    desk.outside("c", TWO)
    desk.move("c", "a", desk.ben)
    desk.delete("a", desk.ben)
    desk.move("b", "a", desk.ann)
    assert desk.call(UNDO_TOOL, desk.ben, last=2)["ok"]
    assert texts(desk) == {"a": ONE, "c": TWO}
    redone = desk.call(REDO_TOOL, desk.ben)
    assert [(file["path"], file["action"]) for file in redone["files"]] == [("c", "delete")]
    assert texts(desk) == {"a": ONE}
    assert desk.call(UNDO_TOOL, desk.ben, batch=redone["batch"])["ok"]
    assert texts(desk) == {"a": ONE, "c": TWO}


def test_the_file_that_stands_at_the_name_by_which_it_went_has_no_part_in_that(desk: Desk) -> None:
    """Who was shown it knows it still, and who wrote its lines did."""
    desk.outside("c", lines("one", "two"))
    desk.move("c", "a", desk.ben)
    desk.delete("a", desk.ben)
    desk.write("b", ONE, desk.ann)
    standing = desk.move("b", "a", desk.ann)
    desk.call(READ_TOOL, desk.ben, path="a", hashes=True)
    assert desk.call(UNDO_TOOL, desk.ben, last=2)["ok"]
    with desk.history() as history:
        shown = history.shown(desk.ben.key, "a")
    assert shown is not None
    assert (shown.version, shown.lines) == (standing, ((0, 2),))
    blamed = desk.call(BLAME_TOOL, desk.ann, path="c")
    assert {line["writer"]["agent"] for line in blamed["lines"]} == {"ben"}, "ann's `one` is another"


def test_what_an_undo_brought_back_elsewhere_is_taken_back_with_it(desk: Desk) -> None:
    """The journal takes the record back; the file that stands there stays the one that it was."""
    desk.outside("c", TWO)
    desk.move("c", "a", desk.ben)
    desk.delete("a", desk.ben)
    desk.write("b", ONE, desk.ann)
    head = desk.move("b", "a", desk.ann)
    undone = desk.call(UNDO_TOOL, desk.ben, last=2)["batch"]
    with desk.history() as history:
        before = history.file("a")
        seqs = tuple(history.batch_writes(undone))
    edited = desk.write("a", lines("one", "more"), desk.ann)
    desk.note(WritesAbandoned(seqs, "held_open"))
    with desk.history() as history:
        after, gone = history.file("a"), history.file("c")
    assert before is not None
    assert after is not None
    assert gone is not None
    assert (before.seq, after.seq, after.index, gone.gone) == (head, edited, before.index + 1, True)


def test_a_rollback_to_a_point_within_a_batch_undoes_the_rest_of_it_and_no_more(desk: Desk) -> None:
    """Of what had been made by then the batch is still in force: it can be undone, and that taken back."""
    batch = desk.write_all({"a": ONE, "b": TWO}, desk.ann)
    rolled = desk.call(ROLLBACK_TOOL, desk.ann, to=f"seq:{batch}")
    assert [(file["path"], file.get("skipped")) for file in rolled["files"]] == [("a", "as_then"), ("b", None)]
    assert desk.call(UNDO_TOOL, desk.ann, batch=batch)["ok"]
    assert texts(desk) == {}
    assert desk.call(REDO_TOOL, desk.ann)["ok"]
    assert texts(desk) == {"a": ONE}
    assert desk.call(REDO_TOOL, desk.ann)["ok"]
    assert texts(desk) == {"a": ONE, "b": TWO}


def test_what_came_to_a_name_that_another_had_before_an_undo_goes_with_all_of_its_own_work(desk: Desk) -> None:
    """That other one was looked at together with the undo, and of this one only what it did under that name."""
    desk.outside("b", TWO)
    desk.move("b", "a", desk.ann)
    desk.call(UNDO_TOOL, desk.ann)
    desk.write("c", ONE, desk.ann)
    desk.move("c", "a", desk.ann)
    desk.write_all({"b": TWO + b"more\n", "a": ONE + b"more\n"}, desk.ann)
    assert desk.call(UNDO_TOOL, desk.ann, writer="*")["ok"]
    assert texts(desk) == {"b": TWO}
