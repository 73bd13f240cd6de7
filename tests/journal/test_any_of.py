"""One expression for many texts: it finds what each of them alone would, the longest where several begin."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from quire_journal.any_of import DEEPEST, any_of

TEXTS = st.lists(st.text("ab.\n", min_size=1, max_size=6).map(str.encode), min_size=1, max_size=12)


@given(TEXTS, st.text("ab.\n", max_size=60).map(str.encode))
def test_it_finds_what_trying_each_text_at_each_place_finds(texts: list[bytes], data: bytes) -> None:
    plain = b"|".join(re.escape(text) for text in sorted(set(texts), key=len, reverse=True))
    assert re.findall(any_of(texts), data) == re.findall(plain, data)


def test_texts_of_which_each_begins_the_next_are_found_as_long_as_they_are() -> None:
    """However many: an expression that is nested too deeply cannot be compiled."""
    texts = [b"x" * n for n in range(1, 20 * DEEPEST)]
    assert re.findall(any_of(texts), b"-".join(texts)) == texts


def test_beginnings_that_texts_share_stand_there_once() -> None:
    assert any_of([b"password = one", b"password = two", b"password"]) == rb"password(?:\ =\ (?:one|two))?"
