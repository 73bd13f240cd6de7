"""Safety: what was sound and is not now. No false alarm for brackets in strings, comments and prose."""

from __future__ import annotations

import pytest

from cases import every
from quire_daemon import safety
from quire_journal.diff import diff
from quire_journal.text import Text


def found(path: str, before: str, after: str) -> list[str]:
    """The kinds of suspicion about an edit."""
    a, b = Text.of(before.encode()), Text.of(after.encode())
    return [warning["type"] for warning in safety.check(path, a, b, diff(a, b))]


@every(
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


@every(
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


def test_a_new_line_that_repeats_its_neighbour_is_suspicious() -> None:
    assert found("a.py", "one()\ntwo()\n", "one()\none()\ntwo()\n") == ["duplicate_line"]


@every(
    ("before", "after"),
    [
        ("}\na\n", "}\n}\na\n"),
        ("\na\n", "\n\na\n"),
        ("x = 1\nx = 1\ny\n", "x = 1\nx = 1\nz\n"),
        ("x = 1\nx = 1\ny\n", "z\nx = 1\nx = 1\n"),
        ("a b\nc\n", "a b\nc\na b\n"),
    ],
)
def test_poor_lines_and_repetitions_that_were_there_are_not(before: str, after: str) -> None:
    assert "duplicate_line" not in found("a.c", before, after)


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
