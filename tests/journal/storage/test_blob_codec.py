"""Frames with tables: what goes in comes out with the same base, and nothing else with another."""

from __future__ import annotations

import random
import sys
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import assume, given, strategies as st

from quire_journal.model.records import JournalDamaged
from quire_journal.storage.blobs import codec
from quire_journal.storage.blobs.codec import zstd
from quire_journal.storage.blobs.entropy import TABLES
from quire_journal.storage.blobs.row import BlobRow

sys.path.append(str(Path(__file__).parents[2] / "bench"))  # last: a row of the benchmark is called `mcp`
import entropy

SOURCES = b"".join(path.read_bytes() for path in sorted(Path(codec.__file__).parents[2].rglob("[c-j]*.py")))
LINES = SOURCES.splitlines(keepends=True)


def text(seed: int, lines: int = 200) -> bytes:
    """So many lines of this very program."""
    first = random.Random(seed).randrange(len(LINES) - lines)
    return b"".join(LINES[first : first + lines])


def changed(data: bytes, seed: int, count: int = 12) -> bytes:
    draw, lines = random.Random(seed), data.splitlines(keepends=True)
    for _ in range(count):
        lines[draw.randrange(len(lines))] = text(draw.randrange(1 << 30), 1)
    return b"".join(lines)


def test_a_keyframe_is_made_only_where_it_is_in_doubt_how_long_a_frame_is_beside_it() -> None:
    made: list[bytes] = []

    def whole() -> tuple[int, bytes]:
        made.append(bytes(1000))
        return codec.PACKED, made[-1]

    assert codec.is_part(bytes(200), 0.35, bytes(10_000), lambda: pytest.fail("nobody needs it"))
    assert codec.is_part(bytes(350), 0.35, bytes(10_000), whole)
    assert not codec.is_part(bytes(351), 0.35, bytes(10_000), whole)
    assert len(made) == 2


def delta(data: bytes, base: bytes) -> BlobRow:
    made = codec.delta(data, base, codec.Whole(data))
    assert made is not None
    return BlobRow(1, 1, len(data), *made)


@given(
    st.binary(min_size=8, max_size=400),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 9), st.binary(max_size=150))),
)
def test_a_delta_of_any_bytes_gives_them_back(base: bytes, edits: list[tuple[float, int, bytes]]) -> None:
    data = base
    for place, removed, added in edits:
        at = int(place * len(data))
        data = data[:at] + added + data[at + removed :]
    made = codec.delta(data, base, lambda: (codec.PLAIN, bytes(1 << 20)))
    if made is None:
        assert len(data) < 30, "so few bytes take no more than what tells them from others"
        return
    assert codec.unframe(2, BlobRow(1, 1, len(data), *made), base) == data


