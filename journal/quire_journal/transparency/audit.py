"""Audit: comparison of a journal with signed heads of its past. Where the records give another root than a head, stored
tiles of the signed tree give the first record that differs; without tiles, the heads that fit show how far nothing
differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from quire_journal.model import Event, HeadSigned, JournalSalvaged, counted, read_record
from quire_journal.storage import ReadTransaction, Store, last_number, u64
from quire_journal.transparency.checkpoint import TreeHead, keys_of, read_head
from quire_journal.transparency.log_leaves import leaves
from quire_journal.transparency.merkle import root
from quire_journal.transparency.note import BadNote, Note, VerifierKey
from quire_journal.transparency.tiles import MissingTile, RightEdge, StoredTree
from quire_journal.views import lost_bytes
from quire_journal.views.indexes import term_index

_CHUNK: Final = 1000
_FEW: Final = 10  # records listed

HELD: Final = "held"
CUT: Final = "cut"
DIFFERS: Final = "differs"


class Claim(msgspec.Struct, frozen=True):
    """Signed head that the journal should fit."""

    head: TreeHead
    source: str  # where the head was found, as a phrase
    at_s: int = 0  # the signed time; 0: unknown
    vouched: bool = False  # the signature was verified
    wrong: str = ""  # why the signature is wrong, as a clause


class HeadVerdict(msgspec.Struct, frozen=True):
    claim: Claim
    state: str  # HELD; CUT: the journal has fewer records; DIFFERS: it has other records
    records: int  # number of records of the journal
    first: int = 0  # the first record that differs, if known
    fits: int = 0  # number of first records known to be the signed records
    masked: tuple[tuple[int, int], ...] = ()  # (replaced record, the record that says so), for records replaced since
    forked: bool = False  # another head of the same tree fits


def claim_of(note: Note, source: str, keys: Iterable[VerifierKey]) -> Claim:
    """Return the signed head in a note as a claim. Raises `BadNote` if the note is no head."""
    head = read_head(note.text)
    try:
        signed = note.signed_by(keys)
    except BadNote as error:
        return Claim(head, source, wrong=str(error))
    return Claim(head, source, max(signed.values(), default=0), bool(signed))


def known_keys(r: ReadTransaction) -> list[VerifierKey]:
    """Return the public keys with which heads of this journal were signed, according to its records."""
    found: dict[VerifierKey, None] = {}
    for _, event in _numbered(r, HeadSigned.kind):
        if isinstance(event, HeadSigned):
            found.update(dict.fromkeys(keys_of(event.origin, event.key)))
    return list(found)


def verdicts(
    store: Store,
    claims: Sequence[Claim],
    trees: Sequence[StoredTree] = (),
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> list[HeadVerdict]:
    """Return the verdict on each claim. Of the stored `trees` only the parts that a signed root proves are used. `tell`
    gets the number of records read so far, and the number of all records.
    """
    kept = [_Kept(tree) for tree in trees]
    sizes = {claim.head.size for claim in claims}
    roots: dict[int, bytes] = {0: RightEdge().root()}
    edge, replacements = RightEdge(), _Replacements()
    total = 1
    while edge.size < total:
        with store.reading() as r:
            replacements.look(r)
            rows = list(leaves(r, edge.size + 1, _CHUNK, replacements.hashes))
            total = last_number(r, "records")
        if not rows:
            break
        for seq, leaf, known in rows:
            if seq != edge.size + 1:
                total = 0  # a gap, which the check of the chain reports
                break
            there = leaf if known else next((one for tree in kept if (one := tree.leaf(edge.size)) is not None), leaf)
            for tree in kept:
                tree.compare(edge.size, there)
            for _ in edge.append(there):
                pass
            if edge.size in sizes:
                roots[edge.size] = edge.root()
        tell(edge.size, total)
    masks = sorted(replacements.by.items())
    found = [_verdict(claim, edge.size, roots, kept) for claim in claims]
    held = [one.claim for one in found if one.state == HELD]
    return [
        msgspec.structs.replace(
            one,
            fits=max(one.fits, _bound(one.claim, held)) if one.state != HELD else one.claim.head.size,
            masked=tuple((seq, by) for seq, by in masks if seq <= one.claim.head.size < by),
            forked=one.state == DIFFERS and any(claim.head.origin == one.claim.head.origin for claim in held),
        )
        for one in found
    ]


def _bound(claim: Claim, held: Sequence[Claim]) -> int:
    """Return how many records of `claim` are the journal's, as the largest smaller head in `held` (heads that the
    journal holds) proves. A head that was signed later proves nothing: an old copy of the journal may have been
    restored, and gone on.
    """
    timed = [one for one in held if bool(one.at_s) == bool(claim.at_s) and one.at_s <= claim.at_s]
    return max((one.head.size for one in timed if one.head.size < claim.head.size), default=0)


class _Kept:
    def __init__(self, tree: StoredTree) -> None:
        self.tree = tree
        self.differs_at: int | None = None  # index of the leaf
        self._whole = True

    def leaf(self, index: int) -> bytes | None:
        if not self._whole or index >= self.tree.size:
            return None
        try:
            return self.tree.leaf(index)
        except MissingTile:
            self._whole = False
            return None

    def compare(self, index: int, leaf: bytes) -> None:
        if self.differs_at is None and (there := self.leaf(index)) is not None and there != leaf:
            self.differs_at = index

    def proves(self, head: TreeHead) -> bool:
        try:
            return self._whole and head.size <= self.tree.size and root(head.size, self.tree.subtree) == head.root
        except MissingTile:
            return False


def _verdict(claim: Claim, records: int, roots: dict[int, bytes], kept: Sequence[_Kept]) -> HeadVerdict:
    head = claim.head
    if roots.get(head.size) == head.root:
        return HeadVerdict(claim, HELD, records)
    tree = next((one for one in kept if one.proves(head)), None)
    at = tree.differs_at if tree is not None else None
    if tree is not None and at is None and head.size > records:
        return HeadVerdict(claim, CUT, records, fits=records)
    if at is not None:
        return HeadVerdict(claim, DIFFERS, records, first=at + 1, fits=at)
    return HeadVerdict(claim, CUT if head.size > records else DIFFERS, records)


class _Replacements:
    """Replaced records, read from the log, as views could be changed to excuse a changed record."""

    def __init__(self) -> None:
        self.hashes: dict[int, bytes] = {}  # replaced record → its original hash
        self.by: dict[int, int] = {}  # replaced or lost record → the newest record that says so
        self._looked = 0

    def look(self, r: ReadTransaction) -> None:
        for kind in lost_bytes.REPLACING:
            for seq, event in _numbered(r, kind, self._looked):
                for of, was in lost_bytes.hashes_before(event):
                    self.hashes.setdefault(of, was)
                    self.by[of] = seq
                for first, last in event.lost if isinstance(event, JournalSalvaged) else ():
                    self.by.update(dict.fromkeys(range(first, last + 1), seq))
        self._looked = last_number(r, "records")


def _numbered(r: ReadTransaction, kind: str, after: int = 0) -> Iterator[tuple[int, Event]]:
    for _, seqs in term_index.find(r, [[term_index.of_kind(kind)]], after, last_number(r, "records"), reverse=False):
        for seq in seqs:
            stored = r.get("records", u64(seq))
            event = read_record(seq, stored).event() if stored is not None else None
            if event is not None:
                yield seq, event


def findings(verdict: HeadVerdict) -> list[str]:
    """Return the problems of a head, one sentence each; [] for a head that the journal holds."""
    claim, head = verdict.claim, verdict.claim.head
    told = f"{claim.source} has the head of {counted(head.size, 'record')}{_when(claim.at_s)}"
    wrong = [f"The head of {claim.source} is not to be trusted: {claim.wrong}."] if claim.wrong else []
    if verdict.state == CUT:
        missing = counted(head.size - verdict.records, "record is", "records are")
        fits = (
            "" if verdict.fits == verdict.records else f", and of the others only the first {verdict.fits} are proved"
        )
        said = (
            f"The journal ends with record {verdict.records}, and {told}: {missing} missing{fits}. Its end was cut "
            "off, or it was put back from an older copy."
        )
    elif verdict.state == DIFFERS and verdict.first:
        said = (
            f"Record {verdict.first} is not the one that was signed: {told}. The records before it are the signed "
            "ones; from there on records were changed, dropped, inserted or moved, or the journal was cut off or "
            "put back from an older copy, and went on."
        )
    elif verdict.state == DIFFERS:
        said = (
            f"The first {counted(head.size, 'record')} are not those that were signed: {told}. In the "
            f"records {verdict.fits + 1} to {head.size} some were changed, dropped, inserted or moved, or the journal "
            "was cut off or put back from an older copy, and went on."
        )
    else:
        return wrong
    if verdict.forked:
        said += (
            " Another signed head of the same tree fits this journal: one of the two is a fork (a copy that went on), "
            "or the past was rewritten and signed again."
        )
    return [*wrong, said]


def acceptance(verdict: HeadVerdict) -> str:
    """Return the facts that a head held by the journal proves, in a sentence or two."""
    claim, head = verdict.claim, verdict.claim.head
    more = verdict.records - head.size
    said = f"The journal holds the {counted(head.size, 'record')} of the head of {claim.source}{_when(claim.at_s)}"
    said += f", and {counted(more, 'newer one')}." if more else "."
    if not claim.vouched and not claim.wrong:
        said += " Its signature was not verified, for no key of that name is known; give the key."
    if verdict.masked:
        listed = ", ".join(f"{seq} (by record {by})" for seq, by in verdict.masked[:_FEW])
        rest = f" and {len(verdict.masked) - _FEW} more" if len(verdict.masked) > _FEW else ""
        said += (
            f" {counted(len(verdict.masked), 'record')} had texts removed since, or was lost, so that what it said is "
            f"not proved: {listed}{rest}."
        )
    return said


def _when(at_s: int) -> str:
    return f" signed at {datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M:%S} UTC" if at_s else ""
