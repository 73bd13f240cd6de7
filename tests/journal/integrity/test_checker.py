"""The check: a sound journal has no findings, and every single thing that is damaged has one."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from scribe import to_purge

from quire_journal.integrity.checker import check
from quire_journal.journal import Journal, NewRecord
from quire_journal.maintenance.purge import PurgeTarget
from quire_journal.model.events import (
    CaptureFailed,
    CheckpointNamed,
    Event,
    FileWritten,
    OutsideDeleted,
    OutsideWritten,
    ReadServed,
    WriterIntroduced,
    WritesSettled,
)
from quire_journal.model.ids import OUTSIDE, BatchId, WriterId, blob_id
from quire_journal.model.records import decode_record
from quire_journal.storage.blobs import blobs, codec, index as blob_index, row as blob_row
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import Store, WriteTransaction, u32, u64
from quire_journal.views import watermarks

Damage = Callable[[WriteTransaction], None]


def journaled(store: Store) -> Store:
    """A journal with ten versions of a file, another writer's, a read, a secret and an end."""
    journal = Journal.open(store, 1, workspace_id="w")

    def add(event: object, writer: int = 0, data: bytes | None = None, path: str = "a.py") -> None:
        entry = NewRecord(event, WriterId(writer), journal.head, BatchId(journal.head + 1))  # type: ignore[arg-type]
        journal.append([entry], [] if data is None else [(data, path)])

    add(WriterIntroduced(1, uid=1000, agent="ann", agent_session="s"))
    for n in range(10):
        data = b"".join(blob_id(b"%d %d" % (line, n if line == n else 0)).hex().encode() + b"\n" for line in range(40))
        if n % 2:
            add(FileWritten("a.py", blob_id(data), len(data), 0o644, journal.head), 1, data)
        else:
            add(OutsideWritten("a.py", blob_id(data), len(data), 0o644, "watched"), 0, data)
    add(ReadServed("a.py", journal.head, ((0, 40),), anchors=True), 1)
    add(CaptureFailed(".env", "secret", 10, blob_id(b"a secret"), 0o600))
    add(FileWritten(".env", blob_id(b"a secret"), 10, 0o600), 1)
    add(OutsideDeleted("b.py", "scanned"))
    add(WritesSettled(journal.head))
    return store


@cache
def in_memory() -> MemoryStore:
    """The same in memory, made once. To be copied before anything is written."""
    store = MemoryStore()
    journaled(store)
    return store


def test_a_sound_journal_has_no_findings(tmp_path: Path) -> None:
    assert list(check(in_memory().copy())) == []
    store = journaled(LmdbStore.open(tmp_path))
    assert list(check(store)) == []
    store.close()


def test_an_empty_journal_is_sound() -> None:
    store = MemoryStore()
    Journal.open(store, 1)
    assert list(check(store)) == []


def replace(w: WriteTransaction, place: int, /, **fields: object) -> None:
    record = decode_record(w.get("records", u64(place)) or b"")
    w.put("records", u64(place), msgspec.msgpack.encode(msgspec.structs.replace(record, **fields)))


def kind(w: WriteTransaction, place: int, number: int) -> None:
    fields = msgspec.msgpack.decode(w.get("records", u64(place)) or b"")
    w.put("records", u64(place), msgspec.msgpack.encode([*fields[:4], number, *fields[5:]]))


def change_stored(w: WriteTransaction, number: int, **fields: object) -> None:
    changed = msgspec.structs.replace(blobs.stored_at(w, number), **fields)
    w.put("blobs", u64(number), blob_row.row(number, changed))


def forget_address(w: WriteTransaction, number: int) -> None:
    blob_index.forget(w, blob_id(blobs.unpack(w, number)))


def flip(w: WriteTransaction, table: str, key: bytes, at: int = -1) -> None:
    value = bytearray(w.get(table, key) or b"")
    value[at] ^= 1
    w.put(table, key, bytes(value))


def first(w: WriteTransaction, table: str) -> bytes:
    return next(key for key, _ in w.scan(table))


