"""The journal: one way in, all or nothing, and the same after every opening."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, strategies as st

from quire_journal import FORMAT
from quire_journal.history.history import History
from quire_journal.integrity.checker import check
from quire_journal.journal import Journal, NewRecord, OtherFormat
from quire_journal.model.events import Event, FileMoved, FileWritten, OutsideWritten, WorkspaceOpened, WritesSettled
from quire_journal.model.ids import OUTSIDE, BatchId, WriterId, blob_id
from quire_journal.model.records import (
    GENESIS,
    HEAD_KEY,
    JournalDamaged,
    Record,
    decode_record,
    encode_record,
    head_row,
    link,
    record_hash,
)
from quire_journal.storage.blobs import blobs, codec, index as blob_index
from quire_journal.storage.blobs.blobs import NotHeld
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import TABLES, OutOfOrder, Store, StoreFailure, u64
from quire_journal.text.text import Text
from quire_journal.views import replay, watermarks

NOW = 1_790_000_000_000_000_000


def outside(path: str, data: bytes) -> OutsideWritten:
    return OutsideWritten(path, blob_id(data), len(data), 0o644, "watched")


def note(journal: Journal, *events: Event, at_ns: int = NOW, op: bytes = b"") -> list[Record]:
    """The events as one batch, without bytes."""
    batch = BatchId(journal.head + 1)
    return journal.append([NewRecord(event, OUTSIDE, at_ns, batch, op) for event in events])


def keep(journal: Journal, path: str, data: bytes) -> Record:
    """A version of `path`, with its bytes."""
    entry = NewRecord(outside(path, data), OUTSIDE, NOW, BatchId(journal.head + 1))
    return journal.append([entry], [(data, path)])[0]


def everything(store: Store) -> dict[str, list[tuple[bytes, bytes]]]:
    """All tables; of addresses, whose marks are made with a key that is drawn, which numbers they lead to."""
    with store.reading() as r:
        tables = replay.dump(r, set(TABLES) - {"addresses"})
        return {**tables, "addresses": sorted((u64(number), b"") for number in blob_index.numbers(r))}


@pytest.fixture
def journal() -> Journal:
    return Journal.open(MemoryStore(), NOW)


def test_an_empty_store_becomes_a_journal_with_a_name_of_its_own() -> None:
    store = MemoryStore()
    journal = Journal.open(store, NOW)
    assert (journal.head, journal.last_hash, len(journal.workspace_id)) == (0, GENESIS, 32)
    assert Journal.open(store, NOW + 1).workspace_id == journal.workspace_id
    assert Journal.open(MemoryStore(), NOW).workspace_id != journal.workspace_id
    assert Journal.open(MemoryStore(), NOW, workspace_id="ab" * 16).workspace_id == "ab" * 16


def test_records_get_the_seqs_that_their_callers_counted_on(journal: Journal) -> None:
    first = note(journal, WorkspaceOpened("/w", "e1", "0"), WritesSettled(0))
    assert [record.seq for record in first] == [1, 2]
    assert [record.batch for record in first] == [1, 1]
    assert [record.seq for record in note(journal, WritesSettled(0))] == [3]
    assert journal.head == 3


def test_each_record_holds_the_hash_of_the_one_before(journal: Journal) -> None:
    for n in range(5):
        note(journal, WritesSettled(n), WritesSettled(n))
    with journal.store.reading() as r:
        stored = [value for _, value in r.scan("records")]
    prev = GENESIS
    for one in stored:
        assert decode_record(one).prev == link(prev)
        prev = record_hash(one)
    assert journal.last_hash == prev


def test_record_times_never_go_back_even_when_the_clock_does(journal: Journal) -> None:
    times = [note(journal, WritesSettled(0), at_ns=at)[0].at_ns for at in (50, 40, 60)]
    again = Journal.open(journal.store, NOW)
    times.append(note(again, WritesSettled(0), at_ns=10)[0].at_ns)
    assert times == [50, 50, 60, 60]


@pytest.mark.parametrize("batches", [[0], [2], [-1], [1, 3], [1, 3, 3], [1, 1, 2]])
def test_a_batch_that_no_record_begins_is_a_mistake_and_stores_nothing(journal: Journal, batches: list[int]) -> None:
    entries = [NewRecord(WritesSettled(0), OUTSIDE, NOW, BatchId(batch)) for batch in batches]
    before = everything(journal.store)
    with pytest.raises(ValueError, match="batch"):
        journal.append(entries, [(b"bytes", "a")])
    assert everything(journal.store) == before
    assert journal.head == 0


def test_several_batches_go_into_one_commit_and_a_record_may_join_an_earlier_batch(journal: Journal) -> None:
    entries = [NewRecord(WritesSettled(n), WriterId(0), NOW, BatchId(batch)) for n, batch in enumerate([1, 1, 3, 4, 4])]
    assert [record.batch for record in journal.append(entries)] == [1, 1, 3, 4, 4]
    assert journal.append([NewRecord(WritesSettled(9), OUTSIDE, NOW, BatchId(3))])[0].batch == 3


def test_bytes_records_and_views_are_there_together(journal: Journal) -> None:
    record = keep(journal, "a.py", b"print()\n")
    with journal.store.reading() as r:
        history = History(r)
        head = history.file("a.py")
        assert head is not None
        assert (head.seq, history.bytes_of(head.blob)) == (record.seq, b"print()\n")
        assert history.path_id("a.py") == 1
        assert history.path_id("b.py") is None


def test_bytes_may_be_made_ready_outside_of_the_commit(journal: Journal) -> None:
    data = b"line\n" * 1000
    entry = NewRecord(outside("a", data), OUTSIDE, NOW, BatchId(1))
    journal.append([entry], [(codec.compress(data), "a")])
    with journal.store.reading() as r:
        assert blobs.get(r, blob_id(data)) == data


def test_a_delta_uses_the_callers_text_of_the_base_without_unpacking(journal: Journal) -> None:
    old, new = Text.of(b"one\ntwo\n" * 99), Text.of(b"one\ntwo\n" * 98 + b"one\n2\n")
    asked: list[bytes] = []

    def at_hand(blob: bytes) -> Text | None:
        asked.append(blob)
        return old if blob == old.blob else None

    for text in (old, new):
        entry = NewRecord(outside("f", text.data), OUTSIDE, NOW, BatchId(journal.head + 1))
        journal.append([entry], [(text, "f")], at_hand)
    assert asked == [old.blob]
    with journal.store.reading() as r:
        assert blobs.get(r, new.blob) == new.data


def test_the_second_version_is_a_delta_against_a_first_that_was_stored_as_a_prepared_frame(
    journal: Journal,
) -> None:
    first = b"".join(b"line %d\n" % n for n in range(200))
    entry = NewRecord(outside("a", first), OUTSIDE, NOW, BatchId(1))
    journal.append([entry], [(codec.compress(first), "a")])
    keep(journal, "a", first + b"one more\n")
    with journal.store.reading() as r:
        assert blobs.stored_at(r, 2).base == 1


def test_a_file_that_is_moved_and_changed_at_once_is_made_from_what_it_was(journal: Journal) -> None:
    data = b"".join(b"line %d\n" % n for n in range(200))
    journal.append([NewRecord(outside("a", data), OUTSIDE, NOW, BatchId(1))], [(codec.compress(data), "a")])
    changed = data.replace(b"line 7\n", b"line seven\n")
    moved = FileMoved("a", "b", blob_id(changed), len(changed), 0o644, 1)
    journal.append([NewRecord(moved, OUTSIDE, NOW, BatchId(2))], [(changed, "b")])
    with journal.store.reading() as r:
        assert blobs.stored_at(r, 2).base == 1
        assert History(r).bytes_of(blob_id(changed)) == changed


def test_bytes_alone_and_nothing_at_all_are_fine(journal: Journal) -> None:
    assert journal.append([], [(b"kept", None)]) == []
    assert journal.append([]) == []
    with journal.store.reading() as r:
        assert blobs.holds(r, blob_id(b"kept"))
    assert journal.head == 0


def test_an_operation_id_stands_on_its_record(journal: Journal) -> None:
    assert note(journal, WritesSettled(0), op=b"o" * 16)[0].op == b"o" * 16


def test_a_commit_that_fails_changes_nothing_in_the_store_and_nothing_in_memory() -> None:
    store = MemoryStore()
    journal = Journal.open(store, NOW)
    keep(journal, "a", b"first")
    before, head, last = everything(store), journal.head, journal.last_hash

    def full() -> None:
        raise StoreFailure("the disk is full", disk_full=True)

    store.fault = full
    with pytest.raises(StoreFailure):
        keep(journal, "a", b"lost")
    assert (everything(store), journal.head, journal.last_hash) == (before, head, last)
    store.fault = None
    assert keep(journal, "a", b"second").seq == head + 1
    assert list(check(store)) == []


def test_a_store_that_somebody_else_appended_to_is_noticed(journal: Journal) -> None:
    note(Journal.open(journal.store, NOW), WritesSettled(0))
    with pytest.raises(OutOfOrder):
        note(journal, WritesSettled(0))


def test_a_journal_of_a_newer_format_is_refused_and_not_touched() -> None:
    store = MemoryStore()
    with store.writing() as w:
        w.put("meta", b"format", str(FORMAT + 1).encode())
    before = everything(store)
    with pytest.raises(OtherFormat, match=f"format {FORMAT + 1}.*newer Quire"):
        Journal.open(store, NOW)
    assert everything(store) == before


def test_a_store_that_holds_something_and_says_no_format_is_damage() -> None:
    store = MemoryStore()
    with store.writing() as w:
        w.append("records", u64(1), b"?")
    with pytest.raises(JournalDamaged, match="format"):
        Journal.open(store, NOW)


def lose_the_first(store: Store) -> None:
    with store.writing() as w:
        w.delete("records", u64(1))


def garble_the_last(store: Store) -> None:
    with store.writing() as w:
        w.put("records", u64(3), b"\xc1")


@pytest.mark.parametrize("damage", [lose_the_first, garble_the_last])
def test_a_log_whose_end_or_length_is_wrong_is_damage(journal: Journal, damage: Callable[[Store], None]) -> None:
    note(journal, WritesSettled(0), WritesSettled(0), WritesSettled(0))
    damage(journal.store)
    with pytest.raises(JournalDamaged):
        Journal.open(journal.store, NOW)


def test_views_that_are_missing_are_folded_again_when_the_journal_is_opened(journal: Journal) -> None:
    for n in range(5):
        keep(journal, f"{n % 2}", b"%d" % n)
    before = everything(journal.store)
    with journal.store.writing() as w:
        for table in TABLES[7:]:
            w.clear(table)
        w.delete("meta", watermarks.KEY)
    Journal.open(journal.store, NOW)
    assert everything(journal.store) == before


def test_a_record_of_an_unknown_kind_is_carried_and_the_next_one_holds_its_hash(journal: Journal) -> None:
    """Also one with fields that a later version appended: the hash is that of the bytes, not of what was understood."""
    note(journal, WritesSettled(0))
    strange = msgspec.msgpack.encode([2, NOW, 0, 2, "file_painted", ["red"], journal.last_hash, b"", "a field more"])
    with journal.store.writing() as w:
        w.append("records", u64(2), strange)
        w.put("meta", HEAD_KEY, head_row(2, record_hash(strange)))
    again = Journal.open(journal.store, NOW)
    assert (again.head, again.last_hash) == (2, record_hash(strange))
    note(again, WritesSettled(0))
    assert list(check(again.store)) == []


@given(st.lists(st.tuples(st.sampled_from("abc"), st.binary(max_size=50), st.booleans()), max_size=20))
def test_a_journal_that_is_opened_again_at_any_point_is_the_one_that_stayed_open(
    steps: list[tuple[str, bytes, bool]],
) -> None:
    stayed, store = Journal.open(MemoryStore(), NOW, workspace_id="w"), MemoryStore()
    opened = Journal.open(store, NOW, workspace_id="w")
    for path, data, reopen in steps:
        if reopen:
            opened = Journal.open(store, NOW)
        for journal in (stayed, opened):
            keep(journal, path, data)
    assert everything(stayed.store) == everything(opened.store)
    assert stayed.last_hash == opened.last_hash


def test_a_full_disk_is_reported_and_writing_resumes_when_there_is_space(
    small_disk: Path,
) -> None:
    journal = Journal.open(LmdbStore.open(small_disk), NOW)
    keep(journal, "a", b"first")
    lost = os.urandom(6 << 20)
    with pytest.raises(StoreFailure) as failed:
        keep(journal, "a", lost)
    assert failed.value.disk_full
    with journal.store.reading() as r:
        assert blobs.get(r, blob_id(b"first")) == b"first"
        with pytest.raises(NotHeld):
            blobs.get(r, blob_id(lost))
    assert keep(journal, "a", b"second").seq == 2
    assert list(check(journal.store)) == []
    journal.close()


def test_a_record_that_is_stored_reads_as_the_one_that_was_returned(journal: Journal) -> None:
    event = FileWritten("a", blob_id(b"x"), 1, 0o600, 0, "edit", 7, 0, "edit")
    record = note(journal, event)[0]
    with journal.store.reading() as r:
        stored = r.get("records", u64(1))
    assert stored == encode_record(record)
    assert decode_record(stored).event() == event
