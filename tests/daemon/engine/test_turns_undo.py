"""Turns of a daemon that undo: what others save meanwhile, and files that changed names, on a real disk."""

from __future__ import annotations

import pytest
from daemon_turns import KEY, Daemon, write

from quire_daemon.core.call import MOST_OF_LONG, TRIES, TRIES_OF_LONG
from quire_daemon.engine.perform import MANY
from quire_daemon.tools.undo.apply import MOST_SHOWN


def test_a_file_comes_back_into_a_folder_of_which_another_file_took_the_name(daemon: Daemon) -> None:
    """That one has to go first: the undo was refused whole, for there was no folder to make the file in."""
    for path in ("d/x", "e"):
        assert daemon.turn(ann=write(path))["ann"]["ok"]
    assert daemon.turn(ann=("delete_file", {"path": "d/x"}))["ann"]["ok"]
    (daemon.root / "d").rmdir()
    assert daemon.turn(ann=("move_file", {"path": "e", "to": "d"}))["ann"]["ok"]
    undone = daemon.turn(ann=("undo", {"last": 2}))["ann"]
    assert undone["ok"], undone
    assert (daemon.text("d/x"), daemon.text("e")) == ("new\n", "new\n")


def edited(daemon: Daemon, files: int) -> list[str]:
    """So many files that ann has edited, in one request."""
    names = [f"f{n}" for n in range(files)]
    for name in names:
        (daemon.root / name).write_text(f"first\n\n\n\nbefore {name}\n")
    patch = "".join(f"*** Update File: {name}\n-before {name}\n+after {name}\n" for name in names)
    assert daemon.turn(ann=("apply_patch", {"patch": f"*** Begin Patch\n{patch}*** End Patch\n"}))["ann"]["ok"]
    return names


def saving(daemon: Daemon, *names: str) -> list[str]:
    """From now on a program saves these files each time when an undo is about to write; how often it was so."""
    saves: list[str] = []

    def save(step: str) -> None:
        if step == "after_stage":
            saves.append(step)
            for name in names:
                kept = (daemon.root / name).read_text().rpartition("\n\n")[2]
                (daemon.root / name).write_text(f"saved {len(saves)}\n\n\n\n{kept}")

    daemon.at_step = save
    return saves


@pytest.mark.parametrize("files", [3, MANY + 20])
def test_files_that_are_saved_again_and_again_are_left_out_of_an_undo_after_a_few_tries(
    daemon: Daemon, files: int
) -> None:
    """They kept it from finishing for as long as they were saved, and each try put all of it into the log anew."""
    names = edited(daemon, files)
    restless = {names[0], names[-1]}
    before = daemon.app.recorder.journal.head
    saves = saving(daemon, *restless)
    reply = daemon.turn(ann=("undo", {}))["ann"]
    assert reply["ok"], reply
    assert {f["path"] for f in reply["files"] if f["skipped"] == "changed_meanwhile"} == restless
    assert {daemon.text(name) for name in names} == {
        *(f"first\n\n\n\nbefore {name}\n" for name in names if name not in restless),
        *(f"saved {len(saves)}\n\n\n\nafter {name}\n" for name in restless),
    }
    assert len(saves) <= 2 * TRIES + 1
    if files >= MANY:  # both were found in the first look: what is behind the one that lost is looked at, too
        assert len(saves) == TRIES_OF_LONG + 1
        assert daemon.app.recorder.journal.head - before < (TRIES_OF_LONG + 2) * (files + MOST_SHOWN)
    daemon.at_step = lambda step: None
    again = daemon.turn(ann=("undo", {"batch": reply["batches"][0]}))["ann"]
    assert again["ok"], again
    assert daemon.text(names[0]) == f"saved {len(saves)}\n\n\n\nbefore {names[0]}\n"


def test_an_undo_that_must_be_whole_is_busy_where_a_file_is_saved_again_and_again(daemon: Daemon) -> None:
    names = edited(daemon, MANY)
    saves = saving(daemon, names[-1])
    refused = daemon.turn(ann=("undo", {"conflicts": "abort"}))["ann"]
    assert (refused["error"], refused["files"][0]["path"]) == ("busy", names[-1])
    assert {daemon.text(name) for name in names[:-1]} == {f"first\n\n\n\nafter {name}\n" for name in names[:-1]}
    assert len(saves) == TRIES_OF_LONG


def test_one_file_that_is_saved_now_and_then_is_undone_all_the_same(daemon: Daemon) -> None:
    """Nothing else waits for it: it is tried as often as an edit is."""
    names = edited(daemon, 1)
    saves = saving(daemon, *names)
    several, save = 3 * TRIES, daemon.at_step
    daemon.at_step = lambda step: save(step) if len(saves) < several else None
    assert daemon.turn(ann=("undo", {}))["ann"]["ok"]
    assert daemon.text(names[0]) == f"saved {several}\n\n\n\nbefore {names[0]}\n"


