"""`apply_patch`: whole lines, each hunk once, all files or none."""

from __future__ import annotations

import difflib
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from desk import Desk
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from cases import every
from playbook import Playbook
from quire_daemon.config import Settings
from quire_daemon.dialects.apply_patch import plan_file
from quire_daemon.dialects.patch_text import parse_patch
from quire_daemon.handlers.apply_patch import PATCH_TOOL
from quire_daemon.handlers.base import FileNow
from quire_daemon.handlers.undo import UNDO_TOOL
from quire_journal.events import EditRefused, FileMoved, FileWritten
from quire_journal.ids import blob_id
from quire_journal.refusals import Refused
from quire_journal.splice import apply, trim
from quire_journal.text import Text


def envelope(*lines: str) -> str:
    """These lines between `*** Begin Patch` and `*** End Patch`."""
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def update(*lines: str, path: str = "f.txt") -> str:
    """A patch with these hunks."""
    return envelope(f"*** Update File: {path}", *lines)


def patched(data: bytes, patch: str, known: bool = False) -> bytes:
    """`data` after the only file of `patch`."""
    text, (file,) = Text.of(data), parse_patch(patch)
    plan = plan_file(file, text, known)
    return apply(text, trim(text, plan.splices), plan.final_break).data


def refused(data: bytes, patch: str, known: bool = False) -> Refused:
    """Why it does not fit."""
    with pytest.raises(Refused) as caught:
        patched(data, patch, known)
    return caught.value


def sha256(book: Playbook, path: str = "f.txt") -> str:
    """Of the file as it is."""
    return blob_id(book.files[path]).hex()


# ── where a hunk stands ──────────────────────────────────────────────────────


def test_a_hunk_changes_the_lines_that_it_matches() -> None:
    assert (
        patched(b"alpha\nbeta\ngamma\n", update("@@", " alpha", "-beta", "+BETA", " gamma")) == b"alpha\nBETA\ngamma\n"
    )


def test_whole_lines_are_matched_never_parts() -> None:
    assert patched(b"abc\nab\nxab\n", update("-ab", "+X")) == b"abc\nX\nxab\n"
    assert refused(b"abc\n", update("-ab", "+X")).details["reason"] == "context_not_found"


@every("line", ["  a", "a ", "A", "\ta"])
def test_nothing_is_matched_nearly_but_the_nearest_line_is_told(line: str) -> None:
    error = refused(f"first\n{line}\n".encode(), update("@@", "-a", "+b"))
    assert (error.code, error.details["reason"], error.details["hunk"]) == ("patch_apply_error", "context_not_found", 1)
    assert error.details["line"] == 3
    if line.strip() == "a":
        assert error.details["near_miss"]["line"] == 2


def test_a_missing_context_line_is_named() -> None:
    error = refused(b"one\ntwo\nthree four\n", update(" one", "-two", "+2", " three for"))
    assert (error.details["missing_line"], error.details["near_miss"]["line"]) == ("three for", 3)


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


@every(
    ("headers", "line"),
    [(["class A:", "def f(self):"], 3), (["class A:", "    def g(self):"], 6), (["class B:", "def f(self):"], 11)],
)
def test_headers_tell_places_apart(headers: list[str], line: int) -> None:
    lines = CLASSES.split(b"\n")
    lines[line - 1] = b"        return 2"
    patch = update(*(f"@@ {header}" for header in headers), "-        return 1", "+        return 2")
    assert patched(CLASSES, patch) == b"\n".join(lines)


@every("header", ["class A:", "def g(self):"])
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
    book = Playbook({"f.txt": "new\na\nb\n"})
    reply = book.call("apply_patch", {"patch": "--- a/f.txt\n+++ b/f.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n"})
    assert (reply["ok"], book.text("f.txt")) == (True, "new\na\nB\n")
    assert [(w["type"], w["line"]) for w in reply["warnings"]] == [("line_number_off", 2)]


