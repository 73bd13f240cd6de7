"""One expression for many texts: it finds what each of them alone would, the longest where several begin."""

from __future__ import annotations

import re

from hypothesis import given, strategies as st

from quire_journal.maintenance.multi_search import DEEPEST, HEAD, AnyOf, any_of

TEXTS = st.lists(st.text("ab.\n", min_size=1, max_size=6).map(str.encode), min_size=1, max_size=12)


def naively(texts: list[bytes], data: bytes) -> bytes:
    """`data` with what stands there in brackets, each text tried at each place."""
    out, at = b"", 0
    while at < len(data):
        found = max((text for text in texts if data.startswith(text, at)), key=len, default=b"")
        out += b"<" + found + b">" if found else data[at : at + 1]
        at += len(found) or 1
    return out


LONG = st.lists(st.text("ab", min_size=1, max_size=3 * HEAD).map(str.encode), min_size=1, max_size=30)


@given(LONG | TEXTS, st.data())
def test_texts_are_found_as_if_each_were_tried_at_each_place(texts: list[bytes], draw: st.DataObject) -> None:
    """Also where one begins as another does and another stands there, and where they overlap."""
    parts = st.sampled_from([*texts, *(text[:-1] for text in texts), b"a", b"b", b"-"])
    data = b"".join(draw.draw(st.lists(parts, max_size=20)))
    some = AnyOf(texts)
    expected = naively(texts, data)
    assert some.replaced(data, lambda text: b"<" + text + b">") == expected
    assert some.stands_in(data) is (expected != data)


def test_searching_many_long_lines_takes_no_longer_than_their_beginnings() -> None:
    """What is compiled: whole lines of 400 kB took ten seconds and more."""
    lines = [b"%08x" % (n * 2654435761 % 2**32) + b"x" * 1000 for n in range(100)]
    assert len(AnyOf(lines)._heads.pattern) < 2000


@given(TEXTS, st.text("ab.\n", max_size=60).map(str.encode))
def test_it_finds_what_trying_each_text_at_each_place_finds(texts: list[bytes], data: bytes) -> None:
    plain = b"|".join(re.escape(text) for text in sorted(set(texts), key=len, reverse=True))
    assert re.findall(any_of(texts), data) == re.findall(plain, data)


def test_texts_of_which_each_begins_the_next_are_found_as_long_as_they_are() -> None:
    """However many: an expression that is nested too deeply cannot be compiled."""
    texts = [b"x" * n for n in range(1, 8 * DEEPEST)]
    assert re.findall(any_of(texts), b"-".join(texts)) == texts


def test_beginnings_that_texts_share_stand_there_once() -> None:
    assert any_of([b"password = one", b"password = two", b"password"]) == rb"password(?:\ =\ (?:one|two))?"
