"""Where one work was built on another, it does not matter in which order, or how often, both are undone and redone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from desk import Desk, OnDesk, lines
from undoings import START

from quire_daemon.handlers.undo import REDO_TOOL, UNDO_TOOL
from quire_journal.events import FileMoved
from quire_journal.ids import blob_id


def ann_and_ben() -> tuple[Desk, int, int]:
    """Ben has built on one of two lines that Ann changed, and on where she moved the file."""
    desk = Desk()
    desk.outside("f", START)
    desk.write("f", START.replace(b"five", b"FIVE"), desk.ben)
    ann = desk.write("f", lines("ONE", "two", "THREE", "four", "FIVE", "six"), desk.ann)
    ben = desk.write("f", lines("ONE", "two", "THREE by ben", "four", "FIVE", "six"), desk.ben)
    return desk, ann, ben


def moved_by_both() -> tuple[Desk, int, int]:
    """Ann has moved a file and changed a line in one go, Ben has moved it on."""
    desk = Desk()
    desk.outside("f", START)
    edited = START.replace(b"one", b"ONE")
    moved = FileMoved("f", "g", blob_id(edited), len(edited), 0o644, desk.head_of("f"))
    ann = desk.note(moved, who=desk.ann, blobs=(edited,))
    del desk.files["f"]
    desk.files["g"] = OnDesk(edited)
    return desk, ann, desk.move("g", "h", desk.ben)


def texts(desk: Desk) -> dict[str, bytes]:
    return {path: lying.data for path, lying in desk.files.items()}


BEGUN = pytest.mark.parametrize("begun", [ann_and_ben, moved_by_both])
Begun = Callable[[], tuple[Desk, int, int]]


@BEGUN
def test_the_order_of_two_undos_makes_no_difference(begun: Begun) -> None:
    """What was told to stay because Ben built on it goes with his work, for hers is undone."""
    came_to = []
    for order in (("ann", "ben"), ("ben", "ann"), ("*",)):
        desk, ann, _ = begun()
        for writer in order:
            reply = desk.call(UNDO_TOOL, desk.ann, writer=writer, **{"from": f"seq:{ann - 1}"})
            assert reply["ok"], reply
        assert [file["conflicts"] for file in reply["files"]] == [[]]
        came_to.append(texts(desk))
    assert came_to[0] == came_to[1] == came_to[2]


@BEGUN
def test_a_redo_brings_back_the_one_work_without_the_other(begun: Begun) -> None:
    desk, ann, _ = begun()
    desk.call(UNDO_TOOL, desk.ben)
    anns = texts(desk)
    desk, ann, _ = begun()
    hers = desk.call(UNDO_TOOL, desk.ann, writer="ann", **{"from": f"seq:{ann - 1}"})
    assert desk.call(UNDO_TOOL, desk.ben)["ok"]
    assert desk.call(REDO_TOOL, desk.ann, batch=hers["batch"])["ok"]
    assert texts(desk) == anns


def test_what_others_took_back_is_not_in_the_way_however_many_undos_there_were() -> None:
    """Between what Ben built on Ann's line and his undo of that, her other line is undone: the two are no one run."""
    desk = Desk()
    desk.outside("f", START)
    desk.write("f", START.replace(b"three", b"THREE"), desk.ann)
    for n in range(250):
        before = desk.text("f")
        assert before is not None
        ben = desk.write("f", before.replace(b"THREE", b"THREE by ben"), desk.ben)
        if n == 0:
            desk.write("f", before.replace(b"THREE", b"THREE by ben").replace(b"six", b"SIX"), desk.ann)
        assert desk.call(UNDO_TOOL, desk.ben, batch=ben)["ok"]
    reply = desk.call(UNDO_TOOL, desk.ann, writer="ann")
    assert (desk.text("f"), [file["conflicts"] for file in reply["files"]]) == (START, [[]])


def test_an_undo_that_had_nothing_to_do_in_a_file_counts_there_all_the_same() -> None:
    """Ben had taken out by hand what Ann had written. Her work is undone, so that it does not come back with his."""
    desk = Desk()
    desk.outside("f", START)
    desk.outside("g", START)
    edited = START.replace(b"two", b"TWO")
    ann = desk.write_all({"f": edited, "g": edited}, desk.ann)
    desk.write_all({"f": START.replace(b"six", b"SIX")}, desk.ben)
    undone = desk.call(UNDO_TOOL, desk.ann, batch=ann)
    assert [(f["path"], f["action"]) for f in undone["files"]] == [("f", "none"), ("g", "write")]
    assert desk.call(UNDO_TOOL, desk.ben)["ok"]
    assert texts(desk) == {"f": START, "g": START}
    assert desk.call(REDO_TOOL, desk.ben)["ok"]
    assert texts(desk) == {"f": START.replace(b"six", b"SIX"), "g": START}


def test_conflict_markers_of_others_stay_where_what_is_undone_is_elsewhere() -> None:
    desk, ann, _ = ann_and_ben()
    desk.call(UNDO_TOOL, desk.ann, batch=ann, conflicts="markers")
    marked = desk.text("f")
    assert marked is not None
    assert b"<<<<<<<" in marked
    assert desk.call(UNDO_TOOL, desk.ben, to=f"seq:{ann - 1}", writer="ben")["ok"]
    assert desk.text("f") == marked.replace(b"FIVE", b"five")


def test_where_very_many_undos_stand_in_the_file_an_undo_is_answered_all_the_same() -> None:
    desk, ann, _ = ann_and_ben()
    desk.call(UNDO_TOOL, desk.ann, batch=ann)
    for _ in range(101):
        desk.write("f", (desk.text("f") or b"").replace(b"six", b"SIX"), desk.ann)
        desk.call(UNDO_TOOL, desk.ann)
        desk.call(REDO_TOOL, desk.ann)
    before = desk.text("f") or b""
    assert desk.call(UNDO_TOOL, desk.ben, to=f"seq:{ann - 1}", writer="ben")["ok"]
    assert desk.text("f") == before.replace(b"FIVE", b"five")


def test_kept_are_later_versions_only_though_older_work_was_undone_in_between() -> None:
    desk, ann, ben = ann_and_ben()
    desk.outside("f", (desk.text("f") or b"").replace(b"six", b"SIX"))
    desk.call(UNDO_TOOL, desk.ann, batch=ann)
    last = desk.outside("f", (desk.text("f") or b"") + b"seven\n")
    reply = desk.call(UNDO_TOOL, desk.ben, batch=ben)
    assert [kept["batch"] for kept in reply["files"][0]["kept"]] == [ben + 1, last]
    assert desk.text("f") == lines("one", "two", "three", "four", "FIVE", "SIX", "seven")
