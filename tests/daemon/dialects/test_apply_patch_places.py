"""Where the hunks of a patch land in a text, and which bytes they leave alone."""

from __future__ import annotations

import difflib
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given, strategies as st
from patches import update

from memory_daemon import MemoryDaemon
from quire_daemon.dialects.patch.locate import plan_file
from quire_daemon.dialects.patch.text import parse_patch
from quire_journal.model.events import FileMoved
from quire_journal.model.refusals import Refusal
from quire_journal.text.splice import apply, trim
from quire_journal.text.text import Text


def patched(data: bytes, patch: str, known: bool = False) -> bytes:
    """`data` after the only file of `patch`."""
    text, (file,) = Text.of(data), parse_patch(patch)
    plan = plan_file(file, text, known)
    return apply(text, trim(text, plan.splices), plan.final_break).data


def refused(data: bytes, patch: str, known: bool = False) -> Refusal:
    """Why it does not fit."""
    with pytest.raises(Refusal) as caught:
        patched(data, patch, known)
    return caught.value


# ── where a hunk stands ──────────────────────────────────────────────────────


def test_a_hunk_changes_the_lines_that_it_matches() -> None:
    assert (
        patched(b"alpha\nbeta\ngamma\n", update("@@", " alpha", "-beta", "+BETA", " gamma")) == b"alpha\nBETA\ngamma\n"
    )


def test_whole_lines_are_matched_never_parts() -> None:
    assert patched(b"abc\nab\nxab\n", update("-ab", "+X")) == b"abc\nX\nxab\n"
    assert refused(b"abc\n", update("-ab", "+X")).details["reason"] == "context_not_found"


@pytest.mark.parametrize("line", ["  a", "a ", "A", "\ta"])
def test_nothing_is_matched_nearly_but_the_nearest_line_is_told(line: str) -> None:
    error = refused(f"first\n{line}\n".encode(), update("@@", "-a", "+b"))
    assert (error.code, error.details["reason"], error.details["hunk"]) == ("patch_apply_error", "context_not_found", 1)
    assert error.details["line"] == 3
    if line.strip() == "a":
        assert error.details["near_miss"]["line"] == 2


def test_a_missing_context_line_is_named() -> None:
    error = refused(b"one\ntwo\nthree four\n", update(" one", "-two", "+2", " three for"))
    assert (error.details["missing_line"], error.details["near_miss"]["line"]) == ("three for", 3)


@pytest.mark.parametrize(
    ("text", "hunk", "said", "line"),
    [
        ("q\na\nX\nb\nc\n", [" a", " b", "-c"], "at line 3, but line 3 is 'X', where the patch has 'a'", 3),
        ("a\nb\nc\nd\n", [" a", " d", "-c"], "at line 1, but line 2 is 'b', where the patch has 'd'", 1),
        ("a\n\nb\n", [" a", "-b"], "at line 1, but line 2 is an empty line, where the patch has 'b'", 1),
        ("a\n  \nb\n", [" a", "", "-b"], "at line 1, but line 2 is '  ', where the patch has an empty line", 1),
        ("a\nb", [" a", "-b", " "], "at line 1, but the file ends there, where the patch has an empty line", 1),
        ("a\nb\n", [" a", " ", "-b"], "at line 1, but line 2 is 'b', where the patch has an empty line", 1),
    ],
)
def test_lines_that_stand_apart_in_the_file_are_told_from_the_first_that_does_not_fit(
    text: str, hunk: list[str], said: str, line: int
) -> None:
    error = refused(text.encode(), update("@@", *hunk))
    assert f"nearly fits {said}." in error.message
    assert error.details["near_miss"]["line"] == line


def test_lines_that_stand_far_apart_are_not_said_to_fit_anywhere() -> None:
    error = refused(b"a\nb\nc\nd\ne\n", update("@@", " e", " d", " b", "-a"))
    assert error.message.endswith("do not stand together in the file.")
    bom = "\ufeff"
    twice = refused(f"{bom}{bom}a\n".encode(), update("@@", f"-{bom}a"))
    assert twice.details["reason"] == "context_not_found"


