"""What an announced call makes of a file, in each way in which agents are known to write it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from announcing import PATH, call, cell_of, content, edit, hunks, patch, proved, replacing

from quire_daemon.tools.evidence.explanation import explain, explain_move

OLD = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"
NEW = OLD.replace("return 1", "return 11")
CRLF, NEW_CRLF = (text.replace("\n", "\r\n") for text in (OLD, NEW))
BOM = "\ufeff"
ONE_TO_ELEVEN = edit("    return 1", "    return 11")


# ── whole contents ───────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("before", "found", "said"),
    [
        (None, NEW, NEW),
        (None, "", ""),
        ("", NEW, NEW),
        (OLD, NEW, NEW),
        (OLD, "", ""),
        (OLD, NEW[:-1], NEW[:-1]),
        (OLD[:-1], NEW, NEW),
        (CRLF, NEW_CRLF, NEW),
        (CRLF, NEW, NEW),
        (CRLF, NEW_CRLF, NEW_CRLF),
        (BOM + OLD, BOM + NEW, NEW),
        (BOM + OLD, NEW, NEW),
        (BOM + CRLF, BOM + NEW_CRLF, NEW),
        (OLD, NEW, NEW[:-1]),
        (b"\x89PNG\0\0", NEW, NEW),
        (OLD, "a\0b\n", "a\0b\n"),
    ],
    ids=[
        "created",
        "created empty",
        "of an empty one",
        "written over",
        "emptied",
        "without a final newline",
        "with one where there was none",
        "the line ends of the file stay",
        "they do not",
        "they were said",
        "the mark stays",
        "the mark goes",
        "mark and line ends stay",
        "the tool ends the last line",
        "over a binary file",
        "a binary file",
    ],
)
def test_a_content_is_known_however_it_is_written(before: str | bytes | None, found: str, said: str) -> None:
    assert proved(before, found, content(said))


def test_a_content_that_says_other_text_than_was_written_proves_nothing() -> None:
    assert not proved(OLD, NEW, content(NEW.replace("11", "12")))
    assert not proved(OLD, NEW, content(NEW + "\n"))


def test_a_content_that_was_there_before_changes_nothing_and_proves_nothing() -> None:
    assert not proved(NEW, OLD, content(NEW))


def test_an_account_of_another_file_proves_nothing() -> None:
    assert not proved(OLD, NEW, content(NEW, "b.py"))
    assert not proved(OLD, NEW, content(NEW, "a.py"))
    assert not proved(OLD, NEW, content(NEW, "other/src/a.py"))


@pytest.mark.parametrize("name", ["src/a.py", "./src/a.py", "/home/ann/ws/src/a.py"])
def test_a_file_is_known_by_any_name_of_it(name: str) -> None:
    assert proved(OLD, NEW, content(NEW, name))


# ── replacements ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("before", "found", "edits"),
    [
        (OLD, NEW, [ONE_TO_ELEVEN]),
        (CRLF, NEW_CRLF, [ONE_TO_ELEVEN]),
        (CRLF, NEW_CRLF.replace("def one", "def uno"), [edit("def one():\n    return 1", "def uno():\n    return 11")]),
        (CRLF, NEW_CRLF, [edit("one():\r\n    return 1", "one():\r\n    return 11")]),
        (BOM + OLD, BOM + NEW, [ONE_TO_ELEVEN]),
        (OLD[:-1], NEW[:-1], [ONE_TO_ELEVEN]),
        (OLD, OLD.replace("return", "yield"), [edit("return", "yield", everywhere=True)]),
        (OLD, OLD.replace("return", "yield", 1), [edit("return", "yield")]),
        (OLD, NEW.replace("2", "22"), [ONE_TO_ELEVEN, edit("return 2", "return 22")]),
        (OLD, OLD.replace("return 1", "return 3"), [edit("return 1", "return 2"), edit("return 2", "return 3")]),
        (OLD, OLD.replace("    return 1\n", ""), [edit("    return 1\n", "")]),
        (OLD, OLD.replace("    return 1\n", ""), [edit("    return 1", "")]),
        (OLD, OLD.replace("    return 1\n", "\n"), [edit("    return 1", "")]),
        (OLD, "", [edit(OLD, "")]),
        (None, NEW, [edit("", NEW)]),
        ("", NEW, [edit("", NEW)]),
        ("a\r\nb\nc\n", "a\nB\nc\n", [edit("b", "B")]),
        (b"caf\xe9\none\n", "caf\ufffd\ntwo\n", [edit("one", "two")]),
        (b"caf\xe9\none\n", b"caf\xe9\ntwo\n", [edit("one", "two")]),
    ],
    ids=[
        "one",
        "CRLF",
        "CRLF over two lines",
        "CRLF as said",
        "mark",
        "no final newline",
        "everywhere",
        "the first of several",
        "two",
        "one of what the other made",
        "a line removed",
        "a line removed with its break",
        "a line removed without its break",
        "everything",
        "created",
        "of an empty one",
        "mixed line ends made one",
        "not UTF-8, as it was read",
        "not UTF-8, kept",
    ],
)
def test_replacements_are_known_however_they_are_made(
    before: str | bytes | None, found: str | bytes, edits: list[dict[str, Any]]
) -> None:
    assert proved(before, found, replacing(*edits))


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("def one():\n  return 1", "def one():\n    return 11", NEW),
        ("def one():   \n    return 1\n", "def one():\n    return 11\n", NEW),
        ("return 1\n\n\n\ndef two", "return 11\n\n\ndef two", NEW),
        ("return   1", "return 11", NEW),
        ("def one():\nreturn 1", "def one():\nreturn 11", NEW),
    ],
    ids=["indented otherwise", "blanks at an end", "another blank line", "blanks within", "new text indented"],
)
def test_a_text_that_was_found_but_for_its_blanks_is_known(old: str, new: str, found: str) -> None:
    """Gemini and opencode look for it in such ways, and may indent what comes in its place."""
    assert OLD.count(old) == 0
    assert proved(OLD, found, replacing(edit(old, new)))


def test_a_text_that_was_found_but_for_its_quotes_is_known() -> None:
    assert proved("say “hi” now\n", "say “ho” now\n", replacing(edit('say "hi"', 'say "ho"')))
    assert proved("it’s\nb\n", "it is\nb\n", replacing(edit("it's", "it is")))


def test_blanks_alone_are_known_only_as_they_were_said() -> None:
    """Anybody may have set them otherwise."""
    assert not proved("if x:\n  a()\n", "if x:\n      a()\n", replacing(edit("  a()", "    a()")))
    assert proved("if x:\n  a()\n", "if x:\n    a()\n", replacing(edit("  a()", "    a()")))


def test_more_than_the_edit_is_not_the_edit() -> None:
    more = NEW.replace("two", "three")
    assert not proved(OLD, more, replacing(ONE_TO_ELEVEN))
    assert not proved(OLD, more, replacing(edit("return   1", "return   11")))


def test_a_text_that_is_not_there_replaces_nothing() -> None:
    assert not proved(OLD, NEW, replacing(edit("return 3", "return 11")))
    assert not proved(OLD, NEW, replacing(ONE_TO_ELEVEN, edit("return 3", "return 4")))


# ── patches ──────────────────────────────────────────────────────────────────

UPDATE = (f"*** Update File: {PATH}", "@@", " def one():", "-    return 1", "+    return 11")


@pytest.mark.parametrize(
    ("before", "found"),
    [(OLD, NEW), (OLD[:-1], NEW), ("x\n" + OLD + OLD, "x\n" + NEW + OLD)],
    ids=["updated", "the last line is ended", "the first place"],
)
def test_a_patch_is_known_as_codex_applies_it(before: str, found: str) -> None:
    assert proved(before, found, patch(*UPDATE))


def test_a_patch_whose_context_has_other_blanks_writes_the_context_of_the_patch() -> None:
    assert proved(OLD.replace("one():", "one():  "), NEW, patch(*UPDATE))
    assert proved("say “one”\nb\n", 'say "one"\nB\n', patch(f"*** Update File: {PATH}", "@@", ' say "one"', "-b", "+B"))


def test_a_patch_of_crlf_lines_leaves_them_with_lf_where_it_touches_them() -> None:
    assert proved(CRLF, CRLF.replace("def one():\r\n    return 1\r\n", "def one():\n    return 11\n"), patch(*UPDATE))


def test_hunks_stand_behind_their_headers_and_one_behind_the_other() -> None:
    rows = ("@@ def two():", "-    return 1", "+    return 3", "@@", "+end")
    before = "def one():\n    return 1\ndef two():\n    return 1\n"
    after = "def one():\n    return 1\ndef two():\n    return 3\nend\n"
    assert proved(before, after, patch(f"*** Update File: {PATH}", *rows))


def test_files_are_added_and_removed_by_a_patch() -> None:
    assert proved(None, "a\n\nb\n", patch(f"*** Add File: {PATH}", "+a", "+", "+b"))
    assert proved(OLD, None, patch(f"*** Delete File: {PATH}"))
    assert not proved(None, None, patch(f"*** Delete File: {PATH}"))


def test_a_patch_that_moves_and_changes_a_file_accounts_for_both_names() -> None:
    moving = call(1, patch("*** Update File: src/old.py", f"*** Move to: {PATH}", *UPDATE[1:]))
    there = explain(
        PATH, None, NEW.encode(), [moving], lambda path: iter([OLD.encode()] if path == "src/old.py" else [])
    )
    gone = explain("src/old.py", OLD.encode(), None, [moving])
    assert there.proved
    assert gone.proved
    found = explain_move("src/old.py", PATH, OLD.encode(), NEW.encode(), [moving])
    assert found is not None
    assert found.burst == 1


def test_a_renamed_file_that_holds_other_bytes_is_not_the_patchs() -> None:
    moving = call(1, patch("*** Update File: src/old.py", f"*** Move to: {PATH}", *UPDATE[1:]))
    assert explain_move("src/old.py", PATH, OLD.encode(), OLD.encode(), [moving]) is None
    assert explain_move("src/else.py", PATH, OLD.encode(), NEW.encode(), [moving]) is None


def test_one_patch_accounts_for_each_of_its_files() -> None:
    payload = patch(*UPDATE, "*** Add File: b.py", "+new")
    assert proved(OLD, NEW, payload)
    found = explain("b.py", None, b"new\n", [call(1, payload)])
    assert found.proved


def test_several_patches_of_one_command_are_read() -> None:
    both = patch("*** Add File: b.py", "+new")["text"] + patch(*UPDATE)["text"]
    assert proved(OLD, NEW, {"kind": "patch", "text": both})


def test_a_unified_diff_is_a_patch_too() -> None:
    rows = [f"--- a/{PATH}", f"+++ b/{PATH}", "@@ -1,2 +1,2 @@", " def one():", "-    return 1", "+    return 11", ""]
    assert proved(OLD, NEW, {"kind": "patch", "text": "\n".join(rows)})


@pytest.mark.parametrize("text", ["", "no patch", "*** Begin Patch\n*** Update File: src/a.py\n@@\n?\n*** End Patch\n"])
def test_what_is_no_patch_proves_nothing(text: str) -> None:
    assert not proved(OLD, NEW, {"kind": "patch", "text": text})


# ── what an agent tells afterwards ───────────────────────────────────────────

CHANGED = (1, [" def one():", "-    return 1", "+    return 11", " ", " ", " def two():"])


@pytest.mark.parametrize(
    ("before", "said", "found"),
    [
        (OLD, OLD, NEW),
        (CRLF, OLD, NEW_CRLF),
        (CRLF, CRLF, NEW_CRLF),
        (BOM + OLD, OLD, NEW),
        (BOM + OLD, OLD, BOM + NEW),
        (BOM + OLD, BOM + OLD, BOM + NEW),
    ],
    ids=["as it was", "without CR", "with CR", "mark that goes", "mark that is not told", "mark"],
)
def test_what_came_of_an_edit_is_known_by_what_it_changed_and_where(before: str, said: str, found: str) -> None:
    told = (1, [row.replace(" def one", f" {BOM}def one") if said.startswith(BOM) else row for row in CHANGED[1]])
    assert proved(before, found, hunks(said, told))


def test_the_end_of_a_file_without_a_newline_is_told() -> None:
    told = (2, ["-b", "\\ No newline at end of file", "+c", "\\ No newline at end of file"])
    assert proved("a\nb", "a\nc", hunks("a\nb", told))
    assert proved("a\nb", "a\nb\n", hunks("a\nb", (2, ["-b", "\\ No newline at end of file", "+b"])))


def test_an_agent_that_found_another_text_changed_another_text() -> None:
    assert not proved(OLD + "more\n", NEW + "more\n", hunks(OLD, CHANGED))


def test_hunks_that_do_not_fit_what_the_agent_found_prove_nothing() -> None:
    assert not proved(OLD, NEW, hunks(OLD, (2, CHANGED[1])))
    assert not proved(OLD, NEW, hunks(OLD))


def test_hunks_without_the_old_text_prove_nothing() -> None:
    """A person's save may be in them."""
    assert not proved(OLD, NEW, hunks(None, CHANGED))