@every("hunk", [["@@", "+new"], ["@@ a", "+new"], ["@@ -1,0 +2 @@", "+new"]])
def test_lines_that_are_only_added_need_one_that_says_where(hunk: list[str]) -> None:
    error = refused(b"a\nb\n", update(*hunk))
    assert (error.code, error.details["reason"]) == ("patch_apply_error", "no_context")


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
    book = Playbook({"f.txt": bom + b"a\n"})
    reply = book.call("apply_patch", {"patch": update("-\ufeffa", "+A")})
    assert (book.files["f.txt"], [w["type"] for w in reply["warnings"]]) == (bom + b"A\n", ["bom_kept"])


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
    except Refused as refusal:
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
    except Refused:
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
    book = Playbook(before)
    reply = book.call("apply_patch", {"patch": git("diff", "-M")})
    assert reply["ok"], reply
    assert book.files == {path: content.encode() for path, content in after.items()}
    assert [e.to for e in book.events(FileMoved) if isinstance(e, FileMoved)] == ["name"]


# ── the tool ─────────────────────────────────────────────────────────────────

FOUR = envelope(
    "*** Add File: dir/new.txt",
    "+one",
    "+two",
    "*** Update File: f.txt",
    "@@",
    "-a",
    "+A",
    "@@",
    " c",
    "+d",
    "*** Delete File: gone.txt",
    "*** Update File: old.py",
    "*** Move to: new.py",
    "@@",
    "-x = 1",
    "+x = 2",
    "*** Move File: p.txt -> q.txt",
)


def four(settings: Settings | None = None) -> Playbook:
    """A checkout on which the patch `FOUR` fits."""
    files = {"f.txt": "a\nb\nc\n", "gone.txt": "g\n", "old.py": "x = 1\n", "p.txt": "p\n"}
    return Playbook(files, settings)


def test_all_files_change_as_one_batch() -> None:
    book = four()
    reply = book.call("apply_patch", {"patch": FOUR})
    assert reply["ok"], reply
    assert {path: data.decode() for path, data in book.files.items()} == {
        "dir/new.txt": "one\ntwo\n",
        "f.txt": "A\nb\nc\nd\n",
        "new.py": "x = 2\n",
        "q.txt": "p\n",
    }
    assert (reply["operations_applied"], reply["message"]) == (6, "6 operations applied to 5 files.")
    seqs = [int(file["version"][1:]) for file in reply["files"]]
    records = [book.record(seq) for seq in seqs]
    assert [record.kind for record in records if record] == [
        "file_written",
        "file_written",
        "file_deleted",
        "file_moved",
        "file_moved",
    ]
    assert len({record.batch for record in records if record}) == 1


FIELDS = {
    *("path", "version", "sha256", "sizeBytes", "writer_type", "baseline_continuity", "operations_applied"),
    *("lines_before", "lines_after", "net_lines", "changed", "anchors_valid_through", "must_refresh_from_line"),
    *("diff", "safety_status", "warnings", "operation"),
}


def test_each_file_is_told_like_the_file_of_any_writing_tool() -> None:
    book = four()
    files = book.call("apply_patch", {"patch": FOUR})["files"]
    assert all(set(file) >= FIELDS for file in files)
    assert [(f["path"], f["operation"], f["net_lines"]) for f in files] == [
        ("dir/new.txt", "add", 2),
        ("f.txt", "update", 1),
        ("gone.txt", "delete", -1),
        ("new.py", "move", 0),
        ("q.txt", "move", 0),
    ]
    assert [f.get("moved_from") for f in files] == [None, None, None, "old.py", "p.txt"]
    assert [f["sha256"] for f in files] == [
        None if f["operation"] == "delete" else sha256(book, f["path"]) for f in files
    ]


def test_what_the_diff_shows_can_be_edited_at_once() -> None:
    book = four()
    files = {f["path"]: f for f in book.call("apply_patch", {"patch": FOUR})["files"]}
    for path in ("dir/new.txt", "f.txt", "new.py"):
        row = next(row for row in files[path]["diff"] if row.startswith("+"))
        operation = {"op": "replace_line", "hash": row[1:].split(" ")[0], "content": "edited"}
        reply = book.call("edit", {"path": path, "operations": [operation]})
        assert reply["ok"], reply


def test_a_patch_of_one_file_is_told_at_the_top_too() -> None:
    book = Playbook({"f.txt": "a\nb\n"})
    reply = book.call("apply_patch", {"patch": update("-a", "+A")})
    assert set(reply) >= FIELDS
    assert reply["message"] == "1 operation applied to f.txt: 2 → 2 lines, net +0."
    assert [(f["path"], f["version"]) for f in reply["files"]] == [("f.txt", reply["version"])]