def test_a_header_that_is_only_the_beginning_of_a_line_is_shown_the_line() -> None:
    error = refused(b"impl Config {\n    a,\n}\n", update("@@ impl Config", "-    a,"))
    assert "'impl Config {'" in error.message
    assert (error.details["near_miss"]["line"], error.details["near_miss"]["differs"]) == (1, "longer")


def test_several_places_are_refused_and_listed() -> None:
    error = refused(b"x\nfoo\ny\r\nfoo\r\n", update("@@", "-foo", "+bar"))
    assert (error.code, error.details["hunk"], error.details["matchCount"]) == ("multiple_matches", 1, 2)
    assert error.details["matchRanges"] == [
        {"startLine": 2, "endLine": 2, "startOffset": 2, "endOffset": 5},
        {"startLine": 4, "endLine": 4, "startOffset": 9, "endOffset": 12},
    ]


CLASSES = b"""class A:
    def f(self):
        return 1

    def g(self):
        return 1


class B:
    def f(self):
        return 1

    def g(self):
        return 1
"""


@pytest.mark.parametrize(
    ("headers", "line"),
    [(["class A:", "def f(self):"], 3), (["class A:", "    def g(self):"], 6), (["class B:", "def f(self):"], 11)],
)
def test_headers_tell_places_apart(headers: list[str], line: int) -> None:
    lines = CLASSES.split(b"\n")
    lines[line - 1] = b"        return 2"
    patch = update(*(f"@@ {header}" for header in headers), "-        return 1", "+        return 2")
    assert patched(CLASSES, patch) == b"\n".join(lines)


@pytest.mark.parametrize("header", ["class A:", "def g(self):"])
def test_headers_that_leave_several_places_are_not_enough(header: str) -> None:
    error = refused(CLASSES, update(f"@@ {header}", "-        return 1", "+        return 2"))
    assert (error.code, error.details["matchCount"]) == ("multiple_matches", 2)


def test_a_hunk_never_slips_out_of_the_section_that_it_names() -> None:
    changed = CLASSES.replace(b"return 1", b"return 7", 1)
    error = refused(changed, update("@@ class A:", "@@ def f(self):", "-        return 1", "+        return 2"))
    assert (error.code, error.details["reason"]) == ("patch_apply_error", "context_not_found")
    assert [found["startLine"] for found in error.details["matchRanges"]] == [6, 11, 14]


def test_a_section_without_indentation_reaches_to_the_end() -> None:
    text = b"[a]\nx=1\n[b]\nx=1\n"
    assert patched(text, update("@@ [b]", "-x=1", "+x=2")) == b"[a]\nx=1\n[b]\nx=2\n"
    assert refused(text, update("@@ [a]", "-x=1", "+x=2")).code == "multiple_matches"


def test_braces_labels_and_directives_end_no_section() -> None:
    text = b"int f()\n{\npublic:\n#if X\n  a();\n}\nint g()\n{\n  a();\n}\n"
    changed = b"int f()\n{\npublic:\n#if X\n  b();\n}\nint g()\n{\n  a();\n}\n"
    assert patched(text, update("@@ int f()", "-  a();", "+  b();")) == changed


@pytest.mark.parametrize(
    ("text", "header", "old"),
    [
        ("def f():\n    a\n\nx = 1\n", "def f():", "x = 1"),
        ("from m import (\n    a,\n)\n\ny = 1\n", "from m import (", "y = 1"),
        ("## Setup\n\n    pip install m\n\nThen run it.\n\n## Use\n", "## Setup", "Then run it."),
        ("class A:\n    def f(self):\n        pass\n\n    x = 1\n", "    def f(self):", "    x = 1"),
    ],
)
def test_lines_that_cannot_be_in_the_section_of_a_header_stand_below_it(text: str, header: str, old: str) -> None:
    changed = text.replace(old, "new")
    assert patched(text.encode(), update(f"@@ {header}", f"-{old}", "+new")) == changed.encode()
    assert refused(f"{old}\n{text.replace(old, '')}".encode(), update(f"@@ {header}", f"-{old}", "+new")).details[
        "matchRanges"
    ]
    twice = refused(f"{text}{old}\n".encode(), update(f"@@ {header}", f"-{old}", "+new"))
    assert twice.code == "multiple_matches"


