"""Replacing texts in files: what is named changes, and no other byte does."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import assume, given, strategies as st

from quire_daemon.dialects.text.find import LineIndex, normalised, occurrences
from quire_daemon.dialects.text.replace import Draft, replaced, replaced_at_once
from quire_journal.text.splice import apply, trim
from quire_journal.text.text import BOM, Text

LINES = st.sampled_from([b"", b"a", b"b", b"ab", b"\x0c", b"caf\xe9", "é".encode(), b"  x"])
NEW = st.lists(st.sampled_from([b"", b"a", b"new", b"\x0c"]), min_size=1, max_size=4).map(b"\n".join)


@st.composite
def files(draw: st.DrawFn, breaks: Sequence[bytes] = (b"\n", b"\r\n")) -> Text:
    """A file with these line ends, in any mixture; with or without BOM and final break."""
    said = draw(st.lists(st.tuples(LINES, st.sampled_from(breaks)), max_size=12))
    data = b"".join(line + end for line, end in said) + draw(st.sampled_from([b"", b"last"]))
    return Text.of(draw(st.sampled_from([b"", BOM])) + data)


@st.composite
def cases(draw: st.DrawFn, *breaks: bytes) -> tuple[Text, list[tuple[int, int, bytes]]]:
    """A file and edits of it."""
    text = draw(files(breaks))
    cuts = sorted(draw(st.lists(st.integers(0, len(text.normalised)), max_size=6)))
    return text, [(a, b, draw(NEW)) for a, b in list(pairwise(cuts))[::2]]


def by_hand(data: bytes, edits: Sequence[tuple[int, int, bytes]]) -> bytes:
    """The edits, done to bytes. What is written into an empty file ends with a break."""
    empty = not data
    for start, stop, new in reversed(edits):
        data = data[:start] + new + data[stop:]
    return data + b"\n" if empty and data and not data.endswith(b"\n") else data


def done(text: Text, edits: Sequence[tuple[int, int, bytes]]) -> Text:
    """The edits, done to a file as the engine does them."""
    splices, final_break = replaced(text, edits)
    return apply(text, trim(text, splices), final_break)


def edited(data: bytes, old: str, new: str) -> bytes:
    """`data` with every `old` replaced."""
    text = Text.of(data)
    return done(text, [(a, b, normalised(new)) for a, b in occurrences(text, old)]).data


@given(cases(b"\n", b"\r\n"))
def test_the_text_is_what_replacing_the_bytes_gives(case: tuple[Text, list[tuple[int, int, bytes]]]) -> None:
    text, edits = case
    assert done(text, edits).normalised == by_hand(text.normalised, edits)


@given(cases(b"\n", b"\r\n"))
def test_it_is_the_same_where_many_edits_are_made_at_once(case: tuple[Text, list[tuple[int, int, bytes]]]) -> None:
    text, edits = case
    assume(edits)
    splices, final_break = replaced_at_once(text, edits)
    after = apply(text, trim(text, splices), final_break)
    assert after.normalised == by_hand(text.normalised, edits)
    touched = {n for a, b, _ in edits for n in range(LineIndex(text).at(a), LineIndex(text).at(b) + 1)}
    kept = [n for s in splices for n in range(s.start, s.stop) if n not in touched]
    assert kept == []


@given(cases(b"\r", b"\r\n"))
def test_a_lone_cr_ends_a_line_like_any_other_break(case: tuple[Text, list[tuple[int, int, bytes]]]) -> None:
    text, edits = case
    assert done(text, edits).normalised == by_hand(text.normalised, edits)


@given(cases(b"\n", b"\r\n", b"\r"))
def test_lines_before_between_and_behind_the_edits_keep_their_bytes(
    case: tuple[Text, list[tuple[int, int, bytes]]],
) -> None:
    text, edits = case
    lines = LineIndex(text)
    named = {n for a, b, _ in edits for n in range(lines.at(a), lines.at(b) + 1)}
    kept = [line + end for n, (line, end) in enumerate(zip(text.lines, text.breaks, strict=True)) if n not in named]
    after = done(text, edits).data
    at = 0
    for bytes_of_line in kept:
        # a line that was last without a break needs one when something follows, so its bytes are its beginning
        at = after.find(bytes_of_line, at)
        assert at >= 0
        at += len(bytes_of_line)
    assert after.startswith(BOM) == text.bom


@given(cases(b"\n", b"\r\n", b"\r"))
def test_an_edit_that_says_the_same_again_changes_nothing(case: tuple[Text, list[tuple[int, int, bytes]]]) -> None:
    text, edits = case
    same = [(a, b, text.normalised[a:b]) for a, b, _ in edits]
    assert replaced(text, same) == ((), None)


@given(files((b"\n", b"\r\n", b"\r")), st.data())
def test_a_byte_is_found_in_its_line_and_on_the_disk(text: Text, draw: st.DataObject) -> None:
    assume(text.normalised)
    at = draw.draw(st.integers(0, len(text.normalised) - 1))
    lines = LineIndex(text)
    line = text.normalised.count(b"\n", 0, at)
    assert (lines.at(at), lines.begin(at), lines.begin(at) <= at <= lines.end(at)) == (line, lines.starts[line], True)
    before = text.data[: lines.on_disk(at)]
    assert re.sub(rb"\r\n|\r", b"\n", before.removeprefix(BOM)) == text.normalised[:at]
    assert lines.on_disk(len(text.normalised)) == len(text.data)


@given(
    files(),
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12), st.sampled_from([b"", b"x", b"y\nz"])), max_size=6),
)
def test_edits_that_see_each_other_come_to_edits_of_the_first_text(
    text: Text, steps: list[tuple[int, int, bytes]]
) -> None:
    draft, by_steps = Draft(text), text.normalised
    for at, length, new in steps:
        start = min(at, len(by_steps))
        stop = min(start + length, len(by_steps))
        if start < stop:
            draft.replace(start, stop, new)
            by_steps = by_hand(by_steps, [(start, stop, new)])
    assert draft.now == by_steps == by_hand(text.normalised, draft.edits)
    assert done(text, draft.edits).normalised == by_steps


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nX\nb\nc\nD", b"a\r\nX\r\nb\nc\r\nD\n"),  # kept lines inside, each end
        (b"one\r\ntwo\nthree\r\n", "two", "2\n2b", b"one\r\n2\n2b\nthree\r\n"),
        (b"a\rb\rc\r", "b", "B\nB2", b"a\rB\rB2\rc\r"),
        (b"a\rb\rc", "\nb", "", b"a\rc"),
        (b"a\r\nb\nc\r\n", "a\nb", "ab", b"ab\nc\r\n"),  # the break behind the text is not in it
        (b"a\r\nb\r\nc\nd\r\n", "b\nc", "b", b"a\r\nb\nd\r\n"),
        (b"a\nb\nc\nd\r\n", "b\nc\nd", "B\nD", b"a\nB\nD\r\n"),
        (b"a\r\nb\n", "a\nb\n", "ab\n", b"ab\r\n"),
        (b"a\r\nb", "a\nb", "ab", b"ab"),
        (b"a\nb\n", "\nb", "b", b"ab\n"),
        (b"a\nb", "b", "b\n", b"a\nb\n"),  # adds the final break
        (b"a\r\nb\r\n", "b\n", "b", b"a\r\nb"),  # removes it
        (b"a\nb\n", "a\nb\n", "", b""),
        (BOM + b"a\r\n", "a", "x\r\ny", BOM + b"x\r\ny\r\n"),
        (b"x \xff y\n", "x", "z", b"z \xff y\n"),
        (b"a\x0cb\x0bc\xc2\x85d\n", "b", "B", b"a\x0cB\x0bc\xc2\x85d\n"),
    ],
)
def test_each_line_has_the_break_that_is_its_own(before: bytes, old: str, new: str, after: bytes) -> None:
    assert edited(before, old, new) == after


def test_edits_in_neighbouring_lines_do_not_swap_their_breaks() -> None:
    assert edited(b"x 1\r\nx 2\nx 3\r\n", "x", "y") == b"y 1\r\ny 2\ny 3\r\n"
    text = Text.of(b"1\r\n2\n")
    assert done(text, [(0, 1, b"2"), (2, 3, b"3")]).data == b"2\r\n3\n"
    text = Text.of(b"1\r\n2 .\n3\n")
    assert done(text, [(0, 1, b"2 ,"), (2, 3, b"4"), (4, 6, b",\n4")]).data == b"2 ,\r\n4 ,\n43\n"


def test_lines_that_touch_come_to_one_splice() -> None:
    text = Text.of(b"x\n" * 50)
    splices, _ = replaced(text, [(a, b, b"yy") for a, b in occurrences(text, "x")])
    assert [(s.start, s.stop, len(s.lines)) for s in splices] == [(0, 50, 50)]


def test_edits_that_overlap_are_a_fault() -> None:
    with pytest.raises(ValueError, match="overlaps"):
        replaced(Text.of(b"abc\n"), [(0, 2, b""), (1, 3, b"")])


@pytest.mark.parametrize("old", ["a\nb", "a\r\nb", "a\rb"])
def test_a_text_to_match_may_have_any_line_ends(old: str) -> None:
    assert occurrences(Text.of(b"a\r\nb\r\n"), old) == [(0, 3)]


def test_what_stands_for_unreadable_bytes_never_matches() -> None:
    assert occurrences(Text.of("\ufffd\n".encode()), "\ufffd") == []
    assert occurrences(Text.of(b"\xff\n"), "\ufffd") == []


def test_matches_are_counted_without_overlap() -> None:
    assert occurrences(Text.of(b"aaaa"), "aa") == [(0, 2), (2, 4)]
    assert occurrences(Text.of(b"aaaa"), "a", 3) == [(0, 1), (1, 2), (2, 3)]


def test_the_lines_of_a_text_are_found_by_offset() -> None:
    text = Text.of(b"a\nbb\n\nc")
    starts = [0, 2, 5, 6]
    lines = LineIndex(text)
    assert [lines.at(n) for n in range(8)] == [bisect_right(starts, n) - 1 for n in range(8)]
