"""Blobs: whatever goes in comes out, small and checked; what cannot come out is said."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, strategies as st

import live
from quire_journal.journal import ENTRY_BYTES
from quire_journal.model.ids import blob_id
from quire_journal.model.records import JournalDamaged
from quire_journal.storage.blobs import blobs, codec, overflow, row as blob_row
from quire_journal.storage.blobs.blobs import BlobCache, NotHeld
from quire_journal.storage.blobs.codec import zstd
from quire_journal.storage.blobs.row import BlobRow
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import ReadTransaction, Store, u64


def put(store: Store, data: bytes, cache: BlobCache | None = None, *, before: bytes | None = None) -> bytes:
    """Store `data` as what comes after the blob `before`; None: after the one that was stored last."""
    with store.writing() as w:
        return blobs.put(w, data, cache, before=lambda: newest(w) if before is None else before)


def in_turn(store: Store, history: Sequence[bytes]) -> list[bytes]:
    """Store these as versions of one file, the first of which is new."""
    cache, ids = BlobCache(1 << 20), [b""]
    with store.writing() as w:
        for data in history:
            ids.append(blobs.put(w, data, cache, before=lambda: ids[-1]))
    return ids[1:]


def newest(r: ReadTransaction) -> bytes:
    """The address of the blob that was stored last; b"" for none."""
    number = next((int.from_bytes(key, "big") for key, _ in r.scan("blobs", reverse=True)), 0)
    return blob_id(blobs.unpack(r, number)) if number else b""


def get(store: Store, blob: bytes) -> bytes:
    with store.reading() as r:
        return blobs.get(r, blob)


def stored(store: Store) -> list[BlobRow]:
    """Every blob as it is stored; blob n at index n - 1."""
    with store.reading() as r:
        return [blobs.stored_at(r, int.from_bytes(key, "big")) for key, _ in r.scan("blobs")]


def versions(count: int, lines: int = 400, seed: int = 1) -> list[bytes]:
    """A file of some lines that changes one line at a time; no two versions are equal."""
    rnd = random.Random(seed)
    text = [rnd.randbytes(15).hex().encode() for _ in range(lines)]
    out = []
    for n in range(count):
        text[rnd.randrange(lines)] = b"changed %d " % n + rnd.randbytes(10).hex().encode()
        out.append(b"\n".join(text))
    return out


EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 30), st.binary(max_size=60)),
    min_size=1,
    max_size=40,
)


@given(st.binary(max_size=3000), EDITS, st.booleans())
def test_every_version_of_a_file_comes_back_whatever_was_edited(
    first: bytes, edits: Sequence[tuple[float, int, bytes]], cached: bool
) -> None:
    store, cache = MemoryStore(), BlobCache(4000) if cached else None
    history = [first]
    for place, removed, inserted in edits:
        last = history[-1]
        at = int(place * len(last))
        history.append(last[:at] + inserted + last[at + removed :])
    ids = [put(store, data, cache=cache) for data in history]
    assert [get(store, blob) for blob in ids] == history
    assert ids == [blob_id(data) for data in history]


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"1234567", b"12345678", b"a" * 100_000, random.Random(3).randbytes(70_000)]
)
def test_bytes_of_every_kind_come_back_alone_and_as_a_delta(data: bytes) -> None:
    store = MemoryStore()
    for before in (b"", data[:-1], data + b"x"):
        put(store, before)
        assert get(store, put(store, data)) == data


def test_the_same_bytes_are_stored_once_under_any_path() -> None:
    store = MemoryStore()
    assert put(store, b"same") == put(store, b"same") == put(store, b"same", before=b"")
    assert len(stored(store)) == 1


def test_a_version_costs_about_its_change_and_not_the_file() -> None:
    store = MemoryStore()
    history = versions(100, lines=2000)
    for data in history:
        put(store, data)
    frames = [len(one.frame) for one in stored(store)]
    assert sum(frames[1:]) / len(frames[1:]) < 300
    assert len(history[0]) > 60_000


def test_4200_versions_have_few_keyframes_each_at_most_80_links_away() -> None:
    store = MemoryStore()
    history = versions(4200, lines=60)
    ids = in_turn(store, history)
    kept = stored(store)
    assert max(one.links for one in kept) <= blobs.MAX_CHAIN == 80
    assert sum(not one.base for one in kept) < 4200 // 64
    for place in (1, 31, 32, 33, 1023, 1024, 1025, 3070, 3071, 3072, 4199):
        with store.reading() as r:
            assert blobs.get(r, ids[place]) == history[place]


def test_bases_are_the_skip_deltas_of_radix_32() -> None:
    store = MemoryStore()
    in_turn(store, versions(600, lines=1500))
    for place, one in enumerate(stored(store)):
        step = 1
        while place and place % (step * 32) == 0:
            step *= 32
        assert one.base == (place - step + 1 if place else 0)


def test_a_rewritten_file_becomes_a_keyframe_and_its_chain_starts_there() -> None:
    store = MemoryStore()
    for seed in (1, 2):
        for data in versions(40, seed=seed):
            put(store, data)
    kept = stored(store)
    assert [n for n, one in enumerate(kept) if not one.base] == [0, 40]
    assert kept[40 + 32].base == 40 + 1
    assert max(one.links for one in kept) <= 32


def test_a_delta_is_kept_where_it_saves_a_fifth_of_a_keyframe() -> None:
    rnd = random.Random(7)
    first, other = rnd.randbytes(4000), rnd.randbytes(20_000)
    store = MemoryStore()
    for data in (first, first + other[:14_000], first + other[::-1]):  # 14,000 of 18,000, and 20,000 of 24,000
        put(store, data)
    assert [one.base for one in stored(store)] == [0, 1, 0]


def test_a_file_that_changes_wholly_starts_a_new_run_without_a_new_keyframe() -> None:
    store = MemoryStore()
    lines = versions(1, lines=60)[0].split(b"\n")
    history = []
    for number in range(156):  # after twenty of them nothing is left of what was there before
        for place in range(3):
            lines[(3 * number + place) % 60] = (
                b"%d %d " % (number, place) + random.Random(number).randbytes(9).hex().encode()
            )
        history.append(b"\n".join(lines))
    ids = in_turn(store, history)
    kept = stored(store)
    assert [number for number, one in enumerate(kept) if not one.base] == [0, 81]
    assert [one.links for one in kept[:81]] == [*range(81)]
    assert [one.run for one in kept[:81]] == [*range(32)] * 2 + [*range(17)]
    assert [get(store, blob) for blob in ids] == history


def test_a_version_that_came_back_is_what_the_next_one_is_made_from() -> None:
    store = MemoryStore()
    first, second, third, fourth = versions(4)
    for data in (first, second, third):
        put(store, data)
    put(store, fourth, before=blob_id(first))
    assert [(one.base, one.links, one.run) for one in stored(store)] == [(0, 0, 0), (1, 1, 1), (2, 2, 2), (1, 1, 1)]


def test_a_new_file_is_made_from_the_first_that_it_is_like() -> None:
    store, cache = MemoryStore(), BlobCache(1 << 20)
    first, second = versions(2)
    other = versions(1, seed=9)[0]
    with store.writing() as w:
        for data in (first, other):
            blobs.put(w, data)
        blobs.put(w, second, cache, like=lambda: [blob_id(b"not held"), blob_id(other), blob_id(first)])
    assert [(one.base, one.links, one.run) for one in stored(store)] == [(0, 0, 0), (0, 0, 0), (1, 1, 0)]
    assert get(store, blob_id(second)) == second


def test_what_a_new_file_is_made_from_has_few_links_itself() -> None:
    store = MemoryStore()
    *history, new = versions(31)
    in_turn(store, history)
    with store.writing() as w:
        blobs.put(w, new, like=lambda: [blob_id(history[-1])])
    assert stored(store)[29].links == 29
    assert (stored(store)[30].base, stored(store)[30].links) == (blobs.KIN_LINKS + 1, blobs.KIN_LINKS + 1)
    assert get(store, blob_id(new)) == new


@pytest.mark.parametrize(("first", "new"), [(b"\0" * 3000, b"\0" * 3001), (b"long " * 40_000, b"long " * 41_000)])
def test_a_new_file_that_is_no_text_or_is_long_is_not_compared(first: bytes, new: bytes) -> None:
    store = MemoryStore()
    with store.writing() as w:
        base = blobs.put(w, first)
        blobs.put(w, new, like=lambda: [base])
    assert [one.base for one in stored(store)] == [0, 0]


def test_a_new_file_is_not_a_delta_against_a_long_old_version() -> None:
    """It took a tenth of a second in the transaction of an edit, and as long to read."""
    store = MemoryStore()
    lines = [b"line %d of a file\n" % n for n in range(20_000)]
    long = [b"".join([b"# %d\n" % n, *lines]) for n in range(3)]
    short = [b"".join([b"# %d\n" % n, *lines[:1000]]) for n in range(3)]
    last = b""
    with store.writing() as w:
        for data in (*long, *short):
            last = blobs.put(w, data, before=lambda last=last: last)  # type: ignore[misc]
        blobs.put(w, short[0] + b"new\n", like=lambda: [last])
    assert len(long[0]) > blobs.KIN_BYTES > len(short[0])
    assert stored(store)[-1].base == 0


def test_no_base_is_built_upon_that_does_not_have_its_bytes_any_more() -> None:
    store = MemoryStore()
    *history, new, last = versions(34, lines=40)
    in_turn(store, history)
    other = codec.compress(versions(1, seed=9, lines=40)[0])
    tamper(store, 1, frame=other.body, size=other.size)
    put(store, new, before=blob_id(history[-1]))
    with store.writing() as w:
        blobs.put(w, last, like=lambda: [blob_id(history[20])])
    assert [one.base for one in stored(store)[32:]] == [0, 0]
    assert (get(store, blob_id(new)), get(store, blob_id(last))) == (new, last)


def test_a_large_file_with_a_small_change_stays_a_small_delta() -> None:
    store = MemoryStore()
    data = random.Random(5).randbytes(9 << 20)
    put(store, data)
    changed = data[: 4 << 20] + b"one line more\n" + data[4 << 20 :]
    assert get(store, put(store, changed)) == changed
    assert len(stored(store)[1].frame) < 50_000


def test_a_frame_that_was_made_outside_is_stored_as_it_is_and_built_upon() -> None:
    store = MemoryStore()
    first, second = versions(2)
    frame = codec.compress(first)
    with store.writing() as w:
        blobs.put_prepared(w, [frame, frame])
        blobs.put_prepared(w, [frame])
        blobs.put(w, second, before=lambda: frame.blob)
    assert [one.base for one in stored(store)] == [0, 1]
    assert (get(store, blob_id(first)), get(store, blob_id(second))) == (first, second)


def test_bytes_that_do_not_shrink_are_kept_plain() -> None:
    assert codec.compress(random.Random(1).randbytes(100)).kind == codec.PLAIN
    assert codec.compress(b"a" * 100).kind == codec.PACKED


def test_what_was_never_stored_is_not_held() -> None:
    store = MemoryStore()
    with store.reading() as r:
        assert not blobs.holds(r, blob_id(b"never"))
        assert not blobs.holds(r, b"")
        for blob in (blob_id(b"never"), b"", b"short"):
            with pytest.raises(NotHeld, match="does not hold") as missing:
                blobs.get(r, blob)
            assert isinstance(missing.value, KeyError)


def test_a_transaction_that_is_rolled_back_does_not_mislead_the_next_delta() -> None:
    """The cache may know bytes that were never stored; numbers are given again."""
    store, cache = MemoryStore(), BlobCache(1 << 20)
    first, lost, second, third = versions(4)
    put(store, first, cache=cache)

    def fail() -> None:
        with store.writing() as w:
            blobs.put(w, lost, cache, before=lambda: blob_id(first))
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fail()
    ids = [put(store, data, cache=cache) for data in (second, third)]
    assert [get(store, blob) for blob in ids] == [second, third]
    with store.reading() as r:
        assert not blobs.holds(r, blob_id(lost))


def tamper(store: Store, number: int, **fields: object) -> None:
    """Change what is stored of a blob."""
    with store.writing() as w:
        was = blob_row.read(number, w.get("blobs", u64(number)) or b"")
        frame = overflow.joined(w, number, was.rest) if was.rest else was.frame
        changed = msgspec.structs.replace(was, **{"frame": frame, "rest": 0, **fields})
        w.put("blobs", u64(number), blob_row.row(number, changed))


@pytest.fixture(
    params=[(codec.STRETCH, 200), (codec.DELTA, 200), (codec.DELTA, 2500)], ids=["stretch", "delta", "long"]
)
def two(request: pytest.FixtureRequest) -> tuple[Store, bytes]:
    """A keyframe, blob 1, and what is made from it, blob 2, one line away or many; the store and the address of 2."""
    store, (kind, lines) = MemoryStore(), request.param
    first, *_, second = versions(2 if kind == codec.STRETCH else 12, lines=lines)
    put(store, first)
    blob = put(store, second)
    assert stored(store)[1].kind == kind
    return store, blob


def test_no_flipped_bit_of_a_delta_gives_other_bytes(two: tuple[Store, bytes]) -> None:
    """A few bits of a zstd header mean nothing; every other flip is damage, if only to who looks at checksums.

    Each bit of the first bytes, which say what comes, and every third of the others.
    """
    store, blob = two
    data, frame, noticed = get(store, blob), stored(store)[1].frame, 0
    bits = sorted({*range(min(256, len(frame) * 8)), *range(0, len(frame) * 8, live.length(3, 1))})
    for bit in bits:
        flipped = bytearray(frame)
        flipped[bit // 8] ^= 1 << bit % 8
        tamper(store, 2, frame=bytes(flipped))
        try:
            assert get(store, blob) == data
            with store.reading() as r:
                assert blobs.unpack(r, 2) == data
        except JournalDamaged:
            noticed += 1
    assert noticed > len(bits) - 16


def test_a_short_stretch_is_stored_as_it_is_and_a_long_one_as_a_delta() -> None:
    store = MemoryStore()
    lines = [b"line %d of a file\n" % n for n in range(2000)]
    first = b"".join(lines)
    second = first.replace(lines[900], b"another line\n")
    third = second.replace(lines[10], b"far away\n").replace(lines[1990], b"from the other\n")
    for data in (first, second, third):
        put(store, data)
    kept = stored(store)
    assert [one.kind for one in kept] == [codec.PACKED, codec.STRETCH, codec.DELTA]
    assert len(kept[1].frame) < 40


@pytest.mark.parametrize("data", [b"", b"i", b"import", b"sys"])
def test_bytes_so_few_that_no_stretch_is_shorter_are_made_of_nothing(data: bytes) -> None:
    """An empty file, which is one blob wherever it stands, kept the bytes of another one from ever going."""
    store = MemoryStore()
    first = b"import os\nimport sys\n" * 10
    with store.writing() as w:
        before = blobs.put(w, first)
        blobs.put(w, data, before=lambda: before)
        blobs.put(w, first[:20], before=lambda: before)
    assert [one.kind for one in stored(store)[1:]] == [codec.PLAIN, codec.STRETCH]


@given(st.binary(max_size=60), st.binary(max_size=12))
def test_what_repeats_itself_comes_back_where_ends_could_overlap(data: bytes, added: bytes) -> None:
    store = MemoryStore()
    for version in (data + data, data + added + data, data, data + data + data):
        assert get(store, put(store, version)) == version


@pytest.mark.parametrize("frame", [b"", b"\x80", b"\x33x", b"\x32xx", b"\xff" * 12])
def test_a_stretch_that_says_too_much_or_too_little_is_damage(frame: bytes) -> None:
    store = MemoryStore()
    put(store, bytes(range(50)))
    blob = put(store, bytes(range(51)))
    assert stored(store)[1].kind == codec.STRETCH
    tamper(store, 2, frame=frame)
    with pytest.raises(JournalDamaged, match=r"cannot be read|does not fit"):
        get(store, blob)


def test_a_delta_upon_another_base_is_noticed(two: tuple[Store, bytes]) -> None:
    store, blob = two
    other = codec.compress(versions(1, seed=9)[0])
    tamper(store, 1, frame=other.body, size=other.size)
    with pytest.raises(JournalDamaged):
        get(store, blob)


def test_a_base_that_became_too_short_to_be_one_is_noticed(two: tuple[Store, bytes]) -> None:
    store, blob = two
    tamper(store, 1, frame=b"short", size=5, kind=codec.PLAIN)
    with pytest.raises(JournalDamaged):
        get(store, blob)


@pytest.mark.parametrize("base", [0, -1])
def test_a_base_that_does_not_come_before_its_delta_is_noticed(two: tuple[Store, bytes], base: int) -> None:
    store, blob = two
    tamper(store, 2, base=base)
    with pytest.raises(JournalDamaged, match="base"):
        get(store, blob)


def test_a_base_that_is_gone_is_noticed_and_not_built_upon(two: tuple[Store, bytes]) -> None:
    store, blob = two
    with store.writing() as w:
        w.delete("blobs", u64(1))
    with pytest.raises(JournalDamaged, match="gone"):
        get(store, blob)
    third = versions(3)[2]
    assert get(store, put(store, third, before=blob)) == third
    assert stored(store)[-1].base == 0


def test_sound_frames_with_other_bytes_are_noticed_by_their_sha256(two: tuple[Store, bytes]) -> None:
    store, blob = two
    other = codec.compress(b"other bytes")
    tamper(store, 2, frame=other.body, size=other.size, kind=other.kind, base=0)
    with pytest.raises(JournalDamaged, match="sha256"):
        get(store, blob)


def test_a_frame_that_would_unpack_to_more_than_it_declares_is_not_unpacked(two: tuple[Store, bytes]) -> None:
    store, blob = two
    bomb = zstd.compress(bytes(64 << 20))
    tamper(store, 2, frame=bomb, kind=codec.PACKED, base=0)
    with pytest.raises(JournalDamaged, match="declares"):
        get(store, blob)
    tamper(store, 2, frame=bomb, kind=codec.PACKED, base=0, size=2 << 30)
    with pytest.raises(JournalDamaged, match="claims"):
        get(store, blob)


def test_a_kind_of_frame_from_the_future_is_not_guessed_at(two: tuple[Store, bytes]) -> None:
    store, blob = two
    tamper(store, 2, kind=15, base=0)
    with pytest.raises(JournalDamaged, match="kind 15"):
        get(store, blob)


def test_what_is_no_blob_at_all_is_damage(two: tuple[Store, bytes]) -> None:
    store, blob = two
    with store.writing() as w:
        w.put("blobs", u64(2), b"\xc1")
    with pytest.raises(JournalDamaged, match="not a blob"):
        get(store, blob)


def test_a_cache_holds_no_more_than_its_limit_and_lets_the_longest_unused_go() -> None:
    cache = BlobCache(100)
    for n in range(4):
        cache.keep(bytes([n]), bytes([n]) * 25)
    assert cache.find(b"\0") is not None
    cache.keep(b"\4", b"x" * 20)
    assert (cache.find(b"\0"), cache.find(b"\1")) == (b"\0" * 25, None)
    cache.keep(b"\5", b"y" * 26)
    assert cache.find(b"\5") is None
    assert sum(len(cache.find(bytes([n])) or b"") for n in range(6)) <= 100


def test_a_cache_that_lasts_counts_what_an_entry_takes_besides_its_bytes() -> None:
    cache = BlobCache(20 * (100 + ENTRY_BYTES), ENTRY_BYTES)
    for n in range(50):
        cache.keep(bytes([n]), bytes([n]) * 100)
    assert [n for n in range(50) if cache.find(bytes([n]))] == [*range(30, 50)]


def test_the_entries_of_a_cache_take_about_what_is_counted() -> None:
    cache = BlobCache(1 << 20, ENTRY_BYTES)
    tracemalloc.start()
    try:
        for n in range(2000):
            cache.keep(blob_id(b"%d" % n), b"%100d" % n)
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 0.7 < taken / (2000 * (100 + ENTRY_BYTES)) < 1.1


def test_the_cache_answers_for_bytes_it_holds() -> None:
    store, cache = MemoryStore(), BlobCache(1000)
    blob = put(store, b"cached", cache=cache)
    with store.reading() as r:
        assert blobs.get(r, blob, cache) == b"cached"
