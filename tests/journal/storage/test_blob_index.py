"""Which number a blob has is found again, however many there are, and by nobody's arrangement two are taken for one."""

from __future__ import annotations

import hashlib
from random import Random

import pytest

import live
from quire_journal.model.records import JournalDamaged
from quire_journal.storage.blobs import index as blob_index
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import Store, u64


def blob(number: int) -> bytes:
    return hashlib.sha256(b"blob %d" % number).digest()


def filled(first: int, last: int, at_once: int = 1) -> Store:
    """These blobs, so many in one go or each by itself: the last of them at least, with which rows become too long."""
    store = MemoryStore()
    few = live.length(max(first, last - 6000), first)
    with store.writing() as w:
        blob_index.put_all(w, [(blob(n), n) for n in range(first, few)])
        for start in range(few, last, at_once):
            if at_once == 1:
                blob_index.put(w, blob(start), start)
            else:
                blob_index.put_all(w, [(blob(n), n) for n in range(start, min(start + at_once, last))])
    return store


def test_in_an_empty_table_nothing_is_found_and_nothing_can_be_forgotten() -> None:
    store = MemoryStore()
    with store.writing() as w:
        assert blob_index.find(w, blob(1)) is None
        blob_index.forget(w, blob(1))
        assert blob_index.find(w, b"short") is None
        assert list(blob_index.numbers(w)) == []
        assert w.count("addresses") == 0


@pytest.mark.parametrize("at_once", live.length([1, 40_000], [1, 7, 40_000]))
def test_each_of_many_is_found_and_no_other(at_once: int) -> None:
    store = filled(1, 20_001, at_once)
    with store.reading() as r:
        assert all(blob_index.find(r, blob(n)) == n for n in range(1, 20_001, live.length(7, 1)))
        assert not any(blob_index.find(r, blob(n)) for n in range(20_001, 22_000, live.length(7, 1)))
        assert sorted(blob_index.numbers(r)) == [*range(1, 20_001)]
        rows = [(key, row) for key, row in r.scan("addresses") if key != blob_index.KEY]
        assert {len(key) for key, _ in rows} == {2, 3}  # a row of two digits cannot hold 78 of them
        assert max(len(blob_index.in_row(r, key, row)) for key, row in rows) <= blob_index.MOST


def test_an_address_takes_a_third_of_what_a_row_of_its_own_took() -> None:
    store = filled(1, 6000)
    with store.reading() as r:
        held = sum(10 + len(key) + len(row) for key, row in r.scan("addresses"))  # 10: what LMDB adds to a row
    assert held / 6000 < 11  # it was 32


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


def test_the_same_blobs_have_other_marks_in_another_journal() -> None:
    """Else whoever finds two files that have one mark could give them to everybody."""
    marks = []
    for store in (filled(1, 50), filled(1, 50)):
        with store.reading() as r:
            marks.append({blob_index.mark(r, blob(n)) for n in range(1, 50)})
    assert not marks[0] & marks[1]


def test_where_the_key_of_the_marks_is_damaged_nothing_is_said_to_be_missing() -> None:
    store = filled(1, 50)
    with store.writing() as w:
        held = bytearray(w.get("addresses", blob_index.KEY) or b"")
        held[3] ^= 4
        w.put("addresses", blob_index.KEY, bytes(held))
    with store.reading() as r, pytest.raises(JournalDamaged, match="run `quire verify`"):
        blob_index.find(r, blob(1))


def test_where_the_key_of_the_marks_is_gone_nothing_is_said_to_be_missing_and_none_is_drawn_anew() -> None:
    """Under another one, all that is there would never be found again."""
    store = filled(1, 50)
    with store.writing() as w:
        w.delete("addresses", blob_index.KEY)
    with store.writing() as w:
        with pytest.raises(JournalDamaged, match="is gone; run `quire verify`"):
            blob_index.find(w, blob(1))
        with pytest.raises(JournalDamaged, match="is gone; run `quire verify`"):
            blob_index.put(w, blob(50), 50)
        assert w.get("addresses", blob_index.KEY) is None


def test_to_a_row_that_cannot_be_read_nothing_is_added() -> None:
    """That was told as a fault of ours, and not as damage."""
    store = filled(1, 50)
    with store.writing() as w:
        key, row = next((key, row) for key, row in w.scan("addresses") if key != blob_index.KEY)
        w.put("addresses", key, row[:-1])
        with pytest.raises(JournalDamaged, match="run `quire verify`"):
            blob_index.put_all(w, [(blob(n), n) for n in range(50, 3000)])


@pytest.mark.parametrize("width", [0, 3, 200])
def test_a_row_that_says_wrongly_how_long_numbers_are_is_damage_for_who_reads_and_for_who_adds_to_it(
    width: int,
) -> None:
    """An address that was added to such a row was never found again, and the edit that it was of was answered ok."""
    store = filled(1, 50)
    with store.writing() as w:
        key, row = next((key, row) for key, row in w.scan("addresses") if key != blob_index.KEY and row[0] == 1)
        w.put("addresses", key, bytes([width]) + row[1:])
        for n in range(1, 3000):
            if blob_index.mark(w, blob(n)).hex().encode().startswith(key):
                with pytest.raises(JournalDamaged, match="run `quire verify`"):
                    blob_index.put(w, blob(n), n)


def test_a_row_that_says_that_numbers_have_no_bytes_names_no_blob() -> None:
    """Where it could be such a row by its length, its first address led to blob 0, as if its bytes were held."""
    store = filled(1, 2)
    with store.writing() as w:
        key = blob_index.mark(w, blob(1)).hex()[:2].encode()
        alike = [n for n in range(1, 10_000) if blob_index.mark(w, blob(n)).hex().encode().startswith(key)]
        blob_index.put_all(w, [(blob(n), 1) for n in alike[:8]])
        row = w.get("addresses", key) or b""
        assert len(row) == 1 + 8 * 9
        w.put("addresses", key, b"\0" + row[1:])
        with pytest.raises(JournalDamaged, match="run `quire verify`"):
            blob_index.find(w, blob(1))


@pytest.mark.parametrize("bytes_of_sha256", [20, 32])
def test_a_table_of_an_older_format_is_read_as_it_stands_and_gathered_whole(bytes_of_sha256: int) -> None:
    store = MemoryStore()
    with store.writing() as w:
        for n in range(1, 4500):
            number = u64(n) if bytes_of_sha256 == 32 else u64(n).lstrip(b"\0")
            w.put("addresses", blob(n)[:bytes_of_sha256], number)
        for _ in range(2):
            assert all(blob_index.find(w, blob(n)) == n for n in range(1, 4500))
            assert blob_index.find(w, blob(4500)) is None
            assert sorted(blob_index.numbers(w)) == [*range(1, 4500)]
            if w.count("addresses") == 4499:
                blob_index.gather(w)
        assert w.count("addresses") == 257
