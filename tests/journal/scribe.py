"""A scribe: writes events into a journal's store as the journal does, for tests that are about views."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Raw

from quire_journal.history.history import History
from quire_journal.maintenance.purge import PurgeSurvey, PurgeTarget, PurgeTransaction
from quire_journal.model.events import Event, FileWritten, OutsideWritten, WriterIntroduced
from quire_journal.model.ids import BatchId, Seq, WriterId
from quire_journal.model.records import GENESIS, HEAD_KEY, Record, encode_record, head_row, record_hash, seal
from quire_journal.storage.blobs import blobs
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import ReadTransaction, Store, WriteTransaction, u64
from quire_journal.views.anchors import BytesOf
from quire_journal.views.replay import catch_up, fold_all
from quire_journal.views.writers import caller_key

SECOND = 1_000_000_000
ANN, BEN = WriterId(1), WriterId(2)
ANN_KEY, BEN_KEY = caller_key(1000, "ann", "s1"), caller_key(1000, "ben", "s2")
BLOB = bytes(32)
"""The address of nothing that is held."""


class Scribe:
    """Appends records, one a second; `folding` says whether the views follow each of them."""

    def __init__(self, store: Store | None = None, folding: bool = True) -> None:
        self.store: Store = MemoryStore() if store is None else store
        self.folding = folding
        self.seq = 0
        self.bytes_of: BytesOf | None = None  # where the folds get bytes from, if not from the journal
        self._prev = GENESIS

    def introduce(self) -> Scribe:
        """Ann is writer 1, Ben writer 2, in records 1 and 2."""
        self.note(WriterIntroduced(1, uid=1000, pid=11, agent="ann", agent_session="s1", turn="t1"))
        self.note(WriterIntroduced(2, uid=1000, pid=12, agent="ben", agent_session="s2"))
        return self

    def note(self, *events: Event, writer: int = 0, op: bytes = b"") -> int:
        """The events as one batch; the seq of the first."""
        batch = self.seq + 1
        with self.store.writing() as w:
            for event in events:
                first_op = op if self.seq + 1 == batch else b""
                seq = Seq(self.seq + 1)
                record = seal(seq, seq * SECOND, WriterId(writer), BatchId(batch), event, self._prev, first_op)
                self._put(w, record, event)
        return batch

    def note_unknown(self) -> int:
        """A record of a kind from the future."""
        seq = self.seq + 1
        record = Record(seq, seq * SECOND, ANN, seq, "file_painted", Raw(b"\x91\xa3red"), self._prev)
        with self.store.writing() as w:
            self._put(w, record, None)
        return record.seq

    def hold(self, data: bytes) -> bytes:
        """Keep the bytes; their address."""
        with self.store.writing() as w:
            return blobs.put(w, data)

    def write(self, path: str, data: bytes, writer: int = 1, by: str = "edit", base: int = 0) -> int:
        """A tool writes `path`; the seq."""
        return self.note(FileWritten(path, self.hold(data), len(data), 0o644, base, by), writer=writer)

    def outside(self, path: str, data: bytes, evidence: str = "watched") -> int:
        """Somebody else does; the seq."""
        return self.note(OutsideWritten(path, self.hold(data), len(data), 0o644, evidence))

    @contextmanager
    def history(self) -> Iterator[History]:
        """Questions to the state of now."""
        catch_up(self.store)
        with self.store.reading() as reading:
            yield History(reading)

    def _put(self, w: WriteTransaction, record: Record, event: Event | None) -> None:
        stored = encode_record(record)
        w.append("records", u64(record.seq), stored)
        w.put("meta", HEAD_KEY, head_row(record.seq, record_hash(stored)))
        self.seq, self._prev = record.seq, record_hash(stored)
        if self.folding:
            fold_all(w, ((record, event),), self.bytes_of)


def to_purge(r: ReadTransaction, wanted: PurgeTarget) -> PurgeTransaction:
    """What a purge has to do, found at the first look."""
    looking = PurgeSurvey(wanted)
    looking.look(r)
    return looking.change(r)
