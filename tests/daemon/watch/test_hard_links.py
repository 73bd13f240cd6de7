"""Several names of one file: what is written through one of them is journaled at all of them."""

from __future__ import annotations

import os

from outside_turns import Turns

from quire_daemon.watch.hard_links import REST
from quire_daemon.watch.hints import Batch


def saved(turns: Turns, path: str, text: str) -> None:
    """Another program writes through this name, and the watcher tells of it alone, as the kernel does."""
    turns.write(path, text)
    turns.watcher.batches.append(Batch(dirty={path}, touched={path}))
    turns.turns()


def linked(turns: Turns, path: str, to: str) -> None:
    """A file gets another name, of which the watcher tells."""
    os.link(turns.root / path, turns.root / to)
    turns.watcher.batches.append(Batch(dirty={to}))
    turns.turns()


def test_what_is_written_through_one_name_of_a_file_is_journaled_at_all_of_them(turns: Turns) -> None:
    turns.write("a", "one\n")
    os.link(turns.root / "a", turns.root / "b")
    turns.opened()
    saved(turns, "b", "two\n")
    saved(turns, "a", "three\n")
    assert turns.texts("a") == turns.texts("b") == ["one\n", "two\n", "three\n"]


def test_the_names_of_a_file_that_gets_another_one_are_looked_for(turns: Turns) -> None:
    turns.write("a", "one\n")
    turns.opened()
    linked(turns, "a", "b")
    saved(turns, "b", "two\n")
    (turns.root / "b").unlink()
    turns.write("c", "other\n")
    os.link(turns.root / "c", turns.root / "b")
    turns.watcher.batches.append(Batch(dirty={"b", "c"}, touched={"c"}))
    turns.turns()
    saved(turns, "c", "other two\n")
    assert turns.texts("a") == ["one\n", "two\n"]
    assert turns.texts("b") == ["one\n", "two\n", "other\n", "other two\n"]


def test_a_program_that_makes_links_all_the_time_has_the_tree_looked_through_for_a_tenth_of_it(turns: Turns) -> None:
    turns.write("a", "one\n")
    turns.opened()
    begun = 0
    for number in range(100):
        os.link(turns.root / "a", turns.root / f"lock{number}")
        turns.watcher.batches.append(Batch(dirty={f"lock{number}"}))
        turns.turn(0.1)  # as long as the crawl that the turn before began
        begun += "names of files" in turns.jobs.waiting
    assert begun == 100 // (REST + 1) + 1
    assert not turns.outside.idle(), "who asks for the tree waits"
    turns.turns(REST * 0.1)
    assert turns.outside.idle()
    saved(turns, "lock99", "two\n")
    assert turns.texts("a") == ["one\n", "two\n"]


def test_names_that_cannot_be_looked_for_are_found_by_a_comparison(turns: Turns) -> None:
    turns.write("a", "one\n")
    turns.opened()
    turns.jobs.fails["names of files"] = OSError(24, "Too many open files")
    linked(turns, "a", "b")
    assert [str(error) for error in turns.errors] == ["[Errno 24] Too many open files"]
    saved(turns, "b", "two\n")
    assert turns.texts("a") == ["one\n", "two\n"]
