"""Frames made anew before a compaction: shorter, of the same bytes and the same bases, each tried once."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import msgspec
import pytest

from quire_journal.model.ids import blob_id
from quire_journal.storage.blobs import blobs, codec
from quire_journal.storage.blobs.repack import AT_ONCE, RepackRun
from quire_journal.storage.blobs.row import BlobRow
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import Store, u64

WORDS = [b"return", b"value", b"compute", b"None", b"for", b"line", b"in", b"lines", b"if", b"not", b"self", b"import"]


def texts(count: int, seed: int = 1) -> list[bytes]:
    """Versions of files, four of each, of words that occur again and again."""
    draw = random.Random(seed)

    def line() -> bytes:
        return b" ".join(draw.choices(WORDS, k=draw.randrange(3, 9))) + b" %d" % draw.randrange(500)

    found: list[bytes] = []
    for number in range(count):
        lines = found[-1].split(b"\n") if number % 4 else [line() for _ in range(60)]
        for _ in range(6):
            lines[draw.randrange(len(lines))] = line()
        found.append(b"\n".join(lines))
    return found


def filled(history: list[bytes]) -> MemoryStore:
    store = MemoryStore()
    add(store, history)
    return store


def add(store: Store, history: list[bytes]) -> None:
    with store.writing() as w:
        last = b""
        for number, data in enumerate(history):
            last = blobs.put(w, data, before=partial(bytes, last if number % 4 else b""))


def rows(store: Store) -> list[BlobRow]:
    with store.reading() as r:
        return [blobs.stored_at(r, int.from_bytes(key, "big")) for key, _ in r.scan("blobs")]


def repacked(store: Store, pause: Callable[[], None] = lambda: None) -> RepackRun:
    repacking = RepackRun(store)
    while (tried := repacking.next(pause)) is not None:
        with store.writing() as w:
            repacking.write(w, tried)
    return repacking


def held(store: Store, history: list[bytes]) -> bool:
    """Are these bytes what the journal gives?"""
    with store.reading() as r:
        return all(blobs.get(r, blob_id(data)) == data for data in history)


def parts(store: Store) -> int:
    """How many bytes stand in pieces."""
    with store.reading() as r:
        return sum(len(value) for _, value in r.scan("pieces"))


def test_frames_become_shorter_and_everything_else_stays() -> None:
    history = texts(70)
    store = filled(history)
    before = rows(store)
    done = repacked(store)
    after = rows(store)
    assert held(store, history)
    assert [(one.base, one.links, one.size) for one in after] == [(one.base, one.links, one.size) for one in before]
    saved = sum(len(one.frame) for one in before) - sum(len(one.frame) for one in after)
    assert saved == done.saved_bytes > sum(len(one.frame) for one in before) / 40
    assert done.blobs == sum(a != b for a, b in zip(after, before, strict=True)) >= 18
    assert all(len(a.frame) <= len(b.frame) for a, b in zip(after, before, strict=True))


def test_a_blob_is_tried_once_in_its_life() -> None:
    store, tried = filled(texts(AT_ONCE + 3)), list[int]()
    repacked(store, lambda: tried.append(1))
    assert len(tried) == AT_ONCE + 3
    assert repacked(store, lambda: tried.append(1)).blobs == 0
    assert len(tried) == AT_ONCE + 3
    add(store, texts(5, seed=2))
    repacked(store, lambda: tried.append(1))
    assert len(tried) == AT_ONCE + 8


def test_what_is_written_by_an_end_is_not_tried_again() -> None:
    history = texts(AT_ONCE + 8)
    store, tried = filled(history), list[int]()
    first = RepackRun(store)
    some = first.next()
    assert some is not None
    with store.writing() as w:
        first.write(w, some)
    assert first.next() is not None  # and the process ends
    repacked(store, lambda: tried.append(1))
    assert len(tried) == 8
    assert held(store, history)


def test_it_can_be_ended_between_two_blobs_and_has_changed_nothing_then() -> None:
    store, left = filled(texts(20)), [10]
    before = rows(store)

    def end() -> None:
        left[0] -= 1
        if not left[0]:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        RepackRun(store).next(end)
    assert rows(store) == before


def test_of_long_blobs_fewer_are_tried_at_once() -> None:
    draw = random.Random(6)
    long = [draw.randbytes(1 << 20) for _ in range(5)]
    store, tried = MemoryStore(), list[int]()
    for data in long:
        add(store, [data])
    repacking = RepackRun(store)
    assert repacking.next(lambda: tried.append(1)) is not None
    assert len(tried) == 2
    while repacking.next(lambda: tried.append(1)) is not None:
        pass
    assert len(tried) == 5


def test_long_frames_leave_nothing_behind() -> None:
    draw = random.Random(4)
    long = [b" ".join(draw.choices(WORDS, k=3000)) for _ in range(3)]
    store = filled(long[:1])
    add(store, long[1:2])
    add(store, long[2:])
    repacked(store)
    assert held(store, long)
    assert parts(store) == sum(len(one.frame) for one in rows(store))


def test_a_blob_that_went_or_was_made_anew_meanwhile_stays_as_it_is_then() -> None:
    first, second, third = texts(12)[::4]
    store = filled([first])
    add(store, [second])
    add(store, [third])
    repacking = RepackRun(store)
    tried = repacking.next()
    assert tried is not None
    assert [one.number for one in tried.made] == [1, 2, 3]
    frame = codec.compress(second)
    with store.writing() as w:
        blobs.drop(w, blob_id(third))
        row, _ = blobs.rows_of(2, BlobRow(0, 0, frame.size, frame.kind, frame.body))
        w.put("blobs", u64(2), row)
        repacking.write(w, tried)
        assert (repacking.blobs, w.get("blobs", u64(2))) == (1, row)
        assert not blobs.holds(w, blob_id(third))
        assert w.get("blobs", u64(3)) is None
    assert held(store, [first, second])


def test_a_damaged_blob_and_those_made_of_it_are_left_for_verify_and_all_others_repacked() -> None:
    history, others = texts(20), texts(20, seed=3)
    store = filled(history)
    add(store, others)
    with store.writing() as w:
        stored = blobs.stored_at(w, 5)
        damaged = msgspec.structs.replace(stored, frame=stored.frame[:-3] + b"???")
        w.put("blobs", u64(5), blobs.rows_of(5, damaged)[0])
    before = rows(store)
    repacked(store)
    after = rows(store)
    assert after[4:8] == before[4:8]
    assert held(store, history[:4] + history[8:] + others)
    assert {1, 9, 13, 17, 21} <= {number for number, one in enumerate(after, 1) if one != before[number - 1]}


def test_what_does_not_shrink_and_what_is_short_stays() -> None:
    noise = random.Random(2).randbytes(5000)
    store = filled([noise, noise[:2500] + b"x" + noise[2500:]])
    before = rows(store)
    repacked(store)
    assert rows(store) == before
    assert [one.kind for one in before] == [codec.PLAIN, codec.STRETCH]
