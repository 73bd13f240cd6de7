"""Carrying: splices go where their lines went, and say what is in their way."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from quire_journal.text.splice import Splice, apply
from quire_journal.text.text import Text
from quire_journal.text.transform import BlockedSplice, carry, changes, three_way

NEW = (b"new",)


def replace(start: int, stop: int, *lines: bytes) -> Splice:
    """Lines start..stop become `lines`."""
    return Splice(start, stop, lines)


def test_a_splice_moves_with_what_was_inserted_or_removed_before_it() -> None:
    assert carry([replace(5, 6, b"x")], [replace(0, 0, b"a", b"b")]).splices == (replace(7, 8, b"x"),)
    assert carry([replace(5, 6, b"x")], [replace(1, 3)]).splices == (replace(3, 4, b"x"),)
    assert carry([replace(5, 6, b"x")], [replace(6, 9)]).splices == (replace(5, 6, b"x"),)


def test_touching_is_not_a_conflict() -> None:
    for other in [replace(4, 5, b"y"), replace(6, 7, b"y"), replace(5, 5, b"y"), replace(6, 6, b"y")]:
        assert not carry([replace(5, 6, b"x")], [other]).blocked
    for other in [replace(4, 5, b"y"), replace(5, 6, b"y")]:
        assert not carry([replace(5, 5, b"x")], [other]).blocked


def test_lines_of_one_are_in_the_way_of_the_other() -> None:
    mine = replace(5, 8, b"x")
    for other in [replace(7, 9, b"y"), replace(6, 6, b"y"), replace(4, 6), replace(5, 8, b"y")]:
        assert [b.splice for b in carry([mine], [other]).blocked] == [mine]


def test_two_insertions_into_one_gap_leave_a_doubt() -> None:
    carried = carry([replace(5, 5, b"x")], [replace(0, 1), replace(5, 5, b"y", b"z")])
    assert carried.blocked == (BlockedSplice(replace(5, 5, b"x"), 4, 6),)


def test_the_very_same_change_is_met_not_blocked() -> None:
    carried = carry([replace(5, 6, b"x"), replace(8, 9, b"x")], [replace(5, 6, b"x")])
    assert (carried.met, carried.blocked) == ((replace(5, 6, b"x"),), ())
    assert carried.splices == (replace(8, 9, b"x"),)


def test_one_splice_can_block_several_and_the_rest_goes_on() -> None:
    carried = carry([replace(1, 2), replace(3, 4), replace(9, 10)], [replace(0, 5, *NEW)])
    assert len(carried.blocked) == 2
    assert carried.splices == (replace(5, 6),)


def text(said: str) -> Text:
    """A text of these words, each a line."""
    return Text.of("".join(f"{word}\n" for word in said.split()).encode())


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "made"),
    [
        ("b c x", "x b c", "b c X", "b c X"),  # their line is what was taken from there
        ("x b c", "b c x", "x b c their", "x b c their"),  # theirs is where it would come to
        ("b c x", "x b c", "b x c", "b x c"),  # they took it elsewhere
        ("b c x", "x b c", "b c", "b c"),  # they removed it
        ("b c x y", "x y b c", "b c x Y", "b c x Y"),
        ("b c x y d", "x Y b c d", "b c x their y d", "b c x their y d"),  # changed on its way
        ("b c x d e", "x b c d E", "b c X d e", "b c X d E"),  # what has nothing to do with it is done
        ("b c x", "x b c", "x b c x", "x b c"),  # they had brought it to where it goes
        ("} b c } x", "} } b c", "} b c } X", "} } b c } X"),  # of lines that are alike, none is known to have gone
    ],
)
def test_lines_that_go_from_one_place_to_another_do_both_or_stay(base: str, mine: str, theirs: str, made: str) -> None:
    merged, _ = three_way(text(base), text(mine), text(theirs))
    assert merged == text(made)


def test_a_file_property_changed_on_one_side_is_taken_from_that_side() -> None:
    base, mine, theirs = Text.of(b"a\nb\n"), Text.of(b"\xef\xbb\xbfa\nb"), Text.of(b"A\nb\n")
    assert three_way(base, mine, theirs)[0].data == b"\xef\xbb\xbfA\nb"
    assert three_way(base, theirs, mine)[0].data == b"\xef\xbb\xbfA\nb"


some_text = st.lists(
    st.tuples(st.sampled_from([b"a", b"b", b"c", b""]), st.sampled_from([b"\n", b"\r\n"])), max_size=8
).map(lambda rows: Text.of(b"".join(line + ending for line, ending in rows)))


@given(some_text, some_text)
def test_changes_make_the_one_of_the_other(a: Text, b: Text) -> None:
    assert apply(a, changes(a, b)).data == b.data


@given(some_text, some_text)
def test_a_side_that_did_nothing_leaves_the_other_as_it_is(a: Text, b: Text) -> None:
    assert three_way(a, a, b)[0].data == b.data
    assert three_way(a, b, a)[0].data == b.data
    assert three_way(a, b, b)[0].data == b.data


@given(some_text, some_text, some_text)
def test_a_merge_without_conflict_is_the_same_from_both_sides(base: Text, mine: Text, theirs: Text) -> None:
    one, carried = three_way(base, mine, theirs)
    if not carried.blocked and not carried.met:
        assert three_way(base, theirs, mine)[0].data == one.data


letters = st.lists(st.sampled_from([*"abcdefghij"]), unique=True, max_size=8).map(" ".join)


@given(letters, letters, letters)
def test_no_line_comes_to_stand_twice_and_none_that_both_have_goes(base: str, mine: str, theirs: str) -> None:
    lines = three_way(text(base), text(mine), text(theirs))[0].lines
    assert {*lines} >= {*text(mine).lines} & {*text(theirs).lines} & {*text(base).lines}
    assert {line for line in lines if lines.count(line) > 1} <= {*text(theirs).lines} - {*text(base).lines}


class Counted(bytes):
    """A line that counts how often anything is looked up by it."""

    hashed = 0

    def __hash__(self) -> int:
        Counted.hashed += 1
        return super().__hash__()


def test_a_blocked_move_of_many_lines_hashes_each_line_a_few_times() -> None:
    """Each was looked up together with all others that were moved: 20,000 lines took seconds."""
    lines = tuple(Counted(b"%d" % n) for n in range(400))
    breaks = (b"\n",) * len(lines)
    base, mine = (Text(False, said, breaks) for said in (lines, lines[100:200] + lines[:100] + lines[200:]))
    theirs = Text(False, (*lines[:150], b"changed", *lines[151:]), breaks)
    Counted.hashed = 0
    assert three_way(base, mine, theirs)[1].blocked
    assert 0 < Counted.hashed < 20 * len(lines)
