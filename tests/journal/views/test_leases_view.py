"""The leases view: a fold over grants and what became of them, and the same after a replay."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from scribe import ANN, ANN_KEY, BEN, BEN_KEY, SECOND, Scribe

from quire_journal.model.events import (
    Event,
    LeaseBroken,
    LeaseExpired,
    LeaseGranted,
    LeaseReleased,
    LeaseRenewed,
)
from quire_journal.storage.memory import MemoryStore
from quire_journal.views.leases import Lease
from quire_journal.views.replay import dump, rebuild
from quire_journal.views.table import VIEWS

LATE = 1000 * SECOND
FIRST = 3  # the seq of the first record behind the introductions


def granted(path: str = "f", strength: str = "exclusive", expires_ns: int = LATE, **more: object) -> LeaseGranted:
    return LeaseGranted(path, "file", strength, expires_ns, **more)  # type: ignore[arg-type]


def held(scribe: Scribe) -> list[Lease]:
    with scribe.history() as history:
        return history.leases()


def test_a_lease_has_the_number_of_its_record_and_its_holder_is_the_caller() -> None:
    scribe = Scribe().introduce()
    number = scribe.note(granted(reason="why", lines=(3, 5), version=1, bind="connection"), writer=ANN)
    (lease,) = held(scribe)
    assert (lease.number, lease.holder, lease.writer) == (number, ANN_KEY, ANN)
    assert (lease.path, lease.form, lease.strength, lease.reason) == ("f", "file", "exclusive", "why")
    assert (lease.lines, lease.version, lease.bind) == ((3, 5), 1, "connection")
    assert (lease.granted_ns, lease.expires_ns) == (number * SECOND, LATE)


def test_later_leases_have_greater_numbers_whatever_became_of_earlier_ones() -> None:
    scribe = Scribe().introduce()
    numbers = []
    for _ in range(3):
        numbers.append(scribe.note(granted(), writer=ANN))
        scribe.note(LeaseReleased(numbers[-1], "f"), writer=ANN)
    assert numbers == sorted({*numbers})
    assert held(scribe) == []


def test_a_lease_binds_until_its_time_whether_or_not_a_record_says_that_it_is_over() -> None:
    scribe = Scribe().introduce()
    number = scribe.note(granted(expires_ns=50 * SECOND), writer=ANN)
    (lease,) = held(scribe)
    assert lease.binds(50 * SECOND - 1)
    assert not lease.binds(50 * SECOND)
    scribe.note(LeaseExpired(number, "f"))
    assert held(scribe) == []


def test_a_renewal_moves_the_end_and_keeps_the_reason_unless_it_gives_one() -> None:
    scribe = Scribe().introduce()
    number = scribe.note(granted(reason="old"), writer=ANN)
    scribe.note(LeaseRenewed(number, "f", LATE + 1), writer=ANN)
    assert [(lease.expires_ns, lease.reason) for lease in held(scribe)] == [(LATE + 1, "old")]
    scribe.note(LeaseRenewed(number, "f", LATE + 2, "new"), writer=ANN)
    assert [(lease.expires_ns, lease.reason) for lease in held(scribe)] == [(LATE + 2, "new")]


def test_a_broken_lease_binds_nobody_and_is_kept_until_it_would_have_expired() -> None:
    scribe = Scribe().introduce()
    number = scribe.note(granted(expires_ns=20 * SECOND), writer=ANN)
    broken = scribe.note(LeaseBroken(number, "f", "stuck"), writer=BEN)
    scribe.note(LeaseRenewed(number, "f", LATE), writer=ANN)
    scribe.note(LeaseBroken(number, "f", "again"), writer=BEN)
    (lease,) = held(scribe)
    assert (lease.broken, lease.expires_ns, lease.binds(0)) == (broken, 20 * SECOND, False)
    while scribe.seq < 20:
        scribe.note(granted("g"), writer=BEN)
    assert number not in [lease.number for lease in held(scribe)]


def test_the_holder_ends_the_memory_of_a_broken_lease_by_giving_it_up() -> None:
    scribe = Scribe().introduce()
    number = scribe.note(granted(), writer=ANN)
    scribe.note(LeaseBroken(number, "f"), writer=BEN)
    scribe.note(LeaseReleased(number, "f"), writer=ANN)
    assert held(scribe) == []


@pytest.mark.parametrize("number", [0, 1, 99, 1 << 63, -1])
def test_a_number_that_is_no_lease_leads_nowhere(number: int) -> None:
    scribe = Scribe().introduce()
    scribe.note(granted(), writer=ANN)
    with scribe.history() as history:
        assert history.lease(number) is None
    for event in (LeaseRenewed(number, "f", 1), LeaseReleased(number, "f"), LeaseBroken(number, "f")):
        scribe.note(event, writer=BEN)
    assert len(held(scribe)) == 1


numbers = st.integers(FIRST, 12)
times = st.integers(0, 30).map(lambda seconds: seconds * SECOND)
events = st.one_of(
    st.builds(granted, st.sampled_from("fg"), st.sampled_from(["intent", "shared", "exclusive"]), times),
    st.builds(LeaseRenewed, numbers, st.just("f"), times, st.sampled_from(["", "why"])),
    st.builds(LeaseReleased, numbers, st.just("f")),
    st.builds(LeaseExpired, numbers, st.just("f")),
    st.builds(LeaseBroken, numbers, st.just("f"), st.just("why")),
)


class Model:
    """Leases as anybody would keep them: a dict."""

    def __init__(self) -> None:
        self.held: dict[int, list[object]] = {}  # number → holder, end, broken

    def note(self, seq: int, event: Event, holder: bytes) -> None:
        match event:
            case LeaseGranted():
                over = [n for n, (_, end, broken) in self.held.items() if broken and end <= seq * SECOND]  # type: ignore[operator]
                for number in over:
                    del self.held[number]
                self.held[seq] = [holder, event.expires_ns, 0]
            case LeaseRenewed() if event.lease in self.held and not self.held[event.lease][2]:
                self.held[event.lease][1] = event.expires_ns
            case LeaseReleased() | LeaseExpired():
                self.held.pop(event.lease, None)
            case LeaseBroken() if event.lease in self.held and not self.held[event.lease][2]:
                self.held[event.lease][2] = seq


@given(log=st.lists(st.tuples(events, st.booleans()), max_size=10))
def test_the_fold_is_what_a_dict_would_hold_and_replay_gives_the_same(log: list[tuple[Event, bool]]) -> None:
    scribe, model = Scribe().introduce(), Model()
    for event, by_ann in log:
        seq = scribe.note(event, writer=ANN if by_ann else BEN)
        model.note(seq, event, ANN_KEY if by_ann else BEN_KEY)
    assert {lease.number: [lease.holder, lease.expires_ns, lease.broken] for lease in held(scribe)} == model.held
    with scribe.store.reading() as r:
        before = dump(r)
    rebuild(scribe.store, chunk=3)
    with scribe.store.reading() as r:
        assert dump(r) == before


def test_a_journal_of_before_there_were_leases_gets_the_view() -> None:
    scribe = Scribe(MemoryStore(), folding=False).introduce()
    scribe.note(granted(), writer=ANN)
    assert len(held(scribe)) == 1
    assert "leases" in [view.name for view in VIEWS]