@pytest.mark.parametrize("lines", [4, 30, 600, 1400])
def test_the_head_of_a_frame_is_made_again_from_the_size(lines: int) -> None:
    base = text(1, lines)
    data = changed(base, 2, 3 + lines // 20)[:65_536]
    frame = codec.pack_with_tables(data, base)
    made = codec.delta(data, base, lambda: (codec.PLAIN, bytes(1 << 20)))
    assert made is not None
    stored = BlobRow(1, 1, len(data), *made)
    if stored.kind == codec.TABLED_BLOCK:
        assert frame.endswith(stored.frame)
        assert len(frame) - len(stored.frame) == 4 + 1 + (1 if len(data) < 256 else 2) + 3
    assert codec.unframe(2, stored, base) == data


def test_of_what_does_not_shrink_the_block_keeps_its_head() -> None:
    base, data = text(1), random.Random(1).randbytes(3000)
    made = codec.delta(data, base, lambda: (codec.PLAIN, bytes(1 << 20)))
    assert made is not None
    assert made[0] == codec.TABLED
    assert codec.unframe(2, BlobRow(1, 1, 3000, *made), base) == data


def test_tables_make_deltas_shorter_by_a_sixteenth_and_more() -> None:
    pairs = [(text(seed), changed(text(seed), seed + 1)) for seed in range(30)]
    without = sum(len(codec.pack_after(data, base)) for base, data in pairs)
    assert sum(len(codec.pack_with_tables(data, base)) for base, data in pairs) < without * 15 / 16


def test_long_bytes_and_those_with_a_long_base_are_packed_without_tables() -> None:
    base = text(1, 2500)
    assert delta(changed(base, 2), base).kind == codec.BARE_DELTA
    data = changed(base[:60_000], 2)
    assert delta(data, base[:60_000] + bytes(1 << 18)).kind == codec.BARE_DELTA
    assert delta(data, base[:60_000] + bytes(1 << 17)).kind == codec.TABLED_BLOCK


@given(st.integers(0, 1 << 30), st.data())
def test_a_damaged_frame_or_base_gives_the_same_bytes_or_is_noticed(seed: int, drawn: st.DataObject) -> None:
    base = text(seed, 40)
    data = changed(base, seed + 1)
    stored = delta(data, base)
    assume(stored.kind in codec.WITH_TABLES)
    flipped = bytearray(stored.frame)
    at = drawn.draw(st.integers(0, len(flipped) * 8 - 1))
    flipped[at // 8] ^= 1 << at % 8
    cases = [
        (bytes(flipped), len(data), base),
        (stored.frame[:-1], len(data), base),
        (stored.frame + b"x", len(data), base),
        (stored.frame, len(data) + drawn.draw(st.sampled_from([-300, -1, 1, 300, 70_000])), base),
        (stored.frame, len(data), changed(base, seed + 2)),
        (stored.frame, len(data), base[:7]),
        (b"", len(data), base),
    ]
    for frame, size, against in cases:
        try:
            got = codec.unframe(2, BlobRow(1, 1, size, stored.kind, frame), against)
        except JournalDamaged:
            continue
        assert got == data


def test_a_frame_with_tables_is_not_unpacked_to_more_than_one_may_have() -> None:
    base = text(1)
    for kind in codec.WITH_TABLES:
        for size in (1 << 17, 1 << 29, codec.MAX_BYTES):
            with pytest.raises(JournalDamaged, match="cannot be one of"):
                codec.unframe(2, BlobRow(1, 1, size, kind, delta(changed(base, 2), base).frame), base)
    bomb = codec.pack_with_tables(bytes(1 << 24), base)
    with pytest.raises(JournalDamaged):
        codec.unframe(2, BlobRow(1, 1, 4000, codec.TABLED, bomb[9:]), base)


def test_the_tables_are_a_dictionary_and_say_what_is_said_of_them() -> None:
    content = b"eight by"
    read = zstd.ZstdDict(TABLES + content)
    assert read.dict_id == int.from_bytes(b"quir", "little")
    assert TABLES[-12:] == b"".join(one.to_bytes(4, "little") for one in (1, 4, 8))


def test_the_script_that_made_the_tables_reads_what_zstd_writes() -> None:
    base = text(3, 400)
    data = changed(base, 4, 40)
    counts = entropy.Counts()
    counts.add(data, codec.pack_after(data, base), None)
    made = counts.header()
    known = entropy.tables_in(made)
    counts.add(data, codec.pack_with_tables(data, base, tables=made), known)
    frame = codec.pack_with_tables(data, base, tables=counts.header())
    dictionary = zstd.ZstdDict(counts.header() + base).as_undigested_dict
    assert zstd.ZstdDecompressor(zstd_dict=dictionary).decompress(frame) == data
    assert len(frame) < len(codec.pack_after(data, base))


@pytest.mark.parametrize("lines", [30, 200, 900])
def test_who_proves_the_bytes_gets_the_same_ones_as_who_looks_at_the_checksum(lines: int) -> None:
    """Also where the base is more than a block of zstd may have. A flipped bit gives damage, or as many bytes."""
    base = text(1, lines) * (5 if lines == 900 else 1)
    data = changed(base[-60_000:], 2)
    stored = delta(data, base)
    assert stored.kind == codec.TABLED_BLOCK
    assert codec.unframe(2, stored, base) == codec.unframe(2, stored, base, proven=True) == data
    for at in range(0, len(stored.frame), 7):
        flipped = stored.frame[:at] + bytes([stored.frame[at] ^ 16]) + stored.frame[at + 1 :]
        with suppress(JournalDamaged):
            other = codec.unframe(2, msgspec.structs.replace(stored, frame=flipped), base, proven=True)
            assert len(other) == len(data)
