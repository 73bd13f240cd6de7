"""What a collection drops: few at a time, never what is needed, and all of it in the end."""

from __future__ import annotations

import pytest

from quire_daemon.clock import SystemClock
from quire_daemon.commit.recorder import Recorder
from quire_daemon.maintenance.gc.drop import AT_ONCE, DropQueue
from quire_daemon.maintenance.gc.mark import Chunk, Marks, NewerNeeds
from quire_journal.integrity.checker import check
from quire_journal.journal import Journal
from quire_journal.maintenance.retention import Policy
from quire_journal.model.events import (
    BytesGone,
    CheckpointNamed,
    FileWritten,
    RetentionApplied,
    WriterIntroduced,
    WritesSettled,
)
from quire_journal.model.ids import WriterId, blob_id
from quire_journal.storage.blobs import blobs, codec
from quire_journal.storage.memory import MemoryStore

ANN = WriterId(1)


def text(number: int) -> bytes:
    """Each version is stored as what tells it from an earlier one."""
    return b"".join(b"%d\n" % (n if n % 40 else n * number) for n in range(200))


class Collection:
    """The drops of a file with forty versions, of which the last is kept, in chunks.

    It is the first one again, as after an undo: what the next one would be made from is to go.
    """

    def __init__(self, in_chunk: int = 2) -> None:
        self.store = MemoryStore()
        self.recorder = Recorder(Journal.open(self.store, 1), SystemClock())
        self.recorder.note(WriterIntroduced(1, uid=1000, agent="ann"), ANN)
        for number in (*range(40), 0):
            self.edit(text(number))
            self.recorder.note(WritesSettled(self.recorder.next_seq - 1))
            self.recorder.commit()
        marks = Marks(self.store, Policy(keep_last=1), SystemClock().now_ns())
        marks.make(lambda: None)
        listed = [blob for chunk in marks.chunks(lambda: None) for blob in chunk.blobs]
        self.batch = self.recorder.note(RetentionApplied("keep-last 1", len(listed), 0, "asked"))
        self.recorder.commit()
        self.steps: list[str] = []
        self.dropping = DropQueue(self.recorder, self.store, NewerNeeds(marks), self.batch, self.steps.append)
        assert self.dropping.take(
            [Chunk(tuple(listed[n : n + in_chunk]), ("a",)) for n in range(0, len(listed), in_chunk)]
        )
        self.listed = listed

    def edit(self, data: bytes, path: str = "a") -> None:
        self.recorder.note(FileWritten(path, blob_id(data), len(data), 0o644), ANN)
        self.recorder.note_blob(data, path)

    def drop(self) -> list[bytes]:
        """The blobs that went."""
        before = [blob for blob in self.listed if self.holds(blob)]
        self.dropping.drop()
        return [blob for blob in before if not self.holds(blob)]

    def holds(self, blob: bytes) -> bool:
        with self.store.reading() as r:
            return blobs.holds(r, blob)

    def held(self) -> int:
        """How many of the blobs that were to go are there."""
        with self.store.reading() as r:
            return sum(blobs.holds(r, blob) for blob in self.listed)


def test_few_go_with_one_commit() -> None:
    it = Collection(in_chunk=1)
    for _ in range(2):
        assert len(it.drop()) == AT_ONCE
    assert it.dropping.dropped == 2 * AT_ONCE == len(it.listed) - it.held()
    assert it.steps == ["gc_dropped"] * 2


def test_a_version_whose_like_was_dropped_can_be_read() -> None:
    it = Collection(in_chunk=40)
    assert len(it.drop()) == len(it.listed)
    data = text(41)
    it.edit(data)
    it.recorder.commit()
    with it.store.reading() as r:
        assert blobs.get(r, blob_id(data)) == data
    assert list(check(it.store)) == []


def test_bytes_that_an_edit_names_again_before_they_go_stay() -> None:
    it = Collection()
    again = next(data for n in range(40) if blob_id(data := text(n)) == it.listed[0])
    it.edit(again)
    while it.dropping.take(()):
        it.drop()
    with it.store.reading() as r:
        assert blobs.get(r, it.listed[0]) == again
    assert list(check(it.store)) == []


def test_a_checkpoint_of_the_past_that_is_named_before_they_go_stops_the_drops() -> None:
    it = Collection()
    it.recorder.note(CheckpointNamed("then", 3), ANN)
    assert not it.drop()
    assert it.dropping.look_again
    assert not it.drop()
    assert it.held() == len(it.listed)


def test_what_was_to_go_with_a_commit_that_failed_goes_with_the_next() -> None:
    it = Collection()
    it.recorder.note_blob(TooLarge(b""), "b")
    with pytest.raises(ValueError, match="bytes are more than"):
        it.drop()
    assert (it.dropping.dropped, it.held()) == (0, len(it.listed))
    assert it.drop() == it.listed[: 2 * AT_ONCE]


class TooLarge(bytes):
    """Bytes that no store takes."""

    def __len__(self) -> int:
        return codec.MAX_BYTES + 1


def test_all_goes_in_the_end_and_the_log_says_so() -> None:
    it = Collection()
    while it.dropping.take(()):
        it.drop()
    assert it.held() == 0
    assert it.dropping.dropped == len(it.listed)
    with it.recorder.history() as history:
        told = [record.event() for record in history.batch(it.batch)]
    assert {blob for event in told if isinstance(event, BytesGone) for blob in event.blobs} == set(it.listed)
    assert list(check(it.store)) == []
