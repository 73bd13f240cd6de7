"""Undo of work in a file that was renamed since: a path means the file that has it now, with its past."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon, lines

START = lines(*(f"line {n}" for n in range(8)))
ANN = START.replace(b"line 2", b"ann's")


@pytest.fixture(params=["mv", "git mv", "another's tool"])
def daemon(request: pytest.FixtureRequest) -> MemoryDaemon:
    """Ann has changed a file, which was renamed, and Ben has changed it then."""
    daemon = MemoryDaemon({"old": START})
    daemon.watch("captured")
    daemon.write("old", ANN, daemon.ann)
    if request.param == "another's tool":
        daemon.move("old", "moved", daemon.who("carl"))
    else:
        daemon.outside_moves("old", "moved", "" if request.param == "mv" else request.param)
    daemon.write("moved", ANN.replace(b"line 6", b"ben's"), daemon.ben)
    return daemon


BEN = START.replace(b"line 6", b"ben's")


def undone(daemon: MemoryDaemon, **args: Any) -> dict[str, bytes]:
    """The files after an undo that was planned before."""
    planned = daemon.ask("undo", {**args, "plan": True}, "max")
    assert planned["ok"], planned
    reply = daemon.ask("undo", {"token": planned["token"]}, "max")
    assert reply["ok"], reply
    return dict(daemon.files)


@pytest.mark.parametrize("path", ["moved", "old", "*ov*", "."])
def test_the_work_of_a_writer_is_taken_back_by_either_name(daemon: MemoryDaemon, path: str) -> None:
    assert undone(daemon, path=path, writer="ann") == {"moved": BEN}
    assert daemon.ask("redo", {"path": path, "writer": "ann"}, "max")["ok"]
    assert dict(daemon.files) == {"moved": ANN.replace(b"line 6", b"ben's")}


def test_a_line_that_was_written_under_the_old_name_is_taken_back(daemon: MemoryDaemon) -> None:
    assert undone(daemon, path="moved", lines="3") == {"moved": BEN}


def test_a_later_undo_knows_what_was_taken_back_by_the_new_name(daemon: MemoryDaemon) -> None:
    assert undone(daemon, path="moved", writer="ann") == {"moved": BEN}
    assert undone(daemon, path="moved", writer="ben") == {"moved": START}
    assert not daemon.ask("undo", {"path": "moved", "writer": "ann"}, "max")["ok"]
    daemon.outside_moves("moved", "again")
    assert daemon.ask("redo", {"path": "again", "writer": "ann"}, "max")["ok"]
    assert dict(daemon.files) == {"again": ANN}


def test_a_path_that_another_file_has_now_means_that_one_alone(daemon: MemoryDaemon) -> None:
    daemon.write("old", b"new\n", daemon.ben)
    assert not daemon.ask("undo", {"path": "old", "writer": "ann"}, "max")["ok"]
    assert undone(daemon, path="old", writer="ben") == {"moved": ANN.replace(b"line 6", b"ben's")}
    assert undone(daemon, path="moved", writer="ann") == {"moved": BEN}


def test_a_new_file_that_was_renamed_goes_with_its_writers_work() -> None:
    daemon = MemoryDaemon()
    daemon.write("new", START, daemon.ann)
    daemon.outside_moves("new", "moved", "git mv")
    assert undone(daemon, path="moved", writer="ann") == {}


def test_names_that_two_files_have_swapped_each_mean_their_file() -> None:
    daemon = MemoryDaemon({"a": START, "b": b"1\n2\n3\n"})
    daemon.watch("captured")
    daemon.write("a", ANN, daemon.ann)
    daemon.write("b", b"1\nann's\n3\n", daemon.ann)
    for path, to in (("a", "c"), ("b", "a"), ("c", "b")):
        daemon.outside_moves(path, to)
    assert undone(daemon, path="a", writer="ann") == {"b": ANN, "a": b"1\n2\n3\n"}
    assert undone(daemon, path="b", writer="ann") == {"b": START, "a": b"1\n2\n3\n"}


def test_after_a_stash_and_its_return_a_renamed_file_is_undone_by_its_name(daemon: MemoryDaemon) -> None:
    both = daemon.files["moved"]
    daemon.by_git("git stash", moved=None, old=START)
    daemon.by_git("git stash pop", old=None, moved=both)
    assert undone(daemon, path="moved", writer="ann") == {"moved": BEN}


@pytest.mark.parametrize("lines", ["", "3"])
def test_what_is_rejected_is_taken_back_though_the_file_was_renamed_before_and_since(
    daemon: MemoryDaemon, lines: str
) -> None:
    rejected = daemon.ask("reject", {"path": "moved", "writer": "ann", **({"lines": lines} if lines else {})}, "max")
    assert len(rejected["rejections"]) == 1, rejected
    daemon.outside_moves("moved", "again")
    daemon.after(2)
    for _ in range(4):
        daemon.app.turn([])
    daemon.recorder.commit()
    assert dict(daemon.files) == {"again": BEN}
