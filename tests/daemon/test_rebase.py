"""Rebase: a plan is carried only over changes that leave its lines and their neighbours alone."""

from __future__ import annotations

import pytest

from quire_daemon.rebase import Conflict, carried, relation, touched
from quire_journal.splice import Splice

MINE = Splice(4, 6, (b"x",))


@pytest.mark.parametrize(
    ("theirs", "moved"),
    [
        (Splice(0, 0, (b"n",)), 1),  # inserted far above
        (Splice(3, 3, (b"n",)), 1),  # inserted above the neighbour
        (Splice(0, 3), -3),  # removed up to the neighbour
        (Splice(7, 7, (b"n",)), 0),  # inserted below the neighbour
        (Splice(7, 9, ()), 0),
        (Splice(4, 4, (b"n",)), None),  # between the neighbour and the lines
        (Splice(6, 6, (b"n",)), None),
        (Splice(5, 5, (b"n",)), None),
        (Splice(3, 4, (b"n",)), None),  # the neighbour itself
        (Splice(6, 7, (b"n",)), None),
        (Splice(5, 6, (b"n",)), None),
    ],
)
def test_lines_and_neighbours_must_be_what_they_were(theirs: Splice, moved: int | None) -> None:
    result = carried([MINE], [[theirs]])
    if moved is None:
        assert isinstance(result, Conflict)
        assert (result.mine, result.theirs) == (MINE, theirs)
    else:
        assert result == (Splice(4 + moved, 6 + moved, (b"x",)),)


@pytest.mark.parametrize(("gap", "carries"), [(3, True), (4, False), (5, True)])
def test_an_insertion_needs_both_lines_beside_its_gap(gap: int, carries: bool) -> None:
    assert isinstance(carried([Splice(4, 4, (b"x",))], [[Splice(gap, gap, (b"n",))]]), tuple) is carries


@pytest.mark.parametrize(
    ("theirs", "moved"),
    [
        (Splice(3, 4, (b"n", b"m")), 1),
        (Splice(4, 4, (b"n",)), 1),
        (Splice(6, 6, (b"n",)), 0),
        (Splice(5, 6), None),
    ],
)
def test_ones_own_changes_beside_do_not_matter(theirs: Splice, moved: int | None) -> None:
    result = carried([MINE], [[theirs]], beside=0)
    assert isinstance(result, Conflict) if moved is None else result == (Splice(4 + moved, 6 + moved, (b"x",)),)


def test_each_splice_has_its_own_offset_and_every_step_counts() -> None:
    plan = [Splice(1, 2, (b"x",)), Splice(8, 9, (b"y",))]
    steps = [[Splice(4, 5, (b"a", b"b", b"c"))], [Splice(6, 6, (b"d",))]]
    assert carried(plan, steps) == (Splice(1, 2, (b"x",)), Splice(11, 12, (b"y",)))
    conflict = carried(plan, [*steps, [Splice(11, 12, (b"z",))]])
    assert isinstance(conflict, Conflict)
    assert (conflict.index, conflict.step) == (1, 2)


def test_a_plan_depends_on_what_it_replaces_and_on_both_sides_of_a_gap() -> None:
    plan = [Splice(0, 0, (b"x",)), Splice(2, 4), Splice(9, 9, (b"y",))]
    assert touched(plan, 9) == [(0, 1), (2, 4), (8, 9)]


@pytest.mark.parametrize(
    ("theirs", "word"),
    [
        (Splice(0, 1), "none"),
        (Splice(2, 3), "touching"),
        (Splice(3, 3, (b"n",)), "touching"),
        (Splice(4, 4, (b"n",)), "conflicting"),
        (Splice(4, 9), "conflicting"),
    ],
)
def test_what_a_change_means_for_lines_has_three_words(theirs: Splice, word: str) -> None:
    assert relation([theirs], [(3, 5)]) == word
