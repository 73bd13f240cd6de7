"""What is read back from the far side shows what became of the journal, and of the far side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace
from scribe import SECOND, Scribe

from quire_client.ship.address import FarSide
from quire_client.ship.memory import MemoryObjects
from quire_client.ship.reader import MOST_HEADS, _thinned, read_journal, siblings
from quire_journal.model.events import Event, FileWritten, LeaseExpired
from quire_journal.shipment.ledger import fork_at, forked
from quire_journal.shipment.outbox import QUIET_NS, Rules, seal
from quire_journal.shipment.segment import Position, encode_segment, read_segment
from quire_journal.transparency.audit import CUT, DIFFERS, HELD, HeadVerdict, claim_of, verdicts
from quire_journal.transparency.checkpoint import TreeHead, keys_of, signed
from quire_journal.transparency.ed25519 import public_of
from quire_journal.transparency.frontier import Frontier
from quire_journal.transparency.note import read_note

PRIVATE, FORGER = b"\x01" * 32, b"\x02" * 32
ORIGIN = "journal.quire.invalid/test"
KEYS = keys_of(ORIGIN, public_of(PRIVATE))

COUNT = 250


def events(word: str = "honest", count: int = COUNT) -> list[Event]:
    return [LeaseExpired(n, f"{word}-{n}.txt") for n in range(count)]


def journal_of(events: Sequence[Event]) -> Scribe:
    """A journal with these records; its chain is its own."""
    scribe = Scribe()
    for event in events:
        scribe.note(event)
    return scribe


def ship(scribe: Scribe, objects: MemoryObjects, at: Position, private: bytes = PRIVATE) -> Position:
    far = FarSide.of(objects)

    def head(tree: Frontier) -> str:
        return signed(TreeHead(ORIGIN, tree.size, tree.root()), private, 7).encoded()

    while True:
        with scribe.store.reading() as r:
            one = seal(r, at, Rules(), lambda blob: blob, head, scribe.seq * SECOND + QUIET_NS)
        if one is None:
            return at
        far.blobs.put_all(one.contents)
        far.segments.put(at.journal, at.number + 1, one.data)
        at = one.after


@pytest.fixture(scope="module")
def kept() -> MemoryObjects:
    """The far side of an honest journal."""
    objects = MemoryObjects()
    ship(journal_of(events()), objects, Position("j"))
    return objects


def four() -> MemoryObjects:
    """The far side of a journal of four segments, each with contents."""
    scribe, objects, at = Scribe(), MemoryObjects(), Position("j")
    for n in range(4):
        for file in range(3):
            scribe.note(FileWritten(f"{file}.txt", scribe.hold(b"%d %d\n" % (n, file)), 4, 0o644))
        at = ship(scribe, objects, at)
    return objects


FOUR = four()


def verdict(objects: MemoryObjects, scribe: Scribe) -> list[HeadVerdict]:
    heads = read_journal(FarSide.of(objects), "j", KEYS).heads
    return verdicts(scribe.store, [claim_of(read_note(head), "the far side", KEYS) for head in heads])


def test_the_honest_journal_is_accepted_also_when_it_went_on(kept: MemoryObjects) -> None:
    went_on = journal_of([*events(), *events("later", 10)])
    assert {one.state for one in verdict(kept, went_on)} == {HELD}
    assert all(one.claim.vouched for one in verdict(kept, went_on))


LIST = events()
TAMPERED = {
    "changed": [*LIST[:120], LeaseExpired(1, "other.txt"), *LIST[121:]],
    "dropped": [*LIST[:120], *LIST[121:], *events("later", 5)],
    "inserted": [*LIST[:120], LeaseExpired(1, "other.txt"), *LIST[120:]],
    "reordered": [*LIST[:120], LIST[121], LIST[120], *LIST[122:]],
    "rewritten": events("forged"),
    "old copy that went on": [*LIST[:120], *events("later", 200)],
    "fork": [*LIST[:249], *events("clone", 30)],
}


@pytest.mark.parametrize("how", TAMPERED)
def test_a_journal_that_was_tampered_with_is_told_with_the_last_head_that_fits(how: str, kept: MemoryObjects) -> None:
    last = verdict(kept, journal_of(TAMPERED[how]))[-1]
    assert last.state == DIFFERS
    assert last.claim.vouched
    assert last.fits == {"rewritten": 0, "fork": 200}.get(how, 100)  # at the end of a segment


@pytest.mark.parametrize("left", [0, 1, 120, 249])
def test_a_tail_that_was_cut_and_an_old_copy_are_told(left: int, kept: MemoryObjects) -> None:
    last = verdict(kept, journal_of(LIST[:left]))[-1]
    assert (last.state, last.records) == (CUT, left)


def test_a_far_side_that_somebody_rewrote_with_another_key_is_not_believed() -> None:
    objects = MemoryObjects()
    ship(journal_of(events("forged")), objects, Position("j"), FORGER)
    found = read_journal(FarSide.of(objects), "j", KEYS)
    assert found.wrong == ("segments 1 to 3 were changed: its head is not signed by a known key",)
    assert found.heads == ()


def test_a_segment_or_a_content_that_is_missing_or_changed_at_the_far_side_is_told() -> None:
    scribe, objects = journal_of(events()), MemoryObjects()
    scribe.note(FileWritten("a.txt", scribe.hold(b"a\n"), 2, 0o644))
    ship(scribe, objects, Position("j"))
    far = FarSide.of(objects)
    told = read_journal(far, "j", KEYS)
    assert (told.at.seq, told.at.number, told.contents, told.withheld) == (COUNT + 1, 3, 1, 0)
    names = [key for key in objects.held if key.startswith("segments/")]

    def named(key: str, how: str) -> str:
        return f"the content {key.rpartition('/')[2][:16]}…, which segment 3 names, {how}"

    for key in [*objects.held]:
        whole = objects.held.pop(key)
        if key != "segments/j/000000000003":  # of a tail, only the machine that shipped it knows
            (said,) = read_journal(far, "j", KEYS).wrong
            assert said == (f"segment {int(key[-12:])} of j is missing" if key in names else named(key, "is missing"))
        objects.held[key] = bytes([whole[0] ^ 1]) + whole[1:]
        (said,) = read_journal(far, "j", KEYS).wrong
        if key in names:
            assert said.startswith(f"segment {int(key[-12:])} was changed: its bytes are no segment")
        else:
            assert said == named(key, "was changed")
        objects.held[key] = whole
    assert read_journal(far, "other", KEYS).wrong == ("there is no segment of other",)


def test_a_fork_is_read_through_its_parents() -> None:
    objects = MemoryObjects()
    at = ship(journal_of(LIST), objects, Position("j"))
    clone = journal_of([*LIST, *events("clone", 10)])
    own = forked(at, fork_at(at, "f00d"))
    ship(clone, objects, own)
    ship(journal_of([*LIST, *events("here", 150)]), objects, at)
    far = FarSide.of(objects)
    assert read_journal(far, "j.f00d", KEYS).at.seq == COUNT + 10
    assert read_journal(far, "j", KEYS).at.seq == COUNT + 150


def name(number: int) -> str:
    return f"segments/j/{number:012}"


def test_each_fault_is_named_and_the_heads_after_it_are_compared() -> None:
    scribe, objects = Scribe(), MemoryObjects()
    at = Position("j")
    for n in range(60):
        scribe.note(FileWritten("a.txt", scribe.hold(b"%d\n" % n), 3, 0o644))
        at = ship(scribe, objects, at)
    blobs = sorted(key for key in objects.held if key.startswith("blobs/"))
    objects.held[name(11)] = objects.held[name(11)].replace(b"a.txt", b"b.txt")
    del objects.held[name(31)], objects.held[name(32)], objects.held[name(41)], objects.held[blobs[0]]
    objects.held[blobs[1]] += b"!"
    found = read_journal(FarSide.of(objects), "j", KEYS)
    segments = [said for said in found.wrong if said.startswith("segment")]
    assert segments == [
        "segment 11 was changed: the records up to 11 are not those of its signed head",
        "segments 31 to 32 of j are missing",
        "segment 41 of j is missing",
    ]
    assert len(found.wrong) == 5
    assert sum(f"the content {blobs[0][-64:][:16]}…" in said and "is missing" in said for said in found.wrong) == 1
    assert sum(f"the content {blobs[1][-64:][:16]}…" in said and "was changed" in said for said in found.wrong) == 1
    assert (found.segments, len(found.heads), found.at.seq) == (56, 56, 60)
    claims = [claim_of(read_note(head), "the far side", KEYS) for head in found.heads]
    assert {one.state for one in verdicts(scribe.store, claims)} == {HELD}
    forged = verdicts(journal_of(events()).store, claims)
    assert {one.state for one in forged} == {DIFFERS}


@given(st.integers(1, 3), st.data())
def test_of_any_changed_byte_the_segment_is_named(number: int, data: st.DataObject) -> None:
    objects = MemoryObjects()
    objects.held = dict(FOUR.held)
    whole = bytearray(objects.held[name(number)])
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    objects.held[name(number)] = bytes(whole)
    found = read_journal(FarSide.of(objects), "j", KEYS)
    (said,) = [one for one in found.wrong if not one.startswith("the content")]
    assert said.startswith((f"segment {number} was changed: ", "segment 3 or 4 was changed: "))
    assert "quire verify" not in said


def test_the_one_of_two_segments_that_was_changed_is_told_by_the_third() -> None:
    objects = MemoryObjects()

    def changed(number: int) -> tuple[str, ...]:
        segment = read_segment(FOUR.held[name(number)])
        objects.held = {**FOUR.held, name(number): encode_segment(replace(segment, prev=b"?" * 32))}
        return read_journal(FarSide.of(objects), "j", KEYS).wrong

    assert changed(2) == ("segment 2 was changed: segment 3 holds another hash of it",)
    unsure = "segment 3 or 4 was changed: the second does not hold the hash of the first"
    assert changed(3) == changed(4) == (unsure,)


def test_a_number_far_beyond_the_others_is_one_gap(kept: MemoryObjects) -> None:
    objects = MemoryObjects()
    objects.held = {**kept.held, name(10**11): b"?"}
    assert read_journal(FarSide.of(objects), "j", KEYS).wrong == (
        "segments 4 to 99999999999 of j are missing",
        "segment 100000000000 was changed: its bytes are no segment (Expected `array`, got `int`)",
    )


class Shipping(MemoryObjects):
    """A far side to which `ships` carries more, each time the contents or segments there are read."""

    def __init__(self, held: dict[str, bytes], ships: Callable[[], object]) -> None:
        super().__init__()
        self.held, self._ships = held, ships

    def get(self, key: str) -> bytes | None:
        self._ships()
        return super().get(key)


def test_segments_that_arrive_while_it_is_read_are_no_fork() -> None:
    scribe, objects = journal_of(events()), MemoryObjects()
    at = [ship(scribe, objects, Position("j"))]

    def ships() -> None:
        scribe.note(LeaseExpired(1, "meanwhile.txt"))
        at.append(ship(scribe, objects, at[-1]))

    far = FarSide.of(Shipping(objects.held, ships))
    found = read_journal(far, "j", KEYS)
    assert siblings(far, found) == []
    assert found.at.seq == COUNT, "up to what was there when the reading began"
    assert at[-1].number > found.at.number
    heads = [claim_of(read_note(head), "the far side", KEYS) for head in found.heads]
    assert {one.state for one in verdicts(scribe.store, heads)} == {HELD}


def test_a_journal_that_goes_on_without_its_fork_is_told() -> None:
    objects = MemoryObjects()
    at = ship(journal_of(LIST), objects, Position("j"))
    ship(journal_of([*LIST, *events("clone", 10)]), objects, forked(at, fork_at(at, "f00d")))
    far = FarSide.of(objects)
    assert siblings(far, read_journal(far, "j.f00d", KEYS)) == []
    ship(journal_of([*LIST, *events("here", 150)]), objects, at)
    (said,) = siblings(far, read_journal(far, "j.f00d", KEYS))
    assert said == f"j goes on there from segment {at.number + 1} without this journal, which forked from it"


def test_of_many_heads_some_are_told_and_the_newest() -> None:
    heads = [str(n) for n in range(5 * MOST_HEADS + 3)]
    few = _thinned(heads)
    assert len(few) <= MOST_HEADS
    assert few[-1] == heads[-1]
    assert _thinned([]) == ()
