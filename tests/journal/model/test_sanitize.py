"""Text that agents supply: capped, and without what cannot be seen."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st

from letters import letters
from quire_journal.model.sanitize import MOST_NAME, plain, plain_name

UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
nasty = st.text(letters() | st.sampled_from("\x00\x1b\n\t\u061c\u200e\u202e\u2066\u2069\ufeff\u2028\ud800 "))


def seen(text: str) -> bool:
    return not UNSEEN & {unicodedata.category(c) for c in text}


@given(nasty | st.just("\u202ea" * 1000), st.integers(1, 50))
def test_nothing_unseen_is_left_and_nothing_is_too_long(text: str, most: int) -> None:
    cleaned = plain(text, most)
    assert seen(cleaned)
    assert len(cleaned) <= most
    assert plain(cleaned, most) == cleaned


@pytest.mark.parametrize("text", ["x" * 1000, f"a{' ' * 1000}b", " " * 1000 + "b"])
def test_a_cut_is_marked_even_behind_white_space(text: str) -> None:
    assert plain(text, 10).endswith("…")
    assert plain(" \n".join("ab") + " " * 1000, 10) == "a b"


@given(nasty | st.just("x" * 1000))
def test_a_name_is_clean_and_short_and_stays_as_it_is_if_it_was(name: str) -> None:
    cleaned = plain_name(name)
    assert seen(cleaned)
    assert len(cleaned) <= MOST_NAME
    assert (cleaned == name) is (name.isprintable() and len(name) <= MOST_NAME)


@given(nasty, nasty)
def test_two_names_never_become_one(one: str, other: str) -> None:
    assert (plain_name(one) == plain_name(other)) is (one == other)
