"""Folders that an undo leaves empty: those that the undone work made go with its files."""

from __future__ import annotations

import os

import pytest

from memory_daemon import MemoryDaemon, lines
from quire_journal.model.events import WorkspaceScanned

ONE = lines("one")


@pytest.fixture
def daemon() -> MemoryDaemon:
    daemon = MemoryDaemon({"kept/old.py": ONE})
    daemon.watch("captured")
    daemon.note(WorkspaceScanned("start", 1, 1))
    return daemon


def folders(daemon: MemoryDaemon) -> list[str]:
    """All but Quire's own."""
    root = daemon.files.root
    found = (os.path.relpath(folder, root) for folder, _, _ in os.walk(root))
    return sorted(folder for folder in found if not folder.startswith("."))


def wrote(daemon: MemoryDaemon, path: str, by: str = "ann") -> None:
    assert daemon.ask("write_file", {"path": path, "content": "new\n"}, by)["ok"]


def test_the_folders_that_an_agent_made_go_with_its_files_and_come_back(daemon: MemoryDaemon) -> None:
    wrote(daemon, "new/deep/a.py")
    wrote(daemon, "new/b.py")
    wrote(daemon, "kept/c.py")
    assert daemon.ask("undo", {"last": 3})["ok"]
    assert folders(daemon) == ["kept"]
    assert daemon.ask("redo", {})["ok"]
    assert (folders(daemon), daemon.read("new/deep/a.py")) == (["kept", "new", "new/deep"], "new\n")


def test_a_folder_of_another_program_goes_too(daemon: MemoryDaemon) -> None:
    daemon.outside("out/a.o", ONE)
    assert daemon.ask("undo", {"writer": "outside", "last": 1})["ok"]
    assert folders(daemon) == ["kept"]


def test_a_folder_that_was_there_before_stays(daemon: MemoryDaemon) -> None:
    os.mkdir(daemon.files.at("empty"))
    daemon.look_at("empty")
    wrote(daemon, "empty/a.py")
    wrote(daemon, "theirs/a.py", "ben")
    wrote(daemon, "theirs/b.py")
    assert daemon.ask("delete_file", {"path": "theirs/a.py"}, "ben")["ok"]
    assert daemon.ask("undo", {"last": 2})["ok"]
    assert folders(daemon) == ["empty", "kept", "theirs"]


def test_a_folder_in_which_something_else_is_stays(daemon: MemoryDaemon) -> None:
    wrote(daemon, "new/a.py")
    with open(daemon.files.at("new/unseen"), "w") as file:
        file.write("theirs\n")
    assert daemon.ask("undo", {})["ok"]
    assert os.listdir(daemon.files.at("new")) == ["unseen"]


def test_a_folder_goes_from_which_a_file_goes_back(daemon: MemoryDaemon) -> None:
    assert daemon.ask("read_file", {"path": "kept/old.py"})["ok"]
    assert daemon.ask("move_file", {"path": "kept/old.py", "to": "new/old.py"})["ok"]
    assert daemon.ask("undo", {})["ok"]
    assert (folders(daemon), daemon.read("kept/old.py")) == (["kept"], "one\n")


def test_a_rollback_of_all_names_the_empty_folders_that_it_leaves(daemon: MemoryDaemon) -> None:
    """It left them without a word."""
    os.mkdir(daemon.files.at("before"))
    daemon.look_at("before")
    since = daemon.journal.head
    for path in ("empty", "full"):
        os.mkdir(daemon.files.at(path))
        daemon.look_at(path)
    daemon.outside("full/a.o", ONE)
    daemon.outside("out/a.o", ONE)
    reply = daemon.ask("rollback", {"to": f"seq:{since}", "writer": "*"})
    said = "empty, full came since then by another program, and are left, empty."
    assert [one["message"] for one in reply["warnings"]] == [said]
    assert folders(daemon) == ["before", "empty", "full", "kept"]
