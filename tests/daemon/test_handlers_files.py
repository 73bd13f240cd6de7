"""`delete_file` and `move_file`: whole files, never over another."""

from __future__ import annotations

from typing import Any

import pytest

from playbook import Playbook
from quire_journal.events import FileDeleted, FileMoved

FIVE = "one 1\ntwo 2\nthree 3\nfour 4\nfive 5\n"


def read(book: Playbook, path: str = "f.txt", by: str = "ann", **more: Any) -> dict[str, Any]:
    """A read with hashes."""
    return book.call("read_file", {"path": path, "hashes": True, **more}, by=by)


def test_a_file_is_removed_and_the_journal_says_from_which_version() -> None:
    book = Playbook({"f.txt": FIVE})
    base = read(book)["version"]
    reply = book.call("delete_file", {"path": "f.txt"})
    assert (reply["ok"], reply["deleted"], reply["writer_type"], reply["net_lines"]) == (True, True, "edit", -5)
    assert (reply["sha256"], reply["lines_after"], reply["anchors_valid_through"]) == (None, 0, 0)
    assert "f.txt" not in book.files
    (event,) = book.events(FileDeleted)
    assert isinstance(event, FileDeleted)
    assert event.base == int(base[1:])


def test_a_moved_file_keeps_its_bytes_and_what_was_shown_of_it() -> None:
    book = Playbook({"f.txt": FIVE})
    read(book, start_line=2, end_line=3)
    reply = book.call("move_file", {"path": "f.txt", "to": "new/g.txt"})
    assert (reply["ok"], reply["path"], reply["moved_from"]) == (True, "new/g.txt", "f.txt")
    assert book.files == {"new/g.txt": FIVE.encode()}
    (event,) = book.events(FileMoved)
    assert isinstance(event, FileMoved)
    anchor = "2#" + read(Playbook({"f.txt": FIVE}))["lines"][1].split("#")[1][:6]
    operation = {"op": "replace_line", "hash": anchor, "content": "TWO"}
    assert book.call("edit", {"path": "new/g.txt", "operations": [operation], "base": reply["version"]})["ok"]


@pytest.mark.parametrize("there", ["g.txt", "g.txt/inner"])
def test_a_move_never_overwrites(there: str) -> None:
    book = Playbook({"f.txt": FIVE, there: "precious\n"})
    assert book.call("move_file", {"path": "f.txt", "to": "g.txt"})["error"] == "already_exists"
    assert book.text(there) == "precious\n"


def test_a_move_to_no_name_is_refused_by_the_argument_that_lacks_it() -> None:
    refused = Playbook({"f.txt": FIVE}).call("move_file", {"path": "f.txt", "to": ""})
    assert refused["error"] == "schema_invalid"
    assert "`to` is empty" in refused["message"]


def test_a_move_onto_itself_is_one_onto_a_file_that_exists() -> None:
    assert Playbook({"f.txt": FIVE}).call("move_file", {"path": "f.txt", "to": "f.txt"})["error"] == "already_exists"


@pytest.mark.parametrize(("tool", "more"), [("delete_file", {}), ("move_file", {"to": "g.txt"})])
class TestBoth:
    """What holds for either tool."""

    def test_a_change_since_the_read_is_stale(self, tool: str, more: dict[str, str]) -> None:
        book = Playbook({"f.txt": FIVE})
        read(book)
        book.write("f.txt", FIVE + "six 6\n")
        reply = book.call(tool, {"path": "f.txt", **more})
        assert (reply["error"], reply["suggested_action"]) == ("stale_base", "re-read_file")
        assert reply["changes"]
        assert book.text("f.txt") == FIVE + "six 6\n"

    def test_a_named_base_is_held_against_the_file(self, tool: str, more: dict[str, str]) -> None:
        book = Playbook({"f.txt": FIVE})
        base = read(book, by="ben")["version"]
        book.write("f.txt", "theirs\n")
        assert book.call(tool, {"path": "f.txt", "base": base, **more})["error"] == "stale_base"
        assert book.call(tool, {"path": "f.txt", "base": "v999", **more})["error"] == "stale_base"

    def test_even_a_rebase_wants_the_same_bytes(self, tool: str, more: dict[str, str]) -> None:
        book = Playbook({"f.txt": FIVE})
        read(book)
        book.write("f.txt", "theirs\n")
        read(book, by="ben")
        reply = book.call(tool, {"path": "f.txt", "on_stale": "rebase", **more})
        assert reply["error"] == "stale_base"

    def test_a_rebase_that_is_refused_shows_the_first_conflict(self, tool: str, more: dict[str, str]) -> None:
        book = Playbook({"f.txt": FIVE})
        read(book)
        book.write("f.txt", FIVE.replace("two 2", "TWO"))
        reply = book.call(tool, {"path": "f.txt", "on_stale": "rebase", **more})
        yours = [] if tool == "delete_file" else ["two 2"]
        assert reply["conflict"] == {"base": ["two 2"], "theirs": ["TWO"], "yours": yours}
        assert "conflict" not in book.call(tool, {"path": "f.txt", "base": reply["base"], **more})

    def test_bytes_that_came_back_will_do(self, tool: str, more: dict[str, str]) -> None:
        book = Playbook({"f.txt": FIVE})
        read(book)
        book.write("f.txt", "theirs\n")
        read(book, by="ben")
        book.write("f.txt", FIVE)
        assert book.call(tool, {"path": "f.txt", **more})["ok"]

    def test_a_caller_that_never_read_it_may(self, tool: str, more: dict[str, str]) -> None:
        assert Playbook({"f.txt": b"\0binary"}).call(tool, {"path": "f.txt", **more})["ok"]

    def test_a_missing_file_and_a_folder_are_refused(self, tool: str, more: dict[str, str]) -> None:
        assert Playbook().call(tool, {"path": "f.txt", **more})["error"] == "not_found"
        assert Playbook({"f.txt/a": "x"}).call(tool, {"path": "f.txt", **more})["error"] == "not_a_file"

    def test_a_link_is_not_taken_for_its_target(self, tool: str, more: dict[str, str]) -> None:
        book = Playbook({"real.txt": FIVE})
        book.links["f.txt"] = "real.txt"
        assert book.call(tool, {"path": "f.txt", **more})["error"] == "not_a_file"
        assert book.text("real.txt") == FIVE

    def test_a_dry_run_changes_nothing(self, tool: str, more: dict[str, str]) -> None:
        book = Playbook({"f.txt": FIVE})
        reply = book.call(tool, {"path": "f.txt", "dry_run": True, **more})
        assert (reply["ok"], reply["dry_run"], reply["valid"]) == (True, True, True)
        assert book.files == {"f.txt": FIVE.encode()}


def test_bytes_that_were_never_captured_are_removed_only_when_asked() -> None:
    book = Playbook({"f.txt": FIVE})
    book.uncaptured["f.txt"] = "too_large"
    assert book.call("delete_file", {"path": "f.txt"})["error"] == "uncaptured"
    reply = book.call("delete_file", {"path": "f.txt", "allow_uncaptured": True})
    assert reply["ok"]
    assert "no undo" in reply["warnings"][0]["message"]


def test_a_move_keeps_uncaptured_bytes_and_is_allowed() -> None:
    book = Playbook({"f.txt": FIVE})
    book.uncaptured["f.txt"] = "secret"
    assert book.call("move_file", {"path": "f.txt", "to": "g.txt"})["ok"]