def test_a_whole_patch_is_undone_as_one() -> None:
    desk = Desk()
    before = {"f.txt": b"a\nb\nc\n", "gone.txt": b"g\n", "old.py": b"x = 1\n", "p.txt": b"p\n"}
    desk.write_all(before, desk.ben)
    reply = desk.call(PATCH_TOOL, desk.ann, patch=FOUR)
    assert reply["ok"], reply
    assert sorted(desk.files) == ["dir/new.txt", "f.txt", "new.py", "q.txt"]
    undone = desk.call(UNDO_TOOL, desk.ann)
    assert undone["ok"], undone
    assert {path: lying.data for path, lying in desk.files.items()} == before


BAD = {
    "context_not_found": "*** Update File: f.txt\n@@\n-nope\n+x",
    "not_found": "*** Update File: nope.txt\n@@\n-a\n+x",
    "no_delete": "*** Delete File: nope.txt",
    "no_move": "*** Move File: nope.txt -> x.txt",
    "already_exists": "*** Add File: p.txt\n+x",
    "moved_onto": "*** Move File: f.txt -> p.txt",
    "a_folder": "*** Delete File: dir",
    "parse": "*** Update File: f.txt\n@@\n-a\nb",
}


@every(
    ("section", "code"),
    [
        ("context_not_found", "patch_apply_error"),
        ("not_found", "not_found"),
        ("no_delete", "not_found"),
        ("no_move", "not_found"),
        ("already_exists", "already_exists"),
        ("moved_onto", "already_exists"),
        ("a_folder", "not_a_file"),
        ("parse", "patch_parse_error"),
    ],
)
@every("dry_run", [False, True])
def test_one_file_that_cannot_be_changed_keeps_all_from_it(section: str, code: str, dry_run: bool) -> None:
    book = Playbook({"f.txt": "a\n", "p.txt": "p\n", "dir/x": "x\n", "first.txt": "1\n"})
    before = dict(book.files)
    patch = envelope("*** Update File: first.txt", "@@", "-1", "+2", "*** Add File: z", "+z", BAD[section])
    reply = book.call("apply_patch", {"patch": patch, "dry_run": dry_run})
    assert (reply["ok"], reply["error"], reply.get("valid")) == (False, code, False if dry_run else None)
    assert book.files == before
    assert not book.events(FileWritten)
    assert len(book.events(EditRefused)) == (0 if dry_run else 1)


@every(
    ("sections", "reason"),
    [
        (["*** Update File: f.txt", "-a", "+A", "*** Delete File: f.txt"], "duplicate_path"),
        (["*** Add File: n", "+x", "*** Delete File: n"], "duplicate_path"),
        (["*** Move File: f.txt -> p.txt", "*** Delete File: p.txt"], "duplicate_path"),
        (["*** Move File: f.txt -> f.txt"], "duplicate_path"),
        (["*** Delete File: f.txt", "*** Delete File: link.txt"], "duplicate_path"),
        (["*** Delete File: f.txt", "*** Add File: f.txt/deep/x", "+x"], "path_conflict"),
    ],
)
def test_a_path_has_one_place_in_a_patch(sections: list[str], reason: str) -> None:
    book = Playbook({"f.txt": "a\n", "p.txt": "p\n"})
    book.links["link.txt"] = "f.txt"
    reply = book.call("apply_patch", {"patch": envelope(*sections)})
    assert (reply["error"], reply["reason"]) == ("patch_apply_error", reason)
    assert book.files == {"f.txt": b"a\n", "p.txt": b"p\n"}


class Linked(Playbook):
    """The files of a checkout whose names are hard links to one file."""

    def _gather(self, given: str) -> FileNow:
        return replace(super()._gather(given), links=2)


