"""Text of others on the screen: it is seen as it is, and acts on nothing."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len
from ui_samples import EVIL

from quire_client.ui.visible import code, fitted, visible, visible_in


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü 中", "plain ü 中"),
        ("\x1b[31m", "␛[31m"),
        ("a\nb\tc\r", "a␊b␉c␍"),
        ("\x7f\x9b", "␡<U+009B>"),
        ("\u202eabc\u2066", "<U+202E>abc<U+2066>"),
        ("zero\u200bwidth\ufeff\u2060", "zero<U+200B>width<U+FEFF><U+2060>"),
        ("half \udcff", "half <U+DCFF>"),
        ("filler \u3164", "filler <U+3164>"),
        ("tag \U000e0041", "tag <U+E0041>"),
    ],
)
def test_what_acts_on_a_terminal_or_is_not_seen_is_shown_as_a_sign(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_nothing_that_is_hidden_is_left(text: str) -> None:
    assert not {unicodedata.category(c) for c in visible(text)} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@given(st.text(max_size=30), st.integers(0, 40))
def test_fitted_text_has_exactly_that_many_columns(text: str, width: int) -> None:
    assert cell_len(fitted(visible(text), width)) == width


def test_tabs_of_a_line_are_blanks() -> None:
    assert code("\ta\tb") == "    a   b"


def test_a_reply_keeps_its_shape() -> None:
    assert visible_in({"a": [EVIL, 3, None], "b": {"c": "x\ny"}}) == {"a": [visible(EVIL), 3, None], "b": {"c": "x\ny"}}
