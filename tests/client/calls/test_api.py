"""What a caller may rely on: which calls are sent again, which are not, and what every one of them carries."""

from __future__ import annotations

import inspect
import subprocess
import sys
import time

import msgspec
import pytest
from fake_line import FakeDoor, FakeLine

from quire_client.api import Client
from quire_client.calls import base as calls_base
from quire_client.transport.errors import NoDaemon, NoReply, NotSent
from quire_daemon.tools.table import TOOLS
from quire_journal import VERSION
from quire_journal.model.messages import Caller
from quire_journal.workspaces.layout import Place


def client_of(place: Place, *lines: FakeLine, timeout_s: float = 5.0) -> Client:
    return Client(FakeDoor(place, *lines), Caller("alice", "s1", turn="t1"), timeout_s)


def test_a_refusal_is_a_reply_and_no_exception(place: Place) -> None:
    refusal = {"ok": False, "error": "anchor_stale", "message": "The anchor is gone."}
    assert client_of(place, FakeLine({"edit": refusal})).call("edit") == refusal


def test_no_daemon_is_started_to_be_ended_and_other_calls_may_start_one_meanwhile(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads share a client: one that called while another had the daemon ended was told that none runs."""
    monkeypatch.setattr("quire_client.calls.base.running", lambda place: None if door.started else object())
    door = FakeDoor(place, FakeLine({}), FakeLine({}))
    client = Client(door, Caller("alice", "s1"), 5.0)
    assert client.shutdown_daemon()["ok"]
    assert client.call("status")["ok"]
    assert door.started == [False, True]


def test_the_versions_of_a_status_include_that_of_the_client(place: Place) -> None:
    status = {"ok": True, "message": "Serving.", "versions": {"daemon": "9.9"}}
    reply = client_of(place, FakeLine({"status": status})).call("status")
    assert reply["versions"] == {"daemon": "9.9", "client": VERSION}


def test_a_call_that_was_not_sent_is_sent_to_the_next_daemon_as_the_same_operation(place: Place) -> None:
    gone, here = FakeLine({"edit": NotSent("The daemon ended.")}, "e1"), FakeLine({}, "e2")
    assert client_of(place, gone, here).call("edit")["ok"]
    assert gone.closed
    assert (gone.requests[0].op, gone.requests[0].epoch) == (here.requests[0].op, "e1")
    assert here.requests[0].epoch == "e2"


def test_a_call_that_was_sent_is_never_sent_again(place: Place) -> None:
    gone, here = FakeLine({"edit": NoReply("The daemon ended during the call.")}), FakeLine({})
    client = client_of(place, gone, here)
    reply = client.call("edit")
    assert (reply["ok"], reply["outcome"], reply["error"]) == (False, "unknown", "unknown")
    assert reply["op"] == gone.requests[0].op.hex()
    assert not here.requests
    assert client.op_status(reply["op"])["ok"]
    assert len(here.requests) == 1


def test_what_only_reads_is_asked_once_more_if_the_daemon_ended(place: Place) -> None:
    ended = {"log": NoReply("The daemon ended during the call.")}
    here = FakeLine({})
    assert client_of(place, FakeLine(ended), here).call("log")["ok"]
    assert [request.tool for request in here.requests] == ["log"]
    for lines in ([FakeLine(ended)], [FakeLine(ended), FakeLine(ended), FakeLine({})]):
        assert client_of(place, *lines).call("log")["outcome"] == "unknown"
    late = FakeLine({"log": {"ok": True, "message": "", "outcome": "unknown"}})
    assert client_of(place, late, here).call("log")["outcome"] == "unknown"
    assert len(late.requests) == 1


def test_only_what_changes_nothing_is_asked_once_more() -> None:
    asked = {name: TOOLS[name] for name in calls_base.READING}
    assert not [name for name, tool in asked.items() if tool.writes or hasattr(tool.params, "wait_ms")]


def test_without_a_daemon_the_call_raises(place: Place) -> None:
    with pytest.raises(NoDaemon, match="No daemon runs"):
        client_of(place).call("edit")


def test_when_the_time_is_up_before_anything_was_sent_the_reason_is_raised(place: Place) -> None:
    lines = [FakeLine({"edit": NotSent("The daemon ended.")})]
    with pytest.raises(NoDaemon, match=r"The daemon ended\."):
        client_of(place, *lines, timeout_s=0.0).call("edit")


def test_a_request_that_is_too_large_is_refused_before_it_is_sent(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls_base, "MAX_MESSAGE", 1000)
    line = FakeLine({})
    reply = client_of(place, line).write_file("a.txt", "x" * 1001)
    assert (reply["ok"], reply["error"], reply["limit"]) == (False, "file_too_large", 1000)
    assert not line.requests


def test_arguments_that_no_message_can_carry_are_the_callers_fault(place: Place) -> None:
    line = FakeLine({})
    with pytest.raises(TypeError):
        client_of(place, line).call("edit", {"path": object()})
    with pytest.raises(ValueError):
        client_of(place, line).call("edit", {"path": "caf\udce9"})
    assert not line.requests


def test_a_request_is_void_when_its_time_is_up(place: Place) -> None:
    line = FakeLine({})
    before = time.time_ns()
    client_of(place, line).call("edit", timeout_s=2)
    assert before + 2e9 <= line.requests[0].deadline_ns <= time.time_ns() + 2e9


@pytest.mark.parametrize("tool", ["since", "claim"])
def test_a_call_that_asks_the_daemon_to_wait_has_its_time_besides(place: Place, tool: str) -> None:
    """Through the door to every tool it ended when the client's own limit was over, with an unknown outcome."""
    line, before = FakeLine({}), time.time_ns()
    client = client_of(place, line)
    assert client.call(tool, {"wait_ms": 60_000})["ok"]
    assert client.call(tool, {"wait_ms": 60_000}, timeout_s=7.0)["ok"]
    assert getattr(client, tool)("c1", wait_ms=60_000)["ok"]
    limits = [round((request.deadline_ns - before) / 1e9) for request in line.requests]
    assert limits == [65, 7, 65], "what is said counts"


def test_a_call_may_name_its_own_turn_and_tool_call(place: Place) -> None:
    line = FakeLine({})
    client = client_of(place, line)
    client.call("edit", turn="t2", tool_call="c9")
    client.call("edit")
    assert line.requests[0].caller == Caller("alice", "s1", "t2", "c9")
    assert line.requests[1].caller == Caller("alice", "s1", "t1")


def test_a_client_that_was_closed_opens_again_at_the_next_call(place: Place) -> None:
    first, second = FakeLine({}), FakeLine({})
    client = client_of(place, first, second).open()
    client.close()
    assert first.closed
    assert client.call("edit")["ok"]
    assert second.requests


def test_typed_calls_send_only_what_was_said(place: Place) -> None:
    line = FakeLine({})
    client = client_of(place, line)
    client.read_file("a.py", hashes=True)
    client.edit("a.py", [{"op": "delete_line", "hash": "abcd"}], dry_run=True)
    client.diff("v1", paths=["src"])
    client.blame("a.py", "v3", start_line=2)
    client.undo(writer="bob", last=2)
    client.undo(start="v1", end="v5")
    assert [(r.tool, msgspec.msgpack.decode(r.args)) for r in line.requests] == [
        ("read_file", {"path": "a.py", "hashes": True}),
        ("edit", {"path": "a.py", "operations": [{"op": "delete_line", "hash": "abcd"}], "dry_run": True}),
        ("diff", {"from": "v1", "paths": ["src"]}),
        ("blame", {"path": "a.py", "at": "v3", "start_line": 2}),
        ("undo", {"writer": "bob", "last": 2}),
        ("undo", {"from": "v1", "to": "v5"}),
    ]


def test_every_public_call_says_what_it_does() -> None:
    silent = [
        name for name, value in inspect.getmembers(Client, callable) if not name.startswith("_") and not value.__doc__
    ]
    assert not silent


def test_importing_the_package_and_connecting_load_no_more_than_they_need_and_no_other_half() -> None:
    """An agent that imports the client gets zmq and msgspec when it connects; no store, no daemon, no command line."""
    heavy = ["quire_daemon", "lmdb", "watchdog", "click", "rich", "rapidfuzz", "pathspec", "argparse", "subprocess"]
    code = (
        f"import sys, quire_client; print([m for m in {[*heavy, 'zmq', 'msgspec']} if m in sys.modules])\n"
        f"from quire_client import connect; print([m for m in {heavy} if m in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded == "[]\n[]\n"
