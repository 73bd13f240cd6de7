"""Pieces: long frames stand beside the rows of their blobs, whole or not at all."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from scribe import to_purge

from quire_journal.integrity.checker import check
from quire_journal.journal import Journal, NewRecord
from quire_journal.maintenance import purge
from quire_journal.model.events import OutsideWritten
from quire_journal.model.ids import OUTSIDE, BatchId, blob_id
from quire_journal.model.records import JournalDamaged
from quire_journal.storage.blobs import blobs, codec, overflow
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import Store, WriteTransaction, u64

SIZES = (0, 1, 399, 999, 1000, 1001, 4079, 4080, 4081, 4480, 8175, 8176, 8177, 100_000)


def noise(size: int) -> bytes:
    """Bytes that no compression makes shorter."""
    return random.Random(size).randbytes(size)


def keep(journal: Journal, path: str, data: bytes) -> None:
    entry = NewRecord(
        OutsideWritten(path, blob_id(data), len(data), 0o644, "watched"), OUTSIDE, 1, BatchId(journal.head + 1)
    )
    journal.append([entry], [(data, path)])


def all_pieces(store: Store) -> list[tuple[bytes, bytes]]:
    with store.reading() as r:
        return list(r.scan("pieces"))


def test_frames_of_every_length_come_back_and_long_ones_are_cut_without_empty_pages() -> None:
    store = MemoryStore()
    with store.writing() as w:
        kept = [blobs.put(w, noise(size)) for size in SIZES]
        blobs.put_prepared(w, [codec.compress(noise(size + 7)) for size in SIZES])
    with store.reading() as r:
        assert [len(blobs.get(r, blob)) for blob in kept] == [*SIZES]
        assert [blobs.get(r, blob_id(noise(size + 7))) for size in SIZES] == [noise(size + 7) for size in SIZES]
    lengths = [len(part) for _, part in all_pieces(store)]
    assert all(length <= 400 or (length + 16) % 4096 == 0 for length in lengths)
    assert max(len(overflow.cut(1, noise(size))) for size in range(4000, 9000, 7)) <= 12


def test_a_dropped_blob_leaves_no_piece_and_says_what_all_of_it_took() -> None:
    store = MemoryStore()
    with store.writing() as w:
        blob, other = blobs.put(w, noise(9000)), blobs.put(w, noise(5000))
        assert blobs.drop(w, blob) > 9000
    with store.reading() as r:
        assert {key[:8] for key, _ in r.scan("pieces")} == {u64(2)}
        assert blobs.get(r, other) == noise(5000)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda w: w.delete("pieces", u64(1) + b"\x01"), "8600 of the 9000 bytes"),
        (lambda w: w.put("pieces", u64(1) + b"\x01", b"x" * 400), "sha256"),
        (lambda w: w.put("pieces", u64(1) + b"\x09", b"more"), "9004 of the 9000"),
        (lambda w: w.put("pieces", u64(2) + b"\x00", b"more"), "blob 2 stands there, which it does not have"),
        (lambda w: w.put("pieces", u64(77) + b"\x00", b"more"), "blob 77 stands there, which it does not have"),
    ],
)
def test_a_piece_that_lacks_was_changed_or_is_nobodys_is_found(
    damage: Callable[[WriteTransaction], object], told: str
) -> None:
    store = MemoryStore()
    journal = Journal.open(store, 1)
    keep(journal, "a", noise(9000))
    keep(journal, "b", noise(500))
    assert list(check(store)) == []
    with store.writing() as w:
        damage(w)
    assert told in " ".join(str(finding) for finding in check(store))
    with store.reading() as r:
        if "sha256" in told or "9000 bytes" in told:
            with pytest.raises(JournalDamaged):
                blobs.get(r, blob_id(noise(9000)))


def test_what_is_made_anew_in_a_purge_leaves_no_piece_of_what_it_was_before(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path)
    journal = Journal.open(store, 1)
    secret, more = noise(12_000), noise(600)
    keep(journal, "a", secret)
    keep(journal, "a", secret + more)
    with store.reading() as r:
        assert blobs.stored_at(r, 2).base == 1
        wanted = purge.PurgeTarget(blob=blob_id(secret))
        change = to_purge(r, wanted)
    before = all_pieces(store)
    entries = [NewRecord(event, OUTSIDE, 1, BatchId(journal.head + 1)) for event in change.events]
    journal.append(entries, dropped=change.dropped, instead=change.rows)
    with store.reading() as r:
        assert blobs.get(r, blob_id(secret + more)) == secret + more
        assert not blobs.holds(r, blob_id(secret))
    assert {key[:8] for key, _ in all_pieces(store)} == {u64(2)}
    assert not {*before} & {*all_pieces(store)}
    assert list(check(store)) == []
    store.close()
