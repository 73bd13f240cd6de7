"""What an undo never deletes or takes along: what was only found, what others did, what cannot be looked at."""

from __future__ import annotations

from typing import Any

import pytest
from desk import Desk, OnDesk, lines
from msgspec.structs import replace
from undoings import START, desk_with, only_file

from quire_daemon.handlers.base import Decision, Tool, World
from quire_daemon.handlers.undo import REDO_TOOL, RESTORE_TOOL, ROLLBACK_TOOL, UNDO_TOOL
from quire_journal.events import (
    FOLDER,
    LINK,
    OutsideWritten,
    WorkspaceScanned,
)
from quire_journal.ids import blob_id


class Barred(Desk):
    """A desk some of whose files cannot be looked at: `away`, though they lie there; `barred`, by what refused it."""

    def __init__(self) -> None:
        super().__init__()
        self.away: set[str] = set()
        self.barred: dict[str, str] = {}

    def _decided(self, tool: Tool[Any], params: Any, world: World) -> Decision:
        unseen = self.away | self.barred.keys()
        files = {path: now for path, now in world.files.items() if path not in unseen}
        return super()._decided(tool, params, replace(world, files=files, kept_off=self.barred))


def test_a_plan_tells_whose_later_lines_are_kept_also_those_of_other_programs() -> None:
    desk = desk_with()
    desk.write("f.txt", text := START.replace(b"one", b"ONE"), desk.ann)
    desk.outside("f.txt", text.replace(b"six", b"SIX"))
    plan = desk.call(UNDO_TOOL, desk.ann, plan=True)
    assert [kept["writer"]["id"] for kept in only_file(plan)["kept"]] == ["outside"]


@pytest.mark.parametrize("evidence", ["captured", "scanned", "read"])
def test_a_file_that_was_only_found_is_not_deleted_as_if_it_had_been_made(evidence: str) -> None:
    desk = Desk()
    desk.note(WorkspaceScanned("start", 0, 0))
    data = lines("the user's own")
    desk.note(OutsideWritten("own", blob_id(data), len(data), 0o644, evidence), blobs=(data,))
    desk.files["own"] = OnDesk(data)
    for args in ({"writer": "outside"}, {"writer": "*"}, {"writer": "*", "from": "seq:1"}):
        refused = desk.call(UNDO_TOOL, desk.ann, **args)
        assert (refused["error"], only_file(refused)["skipped"]) == ("conflict", "creation_not_seen")
        assert refused["suggested_action"] == "narrow_the_choice", "nobody built on it: markers would not help"
    assert desk.text("own") == data


def found_then_edited() -> Desk:
    """A file that the journal learned of after its first whole look at the tree, and that Ann edited then."""
    desk = Desk()
    desk.note(WorkspaceScanned("start", 0, 0))
    desk.note(OutsideWritten("own", blob_id(START), len(START), 0o644, "read"), blobs=(START,))
    desk.files["own"] = OnDesk(START)
    desk.write("own", START.replace(b"two", b"TWO"), desk.ann)
    return desk


def test_of_a_file_that_was_only_found_the_later_changes_come_out_and_that_it_stays_is_told() -> None:
    desk = found_then_edited()
    reply = desk.call(UNDO_TOOL, desk.ann, writer="*")
    assert desk.text("own") == START
    assert only_file(reply)["conflicts"] == []
    assert only_file(reply)["first_seen"]["writer"]["id"] == "outside"
    assert "1 file stays as first looked at" in reply["message"]
    assert "others built" not in reply["message"]
    assert len(reply["stayed"]) == 1


def test_what_others_did_and_took_back_does_not_stay_because_the_file_does() -> None:
    desk = Desk()
    found = desk.outside("own", START)
    there_and_back = [desk.outside("own", text) for text in (START.replace(b"two", b"TWO"), START)]
    last = desk.outside("own", START.replace(b"six", b"SIX"))
    reply = desk.call(UNDO_TOOL, desk.ann, writer="outside")
    assert (reply["batches"], reply["stayed"]) == ([last, *reversed(there_and_back)], [found])
    assert desk.text("own") == START


