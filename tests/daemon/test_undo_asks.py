"""How much of the journal an undo asks for: what was done and taken back costs each file its steps, and no more."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from desk import Desk

from quire_daemon.handlers.batches import Batches
from quire_daemon.handlers.choosing import Params, RedoParams, UndoParams
from quire_daemon.handlers.undo import REDO_TOOL, UNDO_TOOL
from quire_daemon.handlers.unwinding import foresee, left_alone, stayed
from quire_journal.history import History
from quire_journal.log import Reading

FILES = 20


class Asked:
    """A snapshot that counts the rows that are looked up in it, and the tables that are searched."""

    def __init__(self, r: Reading) -> None:
        self._r, self.known, self.rows = r, r.known, 0
        self.searched: list[str] = []

    def get(self, table: str, key: bytes) -> bytes | None:
        self.rows += 1
        return self._r.get(table, key)

    def scan(self, table: str, *args: Any, **words: Any) -> Iterator[tuple[bytes, bytes]]:
        self.searched.append(table)
        return self._r.scan(table, *args, **words)

    def values(self, *args: Any) -> list[bytes]:
        return self._r.values(*args)

    def count(self, table: str) -> int:
        return self._r.count(table)

    def empty(self, table: str) -> bool:
        return self._r.empty(table)


def rounds(desk: Desk, count: int) -> None:
    """A burst that is undone and redone so often."""
    if not desk.files:
        desk.write_all({f"f{n}": b"one\n" for n in range(FILES)}, desk.ben)
        desk.write_all({f"f{n}": b"two\n" for n in range(FILES)}, desk.ann)
    for _ in range(count):
        assert desk.call(UNDO_TOOL, desk.ann)["ok"]
        assert desk.call(REDO_TOOL, desk.ann)["ok"]


def asked(desk: Desk, params: Params) -> int:
    """The rows for what comes of it."""
    with desk.journal.store.reading() as r:
        counting = Asked(r)
        foresee(params, Batches(History(counting)), desk.ann)
    return counting.rows


@pytest.mark.parametrize("params", [UndoParams(), RedoParams()])
def test_a_round_of_undo_and_redo_costs_later_ones_the_steps_of_their_files(params: Params) -> None:
    """All records and versions of all those batches were read besides, to find the one that says what they are."""
    desk = Desk()
    rounds(desk, 2)
    undone = isinstance(params, RedoParams)
    if undone:
        desk.call(UNDO_TOOL, desk.ann)
    before = asked(desk, params)
    if undone:
        desk.call(REDO_TOOL, desk.ann)
    rounds(desk, 4)
    if undone:
        desk.call(UNDO_TOOL, desk.ann)
    steps = 4 * 2 * FILES
    assert asked(desk, params) - before < steps * 1.5


def test_a_file_that_one_wrote_last_costs_its_head_and_the_version_before_and_no_search() -> None:
    desk = Desk()
    desk.write_all({f"f{n}": b"one\n" for n in range(FILES)}, desk.ben)
    desk.write_all({f"f{n}": b"two\n" for n in range(FILES)}, desk.ann)
    with desk.journal.store.reading() as r:
        counting = Asked(r)
        found = foresee(UndoParams(), Batches(History(counting)), desk.ann).found
    assert len(found) == FILES
    assert counting.rows <= 4 * FILES + 10  # its number, its head, the version before and the record of that
    assert "versions" not in counting.searched


def calls(files: int, again: bool) -> int:
    """Of functions, until it is known what comes of a redo, or of undoing that again.

    Each file was written by a batch of its own.
    """
    desk = Desk()
    desk.write_all({f"f{n}": b"one\n" for n in range(files)}, desk.ben)
    for n in range(files):
        desk.write(f"f{n}", b"two\n", desk.ann)
    assert desk.call(UNDO_TOOL, desk.ann, last=files)["ok"]
    if again:
        assert desk.call(REDO_TOOL, desk.ann)["ok"]
    count = 0

    def called(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event == "call"

    with desk.journal.store.reading() as r:
        known = Batches(History(r))
        sys.setprofile(called)
        try:
            found = foresee(UndoParams(last=files) if again else RedoParams(), known, desk.ann).found
        finally:
            sys.setprofile(None)
    assert len(found) == files
    return count


@pytest.mark.parametrize("again", [False, True])
def test_four_times_as_many_files_are_four_times_as_much_work(again: bool) -> None:
    """For each file all batches were gone through: what comes of 1,000 took twice as long, of 3,000 four times."""
    assert calls(120, again) < 4.5 * calls(30, again)


def test_what_stays_is_told_of_the_lives_that_the_outcome_was_made_of() -> None:
    """For thousands of files they were looked up once more, while everybody waited."""
    desk = Desk()
    desk.write_all({"a": b"one\n", "b": b"one\n"}, desk.ben)
    batch = desk.write_all({"a": b"two\n", "b": b"two\n"}, desk.ann)
    desk.write("b", b"three\n", desk.ben)
    with desk.journal.store.reading() as r:
        counting = Asked(r)
        known = Batches(History(counting))
        seen = foresee(UndoParams(), known, desk.ann)
        found, before = [u.now.path for u in seen.found], counting.rows
        assert left_alone(seen, [path == "a" for path in found]) == (batch,)
        assert stayed(known, seen, [True, True]) == (batch,)
    assert counting.rows - before < 5
