"""Syntax: an edit may not break what parsed, whatever the language; and the parser may not harm the daemon."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from memory_daemon import MemoryDaemon
from quire_daemon.checks import safety, syntax_worker
from quire_daemon.checks.syntax import JUDGED_BYTES, LANGUAGES, LEFT_ALONE_S, SyntaxChecker
from quire_daemon.checks.syntax_worker import Trees
from quire_daemon.config.settings import Safety, Settings
from quire_journal.text.line_diff import diff
from quire_journal.text.line_hash import hash8
from quire_journal.text.text import Text

CALM = 30.0  # seconds of patience, where a test is not about patience


@pytest.fixture(scope="module")
def grammars() -> Iterator[SyntaxChecker]:
    """One parser process for this module."""
    grammars = SyntaxChecker(patience_s=CALM, start_s=CALM)
    yield grammars
    grammars.close()


def need(path: str) -> None:
    """Skip where the wheel is not installed: there the daemon goes by brackets."""
    package = "tree_sitter_" + LANGUAGES[path[path.rindex(".") :]].partition(".")[0]
    if find_spec("tree_sitter") is None or find_spec(package) is None:
        pytest.skip(f"{package} is not installed (extra `syntax`); there may be no wheel for this Python")


def warnings(grammars: SyntaxChecker, path: str, before: str | bytes, after: str | bytes) -> list[dict[str, Any]]:
    """What is suspicious about an edit."""
    a, b = (Text.of(text.encode() if isinstance(text, str) else text) for text in (before, after))
    return safety.check(path, a, b, diff(a, b), grammars(path, a, b))


SOUND = {
    "a.py": ("def f(x):\n    return f'{x:{w}}'\n", "    return f'{x:{w}}'", "    return {'a}': x, **y}['}']"),
    "a.pyi": ("class A:\n    x: int\n", "    x: int", "    def f(self) -> int: ..."),
    "a.js": ("const a = 1;\nf(a);\n", "f(a);", "if (/[({\"`']/.test(a)) { f(`${`}`}`) }"),
    "a.jsx": ("const a = 1;\nf(a);\n", "f(a);", "const b = <p>Don't {a} {/* } */}</p>;"),
    "a.ts": ("let a = 1;\nf(a);\n", "f(a);", "const g = <T,>(x: T): x is T => /[{]/.test(`${x}`);"),
    "a.tsx": ("let a = 1;\nf(a);\n", "f(a);", "const b = (x: P) => <A b={x} c='}'>it's {x.y}</A>;"),
    "a.go": ("package a\n\nvar s = 1\n", "var s = 1", "var s = `{` + string('}')"),
    "a.rs": ("fn f() {}\nfn g() {}\n", "fn g() {}", "fn g<'a>(x: &'a str) -> char { r#\"}\"#; '{' }"),
    "a.json": ('{\n  "a": 1\n}\n', '  "a": 1', '  "a": ["}", {"b": "it\'s ["}]'),
    "a.yaml": ("a:\n  - 1\nb: 2\n", "b: 2", "b: [1, {c: '}'}]"),
    "a.yml": ("on: push\nname: a\n", "name: a", "name: ${{ github.ref }}"),
    "a.sh": ("a=1\necho b\n", "echo b", "case $a in x) cat <<E\n} ( {\nE\n;; esac"),
    "a.toml": ("a = 1\nb = 2\n", "b = 2", "b = [{c = '}'}, {c = \"]\"}]"),
    "a.css": ("p { color: red }\nq { }\n", "q { }", "q::after { content: '}' }"),
    "a.html": ("<p>a</p>\n<b>c</b>\n", "<b>c</b>", "<b title='{'>it's } {</b>"),
}
"""Before, one of its lines, and what is put in its place."""


@pytest.mark.parametrize("path", SOUND)
def test_an_edit_that_leaves_a_file_parsing_is_sound_however_its_brackets_look(
    grammars: SyntaxChecker, path: str
) -> None:
    need(path)
    before, line, new = SOUND[path]
    assert line in before
    assert warnings(grammars, path, before, before.replace(line, new)) == []


BREAKING = {
    "a.py": ("import a\n\ndef f(x):\n    return x\n", "def f(x):", "def f(x) return", 3),
    "a.pyi": ("a: int\nclass A:\n    x: int\n", "class A:", "class class A:", 2),
    "a.js": ("const a = 1;\nf(a);\ng(a);\n", "f(a);", "const = f(a);", 2),
    "a.jsx": ("const a = 1;\nconst b = <p>{a}</p>;\n", "const b = <p>{a}</p>;", "const b = <p>{a</p>;", 2),
    "a.ts": ("let a = 1;\nlet b: number = 2;\n", "let b: number = 2;", "let b: = 2;", 2),
    "a.tsx": ("let a = 1;\nlet b = <A />;\n", "let b = <A />;", "let b = <A>;", 2),
    "a.go": ("package a\n\nfunc f() {\n\treturn\n}\n", "func f() {", "func {", 3),
    "a.rs": ("fn f() {}\nfn g() { f() }\n", "fn g() { f() }", "fn g( -> { f() }", 2),
    "a.json": ('{\n  "a": 1,\n  "b": 2\n}\n', '  "a": 1,', '  "a": 1', 2),
    "a.yaml": ("a:\n  b: 1\nc: 2\n", "  b: 1", "  b: [1, ]]", 2),
    "a.yml": ("a: 1\nc: 2\n", "c: 2", "c: 'x", 2),
    "a.sh": ("if a; then\n  b\nfi\n", "fi", "echo c", 3),
    "a.toml": ("a = 1\nb = 2\n", "b = 2", "b = = 2", 2),
    "a.css": ("p { color: red }\nq { top: 0 }\n", "q { top: 0 }", "q { top: 0", 2),
    "a.html": ("<p>\n<b>c</b>\n</p>\n", "<b>c</b>", "<b c</b>", 2),
}
"""As above, and the line that is at fault."""


@pytest.mark.parametrize("path", BREAKING)
def test_an_edit_that_breaks_what_parsed_is_named_with_its_line(grammars: SyntaxChecker, path: str) -> None:
    need(path)
    before, old, new, line = BREAKING[path]
    assert old in before
    (told,) = [w for w in warnings(grammars, path, before, before.replace(old, new)) if w["type"] == "syntax"]
    assert told["line"] == line
    assert f"line {line}: " in told["message"]


@pytest.mark.parametrize("path", BREAKING)
def test_a_file_that_did_not_parse_before_is_not_held_against_the_edit(grammars: SyntaxChecker, path: str) -> None:
    need(path)
    before, old, new, _ = BREAKING[path]
    broken = before.replace(old, new)
    assert warnings(grammars, path, broken, f"{new}\n{broken}") == []
    assert warnings(grammars, path, broken, before) == []


def test_every_suffix_with_a_grammar_is_tried_here() -> None:
    tried = {LANGUAGES["." + path.rpartition(".")[2]] for path in SOUND}
    assert tried == {*LANGUAGES.values()} == {LANGUAGES["." + path.rpartition(".")[2]] for path in BREAKING}


def test_a_lost_bracket_is_told_as_a_bracket_too(grammars: SyntaxChecker) -> None:
    need("a.py")
    found = warnings(grammars, "a.py", "f(1)\ng(2)\n", "f(1\ng(2)\n")
    assert [(w["type"], w["line"]) for w in found] == [("unbalanced", 1), ("syntax", 1)]


def test_what_is_missing_is_named_where_it_is_missing(grammars: SyntaxChecker) -> None:
    need("a.go")
    found = warnings(grammars, "a.go", "package a\nvar b = f(1)\n", "package a\nvar b = f(1 +)\n")
    assert [(w["message"], w["line"]) for w in found] == [("`identifier` is missing at line 2: 'var b = f(1 +)'", 2)]


def test_lines_are_counted_as_agents_see_them_whatever_ends_them(grammars: SyntaxChecker) -> None:
    need("a.py")
    found = warnings(grammars, "a.py", "a = 1\r\n\r\nb = 2\r\n", "a = 1\r\n\r\nb = = 2\r\n")
    assert [w["line"] for w in found] == [3]


@pytest.mark.parametrize(("path", "line"), [("a.html", "{% if a < b %}"), ("a.yaml", "{{- if a }}")])
def test_a_template_is_not_judged_by_the_grammar_of_what_it_makes(
    grammars: SyntaxChecker, path: str, line: str
) -> None:
    assert warnings(grammars, path, "a: 1\n", f"a: 1\n{line}\n") == []


def test_a_long_row_of_edits_is_judged_as_if_each_text_were_new() -> None:
    """Trees are made from the tree before, which must not be seen in what is said."""
    need("a.py")
    trees, text = Trees(), b"".join(b"def f%d(x):\n    return x\n" % n for n in range(40))
    for n in range(0, 40, 3):
        good = text.replace(
            b"def f%d(x):\n    return x" % n, b"def f%d(y, z):\n    if y:\n        z()\n    return [y]" % n
        )
        bad = good.replace(b"    return [y]\n", b"    return [y\n", 1)
        assert say(trees, good, bad) == "broken"
        assert say(trees, text, good) == "sound"
        assert say(trees, bad, bad + b"\n") == "broken_before"
        text = good.replace(b"return [y]", b"return y")
        assert say(trees, bad, text) == "sound"


PLAIN = b"""import a

