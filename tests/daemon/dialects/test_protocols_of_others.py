"""Protocols as agents know them: what comes of the calls that other tools' users send, and where Quire differs.

A difference is on purpose, and names the rule that asks for it.
"""

from __future__ import annotations

from typing import Any

import pytest
from patches import update

from memory_daemon import MemoryDaemon

Files = dict[str, str]

NO_REPAIR = "no silent repair: near matches are never acted on"
ONE_PLACE = "each hunk has one place, or it is `multiple_matches`"
KEPT_END = "whether the last line has a break is a property of the file, and kept"
NEVER_OVER = "nothing is overwritten unasked: `already_exists`, `write_conflict`"
SNAPSHOT = "every text is matched against the file as it was (seed 004)"


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def patched(files: Files, text: str) -> Files | str:
    """What the files are after a patch; or the code of its refusal, which leaves them as they were."""
    daemon = MemoryDaemon(files)
    reply = daemon.ask("apply_patch", {"patch": text})
    after = {path: daemon.read(path) or "" for path in daemon.files}
    assert reply["ok"] or after == files
    return after if reply["ok"] else str(reply["error"])


TWO_CLASSES = "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n"


@pytest.mark.parametrize(
    ("files", "lines", "wanted"),
    [
        ({}, ["*** Add File: new.md", "+one", "+", "+two"], {"new.md": "one\n\ntwo\n"}),
        ({}, ["*** Add File: empty"], {"empty": ""}),
        ({"f.txt": "a\n"}, ["*** Delete File: f.txt"], {}),
        ({"f.txt": "a\n"}, ["*** Update File: f.txt", "*** Move to: n/g", "@@", "-a", "+b"], {"n/g": "b\n"}),
        (
            {"gone": "x\n", "f.txt": "a\nb\n"},
            ["*** Add File: n", "+c", "*** Delete File: gone", "*** Update File: f.txt", "@@", "-b", "+B"],
            {"f.txt": "a\nB\n", "n": "c\n"},
        ),
        (
            {"f.txt": "1\n2\n3\n4\n"},
            ["*** Update File: f.txt", "@@", "-2", "+b", "@@", "-4", "+d"],
            {"f.txt": "1\nb\n3\nd\n"},
        ),
        ({"f.txt": "naïve – café\n"}, ["*** Update File: f.txt", "@@", "-naïve – café", "+✅"], {"f.txt": "✅\n"}),
        ({"f.txt": "1\n2\n3\n"}, ["*** Update File: f.txt", "@@", " 1", "-2", " 3"], {"f.txt": "1\n3\n"}),
        ({"f.txt": "a\n"}, ["*** Update File: f.txt", "@@", "-a"], {"f.txt": ""}),
        ({"f.txt": "a\nb\n"}, ["*** Update File: f.txt", " a", "-b", "+c"], {"f.txt": "a\nc\n"}),
        ({"f.txt": "a\n\nb\n"}, ["*** Update File: f.txt", "@@", " a", "", "-b", "+c"], {"f.txt": "a\n\nc\n"}),
        ({"f.txt": "old\n"}, ["  *** Update File: f.txt  ", "@@", "-old", "+new"], {"f.txt": "new\n"}),
        (
            {"f.txt": TWO_CLASSES},
            ["*** Update File: f.txt", "@@ class B:", "@@     def f(self):", "-        return 1", "+        return 2"],
            {"f.txt": TWO_CLASSES[:-2] + "2\n"},
        ),
        (
            {"f.txt": "a\nb\n"},
            ["*** Update File: f.txt", "@@", " b", "+c", "*** End of File"],
            {"f.txt": "a\nb\nc\n"},
        ),
        ({"f.txt": "x\na\nx\n"}, ["*** Update File: f.txt", "@@", " a", "-x", "+y"], {"f.txt": "x\na\ny\n"}),
        ({"f.txt": "1\n2\n"}, ["*** Update File: f.txt", "@@", "+a", "+b"], {"f.txt": "1\n2\na\nb\n"}),
        (
            {"f.txt": "1\n2\n3\n"},
            ["*** Update File: f.txt", "@@", "+a", "@@", " 1", "-2", "-3", "+R"],
            {"f.txt": "1\nR\na\n"},
        ),
        ({"f.txt": "a\nb\n"}, ["*** Update File: f.txt", "@@", " a", "-b", "+c", " "], {"f.txt": "a\nc\n"}),
        ({}, [], "patch_parse_error"),
        ({"f.txt": "a\n"}, ["*** Update File: f.txt"], "patch_parse_error"),
        ({"f.txt": "a\n"}, ["*** Update File: f.txt", "@@"], "patch_parse_error"),
        ({"f.txt": "a\n"}, ["*** Frobnicate File: f.txt"], "patch_parse_error"),
        ({"f.txt": "a\n"}, ["*** Update File: f.txt", "@@", "-b", "+c"], "patch_apply_error"),
        ({}, ["*** Update File: f.txt", "@@", "-b", "+c"], "not_found"),
        ({}, ["*** Delete File: f.txt"], "not_found"),
        ({"d/f": "a\n"}, ["*** Delete File: d"], "not_a_file"),
    ],
)
def test_an_envelope_is_taken_as_codex_takes_it(files: Files, lines: list[str], wanted: Files | str) -> None:
    assert patched(files, patch(*lines)) == wanted


