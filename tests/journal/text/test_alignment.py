"""Alignment: one place for each change, and it is the place where git has it; where that is not sure, it is said."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import live
from quire_journal.text import alignment
from quire_journal.text.alignment import AlignedChange, changes_between

LINES = st.lists(st.integers(0, 3), max_size=12)


def changes(before: str, after: str) -> list[AlignedChange]:
    """Of texts whose lines are these letters."""
    return changes_between([*map(ord, before)], [*map(ord, after)])


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("abc", "abc", []),
        ("abc", "axc", [AlignedChange(1, 2, 1, 2)]),
        ("abc", "abxc", [AlignedChange(2, 2, 2, 3)]),
        ("abbc", "abbbc", [AlignedChange(3, 3, 3, 4)]),  # any of the three may be the new one: it is the last
        ("abbbc", "abbc", [AlignedChange(3, 4, 3, 3)]),
        ("a}b}c", "a}x}b}c", [AlignedChange(2, 2, 2, 4)]),  # and not `}x` before the first bracket
        ("a}b}c", "a}c", [AlignedChange(2, 4, 2, 2)]),
        ("ab", "ba", [AlignedChange(0, 2, 0, 2, sure=False)]),  # either of them was moved
        ("", "ab", [AlignedChange(0, 0, 0, 2)]),
    ],
)
def test_a_change_is_as_far_down_as_it_can_be(before: str, after: str, found: list[AlignedChange]) -> None:
    assert changes(before, after) == found


@given(LINES, LINES, st.lists(st.integers(0, 3), max_size=40))
def test_what_lies_between_changes_is_kept(a: list[int], b: list[int], end: list[int]) -> None:
    before, after = end + a + end, end + b + end
    assert replaced(before, after, changes_between(before, after)) == after


def test_a_common_line_amid_many_that_have_no_match_may_be_left_out() -> None:
    begun, end = [1, 0, 2, 0, 3, 0, 4, 0], [5, 0, 6, 0, 7, 0]
    before, after = [*begun, 20, 0, 21, 22, *end], [*begun, *range(30, 36), 0, *range(40, 44), *end]
    assert changes_between(before, after) == [AlignedChange(8, 12, 8, 19, sure=False)]
    alone = [*begun, 30, 0, 31, 32, *end]
    assert changes_between(before, alone) == [AlignedChange(8, 9, 8, 9), AlignedChange(10, 12, 10, 12)]


def test_a_change_moves_over_any_number_of_equal_lines() -> None:
    lines = [1, *[7] * (5 * alignment.MARGIN), 2]
    assert changes_between(lines, [*lines[:2], *lines[1:]]) == [
        AlignedChange(len(lines) - 1, len(lines) - 1, len(lines) - 1, len(lines))
    ]


def test_a_large_text_is_cut_at_long_runs_of_unique_lines() -> None:
    before = [*range(9_000)]
    after = [-1, *before[:4_000], -2, *before[4_000:], -3]
    found = [
        AlignedChange(0, 0, 0, 1),
        AlignedChange(4_000, 4_000, 4_001, 4_002),
        AlignedChange(9_000, 9_000, 9_002, 9_003),
    ]
    assert changes_between(before, after) == found


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the oracle")
def test_sure_changes_are_changes_of_git_and_every_change_of_git_lies_in_one(tmp_path: Path) -> None:
    draw = random.Random(5)
    sure = doubtful = 0
    for _ in range(live.length(60, 10_000)):
        many = draw.choice([2, 4, 8, 30])
        before = [draw.randrange(many) for _ in range(draw.randrange(40))]
        after = edited(before, draw, many)
        found, git = changes_between(before, after), by_git(before, after, tmp_path)
        spans = [(c.start, c.stop, c.begin, c.end) for c in found]
        assert all(span in git for span, change in zip(spans, found, strict=True) if change.sure), (before, after)
        for start, stop, begin, end in git:
            assert any(i <= start and stop <= j and k <= begin and end <= m for i, j, k, m in spans), (before, after)
        sure += sum(change.sure for change in found)
        doubtful += sum(not change.sure for change in found)
    assert sure > 2 * doubtful


def edited(lines: Sequence[int], draw: random.Random, many: int) -> list[int]:
    """After some lines were replaced, and a block was there once more."""
    out = [*lines]
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(out) + 1)
        out[at : at + draw.randrange(3)] = [draw.randrange(many) for _ in range(draw.randrange(3))]
        out[at:at] = out[max(at - draw.randrange(4), 0) : at]
    return out


def by_git(before: Sequence[int], after: Sequence[int], folder: Path) -> list[tuple[int, int, int, int]]:
    """The changes as `git merge-file` sees them."""
    for name, lines in (("before", before), ("after", after)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    diff = ["git", "diff", "--no-index", "--no-indent-heuristic", "-U0", "before", "after"]
    told = subprocess.run(diff, cwd=folder, capture_output=True, check=False, text=True).stdout
    found = []
    for at, count, to, much in re.findall(r"(?m)^@@ -(\d+),?(\d*) \+(\d+),?(\d*) @@", told):
        old, new = (int(number or 1) for number in (count, much))
        start, begin = int(at) - (old > 0), int(to) - (new > 0)
        found.append((start, start + old, begin, begin + new))
    return found


def replaced(before: Sequence[int], after: Sequence[int], found: Sequence[AlignedChange]) -> list[int]:
    """`before` after the changes, with the lines that `after` has there."""
    out, at = [], 0
    for change in found:
        out += [*before[at : change.start], *after[change.begin : change.end]]
        at = change.stop
    return [*out, *before[at:]]
