"""What is said of a text that is not in the file."""

from __future__ import annotations

import pytest

from quire_daemon.dialects.text.suggest import nearest, why_not
from quire_journal.text.text import Text


def test_a_text_that_differs_in_blanks_is_shown_where_it_is() -> None:
    near = nearest(Text.of(b"if x:\n    foo()\n\n    bar()\n"), "foo()\nbar()")
    assert near is not None
    assert (near["line"], near["end_line"], near["differs"]) == (2, 4, "whitespace")


@pytest.mark.parametrize(
    ("line", "old", "there", "missing"),
    [
        ("say \u201chello\u201d", 'say "hello"', ["U+201C", "U+201D"], []),
        ('say "it\'s"', "say \u201cit\u2019s\u201d", [], ["U+2019", "U+201C", "U+201D"]),
        ("a \u2013 b\u2011c", "a - b-c", ["U+2011", "U+2013"], []),
        ("a\u00a0b", "a b", ["U+00A0"], []),
        ("fo\u200bo()", "foo()", ["U+200B"], []),
        ("caf\u0065\u0301", "caf\u00e9", ["U+0301"], ["U+00E9"]),
    ],
)
def test_characters_that_look_the_same_are_told_by_their_codes(
    line: str, old: str, there: list[str], missing: list[str]
) -> None:
    near = nearest(Text.of(f"one\n  {line}\n".encode()), old)
    told = {"differs": "look_alike", "with": there, "without": missing}
    assert near == {"line": 2, "end_line": 2, "text": f"  {line}", **told}
    said = why_not(old, near)
    assert all(code in said for code in there + missing)


@pytest.mark.parametrize(
    ("line", "old"),
    [
        ("x = 1\ny = 2", "x = 1\\ny = 2"),  # a break that is written out, as in the source of a string
        ('say("hi\\n")', 'say("hi\n")'),  # and one that is not
        ('say("hi")', 'say(\\"hi\\")'),
        ("if (a && b < c)", "if (a &amp;&amp; b &lt; c)"),
        ("&lt;br&gt;", "<br>"),
    ],
)
def test_what_is_escaped_once_too_often_or_too_little_is_told_so(line: str, old: str) -> None:
    near = nearest(Text.of(f"one\n  {line}\ntwo\n".encode()), old)
    assert near is not None
    assert (near["line"], near["text"].strip(), near["differs"]) == (2, line, "escapes")
    assert "escapes only" in why_not(old, near)


@pytest.mark.parametrize(
    "old",
    [
        "     2\tx = 1\n     3\ty = 2\n",
        "2#abcd|x = 1\n3#1234|y = 2",
        "2#abcdef [high]|x = 1\n3#123456 [low]|y = 2",
        "2: x = 1\n3: y = 2",
    ],
)
def test_what_was_copied_with_the_numbers_of_a_read_is_told_so(old: str) -> None:
    text = Text.of(b"one\n  x = 1\n  y = 2\ntwo\n")
    near = nearest(text, old)
    assert near == {"line": 2, "end_line": 3, "text": "  x = 1\n  y = 2", "differs": "prefixed"}
    assert "without what reads put before a line" in why_not(old, near)


def test_the_line_that_is_most_similar_is_shown() -> None:
    near = nearest(Text.of(b"import os\nconst PORT = 3001;\nx\n"), "const PORT = 3000;")
    assert near == {"line": 2, "end_line": 2, "text": "const PORT = 3001;", "differs": "similar"}


def test_nothing_is_shown_where_nothing_is_like_it() -> None:
    assert nearest(Text.of(b"import os\n"), "qqqq zzzz") is None
    assert nearest(Text.of(b""), "x") is None
    assert nearest(Text.of(b"x\n"), "  \n") is None


def test_a_long_file_is_looked_through_by_its_rarest_evidence_only() -> None:
    rows = [b"filler line"] * 30_000
    rows[25_000] = b"def handle_request(self, req):"
    near = nearest(Text.of(b"\n".join(rows)), "def handle_request(self, request):")
    assert near is not None
    assert near["line"] == 25_001
