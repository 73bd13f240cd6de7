"""Who changes or deletes what it was never shown is told so, unless its call shows that it knows the text."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon

FOUR = "1\n2\n3\n4\n"
NUMBERS: list[tuple[str, dict[str, Any]]] = [
    ("replace_lines", {"file": "f.txt", "start_line": 2, "end_line": 3, "new_text": "x"}),
    ("insert_lines", {"file": "f.txt", "line_number": 2, "text": "x"}),
    ("text_editor", {"command": "insert", "path": "f.txt", "insert_line": 2, "new_str": "x"}),
]
WHOLE: list[tuple[str, dict[str, Any]]] = [
    ("delete_file", {"path": "f.txt"}),
    ("hashline_edit", {"path": "f.txt", "edits": [], "delete": True}),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Delete File: f.txt\n*** End Patch\n"}),
]
PROVEN: list[tuple[str, dict[str, Any]]] = [
    ("edit_replace", {"file": "f.txt", "old_text": "2\n", "new_text": "x\n"}),
    ("insert_lines", {"file": "f.txt", "line_number": 0, "text": "x"}),
    ("insert_lines", {"file": "f.txt", "line_number": -1, "text": "x"}),
    ("text_editor", {"command": "insert", "path": "f.txt", "insert_line": 0, "new_str": "x"}),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Update File: f.txt\n@@\n 1\n-2\n+x\n 3\n*** End Patch\n"}),
    ("apply_patch", {"patch": "--- a/f.txt\n+++ /dev/null\n@@ -1,4 +0,0 @@\n-1\n-2\n-3\n-4\n"}),
]


def warned(reply: dict[str, Any]) -> list[str]:
    """The types of the warnings, of all files of the reply."""
    assert reply["ok"], reply
    told = [*reply.get("warnings", ()), *(w for file in reply.get("files", ()) for w in file.get("warnings", ()))]
    return [warning["type"] for warning in told]


@pytest.mark.parametrize(("tool", "args"), [*NUMBERS, *WHOLE])
def test_a_file_that_was_never_read_is_changed_with_a_warning(tool: str, args: dict[str, Any]) -> None:
    daemon = MemoryDaemon({"f.txt": FOUR})
    reply = daemon.ask(tool, args)
    assert set(warned(reply)) == {"never_read"}
    assert daemon.read("f.txt") != FOUR


@pytest.mark.parametrize(("tool", "args"), [*NUMBERS, *WHOLE])
def test_who_read_it_is_not_warned(tool: str, args: dict[str, Any]) -> None:
    daemon = MemoryDaemon({"f.txt": FOUR})
    daemon.ask("read_file", {"path": "f.txt"})
    assert warned(daemon.ask(tool, args)) == []


@pytest.mark.parametrize(("tool", "args"), [*NUMBERS, *WHOLE])
def test_what_another_read_does_not_count(tool: str, args: dict[str, Any]) -> None:
    daemon = MemoryDaemon({"f.txt": FOUR})
    daemon.ask("read_file", {"path": "f.txt"}, by="bob")
    assert set(warned(daemon.ask(tool, args))) == {"never_read"}


@pytest.mark.parametrize(("tool", "args"), [*NUMBERS, *WHOLE[:2]])
def test_who_names_the_version_is_not_warned(tool: str, args: dict[str, Any]) -> None:
    daemon = MemoryDaemon({"f.txt": FOUR})
    base = daemon.ask("read_file", {"path": "f.txt"}, by="bob")["version"]
    assert warned(daemon.ask(tool, {**args, "base": base})) == []


@pytest.mark.parametrize(("tool", "args"), PROVEN)
def test_a_call_that_shows_that_it_knows_the_text_is_not_warned(tool: str, args: dict[str, Any]) -> None:
    assert warned(MemoryDaemon({"f.txt": FOUR}).ask(tool, args)) == []


def test_who_made_the_file_knows_it() -> None:
    daemon = MemoryDaemon()
    assert warned(daemon.ask("write_file", {"path": "f.txt", "content": FOUR})) == []
    assert warned(daemon.ask(*NUMBERS[0])) == []
    assert warned(daemon.ask(*WHOLE[0])) == []


def test_a_dry_run_warns_as_well() -> None:
    daemon = MemoryDaemon({"f.txt": FOUR})
    assert warned(daemon.ask("delete_file", {"path": "f.txt", "dry_run": True})) == ["never_read"]
    assert daemon.read("f.txt") == FOUR
