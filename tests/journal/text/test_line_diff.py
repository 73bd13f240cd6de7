"""The line diff: it leads from one text to the other, and says so in callers' words."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from quire_journal.text import line_diff as diff_module
from quire_journal.text.line_diff import (
    blocks,
    breaks_between,
    changed_ranges,
    common_bytes,
    common_ends,
    diff,
    first_difference,
)
from quire_journal.text.splice import Splice, apply
from quire_journal.text.text import Text

LINE = st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"a\r\n", b"d\r\n"])
FILE = st.tuples(st.lists(LINE, max_size=14), st.sampled_from([b"", b"end"])).map(
    lambda parts: Text.of(b"".join(parts[0]) + parts[1])
)


@given(FILE, FILE)
def test_the_splices_lead_from_one_text_to_the_other(a: Text, b: Text) -> None:
    assert apply(a, diff(a, b), b.final_break).data == b.data


@given(FILE)
def test_equal_texts_have_no_difference(a: Text) -> None:
    assert diff(a, Text.of(a.data)) == ()


@given(FILE, FILE)
def test_splices_are_sorted_and_never_touch(a: Text, b: Text) -> None:
    splices = diff(a, b)
    assert all(one.stop < two.start for one, two in pairwise(splices))


@pytest.mark.parametrize("upside_down", [False, True])
def test_an_edit_that_repeats_the_blank_lines_beside_it_is_one_splice(upside_down: bool) -> None:
    """Also if another change in the file keeps these lines from being at its common ends."""
    was = ["head", "old", "", "", "def b", "tail"]
    now = ["head", "new", "", "", "def a", "body", "", "", "def b", "added", "tail"]
    a, b = (Text.of(("\n".join(lines[:: -1 if upside_down else 1]) + "\n").encode()) for lines in (was, now))
    sizes = [(one.stop - one.start, len(one.lines)) for one in diff(a, b)]
    assert sorted(sizes) == [(0, 1), (1, 5)]
    assert [(one.start - one.stop, len(one.lines)) for one in diff(b, a)] == [(-n, m) for m, n in sizes], (
        "and the other way"
    )


def test_a_changed_break_is_a_changed_line() -> None:
    assert diff(Text.of(b"a\nb\n"), Text.of(b"a\r\nb\n")) == (Splice(0, 1, (b"a",), (b"\r\n",)),)


@given(FILE, FILE)
def test_pieces_that_are_too_large_to_compare_still_lead_there(a: Text, b: Text) -> None:
    splices = list(diff_module._blocks(*diff_module._interned(a, b, 0, len(a), len(b)), 4))
    plan = [Splice(i, j, tuple(b.lines[k:m]), tuple(b.breaks[k:m])) for i, j, k, m in splices]
    assert apply(a, plan, b.final_break).data == b.data


def test_long_texts_are_split_at_lines_that_occur_once() -> None:
    a = Text.of(b"".join(b"line %d\n" % i for i in range(20_000)))
    b = Text.of(b"".join(b"line %d\n" % i if i % 1000 else b"new %d\n" % i for i in range(20_000)))
    assert len(diff(a, b)) == 20


PIECE = st.lists(st.sampled_from([b"a", b"b", b"\n", b"\r", b"\r\n", b"long line\n"]), max_size=12).map(b"".join)


@given(PIECE, PIECE, PIECE, PIECE, PIECE, PIECE)
def test_bytes_are_compared_to_the_same_end_as_lines(
    start: bytes, old: bytes, new: bytes, middle: bytes, newer: bytes, end: bytes
) -> None:
    a, b = start + old + middle + end, start + new + middle + newer + end
    head, tail = common_bytes(a, b)
    first = breaks_between(a, 0, head)
    assert first == len(a[:head].splitlines()) == len(b[:head].splitlines())
    gone, come = a[head : len(a) - tail].splitlines(True), b[head : len(b) - tail].splitlines(True)
    found = [(first + i, first + j, come[k:m]) for i, j, k, m in blocks(gone, come)]
    said = diff(Text.of(a), Text.of(b))
    assert found == [(s.start, s.stop, [x + y for x, y in zip(s.lines, s.breaks or (), strict=True)]) for s in said]


LF_PIECE = st.lists(st.sampled_from([b"a", b"b", b"\n", b"long line\n"]), max_size=6).map(b"".join)


@given(LF_PIECE, LF_PIECE, LF_PIECE, LF_PIECE, st.sampled_from([b"", b"\xef\xbb\xbf"]))
def test_lines_in_common_are_counted_from_bytes_as_they_are_one_by_one(
    start: bytes, old: bytes, new: bytes, end: bytes, mark: bytes
) -> None:
    a, b = Text.of(mark + start + old + end), Text.of(start + new + end)
    rows = [[*zip(text.lines, text.breaks, strict=True)] for text in (a, b)]
    most = min(map(len, rows))
    head = next((at for at in range(most) if rows[0][at] != rows[1][at]), most)
    tail = next((at for at in range(most - head) if rows[0][-1 - at] != rows[1][-1 - at]), most - head)
    assert common_ends(a, b) == (head, tail)


def test_the_first_difference_does_not_look_at_breaks() -> None:
    assert first_difference(Text.of(b"a\nb"), Text.of(b"a\r\nb\nc\n")) == 2
    assert first_difference(Text.of(b"a\nb\n"), Text.of(b"a\nB\n")) == 1


@pytest.mark.parametrize(
    ("splices", "wanted"),
    [
        ([Splice(1, 2, (b"x", b"y"))], [(2, 3, 2, 2, 1)]),
        ([Splice(1, 1, (b"x",))], [(2, 2, 2, 1, 1)]),
        ([Splice(1, 3)], [(2, 1, 2, 3, -2)]),
        ([Splice(0, 0, (b"x",)), Splice(4, 5)], [(1, 1, 1, 0, 1), (6, 5, 5, 5, 0)]),
    ],
)
def test_changed_lines_are_told_from_one_with_how_far_the_rest_moved(
    splices: list[Splice], wanted: list[tuple[int, ...]]
) -> None:
    told = [(r["start"], r["end"], r["was_start"], r["was_end"], r["shift"]) for r in changed_ranges(splices)]
    assert told == wanted
