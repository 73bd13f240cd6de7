"""`hashline_edit` that removes or renames a file, and what undo, redo and the log make of that."""

from __future__ import annotations

from typing import Any

import pytest
from hashlines import FIVE, LAST, TEN, TWO, after, edit, opened, put, ref

from memory_daemon import MemoryDaemon, lines
from quire_daemon.tools.edit.hashline_edit import HASHLINE_TOOL
from quire_daemon.tools.history.log import LOG_TOOL
from quire_daemon.tools.read import READ_TOOL
from quire_daemon.tools.undo.tool import REDO_TOOL, UNDO_TOOL
from quire_journal.integrity.checker import check
from quire_journal.model.events import FileMoved
from quire_journal.model.ids import blob_id
from quire_journal.text.line_hash import hash8

# ── the file as a whole ──────────────────────────────────────────────────────


def test_a_file_is_removed() -> None:
    daemon = opened()
    reply = edit(daemon, delete=True)
    assert (reply["ok"], reply["deleted"], reply["path"]) == (True, True, "f.txt")
    assert daemon.files == {}


def test_a_file_gets_another_name_in_a_new_folder() -> None:
    daemon = opened()
    reply = edit(daemon, rename="new/deep/g.txt")
    assert (reply["ok"], reply["path"], reply["moved_from"]) == (True, "new/deep/g.txt", "f.txt")
    assert (reply["first_changed_line"], reply["changed"]) == (None, [])
    assert daemon.files == {"new/deep/g.txt": FIVE.encode()}


def test_edits_and_another_name_are_one_call_and_one_version() -> None:
    daemon = opened()
    reply = edit(daemon, put(TWO, "2"), after(LAST, "six"), rename="new/g.txt")
    assert reply["ok"], reply
    assert daemon.files == {"new/g.txt": b"one\n2\nthree\nfour\nfive\nsix\n"}
    assert (reply["path"], reply["moved_from"]) == ("new/g.txt", "f.txt")
    assert (reply["operations_applied"], reply["lines_after"], reply["first_changed_line"]) == (2, 6, 2)
    assert reply["sha256"] == blob_id(daemon.files["new/g.txt"]).hex()
    (moved,) = daemon.events(FileMoved)
    assert isinstance(moved, FileMoved)
    assert (moved.path, moved.to, moved.size) == ("f.txt", "new/g.txt", len(daemon.files["new/g.txt"]))
    assert daemon.ask("read_file", {"path": "new/g.txt"})["version"] == reply["version"]


def test_the_diff_of_a_rename_counts_as_shown_under_the_new_name() -> None:
    daemon = opened()
    assert edit(daemon, put(TWO, "2"), rename="g.txt")["ok"]
    moved = {"path": "g.txt", "edits": [put(ref(2, "2"), "zwei"), put(LAST, "5")]}
    assert daemon.ask("hashline_edit", moved)["ok"]
    assert daemon.read("g.txt") == "one\nzwei\nthree\nfour\n5\n"


def test_a_rename_whose_edits_change_nothing_is_a_rename() -> None:
    daemon = opened()
    assert edit(daemon, put(TWO, "two"), rename="g.txt")["ok"]
    assert daemon.files == {"g.txt": FIVE.encode()}


@pytest.mark.parametrize("edits", [[], [put(TWO, "2")]], ids=["alone", "edits"])
def test_a_name_that_is_taken_is_never_overwritten(edits: list[dict[str, Any]]) -> None:
    daemon = opened(FIVE, **{"taken.txt": "precious\n", "folder/x": ""})
    for name in ("taken.txt", "f.txt", "folder"):
        assert edit(daemon, *edits, rename=name)["error"] == "already_exists"
    assert daemon.files == {"f.txt": FIVE.encode(), "taken.txt": b"precious\n", "folder/x": b""}


@pytest.mark.parametrize("how", [{"delete": True}, {"rename": "g.txt"}, {"rename": "g.txt", "edits": [put(TWO, "2")]}])
def test_a_file_that_somebody_changed_is_neither_removed_nor_renamed(how: dict[str, Any]) -> None:
    daemon = opened()
    daemon.save("f.txt", FIVE + "theirs\n")
    reply = daemon.ask("hashline_edit", {"path": "f.txt", **how})
    assert (reply["error"], reply["suggested_action"]) == ("stale_base", "re-read_file")
    assert reply["changes"][0]["lines"] == [[6, 6]]
    assert list(daemon.files) == ["f.txt"]
    assert daemon.ask("hashline_edit", {"path": "f.txt", **how})["ok"], "the refusal has shown what is there"


