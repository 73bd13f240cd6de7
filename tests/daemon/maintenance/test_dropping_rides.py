"""What a collection drops rides on commits of others: few at a time, never what is needed, and all of it in the end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from quire_daemon.clock import SystemClock
from quire_daemon.commit.recorder import Recorder
from quire_daemon.maintenance.gc.drop import ALONE_S, LARGE, QUIET_S, DropQueue, Portion
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
        self.dropping = DropQueue(self.recorder, self.store, NewerNeeds(marks), self.batch, 0.0, self.steps.append)
        assert self.dropping.take(
            [Chunk(tuple(listed[n : n + in_chunk]), ("a",)) for n in range(0, len(listed), in_chunk)]
        )
        self.listed = listed

    def edit(self, data: bytes, path: str = "a") -> None:
        self.recorder.note(FileWritten(path, blob_id(data), len(data), 0o644), ANN)
        self.recorder.note_blob(data, path)

    def commit(self, now_s: float, alone: bool = False) -> Sequence[bytes]:
        """As the loop does it; the blobs that went along."""
        load = self.dropping.board(now_s, alone)
        self.recorder.commit(*(load or ()))
        self.dropping.committed(now_s, 0.001)
        return load[0].blobs if load else ()

    def held(self) -> int:
        """How many of the blobs that were to go are there."""
        with self.store.reading() as r:
            return sum(blobs.holds(r, blob) for blob in self.listed)


def test_drops_go_with_every_fourth_commit_of_edits_and_never_with_one_of_nothing() -> None:
    it = Collection()
    assert not it.commit(0.001)
    went = []
    for number in range(6):
        it.edit(b"%d" % number, "b")
        went.append(len(it.commit(0.01 * number)))
    assert [bool(count) for count in went] == [True, False, False, False, True, False]
    assert it.dropping.dropped == sum(went) == len(it.listed) - it.held()
    assert it.steps == ["gc_dropped"] * 2


def test_a_new_version_in_the_commit_that_drops_what_it_would_be_made_from_can_be_read() -> None:
    it = Collection(in_chunk=40)
    data = text(41)
    it.edit(data)
    assert len(it.commit(0.0)) == len(it.listed)
    with it.store.reading() as r:
        assert blobs.get(r, blob_id(data)) == data
    assert list(check(it.store)) == []


def test_bytes_that_an_edit_names_again_in_the_very_commit_stay() -> None:
    it = Collection()
    again = next(data for n in range(40) if blob_id(data := text(n)) == it.listed[0])
    it.edit(again)
    assert it.listed[0] not in it.commit(0.0)
    while it.dropping.take(()):
        it.commit(10.0, alone=True)
    with it.store.reading() as r:
        assert blobs.get(r, it.listed[0]) == again
    assert list(check(it.store)) == []


def test_a_checkpoint_of_the_past_that_is_named_in_the_very_commit_stops_the_drops() -> None:
    it = Collection()
    it.recorder.note(CheckpointNamed("then", 3), ANN)
    assert not it.commit(0.0)
    assert it.dropping.look_again
    assert not it.commit(9.0, alone=True)
    assert it.held() == len(it.listed)


def test_what_was_to_go_with_a_commit_that_failed_goes_with_the_next() -> None:
    it = Collection()
    it.edit(b"new", "b")
    load = it.dropping.board(0.0)
    assert load
    it.recorder.note_blob(TooLarge(b""), "b")
    with pytest.raises(ValueError, match="bytes are more than"):
        it.recorder.commit(*load)
    it.dropping.failed()
    assert (it.dropping.dropped, it.held()) == (0, len(it.listed))
    assert it.commit(10.0, alone=True)[: len(load[0].blobs)] == load[0].blobs


class TooLarge(bytes):
    """Bytes that no store takes."""

    def __len__(self) -> int:
        return codec.MAX_BYTES + 1


def test_by_themselves_they_go_when_nobody_has_committed_for_a_moment_and_many_after_a_while() -> None:
    it = Collection()
    it.edit(b"new", "b")
    it.commit(1.0)
    assert not it.dropping.due(1.0 + ALONE_S / 2)
    assert it.dropping.due(1.0 + ALONE_S)
    assert len(it.commit(1.0 + ALONE_S, alone=True)) == 2
    assert it.dropping.due(1.0 + ALONE_S), "a commit of its own is not one that others made"
    assert len(it.commit(1.0 + QUIET_S, alone=True)) == 2 * LARGE


def test_all_goes_in_the_end_and_the_log_says_so() -> None:
    it = Collection()
    while it.dropping.take(()):
        it.commit(10.0, alone=True)
    assert it.held() == 0
    assert it.dropping.dropped == len(it.listed)
    with it.recorder.history() as history:
        told = [record.event() for record in history.batch(it.batch)]
    assert {blob for event in told if isinstance(event, BytesGone) for blob in event.blobs} == set(it.listed)
    assert list(check(it.store)) == []


def test_a_portion_grows_while_commits_do_not_take_longer_for_it_and_shrinks_when_they_do() -> None:
    portion = Portion()
    for _ in range(20):
        portion.committed(0.006, False)
        portion.committed(0.007, True)
    assert portion.chunks == LARGE
    for _ in range(20):
        portion.committed(0.006, False)
        portion.committed(0.020, True)
    assert portion.chunks == 1
