"""A save is one write to the file that is saved, whatever an editor or a tool does beside it.

Each sequence is that of the real program, as strace showed it, and the daemon takes a turn after each call.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from outside_turns import Turns

from quire_daemon.watch.hints import Batch
from quire_daemon.watch.temporary_names import STANDS_S
from quire_journal.model.events import Event, OutsideDeleted, OutsideMoved, OutsideWritten, paths_of

CALL_S = 0.001


class Program:
    """Another program: each call of it is told by the watcher, and the daemon takes a turn."""

    def __init__(self, turns: Turns) -> None:
        self.turns, self.root = turns, turns.root

    def writes(self, path: str, text: str) -> None:
        """Create or truncate, write, close."""
        (self.root / path).write_text(text)
        self._told(Batch(dirty={path}, touched={path}))

    def links(self, path: str, target: str) -> None:
        os.symlink(target, self.root / path)
        self._told(Batch(dirty={path}, touched={path}))

    def renames(self, path: str, to: str) -> None:
        os.rename(self.root / path, self.root / to)
        self._told(Batch(dirty={path, to}, moved=[(path, to)]))

    def removes(self, path: str) -> None:
        (self.root / path).unlink()
        self._told(Batch(dirty={path}, touched={path}))

    def waits(self, seconds: float) -> None:
        """The daemon goes on."""
        for _ in range(4):
            self.turns.turn(seconds / 4)
        self.turns.turns()

    def _told(self, batch: Batch) -> None:
        self.turns.watcher.batches.append(batch)
        self.turns.turn(CALL_S)

    def did(self) -> list[Event]:
        """What the journal says of it, after a while."""
        self.waits(3 * STANDS_S)
        kinds = (OutsideWritten, OutsideDeleted, OutsideMoved)
        return [event for event in self.turns.events() if isinstance(event, kinds)][1:]

    def saved(self, text: str) -> None:
        """Was it one write to `f.txt`, which stands there, and nothing else?"""
        (one,) = self.did()
        assert isinstance(one, OutsideWritten)
        assert (one.path, bool(one.base)) == ("f.txt", True)
        assert self.turns.texts("f.txt") == ["one\n", text]


@pytest.fixture
def program(turns: Turns) -> Iterator[Program]:
    turns.write("f.txt", "one\n")
    yield Program(turns.opened())
    assert turns.errors == []


def test_vim_saves_with_a_probe_and_a_backup_that_goes(program: Program) -> None:
    program.writes(".f.txt.swp", "")
    program.writes(".f.txt.swx", "")
    program.removes(".f.txt.swx")
    program.removes(".f.txt.swp")
    program.writes(".f.txt.swp", "b0VIM")
    program.writes("4913", "")
    program.removes("4913")
    program.renames("f.txt", "f.txt~")
    program.writes("f.txt", "one two\n")
    program.removes("f.txt~")
    program.removes(".f.txt.swp")
    program.saved("one two\n")


def test_vim_saves_by_a_copy(program: Program) -> None:
    program.writes("f.txt~", "one\n")
    program.writes("f.txt", "one two\n")
    program.removes("f.txt~")
    program.saved("one two\n")


def test_emacs_saves_with_a_lock_and_a_backup_that_stays(program: Program) -> None:
    program.links(".#f.txt", "ada@host.4711:1700000000")
    program.renames("f.txt", "f.txt~")
    program.writes("f.txt", "one two\n")
    program.removes(".#f.txt")
    save, backup = program.did()
    assert [*paths_of(save), *paths_of(backup)] == ["f.txt", "f.txt~"]
    assert isinstance(save, OutsideWritten)
    assert save.base
    assert program.turns.texts("f.txt~") == ["one\n"]


@pytest.mark.parametrize(
    "name", ["sedgIuYWP", "XXPL2okw", "f.txt.tmp.4711.1a2b3c4d", ".goutputstream-AB12CD", "f.txt.Xk3dPq"]
)
def test_what_is_renamed_over_a_file_is_a_write_to_that_file(program: Program, name: str) -> None:
    program.writes(name, "one two\n")
    program.renames(name, "f.txt")
    program.saved("one two\n")


def test_jetbrains_save_with_two_renames(program: Program) -> None:
    program.writes("f.txt___jb_tmp___", "one two\n")
    program.renames("f.txt", "f.txt___jb_old___")
    program.renames("f.txt___jb_tmp___", "f.txt")
    program.removes("f.txt___jb_old___")
    program.saved("one two\n")


def test_a_new_file_that_comes_by_a_rename_is_written_there_and_was_never_elsewhere(program: Program) -> None:
    program.writes("g.txt.tmp.4711.1a2b3c4d", "new\n")
    program.renames("g.txt.tmp.4711.1a2b3c4d", "g.txt")
    (one,) = program.did()
    assert isinstance(one, OutsideWritten)
    assert one.path == "g.txt"


def test_a_save_that_is_slow_between_its_renames_is_one_write_still(program: Program) -> None:
    program.renames("f.txt", "f.txt~")
    program.waits(STANDS_S / 2)
    program.writes("f.txt", "one two\n")
    program.waits(STANDS_S / 4)
    program.removes("f.txt~")
    program.saved("one two\n")


def test_a_temporary_file_that_stays_is_a_version_after_a_while(program: Program) -> None:
    program.writes("notes.tmp", "kept\n")
    program.waits(STANDS_S * 0.9)
    assert program.turns.texts("notes.tmp") == []
    program.waits(STANDS_S * 0.2)
    assert program.turns.texts("notes.tmp") == ["kept\n"]
    program.removes("notes.tmp")
    assert [type(event) for event in program.did()] == [OutsideWritten, OutsideDeleted]


def test_a_file_that_is_moved_to_such_a_name_and_stays_there_is_a_move(program: Program) -> None:
    program.renames("f.txt", "f.txt~")
    (one,) = program.did()
    assert isinstance(one, OutsideMoved)
    assert (one.path, one.to) == ("f.txt", "f.txt~")


def test_nobody_waits_for_a_file_with_a_temporary_name(program: Program) -> None:
    program.writes(".f.txt.swp", "b0VIM")
    assert program.turns.outside.idle()
    program.renames("f.txt", "f.txt~")
    assert program.turns.outside.idle()


def test_a_busy_swap_file_becomes_a_version_every_two_seconds_at_most(program: Program) -> None:
    for number in range(20):
        program.writes(".f.txt.swp", f"{number}")
        program.waits(STANDS_S / 4)
    assert 3 <= len(program.did()) <= 6


def test_old_files_with_temporary_names_are_looked_at_like_others_by_a_scan(program: Program) -> None:
    program.turns.write("old~", "old\n")
    os.utime(program.root / "old~")
    program.turns.clock.at_s += 10**9  # its stamps are of long ago
    program.turns.outside.scanner.scan("start")
    program.turns.turns()
    assert program.turns.texts("old~") == ["old\n"]


def test_a_save_under_an_ordinary_name_is_noted_at_once(program: Program) -> None:
    program.writes("f.txt", "one two\n")
    assert program.turns.texts("f.txt") == ["one\n", "one two\n"]