def test_a_file_that_was_only_found_comes_back_when_its_deletion_is_undone_with_everything() -> None:
    desk = found_then_edited()
    desk.delete("own", desk.ann)
    assert desk.call(UNDO_TOOL, desk.ann, writer="*")["ok"]
    assert desk.text("own") == START


@pytest.mark.parametrize("conflicts", ["skip", "markers", "abort"])
def test_how_a_file_was_first_found_is_nobodys_conflict(conflicts: str) -> None:
    desk = found_then_edited()
    plan = desk.call(UNDO_TOOL, desk.ann, writer="*", conflicts=conflicts, plan=True)
    assert plan["message"] == "Plan: 1 file to change, 1 file stays as first looked at."
    assert only_file(plan)["conflicts"] == []
    assert only_file(plan)["first_seen"]["why"].startswith("it was there when it was first looked at")
    assert desk.call(UNDO_TOOL, desk.ann, token=plan["token"])["ok"]
    assert desk.text("own") == START


def test_a_file_that_is_as_it_was_first_found_does_not_keep_others_from_being_undone() -> None:
    desk = found_then_edited()
    desk.note(OutsideWritten("other", blob_id(START), len(START), 0o644, "read"))
    desk.files["other"] = OnDesk(START)
    reply = desk.call(UNDO_TOOL, desk.ann, writer="*", conflicts="abort")
    assert {f["path"]: f["skipped"] for f in reply["files"]} == {"own": None, "other": "creation_not_seen"}
    assert (desk.text("own"), desk.text("other")) == (START, START)


def test_abort_names_who_built_on_it_and_not_how_the_file_was_found() -> None:
    desk = found_then_edited()
    desk.write("own", START.replace(b"two", b"TWO!"), desk.ben)
    refused = desk.call(UNDO_TOOL, desk.ann, writer="ann", conflicts="abort")
    assert refused["error"] == "conflict"
    assert "ben/s2 built on it" in refused["message"]


def test_a_file_that_cannot_be_looked_at_now_is_busy_and_worth_another_try() -> None:
    desk = Barred()
    desk.outside("f.txt", START)
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.away.add("f.txt")
    refused = desk.call(UNDO_TOOL, desk.ann)
    assert (refused["error"], only_file(refused)["skipped"]) == ("busy", "changed_meanwhile")
    assert refused["retry_after_ms"] > 0
    desk.away.clear()
    assert desk.call(UNDO_TOOL, desk.ann)["ok"]


def test_a_batch_whose_only_file_is_skipped_stays_in_force() -> None:
    desk = Barred()
    for path in ("f.txt", "g.txt"):
        desk.outside(path, START)
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    skipped = desk.write("g.txt", START.replace(b"one", b"ONE"), desk.ann)
    desk.away.add("g.txt")
    assert desk.call(UNDO_TOOL, desk.ann, last=2)["stayed"] == [skipped]
    desk.away.clear()
    assert desk.call(UNDO_TOOL, desk.ann)["batches"] == [skipped]
    assert desk.text("g.txt") == START


@pytest.mark.parametrize("path", ["barred.key", "deep/.git/config", ".quire.toml", "deep/.quireignore"])
def test_a_protected_file_is_called_protected_whether_it_is_there_or_not(path: str) -> None:
    desk = Barred()
    desk.outside(path, START)
    desk.outside(path, lines("later"))
    desk.barred[path] = "permission_denied"
    refused = desk.call(UNDO_TOOL, desk.ann, writer="outside", last=1)
    assert (refused["error"], only_file(refused)["skipped"]) == ("conflict", "protected")
    desk.outside_deletes(path)
    refused = desk.call(UNDO_TOOL, desk.ann, writer="outside", last=1)
    assert (refused["error"], only_file(refused)["skipped"]) == ("conflict", "protected")