def test_files_that_were_swapped_are_swapped_back_and_what_gets_in_the_way_loses_nothing(daemon: Daemon) -> None:
    def swap() -> None:
        for path, to in (("f", "t"), ("g", "f"), ("t", "g")):
            assert daemon.turn(ann=("move_file", {"path": path, "to": to}))["ann"]["ok"]

    def save(step: str) -> None:
        free = [name for name in ("f", "g") if not (daemon.root / name).exists()]
        if step == "perform.moved" and free:  # one stands aside, and its name is taken before another comes to it
            daemon.at_step = lambda step: None
            (daemon.root / free[0]).write_text("outside\n")

    (daemon.root / "f").write_text("1\n")
    (daemon.root / "g").write_text("2\n")
    swap()
    assert daemon.turn(ann=("undo", {"last": 3}))["ann"]["ok"]
    files = {path.name: path.read_text() for path in daemon.root.iterdir() if path.is_file()}
    assert files == {"f": "1\n", "g": "2\n"}
    swap()
    daemon.at_step = save
    daemon.turn(ann=("undo", {"last": 3}))
    there = [path.read_text() for path in daemon.root.iterdir() if path.is_file()]
    assert sorted(there) == ["1\n", "2\n", "outside\n"]


def test_a_long_request_that_names_its_files_gives_up_soon(daemon: Daemon) -> None:
    """None of them may be left out, and each try is as long as the first."""
    names = edited(daemon, MANY)
    saves = saving(daemon, names[3])
    patch = "".join(f"*** Update File: {name}\n-after {name}\n+patched {name}\n" for name in names)
    refused = daemon.turn(ann=("apply_patch", {"patch": f"*** Begin Patch\n{patch}*** End Patch\n"}))["ann"]
    assert (refused["error"], refused["path"]) == ("busy", names[3])
    assert len(saves) == MOST_OF_LONG + 1
    assert {daemon.text(name) for name in names if name != names[3]} == {
        f"first\n\n\n\nafter {name}\n" for name in names if name != names[3]
    }


def test_what_comes_back_into_a_folder_whose_name_a_file_keeps_is_left_alone(daemon: Daemon) -> None:
    """The file stays, as nobody could bring it back: the undo of all else was refused with it, each time."""
    for path in ("d/x", "other"):
        assert daemon.turn(ann=write(path))["ann"]["ok"]
    assert daemon.turn(ann=("delete_file", {"path": "d/x"}))["ann"]["ok"]
    (daemon.root / "d").rmdir()
    assert daemon.turn(ann=("delete_file", {"path": "other"}))["ann"]["ok"]
    assert daemon.turn(ann=("write_file", {"path": "d", "content": KEY}))["ann"]["ok"]
    undone = daemon.turn(ann=("undo", {"last": 3}))["ann"]
    assert undone["ok"], undone
    assert {file["path"]: file["skipped"] for file in undone["files"]} == {
        "d/x": "occupied",
        "other": None,
        "d": "uncaptured",
    }
    assert daemon.text("other") == "new\n"


def test_a_reply_about_one_changed_file_is_about_that_whatever_else_was_left_alone(daemon: Daemon) -> None:
    assert daemon.turn(ann=("write_file", {"path": "d/x", "content": KEY}))["ann"]["ok"]
    assert daemon.turn(ann=("delete_file", {"path": "d/x", "allow_uncaptured": True}))["ann"]["ok"]
    (daemon.root / "d").rmdir()
    assert daemon.turn(ann=write("d"))["ann"]["ok"]
    undone = daemon.turn(ann=("undo", {"last": 2}))["ann"]
    assert undone["ok"], undone
    assert undone["path"] == "d", undone


def test_two_files_that_took_the_names_of_each_others_folders_go_back(daemon: Daemon) -> None:
    """One of them steps aside, as each needs a folder where the other is."""
    for path in ("d/x", "e/y"):
        assert daemon.turn(ann=("write_file", {"path": path, "content": f"{path}\n"}))["ann"]["ok"]
    for path, to in (("d/x", "1"), ("e/y", "2")):
        assert daemon.turn(ann=("move_file", {"path": path, "to": to}))["ann"]["ok"]
        (daemon.root / path).parent.rmdir()
    for path, to in (("1", "e"), ("2", "d")):
        assert daemon.turn(ann=("move_file", {"path": path, "to": to}))["ann"]["ok"]
    undone = daemon.turn(ann=("undo", {"last": 4}))["ann"]
    assert undone["ok"], undone
    assert (daemon.text("d/x"), daemon.text("e/y")) == ("d/x\n", "e/y\n")
