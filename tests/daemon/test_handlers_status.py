"""`status`, `who`, `op_status` and `checkpoint`."""

from __future__ import annotations

import pytest
from desk import Desk, lines

from quire_daemon.handlers.status import CHECKPOINT_TOOL, OP_STATUS_TOOL, STATUS_TOOL, WHO_TOOL
from quire_journal.events import FileWritten, WritesAbandoned, WritesSettled
from quire_journal.ids import blob_id

OP = bytes(range(16))


def test_status_tells_what_the_app_says_and_what_the_journal_knows() -> None:
    desk = Desk()
    desk.write("f.txt", lines("x"), desk.ann)
    desk.health = {
        "pid": 7,
        "epoch": "e",
        "workspace": "/w",
        "state_dir": "/s",
        "versions": {"daemon": "1"},
        "coverage": {"state": "degraded", "reasons": ["overflow"]},
        "capture": {"done": True},
        "protection": {"exchange": True},
        "journal_bytes": 4096,
        "undeliverable": 0,
    }
    reply = desk.call(STATUS_TOOL, desk.ann)
    assert (reply["pid"], reply["epoch"], reply["seq"]) == (7, "e", desk.journal.head)
    assert "degraded" in reply["message"]
    assert reply["journal"]["bytes"] == 4096
    assert [writer["agent"] for writer in reply["writers"]] == ["ben", "ann"]
    assert reply["undeliverable"] == 0
    assert "journal_bytes" not in reply


def test_status_can_be_told_by_a_journal_without_health() -> None:
    desk = Desk()
    assert desk.call(STATUS_TOOL, desk.ann)["ok"]


def test_who_lists_each_caller_once_with_its_last_change() -> None:
    desk = Desk()
    again = desk.introduce("ann", "s1", "t2")
    batch = desk.write("f.txt", lines("x"), again)
    reply = desk.call(WHO_TOOL, desk.ann)
    assert [(w["agent"], w["turns"], w["you"]) for w in reply["writers"]] == [("ann", 2, True), ("ben", 1, False)]
    assert reply["writers"][0]["last_change"]["batch"] == batch
    assert reply["writers"][1]["last_change"] is None
    assert len(desk.call(WHO_TOOL, desk.ann, limit=1)["writers"]) == 1
    assert desk.call(WHO_TOOL, desk.ann, limit=0)["error"] == "schema_invalid"


def write_with_op(desk: Desk) -> int:
    """A write of Ann's under `OP`, not settled yet."""
    data = lines("x")
    return desk.note(FileWritten("f.txt", blob_id(data), len(data), 0o644), who=desk.ann, blobs=(data,), op=OP)


def test_an_operation_is_unknown_until_it_is_settled_then_applied_then_superseded() -> None:
    desk = Desk()
    assert desk.call(OP_STATUS_TOOL, desk.ann, op=OP.hex())["outcome"] == "not_applied"
    batch = write_with_op(desk)
    assert desk.call(OP_STATUS_TOOL, desk.ann, op=OP.hex())["outcome"] == "unknown"
    desk.note(WritesSettled(batch))
    reply = desk.call(OP_STATUS_TOOL, desk.ann, op=OP.hex())
    assert (reply["outcome"], reply["batch"], reply["known"]) == ("applied", batch, True)
    later = desk.outside("f.txt", lines("y"))
    reply = desk.call(OP_STATUS_TOOL, desk.ann, op=OP.hex())
    assert reply["outcome"] == "superseded"
    assert [s["version"] for s in reply["superseded_by"]] == [f"v{later}"]


def test_an_abandoned_operation_was_not_applied() -> None:
    desk = Desk()
    desk.note(WritesAbandoned((write_with_op(desk),), "swap"), who=desk.ann)
    assert desk.call(OP_STATUS_TOOL, desk.ann, op=OP.hex())["outcome"] == "not_applied"


@pytest.mark.parametrize("op", ["", "xyz"])
def test_what_is_no_operation_id_is_refused(op: str) -> None:
    desk = Desk()
    assert desk.call(OP_STATUS_TOOL, desk.ann, op=op)["error"] == "schema_invalid"


# ── checkpoint ───────────────────────────────────────────────────────────────


def test_a_checkpoint_is_made_listed_shown_and_dropped() -> None:
    desk = Desk()
    desk.write("f.txt", lines("x"), desk.ann)
    head = desk.journal.head
    made = desk.call(CHECKPOINT_TOOL, desk.ann, name="here", note="before the merge")
    assert (made["ok"], made["seq"]) == (True, head)
    (listed,) = desk.call(CHECKPOINT_TOOL, desk.ben, action="list")["checkpoints"]
    assert (listed["name"], listed["seq"], listed["writer"]["agent"]) == ("here", head, "ann")
    shown = desk.call(CHECKPOINT_TOOL, desk.ben, action="show", name="here")
    assert (shown["seq"], shown["note"]) == (head, "before the merge")
    assert desk.call(CHECKPOINT_TOOL, desk.ben, action="drop", name="here")["ok"]
    assert desk.call(CHECKPOINT_TOOL, desk.ben, action="list")["checkpoints"] == []
    assert desk.call(CHECKPOINT_TOOL, desk.ben, action="drop", name="here")["error"] == "not_found"


def test_a_name_is_moved_only_when_that_is_asked_for() -> None:
    desk = Desk()
    desk.call(CHECKPOINT_TOOL, desk.ann, name="here")
    desk.write("f.txt", lines("x"), desk.ann)
    refused = desk.call(CHECKPOINT_TOOL, desk.ann, name="here")
    assert refused["error"] == "already_exists"
    assert desk.call(CHECKPOINT_TOOL, desk.ann, name="here", at="seq:1", move=True)["seq"] == 1
    assert desk.call(CHECKPOINT_TOOL, desk.ann, action="show", name="here")["seq"] == 1


@pytest.mark.parametrize("name", ["", "v12", "seq:1", "2026-01-31T12:00:00Z", "x" * 201])
def test_a_name_that_means_another_point_is_refused(name: str) -> None:
    desk = Desk()
    assert desk.call(CHECKPOINT_TOOL, desk.ann, name=name)["error"] == "schema_invalid"


def test_a_note_is_bounded_and_has_no_control_characters() -> None:
    desk = Desk()
    assert desk.call(CHECKPOINT_TOOL, desk.ann, name="long", note="x" * 1001)["error"] == "schema_invalid"
    assert desk.call(CHECKPOINT_TOOL, desk.ann, name="bell", note="a\x07b\x1b[1m")["note"] == "ab[1m"
