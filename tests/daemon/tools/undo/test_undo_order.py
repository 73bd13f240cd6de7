"""Where one work was built on another, it does not matter in which order, or how often, both are undone and redone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from undoings import START

from memory_daemon import MemoryDaemon, lines
from quire_daemon.tools.undo.tool import REDO_TOOL, UNDO_TOOL
from quire_journal.model.events import FileMoved
from quire_journal.model.ids import blob_id


def ann_and_ben() -> tuple[MemoryDaemon, int, int]:
    """Ben has built on one of two lines that Ann changed, and on where she moved the file."""
    daemon = MemoryDaemon()
    daemon.outside("f", START)
    daemon.write("f", START.replace(b"five", b"FIVE"), daemon.ben)
    ann = daemon.write("f", lines("ONE", "two", "THREE", "four", "FIVE", "six"), daemon.ann)
    ben = daemon.write("f", lines("ONE", "two", "THREE by ben", "four", "FIVE", "six"), daemon.ben)
    return daemon, ann, ben


def moved_by_both() -> tuple[MemoryDaemon, int, int]:
    """Ann has moved a file and changed a line in one go, Ben has moved it on."""
    daemon = MemoryDaemon()
    daemon.outside("f", START)
    edited = START.replace(b"one", b"ONE")
    moved = FileMoved("f", "g", blob_id(edited), len(edited), 0o644, daemon.head_of("f"))
    ann = daemon.note(moved, who=daemon.ann, blobs=(edited,))
    del daemon.files["f"]
    daemon.files["g"] = edited
    return daemon, ann, daemon.move("g", "h", daemon.ben)


def texts(daemon: MemoryDaemon) -> dict[str, bytes]:
    return dict(daemon.files)


BEGUN = pytest.mark.parametrize("begun", [ann_and_ben, moved_by_both])
Begun = Callable[[], tuple[MemoryDaemon, int, int]]


@BEGUN
def test_the_order_of_two_undos_makes_no_difference(begun: Begun) -> None:
    """What was told to stay because Ben built on it goes with his work, for hers is undone."""
    came_to = []
    for order in (("ann", "ben"), ("ben", "ann"), ("*",)):
        daemon, ann, _ = begun()
        for writer in order:
            reply = daemon.call(UNDO_TOOL, daemon.ann, writer=writer, **{"from": f"seq:{ann - 1}"})
            assert reply["ok"], reply
        assert [file["conflicts"] for file in reply["files"]] == [[]]
        came_to.append(texts(daemon))
    assert came_to[0] == came_to[1] == came_to[2]


@BEGUN
def test_a_redo_brings_back_the_one_work_without_the_other(begun: Begun) -> None:
    daemon, ann, _ = begun()
    daemon.call(UNDO_TOOL, daemon.ben)
    anns = texts(daemon)
    daemon, ann, _ = begun()
    hers = daemon.call(UNDO_TOOL, daemon.ann, writer="ann", **{"from": f"seq:{ann - 1}"})
    assert daemon.call(UNDO_TOOL, daemon.ben)["ok"]
    assert daemon.call(REDO_TOOL, daemon.ann, batch=hers["batch"])["ok"]
    assert texts(daemon) == anns


def test_what_others_took_back_is_not_in_the_way_however_many_undos_there_were() -> None:
    """Between what Ben built on Ann's line and his undo of that, her other line is undone: the two are no one run."""
    daemon = MemoryDaemon()
    daemon.outside("f", START)
    daemon.write("f", START.replace(b"three", b"THREE"), daemon.ann)
    for n in range(250):
        before = daemon.text("f")
        assert before is not None
        ben = daemon.write("f", before.replace(b"THREE", b"THREE by ben"), daemon.ben)
        if n == 0:
            daemon.write("f", before.replace(b"THREE", b"THREE by ben").replace(b"six", b"SIX"), daemon.ann)
        assert daemon.call(UNDO_TOOL, daemon.ben, batch=ben)["ok"]
    reply = daemon.call(UNDO_TOOL, daemon.ann, writer="ann")
    assert (daemon.text("f"), [file["conflicts"] for file in reply["files"]]) == (START, [[]])


def test_an_undo_that_had_nothing_to_do_in_a_file_counts_there_all_the_same() -> None:
    """Ben had taken out by hand what Ann had written. Her work is undone, so that it does not come back with his."""
    daemon = MemoryDaemon()
    daemon.outside("f", START)
    daemon.outside("g", START)
    edited = START.replace(b"two", b"TWO")
    ann = daemon.write_all({"f": edited, "g": edited}, daemon.ann)
    daemon.write_all({"f": START.replace(b"six", b"SIX")}, daemon.ben)
    undone = daemon.call(UNDO_TOOL, daemon.ann, batch=ann)
    assert [(f["path"], f["action"]) for f in undone["files"]] == [("f", "none"), ("g", "write")]
    assert daemon.call(UNDO_TOOL, daemon.ben)["ok"]
    assert texts(daemon) == {"f": START, "g": START}
    assert daemon.call(REDO_TOOL, daemon.ben)["ok"]
    assert texts(daemon) == {"f": START.replace(b"six", b"SIX"), "g": START}


def test_conflict_markers_of_others_stay_where_what_is_undone_is_elsewhere() -> None:
    daemon, ann, _ = ann_and_ben()
    daemon.call(UNDO_TOOL, daemon.ann, batch=ann, conflicts="markers")
    marked = daemon.text("f")
    assert marked is not None
    assert b"<<<<<<<" in marked
    assert daemon.call(UNDO_TOOL, daemon.ben, to=f"seq:{ann - 1}", writer="ben")["ok"]
    assert daemon.text("f") == marked.replace(b"FIVE", b"five")


def test_where_very_many_undos_stand_in_the_file_an_undo_is_answered_all_the_same() -> None:
    daemon, ann, _ = ann_and_ben()
    daemon.call(UNDO_TOOL, daemon.ann, batch=ann)
    for _ in range(101):
        daemon.write("f", (daemon.text("f") or b"").replace(b"six", b"SIX"), daemon.ann)
        daemon.call(UNDO_TOOL, daemon.ann)
        daemon.call(REDO_TOOL, daemon.ann)
    before = daemon.text("f") or b""
    assert daemon.call(UNDO_TOOL, daemon.ben, to=f"seq:{ann - 1}", writer="ben")["ok"]
    assert daemon.text("f") == before.replace(b"FIVE", b"five")


def test_kept_lists_only_later_versions_even_if_older_work_was_undone_in_between() -> None:
    daemon, ann, ben = ann_and_ben()
    daemon.outside("f", (daemon.text("f") or b"").replace(b"six", b"SIX"))
    daemon.call(UNDO_TOOL, daemon.ann, batch=ann)
    last = daemon.outside("f", (daemon.text("f") or b"") + b"seven\n")
    reply = daemon.call(UNDO_TOOL, daemon.ben, batch=ben)
    assert [kept["batch"] for kept in reply["files"][0]["kept"]] == [ben + 1, last]
    assert daemon.text("f") == lines("one", "two", "three", "four", "FIVE", "SIX", "seven")
