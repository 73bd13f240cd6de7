"""The keeper of leases: in no random schedule do two hosts hold one, whatever their clocks and the network do."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

import live
from contracts.lease_store import KEY, LeaseStoreContract
from quire_client.hub.keeper import MARGIN_S, RENEW_S, TTL_S, LeaseKeeper
from quire_client.hub.leases import HubLease, LeaseStore, MemoryLeases
from quire_client.ship.port import FarSideUnreachable

SCHEDULES = live.length(1_000, 10_000)
STEPS = 25
HOSTS = 3
SKEW = 0.02
"""By how much a clock may run too fast or too slow."""


class TestMemory(LeaseStoreContract):
    @pytest.fixture(autouse=True)
    def fresh(self) -> None:
        self.now_s = 0.0
        self.store = MemoryLeases(lambda: self.now_s)

    def opened(self) -> LeaseStore:
        return self.store

    def pass_time(self, seconds: float) -> None:
        self.now_s += seconds


class Network:
    """A store as a host reaches it: requests and answers take time, in which other hosts act, or get lost."""

    def __init__(self, world: World, host: int) -> None:
        self.world, self.host = world, host

    def acquire(self, key: str, value: bytes, ttl_s: float) -> int | None:
        return self.world.carried(self.host, lambda: self.world.store.acquire(key, value, ttl_s))

    def renew(self, key: str, value: bytes, token: int, ttl_s: float) -> int | None:
        return self.world.carried(self.host, lambda: self.world.store.renew(key, value, token, ttl_s))

    def release(self, key: str, token: int) -> None:
        self.world.carried(self.host, lambda: self.world.store.release(key, token))

    def lease(self, key: str) -> HubLease | None:
        return self.world.carried(self.host, lambda: self.world.store.lease(key))


class World:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now_s = 0.0
        rates = [self.random.uniform(1 - SKEW, 1 + SKEW) for _ in range(HOSTS + 1)]
        offsets = [self.random.uniform(0, 1000) for _ in range(HOSTS + 1)]
        clocks = [lambda n=n: offsets[n] + rates[n] * self.now_s for n in range(HOSTS + 1)]
        self.store = MemoryLeases(clocks[HOSTS])
        self.keepers = [LeaseKeeper(Network(self, n), clocks[n]) for n in range(HOSTS)]
        self.waiting: list[int] = []  # hosts whose call is on its way
        self.granted: list[tuple[int, int]] = []  # (token, host), in the order in which it was seen to hold

    def carried(self, host: int, act):  # type: ignore[no-untyped-def]
        self.pass_time(host)
        if self.random.random() < 0.1:
            raise FarSideUnreachable("the request got lost")
        found = act()
        self.pass_time(host)
        if self.random.random() < 0.1:
            raise FarSideUnreachable("the answer got lost")
        return found

    def pass_time(self, waits: int) -> None:
        """Some time passes, in which hosts that wait for nothing may act."""
        self.now_s += self.random.choice((0.01, 0.1, 1.0, RENEW_S, TTL_S)) * self.random.random()
        self.check()
        free = [n for n in range(HOSTS) if n != waits and n not in self.waiting]
        if free and self.random.random() < 0.5:
            self.waiting.append(waits)
            self.act(self.random.choice(free))
            self.waiting.pop()

    def act(self, host: int) -> None:
        wanted = {KEY: b"%d" % host} if self.random.random() < 0.8 else {}
        kept = self.keepers[host].keep(wanted).get(KEY)
        if kept is not None and kept.standing == "taken":
            assert self.keepers[host].kept(KEY).standing != "held"
        self.check()

    def check(self) -> None:
        kept = [keeper.kept(KEY) for keeper in self.keepers]
        holders = [n for n, one in enumerate(kept) if one.standing == "held"]
        assert len(holders) <= 1
        for host in holders:
            token = kept[host].token
            last_token, last_host = self.granted[-1] if self.granted else (0, host)
            assert token >= last_token
            assert token > last_token or host == last_host
            self.granted.append((token, host))


def test_no_two_hosts_hold_a_lease_in_any_schedule() -> None:
    assert TTL_S * (1 - SKEW) ** 2 > TTL_S - MARGIN_S, "clocks of this skew are what the margin is for"
    changes = held = 0
    for seed in range(SCHEDULES):
        world = World(seed)
        for _ in range(STEPS):
            world.now_s += world.random.random() * RENEW_S
            world.act(world.random.randrange(HOSTS))
        hosts = [host for _, host in world.granted]
        held += bool(hosts)
        changes += sum(1 for before, after in pairwise(hosts) if before != after)
    assert held > SCHEDULES * 0.9, "the schedules are not of leases that nobody ever got"
    assert changes > SCHEDULES


def standing(keeper: LeaseKeeper, value: bytes) -> str:
    return keeper.keep({KEY: value})[KEY].standing


def test_a_lease_whose_grant_was_not_heard_is_taken_up() -> None:
    store = MemoryLeases(lambda: 0.0)
    keeper = LeaseKeeper(store, lambda: 0.0)
    store.acquire(KEY, b"ada", TTL_S)
    assert standing(keeper, b"ada") == "held"


def test_a_holder_whose_store_is_silent_gives_up_before_the_lease_ends() -> None:
    now_s = 0.0
    store = MemoryLeases(lambda: now_s)
    keeper = LeaseKeeper(store, lambda: now_s)
    assert standing(keeper, b"ada") == "held"

    def silent(*_: object) -> HubLease:
        raise FarSideUnreachable("nobody answers")

    store.lease = silent  # type: ignore[method-assign]
    now_s = RENEW_S
    assert keeper.keep({KEY: b"ada"})[KEY] == ("held", TTL_S - MARGIN_S - RENEW_S, 1)
    now_s = TTL_S - MARGIN_S
    assert standing(keeper, b"ada") == "unconfirmed"


def test_what_is_no_longer_wanted_is_free_for_others() -> None:
    store = MemoryLeases(lambda: 0.0)
    ada, bob = LeaseKeeper(store, lambda: 0.0), LeaseKeeper(store, lambda: 0.0)
    assert standing(ada, b"ada") == "held"
    assert standing(bob, b"bob") == "taken"
    ada.keep({})
    assert standing(bob, b"bob") == "held"


def test_a_store_that_forgot_a_grant_and_gave_its_token_again_does_not_give_the_lease_to_both() -> None:
    now_s, store = 0.0, MemoryLeases(lambda: now_s)
    ada = LeaseKeeper(store, lambda: now_s)
    assert standing(ada, b"ada") == "held"
    forgetful = MemoryLeases(lambda: now_s)
    assert forgetful.acquire(KEY, b"bob", TTL_S) == ada.kept(KEY).token
    ada._store = forgetful
    now_s = RENEW_S
    assert standing(ada, b"ada") == "taken"
    assert forgetful.lease(KEY) == (b"bob", 1)