DAMAGES: dict[str, tuple[Damage, str]] = {
    "a record is missing": (lambda w: [w.delete("records", u64(5))], "Record 5 is missing"),
    "the first record is missing": (lambda w: [w.delete("records", u64(1))], "Record 1 is missing"),
    "three records are missing": (
        lambda w: [w.delete("records", u64(n)) for n in (5, 6, 7)],
        "Records 5 to 7 are missing",
    ),
    "the last record is missing": (lambda w: [w.delete("records", u64(16))], "which the log does not make|stands at"),
    "a record's time was changed": (lambda w: replace(w, 5, at_ns=5), "Record 6 does not hold the hash"),
    "a record's writer was changed": (lambda w: replace(w, 5, writer=0), "Record 6 does not hold the hash"),
    "a record is not a record": (lambda w: w.put("records", u64(5), b"\xc1"), "Record 5 is not a record"),
    "a record stands at another's place": (lambda w: replace(w, 5, seq=6), "says that it is record 6"),
    "a record is dated back": (lambda w: replace(w, 5, at_ns=0), "Record 6 does not hold the hash"),
    "a batch has not begun": (lambda w: replace(w, 5, batch=6), "Record 5 belongs to batch 6"),
    "a body is of another shape": (
        lambda w: replace(w, 5, body=msgspec.Raw(b"\x91\x01")),
        "The body of record 5 is not a 'file_written'",
    ),
    "a blob is missing": (lambda w: [w.delete("blobs", u64(4))], "leads to blob 4, which is missing"),
    "the base of a blob is missing": (lambda w: [w.delete("blobs", u64(4))], "made from blob 4, which is missing"),
    "an address is missing": (lambda w: forget_address(w, 4), "Blob 4 has no address"),
    "two addresses lead to one blob": (
        lambda w: blob_index.put(w, bytes(32), 4),
        "leads to blob 4, as another",
    ),
    "an address has another key": (lambda w: w.put("addresses", b"short", b"\4"), "7368.* cannot be read"),
    "an address has no number": (
        lambda w: w.put("addresses", first(w, "addresses"), b""),
        "The address .* cannot be read: it is not that of a sha256",
    ),
    "a record has a number for a kind that there is not": (lambda w: kind(w, 5, 200), "Record 5 is not a record"),
    "a record has a part of its link": (lambda w: replace(w, 6, prev=bytes(5)), "Record 6 does not hold the hash"),
    "a frame is cut off": (
        lambda w: change_stored(w, 4, frame=blobs.stored_at(w, 4).frame[:-1]),
        "The bytes of blob 4 are lost",
    ),
    "a frame is changed": (
        lambda w: change_stored(w, 4, frame=blobs.stored_at(w, 4).frame[:-1] + b"\0"),
        "The bytes of blob 4 (are lost|do not have the sha256)",
    ),
    "a frame holds other bytes": (
        lambda w: change_stored(w, 4, frame=b"other", size=5, kind=codec.PLAIN, base=0),
        "The bytes of blob 4 do not have the sha256",
    ),
    "a keyframe has a base": (lambda w: change_stored(w, 4, kind=codec.PLAIN, base=3), "names blob 3 as its base"),
    "a delta has no base": (lambda w: change_stored(w, 4, base=0), "names blob 0 as its base"),
    "a blob is not a blob": (lambda w: w.put("blobs", u64(4), b"\xc1"), "Blob 4 is not a blob"),
    "a version names bytes that are not held": (
        lambda w: [forget_address(w, 10), w.delete("blobs", u64(10))],
        "Record 11 made a version with the bytes .* not held",
    ),
    "a head is changed": (lambda w: flip(w, "files", u32(1)), "files holds something else"),
    "a version is missing": (lambda w: [w.delete("versions", first(w, "versions"))], "versions lacks the key"),
    "a version is garbage": (lambda w: w.put("versions", first(w, "versions"), b"\xc1"), "cannot be decoded"),
    "a path is there that nobody named": (
        lambda w: w.append("paths", u32(9), b"no one"),
        "paths has the key 00000009, which the log does not make",
    ),
    "a read is missing": (lambda w: w.clear("reads"), "reads lacks the key"),
    "a view is behind": (
        lambda w: watermarks.write(w, {**watermarks.read(w), "files": (1, 3)}),
        "files does not say that it stands",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_one_thing_that_is_damaged_is_found(name: str) -> None:
    damage, sentence = DAMAGES[name]
    store = in_memory().copy()
    with store.writing() as w:
        damage(w)
    found = [str(finding) for finding in check(store)]
    assert found
    assert any(re.search(sentence, one) for one in found), found


def test_a_finding_names_the_record_the_table_and_the_key() -> None:
    store = in_memory().copy()
    with store.writing() as w:
        replace(w, 5, writer=0)
    found = next(iter(check(store)))
    assert (found.table, found.key, found.seq) == ("records", u64(6), 6)
    assert str(found) == found.sentence


def test_without_reading_the_bytes_the_structure_is_still_checked() -> None:
    store = in_memory().copy()
    with store.writing() as w:
        forget_address(w, 3)
        change_stored(w, 2, frame=blobs.stored_at(w, 2).frame[:-1])
    quick = [str(finding) for finding in check(store, read_data=False)]
    assert any("Blob 3 has no address" in one for one in quick)
    assert not any("The bytes of blob 2" in one for one in quick)
    assert any("The bytes of blob 2 do not have the sha256" in str(finding) for finding in check(store))


def test_a_table_that_is_wrong_everywhere_does_not_make_a_finding_for_every_key() -> None:
    store = MemoryStore()
    journal = Journal.open(store, 1)
    for n in range(30):
        data = b"%d" % n
        entry = NewRecord(OutsideWritten("a", blob_id(data), len(data), 0o644, "watched"), OUTSIDE, n, BatchId(n + 1))
        journal.append([entry], [(data, "a")])
    with store.writing() as w:
        w.clear("versions")
    found = [str(finding) for finding in check(store)]
    assert len(found) == 6
    assert found[-1] == "25 more keys of versions differ from the log."


def test_records_that_come_while_the_check_runs_are_no_findings() -> None:
    store = in_memory().copy()
    journal = Journal.open(store, 1)
    written = []

    def write_meanwhile(what: str, done: int, total: int) -> None:
        if what not in written:
            data = what.encode()
            event = OutsideWritten("a.py", blob_id(data), len(data), 0o644, "watched")
            journal.append([NewRecord(event, OUTSIDE, 1, BatchId(journal.head + 1))], [(data, "a.py")])
            written.append(what)

    assert list(check(store, progress=write_meanwhile)) == []
    assert written == ["records", "blobs", "views"]


def test_progress_ends_where_there_is_nothing_left() -> None:
    last: dict[str, tuple[int, int]] = {}

    def note(what: str, done: int, total: int) -> None:
        last[what] = (done, total)

    list(check(in_memory().copy(), progress=note))
    assert all(done == total for done, total in last.values())
    assert [*last] == ["records", "blobs", "views"]


def test_a_check_changes_nothing(tmp_path: Path) -> None:
    store = in_memory().copy()
    with store.writing() as w:
        w.clear("reads")
        w.delete("records", u64(5))
    with store.reading() as r:
        before = {table: list(r.scan(table)) for table in ("records", "reads", "meta", "versions")}
    list(check(store))
    with store.reading() as r:
        assert {table: list(r.scan(table)) for table in before} == before


def test_a_journal_in_which_a_purge_masks_records_meanwhile_is_sound() -> None:
    """What the log makes was folded of the records from before, and told to differ."""
    store = in_memory().copy()
    journal = Journal.open(store, 1)

    def note(*events: Event, **purged: Any) -> None:
        first = journal.head + 1
        journal.append([NewRecord(event, WriterId(1), 1, BatchId(first)) for event in events], **purged)

    note(CheckpointNamed("one", 1, "before token=x1y2z3 came"))
    purged: list[str] = []

    def purge_meanwhile(what: str, done: int, total: int) -> None:
        if what == "records" and not purged:
            with store.reading() as r:
                wanted = PurgeTarget(matching=re.compile(rb"token=\w+"))
                change = to_purge(r, wanted)
            purged.extend(table for table, _, _ in change.rows)
            note(*change.events, instead=change.rows)

    assert [str(finding) for finding in check(store, progress=purge_meanwhile)] == []
    assert set(purged) == {"records", "checkpoints"}
