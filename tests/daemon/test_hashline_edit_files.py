"""`hashline_edit` that removes or renames a file, and what undo, redo and the log make of that."""

from __future__ import annotations

from typing import Any

import pytest
from desk import Desk, lines
from hashlines import FIVE, LAST, TEN, TWO, after, edit, opened, put, ref

from playbook import Playbook
from quire_daemon.handlers.hashline_edit import HASHLINE_TOOL
from quire_daemon.handlers.log import LOG_TOOL
from quire_daemon.handlers.read import READ_TOOL
from quire_daemon.handlers.undo import REDO_TOOL, UNDO_TOOL
from quire_journal.check import check
from quire_journal.events import FileMoved
from quire_journal.ids import blob_id
from quire_journal.line_hash import hash8

# ── the file as a whole ──────────────────────────────────────────────────────


def test_a_file_is_removed() -> None:
    book = opened()
    reply = edit(book, delete=True)
    assert (reply["ok"], reply["deleted"], reply["path"]) == (True, True, "f.txt")
    assert book.files == {}


def test_a_file_gets_another_name_in_a_new_folder() -> None:
    book = opened()
    reply = edit(book, rename="new/deep/g.txt")
    assert (reply["ok"], reply["path"], reply["moved_from"]) == (True, "new/deep/g.txt", "f.txt")
    assert (reply["first_changed_line"], reply["changed"]) == (None, [])
    assert book.files == {"new/deep/g.txt": FIVE.encode()}


def test_edits_and_another_name_are_one_call_and_one_version() -> None:
    book = opened()
    reply = edit(book, put(TWO, "2"), after(LAST, "six"), rename="new/g.txt")
    assert reply["ok"], reply
    assert book.files == {"new/g.txt": b"one\n2\nthree\nfour\nfive\nsix\n"}
    assert (reply["path"], reply["moved_from"]) == ("new/g.txt", "f.txt")
    assert (reply["operations_applied"], reply["lines_after"], reply["first_changed_line"]) == (2, 6, 2)
    assert reply["sha256"] == blob_id(book.files["new/g.txt"]).hex()
    (moved,) = book.events(FileMoved)
    assert isinstance(moved, FileMoved)
    assert (moved.path, moved.to, moved.size) == ("f.txt", "new/g.txt", len(book.files["new/g.txt"]))
    assert book.call("read_file", {"path": "new/g.txt"})["version"] == reply["version"]


def test_the_diff_of_a_rename_counts_as_shown_under_the_new_name() -> None:
    book = opened()
    assert edit(book, put(TWO, "2"), rename="g.txt")["ok"]
    moved = {"path": "g.txt", "edits": [put(ref(2, "2"), "zwei"), put(LAST, "5")]}
    assert book.call("hashline_edit", moved)["ok"]
    assert book.text("g.txt") == "one\nzwei\nthree\nfour\n5\n"


def test_a_rename_whose_edits_change_nothing_is_a_rename() -> None:
    book = opened()
    assert edit(book, put(TWO, "two"), rename="g.txt")["ok"]
    assert book.files == {"g.txt": FIVE.encode()}


@pytest.mark.parametrize("edits", [[], [put(TWO, "2")]], ids=["alone", "edits"])
def test_a_name_that_is_taken_is_never_overwritten(edits: list[dict[str, Any]]) -> None:
    book = opened(FIVE, **{"taken.txt": "precious\n", "folder/x": ""})
    for name in ("taken.txt", "f.txt", "folder"):
        assert edit(book, *edits, rename=name)["error"] == "already_exists"
    assert book.files == {"f.txt": FIVE.encode(), "taken.txt": b"precious\n", "folder/x": b""}


@pytest.mark.parametrize("how", [{"delete": True}, {"rename": "g.txt"}, {"rename": "g.txt", "edits": [put(TWO, "2")]}])
def test_a_file_that_somebody_changed_is_neither_removed_nor_renamed(how: dict[str, Any]) -> None:
    book = opened()
    book.write("f.txt", FIVE + "theirs\n")
    reply = book.call("hashline_edit", {"path": "f.txt", **how})
    assert (reply["error"], reply["suggested_action"]) == ("stale_base", "re-read_file")
    assert reply["changes"][0]["lines"] == [[6, 6]]
    assert list(book.files) == ["f.txt"]
    assert book.call("hashline_edit", {"path": "f.txt", **how})["ok"], "the refusal has shown what is there"


def test_a_rename_is_carried_over_the_work_of_others_only_when_asked() -> None:
    book = opened(TEN)
    book.write("f.txt", "NEW\n" + TEN)
    reply = edit(book, put(ref(5, "line 5"), "mine"), rename="g.txt", on_stale="rebase")
    assert (reply["ok"], reply["cross_version"]) == (True, True)
    assert book.text("g.txt") == "NEW\n" + TEN.replace("line 5", "mine")


