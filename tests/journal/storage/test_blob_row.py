"""Rows of blobs: what is said comes back, in as few bytes as it takes, and what says nothing is told so."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, strategies as st

from quire_journal.storage.blobs import codec, row as blob_row
from quire_journal.storage.blobs.row import RUN, BlobRow

NUMBER = st.integers(1, 1 << 40)


@st.composite
def blobs(draw: st.DrawFn) -> tuple[int, BlobRow]:
    number = draw(NUMBER)
    run = draw(st.integers(0, RUN - 1))
    stored = BlobRow(
        draw(st.integers(0, number - 1)),
        run + draw(st.integers(0, 64)),
        draw(st.integers(0, codec.MAX_BYTES)),
        draw(st.integers(0, 15)),
        draw(st.binary(max_size=40)),
        draw(st.one_of(st.just(0), NUMBER)),
        run,
    )
    return number, stored


@given(blobs())
def test_whatever_a_row_says_comes_back(one: tuple[int, BlobRow]) -> None:
    number, stored = one
    row = blob_row.row(number, stored)
    assert blob_row.may_be(row)
    assert blob_row.read(number, row) == stored
    assert len(row) <= len(msgspec.msgpack.encode(msgspec.structs.astuple(stored)))


@given(st.binary(max_size=60))
def test_of_any_bytes_a_row_is_read_or_refused(row: bytes) -> None:
    for begins in (b"", b"\x87", b"\xa7", b"\x95"):
        try:
            stored = blob_row.read(7, begins + row)
        except ValueError:
            continue
        assert blob_row.may_be(begins + row)
        assert 0 <= stored.run < RUN


def test_a_row_of_a_short_delta_takes_five_bytes_beside_the_frame() -> None:
    assert len(blob_row.row(1000, BlobRow(990, 3, 12_000, codec.DELTA, b"frame", run=3))) == 5 + 5


@pytest.mark.parametrize(
    "row", [b"", b"\x00", b"\xc1", b"\x87", b"\x87\x01", b"\x87" + b"\xff" * 20, b"\x95\x01", b"\x94\x00\x00\x01\x00"]
)
def test_what_is_no_row_is_told_so(row: bytes) -> None:
    with pytest.raises(ValueError):
        blob_row.read(7, row)


@pytest.mark.parametrize(
    "stored",
    [
        BlobRow(8, 1, 2, 3, b""),
        BlobRow(1, 1, 2, 16, b""),
        BlobRow(1, 1, 2, 3, b"", run=32),
        BlobRow(1, 1, 2, 3, b"", run=2),
    ],
)
def test_what_cannot_be_is_not_written(stored: BlobRow) -> None:
    with pytest.raises(ValueError):
        blob_row.row(7, stored)
