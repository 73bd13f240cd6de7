"""Paths that are to be looked at: each once at its time, however often it is named."""

from __future__ import annotations

import math

from quire_daemon.watch.due import DueQueue


def taken(named: DueQueue, now: float) -> list[str]:
    """All whose time has come."""
    found = []
    while (path := named.take(now)) is not None:
        found.append(path)
    return found


def test_each_path_is_taken_once_at_its_earliest_time_in_order() -> None:
    named = DueQueue()
    named.name("later", "watched", 1.0, at=5.0)
    named.name("twice", "watched", 1.0, at=4.0)
    named.name("twice", "scanned", 2.0)
    named.name("twice", "scanned", 2.0, at=9.0)
    assert (named.next_s, taken(named, 1.9)) == (2.0, [])
    assert taken(named, 5.0) == ["twice", "later"]
    assert taken(named, 10.0) == []


def test_the_first_evidence_of_a_path_is_kept_until_the_path_is_looked_at() -> None:
    named = DueQueue()
    named.name("a", "watched", 1.0)
    assert taken(named, 1.0) == ["a"]
    named.name("a", "scanned", 2.0, at=3.0)
    assert named.first("a") == (1.0, "watched")
    named.looked("a")
    assert "a" not in named
    named.name("a", "scanned", 4.0)
    assert named.first("a") == (4.0, "scanned")


def test_nobody_waits_for_a_repeated_look_until_the_path_is_named_again() -> None:
    named = DueQueue()
    named.name("open", "watched", 1.0, late=True)
    named.keep("ahead", "captured", 1.0)
    assert (named.is_late("open"), named.waiting) == (True, 1)
    named.name("open", "watched", 2.0)
    assert (named.is_late("open"), named.waiting) == (False, 2)
    for path in ("open", "ahead"):
        named.looked(path)
    assert (named.waiting, taken(named, 2.0), named.next_s) == (0, [], math.inf)
