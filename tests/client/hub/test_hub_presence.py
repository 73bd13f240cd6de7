"""Presence: what checkouts tell of themselves, aged by the clock of who hears it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import cast

import pytest

from quire_client.hub.presence import BEAT_S, FRESH_S, MOST_BYTES, Presence
from quire_client.ship.nats_connection import HubAddress, NatsConnection

PREFIX = "quire.core.now.abc."


class Line:
    """A connection: what is told is kept, what is heard a test says."""

    address = HubAddress.parse("nats://127.0.0.1/core")

    def __init__(self) -> None:
        self.told: list[str] = []
        self.hear: Callable[[str, bytes], None] = lambda subject, said: None

    def tell(self, subject: str, said: bytes) -> None:
        self.told.append(subject)

    def listen(self, subject: str, hear: Callable[[str, bytes], None]) -> None:
        assert subject == f"{PREFIX}>"
        self.hear = hear


class World:
    def __init__(self) -> None:
        self.now_s, self.line = 100.0, Line()
        self.presence = Presence(cast(NatsConnection, self.line), "abc", "mine", lambda: self.now_s)

    def hear(self, journal: str, said: object) -> None:
        self.line.hear(f"{PREFIX}{journal}", said if isinstance(said, bytes) else json.dumps(said).encode())


@pytest.fixture
def world() -> World:
    return World()


def test_news_are_told_at_once_and_the_same_again_at_each_beat(world: World) -> None:
    for after_s, told in ((0.0, 1), (1.0, 1), (BEAT_S - 1, 2)):
        world.now_s += after_s
        world.presence.tell({"host": "alpha"}, "mine")
        assert len(world.line.told) == told
    world.presence.tell({"host": "alpha", "note": {}}, "mine")
    assert len(world.line.told) == 3


def test_a_host_that_is_silent_for_three_beats_is_gone_by_the_clock_of_who_hears(world: World) -> None:
    world.hear("theirs", {"host": "beta"})
    world.now_s += FRESH_S
    assert world.presence.heard() == [{"host": "beta", "journal": "theirs", "silent_s": FRESH_S}]
    world.now_s += 0.1
    assert not world.presence.heard()


def test_the_name_of_a_journal_is_that_of_the_subject_which_the_server_guards(world: World) -> None:
    world.hear("theirs", {"host": "beta", "journal": "mine"})
    assert [news["journal"] for news in world.presence.heard()] == ["theirs"]


def test_a_fork_and_its_origin_hear_each_other(world: World) -> None:
    world.hear("mine", {"host": "alpha"})
    assert not world.presence.heard(), "its own voice"
    world.presence.tell({"host": "clone"}, "mine.f00d")
    assert world.line.told == [f"{PREFIX}mine.f00d"]
    world.hear("mine", {"host": "alpha"})
    world.hear("mine.f00d", {"host": "clone"})
    assert [news["host"] for news in world.presence.heard()] == ["alpha"]


@pytest.mark.parametrize("said", [b"", b"[]", b"{", b"[" * 100_000, b" " * (MOST_BYTES + 1)])
def test_what_is_no_news_is_not_taken(world: World, said: bytes) -> None:
    world.hear("theirs", said)
    assert not world.presence.heard()
