"""Overview of a team: each journal at the hub, its owner, and how much of it has arrived."""

from __future__ import annotations

from typing import NamedTuple

from quire_client.hub.team import Card, Cards
from quire_client.ship import FarSide, NatsConnection, read_journal, siblings
from quire_journal.model import JournalDamaged, read_record
from quire_journal.shipment import BadSegment, origin_of, read_segment
from quire_journal.transparency import BadNote, read_vkey


class JournalAtHub(NamedTuple):
    """Row of a team's overview: a journal, and how much of it is at the hub."""

    journal: str
    label: str  # host:checkout, "" without a card
    segments: int
    records: int
    newest_ns: int  # time of the newest record shipped in full; 0 if the last segment has none
    wrong: str = ""  # why its last segment is unreadable


class JournalVerdict(NamedTuple):
    """Result of checking a journal at the hub."""

    records: int
    signed: bool  # each segment, by a key on its host's card
    wrong: list[str]  # sentences


def labels(connection: NatsConnection) -> dict[str, Card]:
    """Return journal → card (its owner). Raises `FarSideUnreachable`."""
    return {card.journal: card for card in Cards(connection).all()}


def card_of(cards: dict[str, Card], journal: str) -> Card | None:
    """Return the card (owner) of a journal, or of the journal from which it forked; None if neither has one."""
    return cards.get(journal) or cards.get(origin_of(journal))


def journals_at_hub(connection: NatsConnection, far: FarSide) -> list[JournalAtHub]:
    """Return the team's journals, sorted by label. Raises `FarSideUnreachable`."""
    cards = labels(connection)
    found = []
    for journal in far.segments.journals():
        card = card_of(cards, journal)
        last = max(far.segments.numbers(journal), default=0)
        found.append(_at_hub(journal, card.label if card else "", last, far.segments.get(journal, last)))
    return sorted(found, key=lambda one: (one.label, one.journal))


def _at_hub(journal: str, label: str, last: int, data: bytes | None) -> JournalAtHub:
    try:
        segment = read_segment(data or b"")
        told = [(seq, stored) for seq, stored, _ in segment.rows() if stored]
        newest_ns = read_record(*told[-1]).at_ns if told else 0
    except (BadSegment, JournalDamaged) as error:
        return JournalAtHub(journal, label, last, 0, 0, f"segment {last} was changed: {error}")
    return JournalAtHub(journal, label, last, segment.last, newest_ns)


def checked_journal(far: FarSide, journal: str, card: Card | None, contents: bool) -> JournalVerdict:
    """Read and check all segments of a journal, with `contents` also its blobs; without a card, no signatures. Raises
    `FarSideUnreachable`.
    """
    try:
        keys = [read_vkey(line) for line in card.keys.splitlines()] if card is not None else []
    except BadNote as error:
        return JournalVerdict(0, bool(card), [str(error)])
    found = read_journal(far, journal, keys, contents)
    return JournalVerdict(found.at.seq, bool(keys), [*found.wrong, *siblings(far, found)])
