"""`burst`: what is begun, ended, told, and taken back as one. Each record is a second later than the one before."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import SECOND, MemoryDaemon, lines
from quire_daemon.core.decision import Who
from quire_daemon.tools.agent_hooks import NATIVE_TOOL
from quire_daemon.tools.bursts import BURST_TOOL
from quire_daemon.tools.history.log import LOG_TOOL
from quire_daemon.tools.leases.tool import CLAIM_TOOL
from quire_daemon.tools.runs import RUN_TOOL
from quire_daemon.tools.undo.tool import REDO_TOOL, UNDO_TOOL
from quire_journal.model.events import BurstBegun, BurstEnded, Event, WorkspaceScanned
from quire_journal.model.ids import WriterId


def begin(daemon: MemoryDaemon, **args: Any) -> int:
    """A burst of Ann's; its number."""
    reply = daemon.call(BURST_TOOL, daemon.ann, action="begin", **args)
    assert reply["ok"], reply
    return int(reply["burst"])


def last_event(daemon: MemoryDaemon) -> Event | None:
    with daemon.history() as history:
        record = history.record(history.head())
        assert record is not None
        return record.event()


def test_a_burst_is_begun_and_ended_and_says_what_belonged_to_it() -> None:
    daemon = MemoryDaemon()
    begun = daemon.call(BURST_TOOL, daemon.ann, action="begin", label="rename\x1b[1m it", kind="tool_call")
    assert (begun["state"], begun["label"], begun["batches"], begun["yours"]) == ("open", "rename[1m it", 0, True)
    assert isinstance(last_event(daemon), BurstBegun)
    first = daemon.write("a", lines("a"), daemon.ann)
    daemon.write("b", lines("b"), daemon.ben)
    ended = daemon.call(BURST_TOOL, daemon.ann, action="end")
    assert (ended["burst"], ended["state"], ended["why"], ended["batches"]) == (begun["burst"], "ended", "owner", 1)
    assert last_event(daemon) == BurstEnded(begun["burst"], "owner")
    shown = daemon.call(BURST_TOOL, daemon.ben, action="show", burst=begun["burst"])
    assert [(b["batch"], b["evidence"], b["paths"]) for b in shown["contents"]] == [(first, "own", ["a"])]
    assert (shown["first"], shown["last"], shown["yours"]) == (begun["burst"], daemon.journal.head, False)
    assert [b["burst"] for b in daemon.call(BURST_TOOL, daemon.ben)["bursts"]] == [begun["burst"]]


def test_a_new_caller_is_named_though_the_journal_does_not_know_it_yet() -> None:
    daemon = MemoryDaemon()
    new = Who(WriterId(0), b"", "cy", "s9")
    assert daemon.call(BURST_TOOL, new, action="begin")["owner"]["agent"] == "cy"
    holder = daemon.call(CLAIM_TOOL, new, path="f.txt")["holder"]
    assert holder == {"id": "w1", "agent": "cy", "agent_session": "s9"}


def test_a_second_burst_of_a_caller_is_within_the_first_and_end_ends_the_innermost() -> None:
    daemon = MemoryDaemon()
    outer = begin(daemon)
    inner = daemon.call(BURST_TOOL, daemon.ann, action="begin", kind="formatter")
    assert (inner["within"], inner["outside"]) == ([outer], True)
    assert daemon.call(BURST_TOOL, daemon.ann, action="end")["burst"] == inner["burst"]
    assert daemon.call(BURST_TOOL, daemon.ann, action="end")["burst"] == outer
    assert daemon.call(BURST_TOOL, daemon.ann, action="end")["error"] == "not_found"


def test_a_caller_has_no_more_than_so_many_bursts_open() -> None:
    daemon = MemoryDaemon()
    for _ in range(16):
        begin(daemon)
    refused = daemon.call(BURST_TOOL, daemon.ann, action="begin")
    assert (refused["error"], len(refused["open"])) == ("busy", 16)
    assert daemon.call(BURST_TOOL, daemon.ben, action="begin")["ok"]


def test_announced_calls_that_never_end_stop_no_burst_or_run_and_no_more_is_announced_beside_them() -> None:
    """Sixteen calls that a person had denied made `quire run` fail until their time was over."""
    daemon = MemoryDaemon()
    for number in range(17):
        call = daemon.call(NATIVE_TOOL, daemon.ann, moment="before", tool="Bash", command=f"touch {number}")
        assert (call["ok"], call["burst"] is None) == (True, number == 16)
    assert daemon.call(RUN_TOOL, daemon.ann, action="begin", command=["make"])["ok"]
    begin(daemon)


