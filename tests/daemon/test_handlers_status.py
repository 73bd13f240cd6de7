"""`status`, `who` and `op_status`."""

from __future__ import annotations

import pytest
from desk import BEGAN_NS, SECOND, Desk, lines

from quire_daemon.handlers.base import Present
from quire_daemon.handlers.bursts import BURST_TOOL
from quire_daemon.handlers.leases import CLAIM_TOOL
from quire_daemon.handlers.status import OP_STATUS_TOOL, STATUS_TOOL, WHO_TOOL
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
    assert (reply["journal"]["bytes"], reply["journal"]["uncaptured"]) == (4096, 0)
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
    assert reply["writers"][0]["ids"] == [f"w{again.writer}", f"w{desk.ann.writer}"]
    assert reply["writers"][0]["last_change"]["batch"] == batch
    assert reply["writers"][1]["last_change"] is None
    assert len(desk.call(WHO_TOOL, desk.ann, limit=1)["writers"]) == 1
    assert desk.call(WHO_TOOL, desk.ann, limit=0)["error"] == "schema_invalid"


def test_who_tells_who_is_present_first_and_on_what() -> None:
    desk = Desk()
    cleo = desk.introduce("cleo", "s3")
    desk.write_all({"a.txt": lines("x"), "b.txt": lines("x")}, desk.ben)
    desk.call(BURST_TOOL, desk.ben, action="begin", label="format")
    desk.call(CLAIM_TOOL, desk.ben, path="src", reason="moving")
    desk.present[cleo.key] = Present(BEGAN_NS, 1, False, (("c.txt", BEGAN_NS + SECOND),))
    reply = desk.call(WHO_TOOL, desk.ann, minutes=0.5)
    assert [w["hooks"] for w in reply["writers"]] == [False] * 3
    assert [(w["agent"], w["present"], w["connections"], w["alive"]) for w in reply["writers"]] == [
        ("cleo", True, 1, False),
        ("ben", True, 0, None),
        ("ann", False, 0, None),
    ]
    on_cleo, on_ben, _ = (writer["on"] for writer in reply["writers"])
    assert [file["path"] for file in on_cleo["files"]] == ["c.txt"]
    assert sorted(file["path"] for file in on_ben["files"]) == ["a.txt", "b.txt"]
    assert [lease["path"] for lease in on_ben["leases"]] == ["src"]
    assert [burst["label"] for burst in on_ben["bursts"]] == ["format"]
    assert reply["writers"][0]["last_seen"] is not None
    assert [w["agent"] for w in desk.call(WHO_TOOL, desk.ann, present=True)["writers"]] == ["cleo", "ben"]


def test_who_has_done_nothing_for_a_while_and_has_no_connection_is_not_present() -> None:
    desk = Desk()
    desk.write("a.txt", lines("x"), desk.ben)
    desk.present[desk.ben.key] = Present(BEGAN_NS, 0)
    for _ in range(61):
        desk.outside("b.txt", lines("y"))
    reply = desk.call(WHO_TOOL, desk.ann, minutes=1)
    assert (reply["present"], reply["total"]) == (0, 2)
    assert desk.call(WHO_TOOL, desk.ann, minutes=2)["present"] == 1
    assert desk.call(WHO_TOOL, desk.ann, minutes=0)["error"] == "schema_invalid"


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


def test_an_operation_that_has_landed_is_applied_before_the_log_calls_it_settled() -> None:
    desk = Desk()
    batch = write_with_op(desk)
    desk.landed = batch - 1
    assert desk.call(OP_STATUS_TOOL, desk.ann, op=OP.hex())["outcome"] == "unknown"
    desk.landed = batch + 1
    desk.being_written = (batch,)  # a later one has overtaken it
    assert desk.call(OP_STATUS_TOOL, desk.ann, op=OP.hex())["outcome"] == "unknown"
    desk.being_written = ()
    desk.landed = batch
    assert desk.call(OP_STATUS_TOOL, desk.ann, op=OP.hex())["outcome"] == "applied"
    desk.outside("f.txt", lines("y"))
    assert desk.call(OP_STATUS_TOOL, desk.ann, op=OP.hex())["outcome"] == "superseded"


def test_an_abandoned_operation_was_not_applied() -> None:
    desk = Desk()
    desk.note(WritesAbandoned((write_with_op(desk),), "swap"), who=desk.ann)
    assert desk.call(OP_STATUS_TOOL, desk.ann, op=OP.hex())["outcome"] == "not_applied"


@pytest.mark.parametrize("op", ["", "xyz"])
def test_what_is_no_operation_id_is_refused(op: str) -> None:
    desk = Desk()
    assert desk.call(OP_STATUS_TOOL, desk.ann, op=op)["error"] == "schema_invalid"
