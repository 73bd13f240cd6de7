"""Reads a shipped journal from a remote store and checks every segment (signed group of records).

The check begins with the first segment, also of journals from which this one was forked. Only a verifier key is
needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from quire_client.ship.address import FarSide, open_far_side
from quire_journal.shipment import BadSegment, Position, Segment, follow, origin_of, read_segment
from quire_journal.transparency import VerifierKey

MOST_HEADS: Final = 1000
"""Maximum number of signed heads in a result: the newest and evenly spaced older ones."""


class FarJournal(NamedTuple):
    at: Position  # its end
    withheld: int  # records of which only the hash is there
    contents: int  # encrypted contents that its segments name
    heads: tuple[str, ...]  # signed heads, oldest first
    spans: tuple[tuple[str, int, int], ...] = ()  # (name, first and last segment) of each fork, the oldest first


def read_journal(far: FarSide, journal: str, keys: Sequence[VerifierKey] = (), contents: bool = True) -> FarJournal:
    """Read and check all segments (signed groups of records) of a journal in the store `far`.

    One of `keys` must have signed each segment; without keys, signatures are not checked. `contents` also checks the
    blobs. Raises BadSegment for the first error, and FarSideUnreachable if the store fails.
    """
    spans = _spans(far, journal)
    at = Position(spans[0][0])
    withheld = named = 0
    heads: list[str] = []
    for name, first, last in spans:
        for number in range(first, last + 1):
            data = far.segments.get(name, number)
            if data is None:
                raise BadSegment(f"segment {number} of {name} is missing")
            segment, at = follow(at, data, keys)
            if contents:
                _require_contents(far, segment)
            withheld += len(segment.leaves)
            named += len(segment.blobs)
            heads.append(segment.head)
    return FarJournal(at, withheld, named, _thinned(heads), tuple(spans))


def has_all(far: FarSide, journal: str, number: int) -> bool:
    """Return True if each segment (signed group of records) up to `number` exists, those before a fork included."""
    try:
        spans = _spans(far, journal, number)
    except BadSegment:
        return False
    return all(
        [one for one in far.segments.numbers(name, first - 1) if one <= last] == [*range(first, last + 1)]
        for name, first, last in spans
    )


def audit(address: str, journal: str, number: int, keys: Sequence[VerifierKey]) -> tuple[FarJournal | None, list[str]]:
    """Check a journal in the store at `address`; return the journal found (None if it is damaged) and a list of errors.
    `number` is the last segment (signed group of records) known to have arrived. Raises FarSideUnreachable if the store
    fails.
    """
    far = open_far_side(address)
    try:
        found = read_journal(far, journal, keys)
        wrong = siblings(far, found)
    except BadSegment as error:
        return None, [str(error)]
    finally:
        far.close()
    if found.at.number < number:
        wrong.append(f"it ends with segment {found.at.number}, and {number} were read back there: its end is missing")
    return found, wrong


def siblings(far: FarSide, found: FarJournal) -> list[str]:
    """Return a sentence for each other journal in the store that began as a copy of this one. Segments (signed groups
    of records) of this journal that arrived after it was read are not mentioned.
    """
    own = {name: last for name, _, last in found.spans}
    said = []
    for name, _, upto in found.spans[:-1]:  # beyond the last one, it is this journal that goes on
        beyond = next(far.segments.numbers(name, upto), 0)
        if beyond:
            said.append(f"{name} goes on there from segment {beyond} without this journal, which forked from it")
    first = origin_of(found.spans[0][0])
    others = (name for name in far.segments.journals() if name not in own and origin_of(name) == first)
    return said + [f"{name} is there, too: another copy of this journal ships, or did" for name in others]


def _spans(far: FarSide, journal: str, upto: int = 0) -> list[tuple[str, int, int]]:
    found: list[tuple[str, int, int]] = []
    upto = upto or max(far.segments.numbers(journal), default=0)
    while upto:
        if any(name == journal for name, _, _ in found):
            raise BadSegment(f"{journal} is said to be a fork of itself")
        first = next((one for one in far.segments.numbers(journal) if one <= upto), 0)
        segment = read_segment(far.segments.get(journal, first) or b"") if first else None
        if segment is None:
            raise BadSegment(f"segment {upto} of {journal} is missing")
        found.insert(0, (journal, first, upto))
        if first > 1 and not segment.parent:
            raise BadSegment(f"the first segment of {journal} is missing, and {first} is no fork")
        journal, upto = segment.parent, first - 1
    if not found:
        raise BadSegment(f"there is no segment of {journal}")
    return found


def _require_contents(far: FarSide, segment: Segment) -> None:
    for _, name in segment.blobs:
        there = far.blobs.get(name.hex())
        if there is None or hashlib.sha256(there).digest() != name:
            wrong = "is missing" if there is None else "was changed"
            raise BadSegment(f"the content {name.hex()[:16]}…, which segment {segment.number} names, {wrong}")


def _thinned(heads: Sequence[str]) -> tuple[str, ...]:
    step = -(-len(heads) // MOST_HEADS) or 1
    return tuple(heads[::-1][::step][::-1])  # the newest is one of them