def test_bursts_of_a_caller_leave_its_calls_to_be_announced() -> None:
    daemon = MemoryDaemon()
    for _ in range(16):
        begin(daemon)
    assert daemon.call(RUN_TOOL, daemon.ann, action="begin", command=["make"])["error"] == "busy"
    assert daemon.call(NATIVE_TOOL, daemon.ann, moment="before", tool="Bash", command="make")["burst"]


def test_two_bursts_that_take_outside_writes_are_warned_of_each_other() -> None:
    daemon = MemoryDaemon()
    first = begin(daemon, kind="git")
    second = daemon.call(BURST_TOOL, daemon.ben, action="begin", outside=True)
    assert second["warnings"][0]["bursts"] == [first]
    daemon.outside("a", lines("a"))
    shown = daemon.call(BURST_TOOL, daemon.ann, action="show", burst=first)
    assert [(b["evidence"], b["belongs"]) for b in shown["contents"]] == [("several_open", False)]
    assert (shown["batches"], shown["unclear"]) == (0, 1)
    assert daemon.call(UNDO_TOOL, daemon.ann, burst=first)["error"] == "not_found"


def test_a_burst_whose_time_is_over_is_ended_and_takes_nothing_more() -> None:
    daemon = MemoryDaemon()
    burst = begin(daemon, ttl_s=3)
    inside = daemon.write("a", lines("a"), daemon.ann)
    for text in ("b", "c", "d"):
        daemon.write("a", lines(text), daemon.ann)
    shown = daemon.call(BURST_TOOL, daemon.ann, action="show", burst=burst)
    assert (shown["state"], shown["why"], shown["ended_at"]) == ("ended", "ttl", shown["expires_at"])
    assert [b["batch"] for b in shown["contents"]] == [inside, inside + 1]
    late = daemon.call(BURST_TOOL, daemon.ann, action="end", burst=burst)
    assert (late["ok"], late["why"]) == (True, "ttl")
    assert last_event(daemon) == BurstEnded(burst, "ttl")
    again = daemon.call(BURST_TOOL, daemon.ann, action="end", burst=burst)
    assert (again["ok"], again["unchanged"], again["why"]) == (True, True, "ttl")


def test_only_its_owner_ends_a_burst_in_any_turn() -> None:
    daemon = MemoryDaemon()
    burst = begin(daemon)
    assert daemon.call(BURST_TOOL, daemon.ben, action="end", burst=burst)["error"] == "permission_denied"
    assert daemon.call(BURST_TOOL, daemon.introduce("ann", "s1", "t2"), action="end", burst=burst)["ok"]


@pytest.mark.parametrize(
    ("args", "argument"),
    [
        ({"ttl_s": 0}, "ttl_s"),
        ({"ttl_s": 86_401}, "ttl_s"),
        ({"kind": "Tool call"}, "kind"),
        ({"kind": ""}, "kind"),
        ({"label": "x" * 201}, "label"),
        ({"action": "show"}, "burst"),
        ({"action": "end", "burst": "newest"}, "burst"),
        ({"action": "list", "limit": 0}, "limit"),
    ],
)
def test_what_a_burst_cannot_be_is_refused_by_name(args: dict[str, Any], argument: str) -> None:
    daemon = MemoryDaemon()
    refused = daemon.call(BURST_TOOL, daemon.ann, **{"action": "begin", **args})
    assert (refused["error"], refused["argument"]) == ("schema_invalid", argument)


def test_a_burst_that_never_was_is_not_found() -> None:
    daemon = MemoryDaemon()
    daemon.write("a", lines("a"), daemon.ann)
    for number in (1, daemon.journal.head, 999, 0, -1, (1 << 64) - 1):
        assert daemon.call(BURST_TOOL, daemon.ann, action="show", burst=number)["error"] == "not_found"
        assert daemon.call(UNDO_TOOL, daemon.ann, burst=number)["error"] == "not_found"
        assert daemon.call(LOG_TOOL, daemon.ann, burst=number)["error"] == "not_found"


# ── log, undo, redo ──────────────────────────────────────────────────────────