def test_a_rename_is_carried_over_the_work_of_others_only_when_asked() -> None:
    daemon = opened(TEN)
    daemon.save("f.txt", "NEW\n" + TEN)
    reply = edit(daemon, put(ref(5, "line 5"), "mine"), rename="g.txt", on_stale="rebase")
    assert (reply["ok"], reply["cross_version"]) == (True, True)
    assert daemon.read("g.txt") == "NEW\n" + TEN.replace("line 5", "mine")


def test_a_wrong_id_stops_a_rename() -> None:
    daemon = opened()
    assert edit(daemon, put("2#zz", "2"), rename="g.txt")["error"] == "hash_mismatch"
    assert daemon.files == {"f.txt": FIVE.encode()}


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
    daemon = opened()
    assert daemon.ask("hashline_edit", {"path": "f.txt", **how})["error"] == code
    assert daemon.files == {"f.txt": FIVE.encode()}


def test_a_result_that_breaks_what_was_sound_gets_no_new_name_either() -> None:
    daemon = MemoryDaemon({"f.py": "f(\n)\n"})
    args = {"path": "f.py", "edits": [put(ref(2, ")"))], "rename": "g.py"}
    assert daemon.ask("hashline_edit", {**args, "safety_check": "strict"})["error"] == "safety_check_failed"
    assert daemon.files == {"f.py": b"f(\n)\n"}
    assert daemon.ask("hashline_edit", args)["safety_status"] == "suspicious"


# ── a rename with edits, and time ────────────────────────────────────────────


def renamed() -> tuple[MemoryDaemon, dict[str, Any]]:
    """Ann has read f.txt, changed its second line and renamed it to d/g.txt in one call."""
    daemon = MemoryDaemon()
    daemon.outside("f.txt", lines("one", "two", "three"))
    daemon.call(READ_TOOL, daemon.ann, path="f.txt", format="hashline")
    edits = [put(ref(2, "two"), "2")]
    return daemon, daemon.call(HASHLINE_TOOL, daemon.ann, path="f.txt", edits=edits, rename="d/g.txt")


def lying(daemon: MemoryDaemon) -> dict[str, bytes]:
    """What lies on the daemon."""
    return dict(daemon.files)


def sound(daemon: MemoryDaemon) -> None:
    """The views are what the log says."""
    assert list(check(daemon.journal.store)) == []


def test_undo_brings_back_the_old_name_with_the_old_bytes_and_redo_the_new() -> None:
    daemon, reply = renamed()
    assert reply["ok"]
    new = lying(daemon)
    undone = daemon.call(UNDO_TOOL, daemon.ann)
    assert undone["ok"], undone
    assert lying(daemon) == {"f.txt": lines("one", "two", "three")}
    sound(daemon)
    assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
    assert lying(daemon) == new
    sound(daemon)


def test_undo_keeps_what_another_wrote_under_the_new_name() -> None:
    daemon, _ = renamed()
    daemon.write("d/g.txt", lines("zero", "one", "2", "three"), daemon.ben)
    assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
    assert lying(daemon) == {"f.txt": lines("zero", "one", "two", "three")}
    sound(daemon)


def test_undo_stops_before_a_file_that_stands_under_the_old_name_now() -> None:
    daemon, _ = renamed()
    daemon.outside("f.txt", b"another\n")
    before_ = lying(daemon)
    (entry,) = daemon.call(UNDO_TOOL, daemon.ann)["files"]
    assert entry["skipped"] == "occupied"
    assert lying(daemon) == before_


def test_the_history_and_the_log_tell_of_the_rename_under_both_names() -> None:
    daemon, reply = renamed()
    seq = int(reply["version"][1:])
    with daemon.history() as history:
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
        records = daemon.call(LOG_TOOL, daemon.ann, path=path, kind="file_moved")["records"]
        assert [r["seq"] for r in records] == [seq]
    sound(daemon)
