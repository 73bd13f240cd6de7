"""One socket, one run of the daemon: what is told about calls that got no answer, and which answers count."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import zmq
from fake_daemon import FakeDaemon

from quire_client.api import Client
from quire_client.calls.base import UNRECORDED
from quire_client.cli.wording import STEPS
from quire_client.transport import connection
from quire_client.transport.autostart import Door
from quire_client.transport.connection import Connection
from quire_client.transport.errors import NoDaemon, NotSent
from quire_daemon.maintenance.table import SERVICES
from quire_journal.model.messages import Caller, Request, encode
from quire_journal.workspaces.layout import Place, make_private_folder
from quire_journal.workspaces.lock import LockHolder, running, take_lock


def client_of(place: Place, timeout_s: float = 5.0) -> Client:
    return Client(Door(place, may_start=False), Caller("alice", "s1"), timeout_s)


@contextmanager
def connected(place: Place) -> Iterator[Client]:
    """A client that has its connection already: on a busy machine that takes longer than a short wait for an answer."""
    with client_of(place) as client:
        assert client.call("edit")["ok"]
        yield client


def wait_ready_again_and_again(connection: Connection) -> None:
    for _ in range(500):
        connection.wait_ready(time.monotonic() + 5)
        time.sleep(0.01)


def test_a_call_carries_who_calls_and_what_is_asked(place: Place) -> None:
    with FakeDaemon(place) as daemon, client_of(place) as client:
        reply = client.call("edit", {"path": "a.py"})
        assert reply["args"] == {"path": "a.py"}
        assert (reply["agent"], reply["agent_session"]) == ("alice", "s1")
        assert reply["epoch"] == daemon.epoch == client.epoch


def test_every_call_is_an_operation_of_its_own(place: Place) -> None:
    with FakeDaemon(place), client_of(place) as client:
        ops = {client.call("edit")["op"] for _ in range(3)}
        assert len(ops) == 3
        assert {len(op) for op in ops} == {32}


def test_after_a_time_out_the_outcome_is_unknown_and_the_operation_is_named(place: Place) -> None:
    with FakeDaemon(place), connected(place) as client:
        reply = client.call("silent", timeout_s=0.1)
        assert reply.pop("op")
        assert reply == {
            "ok": False,
            "error": "unknown",
            "outcome": "unknown",
            "suggested_action": "op_status",
            "message": "The daemon did not answer in time. Whether the call was performed is unknown; "
            "`op_status` settles it.",
        }


def test_a_query_that_got_no_answer_may_simply_be_asked_again(place: Place) -> None:
    with FakeDaemon(place, silent=("log", "since")), connected(place) as client:
        for tool in ("log", "since"):
            reply = client.call(tool, timeout_s=0.05)
            assert (reply["outcome"], "op" in reply, reply["suggested_action"]) == ("unknown", True, "retry"), tool
            assert reply["message"] == "The daemon did not answer in time. It changes nothing; call again."


def test_op_status_is_not_recommended_for_calls_that_are_no_operations(place: Place) -> None:
    with FakeDaemon(place, silent=UNRECORDED) as daemon, connected(place) as client:
        for tool in UNRECORDED:
            reply = client.call(tool, timeout_s=0.05)
            assert (reply["ok"], reply["outcome"], "op" in reply) == (False, "unknown", False), tool
            assert reply["message"].startswith("The daemon did not answer in time. ")
            assert "op_status" not in (reply["message"] + reply["suggested_action"])
            assert reply["suggested_action"] in STEPS
        assert client.call("edit")["epoch"] == daemon.epoch


def test_every_service_except_shutdown_is_listed_as_no_operation() -> None:
    assert {*SERVICES} - {"shutdown"} == {*UNRECORDED}


def test_the_late_reply_of_a_call_that_was_given_up_is_not_taken_for_the_next_ones(place: Place) -> None:
    with FakeDaemon(place) as daemon, connected(place) as client:
        assert client.call("late", timeout_s=0.1)["outcome"] == "unknown"
        daemon.go_on.set()
        assert client.call("edit")["tool"] == "edit"


def test_a_reply_to_another_id_is_dropped(place: Place) -> None:
    with FakeDaemon(place), client_of(place) as client:
        assert client.call("noise")["tool"] == "noise"


@pytest.mark.parametrize("told", [True, False], ids=["its socket tells", "the lock tells"])
def test_a_daemon_that_dies_during_a_call_is_noticed_long_before_the_time_is_up(
    place: Place, monkeypatch: pytest.MonkeyPatch, told: bool
) -> None:
    if told:  # and nothing is to be waited for
        monkeypatch.setattr(connection, "SLICE_S", 60.0)
        monkeypatch.setattr(connection, "LAST_WAIT_S", 60.0)
    else:
        monkeypatch.setattr(zmq, "EVENT_DISCONNECTED", zmq.EVENT_LISTENING)
        monkeypatch.setattr(connection, "LAST_WAIT_S", 0.1)
    with FakeDaemon(place), client_of(place, timeout_s=60.0) as client:
        began = time.monotonic()
        reply = client.call("die")
        assert time.monotonic() - began < 15
        assert reply["outcome"] == "unknown"
        assert reply["message"].startswith("The daemon ended during the call.")


def test_a_reply_that_was_sent_just_before_the_end_counts_however_late_it_is_looked_for(place: Place) -> None:
    with FakeDaemon(place) as daemon:
        found = running(place)
        assert found is not None
        line = Connection(place, found)
        line.wait_ready(time.monotonic() + 5)
        news = line._news

        class Late:
            """Looks when the daemon and its socket have ended, as on a busy machine."""

            def poll(self, ms: int) -> object:
                daemon._thread.join(10)
                assert line._told.poll(10_000)
                return news.poll(ms)

        line._news = Late()  # type: ignore[assignment]
        reply = line.exchange(1, encode(Request(1, "shutdown", epoch=daemon.epoch)), time.monotonic() + 20)
        assert (reply.id, reply.body["ok"]) == (1, True)
        line.close()


def test_the_call_after_a_restart_goes_to_the_new_daemon_with_its_epoch(place: Place) -> None:
    with client_of(place) as client:
        with FakeDaemon(place) as first:
            assert client.call("edit")["epoch"] == first.epoch
        with FakeDaemon(place) as second:
            assert client.call("edit")["epoch"] == second.epoch != first.epoch


def test_without_a_daemon_nothing_is_sent_and_the_reason_is_a_sentence(place: Place) -> None:
    with pytest.raises(NoDaemon, match=r"^No daemon runs for .*/site; start one with `quire up`\.$"):
        client_of(place).call("edit")


def test_what_a_dead_daemon_left_behind_is_no_daemon(place: Place) -> None:
    with FakeDaemon(place):
        pass
    assert place.lock.read_text()
    with pytest.raises(NoDaemon, match="No daemon runs"):
        client_of(place).call("edit")


def test_a_daemon_that_holds_the_lock_and_does_not_listen_is_named(place: Place) -> None:
    make_private_folder(place.state)
    lock = take_lock(place.lock)
    assert lock is not None
    lock.announce(LockHolder(os.getpid(), "e", os.fspath(place.socket)))
    with pytest.raises(NoDaemon, match=rf"^The daemon \(pid {os.getpid()}\) runs, but its socket .* is missing"):
        client_of(place, timeout_s=0.1).call("edit")
    lock.close()


def test_a_daemon_that_has_not_said_where_it_listens_is_waited_for_until_the_time_is_up(place: Place) -> None:
    make_private_folder(place.state)
    lock = take_lock(place.lock)
    assert lock is not None
    with pytest.raises(NoDaemon, match="A daemon is starting"):
        client_of(place, timeout_s=0.1).call("edit")
    lock.close()


def test_a_connection_whose_daemon_has_ended_says_so_before_anything_is_sent(place: Place) -> None:
    with FakeDaemon(place):
        found = running(place)
        assert found is not None
        connection = Connection(place, found)
        connection.wait_ready(time.monotonic() + 5)
    assert not connection.alive()
    # The disconnection is ZeroMQ's to notice, on its own thread; until then the socket seems ready.
    with pytest.raises(NotSent, match=r"^The daemon ended\.$"):
        wait_ready_again_and_again(connection)
    connection.close()


def test_a_client_can_be_asked_to_end_the_daemon_and_waits_until_it_has(place: Place) -> None:
    with FakeDaemon(place), client_of(place) as client:
        assert client.shutdown_daemon()["ok"]
        assert running(place) is None
        assert client.shutdown_daemon() == {"ok": True, "message": "No daemon runs."}


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # the fake's thread is none of the child's business
def test_after_a_fork_the_child_has_a_connection_of_its_own(place: Place) -> None:
    """Two processes on one socket would take each other's replies."""
    with FakeDaemon(place), client_of(place) as client:
        assert client.call("edit")["ok"]
        code = 1
        child = os.fork()
        if child == 0:
            try:
                code = 0 if client.call("edit", timeout_s=5)["ok"] else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert client.call("edit")["ok"]