@pytest.mark.parametrize(
    ("files", "lines", "ours", "rule"),
    [
        ({"f.txt": "a"}, ["*** Update File: f.txt", "@@", "-a", "+b"], {"f.txt": "b"}, KEPT_END),
        ({"f.txt": "a"}, ["*** Update File: f.txt", "@@", "+b"], {"f.txt": "a\nb"}, KEPT_END),
        ({"f.txt": "a  \n"}, ["*** Update File: f.txt", "@@", "-a", "+b"], "patch_apply_error", NO_REPAIR),
        ({"f.txt": "a – b\n"}, ["*** Update File: f.txt", "@@", "-a - b", "+c"], "patch_apply_error", NO_REPAIR),
        ({"f.txt": "a\na\n"}, ["*** Update File: f.txt", "@@", "-a", "+b"], "multiple_matches", ONE_PLACE),
        ({"f.txt": "a\n"}, ["*** Add File: f.txt", "+b"], "already_exists", NEVER_OVER),
        ({"f.txt": "a\n", "g": "b\n"}, ["*** Update File: f.txt", "*** Move to: g"], "already_exists", NEVER_OVER),
        (
            {"f.txt": "a\n"},
            ["*** Add File: n", "+n", "*** Update File: f.txt", "@@", "-z", "+y"],
            "patch_apply_error",
            "all files or none",
        ),
        (
            {"f.txt": "a\n"},
            ["*** Update File: f.txt", "@@ def f(): @@", "-a", "+b"],
            "patch_apply_error",
            "a header is a line of the file",
        ),
    ],
)
def test_an_envelope_is_not_taken_as_codex_takes_it(
    files: Files, lines: list[str], ours: Files | str, rule: str
) -> None:
    assert patched(files, patch(*lines)) == ours, rule


def diff(*lines: str, old: str = "f.txt", new: str = "f.txt") -> str:
    return "\n".join([f"--- {old}", f"+++ {new}", "@@ ... @@", *lines]) + "\n"


@pytest.mark.parametrize(
    ("files", "text", "wanted"),
    [
        ({"f.txt": "a\nb\nc\n"}, diff(" a", "-b", "+B", " c"), {"f.txt": "a\nB\nc\n"}),
        ({"f.txt": "a\n\nb\n"}, diff(" a", "", "-b", "+c"), {"f.txt": "a\n\nc\n"}),
        ({"f.txt": "a\nb\nc\n"}, diff("-a", "+A") + "@@ ... @@\n-c\n+C\n", {"f.txt": "A\nb\nC\n"}),
        ({"f.txt": "a\n"}, diff("+b"), {"f.txt": "a\nb\n"}),
        ({}, diff("+a", "+b", old="/dev/null", new="n"), {"n": "a\nb\n"}),
        ({"f.txt": "a\nb\n"}, diff("-a", "-b", new="/dev/null"), {}),
        ({"f.txt": "a\n"}, diff("-a", "+b", old="a/f.txt", new="b/f.txt"), {"f.txt": "b\n"}),
        ({"f.txt": "a\n"}, diff("-z", "+b"), "patch_apply_error"),
        ({"f.txt": "  a\n"}, diff("-a", "+b"), "patch_apply_error"),  # `NO_REPAIR`; aider goes on to look for it
        ({"f.txt": "a\na\n"}, diff("-a", "+b"), "multiple_matches"),  # `ONE_PLACE`; aider refuses as well
        ({"f.txt": "a\n"}, f"```diff\n{diff('-a', '+b')}```\n", "patch_parse_error"),  # a patch is not Markdown
    ],
)
def test_a_diff_is_taken_as_aider_writes_it(files: Files, text: str, wanted: Files | str) -> None:
    assert patched(files, text) == wanted


def edited(text: str, *calls: dict[str, Any]) -> tuple[str, str | None]:
    """The code of the last of these calls of `text_editor` on f.txt, and the text."""
    daemon = MemoryDaemon({"f.txt": text})
    reply: dict[str, Any] = {}
    for call in calls:
        reply = daemon.ask("text_editor", {"path": "f.txt", **call})
    return str(reply.get("error", "")), daemon.read("f.txt")


