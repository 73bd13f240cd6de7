"""A journal against signed heads of its past: every kind of change is found, and what a journal may do is accepted.

Whoever forges here has all the files: the chain of the records is computed again, and the views are folded again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec
import pytest
from hypothesis import given, settings, strategies as st
from scribe import ANN, Scribe, to_purge

from quire_journal.integrity.checker import check
from quire_journal.maintenance.purge import PurgeTarget
from quire_journal.model.events import EditRefused, HeadSigned, JournalSalvaged, Purged, RecordLost
from quire_journal.model.records import (
    GENESIS,
    HEAD_KEY,
    Record,
    decode_record,
    encode_event,
    encode_record,
    head_row,
    link,
    record_hash,
)
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import Store, apply_changes, u64
from quire_journal.transparency.audit import (
    CUT,
    DIFFERS,
    HELD,
    Claim,
    HeadVerdict,
    acceptance,
    claim_of,
    findings,
    known_keys,
    verdicts,
)
from quire_journal.transparency.checkpoint import TreeHead, keys_of, signed
from quire_journal.transparency.ed25519 import public_of
from quire_journal.transparency.log_leaves import leaves
from quire_journal.transparency.tiles import RightEdge, StoredTree, Tile
from quire_journal.views.replay import rebuild

PRIVATE = bytes(range(32))
ORIGIN = "journal.quire.invalid/0123/1"
KEYS = keys_of(ORIGIN, public_of(PRIVATE))
SIZE = 20
"""Records of the signed journal."""


def grown(scribe: Scribe, to: int, word: str = "honest") -> Scribe:
    while scribe.seq < to:
        scribe.note(EditRefused("edit", "a.txt", "stale_base", f"{word} {scribe.seq + 1}"), writer=ANN)
    return scribe


def tree(store: Store, size: int) -> tuple[TreeHead, StoredTree]:
    """The head over the first records, and its tiles."""
    edge, tiles = RightEdge(), dict[Tile, bytes]()
    with store.reading() as r:
        for _, leaf, _ in leaves(r, 1, size):
            tiles.update(edge.append(leaf))
    tiles.update(edge.partial())
    return TreeHead(ORIGIN, size, edge.root()), StoredTree(size, tiles.get)


class Signed:
    """A journal of twenty records, its signed head that was saved, and the tiles in its state folder."""

    def __init__(self) -> None:
        self.scribe = grown(Scribe().introduce(), SIZE)
        self.head, self.tree = tree(self.scribe.store, SIZE)
        self.claim = claim_of(signed(self.head, PRIVATE, 1_700_000_000), "the file", KEYS)

    def verdict(self, store: Store, tiles: bool = True) -> HeadVerdict:
        (found,) = verdicts(store, [self.claim], [self.tree] if tiles else [])
        return found

    def records(self) -> list[Record]:
        with self.scribe.store.reading() as r:
            return [decode_record(stored) for _, stored in r.scan("records")]


def forged(records: list[Record]) -> MemoryStore:
    """A journal of these records, renumbered, in a chain of its own."""
    store, prev = MemoryStore(), GENESIS
    with store.writing() as w:
        for seq, record in enumerate(records, 1):
            batch = seq - (record.seq - record.batch)
            stored = encode_record(msgspec.structs.replace(record, seq=seq, batch=batch, prev=link(prev)))
            w.append("records", u64(seq), stored)
            prev = record_hash(stored)
        w.put("meta", HEAD_KEY, head_row(len(records), prev))
    rebuild(store)
    return store


def refused(record: Record, why: str) -> Record:
    return msgspec.structs.replace(record, body=encode_event(EditRefused("edit", "a.txt", "stale_base", why)))


def changed(records: list[Record], at: int) -> list[Record]:
    return [*records[:at], refused(records[at], "by mallory"), *records[at + 1 :]]


def dropped(records: list[Record], at: int) -> list[Record]:
    return [*records[:at], *records[at + 1 :]]


def inserted(records: list[Record], at: int) -> list[Record]:
    return [*records[:at], refused(records[at], "by mallory"), *records[at:]]


def reordered(records: list[Record], at: int) -> list[Record]:
    return [*records[:at], records[at + 1], records[at], *records[at + 2 :]]


FORGERIES: Mapping[str, Callable[[list[Record], int], list[Record]]] = {
    "changed": changed,
    "dropped": dropped,
    "inserted": inserted,
    "reordered": reordered,
}


@pytest.fixture
def at() -> Signed:
    return Signed()


@pytest.mark.parametrize("tiles", [True, False])
@pytest.mark.parametrize("further", [0, 1, 300])
@pytest.mark.parametrize("how", FORGERIES)
def test_a_forged_record_is_found_though_chain_and_views_are_right(
    at: Signed, how: str, further: int, tiles: bool
) -> None:
    grown(at.scribe, SIZE + 1 + further)
    store = forged(FORGERIES[how](at.records(), 9))
    assert list(check(store)) == [], "the journal itself is sound"
    verdict = at.verdict(store, tiles)
    assert verdict.state == DIFFERS
    assert verdict.first == (10 if tiles else 0)
    (said,) = findings(verdict)
    assert said.startswith("Record 10 is not the one" if tiles else "The first 20 records are not those")
    assert "signed at 2023-11-14 22:13:20 UTC" in said


@settings(max_examples=60)
@given(st.sampled_from(sorted(FORGERIES)), st.integers(2, SIZE - 2), st.integers(0, 5), st.booleans())
def test_a_forgery_anywhere_is_found(how: str, where: int, further: int, tiles: bool) -> None:
    at = Signed()
    grown(at.scribe, SIZE + further)
    verdict = at.verdict(forged(FORGERIES[how](at.records(), where)), tiles)
    assert verdict.state in (DIFFERS, CUT)
    assert findings(verdict)
    if tiles:
        assert verdict.first == where + 1
        assert verdict.fits == where


def test_a_record_that_was_changed_in_place_is_found_by_chain_and_head(at: Signed) -> None:
    """Whoever does not compute the chain again."""
    with at.scribe.store.writing() as w:
        w.put("records", u64(10), encode_record(refused(at.records()[9], "by mallory")))
    assert any("Record 11 does not hold the hash" in str(one) for one in check(at.scribe.store))
    assert at.verdict(at.scribe.store).first == 10


@pytest.mark.parametrize("tiles", [True, False])
@pytest.mark.parametrize("left", [1, 2, 12, 19])
def test_a_tail_that_was_cut_off_is_found(at: Signed, left: int, tiles: bool) -> None:
    store = forged(at.records()[:left])
    assert list(check(store)) == []
    verdict = at.verdict(store, tiles)
    assert verdict.state == CUT
    assert verdict.fits == (left if tiles else 0)
    (said,) = findings(verdict)
    assert said.startswith(f"The journal ends with record {left}, and the file has the head of 20 records signed")


@pytest.mark.parametrize("tiles", [True, False])
def test_a_history_that_was_rewritten_as_a_whole_is_found(at: Signed, tiles: bool) -> None:
    store = grown(Scribe().introduce(), 60, "mallory").store
    assert list(check(store)) == []
    verdict = at.verdict(store, tiles)
    assert (verdict.state, verdict.first) == (DIFFERS, 3 if tiles else 0)


def test_a_journal_put_back_from_an_old_copy_is_found_also_when_it_went_on(at: Signed) -> None:
    old = grown(Scribe().introduce(), 15)
    assert at.verdict(old.store).state == CUT
    grown(old, 40, "after it was put back")
    verdict = at.verdict(old.store)
    assert (verdict.state, verdict.first, verdict.fits) == (DIFFERS, 16, 15)


@pytest.mark.parametrize("tiles", [True, False])
def test_a_fork_is_found_and_called_so(at: Signed, tiles: bool) -> None:
    """A copy of the state folder went on, and both sign with the same key."""
    other = grown(grown(Scribe().introduce(), 12), 25, "the copy")
    theirs, their_tiles = tree(other.store, 25)
    own = claim_of(signed(theirs, PRIVATE, 1_700_000_500), "the state folder", KEYS)
    file, beside = verdicts(other.store, [at.claim, own], [their_tiles] if tiles else [])
    assert (beside.state, file.state) == (HELD, DIFFERS)
    assert file.forked
    assert "one of the two is a fork" in findings(file)[0]


def test_heads_that_fit_give_bounds(at: Signed) -> None:
    store = grown(grown(Scribe().introduce(), 12), 25, "rewritten").store
    earlier = claim_of(signed(tree(store, 8)[0], PRIVATE, 1), "the file", KEYS)
    first, second = verdicts(store, [earlier, at.claim])
    assert (first.state, second.fits) == (HELD, 8)
    assert "In the records 9 to 20 some were changed" in findings(second)[0]


def test_a_head_that_was_signed_after_the_journal_was_put_back_gives_no_bound(at: Signed) -> None:
    """It fits the journal, and says nothing about what the lost records were."""
    store = grown(grown(Scribe().introduce(), 12), 40, "after it was put back").store
    for size in (15, 25):
        newer = claim_of(signed(tree(store, size)[0], PRIVATE, 1_700_000_500), "the state folder", KEYS)
        first, second = verdicts(store, [at.claim, newer])
        assert (first.state, second.state, first.fits) == (DIFFERS, HELD, 0)
        assert "In the records 1 to 20 some were changed" in findings(first)[0]


# ── what an honest journal may do ──


def test_a_journal_that_went_on_is_accepted(at: Signed) -> None:
    assert at.verdict(at.scribe.store).state == HELD
    grown(at.scribe, SIZE + 300)
    verdict = at.verdict(at.scribe.store)
    assert (verdict.state, findings(verdict)) == (HELD, [])
    told = (
        "The journal holds the 20 records of the head of the file signed at 2023-11-14 22:13:20 UTC, and 300 newer ones"
    )
    assert acceptance(verdict) == f"{told}."


def test_a_purge_is_accepted_and_named(at: Signed) -> None:
    scribe = at.scribe
    with scribe.store.reading() as r:
        change = to_purge(r, PurgeTarget(matching=re.compile(rb"honest 1[01]")))
    with scribe.store.writing() as w:
        apply_changes(w, change.rows)
    scribe.note(*change.events)
    assert list(check(scribe.store)) == []
    verdict = at.verdict(scribe.store)
    assert (verdict.state, verdict.masked) == (HELD, ((10, 21), (11, 21)))
    assert "10 (by record 21), 11 (by record 21)" in acceptance(verdict)


def test_a_view_cannot_excuse_a_changed_record(at: Signed) -> None:
    """The row that a purge would leave counts for nothing without the record of the purge."""
    was = record_hash(encode_record(at.records()[9]))
    with at.scribe.store.writing() as w:
        w.put("records", u64(10), encode_record(refused(at.records()[9], "by mallory")))
        w.put("replaced", u64(10), was)
    assert at.verdict(at.scribe.store).first == 10


def test_a_forged_purge_is_named(at: Signed) -> None:
    """Nobody can tell it from a true one, so that each is told with its record."""
    was = record_hash(encode_record(at.records()[9]))
    instead = encode_record(refused(at.records()[9], "by mallory"))
    with at.scribe.store.writing() as w:
        w.put("records", u64(10), instead)
    at.scribe.note(Purged("matching", (), 0, ((10, was),), "", (link(record_hash(instead)),)))
    verdict = at.verdict(at.scribe.store)
    assert verdict.masked == ((10, 21),)
    assert "what it said is not proved: 10 (by record 21)" in acceptance(verdict)


def test_a_record_that_damage_took_is_proved_by_the_kept_tree(at: Signed) -> None:
    """A salvage knows half of the hash of what was lost."""
    records = at.records()
    lost = msgspec.structs.replace(records[9], kind=RecordLost.kind, body=encode_event(RecordLost()))
    with at.scribe.store.writing() as w:
        w.put("records", u64(10), encode_record(lost))
    was = link(record_hash(encode_record(records[9])))
    at.scribe.note(JournalSalvaged("a bad page", "db.damaged", 19, ((10, 10),), replaced=((10, was),)))
    rebuild(at.scribe.store)
    assert list(check(at.scribe.store)) == []
    verdict = at.verdict(at.scribe.store)
    assert (verdict.state, verdict.masked) == (HELD, ((10, 21),))
    assert at.verdict(at.scribe.store, tiles=False).state == DIFFERS


def test_the_keys_of_a_journal_are_in_its_records(at: Signed) -> None:
    at.scribe.note(HeadSigned(ORIGIN, SIZE, at.head.root, public_of(PRIVATE)))
    with at.scribe.store.reading() as r:
        assert known_keys(r) == [*KEYS]


def test_a_signature_that_is_wrong_or_unknown_is_told(at: Signed) -> None:
    note = signed(at.head, PRIVATE, 5)
    unknown = claim_of(note, "the file", ())
    assert not unknown.vouched
    said = acceptance(verdicts(at.scribe.store, [unknown])[0])
    assert "Its signature was not verified" in said
    broken = note._replace(text=note.text.replace("\n20\n", "\n19\n"))
    claim = claim_of(broken, "the file", KEYS)
    assert claim.wrong
    assert "is not to be trusted" in findings(verdicts(at.scribe.store, [claim])[0])[0]


def test_the_head_of_an_empty_tree_is_held_by_every_journal(at: Signed) -> None:
    empty = Claim(TreeHead(ORIGIN, 0, RightEdge().root()), "the file")
    assert verdicts(at.scribe.store, [empty])[0].state == HELD
