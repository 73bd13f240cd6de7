"""`burst`: what is begun, ended, told, and taken back as one. Records on the desk are a second apart."""

from __future__ import annotations

from typing import Any

import pytest
from desk import SECOND, Desk, lines

from quire_daemon.handlers.base import Who
from quire_daemon.handlers.bursts import BURST_TOOL
from quire_daemon.handlers.leases import CLAIM_TOOL
from quire_daemon.handlers.log import LOG_TOOL
from quire_daemon.handlers.undo import REDO_TOOL, UNDO_TOOL
from quire_journal.events import BurstBegun, BurstEnded, Event, WorkspaceScanned
from quire_journal.ids import WriterId
from quire_journal.views.writers import caller_key


def begin(desk: Desk, **args: Any) -> int:
    """A burst of Ann's; its number."""
    reply = desk.call(BURST_TOOL, desk.ann, action="begin", **args)
    assert reply["ok"], reply
    return int(reply["burst"])


def last_event(desk: Desk) -> Event | None:
    with desk.history() as history:
        record = history.record(history.head())
        assert record is not None
        return record.event()


def test_a_burst_is_begun_and_ended_and_says_what_belonged_to_it() -> None:
    desk = Desk()
    begun = desk.call(BURST_TOOL, desk.ann, action="begin", label="rename\x1b[1m it", kind="tool_call")
    assert (begun["state"], begun["label"], begun["batches"], begun["yours"]) == ("open", "rename[1m it", 0, True)
    assert isinstance(last_event(desk), BurstBegun)
    first = desk.write("a", lines("a"), desk.ann)
    desk.write("b", lines("b"), desk.ben)
    ended = desk.call(BURST_TOOL, desk.ann, action="end")
    assert (ended["burst"], ended["state"], ended["why"], ended["batches"]) == (begun["burst"], "ended", "owner", 1)
    assert last_event(desk) == BurstEnded(begun["burst"], "owner")
    shown = desk.call(BURST_TOOL, desk.ben, action="show", burst=begun["burst"])
    assert [(b["batch"], b["evidence"], b["paths"]) for b in shown["contents"]] == [(first, "own", ["a"])]
    assert (shown["first"], shown["last"], shown["yours"]) == (begun["burst"], desk.journal.head, False)
    assert [b["burst"] for b in desk.call(BURST_TOOL, desk.ben)["bursts"]] == [begun["burst"]]


def test_a_new_caller_is_named_though_the_journal_does_not_know_it_yet() -> None:
    desk = Desk()
    new = Who(WriterId(9), caller_key(1000, "cy", "s9"), "cy", "s9")
    assert desk.call(BURST_TOOL, new, action="begin")["owner"]["agent"] == "cy"
    holder = desk.call(CLAIM_TOOL, new, path="f.txt")["holder"]
    assert holder == {"id": "w9", "agent": "cy", "agent_session": "s9"}


def test_a_second_burst_of_a_caller_is_within_the_first_and_end_ends_the_innermost() -> None:
    desk = Desk()
    outer = begin(desk)
    inner = desk.call(BURST_TOOL, desk.ann, action="begin", kind="formatter")
    assert (inner["within"], inner["outside"]) == ([outer], True)
    assert desk.call(BURST_TOOL, desk.ann, action="end")["burst"] == inner["burst"]
    assert desk.call(BURST_TOOL, desk.ann, action="end")["burst"] == outer
    assert desk.call(BURST_TOOL, desk.ann, action="end")["error"] == "not_found"


def test_a_caller_has_no_more_than_so_many_bursts_open() -> None:
    desk = Desk()
    for _ in range(16):
        begin(desk)
    refused = desk.call(BURST_TOOL, desk.ann, action="begin")
    assert (refused["error"], len(refused["open"])) == ("busy", 16)
    assert desk.call(BURST_TOOL, desk.ben, action="begin")["ok"]


def test_two_bursts_that_take_outside_writes_are_warned_of_each_other() -> None:
    desk = Desk()
    first = begin(desk, kind="git")
    second = desk.call(BURST_TOOL, desk.ben, action="begin", outside=True)
    assert second["warnings"][0]["bursts"] == [first]
    desk.outside("a", lines("a"))
    shown = desk.call(BURST_TOOL, desk.ann, action="show", burst=first)
    assert [(b["evidence"], b["belongs"]) for b in shown["contents"]] == [("several_open", False)]
    assert (shown["batches"], shown["unclear"]) == (0, 1)
    assert desk.call(UNDO_TOOL, desk.ann, burst=first)["error"] == "not_found"


def test_a_burst_whose_time_is_over_is_ended_and_takes_nothing_more() -> None:
    desk = Desk()
    burst = begin(desk, ttl_s=3)
    inside = desk.write("a", lines("a"), desk.ann)
    for text in ("b", "c", "d"):
        desk.write("a", lines(text), desk.ann)
    shown = desk.call(BURST_TOOL, desk.ann, action="show", burst=burst)
    assert (shown["state"], shown["why"], shown["ended_at"]) == ("ended", "ttl", shown["expires_at"])
    assert [b["batch"] for b in shown["contents"]] == [inside, inside + 1]
    late = desk.call(BURST_TOOL, desk.ann, action="end", burst=burst)
    assert (late["ok"], late["why"]) == (True, "ttl")
    assert last_event(desk) == BurstEnded(burst, "ttl")
    again = desk.call(BURST_TOOL, desk.ann, action="end", burst=burst)
    assert (again["ok"], again["unchanged"], again["why"]) == (True, True, "ttl")


