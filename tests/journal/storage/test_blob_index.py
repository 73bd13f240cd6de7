"""Which number a blob has is found again, however many there are."""

from __future__ import annotations

import hashlib
from random import Random

import pytest

from quire_journal.model.records import JournalDamaged
from quire_journal.storage.blobs import index as blob_index
from quire_journal.storage.memory import MemoryStore


def blob(number: int) -> bytes:
    return hashlib.sha256(b"blob %d" % number).digest()


def test_in_an_empty_table_nothing_is_found_and_nothing_can_be_forgotten() -> None:
    store = MemoryStore()
    with store.writing() as w:
        assert blob_index.find(w, blob(1)) is None
        blob_index.forget(w, blob(1))
        assert blob_index.find(w, b"short") is None
        assert list(blob_index.numbers(w)) == []
        assert w.count("addresses") == 0


def test_each_of_many_is_found_and_no_other() -> None:
    store = MemoryStore()
    with store.writing() as w:
        blob_index.put_all(w, [(blob(n), n) for n in range(1, 2001)])
    with store.reading() as r:
        assert all(blob_index.find(r, blob(n)) == n for n in range(1, 2001))
        assert not any(blob_index.find(r, blob(n)) for n in range(2001, 4000))
        assert sorted(blob_index.numbers(r)) == [*range(1, 2001)]


def test_what_is_put_and_forgotten_in_any_order_is_what_is_found() -> None:
    random, store, there = Random(14), MemoryStore(), dict[int, int]()
    with store.writing() as w:
        for step in range(4000):
            one = random.randrange(900)
            if random.random() < 0.6:
                there[one] = random.choice([step + 1, (step + 1) << 20, (step + 1) << 44])
                blob_index.put(w, blob(one), there[one])
            else:
                there.pop(one, None)
                blob_index.forget(w, blob(one))
        assert {n: found for n in range(900) if (found := blob_index.find(w, blob(n)))} == there
        assert sorted(blob_index.numbers(w)) == sorted(there.values())
        for one in there:
            blob_index.forget(w, blob(one))
        assert list(blob_index.numbers(w)) == []


@pytest.mark.parametrize("row", [b"", b"\0", b"\0\1", bytes([1] * 9)])
def test_a_row_that_holds_no_number_is_damage_and_names_no_blob(row: bytes) -> None:
    store = MemoryStore()
    with store.writing() as w:
        blob_index.put(w, blob(1), 1)
        w.put("addresses", blob(1)[: blob_index.KEY_BYTES], row)
        with pytest.raises(JournalDamaged, match="run `quire verify`"):
            blob_index.find(w, blob(1))
        with pytest.raises(JournalDamaged, match="run `quire verify`"):
            list(blob_index.numbers(w))