def test_a_file_with_several_names_has_one_place_in_a_patch() -> None:
    book = Linked({"f.txt": "a\nb\n", "g.txt": "a\nb\n"})
    twice = envelope("*** Update File: f.txt", "-a", "+A", "*** Update File: g.txt", "-b", "+B")
    reply = book.call("apply_patch", {"patch": twice})
    assert (reply["error"], reply["reason"], reply["path"]) == ("patch_apply_error", "duplicate_path", "g.txt")
    assert "f.txt" in reply["message"]
    assert book.files == {"f.txt": b"a\nb\n", "g.txt": b"a\nb\n"}
    once = envelope("*** Update File: f.txt", "-a", "+A", "*** Add File: h.txt", "+x")
    assert book.call("apply_patch", {"patch": once})["ok"]


def test_a_dry_run_tells_everything_and_changes_nothing() -> None:
    book = four()
    before = dict(book.files)
    reply = book.call("apply_patch", {"patch": FOUR, "dry_run": True})
    assert (reply["ok"], reply["dry_run"], reply["valid"]) == (True, True, True)
    assert reply["message"] == "6 operations would be applied to 5 files."
    assert all(file["dry_run"] for file in reply["files"])
    assert book.files == before


def test_a_patch_that_changes_nothing_makes_no_version() -> None:
    book = Playbook({"f.txt": "a\n"})
    reply = book.call("apply_patch", {"patch": update("-a", "+a")})
    assert (reply["ok"], reply["unchanged"], reply["files"][0]["unchanged"]) == (True, True, True)
    assert not book.events(FileWritten)


def test_a_diff_that_removes_a_file_must_name_all_of_its_lines() -> None:
    patch = "--- a/f.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"
    book = Playbook({"f.txt": "a\nb\nc\n"})
    reply = book.call("apply_patch", {"patch": patch})
    assert (reply["error"], reply["reason"]) == ("patch_apply_error", "lines_remain")
    book.write("f.txt", "a\nb\n")
    assert book.call("apply_patch", {"patch": patch})["deleted"]
    assert book.files == {}


def test_an_executable_file_is_added_as_one() -> None:
    book = Playbook()
    patch = "diff --git a/x.sh b/x.sh\nnew file mode 100755\n--- /dev/null\n+++ b/x.sh\n@@ -0,0 +1 @@\n+a\n"
    assert book.call("apply_patch", {"patch": patch})["created"]
    (event,) = book.events(FileWritten)
    assert isinstance(event, FileWritten)
    assert event.mode == 0o755


def test_bytes_that_are_not_in_the_journal_are_not_removed_unasked() -> None:
    book = Playbook({".env": "secret\n"})
    book.uncaptured[".env"] = "secret"
    patch = envelope("*** Delete File: .env")
    assert book.call("apply_patch", {"patch": patch})["error"] == "uncaptured"
    reply = book.call("apply_patch", {"patch": patch, "allow_uncaptured": True})
    assert (reply["ok"], reply["warnings"][0]["type"]) == (True, "uncaptured")


BROKEN = envelope("*** Update File: p.txt", "-p", "+P", "*** Update File: f.c", " void f() {", "+  {", "-}")


def test_a_suspicious_result_is_told_and_if_asked_refused_for_all() -> None:
    files = {"f.c": "void f() {\n}\n", "p.txt": "p\n"}
    book = Playbook(files)
    strict = book.call("apply_patch", {"patch": BROKEN, "safety_check": "strict"})
    assert (strict["error"], strict["path"]) == ("safety_check_failed", "f.c")
    assert book.text("p.txt") == "p\n"
    reply = book.call("apply_patch", {"patch": BROKEN})
    assert (reply["ok"], reply["safety_status"]) == (True, "suspicious")
    assert [file["safety_status"] for file in reply["files"]] == ["clean", "suspicious"]
    assert [(w["type"], w["path"]) for w in reply["warnings"]] == [("unbalanced", "f.c")]


# ── arguments ────────────────────────────────────────────────────────────────


@every(
    ("more", "named"),
    [
        ({"expectedSha256ByPath": {"f.txt": "xyz"}}, "f.txt"),
        ({"path": "other.txt"}, "path"),
        ({"unheard_of": 1}, "unheard_of"),
    ],
)
def test_arguments_that_cannot_be_meant_are_refused_by_name(more: dict[str, Any], named: str) -> None:
    book = Playbook({"f.txt": "a\n"})
    reply = book.call("apply_patch", {"patch": update("-a", "+b"), **more})
    assert reply["error"] == "schema_invalid"
    assert named in reply["message"]


