"""Turns of a daemon: more callers, calls and files than it has room or threads for."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import msgspec
import pytest
from daemon_turns import Daemon, incoming, read, write

from quire_daemon.engine.call_queue import MOST_CALLS, MOST_OF_ONE
from quire_daemon.engine.perform import MANY
from quire_daemon.engine.stage import SMALL_BYTES
from quire_daemon.watch.observe import RETRY_S

WAITS = ("since", {"cursor": "seq:99", "wait_ms": 60_000})


def test_callers_without_end_are_refused_and_the_daemon_can_be_ended(daemon: Daemon) -> None:
    (daemon.root / "a").write_text("text\n")
    daemon.app.turn([incoming(f"ann {n}", *WAITS) for n in range(MOST_CALLS)])
    assert daemon.server.replies == {}
    assert daemon.turn(ben=read("a"))["ben"]["error"] == "busy"
    assert daemon.turn(ben=("shutdown", {}))["ben"]["ok"]
    assert daemon.app.stopping


def test_a_caller_that_sends_without_end_is_refused_and_others_are_served(daemon: Daemon) -> None:
    """One call of a connection is decided in a turn; what waits behind it took the room of everybody."""
    (daemon.root / "a").write_text("text\n")
    daemon.app.turn([incoming("ann", *WAITS) for _ in range(MOST_OF_ONE)])
    assert daemon.server.replies == {}
    replies = daemon.turn(ann=read("a"), ben=read("a"))
    assert [replies[name].get("error") for name in ("ann", "ben")] == ["busy", None]


def test_nothing_is_decided_for_a_caller_that_has_replies_to_read_before(daemon: Daemon) -> None:
    (daemon.root / "a").write_text("text\n")
    daemon.server.full.add(b"ann")
    daemon.app.turn([incoming("ann", *read("a")), incoming("ben", *read("a"))])
    assert [*daemon.server.replies] == [b"ben"]
    daemon.server.full.clear()
    daemon.app.turn([])
    assert daemon.server.replies[b"ann"]["ok"]


def test_large_calls_that_wait_are_bounded_in_bytes_and_small_ones_are_taken_beside_them(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few thousand that may wait, of the size that one may have, are more than any memory."""
    monkeypatch.setattr("quire_daemon.engine.call_queue.MOST_BYTES", 250_000)
    (daemon.root / "a").write_text("text\n")
    large = {name: ("write_file", {"path": name, "content": "x" * 100_000}) for name in ("ann", "ben", "eve")}
    replies = daemon.turn(**large, joe=read("a"))
    assert {name: reply.get("error") for name, reply in replies.items()} == {
        "ann": None,
        "ben": None,
        "eve": "busy",
        "joe": None,
    }
    assert daemon.turn(eve=large["eve"])["eve"]["ok"]


@pytest.fixture
def no_more_threads() -> Iterator[None]:
    """None can begin until `threading.stack_size(0)`: there is no room for their stacks."""
    before = threading.stack_size(1 << 46)
    yield
    threading.stack_size(before)


@pytest.mark.usefixtures("no_more_threads")
def test_an_edit_for_which_no_thread_can_begin_is_made_without_one(daemon: Daemon) -> None:
    large = ("write_file", {"path": "b", "content": "new\n" * (SMALL_BYTES // 4 + 1)})
    replies = daemon.turn(ann=write("a"), ben=large)
    assert [replies[name]["outcome"] for name in ("ann", "ben")] == ["applied"] * 2
    assert [daemon.text("a"), daemon.text("b")] == ["new\n", large[1]["content"]]


@pytest.mark.usefixtures("no_more_threads")
def test_a_request_of_many_files_for_which_no_thread_can_begin_is_made_without_one(daemon: Daemon) -> None:
    patch = "".join(f"*** Add File: f{n}\n+new\n" for n in range(MANY))
    reply = daemon.turn(ann=("apply_patch", {"patch": f"*** Begin Patch\n{patch}*** End Patch\n"}))["ann"]
    assert reply["ok"]
    assert daemon.text(f"f{MANY - 1}") == "new\n"


@pytest.mark.parametrize(("caller", "op"), [("ann", b""), ("ben", b"an operation id."), ("ben", b"")])
def test_who_waits_for_a_long_request_does_not_have_the_loop_go_round(daemon: Daemon, caller: str, op: bytes) -> None:
    """Its caller, who asks for something else; the same request on another connection; who needs one of its files."""
    patch = "".join(f"*** Add File: f{n}\n+new\n" for n in range(MANY))
    asked = incoming("ann", "apply_patch", {"patch": f"*** Begin Patch\n{patch}*** End Patch\n"}, b"an operation id.")
    second = asked if op else incoming(caller, *read("f0"))
    daemon.app.turn([asked])
    assert daemon.app.observer.in_flight.batches
    before, came = 0.0, [msgspec.structs.replace(second, identity=caller.encode())]
    while daemon.app.observer.in_flight.batches:
        daemon.wait()
        began = daemon.clock.mono_s()
        daemon.app.turn(came)
        after, came = daemon.app.waiting.next_look_s(began), []
        assert after == before or after >= began + RETRY_S or not daemon.app.observer.in_flight.batches
        before = after
    while len(daemon.server.replies) < len({"ann", caller}):
        daemon.app.turn([])
    daemon.app.turn([])
    assert daemon.server.replies[caller.encode()]["ok"]
