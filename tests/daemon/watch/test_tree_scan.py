"""The tree is compared with the journal when it should be, whatever breaks off, and after whatever restart."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from outside_turns import Turns

from quire_daemon.watch.scan import FIRST_S, OVERFLOW, RULES, TRY_AGAIN_S
from quire_journal.model.events import OutsideDeleted, OutsideWritten
from quire_journal.model.records import JournalDamaged
from quire_journal.storage.port import StoreFailure

# ── comparisons ──


@pytest.mark.parametrize(
    "error", [OSError(24, "Too many open files"), StoreFailure("the disk is full", disk_full=True)]
)
def test_a_comparison_that_breaks_off_is_made_again(turns: Turns, error: Exception) -> None:
    """Also where the settings want none by themselves."""
    turns.opened()
    turns.write("a", "one\n")
    turns.jobs.fails["scan"] = error
    turns.outside.scanner.scan("rules")
    turns.turns()
    assert turns.errors == [error]
    assert 0 < turns.waits_s() <= TRY_AGAIN_S
    turns.turns(TRY_AGAIN_S)
    assert turns.texts("a") == ["one\n"]
    assert turns.scans() == ["start", "rules"]


@contextmanager
def few_descriptors(more: int) -> Iterator[None]:
    """Within the block so many more can be opened, and no file then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = [os.dup(0) for _ in range(more + 1)]
    for fd in free:
        os.close(fd)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[more], hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("more", range(5))
def test_without_descriptors_no_path_counts_as_looked_at_and_no_rule_file_as_missing(turns: Turns, more: int) -> None:
    """The first capture was told as finished, with nothing in it, and the coverage as full."""
    turns.write(".gitignore", "ignored\n")
    for folder in ("a", "b", "ignored"):
        (turns.root / folder).mkdir()
        turns.write(f"{folder}/f", "one\n")
    with few_descriptors(more):
        turns.outside.scanner.open()
        turns.turns()
        assert turns.outside.scanner.progress()["captured"] is (more == 4), "so many are enough"
        assert any("Too many open files" in reason for reason in turns.outside.reasons()) is (more < 4)
        assert bool(turns.outside.scanner.progress()["waits_for"]) is (more < 4)
    turns.turns(2 * TRY_AGAIN_S)
    turns.turns(2 * TRY_AGAIN_S)
    assert [turns.texts(f"{folder}/f") for folder in ("a", "b", "ignored")] == [["one\n"], ["one\n"], []]
    assert turns.outside.scanner.progress()["finished"]
    assert not any("failed and is repeated" in reason for reason in turns.outside.reasons())


def test_a_first_comparison_that_breaks_off_is_made_again_as_the_first(turns: Turns) -> None:
    turns.write("a", "one\n")
    turns.jobs.fails["scan"] = OSError(24, "Too many open files")
    turns.outside.scanner.open()
    turns.turns()
    assert not turns.outside.scanner.progress()["captured"]
    turns.turns(TRY_AGAIN_S)
    assert turns.scans() == ["start"]
    assert [e.evidence for e in turns.events() if isinstance(e, OutsideWritten)] == ["captured"]


def test_a_comparison_that_breaks_off_each_time_is_made_more_and_more_seldom(turns: Turns) -> None:
    turns.opened()
    turns.outside.scanner.scan("rules")
    for _ in range(600):
        turns.jobs.fails["scan"] = OSError(24, "Too many open files")
        turns.turn(1.0)
    assert 10 <= len(turns.errors) <= 20


def test_a_journal_that_the_first_comparison_cannot_read_ends_the_daemon(turns: Turns) -> None:
    """The next start checks it; a later comparison only tells of it."""
    turns.jobs.fails["scan"] = JournalDamaged("a row cannot be read")
    turns.outside.scanner.open()
    turns.turns()
    assert [(type(e), getattr(e, "everywhere", False)) for e in turns.errors] == [(JournalDamaged, True)]
    turns.turns(TRY_AGAIN_S)
    turns.jobs.fails["scan"] = JournalDamaged("a row cannot be read")
    turns.outside.scanner.scan("rules")
    turns.turns()
    assert [getattr(e, "everywhere", False) for e in turns.errors] == [True, False]


def test_without_scan_minutes_the_tree_is_compared_once_and_the_loop_sleeps(turns: Turns) -> None:
    turns.opened()
    turns.write("a", "one\n")
    for _ in range(100):
        assert turns.waits_s() >= 60
        turns.turn(60.0)
    assert turns.scans() == ["start"]
    assert turns.texts("a") == []