def test_a_closing_line_is_that_of_the_section() -> None:
    text = b"int f()\n{\n  a();\n}\nint g()\n{\n  a();\n}\n"
    assert patched(text, update("@@ int f()", " }", "+// f")) == text.replace(b"}\n", b"}\n// f\n", 1)


@pytest.mark.parametrize(
    ("first", "goes_on"),
    [
        ("try:", "except ValueError:"),
        ("if x == 1:", "elif x == 2:"),
        ("if x; then", "else"),
        ("begin", "rescue E => e"),
    ],
)
def test_what_a_statement_goes_on_with_ends_no_section(first: str, goes_on: str) -> None:
    text = f"{first}\n    a\n{goes_on}\n    b\nelsewhere\n    c\n".encode()
    assert patched(text, update(f"@@ {first}", "-    b", "+    B")) == text.replace(b"b\nelse", b"B\nelse")
    assert refused(text, update(f"@@ {first}", "-    c", "+    C")).details["reason"] == "context_not_found"


def test_a_header_that_is_no_line_is_refused() -> None:
    error = refused(b"a\n", update("@@ def f():", "-a", "+b"))
    assert (error.details["reason"], error.details["header"]) == ("context_not_found", "def f():")


def test_a_stated_end_of_file_tells_places_apart() -> None:
    assert patched(b"a\nb\na\n", update("@@", "-a", "+c", "*** End of File")) == b"a\nb\nc\n"
    assert refused(b"a\nb\n", update("@@", "-a", "+c", "*** End of File")).details["reason"] == "context_not_found"


def test_order_tells_places_apart_where_there_is_one_way_to_have_it() -> None:
    twice = update("@@", "-a", "+x", "@@", "-a", "+y")
    assert patched(b"a\na\n", twice) == b"x\ny\n"
    assert refused(b"a\na\na\n", twice).code == "multiple_matches"
    assert patched(b"a\n1\na\n", update("@@", "-1", "+2", "@@", "-a", "+b")) == b"a\n2\nb\n"


def test_hunks_that_are_sure_of_their_place_may_come_in_any_order() -> None:
    assert patched(b"a\nb\nc\n", update("@@", "-c", "+C", "@@", "-a", "+A")) == b"A\nb\nC\n"


def test_hunks_see_the_file_as_it_was_not_each_other() -> None:
    assert patched(b"a\nb\n", update("-a", "+b", "@@", "-b", "+a")) == b"b\na\n"


def test_hunks_may_share_context_but_not_what_they_remove() -> None:
    assert patched(b"a\nb\nc\n", update("@@", "-a", "+A", " b", "@@", " b", "-c", "+C")) == b"A\nb\nC\n"
    for second in (["-b", "+X"], [" b", "-c"], [" b", "+i", " c"]):
        error = refused(b"a\nb\nc\n", update("@@", " a", "-b", "+B", "@@", *second))
        assert (error.code, error.details["reason"]) == ("patch_apply_error", "overlapping_hunks")


def test_line_numbers_count_only_where_all_of_them_are_right() -> None:
    head = "--- a/f.txt\n+++ b/f.txt\n"
    text = b"a\nx\na\nx\nend\n"
    assert patched(text, head + "@@ -3 +3 @@\n-a\n+b\n") == b"a\nx\nb\nx\nend\n"
    assert refused(text, head + "@@ -2 +2 @@\n-a\n+b\n").code == "multiple_matches"
    wrong = head + "@@ -1 +1 @@\n-a\n+b\n@@ -4 +4 @@\n-end\n+END\n"
    assert refused(text, wrong).code == "multiple_matches"
    assert patched(text, wrong.replace("-4 +4", "-5 +5")) == b"b\nx\na\nx\nEND\n"


