"""The connections of an agent session, and what a call answers whose daemon ended under it."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest

from quire_client.mcp.agents import MOST_TIMES, AgentSession, AgentSessions
from quire_client.mcp.identity import Who
from quire_client.transport.errors import NoDaemon

UNKNOWN = {"ok": False, "error": "unknown", "outcome": "unknown", "message": "The daemon ended.", "op": "ab" * 16}
BUSY = {"ok": True, "message": "Ask again.", "outcome": "unknown"}


def settled(outcome: str) -> dict[str, Any]:
    """What `op_status` answers."""
    return {"ok": True, "message": "So it is.", "outcome": outcome, "batch": 7 if outcome != "not_applied" else None}


class Fake:
    """A client: its next reply for each tool, in order; a reply can say of which run of the daemon it is."""

    def __init__(self, **replies: list[dict[str, Any]]) -> None:
        self.replies = replies
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.epoch = "first"
        self.timeout_s = 5.0
        self.closed = False

    def call(self, tool: str, args: Mapping[str, Any] | None = None, **_: Any) -> dict[str, Any]:
        self.asked.append((tool, dict(args or {})))
        reply = dict(self.replies[tool].pop(0))
        self.epoch = reply.pop("epoch", self.epoch)
        if "raises" in reply:
            raise reply["raises"]
        return reply

    def close(self) -> None:
        self.closed = True


def calling(fake: Fake, **args: Any) -> dict[str, Any]:
    """The reply to `edit`."""
    return AgentSession(lambda: fake).call("edit", {"path": "a.py", **args})


def tools(fake: Fake) -> list[str]:
    return [tool for tool, _ in fake.asked]


def test_a_reply_is_passed_on_as_it_is() -> None:
    fake = Fake(edit=[{"ok": False, "error": "anchor_stale", "message": "Changed."}])
    assert calling(fake)["error"] == "anchor_stale"
    assert tools(fake) == ["edit"]


def test_a_call_that_a_dead_daemon_did_not_apply_is_sent_to_the_next_one() -> None:
    done = {"ok": True, "message": "1 operation applied."}
    fake = Fake(edit=[UNKNOWN, done], op_status=[{**settled("not_applied"), "epoch": "second"}])
    assert calling(fake) == done
    assert tools(fake) == ["edit", "op_status", "edit"]


def test_a_call_is_settled_also_where_the_next_daemon_ends_during_it() -> None:
    done = {"ok": True, "message": "1 operation applied."}
    lost = [{**settled("not_applied"), "epoch": "second"}, {**settled("not_applied"), "epoch": "third"}]
    fake = Fake(edit=[UNKNOWN, UNKNOWN, done], op_status=lost)
    assert calling(fake) == done
    assert tools(fake) == ["edit", "op_status"] * 2 + ["edit"]


def test_a_call_that_ends_each_daemon_it_is_sent_to_is_given_up() -> None:
    lost = [{**settled("not_applied"), "epoch": f"{n}"} for n in range(MOST_TIMES)]
    fake = Fake(edit=[UNKNOWN] * MOST_TIMES, op_status=lost)
    reply = calling(fake)
    assert (reply["ok"], reply["error"]) == (False, "busy")
    assert "nothing was changed" in reply["message"]
    assert tools(fake) == ["edit", "op_status"] * MOST_TIMES


def test_a_call_that_was_applied_is_told_as_applied_and_not_sent_again() -> None:
    records = [{"seq": 6, "batch": 6}, {"seq": 7, "batch": 7, "path": "a.py", "version": "v7"}]
    fake = Fake(
        edit=[UNKNOWN],
        op_status=[{**BUSY, "epoch": "second"}, settled("applied")],
        log=[{"ok": True, "message": "2 records.", "records": records}],
    )
    reply = calling(fake)
    assert (reply["ok"], reply["batch"], reply["reply_lost"], reply["path"]) == (True, 7, True, "a.py")
    assert reply["records"] == records[1:]
    assert tools(fake) == ["edit", "op_status", "op_status", "log"]


def test_a_call_with_a_key_of_its_own_gets_its_first_reply_once_more() -> None:
    first = {"ok": True, "message": "1 operation applied.", "version": "v7"}
    fake = Fake(edit=[UNKNOWN, first], op_status=[{**settled("applied"), "epoch": "second"}])
    assert calling(fake, idempotency_key="k") == first


def test_a_call_that_a_living_daemon_did_not_come_to_is_refused_and_not_sent_again() -> None:
    """Its deadline is over, so the daemon will not perform it; to send it again would queue it behind the same work."""
    fake = Fake(edit=[UNKNOWN], op_status=[settled("not_applied")])
    reply = calling(fake)
    assert (reply["ok"], reply["error"], reply["suggested_action"]) == (False, "busy", "retry")
    assert tools(fake) == ["edit", "op_status"]


def test_what_was_applied_stays_applied_though_the_next_daemon_ends_as_well() -> None:
    fake = Fake(
        edit=[UNKNOWN], op_status=[{**settled("applied"), "epoch": "second"}], log=[{"raises": NoDaemon("It ended.")}]
    )
    reply = calling(fake)
    assert (reply["ok"], reply["outcome"]) == (True, "applied")


def test_what_happened_later_to_the_file_is_told_with_a_lost_reply() -> None:
    fake = Fake(edit=[UNKNOWN], op_status=[{**settled("superseded"), "epoch": "second"}], log=[{"ok": True}])
    reply = calling(fake)
    assert reply["outcome"] == "superseded"
    assert "changed again" in reply["message"]


def test_a_daemon_that_cannot_be_reached_is_a_refusal_and_nothing_is_raised() -> None:
    def connect() -> Any:
        raise NoDaemon("No daemon could be started: disk full.")

    reply = AgentSession(connect).call("read_file", {"path": "a.py"})
    assert (reply["ok"], reply["error"]) == (False, "no_daemon")
    assert "disk full" in reply["message"]
    later = Fake(read_file=[{"raises": NoDaemon("It ended, and does not start.")}])
    assert AgentSession(lambda: later).call("read_file", {})["error"] == "no_daemon"


def test_arguments_that_no_message_can_carry_are_refused() -> None:
    for error in (TypeError("a set is no JSON"), OverflowError("integer out of range"), RecursionError("too deep")):
        assert calling(Fake(edit=[{"raises": error}]))["error"] == "schema_invalid"


def test_a_call_that_waits_has_a_connection_of_its_own_and_holds_up_no_other() -> None:
    inside, go_on = threading.Event(), threading.Event()

    class Waits(Fake):
        def call(self, tool: str, args: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
            if tool == "since":
                inside.set()
                assert go_on.wait(10)
            return {"ok": True, "message": "Done.", "limit": more["timeout_s"]}

    made: list[Waits] = []
    session = AgentSession(lambda: made.append(Waits()) or made[-1])
    replies: list[dict[str, Any]] = []
    thread = threading.Thread(target=lambda: replies.append(session.call("since", {"wait_ms": 60_000})))
    thread.start()
    assert inside.wait(10)
    assert session.call("status", {})["ok"]
    assert session.call("status", {})["ok"]
    assert len(made) == 2
    assert session.close() is False
    assert (made[0].closed, made[1].closed) == (False, True)
    go_on.set()
    thread.join(10)
    assert made[0].closed
    assert replies[0]["limit"] == 65.0


def test_the_agent_session_that_called_longest_ago_gives_its_connections_up() -> None:
    made: dict[str, Fake] = {}

    def connect(who: Who) -> Fake:
        return made.setdefault(who.session, Fake(status=[{"ok": True, "message": "Fine."}] * 3))

    sessions = AgentSessions(connect, most=2)
    for name in ("s1", "s2", "s1", "s3"):
        assert sessions.of(Who("ann", name)).call("status", {})["ok"]
    assert {name for name, fake in made.items() if fake.closed} == {"s2"}
    assert sessions.of(Who("ann", "s1")) is sessions.of(Who("ann", "s1"))
    assert sessions.of(Who("ben", "s1")) is not sessions.of(Who("ann", "s1"))
    assert sessions.close() is True
    assert made["s3"].closed


def test_who_has_not_called_for_long_gives_its_connections_up() -> None:
    made = [Fake(status=[{"ok": True, "message": "Fine."}]), Fake(status=[{"ok": True, "message": "Fine."}])]
    left = list(made)
    sessions = AgentSessions(lambda who: left.pop(0))
    for name in ("ann", "ben"):
        sessions.of(Who(name, "s1")).call("status", {})
    now_s = time.monotonic()
    sessions.close_idle(now_s)
    assert not made[0].closed
    sessions.of(Who("ben", "s1"))
    sessions.close_idle(now_s + 60, idle_s=60)
    assert (made[0].closed, made[1].closed) == (True, False)


@pytest.mark.parametrize("wait", ["soon", None, -5])
def test_a_wait_that_is_none_does_not_count(wait: Any) -> None:
    fake = Fake(since=[{"ok": False, "error": "schema_invalid", "message": "wait_ms"}])
    assert AgentSession(lambda: fake).call("since", {"wait_ms": wait})["error"] == "schema_invalid"
