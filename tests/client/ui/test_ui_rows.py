"""The place of the cursor: where keys lead, and that news does not move it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from quire_client.ui.rows import Place, Row, kept, moved, row


def rows(*keys: object) -> list[Row]:
    return [row(str(key), key=key) for key in keys]


def test_the_cursor_skips_rows_that_cannot_be_chosen() -> None:
    page = [row("title"), row("a", key="a"), row(), row("b", key="b")]
    assert moved(page, Place(), 0, 10) == Place(1, 0)
    assert moved(page, Place(1, 0), 1, 10) == Place(3, 0)
    assert moved(page, Place(3, 0), -1, 10) == Place(1, 0)


def test_what_stands_above_and_below_the_last_choice_can_be_read() -> None:
    page = [row("title"), row("a", key="a"), *[row("text")] * 20]
    place = moved(page, Place(1, 0), 1, 5)
    assert place == Place(1, 1)
    assert moved(page, place, -1, 5) == Place(1, 0)


def test_new_rows_at_the_top_push_the_chosen_one_down_while_there_is_room() -> None:
    assert kept(rows("b", "c"), Place(1, 0), rows("a", "b", "c"), 5) == Place(2, 0)


def test_scrolled_away_the_chosen_row_stays_in_its_line() -> None:
    old, new = rows(*range(10, 40)), rows(*range(40))
    place = kept(old, Place(15, 12), new, 10)
    assert place == Place(25, 22)


def test_a_row_that_is_gone_leaves_the_choice_to_the_one_below_it() -> None:
    assert kept(rows("a", "b", "c"), Place(1, 0), rows("a", "c"), 5) == Place(1, 0)
    assert kept(rows("a", "b"), Place(1, 0), rows("a"), 5) == Place(0, 0)
    assert kept(rows("a"), Place(0, 0), [], 5) == Place()


@given(
    st.lists(st.booleans(), max_size=40),
    st.lists(st.tuples(st.integers(-30, 30), st.integers(1, 20)), max_size=20),
)
def test_whatever_is_typed_the_cursor_is_on_a_row(keys: list[bool], moves: list[tuple[int, int]]) -> None:
    page = [row("x", key=at if chosen else None) for at, chosen in enumerate(keys)]
    place = moved(page, Place(), 0, 10)
    for steps, height in moves:
        place = moved(page, place, steps, height)
        assert 0 <= place.top <= max(len(page) - 1, 0)
        assert 0 <= place.at <= max(len(page) - 1, 0)
        assert not any(keys) or keys[place.at]


@pytest.mark.parametrize("height", [1, 3, 12])
def test_a_cursor_that_moved_is_in_sight(height: int) -> None:
    page, place = rows(*range(50)), Place()
    for steps in (7, 30, -2, 50, -50):
        place = moved(page, place, steps, height)
        assert place.top <= place.at < place.top + height