def test_a_line_that_stands_elsewhere_than_its_number_says_is_found_and_told() -> None:
    daemon = MemoryDaemon({"f.txt": "new\na\nb\n"})
    reply = daemon.ask("apply_patch", {"patch": "--- a/f.txt\n+++ b/f.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n"})
    assert (reply["ok"], daemon.read("f.txt")) == (True, "new\na\nB\n")
    assert [(w["type"], w["line"]) for w in reply["warnings"]] == [("line_number_off", 2)]


@pytest.mark.parametrize(
    ("text", "made"),
    [
        (b"a\nb\n", b"a\nb\nnew\n2\n"),
        (b"a\nb", b"a\nb\nnew\n2"),
        (b"a\r\nb\r\n", b"a\r\nb\r\nnew\r\n2\r\n"),
        (b"a\n\n", b"a\nnew\n2\n\n"),  # before a blank last line
        (b"\n", b"new\n2\n\n"),
        (b"", b"new\n2\n"),
    ],
)
def test_lines_that_are_only_added_are_added_at_the_end(text: bytes, made: bytes) -> None:
    assert patched(text, update("@@", "+new", "+2")) == made
    assert patched(text, update("@@ ... @@", "+new", "+2")) == made


def test_a_header_over_lines_that_are_only_added_must_be_there_and_is_told_to_say_nothing() -> None:
    daemon = MemoryDaemon({"f.txt": "a\nb\n"})
    reply = daemon.ask("apply_patch", {"patch": update("@@ a", "+new")})
    assert (daemon.read("f.txt"), [(w["type"], w["line"]) for w in reply["warnings"]]) == (
        "a\nb\nnew\n",
        [("added_at_end", 3)],
    )
    assert refused(b"a\nb\n", update("@@ c", "+new")).details["reason"] == "context_not_found"


def test_lines_that_are_only_added_are_in_no_order_with_other_hunks() -> None:
    assert patched(b"a\nb\nc\n", update("@@", "+x", "+y", "@@", " a", "-b", "-c", "+B")) == b"a\nB\nx\ny\n"
    assert patched(b"a\na\n", update("@@", "+x", "@@", "-a", "+1", "@@", "-a", "+2")) == b"1\n2\nx\n"
    assert patched(b"a\nb\n", update("@@", "+x", "@@", " b", "+y", "@@", "+z")) == b"a\nb\nx\ny\nz\n"


def test_lines_that_are_only_added_by_a_number_need_a_file_that_the_caller_knows() -> None:
    error = refused(b"a\nb\n", update("@@ -1,0 +2 @@", "+new"))
    assert (error.code, error.details["reason"]) == ("patch_apply_error", "no_context")


def test_a_blank_line_at_the_end_of_a_hunk_may_be_the_end_of_the_file() -> None:
    for blank in (" ", ""):
        end = [blank, "*** End of File"]
        assert patched(b"a\nb\n", update("@@", " a", "-b", "+B", *end)) == b"a\nB\n"
        assert patched(b"a\nb\n\n", update("@@", " a", "-b", "+B", *end)) == b"a\nB\n\n"
    assert patched(b"a\nb\n", update("@@", " a", "-b", "+B", " ")) == b"a\nB\n"
    assert patched(b"b\n\na\nb\n", update("@@", "-b", "+B", " ")) == b"B\n\na\nb\n"  # a blank line that is there
    assert patched(b"a\nb\n", update("@@", " b", "+c", " ")) == b"a\nb\nc\n"
    for text in (b"a\nb\nc\n", b"a\nb"):  # not the end, and no line break there
        assert refused(text, update("@@", " a", "-b", "+B", " ")).details["reason"] == "context_not_found"
    numbered = "--- f.txt\n+++ f.txt\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n \n"
    assert refused(b"a\nb\n", numbered).details["reason"] == "context_not_found"


