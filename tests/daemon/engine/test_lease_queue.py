"""Claims that wait, leases that are bound to connections, and the note that one is over; by a clock that is set."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from clocks import SetClock
from leased import Lines

from quire_daemon.commit.recorder import Recorder
from quire_daemon.config.settings import Settings
from quire_daemon.core.call import Call, IncomingRequest, Peer, Wait
from quire_daemon.core.decision import FileNow, Who, World
from quire_daemon.engine.lease_queue import LeaseQueue
from quire_daemon.server.connections import LOOK_S
from quire_daemon.tools.leases.rules import under_leases
from quire_daemon.tools.table import TOOLS
from quire_journal.journal import Journal
from quire_journal.model.events import LeaseExpired, LeaseReleased, WriterIntroduced
from quire_journal.model.messages import Request
from quire_journal.model.refusals import Refusal
from quire_journal.storage.memory import MemoryStore
from quire_journal.views.writers import caller_key


class Scene:
    """The part of the loop that has to do with leases. Every caller has a connection of its name."""

    def __init__(self) -> None:
        self.clock, self.lines = SetClock(), Lines()
        self.recorder = Recorder(Journal.open(MemoryStore(), self.clock.ns), self.clock)
        self.lease_queue = LeaseQueue(self.lines, self.recorder, self.clock)
        self._calls: list[Call] = []  # the loop keeps a call that waits, too

    def call(self, tool: str, by: str, **args: Any) -> Call:
        """A call that has come."""
        key = caller_key(1000, by, "s1")
        writer = self.recorder.writer(WriterIntroduced(0, 1000, 1, 1, by, "s1"))
        params = msgspec.convert(args, TOOLS[tool].params)
        incoming = IncomingRequest(by.encode(), Peer(1000, 1), Request(1, tool))
        self._calls.append(Call(incoming, TOOLS[tool], params, Who(writer, key, by, "s1"), b"", "", 0.0, 0))
        return self._calls[-1]

    def claim(self, by: str, kind: str = "exclusive", **more: Any) -> Call:
        return self.call("claim", by, path="f.txt", kind=kind, **more)

    def decide(self, call: Call) -> dict[str, Any] | Wait:
        """The reply, or until when the call is to be decided again."""
        if self.lease_queue.look():
            self.recorder.commit()
            self.lease_queue.forget_gone()
        self.recorder.introduce(call.who.writer)
        with self.recorder.history() as history:
            files = {"f.txt": FileNow("f.txt", "missing")}
            queue = self.lease_queue.before(call)
            now, number = self.clock.ns, self.recorder.next_seq
            world = World(now, call.who, Settings(), files, history, number, 0, queue=queue)
            try:
                decision = under_leases(call.tool, call.params, world)
            except Refusal as refused:
                later = self.lease_queue.wait(call, refused, world)
                if later is not None:
                    return later
                self.lease_queue.answered(call)
                return refused.reply()
            self.lease_queue.require_caller(call)
        seqs = [self.recorder.note(event, call.who.writer) for event in decision.events]
        self.lease_queue.noted(call, decision.events, seqs)
        self.recorder.commit()
        self.lease_queue.answered(call)
        return dict(decision.reply)

    def reply(self, call: Call) -> dict[str, Any]:
        decided = self.decide(call)
        assert isinstance(decided, dict)
        return decided

    def waits(self, call: Call) -> bool:
        return isinstance(self.decide(call), Wait)

    def events(self, kind: type[Any]) -> list[Any]:
        self.recorder.commit()
        with self.recorder.history() as history:
            found = [record.event() for record in history.records()]
        return [event for event in found if isinstance(event, kind)]


# ── the queue ────────────────────────────────────────────────────────────────


def test_a_claim_waits_for_the_release_and_not_for_its_deadline() -> None:
    scene = Scene()
    number = scene.reply(scene.claim("ann"))["lease"]
    waiting = scene.claim("ben", wait_ms=5000)
    again = scene.decide(waiting)
    assert isinstance(again, Wait)
    assert scene.clock.mono_s() < again.until_s < scene.clock.mono_s() + 1
    scene.clock.pass_s(1)
    assert scene.waits(waiting)
    assert scene.reply(scene.call("release", "ann", lease=number))["ok"]
    assert scene.reply(waiting)["lease"] > number
    assert not scene.lease_queue.before(scene.claim("cleo"))


def test_a_claim_is_granted_when_the_lease_that_it_waits_for_is_over() -> None:
    scene = Scene()
    scene.reply(scene.claim("ann", ttl_s=2))
    waiting = scene.claim("ben", wait_ms=5000)
    assert scene.waits(waiting)
    scene.clock.pass_s(2)
    assert scene.reply(waiting)["ok"]


def test_a_wait_ends_at_its_deadline_with_the_refusal() -> None:
    scene = Scene()
    scene.reply(scene.claim("ann"))
    waiting = scene.claim("ben", wait_ms=300)
    assert scene.waits(waiting)
    scene.clock.pass_s(0.29)
    again = scene.decide(waiting)
    assert isinstance(again, Wait)
    assert again.until_s <= scene.clock.mono_s() + 0.011
    scene.clock.pass_s(0.02)
    refused = scene.reply(waiting)
    assert (refused["error"], refused["waited_ms"], refused["holder"]["agent"]) == ("lease_held", 300, "ann")
    assert not scene.lease_queue.before(scene.claim("cleo"))


def test_who_comes_first_is_served_first_whoever_is_looked_at_first() -> None:
    scene = Scene()
    number = scene.reply(scene.claim("ann", "shared"))["lease"]
    first, second = scene.claim("ben", wait_ms=9000), scene.claim("cleo", "shared", wait_ms=9000)
    assert scene.waits(first)
    assert scene.waits(second), "a shared lease could be had at once, but ben waits for an exclusive one"
    assert scene.reply(scene.claim("dan", "shared"))["holder"]["agent"] == "ben"
    assert scene.reply(scene.call("release", "ann", lease=number))["ok"]
    assert scene.waits(second)
    assert scene.reply(first)["ok"]
    assert scene.waits(second)
    assert scene.reply(scene.call("release", "ben", all=True))["ok"]
    assert scene.reply(second)["ok"]


def test_those_who_wait_for_other_ground_are_in_nobodys_way() -> None:
    scene = Scene()
    scene.reply(scene.claim("ann", "shared"))
    assert scene.waits(scene.claim("ben", wait_ms=9000))
    assert scene.reply(scene.claim("cleo", "intent"))["ok"]
    (waiting,) = scene.reply(scene.call("claims", "cleo"))["waiting"]
    assert (waiting["holder"]["agent"], waiting["lease"], waiting["expires_at"]) == ("ben", None, None)


def test_whoever_has_gone_is_granted_nothing_and_holds_nobody_up() -> None:
    scene = Scene()
    scene.reply(scene.claim("ann"))
    gone, next_ = scene.claim("ben", wait_ms=9000), scene.claim("cleo", wait_ms=9000)
    assert scene.waits(gone)
    assert scene.waits(next_)
    scene.lines.gone.add(b"ben")
    assert scene.reply(scene.call("release", "ann", all=True))["ok"]
    with pytest.raises(Refusal) as refused:
        scene.decide(gone)
    assert refused.value.code == "expired"
    scene.lease_queue.answered(gone)
    assert scene.reply(next_)["ok"]
    assert [one["holder"]["agent"] for one in scene.reply(scene.call("claims", "ann"))["leases"]] == ["cleo"]


@pytest.mark.parametrize("more", [{}, {"dry_run": True, "wait_ms": 5000}])
def test_who_does_not_ask_to_wait_or_only_asks_what_would_be_is_answered_at_once(more: dict[str, Any]) -> None:
    scene = Scene()
    scene.reply(scene.claim("ann"))
    assert scene.reply(scene.claim("ben", **more))["error"] == "lease_held"


# ── connections ──────────────────────────────────────────────────────────────


def test_a_lease_ends_with_the_connection_that_it_is_bound_to() -> None:
    scene = Scene()
    number = scene.reply(scene.claim("ann", bind="connection"))["lease"]
    scene.clock.pass_s(3600)
    assert scene.reply(scene.claim("ben"))["error"] == "lease_held"
    scene.lines.gone.add(b"ann")
    scene.clock.pass_s(LOOK_S)
    assert scene.reply(scene.claim("ben"))["ok"]
    assert scene.events(LeaseReleased) == [LeaseReleased(number, "f.txt", "connection_ended")]


def test_connections_are_not_asked_without_need_nor_all_the_time() -> None:
    scene = Scene()
    scene.reply(scene.claim("ann"))
    scene.reply(scene.claim("ben"))
    assert scene.lines.asked == []
    scene.reply(scene.call("release", "ann", all=True))
    scene.reply(scene.claim("ann", bind="connection"))
    for _ in range(10):
        scene.reply(scene.claim("ben"))
    assert scene.lines.asked == [b"ann"]
    scene.reply(scene.call("release", "ann", all=True))
    scene.lease_queue.tidy()
    scene.clock.pass_s(LOOK_S)
    scene.reply(scene.claim("ben"))
    assert scene.lines.asked == [b"ann"]


def test_a_new_run_of_the_daemon_has_none_of_the_old_connections() -> None:
    scene = Scene()
    scene.reply(scene.claim("ann", bind="connection"))
    kept = scene.reply(scene.call("claim", "ann", path="f.txt"))["lease"]
    again = LeaseQueue(scene.lines, scene.recorder, scene.clock)
    again.open()
    scene.recorder.commit()
    assert [one["lease"] for one in scene.reply(scene.call("claims", "ben"))["leases"]] == [kept]


# ── time ─────────────────────────────────────────────────────────────────────


def test_that_a_lease_is_over_is_noted_once_and_not_before() -> None:
    scene = Scene()
    number = scene.reply(scene.claim("ann", ttl_s=60))["lease"]
    scene.clock.pass_s(59)
    scene.lease_queue.tidy()
    assert scene.events(LeaseExpired) == []
    scene.clock.pass_s(1)
    scene.lease_queue.tidy()
    assert scene.events(LeaseExpired) == [LeaseExpired(number, "f.txt")]
    scene.lease_queue.tidy()
    assert len(scene.events(LeaseExpired)) == 1
    with scene.recorder.history() as history:
        assert history.leases() == []
