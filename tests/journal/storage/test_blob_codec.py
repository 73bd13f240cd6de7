"""Frames: what goes in comes out with the same base, and nothing else with another."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import assume, given, strategies as st

from quire_journal.model.records import JournalDamaged
from quire_journal.storage.blobs import codec
from quire_journal.storage.blobs.row import BlobRow

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


def test_a_keyframe_is_packed_only_if_the_size_of_the_bytes_leaves_a_doubt() -> None:
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


@given(st.integers(0, 1 << 30), st.data())
def test_a_damaged_frame_or_base_gives_the_same_bytes_or_is_noticed(seed: int, drawn: st.DataObject) -> None:
    base = text(seed, 40)
    data = changed(base, seed + 1)
    stored = delta(data, base)
    assume(stored.kind == codec.DELTA)
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