def test_a_file_below_what_is_a_file_now_is_not_made() -> None:
    desk = desk_with()
    desk.write("folder/b", START, desk.ann)
    desk.delete("folder/b", desk.ann)
    desk.outside("folder", lines("a file now"))
    refused = desk.call(UNDO_TOOL, desk.ann)
    assert (refused["error"], only_file(refused)["skipped"]) == ("conflict", "occupied")
    assert only_file(refused)["conflicts"][0]["writer"]["id"] == "outside"


def test_a_file_is_made_below_a_file_that_goes_with_the_same_undo() -> None:
    desk = desk_with()
    desk.outside("folder/b", START)
    desk.delete("folder/b", desk.ann)
    desk.write("folder", lines("a file now"), desk.ann)
    plan = desk.call(UNDO_TOOL, desk.ann, last=2, plan=True)
    assert {f["path"]: (f["action"], f["skipped"]) for f in plan["files"]} == {
        "folder": ("delete", None),
        "folder/b": ("create", None),
    }


def test_a_restored_link_that_is_what_it_was_is_unchanged() -> None:
    desk = Desk()
    at = desk.note(OutsideWritten("link", blob_id(b"to"), 2, 0o777, "watched", entry=LINK), blobs=(b"to",))
    reply = desk.call(RESTORE_TOOL, desk.ann, at=f"seq:{at}", path="link")
    assert (reply["ok"], reply["unchanged"], only_file(reply)["skipped"]) == (True, True, None)


def test_a_folder_that_was_empty_before_the_point_is_no_part_of_a_restore_of_what_is_in_it() -> None:
    desk = Desk()
    desk.note(OutsideWritten("d", b"", 0, 0o700, "watched", entry=FOLDER))
    desk.outside("d/f", START)
    at = f"seq:{desk.journal.head}"
    desk.outside("d/f", lines("later"))
    reply = desk.call(RESTORE_TOOL, desk.ann, at=at, path="d")
    assert [(f["path"], f["action"]) for f in reply["files"]] == [("d/f", "write")]
    assert desk.text("d/f") == START


def test_a_file_that_was_seen_before_the_first_whole_look_at_the_tree_is_not_deleted() -> None:
    desk = desk_with()
    desk.note(WorkspaceScanned("start", 1, 1))
    assert desk.call(UNDO_TOOL, desk.ann, writer="outside")["error"] == "conflict"
    desk.outside("made later", lines("m"))
    desk.outside_deletes("f.txt")
    desk.outside("f.txt", lines("anew"))
    reply = desk.call(UNDO_TOOL, desk.ann, writer="outside", last=1)
    assert only_file(reply)["action"] == "delete"
    assert desk.call(UNDO_TOOL, desk.ann, writer="outside", path="made later")["ok"]
    assert sorted(desk.files) == []
    assert desk.call(REDO_TOOL, desk.ann, last=2)["ok"]
    assert sorted(desk.files) == ["f.txt", "made later"]


def test_outside_work_is_never_undone_unless_it_is_named() -> None:
    desk = desk_with()
    desk.note(WorkspaceScanned("start", 1, 1))
    point = f"seq:{desk.journal.head}"
    desk.outside("f.txt", START.upper())
    desk.outside("new", lines("n"))
    for args in ({}, {"from": point}, {"path": "new"}, {"last": 5}):
        assert desk.call(UNDO_TOOL, desk.ann, **args)["error"] == "not_found"
    assert desk.call(ROLLBACK_TOOL, desk.ann, to=point)["error"] == "not_found"


def test_a_file_that_was_made_and_then_moved_away_and_replaced_loses_only_what_was_made() -> None:
    desk = Desk()
    batch = desk.write("new", lines("n"), desk.ann)
    desk.move("new", "kept", desk.ben)
    desk.write("new", lines("ben's"), desk.ben)
    reply = desk.call(UNDO_TOOL, desk.ann, batch=batch)
    assert [f["path"] for f in reply["files"] if f["action"] == "delete"] == ["kept"]
    assert desk.text("new") == lines("ben's")
