"""Files that went to each other's names come back, whoever has to go first."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from memory_daemon import MemoryDaemon, lines
from quire_daemon.tools.undo.tool import REDO_TOOL, UNDO_TOOL

F, G = lines("f one", "f two", "f three"), lines("g one", "g two", "g three")
NAMES = ("a", "b", "c", "in/d", "in/e", "free")


def swapped() -> MemoryDaemon:
    """Ann has swapped `f` and `g`, by three moves."""
    daemon = MemoryDaemon()
    daemon.outside("f", F)
    daemon.outside("g", G)
    for path, to in (("f", "t"), ("g", "f"), ("t", "g")):
        daemon.move(path, to, daemon.ann)
    return daemon


def texts(daemon: MemoryDaemon) -> dict[str, bytes]:
    return dict(daemon.files)


def ok(reply: dict[str, Any]) -> dict[str, Any]:
    assert reply["ok"], reply
    return reply


def test_two_files_that_were_swapped_are_swapped_back_and_again() -> None:
    daemon = swapped()
    undone = ok(daemon.call(UNDO_TOOL, daemon.ann, last=3))
    assert {(f["path"], f["action"], f["to"]) for f in undone["files"]} == {("g", "move", "f"), ("f", "move", "g")}
    assert texts(daemon) == {"f": F, "g": G}
    ok(daemon.call(REDO_TOOL, daemon.ann))
    assert texts(daemon) == {"f": G, "g": F}
    ok(daemon.call(UNDO_TOOL, daemon.ann, last=3))
    assert texts(daemon) == {"f": F, "g": G}


def test_a_plan_tells_of_it_and_its_token_carries_it_out() -> None:
    daemon = swapped()
    plan = ok(daemon.call(UNDO_TOOL, daemon.ann, last=3, plan=True))
    assert [f["action"] for f in plan["files"]] == ["move", "move"]
    assert texts(daemon) == {"f": G, "g": F}
    ok(daemon.call(UNDO_TOOL, daemon.ann, token=plan["token"]))
    assert texts(daemon) == {"f": F, "g": G}


def test_a_plan_tells_of_the_files_in_the_order_in_which_they_are_done() -> None:
    daemon = MemoryDaemon()
    daemon.outside("f", F)
    daemon.move("f", "g", daemon.ann)
    daemon.write("f", G, daemon.ann)
    plan = ok(daemon.call(UNDO_TOOL, daemon.ann, last=2, plan=True))
    done = ok(daemon.call(UNDO_TOOL, daemon.ann, token=plan["token"]))
    assert [f["path"] for f in plan["files"]] == [f["path"] for f in done["files"]]


def test_an_edit_before_the_swap_is_undone_after_it_was_swapped_back() -> None:
    """The files are the same ones through all of it, not others with the same bytes."""
    daemon = MemoryDaemon()
    daemon.outside("f", F)
    daemon.outside("g", G)
    edit = daemon.write("f", F.replace(b"two", b"TWO"), daemon.ann)
    for path, to in (("f", "t"), ("g", "f"), ("t", "g")):
        daemon.move(path, to, daemon.ben)
    ok(daemon.call(UNDO_TOOL, daemon.ben, last=3))
    assert texts(daemon) == {"f": F.replace(b"two", b"TWO"), "g": G}
    ok(daemon.call(UNDO_TOOL, daemon.ann, batch=edit))
    assert texts(daemon) == {"f": F, "g": G}


def test_what_another_wrote_into_a_swapped_file_goes_back_with_it() -> None:
    daemon = swapped()
    daemon.write("f", G.replace(b"three", b"THREE"), daemon.ben)
    ok(daemon.call(UNDO_TOOL, daemon.ann, last=3))
    assert texts(daemon) == {"f": F, "g": G.replace(b"three", b"THREE")}


def test_edits_among_the_moves_come_out_with_them() -> None:
    daemon = swapped()
    daemon.write("f", G.replace(b"one", b"ONE"), daemon.ann)
    daemon.write("g", F.replace(b"three", b"THREE"), daemon.ann)
    ok(daemon.call(UNDO_TOOL, daemon.ann, last=5))
    assert texts(daemon) == {"f": F, "g": G}


def test_a_file_waits_for_one_that_was_made_in_its_place_to_go() -> None:
    """`mv f g; echo new > f`, both undone."""
    daemon = MemoryDaemon()
    daemon.outside("f", F)
    daemon.move("f", "g", daemon.ann)
    daemon.write("f", b"new\n", daemon.ann)
    ok(daemon.call(UNDO_TOOL, daemon.ann, last=2))
    assert texts(daemon) == {"f": F}


def test_what_was_made_in_the_place_of_a_moved_file_is_made_again_when_that_has_gone_again() -> None:
    """`mv f g; echo new > f`, both undone and redone, at once or one by one."""
    for at_once in (True, False):
        daemon = MemoryDaemon()
        daemon.outside("f", F)
        daemon.move("f", "g", daemon.ann)
        daemon.write("f", b"new\n", daemon.ann)
        for last in [2] if at_once else [1, 1]:
            ok(daemon.call(UNDO_TOOL, daemon.ann, last=last))
        assert texts(daemon) == {"f": F}
        for _ in [2] if at_once else [1, 1]:
            ok(daemon.call(REDO_TOOL, daemon.ann))
        assert texts(daemon) == {"g": F, "f": b"new\n"}, at_once


def test_what_would_be_made_where_a_file_stays_is_left_alone() -> None:
    daemon = MemoryDaemon()
    daemon.outside("f", F)
    daemon.write("k", b"new\n", daemon.ann)
    daemon.delete("k", daemon.ann)
    daemon.move("f", "k", daemon.ben)
    reply = daemon.call(UNDO_TOOL, daemon.ann, last=1)
    assert (reply["error"], texts(daemon)) == ("conflict", {"k": F})
    assert reply["files"][0]["skipped"] == "occupied"


@pytest.mark.parametrize("stays", ["f", "g"])
def test_where_one_of_a_circle_cannot_go_the_others_stay_too(stays: str) -> None:
    """Its new name is taken: somebody made a file there that is nobody's to move."""
    daemon = MemoryDaemon()
    daemon.outside("f", F)
    daemon.outside("g", G)
    for path, to in (("f", "t"), ("g", "f"), ("t", "h")):
        daemon.move(path, to, daemon.ann)
    daemon.write("g" if stays == "f" else "f.other", b"ben's\n", daemon.ben)
    before = texts(daemon)
    reply = daemon.call(UNDO_TOOL, daemon.ann, last=3)
    if stays == "f":  # what is at f cannot go back to g, and so what is at h cannot go back to f
        assert (reply["error"], texts(daemon)) == ("conflict", before)
        assert {f["skipped"] for f in reply["files"]} == {"occupied"}
    else:
        assert ok(reply)
        assert texts(daemon) == {"f": F, "g": G, "f.other": b"ben's\n"}


THEN = st.sampled_from(["stays", "is edited", "is removed"])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), THEN), min_size=1, max_size=9))
@settings(max_examples=60, deadline=None)
def test_whatever_was_moved_is_where_it_was_after_an_undo_and_moved_again_after_a_redo(
    moves: list[tuple[int, int, str]],
) -> None:
    daemon = MemoryDaemon()
    for name in NAMES[:-1]:
        daemon.outside(name, lines(*(f"{name} {n}" for n in range(5))))
    before, done = texts(daemon), 0
    for a, b, then in moves:
        path, to = NAMES[a], NAMES[b]
        if path in daemon.files and to not in daemon.files:
            daemon.move(path, to, daemon.ann)
            done += 1
            if then == "is edited":
                daemon.write(to, daemon.files[to] + b"more\n", daemon.ann)
            elif then == "is removed":
                daemon.delete(to, daemon.ann)
            done += then != "stays"
    after = texts(daemon)
    if before == after:
        return
    ok(daemon.call(UNDO_TOOL, daemon.ann, last=done))
    assert texts(daemon) == before
    ok(daemon.call(REDO_TOOL, daemon.ann))
    assert texts(daemon) == after
