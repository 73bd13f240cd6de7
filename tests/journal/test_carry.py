"""Carrying: splices go where their lines went, and say what is in their way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from quire_journal.carry import Blocked, carry, changes, three_way
from quire_journal.splice import Splice, apply
from quire_journal.text import Text

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
    assert carried.blocked == (Blocked(replace(5, 5, b"x"), 4, 6),)


def test_the_very_same_change_is_met_not_blocked() -> None:
    carried = carry([replace(5, 6, b"x"), replace(8, 9, b"x")], [replace(5, 6, b"x")])
    assert (carried.met, carried.blocked) == (1, ())
    assert carried.splices == (replace(8, 9, b"x"),)


def test_one_splice_can_block_several_and_the_rest_goes_on() -> None:
    carried = carry([replace(1, 2), replace(3, 4), replace(9, 10)], [replace(0, 5, *NEW)])
    assert len(carried.blocked) == 2
    assert carried.splices == (replace(5, 6),)


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
