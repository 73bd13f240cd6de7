"""How much of the journal an undo asks for: what was done and taken back costs each file its steps, and no more."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from memory_daemon import MemoryDaemon
from quire_daemon.tools.undo.batches import Batches
from quire_daemon.tools.undo.params import Params, RedoParams, UndoParams
from quire_daemon.tools.undo.project import foresee, left_alone, stayed
from quire_daemon.tools.undo.tool import REDO_TOOL, UNDO_TOOL
from quire_journal.history.history import History
from quire_journal.storage.port import ReadTransaction

FILES = 20


class Asked:
    """A snapshot that counts the rows that are looked up in it, and the tables that are searched."""

    def __init__(self, r: ReadTransaction) -> None:
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


def rounds(daemon: MemoryDaemon, count: int) -> None:
    """A burst that is undone and redone so often."""
    if not daemon.files:
        daemon.write_all({f"f{n}": b"one\n" for n in range(FILES)}, daemon.ben)
        daemon.write_all({f"f{n}": b"two\n" for n in range(FILES)}, daemon.ann)
    for _ in range(count):
        assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
        assert daemon.call(REDO_TOOL, daemon.ann)["ok"]


def asked(daemon: MemoryDaemon, params: Params) -> int:
    """The rows for what comes of it."""
    with daemon.journal.store.reading() as r:
        counting = Asked(r)
        foresee(params, Batches(History(counting)), daemon.ann)
    return counting.rows


@pytest.mark.parametrize("params", [UndoParams(), RedoParams()])
def test_undo_and_redo_add_only_their_own_steps_to_the_cost_of_later_undos(params: Params) -> None:
    """All records and versions of all those batches were read besides, to find the one that says what they are."""
    daemon = MemoryDaemon()
    rounds(daemon, 2)
    undone = isinstance(params, RedoParams)
    if undone:
        daemon.call(UNDO_TOOL, daemon.ann)
    before = asked(daemon, params)
    if undone:
        daemon.call(REDO_TOOL, daemon.ann)
    rounds(daemon, 4)
    if undone:
        daemon.call(UNDO_TOOL, daemon.ann)
    steps = 4 * 2 * FILES
    settled = 4 * 2  # records that say so of each step
    assert asked(daemon, params) - before < steps * 1.5 + settled


def test_a_file_that_one_wrote_last_costs_its_head_and_the_version_before_and_no_search() -> None:
    daemon = MemoryDaemon()
    daemon.write_all({f"f{n}": b"one\n" for n in range(FILES)}, daemon.ben)
    daemon.write_all({f"f{n}": b"two\n" for n in range(FILES)}, daemon.ann)
    with daemon.journal.store.reading() as r:
        counting = Asked(r)
        found = foresee(UndoParams(), Batches(History(counting)), daemon.ann).found
    assert len(found) == FILES
    assert counting.rows <= 4 * FILES + 10  # its number, its head, the version before and the record of that
    assert "versions" not in counting.searched


def calls(files: int, again: bool) -> int:
    """Of functions, until it is known what comes of a redo, or of undoing that again.

    Each file was written by a batch of its own.
    """
    daemon = MemoryDaemon()
    daemon.write_all({f"f{n}": b"one\n" for n in range(files)}, daemon.ben)
    for n in range(files):
        daemon.write(f"f{n}", b"two\n", daemon.ann)
    assert daemon.call(UNDO_TOOL, daemon.ann, last=files)["ok"]
    if again:
        assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
    count = 0

    def called(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event == "call"

    with daemon.journal.store.reading() as r:
        known = Batches(History(r))
        sys.setprofile(called)
        try:
            found = foresee(UndoParams(last=files) if again else RedoParams(), known, daemon.ann).found
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
    daemon = MemoryDaemon()
    daemon.write_all({"a": b"one\n", "b": b"one\n"}, daemon.ben)
    batch = daemon.write_all({"a": b"two\n", "b": b"two\n"}, daemon.ann)
    daemon.write("b", b"three\n", daemon.ben)
    with daemon.journal.store.reading() as r:
        counting = Asked(r)
        known = Batches(History(counting))
        seen = foresee(UndoParams(), known, daemon.ann)
        found, before = [u.now.path for u in seen.found], counting.rows
        assert left_alone(seen, [path == "a" for path in found]) == (batch,)
        assert stayed(known, seen, [True, True]) == (batch,)
    assert counting.rows - before < 5