def test_a_wrong_id_stops_a_rename() -> None:
    book = opened()
    assert edit(book, put("2#zz", "2"), rename="g.txt")["error"] == "hash_mismatch"
    assert book.files == {"f.txt": FIVE.encode()}


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"delete": True, "rename": "g.txt"}, "invalid_variant"),
        ({"delete": True, "rename": ""}, "invalid_variant"),
        ({"delete": True, "edits": [put(TWO, "2")]}, "invalid_variant"),
        ({"rename": ""}, "schema_invalid"),
        ({"rename": "", "edits": [put(TWO, "2")]}, "schema_invalid"),
        ({"rename": "g.txt", "edits": [{"foo": 1}]}, "invalid_variant"),
        ({"delete": False}, "no_op"),
        ({"delete": "yes"}, "schema_invalid"),
        ({"rename": 1}, "schema_invalid"),
    ],
)
def test_file_operations_that_make_no_sense_are_refused(how: dict[str, Any], code: str) -> None:
    book = opened()
    assert book.call("hashline_edit", {"path": "f.txt", **how})["error"] == code
    assert book.files == {"f.txt": FIVE.encode()}


def test_a_result_that_breaks_what_was_sound_gets_no_new_name_either() -> None:
    book = Playbook({"f.py": "f(\n)\n"})
    args = {"path": "f.py", "edits": [put(ref(2, ")"))], "rename": "g.py"}
    assert book.call("hashline_edit", {**args, "safety_check": "strict"})["error"] == "safety_check_failed"
    assert book.files == {"f.py": b"f(\n)\n"}
    assert book.call("hashline_edit", args)["safety_status"] == "suspicious"


# ── a rename with edits, and time ────────────────────────────────────────────


def renamed() -> tuple[Desk, dict[str, Any]]:
    """Ann has read f.txt, changed its second line and renamed it to d/g.txt in one call."""
    desk = Desk()
    desk.outside("f.txt", lines("one", "two", "three"))
    desk.call(READ_TOOL, desk.ann, path="f.txt", format="hashline")
    edits = [put(ref(2, "two"), "2")]
    return desk, desk.call(HASHLINE_TOOL, desk.ann, path="f.txt", edits=edits, rename="d/g.txt")


def lying(desk: Desk) -> dict[str, bytes]:
    """What lies on the desk."""
    return {path: file.data for path, file in desk.files.items()}


def sound(desk: Desk) -> None:
    """The views are what the log says."""
    assert list(check(desk.journal.store)) == []


def test_undo_brings_back_the_old_name_with_the_old_bytes_and_redo_the_new() -> None:
    desk, reply = renamed()
    assert reply["ok"]
    new = lying(desk)
    undone = desk.call(UNDO_TOOL, desk.ann)
    assert undone["ok"], undone
    assert lying(desk) == {"f.txt": lines("one", "two", "three")}
    sound(desk)
    assert desk.call(REDO_TOOL, desk.ann)["ok"]
    assert lying(desk) == new
    sound(desk)


def test_undo_keeps_what_another_wrote_under_the_new_name() -> None:
    desk, _ = renamed()
    desk.write("d/g.txt", lines("zero", "one", "2", "three"), desk.ben)
    assert desk.call(UNDO_TOOL, desk.ann)["ok"]
    assert lying(desk) == {"f.txt": lines("zero", "one", "two", "three")}
    sound(desk)


def test_undo_stops_before_a_file_that_stands_under_the_old_name_now() -> None:
    desk, _ = renamed()
    desk.outside("f.txt", b"another\n")
    before_ = lying(desk)
    (entry,) = desk.call(UNDO_TOOL, desk.ann)["files"]
    assert entry["skipped"] == "occupied"
    assert lying(desk) == before_


def test_the_history_and_the_log_tell_of_the_rename_under_both_names() -> None:
    desk, reply = renamed()
    seq = int(reply["version"][1:])
    with desk.history() as history:
        old, new = history.version("f.txt", seq), history.version("d/g.txt", seq)
        assert old is not None
        assert new is not None
        assert (old.gone, old.moved_to) == (True, "d/g.txt")
        assert (new.gone, new.moved_from, new.blob) == (False, "f.txt", blob_id(lines("one", "2", "three")))
        assert history.text_of(new.blob).data == lines("one", "2", "three")
        gone = history.anchor("d/g.txt", hash8(b"two")[:6])
        assert gone is not None
        assert (gone.line, gone.removed_by) == (1, seq)
    for path in ("f.txt", "d/g.txt"):
        records = desk.call(LOG_TOOL, desk.ann, path=path, kind="file_moved")["records"]
        assert [r["seq"] for r in records] == [seq]
    sound(desk)