def test_a_base_is_of_one_file() -> None:
    reply = four().call("apply_patch", {"patch": FOUR, "base": "v3"})
    assert (reply["error"], reply["argument"]) == ("schema_invalid", "base")


def test_a_patch_is_needed() -> None:
    assert Playbook().call("apply_patch", {})["error"] == "schema_invalid"


# ── what the caller knows ────────────────────────────────────────────────────


def test_a_patch_without_sha_takes_its_text_as_proof_and_reports() -> None:
    book = Playbook({"f.txt": "a\nb\nc\n"})
    book.call("read_file", {"path": "f.txt"})
    book.write("f.txt", "new\na\nb\nc\n")
    reply = book.call("apply_patch", {"patch": update(" a", "-b", "+B")})
    assert (reply["ok"], book.text("f.txt")) == (True, "new\na\nB\nc\n")
    assert reply["files"][0]["changed_since_your_read"]


def test_a_sha_that_is_right_is_enough() -> None:
    book = four()
    expected = {path: sha256(book, path) for path in ("f.txt", "gone.txt", "old.py", "p.txt")} | {"dir/new.txt": ""}
    assert book.call("apply_patch", {"patch": FOUR, "expectedSha256ByPath": expected})["ok"]


@every("path", ["f.txt", "gone.txt", "old.py", "p.txt", "dir/new.txt"])
def test_a_sha_that_is_wrong_refuses_all(path: str) -> None:
    book = four()
    before = dict(book.files)
    reply = book.call("apply_patch", {"patch": FOUR, "expectedSha256ByPath": {path: "0" * 64}})
    assert (reply["error"], reply["path"], reply["expectedSha256"]) == ("stale_file", path, "0" * 64)
    assert reply["actualSha256"] == (sha256(book, path) if path in before else "")
    assert book.files == before


@every("path", ["f.txt", "gone.txt", "old.py", "p.txt"])
def test_the_sha_of_an_earlier_version_tells_who_changed_it(path: str) -> None:
    book = four()
    book.call("read_file", {"path": path})
    expected = {path: sha256(book, path)}
    book.write(path, book.files[path] + b"more\n")
    reply = book.call("apply_patch", {"patch": FOUR, "expectedSha256ByPath": expected})
    assert (reply["error"], reply["reason"], reply["suggested_action"]) == ("stale_file", "changed", "re-read_file")
    assert reply["changes"][0]["writer"]["type"] == "outside"
    assert (reply["expectedSha256"], reply["actualSha256"]) == (expected[path], sha256(book, path))
    assert book.text("f.txt") == "a\nb\nc\n" + "more\n" * (path == "f.txt")


def test_a_file_that_must_not_exist_must_not() -> None:
    book = Playbook({"f.txt": "a\n", "g.txt": "g\n"})
    add = envelope("*** Add File: f.txt", "+x")
    assert book.call("apply_patch", {"patch": add, "expectedSha256ByPath": {"f.txt": ""}})["error"] == "already_exists"
    for path in ("f.txt", "g.txt"):
        reply = book.call("apply_patch", {"patch": update("-a", "+b"), "expectedSha256ByPath": {path: ""}})
        assert (reply["error"], reply["path"]) == ("stale_file", path)
    assert book.text("f.txt") == "a\n"


def test_what_is_expected_of_other_files_must_be_so_too() -> None:
    book = Playbook({"f.txt": "a\n", "g.txt": "g\n"})
    patch = update("-a", "+b")
    for expected, code in (({"g.txt": "0" * 64}, "stale_file"), ({"h.txt": "0" * 64}, "not_found")):
        assert book.call("apply_patch", {"patch": patch, "expectedSha256ByPath": expected})["error"] == code
    expected = {"g.txt": sha256(book, "g.txt"), "h.txt": ""}
    assert book.call("apply_patch", {"patch": patch, "expectedSha256ByPath": expected})["ok"]


TEN = "".join(f"line {n}\n" for n in range(10))