def test_scan_minutes_is_the_interval_of_comparisons(tmp_path: Path) -> None:
    turns = Turns(tmp_path, scan_minutes=5).opened()
    for minute in range(21):
        turns.write("a", f"{minute}\n")
        turns.turns(60.0)
    assert turns.scans() == ["start", *["periodic"] * 4]
    turns.workspace.close()


def test_scan_minutes_count_as_soon_as_the_settings_change(turns: Turns) -> None:
    turns.opened()
    turns.set(1.0)
    turns.outside.scanner.retime()
    assert turns.waits_s() == 60
    turns.turns(60.0)
    assert turns.scans() == ["start", "periodic"]
    turns.set(0.0)
    turns.outside.scanner.retime()
    turns.turns(1000.0)
    assert turns.scans() == ["start", "periodic"]


def test_the_loop_sleeps_while_a_comparison_takes_longer_than_the_time_between_two(tmp_path: Path) -> None:
    turns = Turns(tmp_path, scan_minutes=0.1)
    turns.outside.scanner.open()
    for _ in range(3):
        turns.clock.at_s += 60
        assert turns.waits_s() >= 6
        turns.guarded("outside", lambda: turns.outside.look(turns.clock.at_s, hurried=False))
    turns.workspace.close()


def test_a_comparison_that_is_asked_for_during_one_follows_it(turns: Turns) -> None:
    turns.outside.scanner.open()
    turns.outside.scanner.scan("overflow")
    turns.outside.scanner.scan("rules")
    turns.turns()
    assert turns.scans() == ["start", "rules"]


# ── after a restart ──


def test_watches_are_renewed_even_if_events_are_lost_before_the_comparison_begins(
    turns: Turns,
) -> None:
    """The comparison for these took the place of the other, and what stood at the folders by then was not watched."""
    turns.opened()
    turns.outside.scanner.scan(OVERFLOW)  # under way
    turns.outside.scanner.scan(RULES)
    turns.outside.scanner.scan(OVERFLOW)
    turns.turns()
    assert turns.watcher.rewatched == 1


def test_watches_are_renewed_even_if_the_comparison_before_fails(
    turns: Turns,
) -> None:
    """What was made again was the other one."""
    turns.opened()
    turns.outside.scanner.scan(OVERFLOW)
    turns.jobs.fails["scan"] = OSError(24, "Too many open files")
    turns.outside.scanner.scan(RULES)
    turns.turns()
    assert turns.outside.scanner.awaited, "who asks for the tree waits for it"
    turns.turns(TRY_AGAIN_S)
    assert turns.watcher.rewatched == 1


def test_a_call_after_a_restart_waits_for_changes_made_meanwhile(turns: Turns) -> None:
    turns.write("a", "one\n")
    turns.opened()
    later = turns.again()
    turns.write("a", "two\n")
    later.outside.scanner.open()
    assert not later.outside.idle()
    assert 0 < later.waits_s() < 2 * FIRST_S
    later.outside.scanner.hurry()
    later.turns()
    assert later.outside.idle()
    assert later.texts("a") == ["one\n", "two\n"]
    later.workspace.close()


def test_files_made_while_no_daemon_ran_do_not_count_as_captured_at_the_beginning(turns: Turns) -> None:
    """It was told as first seen, by nobody knew whom: also what the journal has known for long, and what went."""
    for path in ("a", "b"):
        turns.write(path, "one\n")
    turns.opened()
    turns.write("a", "two\n")
    (turns.root / "b").unlink()
    turns.write("new", "one\n")
    later = turns.again()
    later.outside.scanner.open()
    later.turns(FIRST_S)
    assert {(e.path, e.evidence) for e in later.events() if isinstance(e, OutsideWritten | OutsideDeleted)} == {
        *(("a", "captured"), ("b", "captured")),
        *(("a", "scanned"), ("b", "scanned"), ("new", "scanned")),
    }
    later.workspace.close()


def test_nobody_waits_for_a_first_capture_that_was_interrupted_and_goes_on(turns: Turns) -> None:
    """It may take minutes, as any other; replies say that it goes on."""
    turns.told("a", "one\n")
    turns.turns()
    assert (turns.texts("a"), turns.scans()) == (["one\n"], [])
    turns.write("b", "bee\n")
    later = turns.again()
    later.outside.scanner.open()
    assert later.outside.idle()
    assert later.outside.reasons()
    later.turns()
    assert later.texts("b") == ["bee\n"]
    later.workspace.close()
