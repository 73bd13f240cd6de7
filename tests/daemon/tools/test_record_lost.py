"""After a salvage a lost version is never answered with another one: every question about it says `record_lost`."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon, lines
from quire_daemon.tools.table import TOOLS
from quire_journal.model.events import CheckpointNamed, FileWritten, JournalSalvaged, RecordLost
from quire_journal.model.ids import blob_id

GAPS = [{"first": 5, "last": 6}]


def later(*said: str) -> bytes:
    return lines("one", "two", *said)


@pytest.fixture
def salvaged() -> MemoryDaemon:
    """`a.txt` is v3; records 5 and 6 are lost, and v7 was made from v6. `b.txt` is v4. Record 8 tells of the loss."""
    daemon = MemoryDaemon()
    assert (daemon.ann.writer, daemon.ben.writer) == (1, 2)  # as records 1 and 2
    daemon.write("a.txt", later("three"), daemon.ann)
    daemon.write("b.txt", later(), daemon.ben)
    daemon.note(RecordLost())
    daemon.note(RecordLost())
    data = later("three", "LOST", "seven")
    assert daemon.note(FileWritten("a.txt", blob_id(data), len(data), 0o644, 6), who=daemon.ann, blobs=(data,)) == 7
    daemon.files["a.txt"] = data
    daemon.note(JournalSalvaged("a test", "aside", 5, ((5, 6),)))
    return daemon


def ask(daemon: MemoryDaemon, tool: str, **args: Any) -> dict[str, Any]:
    return daemon.call(TOOLS[tool], daemon.ann, **args)


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("read_file", {"path": "a.txt", "at": "v5"}),
        ("read_file", {"path": "a.txt", "at": "v6"}),
        ("read_file", {"path": "b.txt", "at": "v6"}),
        ("read_file", {"path": "a.txt", "at": "2023-11-14T22:13:26Z"}),
        ("blame", {"path": "a.txt", "at": "v6"}),
        ("why", {"path": "a.txt", "at": "v6"}),
        ("show", {"version": "v6"}),
        ("show", {"version": "v6", "path": "a.txt"}),
        ("restore", {"path": "a.txt", "at": "v6"}),
        ("restore", {"path": "a.txt", "at": "v6", "plan": True}),
        ("diff", {"from": "v6", "path": "a.txt"}),
        ("diff", {"from": "v3", "to": "v5"}),
        ("checkpoint", {"name": "then", "at": "seq:5"}),
        ("rollback", {"to": "v6"}),
    ],
)
def test_a_question_about_a_lost_version_is_refused_with_the_gap(
    salvaged: MemoryDaemon, tool: str, args: dict[str, Any]
) -> None:
    reply = ask(salvaged, tool, **args)
    assert (reply["ok"], reply["error"], reply["gaps"]) == (False, "record_lost", GAPS)
    assert "records 5 to 6" in reply["message"]


def test_the_refusal_names_the_versions_around_the_gap(salvaged: MemoryDaemon) -> None:
    reply = ask(salvaged, "read_file", path="a.txt", at="v6")
    assert (reply["before"], reply["after"]) == ("v3", "v7")


@pytest.mark.parametrize("point", ["v3", "v7", "seq:8"])
def test_what_is_kept_is_answered_as_ever(salvaged: MemoryDaemon, point: str) -> None:
    reply = ask(salvaged, "read_file", path="a.txt", at=point)
    assert reply["ok"]
    assert reply["version"] == ("v3" if point == "v3" else "v7")


def test_a_tree_at_a_lost_point_holds_no_other_version(salvaged: MemoryDaemon) -> None:
    reply = ask(salvaged, "tree", at="seq:6")
    assert {e["path"]: (e["version"], e["sha256"], e.get("uncaptured")) for e in reply["entries"]} == {
        "a.txt": (None, None, "record_lost"),
        "b.txt": (None, None, "record_lost"),
    }
    assert (reply["complete"], reply["gaps"]) == (False, GAPS)
    assert [w["type"] for w in reply["warnings"]] == ["record_lost"]


def test_a_tree_behind_the_gap_has_what_is_known_again(salvaged: MemoryDaemon) -> None:
    told = {e["path"]: e["version"] for e in ask(salvaged, "tree", at="seq:7")["entries"]}
    assert told == {"a.txt": "v7", "b.txt": None}
    now = ask(salvaged, "tree")
    assert {e["path"]: e["version"] for e in now["entries"]} == {"a.txt": "v7", "b.txt": "v4"}
    assert "gaps" not in now


def test_blame_does_not_give_lost_lines_to_whoever_wrote_next(salvaged: MemoryDaemon) -> None:
    reply = ask(salvaged, "blame", path="a.txt")
    assert reply["gaps"] == [{"version": "v6", "why": "record_lost", "attributed_to": "v7"}]
    assert "beyond v7 nothing is known" in reply["message"]


def test_the_difference_of_a_version_to_a_lost_one_is_not_told(salvaged: MemoryDaemon) -> None:
    shown = ask(salvaged, "show", version="v7")
    assert (shown["diff"]["status"], shown["diff"]["from"], shown["diff"]["hunks"]) == ("record_lost", "v6", [])
    logged = ask(salvaged, "log", path="a.txt", patch=True, stat=True)["records"][0]
    assert (logged["diff"]["status"], logged["stat"]) == ("record_lost", {})


def test_a_diff_over_a_gap_says_so(salvaged: MemoryDaemon) -> None:
    reply = ask(salvaged, "diff", **{"from": "v4", "to": "v7"})
    assert reply["gaps"] == GAPS
    assert [f["path"] for f in reply["files"]] == ["a.txt"]


def test_an_undo_does_not_take_lost_changes_back(salvaged: MemoryDaemon) -> None:
    """v7 was made from v6: without it the file was v6, which nobody has."""
    reply = ask(salvaged, "undo", batch=7)
    assert (reply["error"], reply["gaps"]) == ("record_lost", GAPS)
    assert salvaged.text("a.txt") == later("three", "LOST", "seven")


def test_an_undo_from_before_the_gap_keeps_what_came_in_it(salvaged: MemoryDaemon) -> None:
    reply = ask(salvaged, "undo", batch=3)
    assert salvaged.text("a.txt") is not None, reply
    assert b"LOST" in (salvaged.text("a.txt") or b"")


def test_a_rollback_over_a_gap_tells_what_it_cannot_take_back(salvaged: MemoryDaemon) -> None:
    salvaged.write("b.txt", later("nine"), salvaged.ann)
    reply = ask(salvaged, "rollback", to="v4", plan=True)
    assert reply["gaps"] == GAPS
    assert {f["path"]: f["skipped"] for f in reply["files"]} == {"a.txt": "record_lost", "b.txt": None}
    assert [w["type"] for w in reply["warnings"]] == ["record_lost"]


def test_a_checkpoint_behind_a_gap_tells_of_it(salvaged: MemoryDaemon) -> None:
    named = ask(salvaged, "checkpoint", name="then", at="seq:7")
    assert (named["ok"], named["gaps"]) == (True, GAPS)
    assert [w["type"] for w in named["warnings"]] == ["record_lost"]
    assert ask(salvaged, "checkpoint", action="show", name="then")["gaps"] == GAPS
    assert ask(salvaged, "checkpoint", action="list")["checkpoints"][0]["gaps"] == GAPS


def test_a_checkpoint_of_before_the_damage_that_names_a_lost_record_tells_of_it(salvaged: MemoryDaemon) -> None:
    salvaged.note(CheckpointNamed("old", 6, "", 0, ""))
    assert ask(salvaged, "checkpoint", action="show", name="old")["gaps"] == GAPS
    assert ask(salvaged, "read_file", path="a.txt", at="old")["error"] == "record_lost"


def test_a_checkpoint_of_now_is_whole(salvaged: MemoryDaemon) -> None:
    assert "gaps" not in ask(salvaged, "checkpoint", name="now")
