"""Rebase: a plan is carried only over changes that leave its lines and their neighbours alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from quire_daemon.tools.edit.rebase import ByCaller, ByOthers, RebaseConflict, carried, touched
from quire_journal.text.line_diff import diff
from quire_journal.text.merge3 import merge
from quire_journal.text.splice import Splice, apply
from quire_journal.text.text import BOM, Text

LENGTH = 12
MINE = Splice(4, 6, (b"x",))


def text_of(length: int) -> Text:
    return Text.of(b"".join(b"line %d\n" % n for n in range(length)))


def over(
    plan: Sequence[Splice], *steps: Sequence[Splice], base: Text | None = None, alone: bool = False
) -> tuple[Splice, ...] | RebaseConflict:
    """The plan for that base, carried over the steps, each of which goes from the text before."""
    texts = [text_of(LENGTH) if base is None else base]
    for step in steps:
        texts.append(apply(texts[-1], step))
    return carried(plan, steps, texts, alone=alone)


def without_breaks(splices: Sequence[Splice] | RebaseConflict) -> tuple[Splice, ...]:
    assert not isinstance(splices, RebaseConflict), splices
    return tuple(replace(s, breaks=None) for s in splices)


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
    result = over([MINE], [theirs])
    if moved is None:
        assert isinstance(result, RebaseConflict)
        assert (result.mine, replace(result.theirs, breaks=None)) == (MINE, theirs)
    else:
        assert result == (Splice(4 + moved, 6 + moved, (b"x",)),)


@pytest.mark.parametrize(("gap", "carries"), [(3, True), (4, False), (5, True)])
def test_an_insertion_needs_both_lines_beside_its_gap(gap: int, carries: bool) -> None:
    assert isinstance(over([Splice(4, 4, (b"x",))], [Splice(gap, gap, (b"n",))]), tuple) is carries


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
    result = over([MINE], [theirs], alone=True)
    assert isinstance(result, RebaseConflict) if moved is None else result == (Splice(4 + moved, 6 + moved, (b"x",)),)


def test_each_splice_has_its_own_offset_and_every_step_counts() -> None:
    plan = [Splice(1, 2, (b"x",)), Splice(8, 9, (b"y",))]
    steps = [[Splice(4, 5, (b"a", b"b", b"c"))], [Splice(6, 6, (b"d",))]]
    assert over(plan, *steps) == (Splice(1, 2, (b"x",)), Splice(11, 12, (b"y",)))
    conflict = over(plan, ByCaller(steps[0]), steps[1], [Splice(11, 12, (b"z",))])
    assert isinstance(conflict, RebaseConflict)
    assert (conflict.index, conflict.base) == (1, apply(text_of(LENGTH), steps[0]))


def test_a_plan_depends_on_what_it_replaces_and_on_both_sides_of_a_gap() -> None:
    plan = [Splice(0, 0, (b"x",)), Splice(2, 4), Splice(9, 9, (b"y",))]
    assert touched(plan, 9) == [(0, 1), (2, 4), (8, 9)]


# ── what others made already ──


@pytest.mark.parametrize(
    ("mine", "stands"),
    [
        (Splice(4, 6, (b"x",)), Splice(5, 6, (b"x",))),  # replaced: the new line stands for itself from then on
        (Splice(4, 6), Splice(5, 5)),  # removed: what is left is the gap
        (Splice(4, 4, (b"x", b"y")), Splice(5, 7, (b"x", b"y"))),  # inserted once, not twice
    ],
)
def test_the_very_change_that_others_made_is_met(mine: Splice, stands: Splice) -> None:
    assert without_breaks(over([mine], ByOthers([Splice(0, 0, (b"n",)), mine]))) == (stands,)


def test_lines_that_others_moved_were_not_removed() -> None:
    mine, theirs = Splice(4, 6), Splice(4, 6)
    assert without_breaks(over([mine], ByOthers([theirs, Splice(9, 9, (b"x", b"line 5"))]))) == (Splice(4, 4),)
    both = (b"line 4", b"line 5")
    for step in ([theirs, Splice(9, 9, (b"x", *both))], [Splice(1, 2, (*both, b"x")), theirs]):
        assert isinstance(over([mine], ByOthers(step)), RebaseConflict)


def test_what_others_made_already_must_stay_what_it_is() -> None:
    made = Splice(4, 6, (b"x",))
    assert isinstance(over([made], ByOthers([made]), ByOthers([Splice(4, 5, (b"z",))])), RebaseConflict)
    assert isinstance(over([made], ByOthers([made]), ByOthers([Splice(5, 6, (b"z",))])), RebaseConflict)
    changed = over([made], ByOthers([made]), ByCaller([Splice(4, 5, (b"z",))]))
    assert isinstance(changed, RebaseConflict)
    assert without_breaks([changed.mine]) == (Splice(4, 5, (b"x",)),)
    elsewhere = over([made], ByOthers([made]), ByOthers([Splice(6, 7, (b"z",))]))
    assert without_breaks(elsewhere) == (Splice(4, 5, (b"x",)),)


@pytest.mark.parametrize(
    "theirs", [Splice(4, 6, (b"x", b"y")), Splice(4, 5, (b"x",)), Splice(4, 6, (b"x",), (b"\r\n",))]
)
def test_nearly_the_same_change_is_in_the_way(theirs: Splice) -> None:
    assert isinstance(over([Splice(4, 6, (b"x",), (b"\n",))], ByOthers([theirs])), RebaseConflict)


def test_ones_own_change_is_not_met_by_asking_for_it_again() -> None:
    twice = Splice(4, 4, (b"x",))
    assert isinstance(over([twice], [twice]), RebaseConflict)


def test_lines_that_a_splice_brings_again_as_they_were_are_not_changed_by_it() -> None:
    """A range that is replaced up to a good anchor, of which only a line in the middle becomes another."""
    around = Splice(2, 9, tuple(b"mine" if n == 5 else b"line %d" % n for n in range(2, 9)))
    theirs = Splice(2, 3, (b"theirs", b"too"))
    result = over([around], ByOthers([theirs]))
    assert not isinstance(result, RebaseConflict)
    assert apply(apply(text_of(LENGTH), [theirs]), result) == apply(text_of(LENGTH), [theirs, Splice(5, 6, (b"mine",))])
    assert isinstance(over([around], ByOthers([Splice(4, 5, (b"n",))])), RebaseConflict)


# ── lines that repeat ──

BLOCK = (b"}", b"", b"more {")
REPEATING = Text.of(b"a {\n}\n\nb {\n}\n\nc {\n}\n")


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (Splice(2, 2, (b"", b"more {", b"}")), Splice(1, 1, BLOCK)),  # one block, lined up in two ways
        (Splice(1, 1, BLOCK), Splice(3, 3, (b"more {", b"}", b""))),
        (Splice(3, 6), Splice(2, 5)),
    ],
)
def test_what_both_made_alike_is_met_however_it_is_lined_up(mine: Splice, theirs: Splice) -> None:
    result = over([mine], ByOthers([theirs]), base=REPEATING)
    assert not isinstance(result, RebaseConflict)
    now = apply(REPEATING, [theirs])
    assert apply(now, result) == now == apply(REPEATING, [mine])


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (Splice(1, 1, BLOCK), Splice(3, 4, (b"B {",))),  # as far down as it can lie it is beside
        (Splice(1, 1, BLOCK), Splice(3, 3, (b"other {", b"}", b""))),
    ],
)
def test_what_may_lie_beside_the_work_of_others_is_refused(mine: Splice, theirs: Splice) -> None:
    assert isinstance(over([mine], ByOthers([theirs]), base=REPEATING), RebaseConflict)


def test_what_is_added_lies_as_far_down_as_it_can() -> None:
    """Where the work of others is beside it only if it is thought to be further up."""
    theirs = Splice(1, 1, (b"x",))
    for mine in (Splice(3, 3, (b"more {", b"}", b"")), Splice(1, 1, BLOCK)):
        result = over([mine], ByOthers([theirs]), base=REPEATING)
        assert not isinstance(result, RebaseConflict)
        expected = b"a {\nx\n}\n\nmore {\n}\n\nb {\n}\n\nc {\n}\n"
        assert apply(apply(REPEATING, [theirs]), result).data == expected


def test_a_byte_order_mark_is_a_change_of_the_first_line() -> None:
    base = text_of(LENGTH)
    marked = Text.of(BOM + base.data)
    first = carried([Splice(0, 1, (b"x",))], [ByOthers()], [base, marked])
    assert isinstance(first, RebaseConflict)
    assert carried([MINE], [ByOthers()], [base, marked]) == (MINE,)


@pytest.mark.parametrize("final_break", [None, False, True])
def test_the_break_that_others_gave_the_last_line_stays_or_the_plan_is_refused(final_break: bool | None) -> None:
    """A plan that says what the last line ends with, as a patch does that names this line."""
    base, after = Text.of(b"a\nb\nc\nd"), Text.of(b"a\nb\nc\nd\ne\n")
    result = carried([Splice(0, 1, (b"A",))], [ByOthers(diff(base, after))], [base, after], final_break)
    if final_break is None:
        assert not isinstance(result, RebaseConflict)
        assert apply(after, result).data == b"A\nb\nc\nd\ne\n"
    else:
        assert isinstance(result, RebaseConflict)


def test_a_plan_for_the_last_break_alone_is_refused_where_others_changed_the_last_line() -> None:
    base, after = text_of(LENGTH), apply(text_of(LENGTH), [Splice(LENGTH - 1, LENGTH, (b"theirs",))])
    result = carried([], [ByOthers(diff(base, after))], [base, after], final_break=False)
    assert isinstance(result, RebaseConflict)
    assert (result.mine.start, result.mine.stop, result.theirs.lines) == (LENGTH - 1, LENGTH, (b"theirs",))


# ── properties ──


@st.composite
def plans(draw: st.DrawFn, length: int = LENGTH, new: str = "xyz") -> tuple[Splice, ...]:
    """Sorted splices with lines between them, of a text of that length."""
    cuts = sorted(draw(st.lists(st.integers(0, length), min_size=1, max_size=6)))
    made: list[Splice] = []
    for start, stop in zip(cuts[::2], cuts[1::2], strict=False):
        lines = draw(st.lists(st.sampled_from(new).map(str.encode), min_size=int(start == stop), max_size=2))
        if not made or made[-1].stop < start:
            made.append(Splice(start, stop, tuple(lines)))
    return tuple(made)


@given(plans(), plans())
def test_edits_that_are_carried_over_each_other_commute(one: tuple[Splice, ...], other: tuple[Splice, ...]) -> None:
    base = text_of(LENGTH)
    there, back = over(one, ByOthers(other)), over(other, ByOthers(one))
    assert isinstance(there, RebaseConflict) == isinstance(back, RebaseConflict)
    if not isinstance(there, RebaseConflict) and not isinstance(back, RebaseConflict):
        assert apply(apply(base, other), there).data == apply(apply(base, one), back).data


@given(plans(), plans(), st.sampled_from([None, False, True]), st.booleans(), st.booleans())
def test_what_is_carried_lands_as_the_merge_whatever_the_last_lines_end_with(
    plan: tuple[Splice, ...], step: tuple[Splice, ...], final_break: bool | None, ends: bool, theirs_ends: bool
) -> None:
    base = apply(text_of(LENGTH), (), ends)
    after = apply(base, step, theirs_ends)
    result = carried(plan, [ByOthers(diff(base, after))], [base, after], final_break)
    if not isinstance(result, RebaseConflict):
        assert apply(after, result, final_break).data == merge(base, apply(base, plan, final_break), after).text.data


@given(plans(), st.data())
def test_what_is_carried_equals_replaying_line_by_line(plan: tuple[Splice, ...], data: st.DataObject) -> None:
    texts, steps = [text_of(LENGTH)], []
    for number in range(data.draw(st.integers(1, 3))):
        step = data.draw(plans(len(texts[-1]), new="abcdef"[2 * number : 2 * number + 2]))
        steps.append(step)
        texts.append(apply(texts[-1], step))
    result = carried(plan, steps, texts)
    expected = replayed(plan, steps)
    if expected is None:
        assert isinstance(result, RebaseConflict)
    else:
        assert not isinstance(result, RebaseConflict)
        assert list(apply(texts[-1], result).lines) == expected


def replayed(plan: Sequence[Splice], steps: Sequence[Sequence[Splice]]) -> list[bytes] | None:
    """The naive model: lines are things with an identity, and a splice goes where its own still stand together.

    The beginning and the end of the file are such lines, too. None when some of them do not.
    """
    base: list[object] = [object() for _ in range(LENGTH + 2)]
    content = dict(zip(base, [b"", *text_of(LENGTH).lines, b""], strict=True))
    now = list(base)
    for step in steps:
        for s in reversed(step):
            now[s.start + 1 : s.stop + 1] = _fresh(s, content)
    for s in plan:
        needed = base[s.start : s.stop + 2]  # with the neighbours
        at = now.index(needed[0]) if needed[0] in now else len(now)
        if now[at : at + len(needed)] != needed:
            return None
    for s in plan:
        before = now.index(base[s.start])
        now[before + 1 : before + 1 + s.stop - s.start] = _fresh(s, content)
    return [content[line] for line in now[1:-1]]


def _fresh(s: Splice, content: dict[object, bytes]) -> list[object]:
    made: list[object] = [object() for _ in s.lines]
    content.update(zip(made, s.lines, strict=True))
    return made


def test_what_the_caller_did_itself_may_stand_right_beside() -> None:
    mine, own = Splice(3, 4, (b"new",)), Splice(2, 3, (b"mine", b"too"))
    assert over([mine], ByCaller([own])) == (Splice(4, 5, (b"new",)),)
    assert isinstance(over([mine], (own,)), RebaseConflict)
    assert isinstance(over([mine], ByCaller([Splice(3, 4, own.lines)])), RebaseConflict)
