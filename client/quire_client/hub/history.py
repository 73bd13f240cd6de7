"""History of other hosts, from the hub: the records that left their machines, newest first, grouped by writer.

Segments (groups of records) are read backwards from the newest, as far as the request and its writers' names need. Each
record is checked for its format; only `quire hub verify` checks the hash chain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from heapq import merge
from typing import Any, Final, NamedTuple

from quire_client.hub.overview import card_of, labels
from quire_client.hub.team import Card
from quire_client.ship import FarSide, NatsConnection
from quire_journal.history import rfc3339
from quire_journal.model import (
    OUTSIDE,
    JournalDamaged,
    Record,
    WriteAttributed,
    WriterIntroduced,
    paths_of,
    read_record,
    writer_name,
)
from quire_journal.shipment import BadSegment, read_segment

PAUSE_NS: Final = 300_000_000_000
"""Pause of a writer, in nanoseconds, that ends a group."""

MOST_SEGMENTS: Final = 2_000
"""Maximum number of segments of a journal that are read for a list."""

MOST_RECORDS: Final = 200
"""Maximum number of records in a group."""


class Work(NamedTuple):
    """Consecutive versions by one writer, without a pause of more than `PAUSE_NS`, 5 minutes."""

    at_ns: int  # time of the newest record
    checkout: str  # host:checkout
    writer: int
    first: int  # versions
    last: int
    versions: int
    paths: tuple[str, ...]  # the latest first


class HostHistory:
    """History of one journal, read from the hub."""

    def __init__(self, far: FarSide, journal: str, card: Card | None, upto: int | None = None) -> None:
        """`card` names the journal's owner. `upto` is the number of the last segment to read; None means all."""
        self._far, self._journal = far, journal
        self.checkout = card.label if card is not None else journal
        numbers = sorted(far.segments.numbers(journal), reverse=True)
        self._numbers = [one for one in numbers if upto is None or one <= upto][:MOST_SEGMENTS]
        self._before_fork: HostHistory | None = None
        self._names: dict[int, WriterIntroduced] = {}
        self._authors: dict[int, int] = {}  # version → writer by later evidence
        self._read = 0  # number of segments read

    def versions(self, path: str = "", since_ns: int = 0) -> Iterator[tuple[Record, int, tuple[str, ...]]]:
        """Yield (record, writer, paths) of each record that names a file, except reads and leases, newest first, from
        the segments that this object has not read yet. `path` selects a file, or the content of a folder.

        Raises `FarSideUnreachable`, `BadSegment` and `JournalDamaged`.
        """
        for record in self._records(since_ns=since_ns):
            event = record.event()
            paths = paths_of(event)
            if paths and not record.kind.startswith(("lease", "read")) and _within(paths, path):
                yield record, self._authors.get(record.seq, record.writer), paths

    def work(self, path: str = "") -> Iterator[Work]:
        """Yield the records of `versions` in groups by writer and time. Raises `FarSideUnreachable`, `BadSegment` and
        `JournalDamaged`.
        """
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
        """Return the fields of the writer with this number, as in a reply; read further segments until the name is
        found.
        """
        if writer != OUTSIDE and writer not in self._names:
            for _ in self._records(until=writer):
                pass
        known = self._names.get(writer)
        if known is None and self._before_fork is not None:
            return self._before_fork.named(writer)
        if known is None:
            return {"id": writer_name(writer), "type": "outside" if writer == OUTSIDE else "", "uid": None}
        return {"id": writer_name(writer), "agent": known.agent, "agent_session": known.agent_session, "uid": known.uid}

    def _records(self, until: int = -1, since_ns: int = 0) -> Iterator[Record]:
        """Yield the records of unread segments, newest first, until one is older than `since_ns` or the writer `until`
        is known. Raises `FarSideUnreachable`, `BadSegment` and `JournalDamaged`.
        """
        while self._read < len(self._numbers) and until not in self._names:
            number = self._numbers[self._read]
            try:
                segment = read_segment(self._far.segments.get(self._journal, number) or b"")
                told = [read_record(seq, stored) for seq, stored, _ in segment.rows() if stored]
            except (BadSegment, JournalDamaged) as error:
                raise BadSegment(f"segment {number} of {self.checkout} was changed: {error}") from error
            self._read += 1
            if segment.parent and self._read == len(self._numbers):
                self._before_fork = HostHistory(self._far, segment.parent, None, segment.number - 1)
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
    """Return the histories of the journals that `wanted` selects by name and owner (`Card`), and the labels
    (`host:checkout`) of all journals at the hub. Raises `FarSideUnreachable`.
    """
    cards = labels(connection)
    there = [(journal, card_of(cards, journal)) for journal in far.segments.journals()]
    found = [HostHistory(far, journal, card) for journal, card in there if wanted(journal, card)]
    return found, sorted({card.label if card is not None else journal for journal, card in there})


def of_other_hosts(
    connection: NatsConnection, far: FarSide, journal: str, known: Collection[str] = ()
) -> list[HostHistory]:
    """Return the histories of the other journals of the same repository as `journal`, without those in `known`. Raises
    `FarSideUnreachable`.
    """
    mine = card_of(labels(connection), journal)
    found, _ = histories(
        connection,
        far,
        lambda name, card: (
            bool(card and mine and card.repository == mine.repository) and name != journal and name not in known
        ),
    )
    return found


def newest_work(histories: Sequence[HostHistory], limit: int, path: str = "") -> list[dict[str, Any]]:
    """Return the newest `limit` groups (`Work`) of several journals as JSON, each with its writer."""
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
