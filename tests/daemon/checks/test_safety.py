"""Safety: what was sound and is not now. No false alarm for brackets in strings, comments and prose."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from quire_daemon.checks import safety
from quire_journal.text.line_diff import diff
from quire_journal.text.splice import Splice, apply
from quire_journal.text.text import Text


def found(path: str, before: str, after: str) -> list[str]:
    """The kinds of suspicion about an edit."""
    a, b = Text.of(before.encode()), Text.of(after.encode())
    return [warning["type"] for warning in safety.check(path, a, b, diff(a, b))]


def repeated(before: str, *splices: Splice) -> list[safety.Suspicion]:
    """What is said of repeated lines when a text becomes another one by these splices."""
    text = Text.of(before.encode())
    return [w for w in safety.check("a.c", text, apply(text, splices), splices) if is_repeated(w)]


def is_repeated(warning: safety.Suspicion) -> bool:
    return bool(warning["type"] == "duplicate_line")


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", "f(1)\n", "f((1)\n"),
        ("a.py", "x = [1]\n", "x = [1}\n"),
        ("a.py", '"""a"""\nf(1)\n', '"""a\nf(1)\n'),
        ("a.ts", "if (a) {\n}\n", "if (a) {\n"),
        ("a.ts", "const s = `${f({a: 1})}`;\n", "const s = `${f({a: 1}`;\n"),
        ("a.c", "/* a */ int x;\n", "/* a int x;\n"),
        ("a.css", "p { }\n", "p { } }\n"),
        ("a.go", "func f() {\n}\n", "func f() {\n}}\n"),
        ("f.txt", "a {\n  b\n}\n", "a {\nif (x) { while (y) {\n}\n"),
        ("Makefile", "a: ${B}\n", "a: ${B\n"),
    ],
)
def test_brackets_that_do_not_match_any_more_are_suspicious(path: str, before: str, after: str) -> None:
    assert found(path, before, after) == ["unbalanced"]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.py", 's = "}}}"'),
        ("a.py", "s = b'{' + r\"\\\"(\" + f'['  # ("),
        ("a.py", 's = """ ( " \' """'),
        ("a.ts", "if (/[({\"]/.test(s)) { s = '}' } // {"),
        ("a.tsx", "<p>Don't {x}</p>"),
        ("a.tsx", "<A b={x} /> {y && <B c={z} />}"),
        ("a.ts", "s = `a ${b({c: `d ${e} }`})} }`"),
        ("a.ts", "x = a / b / c"),
        ("a.rs", "fn f<'a>(x: &'a [&'a str]) -> char { '{' }"),
        ("a.c", "char c = '\\'', d = '{'; /* { */"),
        ("a.go", "s := `{`"),
        ("a.json", '{"a": "it\'s }"}'),
        ("a.toml", "a = '''\n{'''"),
        ("f.txt", "don't { it's }"),
        ("f.txt", "( is not looked at here, nor is ]"),
        ("notes.md", "{{{"),
        ("rows.csv", "(,{"),
        ("out.log", "}"),
    ],
)
def test_brackets_in_strings_comments_and_prose_do_not_count(path: str, line: str) -> None:
    assert found(path, "first\n", f"first\n{line}\n") == []


def test_a_file_that_was_broken_before_is_not_held_against_the_edit() -> None:
    assert found("a.py", "f(\nx\n", "f((\nx\n") == []


def test_the_line_of_the_fault_is_told() -> None:
    a, b = Text.of(b"f(1)\ng(1)\n"), Text.of(b"f(1)\ng(1))\n")
    assert safety.check("a.py", a, b, diff(a, b)) == [
        {"type": "unbalanced", "message": "`)` closes nothing (line 2).", "line": 2}
    ]


def test_an_edit_inside_a_long_string_is_judged_on_the_whole_file() -> None:
    assert found("a.py", '"""\na\n"""\n', '"""\na ( b\n"""\n') == []


def test_a_changed_quote_can_unbalance_what_follows() -> None:
    assert found("a.py", 'a = "x"\nb = (1)\n', 'a = """x"\nb = (1)\n') == ["unbalanced"]


@pytest.mark.parametrize(
    ("splice", "line"),
    [
        (Splice(1, 1, (b"one()",)), 2),  # below its like
        (Splice(0, 0, (b"one()",)), 1),  # above its like
        (Splice(1, 2, (b"new()", b"three()")), 3),  # the last of a text that ends a line too late
        (Splice(1, 2, (b"one()", b"new()")), 2),  # the first of one that begins a line too early
        (Splice(1, 1, (b"one()", b"one()")), 2),
        (Splice(0, 2, (b"three()",)), 1),
    ],
)
def test_a_new_text_that_repeats_the_untouched_line_beside_it_is_suspicious(splice: Splice, line: int) -> None:
    assert [w["line"] for w in repeated("one()\ntwo()\nthree()\n", splice)] == [line]


