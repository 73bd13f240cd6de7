"""Anchors: the algorithm is fixed by these vectors; changing it would break every anchor that callers hold."""

from __future__ import annotations

import sys
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from quire_journal.text.line_hash import (
    FEW_CHANGES,
    MOST_CHANGES,
    LineHashes,
    Occurrences,
    context8,
    hash8,
    line_id,
    quality,
)
from quire_journal.text.splice import Splice, apply
from quire_journal.text.text import Text


@pytest.mark.parametrize(
    ("line", "digits"),
    [(b"", "d41d8cd9"), (b"}", "cbb184dd"), (b");", "616cc2f8"), (b"return;", "505b9796"), (b"\xff\xfe", "f3b25701")],
)
def test_a_line_has_the_first_eight_digits_of_its_md5(line: bytes, digits: str) -> None:
    assert hash8(line) == digits


def test_the_context_form_is_over_three_lines() -> None:
    assert context8(b"a", b"x", b"b") == hash8(b"a\nx\nb")
    assert context8(b"", b"x", b"") == hash8(b"\nx\n")


def test_an_id_has_four_hex_digits_of_the_exact_text() -> None:
    assert line_id(b"}") == "bb18"
    assert line_id(b" }") != line_id(b"}")


def test_indentation_counts_and_the_break_does_not() -> None:
    assert hash8(b"  x") != hash8(b"x")
    assert LineHashes.of(Text.of(b"x\r\n")).full == LineHashes.of(Text.of(b"x\n")).full
    assert LineHashes.of(Text.of(b"\xef\xbb\xbfx\n")).full == [hash8(b"x")]


@pytest.mark.parametrize("line", [b"", b"   ", b"}", b"  });", b'",', b"\t[", b"''"])
def test_blank_lines_and_lines_of_punctuation_are_low(line: bytes) -> None:
    assert quality(line, 1) == "low"


def test_a_line_is_med_from_its_fourth_occurrence_on() -> None:
    assert [quality(b"pass", n) for n in (1, 3, 4)] == ["high", "high", "med"]


def test_a_row_is_number_hash_quality_and_text() -> None:
    hashes = LineHashes.of(Text.of(b"foo\n}\ncaf\xe9\n"))
    assert hashes.rows(0, 2) == ["1#acbd18 [high]|foo", "2#cbb184 [low]|}"]
    assert hashes.rows(0, 3)[2].endswith("|caf\ufffd")
    assert hashes.references(0, 1) == [f"1#{line_id(b'foo')}|foo"] == hashes.references(0, 3)[:1]


def test_lines_are_found_by_any_prefix_of_their_hash() -> None:
    hashes = LineHashes.of(Text.of(b"a\nb\na\n"))
    assert hashes.matching(hash8(b"a")) == [0, 2]
    assert hashes.matching(hash8(b"a")[:4]) == [0, 2]
    assert hashes.matching("0000") == []
    assert hashes.matching_context(context8(b"b", b"a", b"")) == [2]


def test_no_line_is_found_by_digits_that_stand_across_two_hashes() -> None:
    hashes = LineHashes.of(Text.of(b"".join(b"%d\n" % n for n in range(2000))))
    for digits in hashes.full[:20]:
        for count in range(4, 9):
            prefix = digits[:count]
            assert hashes.matching(prefix) == [n for n, found in enumerate(hashes.full) if found.startswith(prefix)]


def test_context_skips_blank_neighbours() -> None:
    hashes = LineHashes.of(Text.of(b"a\n\n  \nx\n\nb\n"))
    assert hashes.context(3) == context8(b"a", b"x", b"b")
    assert hashes.matching_context(context8(b"a", b"x", b"b")) == [3]


def test_the_hashes_of_a_text_are_made_once() -> None:
    text = Text.of(b"a\nb\n")
    assert LineHashes.of(text) is LineHashes.of(text)


def test_occurrences_stay_true_over_more_changes_than_are_kept_beside_them() -> None:
    lines = ["a"] * 5
    counts = Occurrences(Counter(lines))
    for number in range(MOST_CHANGES + 5):
        before, counts = counts, counts.after(["a"] if number < 3 else [], [f"{number}", "b"])
    assert [counts[digits] for digits in ("a", "b", "0", f"{MOST_CHANGES + 4}", "none")] == [
        2,
        MOST_CHANGES + 5,
        1,
        1,
        0,
    ]
    assert (before["b"], before[f"{MOST_CHANGES + 4}"]) == (MOST_CHANGES + 4, 0)


def test_a_version_of_a_short_text_holds_few_changes_however_often_the_text_was_edited() -> None:
    """Each of the kept versions of a text of 100 lines held up to 500 changes of its own: twice the text itself."""
    text = Text.of(b"".join(b"line %d\n" % number for number in range(100)))
    assert LineHashes.of(text).counts["none"] == 0
    most = 0
    for number in range(400):
        at = number % 100
        splices = [Splice(at, at + 1, (b"edit %d" % number,))]
        after = apply(text, splices)
        counts = LineHashes.of(text).carry(splices, after).counts
        most = max(most, sys.getsizeof(counts._changes))
        text = after
    assert most <= sys.getsizeof(dict.fromkeys(range(2 * FEW_CHANGES), 0))


LINES = st.lists(st.sampled_from([b"", b"a", b"b", b"}", b"\xff"]), max_size=8)


@given(LINES, st.data())
def test_carried_hashes_are_those_of_the_result(lines: list[bytes], data: st.DataObject) -> None:
    base = Text.of(b"".join(line + b"\n" for line in lines))
    start = data.draw(st.integers(0, len(base)))
    stop = data.draw(st.integers(start, len(base)))
    splices = [Splice(start, stop, tuple(data.draw(LINES)))]
    result = apply(base, splices)
    carried = LineHashes.of(base).carry(splices, result)
    assert list(carried.full) == [hash8(line) for line in result.lines]
    assert LineHashes.of(result) is carried


@given(LINES, st.data())
def test_what_a_read_shows_of_a_carried_text_is_what_it_would_show_of_it_alone(
    lines: list[bytes], data: st.DataObject
) -> None:
    """Few different lines, so that some become common, and some cease to be."""
    base = Text.of(b"".join(line + b"\n" for line in lines))
    for _ in range(3):
        known = LineHashes.of(base)
        if data.draw(st.booleans()):
            known.rows(0, len(base))
            known.references(0, len(base))
        start = data.draw(st.integers(0, len(base)))
        stop = data.draw(st.integers(start, min(len(base), start + 2)))
        size = stop - start if data.draw(st.booleans()) else 1
        new = data.draw(st.lists(st.sampled_from([b"a", b"b", b"}"]), min_size=size, max_size=size))
        splices = [Splice(start, stop, tuple(new))]
        result = apply(base, splices)
        known.carry(splices, result)
        alone = LineHashes(Text.of(result.data).lines)
        assert LineHashes.of(result).rows(0, len(result)) == alone.rows(0, len(result))
        assert LineHashes.of(result).references(0, len(result)) == alone.references(0, len(result))
        base = result
