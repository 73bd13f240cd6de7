"""The bursts view: what belongs to a burst, by which evidence, and when it ends. And the capture view beside it."""

from __future__ import annotations

from hypothesis import given, strategies as st
from scribe import ANN, ANN_KEY, BEN, BLOB, SECOND, Scribe

from quire_journal.model.events import (
    BurstBegun,
    BurstEnded,
    CaptureFailed,
    FileWritten,
    OutsideDeleted,
    WorkspaceScanned,
    WriteAttributed,
    WriterIntroduced,
    WritesAbandoned,
)
from quire_journal.views.replay import dump, rebuild

FOREVER = 1 << 60


def begin(scribe: Scribe, writer: int = ANN, outside: bool = False, expires_ns: int = FOREVER) -> int:
    return scribe.note(BurstBegun("label", "tool_call", expires_ns, outside), writer=writer)


def evidence(scribe: Scribe, burst: int) -> list[tuple[int, str]]:
    with scribe.history() as history:
        return list(history.burst_evidence(burst))


def test_the_batches_of_its_caller_belong_to_an_open_burst_and_no_others() -> None:
    scribe = Scribe().introduce()
    scribe.write("a", b"before")
    burst = begin(scribe)
    own = scribe.write("a", b"1")
    scribe.write("a", b"2", writer=BEN)
    scribe.outside("a", b"3")
    scribe.note(BurstEnded(burst), writer=ANN)
    scribe.write("a", b"after")
    assert evidence(scribe, burst) == [(own, "own")]
    with scribe.history() as history:
        found = history.burst(burst)
        assert found is not None
        assert (found.owner, found.batches, found.last, found.why) == (ANN_KEY, 1, own, "owner")
        assert history.open_bursts() == []
        assert history.in_burst(burst, own)
        assert not history.in_burst(burst, own + 1)


def test_a_burst_follows_its_caller_through_turns_and_processes() -> None:
    scribe = Scribe().introduce()
    burst = begin(scribe)
    scribe.note(WriterIntroduced(3, uid=1000, pid=99, agent="ann", agent_session="s1", turn="t2"))
    later = scribe.write("a", b"1", writer=3)
    assert evidence(scribe, burst) == [(later, "own")]


def test_bursts_of_one_caller_nest() -> None:
    scribe = Scribe().introduce()
    outer = begin(scribe)
    first = scribe.write("a", b"1")
    inner = begin(scribe)
    second = scribe.write("a", b"2")
    scribe.note(BurstEnded(inner), writer=ANN)
    third = scribe.write("a", b"3")
    assert [batch for batch, _ in evidence(scribe, outer)] == [first, second, third]
    assert [batch for batch, _ in evidence(scribe, inner)] == [second]


def test_nothing_belongs_to_a_burst_whose_time_is_over_whether_or_not_that_was_noted() -> None:
    scribe = Scribe().introduce()
    burst = begin(scribe, expires_ns=(scribe.seq + 3) * SECOND)  # records are a second apart
    own = scribe.write("a", b"1")
    scribe.write("a", b"too late")
    assert evidence(scribe, burst) == [(own, "own")]
    scribe.note(BurstEnded(burst, "ttl"))
    with scribe.history() as history:
        found = history.burst(burst)
        assert found is not None
        assert (found.why, found.ended_ns) == ("ttl", found.expires_ns)


def test_outside_writes_may_belong_to_the_only_open_burst_that_takes_them() -> None:
    scribe = Scribe().introduce()
    begin(scribe, BEN)
    burst = begin(scribe, outside=True)
    seen = scribe.outside("a", b"1")
    gone = scribe.note(OutsideDeleted("a", "watched"))
    assert evidence(scribe, burst) == [(seen, "only_outside_burst"), (gone, "only_outside_burst")]


def test_outside_writes_belong_to_none_of_two_bursts_that_take_them() -> None:
    scribe = Scribe().introduce()
    anns, bens = begin(scribe, outside=True), begin(scribe, BEN, outside=True)
    contested = scribe.outside("a", b"1")
    scribe.note(BurstEnded(bens), writer=BEN)
    clear = scribe.outside("a", b"2")
    assert evidence(scribe, anns) == [(contested, "several_open"), (clear, "only_outside_burst")]
    with scribe.history() as history:
        assert history.burst_batches(anns) == history.burst_batches(bens) == []
        found = history.burst(anns)
        assert found is not None
        assert (found.batches, found.unclear) == (0, 2)


def test_an_outside_write_belongs_to_a_burst_when_evidence_says_so() -> None:
    scribe = Scribe().introduce()
    anns, bens = begin(scribe, outside=True), begin(scribe, BEN, outside=True)
    first, second, third = (scribe.outside("a", text) for text in (b"1", b"2", b"3"))
    scribe.note(WriteAttributed((first,), ANN, "exact", anns), WriteAttributed((second,), ANN, "during", anns))
    scribe.note(WriteAttributed((third,), 0, "overlap", 0, (anns, bens)))
    assert evidence(scribe, anns) == [(first, "exact"), (second, "during"), (third, "several_open")]
    with scribe.history() as history:
        assert history.burst_batches(anns) == [first]
        found = history.burst(anns)
        assert found is not None
        assert (found.batches, found.unclear) == (1, 2)