AIDER = "--- f.txt\n+++ f.txt\n"


def test_a_diff_as_aider_writes_it_needs_no_numbers() -> None:
    two = AIDER + "@@ ... @@\n a\n-b\n+B\n\n@@ ... @@\n-d\n+D\n"
    assert patched(b"a\nb\nc\nd\n", two) == b"a\nB\nc\nD\n"
    assert patched(b"a\r\nb\r\nc\r\nd", two) == b"a\r\nB\r\nc\r\nD"
    assert patched(b"a\nb\n", AIDER + "@@ ... @@\n+c\n") == b"a\nb\nc\n"
    assert refused(b"a\na\n", AIDER + "@@ ... @@\n-a\n+A\n").code == "multiple_matches"
    for head in ("@@ ... @@", "@@...@@", "@@ @@"):
        assert patched(b"a\nb\n", update(head, " a", "-b", "+B")) == b"a\nB\n"
        assert patched(b"a\nb\n", f"{AIDER}{head}\n a\n-b\n+B\n") == b"a\nB\n"


def test_aiders_diffs_of_several_files_are_one_patch() -> None:
    daemon = MemoryDaemon({"f.txt": "a\nb\n", "g.txt": "c\n"})
    more = "--- f.txt\n+++ f.txt\n@@ ... @@\n-b\n+B\n"
    new = "--- /dev/null\n+++ n.txt\n@@ ... @@\n+n\n"
    patch = AIDER + "@@ ... @@\n-a\n+A\n\n--- g.txt\n+++ g.txt\n@@ ... @@\n-c\n+C\n" + more + new
    assert daemon.ask("apply_patch", {"patch": patch})["ok"]
    assert [daemon.read(name) for name in ("f.txt", "g.txt", "n.txt")] == ["A\nB\n", "C\n", "n\n"]


def test_lines_are_added_without_context_where_there_is_no_choice() -> None:
    assert patched(b"", update("+a", "+b")) == b"a\nb\n"
    assert patched(b"a\n", update("+b", "*** End of File")) == b"a\nb\n"
    assert patched(b"a\nb\n", "--- f.txt\n+++ f.txt\n@@ -1,0 +2 @@\n+new\n", known=True) == b"a\nnew\nb\n"
    not_at_the_end = "--- f.txt\n+++ f.txt\n@@ -1,0 +2 @@\n+new\n\\ No newline at end of file\n"
    assert refused(b"a\nb\n", not_at_the_end, known=True).details["reason"] == "no_context"


# ── bytes ────────────────────────────────────────────────────────────────────


def test_new_lines_take_the_line_ends_of_the_file_and_the_others_keep_theirs() -> None:
    assert patched(b"a\r\nb\nc\rd", update(" a", "-b", "+B", "+more", " c")) == b"a\r\nB\nmore\nc\rd"
    assert patched(b"a\r\nb\r\n", update("-a", "+x", "+y", " b")) == b"x\r\ny\r\nb\r\n"
    assert patched(b"a\nb\n", update("-a", "+x", " b").replace("\n", "\r\n")) == b"x\nb\n"
    assert patched(b"a\nb\n", update("-a\r", "+x\r", " b\r")) == b"x\nb\n"


def test_a_diff_that_shows_the_line_ends_of_the_file_may_change_them() -> None:
    diff = "--- f.txt\n+++ f.txt\n@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n"
    assert patched(b"a\r\nb\n", diff) == b"a\nb\n"
    assert patched(b"a\r\nb\r\n", "--- f.txt\n+++ f.txt\n@@ -1,2 +1,3 @@\n-a\n+x\n+y\n b\n") == b"x\r\ny\r\nb\r\n"


