"""Terms view: inverted index of records by kind, agent, agent session and turn.

A row covers a block of 256 records, with 36 bytes for each term: four bytes of its hash, and a bit for each record. A
search intersects bits row by row. A span of 64 blocks has a row with all its terms, so that searches for rare terms
skip it. A hit must be checked with its record, as hashes collide.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from quire_journal.model import OUTSIDE, Event, Record, WriteAttributed, WriterIntroduced, parse_tag
from quire_journal.storage import ReadTransaction, WriteTransaction, u32
from quire_journal.views import record_before, writers

TABLES = ("terms", "term_spans")

BLOCK: Final = 256

SPAN: Final = 64

_TERM: Final = 4
_BITS: Final = BLOCK // 8
_ENTRY: Final = _TERM + _BITS
_ALL: Final = (1 << BLOCK) - 1

Alternatives = Sequence[bytes]
"""Terms of which a record must have at least one."""


@lru_cache(maxsize=128)
def of_kind(kind: str) -> bytes:
    return _term("k", kind)


@lru_cache(maxsize=128)
def of_agent(agent: str) -> bytes:
    return _term("a", agent)


@lru_cache(maxsize=128)
def of_session(agent_session: str) -> bytes:
    """Return the term of records by an agent session or its subagents."""
    return _term("s", agent_session)


def of_turn(turn: str) -> bytes:
    return _term("t", turn)


OUTSIDE_TERM: Final = b"\x00\x00\x00\x00"
"""Term of records without a caller."""


def of_writer(who: WriterIntroduced | None) -> list[bytes]:
    """Return the terms of a writer's records; None is `outside`."""
    if who is None:
        return [OUTSIDE_TERM]
    terms = [of_agent(who.agent)]
    if who.agent_session:
        terms.append(of_session(who.agent_session))
    if who.parent:
        terms.append(of_session(who.parent))
    if who.turn:
        terms.append(of_turn(who.turn))
    return terms


def fold(w: WriteTransaction, record: Record, event: Event | None) -> None:
    fold_all(w, ((record, event),))


def fold_all(w: WriteTransaction, records: Sequence[tuple[Record, Event | None]]) -> None:
    """Fold consecutive records into the view, writing a row once per block."""
    by_writer: dict[int, list[bytes]] = {}
    entries: dict[tuple[str, int], list[int]] = {}  # (kind, writer) → offsets of their entries in the row
    row, block = bytearray(), -1

    def terms_of(writer: int) -> list[bytes]:
        if writer not in by_writer:
            who = None if writer == OUTSIDE else writers.writer_of(w, writer) or WriterIntroduced(writer)
            by_writer[writer] = of_writer(who)
        return by_writer[writer]

    for record, event in records:
        at, place = divmod(record.seq, BLOCK)
        if at != block:
            if block >= 0:
                w.put("terms", u32(block), bytes(row))
            row, block = bytearray(w.get("terms", u32(at)) or b""), at
            entries.clear()
        known = entries.get((record.kind, record.writer))
        if known is None:
            terms = (of_kind(parse_tag(record.kind)[0]), *terms_of(record.writer))
            known = entries[record.kind, record.writer] = [_place_of(w, row, at, term) for term in terms]
        for found in known:
            _set_bit(row, found, place)
        if isinstance(event, WriteAttributed):
            begun = (record_before(w, number, record.seq) for number in event.candidates)
            likely = dict.fromkeys((event.writer, *(one.writer for one in begun if one is not None)))
            theirs = [term for writer in likely if writer != OUTSIDE for term in terms_of(writer)]
            for seq in event.seqs:
                _add_terms(w, seq, theirs, (block, row))
    if block >= 0:
        w.put("terms", u32(block), bytes(row))


def _add_terms(w: WriteTransaction, seq: int, terms: Sequence[bytes], current: tuple[int, bytearray]) -> None:
    """Add terms to an indexed record. A row of another block than `current` (block, row) is written back at once."""
    at, place = divmod(seq, BLOCK)
    row = current[1] if at == current[0] else bytearray(w.get("terms", u32(at)) or b"")
    for term in terms:
        _set_bit(row, _place_of(w, row, at, term), place)
    if at != current[0]:
        w.put("terms", u32(at), bytes(row))


