"""Reads a shipped journal from a remote store and checks every segment (signed group of records).

The check begins with the first segment, also of journals from which this one was forked. Only a verifier key is
needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import msgspec

from quire_client.ship.address import FarSide, open_far_side
from quire_journal.shipment import BadSegment, Position, Segment, follow, origin_of, position_before, read_segment
from quire_journal.transparency import VerifierKey

MOST_HEADS: Final = 1000
"""Maximum number of signed heads in a result: the newest and evenly spaced older ones."""


class FarJournal(NamedTuple):
    at: Position  # after the last sound segment
    segments: int  # number of sound segments
    withheld: int  # records of which only the hash is there
    contents: int  # encrypted contents that its segments name, without those in `wrong`
    heads: tuple[str, ...]  # signed heads of sound segments, oldest first
    spans: tuple[tuple[str, int, int], ...] = ()  # (name, first and last segment) of each fork, the oldest first
    wrong: tuple[str, ...] = ()  # segments and contents that are missing or were changed, a clause each


class _Read(NamedTuple):
    """A segment as it was found, or a range of missing segments."""

    journal: str
    number: int
    upto: int  # the last one
    hash: bytes = b""  # sha256; b"" if it is missing
    prev: bytes = b""  # the hash that it holds of its predecessor
    fault: str = ""  # why it is not sound, as a clause
    sure: bool = True  # the fault is its own, not its successor's


_MISSING: Final = "is missing"


def read_journal(far: FarSide, journal: str, keys: Sequence[VerifierKey] = (), contents: bool = True) -> FarJournal:
    """Read and check all segments of a journal in the store `far`.

    One of `keys` must have signed each segment; without keys, signatures are not checked. `contents` also checks the
    blobs. After a segment that is missing or was changed, the reading goes on with the next one. Raises
    FarSideUnreachable if the store fails.
    """
    try:
        spans = _spans(far, journal)
    except BadSegment as error:
        return FarJournal(Position(journal), 0, 0, 0, (), (), (str(error),))
    at: Position | None = Position(spans[0][0])  # None: unknown
    last = Position(journal)
    withheld = named = 0
    heads: list[str] = []
    read: list[_Read] = []
    wrong: list[tuple[int, str]] = []
    for name, number, upto in _slots(far, spans):
        data = far.segments.get(name, number) if number == upto else None
        one, segment, at = _followed(at, _Read(name, number, upto), data, keys)
        read.append(one)
        if segment is None:
            continue
        bad = _wrong_contents(far, segment) if contents else []
        wrong += [(number, f"the content {content}, which segment {number} names, {how}") for content, how in bad]
        named += len(segment.blobs) - len(bad)
        if at is not None:
            last = at
            withheld += len(segment.leaves)
            heads.append(segment.head)
    faults = _faults(read)
    wrong = sorted([*_told(faults), *wrong], key=lambda one: one[0])
    said = tuple(sentence for _, sentence in wrong)
    return FarJournal(last, len(read) - len(faults), withheld, named, _thinned(heads), tuple(spans), said)


def _slots(far: FarSide, spans: Sequence[tuple[str, int, int]]) -> Iterator[tuple[str, int, int]]:
    """Yield (journal, first number, last number) of each listed segment, where both are equal, and of each gap. A gap
    of one looks like a listed segment, and is not there when it is read.
    """
    for name, first, last in spans:
        for number in far.segments.numbers(name, first - 1):
            if number > last:
                break
            if number > first:
                yield name, first, number - 1
            yield name, number, number
            first = number + 1
        if first <= last:
            yield name, first, last


def _followed(
    at: Position | None, slot: _Read, data: bytes | None, keys: Sequence[VerifierKey]
) -> tuple[_Read, Segment | None, Position | None]:
    """Return (`slot` with the segment's hashes or fault, the segment decoded from `data` or None, the position after it
    or None).
    """
    if data is None:
        return slot._replace(fault=_MISSING), None, None
    slot = slot._replace(hash=hashlib.sha256(data).digest())
    try:
        segment = read_segment(data)
    except BadSegment as error:
        return slot._replace(fault=str(error)), None, None
    start = at or position_before(segment, slot.journal, slot.number)
    try:
        # `_faults` compares the hashes: either of two neighbours may be the changed one.
        _, after = follow(msgspec.structs.replace(start, hash=segment.prev), data, keys)
    except BadSegment as error:
        return slot._replace(fault=str(error)), segment, None
    return slot._replace(prev=segment.prev), segment, after


def _faults(read: Sequence[_Read]) -> list[_Read]:
    """Return the segments with a fault of their own, and those whose hash differs from the hash that the next segment
    holds.
    """
    found: list[_Read] = []
    expected: bytes | None = None  # the hash that the segment after it holds; None: unknown
    sure = False  # that segment itself is as it was
    for one in reversed(read):
        fits = expected == one.hash
        if not one.fault and expected is not None and not fits:
            one = one._replace(fault=f"segment {one.number + 1} holds another hash of it", sure=sure)
        if one.fault:
            found.insert(0, one)
        expected, sure = (None, False) if one.fault else (one.prev, fits)
    return found


def _told(faults: Sequence[_Read]) -> list[tuple[int, str]]:
    """Return (number, clause) of each fault; neighbouring segments with the same fault are merged into one entry."""
    merged: list[_Read] = []
    for one in faults:
        before = merged[-1] if merged else None
        if before and (before.journal, before.fault, before.upto + 1) == (one.journal, one.fault, one.number):
            merged[-1] = before._replace(upto=one.upto)
        else:
            merged.append(one)
    return [(one.number, _clause(one)) for one in merged]


def _clause(one: _Read) -> str:
    several = one.upto > one.number
    which = f"segments {one.number} to {one.upto}" if several else f"segment {one.number}"
    if not one.sure:
        return f"segment {one.number} or {one.number + 1} was changed: the second does not hold the hash of the first"
    if one.fault == _MISSING:
        return f"{which} of {one.journal} {'are' if several else 'is'} missing"
    return f"{which} {'were' if several else 'was'} changed: {one.fault}"


def has_all(far: FarSide, journal: str, number: int, gaps: Collection[int] = ()) -> bool:
    """Return True if the store has each segment up to `number` except `gaps`, including the segments before a fork."""
    wanted = {*range(1, number + 1)} - {*gaps}
    while wanted:
        there = {one for one in far.segments.numbers(journal) if one <= number}
        first = min(there, default=number + 1)
        if not there or any(one >= first and one not in there for one in wanted):
            return False
        try:
            journal, number = read_segment(far.segments.get(journal, first) or b"").parent, first - 1
        except BadSegment:
            return False
        wanted = {one for one in wanted if one < first}
        if wanted and not journal:
            return False
    return True


def audit(address: str, journal: str, number: int, keys: Sequence[VerifierKey]) -> tuple[FarJournal, list[str]]:
    """Check a journal in the store at `address`; return the journal found and a list of errors. `number` is the last
    segment known to have arrived. Raises FarSideUnreachable if the store fails.
    """
    far = open_far_side(address)
    try:
        found = read_journal(far, journal, keys)
        wrong = [*found.wrong, *siblings(far, found)]
    finally:
        far.close()
    last = found.spans[-1][2] if found.spans else 0
    if 0 < last < number:
        wrong.append(f"it ends with segment {last}, and {number} were read back there: its end is missing")
    return found, wrong


def siblings(far: FarSide, found: FarJournal) -> list[str]:
    """Return a sentence for each other journal in the store that began as a copy of this one. Segments of this journal
    that arrived after it was read are not mentioned.
    """
    own = {name: last for name, _, last in found.spans}
    said = []
    for name, _, upto in found.spans[:-1]:  # beyond the last one, it is this journal that goes on
        beyond = next(far.segments.numbers(name, upto), 0)
        if beyond:
            said.append(f"{name} goes on there from segment {beyond} without this journal, which forked from it")
    first = origin_of(found.at.journal)
    others = (name for name in far.segments.journals() if name not in own and origin_of(name) == first)
    return said + [f"{name} is there, too: another copy of this journal ships, or did" for name in others]


def _spans(far: FarSide, journal: str, upto: int = 0) -> list[tuple[str, int, int]]:
    found: list[tuple[str, int, int]] = []
    upto = upto or max(far.segments.numbers(journal), default=0)
    while upto:
        if any(name == journal for name, _, _ in found):
            raise BadSegment(f"{journal} is said to be a fork of itself")
        there = [number for number in far.segments.numbers(journal) if number <= upto]
        parent = _parent(far, journal, there)
        first = there[0] if parent else 1
        found.insert(0, (journal, first, upto))
        journal, upto = parent, first - 1
    if not found:
        raise BadSegment(f"there is no segment of {journal}")
    return found


def _parent(far: FarSide, journal: str, numbers: Sequence[int]) -> str:
    """Return the journal from which this one forked, by the first readable one of its segments `numbers`; "" if it is
    no fork, or none can be read.
    """
    for number in numbers:
        with suppress(BadSegment):
            segment = read_segment(far.segments.get(journal, number) or b"")
            if (segment.journal, segment.number) == (journal, number):
                return segment.parent
    return ""


def _wrong_contents(far: FarSide, segment: Segment) -> list[tuple[str, str]]:
    """Return (short name, what is wrong) of each blob of a segment that is missing or was changed."""
    found = []
    for _, name in segment.blobs:
        there = far.blobs.get(name.hex())
        if there is None or hashlib.sha256(there).digest() != name:
            found.append((f"{name.hex()[:16]}…", _MISSING if there is None else "was changed"))
    return found


def _thinned(heads: Sequence[str]) -> tuple[str, ...]:
    step = -(-len(heads) // MOST_HEADS) or 1
    return tuple(heads[::-1][::step][::-1])  # the newest is one of them