def test_a_missing_final_newline_stays_missing_unless_the_patch_says_otherwise() -> None:
    assert patched(b"a\nb", update("-b", "+B")) == b"a\nB"
    assert patched(b"a\nb", update(" b", "+c")) == b"a\nb\nc"
    diff = "--- f.txt\n+++ f.txt\n@@ -1,2 +1,2 @@\n a\n-b\n{}+B\n{}"
    no_newline = "\\ No newline at end of file\n"
    assert patched(b"a\nb", diff.format(no_newline, "")) == b"a\nB\n"
    assert patched(b"a\nb", diff.format(no_newline, no_newline)) == b"a\nB"
    assert patched(b"a\nb\n", diff.format("", no_newline)) == b"a\nB"
    assert refused(b"a\nb\n", diff.format(no_newline, "")).details["reason"] == "context_not_found"
    assert refused(b"a\nb\nc\n", diff.format("", no_newline)).details["reason"] == "context_not_found"


def test_the_byte_order_mark_stays() -> None:
    bom = "\ufeff".encode()
    assert patched(bom + b"a\nb\n", update("-a", "+A")) == bom + b"A\nb\n"
    assert patched(bom + b"a\nb\n", update("-\ufeffa", "+\ufeffA")) == bom + b"A\nb\n"
    daemon = MemoryDaemon({"f.txt": bom + b"a\n"})
    reply = daemon.ask("apply_patch", {"patch": update("-\ufeffa", "+A")})
    assert (daemon.files["f.txt"], [w["type"] for w in reply["warnings"]]) == (bom + b"A\n", ["bom_kept"])


def test_bytes_that_are_not_utf8_survive_and_never_match() -> None:
    assert patched(b"caf\xe9\na\n", update("-a", "+b")) == b"caf\xe9\nb\n"
    error = refused("caf\ufffd\n".encode(), update("-caf\ufffd", "+b"))
    assert error.details["reason"] == "context_not_found"
    assert "U+FFFD" in error.message


# ── properties ───────────────────────────────────────────────────────────────


LINES = st.lists(
    st.sampled_from(["", "a", "b", "  c", "é", "-- x", "++ y", "@@", "*** End Patch", "\\ No", "d\r", "e\rf"]),
    max_size=9,
)


@st.composite
def contents(draw: st.DrawFn) -> str:
    """A text of lines that look like parts of a patch, and repeat."""
    text = "".join(f"{line}\n" for line in draw(LINES))
    return text[:-1] if draw(st.booleans()) and not text.endswith(("\r\n", "\n\n")) else text


def rows(text: str) -> list[str]:
    """Lines as diff knows them: they end at LF."""
    return [line + "\n" for line in text.split("\n")[:-1]] + ([text.rsplit("\n", 1)[-1]] if text[-1:] != "\n" else [])


def unified(old: str, new: str, context: int = 3) -> str:
    """What `diff -u` writes."""
    if old == new:
        return ""
    found = difflib.unified_diff(rows(old) if old else [], rows(new) if new else [], "a/f.txt", "b/f.txt", n=context)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in found)


@given(contents(), contents(), st.integers(1, 3))
def test_a_unified_diff_makes_of_one_text_the_other(old: str, new: str, context: int) -> None:
    assume(old != new)
    assert patched(old.encode(), unified(old, new, context)) == new.encode()


@given(contents(), contents())
def test_a_diff_without_context_works_on_a_text_that_is_known(old: str, new: str) -> None:
    assume(old != new and "\r" not in old + new)
    assert patched(old.encode(), unified(old, new, 0), known=True) == new.encode()


@given(contents(), contents())
def test_an_envelope_makes_of_one_text_the_other_or_says_that_it_is_not_clear(old: str, new: str) -> None:
    assume(old != new and "\r" not in old + new)
    hunks = [line if line[0] != "@" else "@@" for line in unified(old, new).split("\n")[2:-1]]
    try:
        made = patched(old.encode(), update(*hunks))
    except Refusal as refusal:
        made, code = b"", refusal.code
    else:
        code = ""
    repeated = len(set(rows(old))) < len(rows(old))
    assert (made == new.encode() and not code) or (repeated and code == "multiple_matches")


