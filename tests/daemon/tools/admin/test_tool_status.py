"""`status`, `who` and `op_status`."""

from __future__ import annotations

import pytest

from memory_daemon import BEGAN_NS, SECOND, MemoryDaemon, lines
from quire_daemon.core.decision import Present, Who
from quire_daemon.tools.admin.status import OP_STATUS_TOOL, STATUS_TOOL, WHO_TOOL
from quire_daemon.tools.bursts import BURST_TOOL
from quire_daemon.tools.leases.tool import CLAIM_TOOL
from quire_journal.model.events import FileWritten, WriteAttributed, WritesAbandoned, WritesSettled
from quire_journal.model.ids import blob_id

OP = bytes(range(16))


def test_status_tells_what_the_app_says_and_what_the_journal_knows() -> None:
    daemon = MemoryDaemon()
    daemon.write("f.txt", lines("x"), daemon.ann)
    health = {
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
    daemon.who("ann"), daemon.who("ben", "s2")
    reply = daemon.decide(STATUS_TOOL, daemon.ann, {}, health=health).reply
    assert (reply["pid"], reply["epoch"], reply["seq"]) == (7, "e", daemon.journal.head)
    assert "degraded" in reply["message"]
    assert (reply["journal"]["bytes"], reply["journal"]["uncaptured"]) == (4096, 0)
    assert [writer["agent"] for writer in reply["writers"]] == ["ben", "ann"]
    assert reply["undeliverable"] == 0
    assert "journal_bytes" not in reply


def test_status_can_be_told_by_a_journal_without_health() -> None:
    daemon = MemoryDaemon()
    assert daemon.call(STATUS_TOOL, daemon.ann)["ok"]


def test_who_lists_each_caller_once_with_its_last_change() -> None:
    daemon = MemoryDaemon()
    assert daemon.ann.writer < daemon.ben.writer
    again = daemon.introduce("ann", "s1", "t2")
    batch = daemon.write("f.txt", lines("x"), again)
    reply = daemon.call(WHO_TOOL, daemon.ann)
    assert [(w["agent"], w["turns"], w["you"]) for w in reply["writers"]] == [("ann", 2, True), ("ben", 1, False)]
    assert reply["writers"][0]["ids"] == [f"w{again.writer}", f"w{daemon.ann.writer}"]
    assert reply["writers"][0]["last_change"]["batch"] == batch
    assert reply["writers"][1]["last_change"] is None
    assert len(daemon.call(WHO_TOOL, daemon.ann, limit=1)["writers"]) == 1
    assert daemon.call(WHO_TOOL, daemon.ann, limit=0)["error"] == "schema_invalid"


def heard(*callers: Who) -> dict[bytes, Present]:
    """Callers that have called since the daemon's start, and have no connection now."""
    return {who.key: Present(BEGAN_NS, 0) for who in callers}


def test_who_tells_who_is_present_first_and_on_what() -> None:
    daemon = MemoryDaemon()
    assert (daemon.ann.writer, daemon.ben.writer) == (1, 2)  # as records 1 and 2
    cleo = daemon.introduce("cleo", "s3")
    daemon.write_all({"a.txt": lines("x"), "b.txt": lines("x")}, daemon.ben)
    daemon.call(BURST_TOOL, daemon.ben, action="begin", label="format")
    daemon.call(CLAIM_TOOL, daemon.ben, path="src", reason="moving")
    present = heard(daemon.ben) | {cleo.key: Present(BEGAN_NS, 1, False, (("c.txt", BEGAN_NS + SECOND),))}
    reply = daemon.decide(WHO_TOOL, daemon.ann, {"minutes": 0.5}, present=present).reply
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
    assert [
        w["agent"] for w in daemon.decide(WHO_TOOL, daemon.ann, {"present": True}, present=present).reply["writers"]
    ] == ["cleo", "ben"]


def test_who_has_done_nothing_for_a_while_and_has_no_connection_is_not_present() -> None:
    daemon = MemoryDaemon()
    daemon.write("a.txt", lines("x"), daemon.ben)
    present = {daemon.ben.key: Present(BEGAN_NS, 0)}
    for number in range(61):
        daemon.outside("b.txt", lines(f"y{number}"))
    reply = daemon.decide(WHO_TOOL, daemon.ann, {"minutes": 1}, present=present).reply
    assert (reply["present"], reply["total"]) == (0, 2)
    assert daemon.decide(WHO_TOOL, daemon.ann, {"minutes": 2}, present=present).reply["present"] == 1
    assert daemon.call(WHO_TOOL, daemon.ann, minutes=0)["error"] == "schema_invalid"


def test_who_was_not_heard_since_the_daemons_start_is_not_present() -> None:
    """After a restart, agent sessions that had ended were present, and met in their files."""
    daemon = MemoryDaemon({"a.txt": lines("x", "y")})
    daemon.write("a.txt", lines("ben", "y"), daemon.ben)
    daemon.write("a.txt", lines("ann", "y"), daemon.ann)
    reply = daemon.decide(WHO_TOOL, daemon.who("cleo"), {}, present=heard(daemon.ann)).reply
    assert [(one["agent"], one["present"]) for one in reply["writers"]][:2] == [("ann", True), ("ben", False)]
    assert reply["collisions"] == []


def test_what_git_brought_in_an_agents_shell_is_no_writing_of_the_agent() -> None:
    """After a merge, the agent that merged met the author in each file."""
    daemon = MemoryDaemon({"a.txt": lines("x", "y")})
    daemon.write("a.txt", lines("ann", "y"), daemon.ann)
    daemon.by_git("git: merge side: Fast-forward (HEAD main 1 -> main 2)", **{"a.txt": lines("ann", "y", "z")})
    merged = daemon.head_of("a.txt")
    daemon.note(WriteAttributed((merged,), daemon.ben.writer, "traced"))
    reply = daemon.decide(WHO_TOOL, daemon.who("cleo"), {}, present=heard(daemon.ann, daemon.ben)).reply
    writing = {one["agent"]: [file["path"] for file in one["on"]["writing"]] for one in reply["writers"]}
    assert (writing["ann"], writing["ben"], reply["collisions"]) == (["a.txt"], [], [])


def test_who_wrote_a_file_that_was_renamed_since_still_writes_it() -> None:
    daemon = MemoryDaemon({"a.txt": lines("x", "y")})
    daemon.write("a.txt", lines("ann", "y"), daemon.ann)
    daemon.outside_moves("a.txt", "b.txt")
    daemon.write("b.txt", lines("ann", "ben"), daemon.ben)
    reply = daemon.decide(WHO_TOOL, daemon.who("cleo"), {}, present=heard(daemon.ann, daemon.ben)).reply
    writing = {one["agent"]: [file["path"] for file in one["on"]["writing"]] for one in reply["writers"]}
    assert (writing["ann"], writing["ben"]) == (["b.txt"], ["b.txt"])
    assert [one["path"] for one in reply["collisions"]] == ["b.txt"]


def test_who_lists_absent_callers_of_the_last_hours_newest_first() -> None:
    daemon = MemoryDaemon()
    gone = {who.key: Present(daemon.clock.now_ns() + n, 0, gone=True) for n, who in enumerate((daemon.ben, daemon.ann))}
    listed = [daemon.decide(WHO_TOOL, daemon.who("cleo"), {"hours": h}, present=gone).reply for h in (0, 1)]
    assert [[w["agent"] for w in reply["writers"]] for reply in listed] == [["ann", "ben", "cleo"], ["ann", "ben"]]
    daemon.after(2 * 3600)
    assert daemon.decide(WHO_TOOL, daemon.ann, {"hours": 1}, present=gone).reply["writers"] == []
    assert daemon.call(WHO_TOOL, daemon.ann, hours=-1)["error"] == "schema_invalid"


def write_with_op(daemon: MemoryDaemon) -> int:
    """A write of Ann's under `OP`, not settled yet."""
    data = lines("x")
    return daemon.note(FileWritten("f.txt", blob_id(data), len(data), 0o644), who=daemon.ann, blobs=(data,), op=OP)


def test_an_operation_is_unknown_until_it_is_settled_then_applied_then_superseded() -> None:
    daemon = MemoryDaemon()
    assert daemon.call(OP_STATUS_TOOL, daemon.ann, op=OP.hex())["outcome"] == "not_applied"
    batch = write_with_op(daemon)
    assert daemon.call(OP_STATUS_TOOL, daemon.ann, op=OP.hex())["outcome"] == "unknown"
    daemon.note(WritesSettled(batch))
    reply = daemon.call(OP_STATUS_TOOL, daemon.ann, op=OP.hex())
    assert (reply["outcome"], reply["batch"], reply["known"]) == ("applied", batch, True)
    later = daemon.outside("f.txt", lines("y"))
    reply = daemon.call(OP_STATUS_TOOL, daemon.ann, op=OP.hex())
    assert reply["outcome"] == "superseded"
    assert [s["version"] for s in reply["superseded_by"]] == [f"v{later}"]


def test_an_operation_that_has_landed_is_applied_before_the_log_calls_it_settled() -> None:
    daemon = MemoryDaemon()
    batch = write_with_op(daemon)

    def outcome(landed: int, being_written: tuple[int, ...] = ()) -> object:
        given = {"landed": landed, "being_written": being_written}
        return daemon.decide(OP_STATUS_TOOL, daemon.ann, {"op": OP.hex()}, **given).reply["outcome"]

    assert outcome(batch - 1) == "unknown"
    assert outcome(batch + 1, (batch,)) == "unknown", "a later one has overtaken it"
    assert outcome(batch) == "applied"
    daemon.outside("f.txt", lines("y"))
    assert outcome(batch) == "superseded"


def test_an_abandoned_operation_was_not_applied() -> None:
    daemon = MemoryDaemon()
    daemon.note(WritesAbandoned((write_with_op(daemon),), "swap"), who=daemon.ann)
    assert daemon.call(OP_STATUS_TOOL, daemon.ann, op=OP.hex())["outcome"] == "not_applied"


@pytest.mark.parametrize("op", ["", "xyz"])
def test_what_is_no_operation_id_is_refused(op: str) -> None:
    daemon = MemoryDaemon()
    assert daemon.call(OP_STATUS_TOOL, daemon.ann, op=op)["error"] == "schema_invalid"


def test_who_tells_what_is_written_and_where_two_meet() -> None:
    daemon = MemoryDaemon()
    body = ["def route():", "    return 1", "", "def dispatch():", "    a", "    b", "    c"]
    daemon.outside("app.py", lines(*body))
    daemon.write("app.py", lines(*body[:4], "    ANN", *body[5:]), daemon.ann)
    daemon.write("app.py", lines(*body[:4], "    ANN", "    b", "    BEN"), daemon.ben)
    daemon.write("notes", lines("x"), daemon.ben)
    both = heard(daemon.ann, daemon.ben)
    reply = daemon.decide(WHO_TOOL, daemon.ann, {}, present=both).reply
    writing = {w["agent"]: [file["path"] for file in w["on"]["writing"]] for w in reply["writers"]}
    assert writing == {"ann": ["app.py"], "ben": ["notes", "app.py"]}
    (collision,) = reply["collisions"]
    assert (collision["path"], collision["symbols"]) == ("app.py", ["dispatch"])
    assert {one["writer"]["agent"]: one["lines"] for one in collision["writers"]} == {"ann": [[5, 5]], "ben": [[7, 7]]}
    for number in range(61):
        daemon.outside("b.txt", lines(f"y{number}"))
    reply = daemon.decide(WHO_TOOL, daemon.ann, {"minutes": 1}, present=both).reply
    assert reply["collisions"] == []


def test_whoever_only_took_back_writes_nothing_and_a_person_meets_nobody_with_its_editor() -> None:
    daemon = MemoryDaemon()
    daemon.outside("f", lines("a", "b"))
    daemon.write("f", lines("a", "ann's"), daemon.ann)
    assert daemon.ask("undo", {"writer": "ann"}, "max")["ok"]
    assert daemon.ask("redo", {}, "max")["ok"]
    person, editor = daemon.introduce("", ""), daemon.introduce("", "vim")
    daemon.write("g", lines("by hand"), person)
    daemon.write("g", lines("by vim"), editor)
    everybody = heard(person, editor, daemon.ann, daemon.who("max"))
    reply = daemon.decide(WHO_TOOL, person, {}, present=everybody).reply
    writing = {(w["agent"], w["agent_session"]): len(w["on"]["writing"]) for w in reply["writers"]}
    assert (writing["max", "s1"], writing["ann", "s1"], writing["", "vim"]) == (0, 1, 1)
    assert reply["collisions"] == []
    assert [w["agent_session"] for w in reply["writers"] if w["you"]] == ["vim", ""]