@pytest.mark.parametrize(
    ("before", "splices"),
    [
        ("}\na 1\n", [Splice(1, 1, (b"}",))]),  # poor
        ("\na 1\n", [Splice(0, 0, (b"",))]),
        ("x 1\nx 1\ny 1\n", [Splice(0, 1, (b"x 1",))]),  # that was so before
        ("x 1\nx 1\ny 1\n", [Splice(1, 2, (b"x 1", b"z 1"))]),
        ("x 1\nx 1\ny 1\n", [Splice(0, 1, (b"z 1", b"x 1"))]),
        ("a 1\nb 1\n", [Splice(1, 1, (b"x 1", b"x 1"))]),  # the new text repeats itself
        ("a 1\nb 1\nc 1\n", [Splice(1, 2, (b"x 1", b"y 1", b"y 1"))]),
        ("a 1\nb 1\nc 1\n", [Splice(0, 1, (b"x 1",)), Splice(1, 2, (b"x 1",))]),  # each of two new ones
        ("a 1\nb 1\nc 1\n", [Splice(1, 1, (b"x 1",)), Splice(1, 1, (b"x 1",))]),
        ("a 1\nb 1\nc 1\n", [Splice(1, 2, (b"b 1", b"b 1"))]),  # of a line that is named, not untouched
        ("a 1\nb 1\nb 1\n", [Splice(0, 1)]),  # nothing is new
        ("a 1\nb 1\na 1\n", [Splice(1, 2)]),
    ],
)
def test_what_is_repeated_on_purpose_or_was_repeated_before_is_not(before: str, splices: list[Splice]) -> None:
    assert repeated(before, *splices) == []


LINES = st.sampled_from([b"a 1", b"b 1", b"c 1", b"}"])


@given(st.lists(LINES, max_size=6), st.data())
def test_a_repetition_is_told_by_the_lines_beside_each_new_text_alone(lines: list[bytes], data: st.DataObject) -> None:
    at = sorted(data.draw(st.lists(st.integers(0, len(lines)), max_size=4)))
    ends = [(a, b) for a, b in zip(at[::2], at[1::2], strict=False)]
    splices = [Splice(a, b, tuple(data.draw(st.lists(LINES, max_size=3)))) for a, b in ends]
    before = Text.of(b"".join(line + b"\n" for line in lines))

    # Each line of the result with where it comes from; None for a new one.
    made: list[tuple[bytes, int | None]] = []
    at_line = 0
    for s in splices:
        made += [(lines[n], n) for n in range(at_line, s.start)] + [(line, None) for line in s.lines]
        at_line = s.stop
    made += [(lines[n], n) for n in range(at_line, len(lines))]
    wanted = set()
    for i, ((one, was), (two, is_now)) in enumerate(pairwise(made)):
        if one != two or one == b"}" or (was is None) == (is_now is None):
            continue
        beside = was + 1 if was is not None else is_now - 1 if is_now is not None else -1
        replaced = any(s.start <= beside < s.stop for s in splices)
        if not (replaced and lines[beside] == one):
            wanted.add(i + 1 if was is None else i + 2)
    told = {w["line"] for w in safety.check("a.c", before, apply(before, splices), splices) if is_repeated(w)}
    assert told <= wanted
    assert bool(told) == bool(wanted)


def test_repeated_rows_of_data_are_not_suspicious() -> None:
    assert found("a.csv", "1,2\n", "1,2\n1,2\n") == []


def test_a_file_over_the_limit_is_not_judged_by_its_brackets() -> None:
    body = "x\n" * (safety.JUDGED_BYTES // 2)
    assert found("a.py", body + "f(1)\n", body + "f((1)\n") == []


@pytest.mark.timeout(15)  # twice as much would take four times as long, if the time were quadratic
@pytest.mark.parametrize("piece", ["/*", '\\"', "\\'", "'", '"', "`", "(/[", "${", '"""', "(", "=/"])
def test_hostile_files_are_read_in_linear_time(piece: str) -> None:
    body = Text.of((piece * 20_000).encode())
    for path in ("a.ts", "a.py", "a.c", "f.txt"):
        safety.check(path, Text.of(b"\n"), body, diff(Text.of(b"\n"), body))
