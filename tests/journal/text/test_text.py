"""Text: bytes in, the same bytes out, and lines that end where the contract says."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from quire_journal.model.line_ranges import merge_ranges, ranges_of, without
from quire_journal.text.text import BOM, Text, content_lines, shown

ANY_BYTES = st.one_of(
    st.binary(max_size=60),
    st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\r\n", BOM, b"\x0c", b"\xff", "\u2028".encode()])).map(b"".join),
)


@given(ANY_BYTES)
def test_the_bytes_of_a_file_come_back_whatever_they_are(data: bytes) -> None:
    text = Text.of(data)
    assert Text(text.bom, list(text.lines), list(text.breaks)).data == data
    assert len(text.lines) == len(text.breaks)
    assert all(text.breaks[:-1])


@pytest.mark.parametrize(
    ("data", "lines", "breaks"),
    [
        (b"", [], []),
        (b"\n", [b""], [b"\n"]),
        (b"a\r\nb\rc\nd", [b"a", b"b", b"c", b"d"], [b"\r\n", b"\r", b"\n", b""]),
        (b"a\x0cb\x0b\x85\n", [b"a\x0cb\x0b\x85"], [b"\n"]),
        ("a\u2028b\n".encode(), ["a\u2028b".encode()], [b"\n"]),
        (b"\n\r", [b"", b""], [b"\n", b"\r"]),
        (BOM + b"a\n", [b"a"], [b"\n"]),
    ],
)
def test_a_line_ends_at_lf_crlf_or_cr_and_at_nothing_else(data: bytes, lines: list[bytes], breaks: list[bytes]) -> None:
    text = Text.of(data)
    assert (list(text.lines), list(text.breaks)) == (lines, breaks)


@pytest.mark.parametrize(
    ("data", "style"),
    [(b"a\n", "lf"), (b"a\r\nb", "crlf"), (b"a\r", "cr"), (b"a\nb\r\n", "mixed"), (b"a", "none"), (b"", "none")],
)
def test_the_style_of_breaks_is_named(data: bytes, style: str) -> None:
    assert Text.of(data).newline_style == style


def test_a_slice_has_a_final_break_only_at_the_end_of_a_file_that_has_one() -> None:
    text = Text.of(b"a\r\nb\r\n")
    assert text.slice(0, 1) == b"a"
    assert text.slice(0, 2) == b"a\nb\n"
    assert text.slice(1, 9) == b"b\n"
    assert text.slice(2, 2) == b""
    assert Text.of(b"a\nb").slice(0, 2) == b"a\nb"


def test_text_to_match_is_without_bom_and_with_lf() -> None:
    assert Text.of(BOM + b"a\r\nb\rc").normalised == b"a\nb\nc"
    for plain in (b"", b"a", b"a\n", b"a\n\nb", b"\n"):
        assert Text.of(plain).normalised == Text.of(BOM + plain).normalised == plain


@pytest.mark.parametrize(
    ("content", "lines"),
    [("", [b""]), ("\n", [b""]), ("a", [b"a"]), ("a\n", [b"a"]), ("a\n\n", [b"a", b""]), ("a\r\nb", [b"a", b"b"])],
)
def test_one_trailing_newline_of_content_is_no_line(content: str, lines: list[bytes]) -> None:
    assert content_lines(content) == lines


def test_a_byte_order_mark_in_content_is_text() -> None:
    assert content_lines("\ufeffa") == [BOM + b"a"]


def test_a_new_line_takes_the_break_there_else_before_else_after_else_lf() -> None:
    text = Text.of(b"a\r\nb\rc")
    assert [text.break_for(i) for i in (-1, 0, 1, 2, 9)] == [b"\r\n", b"\r\n", b"\r", b"\r", b"\r"]
    assert Text.of(b"").break_for(0) == b"\n"


def test_nul_near_the_beginning_makes_a_file_binary() -> None:
    assert Text.of(b"a\0b").binary
    assert not Text.of(b"a" * 8192 + b"\0").binary


def test_bytes_that_are_no_text_are_shown_as_replacement_characters() -> None:
    assert Text.of(b"caf\xe9").lossy
    assert shown(b"caf\xe9") == "caf\ufffd"


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=6))
def test_merged_ranges_are_of_the_same_lines_and_lie_apart(ranges: list[tuple[int, int]]) -> None:
    merged = merge_ranges(ranges)
    assert {line for a, b in merged for line in range(a, b)} == {line for a, b in ranges for line in range(a, b)}
    assert all(a < b for a, b in merged)
    assert all(before[1] < after[0] for before, after in pairwise(merged))


@given(st.lists(st.integers(0, 12), max_size=9))
def test_the_ranges_of_lines_are_those_of_each_of_them(lines: list[int]) -> None:
    assert ranges_of(lines) == merge_ranges((line, line + 1) for line in lines)


def test_ranges_that_touch_become_one() -> None:
    assert merge_ranges([(4, 6), (0, 2), (2, 3), (5, 5)]) == ((0, 3), (4, 6))


RANGES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)))


@given(RANGES, RANGES)
def test_ranges_without_others_hold_the_lines_of_the_one_and_none_of_the_others(
    ranges: list[tuple[int, int]], others: list[tuple[int, int]]
) -> None:
    lines, away = ({line for start, stop in some for line in range(start, stop)} for some in (ranges, others))
    assert without(ranges, others) == ranges_of(lines - away)
