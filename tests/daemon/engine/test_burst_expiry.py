"""Bursts that end unasked: with a connection, with the daemon, with their time; by a clock that is set."""

from __future__ import annotations

from typing import Any

import pytest
from clocks import SECOND, SetClock

from quire_daemon.commit.recorder import Recorder
from quire_daemon.core.call import Call, IncomingRequest, Peer
from quire_daemon.core.decision import Who
from quire_daemon.engine.burst_expiry import BurstExpiry
from quire_daemon.server.connections import LOOK_S
from quire_daemon.tools.bursts import BURST_TOOL
from quire_journal.journal import Journal
from quire_journal.model.events import BurstBegun, BurstEnded, WriterIntroduced
from quire_journal.model.messages import Request
from quire_journal.storage.memory import MemoryStore
from quire_journal.views.writers import caller_key


class Lines:
    """Connections; those in `gone` have ended."""

    def __init__(self) -> None:
        self.gone: set[bytes] = set()

    def reaches(self, identity: bytes) -> bool:
        return identity not in self.gone


class Scene:
    """The part of the loop that has to do with bursts. Ann has a connection of her name."""

    def __init__(self) -> None:
        self.clock, self.lines = SetClock(), Lines()
        self.recorder = Recorder(Journal.open(MemoryStore(), self.clock.now_ns()), self.clock)
        self.burst_expiry = self.restarted()
        writer = self.recorder.writer(WriterIntroduced(0, uid=1000, agent="ann", agent_session="s1"))
        self.ann = Who(writer, caller_key(1000, "ann", "s1"), "ann", "s1")
        self.recorder.introduce(writer)
        self.recorder.commit()

    def restarted(self) -> BurstExpiry:
        """As another run of the daemon would begin."""
        lines: Any = self.lines
        return BurstExpiry(lines, self.recorder, self.clock, lambda process: False, lambda: True)

    def begin(self, bind: str = "session", ttl_s: int = 600) -> int:
        """A burst of Ann's, as the loop notes it."""
        request = Request(1, "burst")
        call = Call(IncomingRequest(b"ann", Peer(1000, 1), request), BURST_TOOL, None, self.ann, b"", "", 0.0, 0)
        event = BurstBegun("", "tool_call", self.clock.ns + ttl_s * SECOND, False, bind)
        seq = self.recorder.note(event, self.ann.writer)
        self.burst_expiry.noted(call, [event], [seq])
        self.recorder.commit()
        return seq

    def pass_s(self, seconds: float) -> None:
        """Time goes by, and the loop does what it does."""
        self.clock.pass_s(seconds)
        if self.burst_expiry.look():
            self.recorder.commit()
            self.burst_expiry.forget_gone()

    def ends(self) -> list[tuple[int, str]]:
        """(burst, why) of the ends in the log."""
        self.recorder.commit()
        with self.recorder.history() as history:
            events = [record.event() for record in history.records()]
        return [(event.burst, event.why) for event in events if isinstance(event, BurstEnded)]


def test_a_burst_ends_with_the_connection_that_it_is_bound_to() -> None:
    scene = Scene()
    bound, free = scene.begin("connection"), scene.begin()
    scene.pass_s(LOOK_S)
    assert scene.ends() == []
    scene.lines.gone.add(b"ann")
    scene.pass_s(LOOK_S / 2)
    assert scene.ends() == []
    scene.pass_s(LOOK_S)
    assert scene.ends() == [(bound, "connection")]
    scene.pass_s(LOOK_S)
    with scene.recorder.history() as history:
        assert [burst.number for burst in history.open_bursts()] == [free]


def test_a_burst_that_its_owner_ended_does_not_end_again_with_the_connection() -> None:
    scene = Scene()
    bound = scene.begin("connection")
    scene.recorder.note(BurstEnded(bound), scene.ann.writer)
    scene.lines.gone.add(b"ann")
    scene.recorder.commit()
    scene.pass_s(1)
    assert scene.ends() == [(bound, "owner")]


def test_with_the_daemon_all_connections_end_and_what_was_bound_to_them() -> None:
    scene = Scene()
    bound, free = scene.begin("connection"), scene.begin()
    scene.restarted().open()
    assert scene.ends() == [(bound, "daemon")]
    with scene.recorder.history() as history:
        assert [burst.number for burst in history.open_bursts()] == [free]


@pytest.mark.parametrize("bind", ["session", "connection"])
def test_the_end_of_its_time_is_noted_once(bind: str) -> None:
    scene = Scene()
    burst = scene.begin(bind, ttl_s=2)
    for _ in range(4):
        scene.pass_s(1)
        scene.burst_expiry.tidy()
        scene.recorder.commit()
    assert scene.ends() == [(burst, "ttl")]