def _place_of(w: WriteTransaction, row: bytearray, block: int, term: bytes) -> int:
    found = _entry(row, term)
    if found < 0:
        found = len(row)
        row += term + bytes(_BITS)
        _note_span(w, block // SPAN, term)
    return found


def _set_bit(row: bytearray, entry: int, place: int) -> None:
    row[entry + _TERM + (place >> 3)] |= 1 << (place & 7)


def find(
    r: ReadTransaction, wanted: Sequence[Alternatives], after: int, upto: int, reverse: bool
) -> Iterator[tuple[int, Sequence[int]]]:
    """Yield the steps of a search in after < seq <= upto, in order or `reverse`: (record reached, matching records
    since the last step).

    A match has a term of each of `wanted`, or a hash collision. Spans without a match are steps, so that the caller can
    stop.
    """
    if upto <= after:
        return
    first, last = (after + 1) // BLOCK, upto // BLOCK
    spans = range(first // SPAN, last // SPAN + 1)
    for span in reversed(spans) if reverse else spans:
        start, stop = max(first, span * SPAN), min(last, span * SPAN + SPAN - 1) + 1
        known = r.get("term_spans", u32(span)) or b""
        if all(any(_in_span(known, term) for term in terms) for terms in wanted):
            yield from _in_blocks(r, wanted, (start, stop), (after, upto), reverse)
        else:
            yield max(start * BLOCK, after + 1) if reverse else min(stop * BLOCK - 1, upto), ()


def _in_blocks(
    r: ReadTransaction, wanted: Sequence[Alternatives], blocks: tuple[int, int], bounds: tuple[int, int], reverse: bool
) -> Iterator[tuple[int, Sequence[int]]]:
    after, upto = bounds
    for key, row in r.scan("terms", u32(blocks[0]), u32(blocks[1]), reverse):
        first = int.from_bytes(key, "big") * BLOCK
        reached = max(first, after + 1) if reverse else min(first + BLOCK - 1, upto)
        bits = _of_row(row, wanted) & _within(first, after, upto)
        yield reached, _places(first, bits, reverse) if bits else ()


def tally(
    r: ReadTransaction, kinds: Sequence[Alternatives], lanes: Sequence[Sequence[Alternatives]], bounds: Sequence[int]
) -> list[list[dict[int, int]]]:
    """Return found[lane][kind]: stretch → number of records of that kind, without zeros. A record counts in the first
    lane that it fits.

    A record fits a lane if it has a term of each of the lane's alternatives. Two lanes are added: the remaining records
    with `OUTSIDE_TERM`, and all others. `bounds` rise; stretch i holds bounds[i] < seq <= bounds[i + 1].
    """
    found: list[list[dict[int, int]]] = [[{} for _ in kinds] for _ in range(len(lanes) + 2)]
    after, upto = bounds[0], bounds[-1]
    if upto <= after:
        return found
    for key, row in r.scan("terms", u32((after + 1) // BLOCK), u32(upto // BLOCK + 1)):
        first = int.from_bytes(key, "big") * BLOCK
        within = _within(first, after, upto)
        of_kinds = [_union(row, terms) & within for terms in kinds]
        left = 0
        for bits in of_kinds:
            left |= bits
        outside, stretches = _union(row, (OUTSIDE_TERM,)), _stretches(first, bounds)
        for lane in range(len(lanes) + 2):
            if not left:
                break
            own = (
                _of_row(row, lanes[lane]) & left
                if lane < len(lanes)
                else left & outside
                if lane == len(lanes)
                else left
            )
            left &= ~own
            for counts, bits in zip(found[lane], of_kinds, strict=True) if own else ():
                for stretch, mask in stretches if bits & own else ():
                    if number := (bits & own & mask).bit_count():
                        counts[stretch] = counts.get(stretch, 0) + number
    return found


def _stretches(first: int, bounds: Sequence[int]) -> list[tuple[int, int]]:
    at = max(bisect_right(bounds, first - 1) - 1, 0)
    found = []
    while at < len(bounds) - 1 and bounds[at] < first + BLOCK - 1:
        found.append((at, _within(first, bounds[at], bounds[at + 1])))
        at += 1
    return found


class Filter:
    """Test by the index whether a record has a term of each of `wanted`."""

    def __init__(self, r: ReadTransaction, wanted: Sequence[Alternatives]) -> None:
        self._r = r
        self._wanted = wanted
        self._block = -1
        self._bits = 0

    def admits(self, seq: int) -> bool:
        """True if the record may match. Fast within the block tested before."""
        block, place = divmod(seq, BLOCK)
        if block != self._block:
            self._block, self._bits = block, _of_row(self._r.get("terms", u32(block)) or b"", self._wanted)
        return bool(self._bits >> place & 1)


def _of_row(row: bytes, wanted: Sequence[Alternatives]) -> int:
    bits = _ALL
    for terms in wanted:
        bits &= _union(row, terms)
        if not bits:
            break
    return bits


def _union(row: bytes, terms: Alternatives) -> int:
    bits = 0
    for term in terms:
        at = _entry(row, term)
        if at >= 0:
            bits |= int.from_bytes(row[at + _TERM : at + _ENTRY], "little")
    return bits


def _within(first: int, after: int, upto: int) -> int:
    bits = _ALL
    if after >= first:
        bits &= _ALL << (after + 1 - first)
    if upto < first + BLOCK - 1:
        bits &= (1 << (upto + 1 - first)) - 1
    return bits & _ALL


def _places(first: int, bits: int, reverse: bool) -> list[int]:
    seqs = []
    while bits:
        lowest = bits & -bits
        seqs.append(first + lowest.bit_length() - 1)
        bits ^= lowest
    if reverse:
        seqs.reverse()
    return seqs


def _note_span(w: WriteTransaction, span: int, term: bytes) -> None:
    known = w.get("term_spans", u32(span)) or b""
    if not _in_span(known, term):
        w.put("term_spans", u32(span), known + term)


def _in_span(known: bytes, term: bytes) -> bool:
    at = known.find(term)
    while at >= 0 and (beyond := at % _TERM):
        at = known.find(term, at - beyond + _TERM)
    return at >= 0


def _entry(row: bytes | bytearray, term: bytes) -> int:
    at = row.find(term)
    while at >= 0 and (beyond := at % _ENTRY):
        at = row.find(term, at - beyond + _ENTRY)
    return at


def _term(sort: str, word: str) -> bytes:
    found = zlib.crc32(f"{sort}{word}".encode("utf-8", "surrogatepass"))
    return u32(found or 1)