def test_what_a_scan_found_may_be_older_than_the_burst_and_is_only_counted() -> None:
    scribe = Scribe().introduce()
    burst = begin(scribe, outside=True)
    scanned = scribe.outside("a", b"1", "scanned")
    failed = scribe.note(CaptureFailed("big", "too_large"))
    assert evidence(scribe, burst) == [(scanned, "scanned"), (failed, "scanned")]
    with scribe.history() as history:
        assert history.burst_batches(burst) == []


def test_to_end_a_burst_twice_or_one_that_never_was_changes_nothing() -> None:
    scribe = Scribe().introduce()
    burst = begin(scribe)
    scribe.note(BurstEnded(burst, "owner"), writer=ANN)
    scribe.note(BurstEnded(burst, "ttl"), BurstEnded(99, "ttl"), BurstEnded(0))
    with scribe.history() as history:
        found = history.burst(burst)
        assert found is not None
        assert found.why == "owner"
        assert history.burst(99) is None


steps = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), st.sampled_from([ANN, BEN]), st.booleans(), st.integers(1, 12)),
        st.tuples(st.just("end"), st.sampled_from([ANN, BEN]), st.booleans(), st.integers(0, 3)),
        st.tuples(st.just("write"), st.sampled_from([ANN, BEN, 0]), st.booleans(), st.just(0)),
    ),
    max_size=20,
)


@given(steps)
def test_burst_membership_agrees_with_a_plain_model_and_with_a_replay(
    script: list[tuple[str, int, bool, int]],
) -> None:
    scribe = Scribe().introduce()
    model: dict[int, tuple[int, bool, int]] = {}  # open burst → owner, outside, when it is over
    wanted: dict[int, list[tuple[int, str]]] = {}
    for what, writer, flag, number in script:
        now = (scribe.seq + 1) * SECOND
        alive = {n: b for n, b in model.items() if now < b[2]}
        if what == "begin":
            burst = begin(scribe, writer, flag, now + number * SECOND)
            model[burst], wanted[burst] = (writer, flag, now + number * SECOND), []
        elif what == "end" and model:
            burst = sorted(model)[number % len(model)]
            scribe.note(BurstEnded(burst), writer=writer)
            del model[burst]
        elif what == "write" and writer:
            batch = scribe.write("a", b"x", writer=writer)
            for n, (owner, _, _) in alive.items():
                if owner == writer:
                    wanted[n].append((batch, "own"))
        elif what == "write":
            batch = scribe.outside("a", b"y", "watched" if flag else "scanned")
            takers = [n for n, (_, outside, _) in alive.items() if outside]
            for n in takers:
                why = "scanned" if not flag else "only_outside_burst" if len(takers) == 1 else "several_open"
                wanted[n].append((batch, why))
    assert {burst: evidence(scribe, burst) for burst in wanted} == wanted
    with scribe.store.reading() as r:
        before = dump(r)
    rebuild(scribe.store, 3)
    with scribe.store.reading() as r:
        assert dump(r) == before


# ── what is not captured ─────────────────────────────────────────────────────


def test_uncaptured_files_are_counted_as_they_come_and_go_and_remembered_by_point() -> None:
    scribe = Scribe().introduce()
    scribe.note(CaptureFailed("big", "too_large"))
    both = scribe.note(CaptureFailed(".env", "secret"))
    scribe.outside("big", b"small")
    scribe.note(OutsideDeleted(".env", "watched"))
    with scribe.history() as history:
        assert (history.uncaptured_count(), list(history.uncaptured())) == (0, [])
        assert list(history.uncaptured(at=both)) == [("big", "too_large"), (".env", "secret")]
        assert list(history.uncaptured(at=both - 1)) == [("big", "too_large")]


def test_a_tool_write_whose_bytes_are_withheld_is_uncaptured_until_it_is_abandoned_or_written_again() -> None:
    scribe = Scribe().introduce()
    withheld = [scribe.note(FileWritten(path, BLOB, 9, 0o644, uncaptured="holds_secret"), writer=ANN) for path in "ab"]
    with scribe.history() as history:
        assert list(history.uncaptured()) == [("a", "holds_secret"), ("b", "holds_secret")]
    scribe.note(WritesAbandoned((withheld[0],), "raced"), writer=ANN)
    scribe.write("b", b"without a token", base=withheld[1])
    with scribe.history() as history:
        assert (history.uncaptured_count(), list(history.uncaptured())) == (0, [])
        assert list(history.uncaptured(at=withheld[1])) == [("b", "holds_secret")], "the other was never written"


def test_an_abandoned_write_leaves_an_uncaptured_file_as_it_was() -> None:
    scribe = Scribe().introduce()
    scribe.note(CaptureFailed("big", "too_large"))
    lost = scribe.write("big", b"x")
    scribe.note(WritesAbandoned((lost,), "raced"), writer=ANN)
    with scribe.history() as history:
        assert list(history.uncaptured()) == [("big", "too_large")]


def test_the_first_scan_is_remembered() -> None:
    scribe = Scribe().introduce()
    with scribe.history() as history:
        assert history.first_scan() is None
    first = scribe.note(WorkspaceScanned("start", 1, 0))
    scribe.note(WorkspaceScanned("periodic", 1, 0))
    with scribe.history() as history:
        assert history.first_scan() == first
