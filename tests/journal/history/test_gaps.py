"""Gaps: where records are lost no version is taken for another one, and what is kept proves as much as it can."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings, strategies as st
from scribe import BLOB, Scribe

from quire_journal.history.gaps import gaps_at, gaps_before, gaps_of, is_lost, named, version_then
from quire_journal.model.events import (
    Event,
    FileDeleted,
    FileMoved,
    FileWritten,
    JournalSalvaged,
    OutsideWritten,
    RecordLost,
)
from quire_journal.model.line_ranges import ranges_of
from quire_journal.views.files import Version, standing
from quire_journal.views.lost_bytes import LostStretch

PATHS = ("a", "b", "c")

Did = tuple[str, str, str]
"""What is done: how, to which path, and where a move leads."""

DOING = st.tuples(st.sampled_from(("write", "write", "delete", "move")), st.sampled_from(PATHS), st.sampled_from(PATHS))


def events(done: Sequence[Did]) -> list[Event]:
    """What the log says of it, record for record; what cannot be done is written instead."""
    heads: dict[str, tuple[int, bool]] = {}
    said: list[Event] = []
    for seq, (how, path, to) in enumerate(done, 1):
        base, there = heads.get(path, (0, False))
        if how == "delete" and there:
            said.append(FileDeleted(path, base))
            heads[path] = seq, False
        elif how == "move" and there and not heads.get(to, (0, False))[1]:
            said.append(FileMoved(path, to, BLOB, 1, 0o644, base))
            heads[path], heads[to] = (seq, False), (seq, True)
        else:
            said.append(FileWritten(path, BLOB, 1, 0o644, base if there else 0))
            heads[path] = seq, True
    return said


def scribe_of(said: Sequence[Event], lost: frozenset[int] = frozenset()) -> Scribe:
    scribe = Scribe()
    for seq, event in enumerate(said, 1):
        scribe.note(RecordLost() if seq in lost else event)
    if lost:
        stretches = tuple((first, end - 1) for first, end in ranges_of(sorted(lost)))
        scribe.note(JournalSalvaged("a test", "aside", len(said) - len(lost), stretches))
    return scribe


def told(version: Version | None) -> tuple[int, bool] | None:
    """What a version says of its path, as far as callers see it."""
    there = standing(version)
    return None if there is None else (there.seq, there.gone)


@settings(max_examples=300, deadline=None)
@given(st.lists(DOING, min_size=2, max_size=14), st.sets(st.integers(1, 14), min_size=1, max_size=6))
def test_what_is_answered_at_any_point_is_what_was_there(done: list[Did], gone: set[int]) -> None:
    said = events(done)
    lost = frozenset(seq for seq in gone if seq <= len(said))
    if not lost:
        return
    with scribe_of(said).history() as truth, scribe_of(said, lost).history() as history:
        for path in PATHS:
            for seq in range(len(said) + 1):
                if not gaps_of(history, path, seq):
                    assert told(history.version_at(path, seq)) == told(truth.version_at(path, seq)), (path, seq)
                    assert not is_lost(version_then(history, path, seq))
                elif seq in lost:
                    assert is_lost(version_then(history, path, seq))


@settings(max_examples=300, deadline=None)
@given(st.lists(DOING, min_size=2, max_size=14), st.sets(st.integers(1, 14), min_size=1, max_size=6))
def test_no_version_is_taken_for_the_one_before_another(done: list[Did], gone: set[int]) -> None:
    said = events(done)
    lost = frozenset(seq for seq in gone if seq <= len(said))
    with scribe_of(said).history() as truth, scribe_of(said, lost).history() as history:
        for path in PATHS:
            for version in history.versions(path):
                earlier = history.version_at(path, version.seq - 1)
                if not gaps_before(history, version, earlier):
                    assert told(earlier) == told(truth.version_at(path, version.seq - 1)), (path, version.seq)


def test_a_point_before_the_first_lost_record_or_behind_the_salvage_is_as_sure_as_ever() -> None:
    said = events([("write", "a", "a")] * 6)
    with scribe_of(said, frozenset({3, 4})).history() as history:
        assert [bool(gaps_of(history, "a", seq)) for seq in range(1, 8)] == [
            False,
            False,
            True,
            True,
            False,
            False,
            False,
        ]
        assert [bool(gaps_of(history, "b", seq)) for seq in range(1, 8)] == [
            False,
            False,
            True,
            True,
            True,
            True,
            False,
        ]
        assert gaps_at(history, 4) == (LostStretch(3, 4, 7),)


def test_the_next_version_proves_that_no_lost_record_came_between() -> None:
    said = events([("write", "a", "a"), ("write", "b", "b"), ("write", "a", "a")])
    with scribe_of(said, frozenset({2})).history() as history:
        assert gaps_of(history, "a", 2) == ()
        assert gaps_of(history, "b", 2) == (LostStretch(2, 2, 4),)


def test_an_outside_write_after_a_salvage_may_follow_a_lost_record_but_a_tool_write_does_not() -> None:
    scribe = scribe_of(events([("write", "a", "a"), ("write", "b", "b"), ("write", "b", "b")]), frozenset({3}))
    scribe.note(OutsideWritten("a", BLOB, 1, 0o644, "scan", base=1))
    scribe.note(FileWritten("b", BLOB, 1, 0o644, 2))
    with scribe.history() as history:
        found, written = history.version("a", 5), history.version("b", 6)
        assert found is not None
        assert written is not None
        assert gaps_before(history, found, history.version("a", 1)) == (LostStretch(3, 3, 4),)
        assert gaps_before(history, written, history.version("b", 2)) == ()


def test_stretches_are_named_and_many_of_them_counted() -> None:
    assert named([LostStretch(3, 3, 9)]) == "record 3"
    assert named([LostStretch(3, 5, 9), LostStretch(7, 7, 9)]) == "records 3 to 5 and 7"
    assert named([LostStretch(n, n, 99) for n in range(1, 15, 2)]).endswith("7, 9 and 2 more stretches")