# what comes next
class A(B):
    '''LONG'''
    w = 1
    x = [
        1,
    ]
    @p
    def m(self):
        '''LONG'''
        v = 1
        if self.x:
            y = 1
            z = (y,
                 2)
        elif x:
            pass
        else:
            return f"{self.x}"
        # a comment \\
        return y

    def n(self): pass

    q = 1; r = 2

def f(x):
    try:
        with x: a
    except E:
        pass
    return x

@d
def g(): return f(1)
x = a + \\
    b
if x: f(x)
else:
    g()
""".replace(b"LONG", b"what it is for " * 300)
"""Every kind of statement."""

LINES = [
    *(b'"""', b"x", b"x = (", b")", b"x = 1 \\", b"else:", b"except E:", b"@d", b"def f():", b"class A: pass"),
    *(b"# c \\", b"if x:", b"try:", b"pass", b"", b"a; b", b"a; b = [", b"]", b'f"{', b"return x", b"'''doc'''", b"'"),
]


@given(
    st.integers(0, PLAIN.count(b"\n")),
    st.integers(0, 3),
    st.lists(st.tuples(st.sampled_from([0, 2, 4, 8, 12]), st.sampled_from(LINES)), max_size=2),
)
@example(at=13, gone=0, come=[(0, b"else:")])  # ends the row that the statement behind it is in
@example(at=33, gone=0, come=[(0, b"else:")])  # the row has no statement behind it, or none ahead
def test_what_the_tree_before_an_edit_says_is_what_the_whole_text_says(
    at: int, gone: int, come: list[tuple[int, bytes]]
) -> None:
    need("a.py")
    lines = PLAIN.split(b"\n")
    after = b"\n".join([*lines[:at], *(b" " * indent + line for indent, line in come), *lines[at + gone :]])
    trees = Trees()
    assert say(trees, b"", PLAIN) == "sound"
    assert say(trees, PLAIN, after) == say(Trees(), PLAIN, after)