def test_the_log_of_a_burst_is_its_beginning_its_batches_and_its_end() -> None:
    daemon = MemoryDaemon()
    assert (daemon.ann.writer, daemon.ben.writer) == (1, 2)  # as records 1 and 2
    daemon.write("a", lines("before"), daemon.ann)
    burst = begin(daemon, label="all of it")
    first = daemon.write("a", lines("a"), daemon.ann)
    daemon.write("a", lines("b"), daemon.ben)
    daemon.call(BURST_TOOL, daemon.ann, action="end")
    daemon.write("a", lines("after"), daemon.ann)
    records = daemon.call(LOG_TOOL, daemon.ben, burst=burst)["records"]
    assert [r["seq"] for r in records] == [first + 2, first, burst]
    assert [r["kind"] for r in records] == ["burst_ended", "file_written", "burst_begun"]
    assert records[2]["label"] == "all of it"
    assert [r["seq"] for r in daemon.call(LOG_TOOL, daemon.ben, burst=str(burst), kind="file_written")["records"]] == [
        first
    ]
    assert [r["seq"] for r in daemon.call(LOG_TOOL, daemon.ben, burst=burst, path="a")["records"]] == [first]


def test_undo_of_a_burst_takes_back_all_of_it_and_keeps_the_rest() -> None:
    daemon = MemoryDaemon()
    start = lines("one", "two", "three", "four", "five", "six")
    daemon.outside("f", start)
    daemon.write("f", text := start.replace(b"one", b"ONE"), daemon.ann)
    burst = begin(daemon)
    daemon.write("f", text := text.replace(b"three", b"THREE"), daemon.ann)
    daemon.write("new", lines("n"), daemon.ann)
    daemon.write("f", text := text.replace(b"five", b"FIVE"), daemon.ben)
    daemon.call(BURST_TOOL, daemon.ann, action="end")
    daemon.write("f", text.replace(b"six", b"SIX"), daemon.ann)
    assert daemon.call(UNDO_TOOL, daemon.ben, burst=burst)["ok"]
    assert daemon.text("f") == lines("ONE", "two", "three", "four", "FIVE", "SIX")
    assert daemon.text("new") is None
    assert daemon.call(REDO_TOOL, daemon.ben, burst=burst)["ok"]
    assert daemon.text("f") == lines("ONE", "two", "THREE", "four", "FIVE", "SIX")
    assert daemon.text("new") == lines("n")
    assert daemon.call(UNDO_TOOL, daemon.ann, burst=burst, writer="ben")["error"] == "not_found"
    assert daemon.call(UNDO_TOOL, daemon.ann, burst=burst, path="new")["ok"]
    assert (daemon.text("new"), b"THREE" in (daemon.text("f") or b"")) == (None, True)


def test_what_a_formatter_wrote_is_undone_with_its_burst_where_that_is_asked_for() -> None:
    daemon = MemoryDaemon()
    daemon.outside("f", lines("x=1"))
    daemon.note(WorkspaceScanned("start", 1, 1))
    burst = begin(daemon, kind="formatter")
    daemon.outside("f", lines("x = 1"))
    daemon.outside("cache", lines("c"))
    daemon.call(BURST_TOOL, daemon.ann, action="end")
    daemon.outside("other", lines("o"))
    refused = daemon.call(UNDO_TOOL, daemon.ann, burst=burst)
    assert (refused["error"], len(refused["left_out"])) == ("not_found", 2)
    assert "`--probable`" in refused["message"]
    reply = daemon.call(UNDO_TOOL, daemon.ann, burst=burst, probable=True)
    assert {f["path"]: f["action"] for f in reply["files"]} == {"f": "write", "cache": "delete"}
    assert (daemon.text("f"), daemon.text("cache"), daemon.text("other")) == (lines("x=1"), None, lines("o"))
    assert daemon.call(UNDO_TOOL, daemon.ann, burst=burst, probable=True)["error"] == "not_found"


def test_a_burst_that_expired_on_the_desk_ends_by_the_clock_that_it_was_given() -> None:
    daemon = MemoryDaemon()
    reply = daemon.call(BURST_TOOL, daemon.ann, action="begin", ttl_s=1.5)
    event = last_event(daemon)
    assert isinstance(event, BurstBegun)
    with daemon.history() as history:
        record = history.record(reply["burst"])
        assert record is not None
        assert event.expires_ns == record.at_ns + 3 * SECOND // 2
