"""The terms view: it finds every record that has a term, and says how far it has looked."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from scribe import ANN, BEN, Scribe

from quire_journal.model.events import CheckpointNamed, EditRefused, WorkspaceScanned, WriterIntroduced
from quire_journal.storage.port import u32
from quire_journal.views.indexes import term_index
from quire_journal.views.indexes.term_index import BLOCK

KINDS = (EditRefused("edit", "a", "x"), WorkspaceScanned("asked", 1, 0), CheckpointNamed("n", 1))


def found(scribe: Scribe, wanted: list[term_index.Alternatives], after: int, upto: int, reverse: bool) -> list[int]:
    """Every record that the view names, in its order."""
    with scribe.store.reading() as r:
        return [seq for _, seqs in term_index.find(r, wanted, after, upto, reverse) for seq in seqs]


drawn = st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from([0, ANN, BEN])), min_size=1, max_size=300)


@given(log=drawn, data=st.data())
def test_it_names_exactly_the_records_with_a_term_of_each_of_what_is_wanted(log: list, data: st.DataObject) -> None:
    scribe = Scribe().introduce()
    for event, writer in log:
        scribe.note(event, writer=writer)
    kinds = data.draw(st.sets(st.sampled_from([e.kind for e in KINDS]), min_size=1))
    agent, number = data.draw(st.sampled_from([("ann", ANN), ("ben", BEN)]))
    after = data.draw(st.integers(0, scribe.seq))
    upto = data.draw(st.integers(0, scribe.seq))
    with scribe.history() as history:
        expected = [
            record.seq
            for record in history.records(after=after, upto=upto)
            if record.kind in kinds and record.writer == number
        ]
    wanted = [[term_index.of_agent(agent)], [term_index.of_kind(kind) for kind in kinds]]
    assert found(scribe, wanted, after, upto, False) == expected
    assert found(scribe, wanted, after, upto, True) == expected[::-1]
    with scribe.store.reading() as r:
        asks = term_index.Filter(r, wanted)
        assert [seq for seq in range(after + 1, upto + 1) if asks.admits(seq)] == expected


def test_sessions_and_turns_are_told_apart_and_outside_is_nobody() -> None:
    scribe = Scribe()
    scribe.note(WriterIntroduced(1, agent="ann", agent_session="s", turn="t"), writer=1)
    scribe.note(WriterIntroduced(2, agent="ann", agent_session="t", turn="s"), writer=2)
    scribe.note(KINDS[0])
    for wanted, expected in (
        (term_index.of_agent("ann"), [1, 2]),
        (term_index.of_session("s"), [1]),
        (term_index.of_turn("s"), [2]),
        (term_index.OUTSIDE_TERM, [3]),
        (term_index.of_agent("nobody"), []),
    ):
        assert found(scribe, [[wanted]], 0, 3, False) == expected


@pytest.mark.parametrize("reverse", [False, True])
def test_blocks_without_any_say_how_far_the_look_has_come(reverse: bool) -> None:
    scribe = Scribe(folding=False)
    scribe.note(KINDS[1])
    for _ in range(3 * BLOCK):
        scribe.note(KINDS[0])
    with scribe.history() as history:
        steps = list(history.with_terms([[term_index.of_kind(KINDS[1].kind)]], 5, 3 * BLOCK - 7, reverse))
    assert [seqs for _, seqs in steps] == [()] * 3
    reached = [BLOCK - 1, 2 * BLOCK - 1, 3 * BLOCK - 7]
    assert [at for at, _ in steps] == ([2 * BLOCK, BLOCK, 6] if reverse else reached)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_span_without_any_is_passed_over_at_once(reverse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_index, "SPAN", 2)
    scribe = Scribe(folding=False)
    for _ in range(2 * BLOCK):
        scribe.note(KINDS[0])
    wanted = scribe.note(KINDS[1])
    for _ in range(4 * BLOCK):
        scribe.note(KINDS[0])
    with scribe.history() as history:
        steps = list(history.with_terms([[term_index.of_kind(KINDS[1].kind)]], 3, 6 * BLOCK, reverse))
    assert [seq for _, seqs in steps for seq in seqs] == [wanted]
    reached = [2 * BLOCK - 1, 3 * BLOCK - 1, 4 * BLOCK - 1, 6 * BLOCK - 1, 6 * BLOCK]
    assert [at for at, _ in steps] == ([6 * BLOCK, 4 * BLOCK, 3 * BLOCK, 2 * BLOCK, 4] if reverse else reached)


def test_bytes_that_look_like_a_term_across_two_entries_are_not_taken_for_it() -> None:
    scribe = Scribe()
    term = term_index.of_kind("wanted")
    other = b"\x01\x02\x03\x04"
    row = other + bytes(BLOCK // 8 - 2) + term[:2] + term[2:] + b"\xff\xff" + bytes(BLOCK // 8)
    with scribe.store.writing() as w:
        w.put("term_spans", u32(0), other + term)
        w.put("terms", u32(0), row)
    assert found(scribe, [[term]], 0, BLOCK, False) == []
    with scribe.store.writing() as w:
        w.put("terms", u32(0), row[: 4 + BLOCK // 8] + term + b"\x04" + bytes(BLOCK // 8 - 1))
    assert found(scribe, [[term]], 0, BLOCK, False) == [2]
    with scribe.store.writing() as w:
        w.put("term_spans", u32(0), b"\x01\x01" + term + b"\x01\x01")
    assert found(scribe, [[term]], 0, BLOCK, False) == []