def say(trees: Trees, before: bytes, after: bytes, language: str = "python") -> str:
    """What the parser says, without its process."""
    names = Text.of(before).blob.hex(), Text.of(after).blob.hex()
    return trees.judge(language, names, after, lambda: before)["say"]


def test_trees_are_kept_within_a_bound() -> None:
    need("a.py")
    trees = Trees(limit_bytes=1000)
    for n in range(30):
        assert say(trees, b"", b"x = %d\n" % n * 50) == "sound"
    assert trees.held <= 1000


def test_a_grammar_is_loaded_at_the_first_file_that_needs_it_and_once() -> None:
    need("a.py")
    loaded = []

    def loading(language: str) -> syntax_worker.Grammar | None:
        loaded.append(language)
        return syntax_worker.load(language)

    trees = Trees(loading)
    assert loaded == []
    assert [say(trees, b"", b"x\n"), say(trees, b"x\n", b"y\n"), say(trees, b"", b"1", "json")] == ["sound"] * 3
    assert loaded == ["python", "json"]


def test_a_grammar_that_is_missing_or_broken_means_no_grammar() -> None:
    assert syntax_worker.load("no_such_language") is None
    assert syntax_worker.load("python.no_such_part") is None
    assert say(Trees(lambda language: None), b"", b"x") == "no_grammar"