def replace(old: str, new: str) -> dict[str, Any]:
    return {"command": "str_replace", "old_str": old, "new_str": new}


def insert(line: int, text: str) -> dict[str, Any]:
    return {"command": "insert", "insert_line": line, "new_str": text}


UNDO = {"command": "undo_edit"}
ABC = "a\nb\nc\n"


@pytest.mark.parametrize(
    ("text", "calls", "code", "after"),
    [
        (ABC, [replace("b\n", "B\n")], "", "a\nB\nc\n"),
        (ABC, [{"command": "str_replace", "old_str": "b\n"}], "", "a\nc\n"),
        ("\ta\n", [replace("\ta", "\tb")], "", "\tb\n"),
        ("a\r\nb\r\n", [replace("a\nb", "x\ny")], "", "x\r\ny\r\n"),
        (ABC, [replace("z", "x")], "old_text_not_found", ABC),
        ("x\nx\n", [replace("x", "y")], "multiple_matches", "x\nx\n"),
        (ABC, [replace("", "y")], "empty_old_text", ABC),
        (ABC, [insert(0, "x")], "", "x\na\nb\nc\n"),
        (ABC, [insert(2, "x\ny")], "", "a\nb\nx\ny\nc\n"),
        (ABC, [insert(3, "x")], "", "a\nb\nc\nx\n"),
        (ABC, [insert(4, "x")], "line_out_of_range", ABC),
        (ABC, [insert(-1, "x")], "line_out_of_range", ABC),
        (ABC, [replace("b", "B"), UNDO], "", ABC),
        (ABC, [replace("b", "B"), replace("B", "BB"), UNDO, UNDO], "", ABC),
        (ABC, [UNDO], "not_found", ABC),
        (ABC, [{"command": "create", "file_text": "x\n"}], "write_conflict", ABC),
        (ABC, [{"command": "create"}], "schema_invalid", ABC),
        (ABC, [{"command": "view", "view_range": [3, 2]}], "schema_invalid", ABC),
        (ABC, [{"command": "jump"}], "schema_invalid", ABC),
        # Where it differs: `NO_REPAIR` for blanks around a text; what changes nothing is said so, not refused.
        (ABC, [replace("  b  ", "x")], "old_text_not_found", ABC),
        (ABC, [replace("b", "b")], "", ABC),
    ],
)
def test_the_editor_is_taken_as_openhands_takes_it(
    text: str, calls: list[dict[str, Any]], code: str, after: str
) -> None:
    assert edited(text, *calls) == (code, after)


@pytest.mark.parametrize(
    ("text", "edits", "after", "rule"),
    [
        ("1\n2\n3\n", [("2", "two")], "1\ntwo\n3\n", ""),
        ("a $1 b\n", [("$1", "$& $$")], "a $& $$ b\n", ""),
        ("a\nb\n", [("a\n", "")], "b\n", ""),
        ("a\r\nb\r\n", [("a\nb", "x\ny")], "x\r\ny\r\n", ""),
        ("a 1\nb 1\n", [("a 1", "A"), ("b 1", "B")], "A\nB\n", ""),
        ("a\n", [("z", "b")], None, ""),
        ("a\n", [("a", "b"), ("b", "c")], None, SNAPSHOT),
        ("a\na\n", [("a", "b")], None, "a text must be there exactly once (seed 004)"),
        ("  a\n    b\n", [("a\nb", "x\ny")], None, NO_REPAIR),
    ],
)
def test_edits_for_mcps_filesystem_server_come_back_as_a_call_that_would_do(
    text: str, edits: list[tuple[str, str]], after: str | None, rule: str
) -> None:
    daemon = MemoryDaemon({"f.txt": text})
    sent = [{"oldText": old, "newText": new} for old, new in edits]
    reply = daemon.ask("edit_file", {"path": "f.txt", "edits": sent, "dryRun": False})
    assert (reply["error"], daemon.read("f.txt"), "call" in reply) == ("schema_invalid", text, after is not None), rule
    if after is not None:
        assert daemon.ask(reply["call"]["tool"], reply["call"]["args"])["ok"]
        assert daemon.read("f.txt") == after


def test_the_first_of_several_is_taken_where_a_seed_asks_for_it_and_said() -> None:
    daemon = MemoryDaemon({"f.txt": "a\na\n"})
    reply = daemon.ask("edit_replace", {"path": "f.txt", "old_text": "a", "new_text": "b"})
    assert (reply["ok"], daemon.read("f.txt"), len(reply["warnings"])) == (True, "b\na\n", 1)


def test_a_patch_in_a_here_document_is_the_patch_in_it() -> None:
    assert patched({"f.txt": "a\n"}, f"<<'EOF'\n{update('-a', '+b')}\nEOF\n") == {"f.txt": "b\n"}
