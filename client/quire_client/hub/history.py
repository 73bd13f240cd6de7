"""The history of other hosts as it is at the hub: what left their machines, newest first, grouped by writer.

Segments are read from the newest one back until there is enough, and the writers of that are known. Each record is
checked to be one; whether all of them hang together `quire hub verify` tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from typing import Any, Final, NamedTuple

from quire_client.hub.overview import card_of, labels
from quire_client.hub.team import Card
from quire_client.ship import FarSide, NatsConnection
from quire_journal.history import rfc3339
from quire_journal.model import OUTSIDE, Record, WriteAttributed, WriterIntroduced, paths_of, read_record, writer_name
from quire_journal.shipment import read_segment

PAUSE_NS: Final = 300_000_000_000
"""A rest of a writer that begins another group."""

MOST_SEGMENTS: Final = 2_000
"""Maximum number of segments of a journal that are read for a list."""

MOST_RECORDS: Final = 200
"""Maximum number of records in a group."""


class Work(NamedTuple):
    """What a writer did without a longer rest."""

    at_ns: int  # the newest record of it
    checkout: str  # host:checkout
    writer: int
    first: int  # versions
    last: int
    versions: int
    paths: tuple[str, ...]  # the latest first


class HostHistory:
    """The history of one journal at the hub."""

    def __init__(self, far: FarSide, journal: str, card: Card | None) -> None:
        self._far, self._journal = far, journal
        self.checkout = card.label if card is not None else journal
        self._numbers = sorted(far.segments.numbers(journal), reverse=True)[:MOST_SEGMENTS]
        self._names: dict[int, WriterIntroduced] = {}
        self._authors: dict[int, int] = {}  # version → writer who was found to have made it
        self._read = 0  # segments

    def versions(self, path: str = "", since_ns: int = 0) -> Iterator[tuple[Record, int, tuple[str, ...]]]:
        """Each record of a version with its writer and paths, newest first; of a path, or of what is in a folder.

        Raises `FarSideUnreachable`, `BadSegment` and `JournalDamaged`.
        """
        for record in self._records(since_ns=since_ns):
            event = record.event()
            paths = paths_of(event)
            if paths and not record.kind.startswith(("lease", "read")) and _within(paths, path):
                yield record, self._authors.get(record.seq, record.writer), paths

    def work(self, path: str = "") -> Iterator[Work]:
        """The versions, newest first, grouped by writer and time. Raises as `versions` does."""
        group: list[tuple[Record, int, tuple[str, ...]]] = []
        for one in self.versions(path):
            record, writer, _ = one
            rests = bool(group) and group[-1][0].at_ns - record.at_ns > PAUSE_NS
            if group and (group[-1][1] != writer or rests or len(group) == MOST_RECORDS):
                yield self._told(group)
                group = []
            group.append(one)
        if group:
            yield self._told(group)

    def named(self, writer: int) -> dict[str, Any]:
        """The writer, as in a reply. Reads on until it is known."""
        if writer != OUTSIDE and writer not in self._names:
            for _ in self._records(until=writer):
                pass
        known = self._names.get(writer)
        if known is None:
            return {"id": writer_name(writer), "type": "outside" if writer == OUTSIDE else "", "uid": None}
        return {"id": writer_name(writer), "agent": known.agent, "agent_session": known.agent_session, "uid": known.uid}

    def _records(self, until: int = -1, since_ns: int = 0) -> Iterator[Record]:
        """Records of segments not read yet, newest first, until one is older or a writer is known."""
        while self._read < len(self._numbers) and until not in self._names:
            segment = read_segment(self._far.segments.get(self._journal, self._numbers[self._read]) or b"")
            self._read += 1
            told = [read_record(seq, stored) for seq, stored, _ in segment.rows() if stored]
            for record in told:
                event = record.event()
                if isinstance(event, WriterIntroduced):
                    self._names[event.id] = event
                elif isinstance(event, WriteAttributed):
                    self._authors |= dict.fromkeys(event.seqs, event.writer)
            for record in reversed(told):
                if record.at_ns < since_ns:
                    return
                yield record

    def _told(self, group: Sequence[tuple[Record, int, tuple[str, ...]]]) -> Work:
        newest, writer, _ = group[0]
        paths = dict.fromkeys(path for _, _, each in group for path in reversed(each))
        seqs = [record.seq for record, _, _ in group]
        return Work(newest.at_ns, self.checkout, writer, min(seqs), max(seqs), len(seqs), tuple(paths))


def histories(
    connection: NatsConnection, far: FarSide, wanted: Callable[[str, Card | None], bool]
) -> tuple[list[HostHistory], list[str]]:
    """The histories of the journals that are wanted by name and card, and the labels of all at the hub."""
    cards = labels(connection)
    there = [(journal, card_of(cards, journal)) for journal in far.segments.journals()]
    found = [HostHistory(far, journal, card) for journal, card in there if wanted(journal, card)]
    return found, sorted({card.label if card is not None else journal for journal, card in there})


def of_other_hosts(connection: NatsConnection, far: FarSide, journal: str) -> list[HostHistory]:
    """The histories of the other journals of the repository of a journal."""
    mine = card_of(labels(connection), journal)
    found, _ = histories(
        connection,
        far,
        lambda name, card: bool(card and mine and name != journal and card.repository == mine.repository),
    )
    return found


def newest_work(histories: Sequence[HostHistory], limit: int, path: str = "") -> list[dict[str, Any]]:
    """The newest work of several journals, with its writers, as JSON."""
    found: list[tuple[Work, HostHistory]] = []
    streams = [((work, history) for work in history.work(path)) for history in histories]
    for work, history in merge(*streams, key=lambda one: -one[0].at_ns):
        if len(found) == limit:
            break
        found.append((work, history))
    return [
        {
            "checkout": work.checkout,
            "at": rfc3339(work.at_ns),
            "writer": history.named(work.writer),
            "versions": work.versions,
            "first": f"v{work.first}",
            "last": f"v{work.last}",
            "paths": list(work.paths),
        }
        for work, history in found
    ]


def _within(paths: Sequence[str], wanted: str) -> bool:
    return wanted in ("", ".") or any(path == wanted or path.startswith(f"{wanted}/") for path in paths)