@given(st.lists(st.sampled_from(["a", "b", ""]), max_size=8), contents())
def test_a_hunk_lands_where_its_lines_stand_or_nowhere(wanted: list[str], text: str) -> None:
    assume(wanted)
    before = Text.of(text.encode())
    patch = update("@@", *(f"-{line}" for line in wanted), "+new")
    places = [i for i in range(len(before)) if before.lines[i : i + len(wanted)] == [w.encode() for w in wanted]]
    try:
        after = Text.of(patched(before.data, patch))
    except Refusal:
        assert len(places) != 1
    else:
        (at,) = places
        assert list(after.lines) == [*before.lines[:at], b"new", *before.lines[at + len(wanted) :]]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not there")
def test_what_git_diff_says_makes_one_checkout_of_another(tmp_path: Path) -> None:
    chance = random.Random(1)
    words = ["", "a", "b", "  c", "-- x", "++ y", "é", "d\r", "e\rf", "@@ -1 +1 @@"]

    def text() -> str:
        made = "".join(f"{chance.choice(words)}\n" for _ in range(chance.randrange(1, 30)))
        return made + chance.choice(["", "end"])

    def varied(old: str) -> str:
        lines = rows(old)
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(lines))
            lines[at : at + chance.randrange(3)] = [chance.choice(words) + "\n"] * chance.randrange(3)
            lines = lines or ["left\n"]
        return "".join(
            line if line.endswith("\n") or i == len(lines) - 1 else line + "\n" for i, line in enumerate(lines)
        )

    before = {f"dir {n}/ä{n}.txt": text() for n in range(12)}
    after = {path: varied(old) for path, old in before.items()}
    before |= {"gone.txt": "x\ny", "empty": "", "stays": "s\n", "old name": "\n".join(map(str, range(30)))}
    after |= {
        "new.txt": "n\r\nm",
        "none": "",
        "empty": "filled\n",
        "stays": "s\n",
        "name": before["old name"] + "\nmore\n",
    }
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

    def git(*args: str) -> str:
        command = ["git", "-c", "core.autocrlf=false", *args]
        done = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
        return done.stdout.decode()

    def lay(files: dict[str, str]) -> None:
        for path, content in files.items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_bytes(content.encode())

    git("init", "-q")
    lay(before)
    git("add", "-A")
    for path in before.keys() - after.keys():
        (tmp_path / path).unlink()
    lay(after)
    git("add", "-N", *(after.keys() - before.keys()))
    daemon = MemoryDaemon(before)
    reply = daemon.ask("apply_patch", {"patch": git("diff", "-M")})
    assert reply["ok"], reply
    assert daemon.files == {path: content.encode() for path, content in after.items()}
    assert [e.to for e in daemon.events(FileMoved) if isinstance(e, FileMoved)] == ["name"]


class Counted(bytes):
    """A line that counts how often it is looked at."""

    looks = 0

    def strip(self, given: bytes | None = None, /) -> bytes:  # type: ignore[override]
        Counted.looks += 1
        return super().strip(given)


@pytest.mark.parametrize("header", ["a", "default:", "#"])
def test_a_header_that_every_line_is_costs_a_few_looks_at_each_however_often_it_is_said(header: str) -> None:
    """Each of them began a section of its own, which went through all the others: the daemon answered nobody else."""
    lines = [Counted(header.encode())] * 60 + [Counted(b"  x")] * 2
    text = Text(False, tuple(lines), (b"\n",) * len(lines))
    stacked = f"@@ {header}\n" * 3
    (patch,) = parse_patch(f"*** Begin Patch\n*** Update File: f\n{stacked}-  x\n+  y\n*** End Patch\n")
    Counted.looks = 0
    with pytest.raises(Refusal, match="matches at lines 61, 62"):
        plan_file(patch, text, known=True)
    assert 0 < Counted.looks < 20 * len(lines)