EDITS = st.tuples(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=10), st.binary(max_size=10))


@given(st.sampled_from(sorted({*LANGUAGES.values()})), EDITS)
def test_any_bytes_get_an_answer_with_a_place_in_the_text(
    language: str, edit: tuple[bytes, bytes, bytes, bytes]
) -> None:
    head, tail, old, new = edit
    before, after = head + old + tail, head + new + tail
    trees = Trees()
    for _ in range(2):  # the second time from the tree of the first
        names = Text.of(before).blob.hex(), Text.of(after).blob.hex()
        answer = trees.judge(language, names, after, lambda: before)
        assert answer["say"] in {"sound", "broken", "broken_before", "no_grammar"}
        assert 0 <= answer.get("at", 0) <= len(after)


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_common_ends_are_common_do_not_overlap_and_go_no_further(a: bytes, b: bytes) -> None:
    head, tail = syntax_worker.common_ends(a, b)
    assert head + tail <= min(len(a), len(b))
    assert a[:head] == b[:head]
    assert a[len(a) - tail :] == b[len(b) - tail :]
    if head + tail < min(len(a), len(b)):
        assert a[head] != b[head]
        assert a[-1 - tail] != b[-1 - tail]


# ── the process ──────────────────────────────────────────────────────────────


def test_a_file_that_crashes_the_parser_costs_one_answer_and_no_more(grammars: SyntaxChecker) -> None:
    """Brackets are read instead; other files are parsed by a new process."""
    need("a.yaml")
    assert warnings(grammars, "deep.yaml", "a: {}\n", "- " * 10_000 + "\n") == []
    assert warnings(grammars, "deep.yaml", "a: {}\n", "a: {\n")[0]["type"] == "unbalanced"
    assert [w["type"] for w in warnings(grammars, "other.yaml", "a: 1\n", "a: 'x\n")] == ["syntax"]


def test_a_file_that_the_parser_cannot_get_done_with_does_not_hold_the_daemon() -> None:
    """Error recovery takes a second and more for this one, and does not ask whether it may."""
    need("a.sh")
    grammars = SyntaxChecker(patience_s=0.05, start_s=CALM)
    try:
        assert grammars("a.sh", Text.of(b"a\n"), Text.of(b"if(x)" * 20_000))() is None
        assert grammars("a.sh", Text.of(b"a\n"), Text.of(b"b\n"))() is None, "it is left alone for a while"
    finally:
        grammars.close()


def test_a_parser_that_cannot_be_started_is_done_without() -> None:
    need("a.py")
    started = []

    def command(fd: int) -> list[str]:
        started.append(fd)
        return [sys.executable, "-c", "raise SystemExit(1)"]

    now_s = [1000.0]
    grammars = SyntaxChecker(lambda: now_s[0], start_s=CALM, command=command)
    for later_s in (0.0, LEFT_ALONE_S + 1):
        now_s[0] += later_s
        before = len(started)
        for path in ("a.py", "b.py", "c.json"):
            assert warnings(grammars, path, "{}\n", "{\n") != []
        assert len(started) == before + 1, "it is tried again after a while"
    grammars.close()


