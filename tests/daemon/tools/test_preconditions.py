"""What must be true of a file before a tool works on it: a refusal names the file, and says what is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon
from quire_daemon.config.settings import Limits, Settings

EDIT: dict[str, Any] = {"path": "f.txt", "old_text": "a", "new_text": "b"}
DELETE = {"path": "f.txt"}


def refused(reply: dict[str, Any], *names: str) -> tuple[Any, ...]:
    """The code, and what else is told under these names."""
    return (reply["error"], *(reply[name] for name in names))


def test_a_text_at_the_limits_is_edited_and_one_beyond_them_is_refused_with_both_numbers() -> None:
    within = Settings(limits=Limits(edit_bytes=6, edit_lines=3))
    daemon = MemoryDaemon({"f.txt": "a\nb\nc\n", "long.txt": "abcdef\n", "lines.txt": "a\n\n\n\n"}, within)
    assert daemon.ask("edit_replace", {**EDIT, "old_text": "c", "new_text": "d"})["ok"]
    large = daemon.ask("edit_replace", {**EDIT, "path": "long.txt"})
    assert refused(large, "path", "sizeBytes", "limit") == ("file_too_large", "long.txt", 7, 6)
    lines = daemon.ask("edit_replace", {**EDIT, "path": "lines.txt"})
    assert refused(lines, "path", "lineCount", "limit") == ("file_too_large", "lines.txt", 4, 3)
    result = daemon.ask("edit_replace", {**EDIT, "new_text": "aa"})
    assert refused(result, "path", "sizeBytes", "limit") == ("file_too_large", "f.txt", 7, 6)
    more = daemon.ask("edit_replace", {**EDIT, "old_text": "d\n", "new_text": "\n\n"})
    assert refused(more, "path", "lineCount", "limit") == ("file_too_large", "f.txt", 4, 3)


def test_what_is_no_text_is_left_alone() -> None:
    daemon = MemoryDaemon({"f.txt": b"a\0"})
    assert refused(daemon.ask("edit_replace", EDIT), "path") == ("binary_file", "f.txt")


def test_of_a_file_that_went_it_is_told_how() -> None:
    daemon = MemoryDaemon({"f.txt": "a\n", "g.txt": "a\n"})
    assert daemon.ask("delete_file", DELETE, by="ben")["ok"]
    moved = daemon.ask("move_file", {"path": "g.txt", "to": "h.txt"}, by="ben")["version"]
    reply = daemon.ask("edit_replace", EDIT)
    assert refused(reply, "path") == ("not_found", "f.txt")
    assert reply["message"].startswith("f.txt does not exist. It was removed by ben")
    reply = daemon.ask("edit_replace", {**EDIT, "path": "g.txt"})
    assert reply["message"].startswith("g.txt does not exist. It was moved to h.txt by ben")
    assert reply["message"].endswith(f", in {moved}.")
    assert daemon.ask("edit_replace", {**EDIT, "path": "i.txt"})["message"] == "i.txt does not exist."


def test_of_a_file_that_git_removed_its_command_is_told() -> None:
    daemon = MemoryDaemon({"f.txt": "a\n", "g.txt": "a\n"})
    daemon.by_git("git: reset: moving to HEAD~1 (HEAD main 1 -> main 2)", **{"f.txt": None})
    reply = daemon.ask("blame", {"path": "f.txt"})
    assert reply["message"].startswith("f.txt does not exist. It was removed by git reset at ")
    assert daemon.ask("why", {"path": "f.txt"})["message"].startswith("f.txt was removed by git reset in ")
    daemon.by_git("git: index.lock was held", **{"g.txt": None})
    assert "It was removed by git at " in daemon.ask("blame", {"path": "g.txt"})["message"]


def test_what_is_no_file_is_named_with_what_it_is() -> None:
    daemon = MemoryDaemon({"folder/f.txt": "a\n"})
    reply = daemon.ask("edit_replace", {**EDIT, "path": "folder"})
    assert (*refused(reply, "path"), reply["message"]) == ("not_a_file", "folder", "folder is a folder.")


@pytest.mark.parametrize("tool", ["delete_file", "move_file"])
def test_a_link_is_told_with_its_target(tool: str) -> None:
    daemon = MemoryDaemon({"f.txt": "a\n"})
    daemon.files.link("link", "f.txt")
    args = {"path": "link"} if tool == "delete_file" else {"path": "link", "to": "new.txt"}
    assert refused(daemon.ask(tool, args), "path", "target") == ("not_a_file", "link", "f.txt")


def test_the_refusal_of_a_taken_or_invalid_name_names_the_file() -> None:
    daemon = MemoryDaemon({"f.txt": "a\n", "g.txt": "b\n"})
    taken = daemon.ask("move_file", {"path": "f.txt", "to": "g.txt"})
    assert refused(taken, "path", "to") == ("already_exists", "f.txt", "g.txt")
    folder = daemon.ask("write_file", {"path": "new/", "content": "x\n"})
    assert refused(folder, "path") == ("not_a_file", "new")


@pytest.mark.parametrize("tool", ["delete_file", "edit_replace"])
def test_bytes_that_are_not_in_the_journal_go_only_when_that_is_allowed_and_with_a_warning(tool: str) -> None:
    args = DELETE if tool == "delete_file" else {**EDIT, "old_text": "key"}
    daemon = MemoryDaemon({"f.txt": "key\n"})
    daemon.keep_secret("f.txt")
    reply = daemon.ask(tool, args)
    assert refused(reply, "path", "why") == ("uncaptured", "f.txt", "secret")
    assert "(secret): there would be no undo." in reply["message"]
    done = daemon.ask(tool, {**args, "allow_uncaptured": True})
    assert (done["ok"], [one["type"] for one in done["warnings"] if "undo" in one["message"]]) == (True, ["uncaptured"])
