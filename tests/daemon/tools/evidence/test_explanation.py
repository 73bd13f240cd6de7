"""Which of the calls under way made what was found, together and beside what others did."""

from __future__ import annotations

import itertools

import pytest
from announcing import call, content, edit, explained, patch, replacing, steps

from quire_daemon.tools.evidence.accounts import CallAccounts

OLD = "one\ntwo\nthree\nfour\nfive\n"


def changing(old: str, new: str, number: int, owner: str = "") -> CallAccounts:
    return call(number, replacing(edit(old, new)), owner=owner)


TWO, FOUR, FIVE = (call(n, replacing(edit(old, old.upper()))) for n, old in enumerate(("two", "four", "five"), 1))


def test_one_call_that_comes_to_what_was_found_is_proved() -> None:
    found = explained(OLD, OLD.replace("four", "FOUR"), TWO, FOUR, FIVE)
    assert (found.proved, steps(found)) == (True, [(OLD.replace("four", "FOUR"), 2)])


@pytest.mark.parametrize("order", list(itertools.permutations([TWO, FOUR, FIVE])))
def test_several_calls_are_proved_in_whatever_order_they_were_announced(order: tuple[CallAccounts, ...]) -> None:
    after = OLD.replace("two", "TWO").replace("four", "FOUR").replace("five", "FIVE")
    found = explained(OLD, after, *order)
    assert found.proved
    assert {number for _, number in steps(found)} == {1, 2, 3}
    assert steps(found)[-1][0] == after


def test_calls_that_build_on_each_other_are_proved_in_the_one_order_that_fits() -> None:
    last, first = changing("TWO", "2", 1), changing("two", "TWO", 2)
    found = explained(OLD, OLD.replace("two", "2"), last, first)
    assert (found.proved, [number for _, number in steps(found)]) == (True, [2, 1])


def test_a_whole_content_and_an_edit_of_it_are_proved() -> None:
    found = explained(None, "a\nB\n", call(1, content("a\nb\n")), changing("b", "B", 2))
    assert (found.proved, steps(found)) == (True, [("a\nb\n", 1), ("a\nB\n", 2)])


def test_no_more_calls_are_taken_than_it_needs() -> None:
    """A content that holds what another call would have made needs no other call."""
    found = explained(
        OLD, OLD.replace("two", "TWO") + "six\n", TWO, call(4, content(OLD.replace("two", "TWO") + "six\n"))
    )
    assert [number for _, number in steps(found)] == [4]


def test_agents_whose_calls_come_to_the_same_are_rivals() -> None:
    found = explained(OLD, OLD.replace("two", "TWO"), TWO, changing("two", "TWO", 7))
    assert (found.proved, found.steps, found.rivals) == (False, (), (1, 7))


def test_the_same_call_twice_of_one_session_is_that_sessions() -> None:
    found = explained(
        OLD, OLD.replace("two", "TWO"), changing("two", "TWO", 1, "ann"), changing("two", "TWO", 2, "ann")
    )
    assert (found.proved, [number for _, number in steps(found)]) == (True, [1])


def test_a_call_that_changes_nothing_explains_nothing() -> None:
    assert explained(OLD, OLD + "x\n", call(1, content(OLD)), call(2, replacing(edit("two", "two")))).steps == ()


# ── what was changed beside ──────────────────────────────────────────────────


def test_a_call_whose_lines_stand_is_a_step_and_the_rest_is_nobodys() -> None:
    after = OLD.replace("two", "TWO") + "a person's\n"
    found = explained(OLD, after, TWO)
    assert (found.proved, steps(found)) == (False, [(OLD.replace("two", "TWO"), 1), (after, 0)])


def test_several_calls_are_steps_beside_what_nobody_announced() -> None:
    after = OLD.replace("two", "TWO").replace("five", "FIVE") + "a person's\n"
    found = explained(OLD, after, TWO, FOUR, FIVE)
    assert (found.proved, [number for _, number in steps(found)]) == (False, [1, 3, 0])


@pytest.mark.parametrize(
    "formatted",
    ["x = f(1, 2)\n", "x=f(\n    1,\n    2,\n)\n", "x = f( 1,2 )\n"],
    ids=["blanks", "lines broken", "other blanks"],
)
def test_lines_that_a_formatter_set_anew_stand(formatted: str) -> None:
    found = explained("a\n", f"a\n{formatted}", call(1, content("a\nx=f(1,2)\n")))
    assert steps(found) == [("a\nx=f(1,2)\n", 1), (f"a\n{formatted}", 0)]


def test_lines_of_which_one_is_nowhere_are_no_step() -> None:
    """It would be in a version of the file that never was."""
    assert explained(OLD, OLD + "six\neight\n", call(1, content(OLD + "six\nseven\n"))).steps == ()


def test_a_call_that_has_not_been_made_is_no_step() -> None:
    assert explained(OLD, OLD + "a person's\n", TWO).steps == ()
    assert explained(OLD, OLD.replace("two\n", ""), TWO).steps == ()


def test_lines_that_a_call_removes_are_gone_where_it_was_made() -> None:
    """Its own line may have been typed by another one. A content takes away what is not in it."""
    said = call(1, content("one\nTWO\n"))
    assert explained(OLD, OLD.replace("two", "TWO") + "a person's\n", said).steps == ()
    assert [number for _, number in steps(explained(OLD, "one\nTWO\na person's\n", said))] == [1, 0]


def test_a_removal_stands_where_its_lines_went() -> None:
    removing = changing("two\n", "", 1)
    after = OLD.replace("two\n", "") + "a person's\n"
    assert steps(explained(OLD, after, removing)) == [(OLD.replace("two\n", ""), 1), (after, 0)]
    assert explained(OLD, OLD + "a person's\n", removing).steps == ()


def test_nothing_is_a_step_in_a_binary_file_or_towards_none() -> None:
    assert explained(b"\0\n", b"\0\nTWO\nmore\n", call(1, content("TWO\n"))).steps == ()
    assert explained(OLD, None, TWO).steps == ()


def test_a_dozen_calls_beside_each_other_are_steps() -> None:
    lines = [f"line {number}\n" for number in range(12)]
    calls = [changing(f"line {n}\n", f"LINE {n}\n", n + 1) for n in range(12)]
    found = explained("".join(lines), "".join(lines).upper(), *calls)
    assert sorted(number for _, number in steps(found)) == list(range(1, 13))


def test_a_patch_and_an_edit_of_another_agent_in_one_file_are_proved() -> None:
    patching = call(1, patch("*** Update File: src/a.py", "@@", "-five", "+FIVE"))
    found = explained(OLD, OLD.replace("two", "TWO").replace("five", "FIVE"), patching, changing("two", "TWO", 2))
    assert found.proved
    assert {number for _, number in steps(found)} == {1, 2}
