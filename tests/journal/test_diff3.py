"""Three-way merge, held against `git merge-file`: where both are clean, both give the same bytes."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire_journal.diff3 import merge
from quire_journal.text import BOM, Text

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


def test_a_cr_and_an_lf_that_meet_are_one_break() -> None:
    merged = merge(of(b"a\rb\nc\nd\n\n"), of(b"a\rc\nd\n\n"), of(b"a\rb\nc\n\n"))
    assert merged.text == of(b"a\rc\n\n")
    met = merge(of(b"a\rb\n\nc\n"), of(b"a\r\nc\n"), of(b"a\rb\n\nc\n")).text
    assert (met.data, len(met)) == (b"a\r\nc\n", 2)


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


def _edited(lines: list[bytes], draw: random.Random) -> list[bytes]:
    out = list(lines)
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(out) + 1)
        out[at : at + draw.choice([0, 1, 1, 2])] = [b"new %d\n" % draw.randrange(50) for _ in range(draw.randrange(3))]
    return out


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the oracle")
def test_clean_merges_are_those_of_git(tmp_path: Path) -> None:
    draw = random.Random(7)
    clean = 0
    for _ in range(60):
        base = [b"line %d\n" % draw.randrange(40) for _ in range(draw.randrange(5, 30))]
        mine, theirs = _edited(base, draw), _edited(base, draw)
        for name, lines in (("base", base), ("mine", mine), ("theirs", theirs)):
            (tmp_path / name).write_bytes(b"".join(lines))
        git = subprocess.run(
            ["git", "merge-file", "-p", "mine", "base", "theirs"], cwd=tmp_path, capture_output=True, check=False
        )
        merged = merge(of(b"".join(base)), of(b"".join(mine)), of(b"".join(theirs)))
        if git.returncode == 0 and not merged.conflicts:
            clean += 1
            assert merged.text.data == git.stdout
    assert clean > 20
