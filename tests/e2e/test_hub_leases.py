"""Leases across hosts on three nodes that are killed and stopped: none is held by two, and later tokens are greater."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

import live
from nats_server import Cluster, NatsNode, new_team
from quire_client.hub.keeper import LeaseKeeper, Times
from quire_client.hub.nats_leases import NatsLeases
from quire_client.hub.team import at_hub, leases_bucket
from quire_client.ship import HubAddress

pytestmark = [pytest.mark.real, pytest.mark.wide, pytest.mark.timeout(600)]

SCHEDULES, BATCH = 200, 20
BATCH_S = 14.0
TIMES = Times(3.0, 1.0, 0.5)


class Held(NamedTuple):
    """A time in which a host was told that nobody else can get a lease."""

    from_s: float
    until_s: float
    token: int
    host: int


class Host(threading.Thread):
    """A host that wants some of the leases, others a moment later."""

    def __init__(self, number: int, address: str, keys: list[str], ends_s: float, seed: int) -> None:
        super().__init__(name=f"host {number}")
        self.number, self.address, self.keys, self.ends_s = number, address, keys, ends_s
        self.random = random.Random(seed)
        self.held: dict[str, list[Held]] = {key: [] for key in keys}
        self.given_up = 0

    def run(self) -> None:
        with at_hub(HubAddress.parse(self.address)) as (connection, _):
            keeper = LeaseKeeper(NatsLeases(connection), time.monotonic, TIMES)
            wanted: set[str] = set()
            while time.monotonic() < self.ends_s:
                wanted ^= {key for key in self.keys if self.random.random() < 0.1}
                self._end(key for key in self.keys if key not in wanted)
                for key, kept in keeper.keep(dict.fromkeys(wanted, b"%d" % self.number)).items():
                    now_s, now = time.monotonic(), keeper.kept(key)
                    if now.standing == "held":
                        self.held[key].append(Held(now_s, now_s + now.for_s, now.token, self.number))
                    elif kept.standing == "taken" and self.held[key] and self.held[key][-1].until_s > now_s:
                        self.given_up += 1  # a node that was stopped answered of the past
                        self._end([key])
                time.sleep(self.random.random() * 0.3)
            self._end(self.keys)
            keeper.keep({})

    def _end(self, keys: Iterator[str] | list[str]) -> None:
        """What is released may be another's from the moment on when that is sent."""
        now_s = time.monotonic()
        for key in keys:
            if self.held[key]:
                self.held[key][-1] = self.held[key][-1]._replace(until_s=min(now_s, self.held[key][-1].until_s))


def kill(node: NatsNode) -> None:
    node.kill()
    time.sleep(1)
    node.start()


def stop(node: NatsNode) -> None:
    """Longer than a lease lasts."""
    node.signal(signal.SIGSTOP)
    time.sleep(TIMES.ttl_s + 1)
    node.signal(signal.SIGCONT)


FAULTS: list[Callable[[NatsNode], None]] = [kill, stop]


def test_no_lease_is_held_by_two_while_nodes_are_killed_and_stopped(tmp_path: Path) -> None:
    chosen = random.Random(live.SEED)
    changes = grants = given_up = 0
    cluster = Cluster(tmp_path)
    with ExitStack() as stack:
        stack.callback(cluster.kill)
        cluster.start()
        address = new_team(cluster.hosts, 3)
        team = HubAddress.parse(address).team
        for batch in range(SCHEDULES // BATCH):
            keys = [f"repo.{batch}-{n}" for n in range(BATCH)]
            ends_s = time.monotonic() + BATCH_S
            hosts = [Host(n, address, keys, ends_s, chosen.randrange(1 << 30)) for n in range(3)]
            for host in hosts:
                host.start()
            time.sleep(2)
            leader = cluster.leader(f"KV_{leases_bucket(team)}", team)
            others = [node for node in cluster.nodes if node is not leader]
            chosen.choice(FAULTS)(leader if batch % 3 else chosen.choice(others))
            for host in hosts:
                host.join()
            given_up += sum(host.given_up for host in hosts)
            for key in keys:
                held = sorted(one for host in hosts for one in host.held[key])
                grants += len(held)
                for before, after in pairwise(held):
                    if before.host != after.host:
                        changes += 1
                        assert before.until_s <= after.from_s, (key, before, after)
                        assert before.token < after.token, (key, before, after)
    print(f"{SCHEDULES} leases, {grants} grants, {changes} changes of the holder, {given_up} given up early")
    assert changes > SCHEDULES
