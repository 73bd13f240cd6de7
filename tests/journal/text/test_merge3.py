"""Three-way merge, held against `git merge-file`: where both are clean, both give the same bytes."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import live
from quire_journal.text.merge3 import merge
from quire_journal.text.text import BOM, Text

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n", b"e\r\n"]), max_size=10).map(b"".join)


def of(data: bytes) -> Text:
    return Text.of(data)


def test_changes_in_different_places_come_together() -> None:
    merged = merge(of(b"1\n2\n3\n4\n"), of(b"1\nX\n3\n4\n"), of(b"0\n1\n2\n3\n4\n"))
    assert not merged.conflicts
    assert merged.text.data == b"0\n1\nX\n3\n4\n"


def test_different_changes_of_one_line_are_a_conflict_and_theirs_stays() -> None:
    merged = merge(of(b"1\n2\n3\n"), of(b"1\nmine\n3\n"), of(b"1\ntheirs\n3\n"))
    assert merged.text.data == b"1\ntheirs\n3\n"
    assert merged.conflicts[0].as_shown() == {"base": ["2"], "theirs": ["theirs"], "yours": ["mine"]}


def test_changes_that_touch_are_a_conflict() -> None:
    assert merge(of(b"1\n2\n3\n"), of(b"1\nX\n3\n"), of(b"1\n2\nY\n")).conflicts


def test_changes_that_overlap_in_a_chain_are_one_conflict_from_the_first_line_to_the_last() -> None:
    base = b"1\n2\n3\n4\n5\n6\n7\n"
    mine, theirs = b"1\nm\n4\nm\n6\n7\n", b"1\n2\nt\n6\n7\n"
    for one, two in ((mine, theirs), (theirs, mine)):
        merged = merge(of(base), of(one), of(two))
        (conflict,) = merged.conflicts
        assert (conflict.start, conflict.stop, conflict.base) == (1, 5, (b"2", b"3", b"4", b"5"))
        assert {conflict.mine, conflict.theirs} == {(b"m", b"4", b"m"), (b"2", b"t")}
        assert merged.text.data == two


def test_a_byte_order_mark_that_one_side_gave_or_took_is_as_that_side_has_it() -> None:
    for bare, marked in ((b"", BOM), (BOM, b"")):
        base, changed = of(bare + b"1\n2\n3\n"), of(bare + b"1\n2\nX\n")
        other = of(marked + b"1\n2\n3\n")
        assert merge(base, other, changed).text.data == marked + b"1\n2\nX\n"
        assert merge(base, changed, other).text.data == marked + b"1\n2\nX\n"
        assert merge(base, changed, base).text.data == changed.data


def test_a_cr_alone_ends_no_line_here_as_it_ends_none_for_git() -> None:
    assert merge(of(b"a\rb\nc\nd\n\n"), of(b"a\rc\nd\n\n"), of(b"a\rb\nc\n\n")).conflicts
    met = merge(of(b"a\rb\n\nc\n"), of(b"a\r\nc\n"), of(b"a\rb\n\nc\n")).text
    assert (met.data, len(met)) == (b"a\r\nc\n", 2)


def test_the_byte_order_mark_is_a_part_of_the_first_line() -> None:
    base, marked, changed = of(b"1\n2\n3\n4\n"), of(BOM + b"1\n2\n3\n4\n"), of(b"X\n2\n3\n4\n")
    assert merge(base, marked, changed).conflicts
    assert merge(base, marked, of(b"1\n2\n3\nX\n")).text.data == BOM + b"1\n2\n3\nX\n"


def test_a_block_that_both_added_is_there_once_however_each_lined_it_up() -> None:
    base = of(b"a {\n}\n\nb {\n}\n")
    added = of(b"a {\n}\n\nnew {\n}\n\nb {\n}\n")
    more = of(b"a {\n}\n\nnew {\n}\n\nb {\n}\n\nlast\n")
    merged = merge(base, added, more)
    assert not merged.conflicts
    assert merged.text == more
    assert merged.met == ((3, 3, 3, 6),), "as far down as it goes"


def test_one_line_that_both_added_an_unchanged_line_apart_is_a_conflict() -> None:
    base = of(b"import a\nimport c\nimport e\n\n\nrest\n")
    one, other = (
        of(b"import a\nimport b\nimport c\nimport e\n\n\nrest\n"),
        of(b"import a\nimport c\nimport b\nimport e\n\n\nrest\n"),
    )
    assert merge(base, one, other).conflicts
    assert merge(base, other, one).conflicts
    apart = of(b"import a\nimport c\nimport e\n\n\nrest\nimport b\n")
    assert not merge(base, one, apart).conflicts


def test_a_block_beside_another_block_is_a_conflict_however_each_is_lined_up() -> None:
    base = b"a {\n}\n\nb {\n}\n"
    one, other = b"a {\n}\n\nnew {\n}\n\nb {\n}\n", b"a {\n}\n\nother {\n}\n\nb {\n}\n"
    above = b"a {\n}\n\n\nb {\n}\n"
    for mine, theirs in ((one, other), (other, one), (one, above), (above, one)):
        assert merge(of(base), of(mine), of(theirs)).conflicts


def test_a_final_break_that_one_side_took_away_stays_away() -> None:
    assert merge(of(b"1\n2\n3\n"), of(b"X\n2\n3\n"), of(b"1\n2\n3")).text.data == b"X\n2\n3"


@given(LINES, LINES)
def test_a_side_that_changed_nothing_takes_what_the_other_made(base: bytes, changed: bytes) -> None:
    for merged in (merge(of(base), of(changed), of(base)), merge(of(base), of(base), of(changed))):
        assert not merged.conflicts
        assert merged.text.data == changed


@given(LINES, LINES)
def test_the_same_change_on_both_sides_is_no_conflict(base: bytes, changed: bytes) -> None:
    merged = merge(of(base), of(changed), of(changed))
    assert not merged.conflicts
    assert merged.text.data == changed


@given(LINES, LINES, LINES)
def test_a_clean_merge_does_not_depend_on_the_sides(base: bytes, one: bytes, two: bytes) -> None:
    there, back = merge(of(base), of(one), of(two)), merge(of(base), of(two), of(one))
    assert bool(there.conflicts) == bool(back.conflicts)
    if not there.conflicts:
        assert there.text.data == back.text.data


def _edited(lines: list[bytes], draw: random.Random, many: int) -> list[bytes]:
    out = list(lines)
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(out) + 1)
        if draw.random() < 0.3:
            out[at:at] = out[max(at - 3, 0) : at]  # a block once more
        else:
            new = [b"line %d\n" % draw.randrange(many) for _ in range(draw.randrange(3))]
            out[at : at + draw.choice([0, 1, 1, 2])] = new
    return out


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the oracle")
def test_what_is_clean_is_clean_for_git_and_gives_the_same_bytes(tmp_path: Path) -> None:
    """Of lines that repeat, where both sides can be lined up in many ways."""
    draw = random.Random(7)
    clean = refused = 0
    for _ in range(live.length(80, 20_000)):
        many = draw.choice([3, 6, 20, 50])
        base = [b"line %d\n" % draw.randrange(many) for _ in range(draw.randrange(5, 30))]
        mine = _edited(base, draw, many)
        theirs = _edited(mine if draw.random() < 0.3 else base, draw, many)
        for name, lines in (("base", base), ("mine", mine), ("theirs", theirs)):
            (tmp_path / name).write_bytes(b"".join(lines))
        git = subprocess.run(
            ["git", "merge-file", "-p", "theirs", "base", "mine"], cwd=tmp_path, capture_output=True, check=False
        )
        merged = merge(of(b"".join(base)), of(b"".join(mine)), of(b"".join(theirs)))
        if not merged.conflicts:
            clean += 1
            assert git.returncode == 0, (base, mine, theirs)
            assert merged.text.data == git.stdout, (base, mine, theirs)
        refused += bool(merged.conflicts) and git.returncode == 0
    assert clean > 2 * refused, "what git merges is not refused more often than not"