def test_a_stale_patch_is_carried_over_what_others_did_when_asked() -> None:
    book = Playbook({"f.txt": TEN})
    book.call("read_file", {"path": "f.txt"})
    expected = {"f.txt": sha256(book)}
    book.write("f.txt", "top\n" + TEN)
    args = {"patch": update(" line 5", "-line 6", "+LINE 6"), "expectedSha256ByPath": expected}
    assert book.call("apply_patch", args)["error"] == "stale_file"
    reply = book.call("apply_patch", {**args, "on_stale": "rebase"})
    assert (reply["ok"], reply["cross_version"], len(reply["rebased_over"])) == (True, True, 1)
    assert book.text("f.txt") == "top\n" + TEN.replace("line 6", "LINE 6")


def test_a_conflict_with_what_others_did_is_shown_three_ways() -> None:
    book = Playbook({"f.txt": TEN})
    base = book.call("read_file", {"path": "f.txt"})["version"]
    book.write("f.txt", TEN.replace("line 6", "theirs"))
    args = {"patch": update("-line 6", "+mine"), "base": base, "on_stale": "rebase"}
    reply = book.call("apply_patch", args)
    assert reply["error"] == "stale_file"
    assert reply["conflict"] == {"base": ["line 6"], "theirs": ["theirs"], "yours": ["mine"]}


def test_a_base_that_is_not_the_newest_is_stale() -> None:
    book = Playbook({"f.txt": TEN})
    base = book.call("read_file", {"path": "f.txt"})["version"]
    patch = update("-line 6", "+mine")
    book.write("f.txt", "top\n" + TEN)
    assert book.call("apply_patch", {"patch": patch, "base": base})["error"] == "stale_file"
    fresh = book.call("read_file", {"path": "f.txt"})["version"]
    assert book.call("apply_patch", {"patch": patch, "base": fresh})["ok"]


def test_a_removal_without_text_is_of_what_the_caller_was_shown() -> None:
    book = Playbook({"f.txt": "a\n"})
    patch = envelope("*** Delete File: f.txt")
    book.call("read_file", {"path": "f.txt"})
    book.write("f.txt", "a\nwork of others\n")
    reply = book.call("apply_patch", {"patch": patch})
    assert (reply["error"], book.text("f.txt")) == ("stale_file", "a\nwork of others\n")
    book.call("read_file", {"path": "f.txt"})
    assert book.call("apply_patch", {"patch": patch})["ok"]


def test_the_setting_for_stale_calls_counts() -> None:
    settings = msgspec.convert({"edit": {"on_stale": "rebase"}}, Settings)
    book = Playbook({"f.txt": TEN}, settings)
    book.call("read_file", {"path": "f.txt"})
    expected = {"f.txt": sha256(book)}
    book.write("f.txt", "top\n" + TEN)
    assert book.call("apply_patch", {"patch": update("-line 6", "+x"), "expectedSha256ByPath": expected})["ok"]


# ── anything at all ──────────────────────────────────────────────────────────

FRAGMENTS = st.sampled_from(
    [
        *("*** Begin Patch", "*** End Patch", "*** Update File: f.txt", "*** Add File: n", "*** Delete File: f.txt"),
        *(
            "*** Move to: m",
            "*** Move File: f.txt -> m",
            "*** End of File",
            "@@",
            "@@ a",
            "@@ -1,2 +1,2 @@",
            "@@ -1 +1 @@",
        ),
        *(" a", "-a", "+a", "+b", "", " ", "-b", " b", "\\ No newline at end of file", "--- a/f.txt", "+++ b/f.txt"),
        *(
            "diff --git a/f.txt b/f.txt",
            "deleted file mode 100644",
            "new file mode 100644",
            "--- /dev/null",
            "x",
            "-- ",
        ),
    ]
)


@given(st.booleans(), st.lists(FRAGMENTS, max_size=14))
def test_no_patch_is_a_fault_and_a_refused_one_changes_nothing(wrapped: bool, lines: list[str]) -> None:
    book = Playbook({"f.txt": "a\nb\na"})
    patch = envelope("*** Update File: f.txt", *lines) if wrapped else "\n".join(lines)
    reply = book.call("apply_patch", {"patch": patch})
    if not reply["ok"]:
        assert book.files == {"f.txt": b"a\nb\na"}
        assert reply["error"] in {
            *("patch_parse_error", "patch_apply_error", "multiple_matches", "not_found", "already_exists"),
        }
