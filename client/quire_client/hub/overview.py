"""The overview of a team: each journal at the hub, whose it is, and how far it is there."""

from __future__ import annotations

from typing import NamedTuple

from quire_client.hub.team import Card, Cards
from quire_client.ship import FarSide, NatsConnection, Stream, read_journal, siblings, stream_of
from quire_journal.model import read_record
from quire_journal.shipment import BadSegment, origin_of, read_segment


class JournalAtHub(NamedTuple):
    """A journal of the team."""

    journal: str
    label: str  # host:checkout, or "" if nobody says
    segments: int
    records: int
    newest_ns: int  # time of the newest record that is told; 0 if none of the last segment is
    wrong: str = ""  # what makes its last segment unreadable


class Condition(NamedTuple):
    """How safe the stream of a team is."""

    version: str  # of the server
    replicas: int
    messages: int
    bytes: int


def condition(connection: NatsConnection) -> Condition:
    """Raises `FarSideUnreachable`."""
    info = Stream(connection, stream_of(connection.address.team)).info()
    state, config = info.get("state") or {}, info.get("config") or {}
    version = str(connection.nats.connected_server_version)
    return Condition(version, int(config.get("num_replicas") or 1), int(state["messages"]), int(state["bytes"]))


def warnings(found: Condition) -> list[str]:
    """Sentences about what may lose acknowledged records."""
    said = []
    if found.replicas < 3:
        what = f"The team's stream has {found.replicas} replica{'' if found.replicas == 1 else 's'}"
        said.append(f"{what}; with fewer than three, the loss of a disk loses the copy.")
    if _numbers(found.version) < (2, 12):
        said.append(f"The server is {found.version}; before 2.12 it is known to lose acknowledged messages.")
    return said


def labels(connection: NatsConnection) -> dict[str, Card]:
    """The cards by journal. Raises `FarSideUnreachable`."""
    return {card.journal: card for card in Cards(connection).all()}


def card_of(cards: dict[str, Card], journal: str) -> Card | None:
    """The card of a journal, or of the one from which it forked."""
    return cards.get(journal) or cards.get(origin_of(journal))


def journals_at_hub(connection: NatsConnection, far: FarSide) -> list[JournalAtHub]:
    """The journals of the team, by label. Raises `FarSideUnreachable`."""
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
    except BadSegment as error:
        return JournalAtHub(journal, label, last, 0, 0, str(error))
    told = [(seq, stored) for seq, stored, _ in segment.rows() if stored]
    newest_ns = read_record(*told[-1]).at_ns if told else 0
    return JournalAtHub(journal, label, last, segment.last, newest_ns)


def checked_journal(far: FarSide, journal: str, contents: bool) -> tuple[int, list[str]]:
    """Read all of a journal; return the number of its records, and what is wrong. Raises `FarSideUnreachable`."""
    try:
        found = read_journal(far, journal, contents=contents)
    except BadSegment as error:
        return 0, [str(error)]
    return found.at.seq, siblings(far, found)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("-")[0].lstrip("v").split(".")[:2] if part.isdigit())
