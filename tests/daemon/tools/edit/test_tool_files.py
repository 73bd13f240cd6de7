"""`delete_file` and `move_file`: whole files, never over another."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon
from quire_daemon.config.settings import CaptureSettings, Settings
from quire_journal.model.events import FileDeleted, FileMoved

FIVE = "one 1\ntwo 2\nthree 3\nfour 4\nfive 5\n"


def read(daemon: MemoryDaemon, path: str = "f.txt", by: str = "ann", **more: Any) -> dict[str, Any]:
    """A read with hashes."""
    return daemon.ask("read_file", {"path": path, "hashes": True, **more}, by=by)


def test_a_file_is_removed_and_the_journal_says_from_which_version() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    base = read(daemon)["version"]
    reply = daemon.ask("delete_file", {"path": "f.txt"})
    assert (reply["ok"], reply["deleted"], reply["writer_type"], reply["net_lines"]) == (True, True, "edit", -5)
    assert (reply["sha256"], reply["lines_after"], reply["anchors_valid_through"]) == (None, 0, 0)
    assert "f.txt" not in daemon.files
    (event,) = daemon.events(FileDeleted)
    assert isinstance(event, FileDeleted)
    assert event.base == int(base[1:])


def test_a_moved_file_keeps_its_bytes_and_what_was_shown_of_it() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    read(daemon, start_line=2, end_line=3)
    reply = daemon.ask("move_file", {"path": "f.txt", "to": "new/g.txt"})
    assert (reply["ok"], reply["path"], reply["moved_from"]) == (True, "new/g.txt", "f.txt")
    assert daemon.files == {"new/g.txt": FIVE.encode()}
    (event,) = daemon.events(FileMoved)
    assert isinstance(event, FileMoved)
    anchor = "2#" + read(MemoryDaemon({"f.txt": FIVE}))["lines"][1].split("#")[1][:6]
    operation = {"op": "replace_line", "hash": anchor, "content": "TWO"}
    assert daemon.ask("edit", {"path": "new/g.txt", "operations": [operation], "base": reply["version"]})["ok"]


@pytest.mark.parametrize("there", ["g.txt", "g.txt/inner"])
def test_a_move_never_overwrites(there: str) -> None:
    daemon = MemoryDaemon({"f.txt": FIVE, there: "precious\n"})
    assert daemon.ask("move_file", {"path": "f.txt", "to": "g.txt"})["error"] == "already_exists"
    assert daemon.read(there) == "precious\n"


def test_a_move_to_no_name_is_refused_by_the_argument_that_lacks_it() -> None:
    refused = MemoryDaemon({"f.txt": FIVE}).ask("move_file", {"path": "f.txt", "to": ""})
    assert refused["error"] == "schema_invalid"
    assert "`to` is empty" in refused["message"]


def test_a_move_onto_itself_is_one_onto_a_file_that_exists() -> None:
    assert MemoryDaemon({"f.txt": FIVE}).ask("move_file", {"path": "f.txt", "to": "f.txt"})["error"] == "already_exists"


@pytest.mark.parametrize(("tool", "more"), [("delete_file", {}), ("move_file", {"to": "g.txt"})])
class TestBoth:
    """What holds for either tool."""

    def test_a_change_since_the_read_is_stale(self, tool: str, more: dict[str, str]) -> None:
        daemon = MemoryDaemon({"f.txt": FIVE})
        read(daemon)
        daemon.save("f.txt", FIVE + "six 6\n")
        reply = daemon.ask(tool, {"path": "f.txt", **more})
        assert (reply["error"], reply["suggested_action"]) == ("stale_base", "re-read_file")
        assert reply["changes"]
        assert daemon.read("f.txt") == FIVE + "six 6\n"

    def test_a_named_base_is_held_against_the_file(self, tool: str, more: dict[str, str]) -> None:
        daemon = MemoryDaemon({"f.txt": FIVE})
        base = read(daemon, by="ben")["version"]
        daemon.save("f.txt", "theirs\n")
        assert daemon.ask(tool, {"path": "f.txt", "base": base, **more})["error"] == "stale_base"
        assert daemon.ask(tool, {"path": "f.txt", "base": "v999", **more})["error"] == "stale_base"

    def test_even_a_rebase_wants_the_same_bytes(self, tool: str, more: dict[str, str]) -> None:
        daemon = MemoryDaemon({"f.txt": FIVE})
        read(daemon)
        daemon.save("f.txt", "theirs\n")
        read(daemon, by="ben")
        reply = daemon.ask(tool, {"path": "f.txt", "on_stale": "rebase", **more})
        assert reply["error"] == "stale_base"

    def test_a_rebase_that_is_refused_shows_the_first_conflict(self, tool: str, more: dict[str, str]) -> None:
        daemon = MemoryDaemon({"f.txt": FIVE})
        read(daemon)
        daemon.save("f.txt", FIVE.replace("two 2", "TWO"))
        reply = daemon.ask(tool, {"path": "f.txt", "on_stale": "rebase", **more})
        yours = [] if tool == "delete_file" else ["two 2"]
        assert reply["conflict"] == {"base": ["two 2"], "theirs": ["TWO"], "yours": yours}
        assert "conflict" not in daemon.ask(tool, {"path": "f.txt", "base": reply["base"], **more})

    def test_bytes_that_came_back_will_do(self, tool: str, more: dict[str, str]) -> None:
        daemon = MemoryDaemon({"f.txt": FIVE})
        read(daemon)
        daemon.save("f.txt", "theirs\n")
        read(daemon, by="ben")
        daemon.save("f.txt", FIVE)
        assert daemon.ask(tool, {"path": "f.txt", **more})["ok"]

    def test_a_caller_that_never_read_it_may(self, tool: str, more: dict[str, str]) -> None:
        assert MemoryDaemon({"f.txt": b"\0binary"}).ask(tool, {"path": "f.txt", **more})["ok"]

    def test_a_missing_file_and_a_folder_are_refused(self, tool: str, more: dict[str, str]) -> None:
        assert MemoryDaemon().ask(tool, {"path": "f.txt", **more})["error"] == "not_found"
        assert MemoryDaemon({"f.txt/a": "x"}).ask(tool, {"path": "f.txt", **more})["error"] == "not_a_file"

    def test_a_link_is_not_taken_for_its_target(self, tool: str, more: dict[str, str]) -> None:
        daemon = MemoryDaemon({"real.txt": FIVE})
        daemon.files.link("f.txt", "real.txt")
        assert daemon.ask(tool, {"path": "f.txt", **more})["error"] == "not_a_file"
        assert daemon.read("real.txt") == FIVE

    def test_a_dry_run_changes_nothing(self, tool: str, more: dict[str, str]) -> None:
        daemon = MemoryDaemon({"f.txt": FIVE})
        reply = daemon.ask(tool, {"path": "f.txt", "dry_run": True, **more})
        assert (reply["ok"], reply["dry_run"], reply["valid"]) == (True, True, True)
        assert daemon.files == {"f.txt": FIVE.encode()}


def test_bytes_that_were_never_captured_are_removed_only_when_asked() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    daemon.settings = Settings(capture=CaptureSettings(max_bytes=10))
    assert daemon.ask("delete_file", {"path": "f.txt"})["error"] == "uncaptured"
    reply = daemon.ask("delete_file", {"path": "f.txt", "allow_uncaptured": True})
    assert reply["ok"]
    assert "no undo" in reply["warnings"][0]["message"]


def test_a_move_keeps_uncaptured_bytes_and_is_allowed() -> None:
    daemon = MemoryDaemon({"f.txt": FIVE})
    daemon.keep_secret("f.txt")
    assert daemon.ask("move_file", {"path": "f.txt", "to": "g.txt"})["ok"]