def test_only_its_owner_ends_a_burst_in_any_turn() -> None:
    desk = Desk()
    burst = begin(desk)
    assert desk.call(BURST_TOOL, desk.ben, action="end", burst=burst)["error"] == "permission_denied"
    assert desk.call(BURST_TOOL, desk.introduce("ann", "s1", "t2"), action="end", burst=burst)["ok"]


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
    desk = Desk()
    refused = desk.call(BURST_TOOL, desk.ann, **{"action": "begin", **args})
    assert (refused["error"], refused["argument"]) == ("schema_invalid", argument)


def test_a_burst_that_never_was_is_not_found() -> None:
    desk = Desk()
    desk.write("a", lines("a"), desk.ann)
    for number in (1, desk.journal.head, 999, 0, -1, 1 << 70):
        assert desk.call(BURST_TOOL, desk.ann, action="show", burst=number)["error"] == "not_found"
        assert desk.call(UNDO_TOOL, desk.ann, burst=number)["error"] == "not_found"
        assert desk.call(LOG_TOOL, desk.ann, burst=number)["error"] == "not_found"


# ── log, undo, redo ──────────────────────────────────────────────────────────


def test_the_log_of_a_burst_is_its_beginning_its_batches_and_its_end() -> None:
    desk = Desk()
    desk.write("a", lines("before"), desk.ann)
    burst = begin(desk, label="all of it")
    first = desk.write("a", lines("a"), desk.ann)
    desk.write("a", lines("b"), desk.ben)
    desk.call(BURST_TOOL, desk.ann, action="end")
    desk.write("a", lines("after"), desk.ann)
    records = desk.call(LOG_TOOL, desk.ben, burst=burst)["records"]
    assert [r["seq"] for r in records] == [first + 2, first, burst]
    assert [r["kind"] for r in records] == ["burst_ended", "file_written", "burst_begun"]
    assert records[2]["label"] == "all of it"
    assert [r["seq"] for r in desk.call(LOG_TOOL, desk.ben, burst=str(burst), kind="file_written")["records"]] == [
        first
    ]
    assert [r["seq"] for r in desk.call(LOG_TOOL, desk.ben, burst=burst, path="a")["records"]] == [first]


def test_undo_of_a_burst_takes_back_all_of_it_and_keeps_the_rest() -> None:
    desk = Desk()
    start = lines("one", "two", "three", "four", "five", "six")
    desk.outside("f", start)
    desk.write("f", text := start.replace(b"one", b"ONE"), desk.ann)
    burst = begin(desk)
    desk.write("f", text := text.replace(b"three", b"THREE"), desk.ann)
    desk.write("new", lines("n"), desk.ann)
    desk.write("f", text := text.replace(b"five", b"FIVE"), desk.ben)
    desk.call(BURST_TOOL, desk.ann, action="end")
    desk.write("f", text.replace(b"six", b"SIX"), desk.ann)
    assert desk.call(UNDO_TOOL, desk.ben, burst=burst)["ok"]
    assert desk.text("f") == lines("ONE", "two", "three", "four", "FIVE", "SIX")
    assert desk.text("new") is None
    assert desk.call(REDO_TOOL, desk.ben, burst=burst)["ok"]
    assert desk.text("f") == lines("ONE", "two", "THREE", "four", "FIVE", "SIX")
    assert desk.text("new") == lines("n")
    assert desk.call(UNDO_TOOL, desk.ann, burst=burst, writer="ben")["error"] == "not_found"
    assert desk.call(UNDO_TOOL, desk.ann, burst=burst, path="new")["ok"]
    assert (desk.text("new"), b"THREE" in (desk.text("f") or b"")) == (None, True)


def test_what_a_formatter_wrote_is_undone_with_its_burst_and_what_it_made_goes() -> None:
    desk = Desk()
    desk.outside("f", lines("x=1"))
    desk.note(WorkspaceScanned("start", 1, 1))
    burst = begin(desk, kind="formatter")
    desk.outside("f", lines("x = 1"))
    desk.outside("cache", lines("c"))
    desk.call(BURST_TOOL, desk.ann, action="end")
    desk.outside("other", lines("o"))
    reply = desk.call(UNDO_TOOL, desk.ann, burst=burst)
    assert {f["path"]: f["action"] for f in reply["files"]} == {"f": "write", "cache": "delete"}
    assert (desk.text("f"), desk.text("cache"), desk.text("other")) == (lines("x=1"), None, lines("o"))
    assert desk.call(UNDO_TOOL, desk.ann, burst=burst)["error"] == "not_found"


def test_a_burst_that_expired_on_the_desk_ends_by_the_clock_that_it_was_given() -> None:
    desk = Desk()
    reply = desk.call(BURST_TOOL, desk.ann, action="begin", ttl_s=1.5)
    event = last_event(desk)
    assert isinstance(event, BurstBegun)
    with desk.history() as history:
        record = history.record(reply["burst"])
        assert record is not None
        assert event.expires_ns == record.at_ns + 3 * SECOND // 2