def test_any_account_of_a_call_that_fits_is_evidence() -> None:
    assert proved(OLD, NEW, replacing(edit("nowhere", "nothing")), hunks(OLD, CHANGED))


def test_a_removal_is_known() -> None:
    assert proved(OLD, None, {"kind": "removed", "path": PATH})
    assert not proved(OLD, "", {"kind": "removed", "path": PATH})


# ── notebooks ────────────────────────────────────────────────────────────────


def notebook(*cells: dict[str, Any], **more: Any) -> str:
    return json.dumps({"cells": list(cells), "nbformat": 4, **more}, indent=1)


def code(id: str, *source: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "cell_type": "code", "source": list(source), "outputs": [], **more}


A, B = code("a", "x = 1\n", "y = 2"), code("b", "z = 3", outputs=[{"text": ["3"]}])


@pytest.mark.parametrize(
    ("told", "after"),
    [
        (cell_of("b", "z = 4"), [A, code("b", "z = 4")]),
        (cell_of("cell-1", "z = 4"), [A, code("b", "z = 4")]),
        (cell_of("b", "z = 4\nw = 5"), [A, code("b", "z = 4\n", "w = 5")]),
        (cell_of("a", "new", "insert", "code"), [A, code("c9", "new"), B]),
        (cell_of("", "new", "insert", "markdown"), [{**code("c9", "new"), "cell_type": "markdown"}, A, B]),
        (cell_of("a", mode="delete"), [B]),
        (cell_of("b", "# z", type="markdown"), [A, {"id": "b", "cell_type": "markdown", "source": "# z"}]),
    ],
    ids=["replaced", "by number", "several lines", "inserted", "inserted first", "deleted", "of another type"],
)
def test_a_cell_of_a_notebook_is_known(told: dict[str, Any], after: list[dict[str, Any]]) -> None:
    assert proved(notebook(A, B), notebook(*after), told)


@pytest.mark.parametrize(
    "after",
    [
        notebook(code("a", "other"), code("b", "z = 4")),
        notebook(A, code("b", "z = 5")),
        notebook(A, code("b", "z = 4"), nbformat_minor=5),
        notebook(A, code("b", "z = 4"), code("c")),
        "[]",
        "no notebook",
    ],
    ids=["another cell, too", "another source", "the notebook, too", "one more", "no cells", "no JSON"],
)
def test_a_notebook_with_another_change_is_not_the_calls(after: str) -> None:
    assert not proved(notebook(A, B), after, cell_of("b", "z = 4"))
