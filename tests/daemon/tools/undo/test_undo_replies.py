"""What undo, redo, rollback and restore answer of a file is what every writing tool answers."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon

FIVE = "one 1\ntwo 2\nthree 3\nfour 4\nfive 5\n"

FIELDS = (
    *("path", "version", "sha256", "sizeBytes", "writer_type", "baseline_continuity", "operations_applied"),
    *("lines_before", "lines_after", "net_lines", "changed", "anchors_valid_through", "must_refresh_from_line", "diff"),
    *("safety_status", "warnings"),
)
"""What the contract promises of a success."""


def replace(daemon: MemoryDaemon, old: str, new: str, by: str = "ann") -> dict[str, Any]:
    """An edit of f.txt that is made."""
    reply = daemon.ask("edit_replace", {"path": "f.txt", "old_text": old, "new_text": new}, by=by)
    assert reply["ok"], reply
    return reply


def opened() -> tuple[MemoryDaemon, str]:
    """A file that ann has read and then changed in its fourth line, and the version that she read."""
    daemon = MemoryDaemon({"f.txt": FIVE})
    version = daemon.ask("read_file", {"path": "f.txt", "hashes": True})["version"]
    replace(daemon, "four 4", "FOUR")
    return daemon, str(version)


@pytest.mark.parametrize("tool", ["edit_replace", "undo", "rollback", "restore", "redo"])
def test_of_one_file_the_reply_says_all_that_an_edit_says(tool: str) -> None:
    daemon, version = opened()
    if tool == "redo":
        assert daemon.ask("undo", {})["ok"]
    args = {
        "edit_replace": {"path": "f.txt", "old_text": "FOUR", "new_text": "four 4"},
        "rollback": {"to": version},
        "restore": {"path": "f.txt", "at": version},
    }
    reply = daemon.ask(tool, args.get(tool, {}))
    assert reply["ok"], reply
    for told in (reply, *reply.get("files", ())):
        assert [name for name in FIELDS if name not in told] == []
        assert (told["anchors_valid_through"], told["must_refresh_from_line"]) == (3, 4)
        assert (told["operations_applied"], told["warnings"]) == (1, [])


def test_anchors_hold_up_to_what_differs_from_what_the_caller_knows_whoever_changed_it() -> None:
    daemon, _ = opened()
    replace(daemon, "two 2", "TWO", by="ben")
    assert daemon.ask("undo", {})["anchors_valid_through"] == 1


def test_nothing_is_known_of_a_file_that_goes_or_comes() -> None:
    daemon = MemoryDaemon()
    assert daemon.ask("write_file", {"path": "f.txt", "content": FIVE})["ok"]
    for tool, action in (("undo", "delete"), ("redo", "create")):
        reply = daemon.ask(tool, {})
        assert (reply["files"][0]["action"], reply["anchors_valid_through"]) == (action, 0)
        assert reply["must_refresh_from_line"] == 1


def test_what_others_did_to_the_one_file_stands_at_the_top_as_in_every_reply() -> None:
    daemon, _ = opened()
    replace(daemon, "two 2", "TWO", by="ben")
    reply = daemon.ask("undo", {})
    assert [entry["writer"]["agent"] for entry in reply["changed_since_your_read"]] == ["ben"]
    assert reply["changed_since_your_read"] == reply["files"][0]["changed_since_your_read"]
