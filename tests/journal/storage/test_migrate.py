"""Journals of older formats become journals of this one, whole or not at all; those of newer ones are left alone.

`tests/vectors/journal_format_1.json` holds the tables of a journal as format 1 had them: an introduction and four
versions of a file; `journal_format_2.json` and the ones after it those of the same journal as that format had them,
views included. Each format that ever was gets such a file when the next one comes; none is ever changed.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from older import PATH, VECTORS, old_journal

from quire_journal import FORMAT
from quire_journal.export.formats import FORMATS
from quire_journal.export.importer import import_lines
from quire_journal.export.source import Source, Stretch
from quire_journal.history.history import History
from quire_journal.integrity.checker import check
from quire_journal.journal import Journal, NewRecord
from quire_journal.migrate import HEAD_KEY, MIGRATIONS, head_row, migrate
from quire_journal.model.events import FileWritten
from quire_journal.model.ids import BatchId, WriterId, blob_id
from quire_journal.model.records import JournalDamaged, decode_record
from quire_journal.storage.blobs import blobs, codec, index as blob_index, repack
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import WriteTransaction, u64
from quire_journal.views.replay import catch_up


def test_there_is_a_step_and_an_example_for_every_older_format() -> None:
    assert {*MIGRATIONS} == {*range(1, FORMAT)}
    assert all((VECTORS / f"journal_format_{format}.json").exists() for format in MIGRATIONS)


@pytest.mark.parametrize("format", range(1, FORMAT))
def test_a_journal_of_an_older_format_is_opened_with_all_that_it_had(format: int, tmp_path: Path) -> None:
    store = old_journal(LmdbStore.open(tmp_path), format)
    with store.reading() as r:
        records = list(r.scan("records"))
    journal = Journal.open(store, 1)
    with store.reading() as r:
        assert r.get("meta", b"format") == str(FORMAT).encode()
        assert list(r.scan("records")) == records
        assert r.get("meta", HEAD_KEY) == head_row(5, journal.last_hash)
        history = History(r)
        versions = list(history.versions(PATH))
        assert [history.bytes_of(version.blob).count(b"changed") for version in versions] == [1, 1, 1, 1]
    assert list(check(store)) == []
    assert Journal.open(store, 1).head == 5
    store.close()


@pytest.mark.parametrize("format", range(1, FORMAT))
def test_a_journal_of_an_older_format_goes_on_with_records_and_bytes_of_this_one(format: int) -> None:
    store = old_journal(MemoryStore(), format)
    journal = Journal.open(store, 1)
    with store.reading() as r:
        old = {key: len(decode_record(stored).prev) for key, stored in r.scan("records")}
        head = History(r).file(PATH)
        assert head is not None
        before = History(r).bytes_of(head.blob)
    new = before + b"one line more\n"
    event = FileWritten(PATH, blob_id(new), len(new), 0o644, head.seq)
    journal.append([NewRecord(event, WriterId(1), 2, BatchId(6))], [(new, PATH), (before, PATH)])
    with store.reading() as r:
        now = {key: len(decode_record(stored).prev) for key, stored in r.scan("records")}
        assert now == {**old, u64(6): 16}
        assert {*old.values()} == {32 if format < 4 else 16}
        assert History(r).bytes_of(event.blob) == new
        assert sorted(blob_index.numbers(r)) == [1, 2, 3, 4, 5]  # what was there already is not stored twice
    assert list(check(store)) == []
    assert Journal.open(store, 3).head == 6
    again = MemoryStore()
    lines = b"".join(FORMATS["jsonl"].export(Source(store, Stretch(0, 6), "w", "/site"), "batch"))
    import_lines(lines.splitlines(keepends=True), again)
    with store.reading() as ours, again.reading() as theirs:
        assert list(theirs.scan("records")) == list(ours.scan("records"))


def test_a_journal_of_an_older_format_is_not_taken_for_a_damaged_one() -> None:
    assert list(check(old_journal(MemoryStore(), 1), views=False)) == []
    assert list(check(old_journal(MemoryStore(), 2))) == []
    assert list(check(old_journal(MemoryStore(), 3))) == []


def test_damage_to_a_journal_of_an_older_format_is_found() -> None:
    store = old_journal(MemoryStore(), 3)
    with store.writing() as w:
        for blob in [blob for blob, number in w.scan("addresses") if number == u64(3)]:
            w.delete("addresses", blob)
    assert any("Blob 3 has no address" in str(finding) for finding in check(store))
    catch_up(store)  # views of another version are not looked at
    assert any("which are not held" in str(finding) for finding in check(store))


def test_the_views_of_format_2_are_taken_over_and_only_those_with_another_fold_are_folded_again() -> None:
    store = old_journal(MemoryStore(), 2)
    with store.writing() as w:
        w.put("checkpoints", b"a mark", b"that no fold makes")
        w.put("versions", b"a mark", b"of a view whose fold is another now")
    Journal.open(store, 1)
    with store.reading() as r:
        assert r.get("checkpoints", b"a mark")
        assert not r.get("versions", b"a mark")
        assert not r.count("continuity")
        assert not list(r.scan("meta", b"view:", b"view;"))


def test_blobs_of_format_4_are_made_shorter_by_the_next_compaction_also_those_that_were_tried_before() -> None:
    store = old_journal(MemoryStore(), 4)
    last = b""
    with store.writing() as w:
        for number in range(5, 15):
            lines = [b"line %d of %d, which is %d" % (n, number if n % 7 == 0 else 0, n * n) for n in range(90)]
            data = b"\n".join(lines)
            frame = codec.pack_after(data, last) if last else codec.compress(data).body
            kind = codec.DELTA if last else codec.BARE_PACKED
            row = [number - 1 if last else 0, number - 5, len(data), kind, frame]
            w.put("blobs", u64(number), msgspec.msgpack.encode(row))
            w.put("addresses", blob_id(data)[:20], bytes([number]))
            last = data
        w.put("meta", repack.KEY, u64(14))
    journal = Journal.open(store, 1)
    tried = repack.RepackRun(store).next()
    assert tried is not None
    assert {one.number for one in tried.made} >= {*range(6, 15)}
    with journal.store.writing() as w:
        repack.RepackRun(store).write(w, tried)
    with store.reading() as r:
        assert blobs.get(r, blob_id(last)) == last
        assert {blobs.stored_at(r, number).kind for number in range(6, 15)} == {codec.TABLED_BLOCK}
    assert list(check(store)) == []


def test_a_step_that_fails_leaves_the_journal_as_it_was() -> None:
    def half(w: WriteTransaction) -> None:
        w.clear("records")
        raise JournalDamaged("in the middle")

    store = old_journal(MemoryStore(), 1)
    with store.reading() as r:
        before = {table: list(r.scan(table)) for table in ("meta", "records", "blobs")}
    with pytest.raises(JournalDamaged, match="in the middle"):
        migrate(store, 1, 3, {1: MIGRATIONS[1], 2: half})
    with store.reading() as r:
        assert {table: list(r.scan(table)) for table in before} == before


def test_a_format_that_never_was_is_damage() -> None:
    with pytest.raises(JournalDamaged, match="format 0"):
        migrate(old_journal(MemoryStore(), 1), 0, FORMAT)