def test_a_parser_that_has_ended_is_started_again() -> None:
    """It ends by itself when it has nothing to do for long."""
    need("a.py")
    grammars = SyntaxChecker(patience_s=CALM, start_s=CALM)
    for _ in range(2):
        assert [w["type"] for w in warnings(grammars, "a.py", "a = 1\n", "a = = 1\n")] == ["syntax"]
        grammars.close()


def test_a_file_over_the_limit_is_left_to_its_brackets(grammars: SyntaxChecker) -> None:
    body = "x\n" * (JUDGED_BYTES // 2)
    assert [w["type"] for w in warnings(grammars, "a.py", body + "f(1)\n", body + "f((1)\n")] == ["unbalanced"]


def test_nothing_is_started_for_a_file_without_a_grammar() -> None:
    def command(fd: int) -> list[str]:
        raise AssertionError("started")

    grammars = SyntaxChecker(command=command)
    for path in ("a.c", "Makefile", "notes.md"):
        assert grammars(path, Text.of(b"a\n"), Text.of(b"b\n"))() is None


# ── in a call ────────────────────────────────────────────────────────────────


def edit(grammars: SyntaxChecker, settings: Settings | None = None, **more: Any) -> tuple[MemoryDaemon, dict[str, Any]]:
    """An edit after which f.py does not parse, and what it was answered."""
    need("f.py")
    daemon = MemoryDaemon({"f.py": "import a\n\ndef f(x):\n    return x\n"}, settings, grammars=grammars)
    operation = {"op": "replace_line", "hash": hash8(b"def f(x):")[:6], "content": "def f(x)"}
    return daemon, daemon.ask("edit", {"path": "f.py", "operations": [operation], **more})


def test_an_edit_that_breaks_the_syntax_is_refused_and_told_how_to_go_on(grammars: SyntaxChecker) -> None:
    daemon, reply = edit(grammars)
    assert (reply["error"], [w["type"] for w in reply["safety_warnings"]]) == ("safety_check_failed", ["syntax"])
    assert "line 3: 'def f(x)'" in reply["message"]
    assert '`safety_check: "warn"`' in reply["message"]
    assert daemon.read("f.py") == "import a\n\ndef f(x):\n    return x\n"


def test_warn_lets_it_pass_and_says_it(grammars: SyntaxChecker) -> None:
    daemon, reply = edit(grammars, safety_check="warn")
    assert (reply["ok"], reply["safety_status"]) == (True, "suspicious")
    assert [(w["type"], w["line"]) for w in reply["warnings"]] == [("syntax", 3)]
    assert daemon.read("f.py") == "import a\n\ndef f(x)\n    return x\n"


@pytest.mark.parametrize(("setting", "ok"), [("reject", False), ("warn", True), ("off", True)])
def test_the_settings_decide_over_the_call(grammars: SyntaxChecker, setting: str, ok: bool) -> None:
    _, reply = edit(grammars, Settings(safety=Safety(syntax=setting)), safety_check="strict" if ok else "off")
    assert reply["ok"] is ok
    if not ok:
        assert "safety_check:" not in reply["message"], "it would be refused again"


def test_no_parser_is_asked_where_the_settings_turn_syntax_off() -> None:
    def command(fd: int) -> list[str]:
        raise AssertionError("started")

    assert edit(SyntaxChecker(command=command), Settings(safety=Safety(syntax="off")))[1]["ok"]


def test_an_unread_answer_is_not_taken_for_the_next_one(grammars: SyntaxChecker) -> None:
    sound, broken = Text.of(b"a = 1\n"), Text.of(b"a = = 1\n")
    grammars("a.py", sound, broken)
    assert grammars("a.py", sound, Text.of(b"a = 2\n"))() == ()
