"""Times that go back: records keep what the clock said, and a time leads to the last record that is not later."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings, strategies as st
from scribe import BLOB, SECOND

from quire_journal.history.history import History
from quire_journal.history.points import parse_point, rfc3339
from quire_journal.integrity.checker import check
from quire_journal.journal import Journal, NewRecord
from quire_journal.model.events import FileWritten
from quire_journal.model.ids import BatchId, WriterId
from quire_journal.storage.memory import MemoryStore
from quire_journal.views import replay
from quire_journal.views.clock import LONGEST_NS, SLACK_NS, SetBack, dated
from quire_journal.views.leases import Lease

YEAR = 365 * 24 * 3600
NOW = 1_700_000_000


def journal_of(times_s: Sequence[float], at_once: int = 1) -> Journal:
    """A journal whose records were made when the clock said so."""
    journal = Journal.open(MemoryStore(), 0, "w")
    for first in range(0, len(times_s), at_once):
        entries = []
        for n, at_s in enumerate(times_s[first : first + at_once]):
            seq = journal.head + 1 + n
            event = FileWritten(f"f{seq}", BLOB, 1, 0o644, 0)
            entries.append(NewRecord(event, WriterId(0), int(at_s * SECOND), BatchId(seq)))
        journal.append(entries)
    return journal


def times(journal: Journal) -> list[int]:
    with journal.store.reading() as r:
        return [record.at_ns for record in History(r).records()]


def seq_at(journal: Journal, at_s: float) -> int:
    with journal.store.reading() as r:
        return History(r).seq_at(int(at_s * SECOND))


def test_after_a_jump_forward_and_back_records_are_dated_by_the_clock() -> None:
    """One jump a year ahead dated everything in the future, for a year."""
    said = [NOW, NOW + 1, NOW + YEAR, NOW + YEAR + 1, NOW + 3, NOW + 4]
    assert times(journal_of(said)) == [at * SECOND for at in said]


def test_a_clock_that_goes_back_by_a_moment_seems_to_stand_still() -> None:
    journal = journal_of([NOW, NOW - 0.5, NOW - 1, NOW + 0.1, NOW - 1.5])
    assert times(journal) == [int(at * SECOND) for at in (NOW, NOW, NOW, NOW + 0.1, NOW - 1.5)]


@given(st.integers(0, 10**19), st.integers(0, 10**19))
def test_a_record_is_dated_no_more_than_a_moment_after_the_clock(last_ns: int, now_ns: int) -> None:
    assert now_ns <= dated(last_ns, now_ns) <= now_ns + SLACK_NS
    assert dated(last_ns, now_ns) >= min(last_ns, now_ns)


def test_a_time_leads_past_records_of_a_jump_ahead() -> None:
    journal = journal_of([NOW, NOW + 10, NOW + YEAR, NOW + YEAR + 10, NOW + 30, NOW + 40])
    assert [seq_at(journal, NOW + s) for s in (-1, 0, 20, 29, 30, 35, 50)] == [0, 1, 2, 2, 5, 5, 6]
    assert seq_at(journal, NOW + 2 * YEAR) == 6, "the state of now, whatever is dated later"


def test_after_a_jump_back_a_time_leads_to_the_last_record_that_bears_it() -> None:
    """Twice the clock said so: what was written the second time is meant, and all of before with it."""
    journal = journal_of([NOW, NOW + 3600, NOW + 60, NOW + 120, NOW + 3700])
    assert [seq_at(journal, NOW + s) for s in (0, 59, 60, 119, 120, 3650, 3700)] == [1, 1, 3, 3, 4, 4, 5]


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=30),
    st.lists(st.integers(-1, 45), min_size=1, max_size=8),
    st.integers(1, 4),
)
def test_a_time_leads_to_the_last_record_of_the_log_that_is_not_later(
    said: list[int], asked: list[int], at_once: int
) -> None:
    """Against a model that looks at every record; some steps back are within what is smoothed."""
    journal = journal_of([at * 0.7 for at in said], at_once)
    real = times(journal)
    for at in (*asked, *said):
        at_ns = int(at * 0.7 * SECOND)
        with journal.store.reading() as r:
            naive = max((seq for seq, told in enumerate(real, 1) if told <= at_ns), default=0)
            assert History(r).seq_at(at_ns) == naive
    with journal.store.reading() as r:
        kept = replay.dump(r, ("times", "set_back"))
        steps = [seq for seq in range(2, len(real) + 1) if real[seq - 1] < real[seq - 2]]
        assert [one.seq for one in History(r).set_back()] == steps[::-1]
    replay.rebuild(journal.store)
    with journal.store.reading() as r:
        assert replay.dump(r, ("times", "set_back")) == kept


def test_a_lookup_looks_at_few_records_whatever_the_clock_did() -> None:
    count = 3000
    journal = journal_of([NOW + (n * 7919 % count) * 10 for n in range(count)], at_once=500)
    with journal.store.reading() as r:
        looked = 0
        real = r.get

        class Counting:
            known = r.known

            def get(self, table: str, key: bytes) -> bytes | None:
                nonlocal looked
                looked += 1
                return real(table, key)

            def __getattr__(self, name: str) -> object:
                return getattr(r, name)

        for at in range(0, count * 10, 977):
            looked = 0
            History(Counting()).seq_at((NOW + at) * SECOND)  # type: ignore[arg-type]
            assert looked <= 16


def test_what_was_dated_ahead_is_told() -> None:
    journal = journal_of([NOW, NOW + 10, NOW + YEAR, NOW + YEAR + 10, NOW + 30, NOW + 20])
    with journal.store.reading() as r:
        later, jump = list(History(r).set_back())
    assert (later.seq, later.ahead) == (6, 5)
    assert jump == SetBack(5, (NOW + 30) * SECOND, (NOW + YEAR + 10) * SECOND, 3)


def test_a_log_whose_times_go_back_is_sound() -> None:
    found = [one.sentence for one in check(journal_of([NOW, NOW + YEAR, NOW]).store)]
    assert all("are not held" in sentence for sentence in found), "but for the bytes that no test needs here"


@pytest.mark.parametrize("at", [NOW, NOW + 30, NOW + YEAR])
def test_the_time_of_a_record_leads_to_it_or_to_what_follows_it(at: int) -> None:
    journal = journal_of([NOW, NOW + YEAR, NOW + 30])
    with journal.store.reading() as r:
        history = History(r)
        found = history.record(parse_point(rfc3339(at * SECOND), history, "at"))
        assert found is not None
        assert found.at_ns <= at * SECOND


def test_a_lease_of_a_time_that_never_came_is_over() -> None:
    """It was granted while the clock was a year ahead, and would have kept others out for that year."""
    ahead = (NOW + YEAR) * SECOND
    held = Lease(1, b"", 1, "exclusive", "f", "file", ahead, ahead + 600 * SECOND)
    assert held.binds(ahead)
    assert not held.binds(NOW * SECOND)
    assert held.binds(ahead + 600 * SECOND - LONGEST_NS), "no lease lasts longer"
