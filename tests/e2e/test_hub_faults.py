"""Servers of the hub are killed, stopped, emptied, or put back from a copy: nothing is lost, twice, or out of order.

A host goes on writing meanwhile. In the end each record is at the hub, in a chain that a reader has checked, and what
happened is told.
"""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hub_hosts import Host, clones, there
from live import eventually
from nats_server import Cluster, NatsNode, free_ports, make_place, new_team
from quire_client.ship import HubAddress, stream_of

pytestmark = [pytest.mark.real, pytest.mark.wide, pytest.mark.timeout(300)]

FILES = 30
BETWEEN_S = 0.3


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path / "nats")
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.kill()


@pytest.fixture
def host(tmp_path: Path, cluster: Cluster) -> Iterator[Host]:
    host = Host(clones(tmp_path) / "one", "alpha", new_team(cluster.hosts, 3))
    try:
        host.join()
        yield host
    finally:
        host.close()


def kill_leader(cluster: Cluster, leader: NatsNode) -> Callable[[], None]:
    leader.kill()
    return cluster.start


def kill_minority(cluster: Cluster, leader: NatsNode) -> Callable[[], None]:
    next(node for node in cluster.nodes if node is not leader).kill()
    return cluster.start


def kill_all(cluster: Cluster, leader: NatsNode) -> Callable[[], None]:
    cluster.kill()
    return cluster.start


def stop_leader(cluster: Cluster, leader: NatsNode) -> Callable[[], None]:
    leader.signal(signal.SIGSTOP)

    def go_on() -> None:
        time.sleep(16)  # longer than a lease lasts
        leader.signal(signal.SIGCONT)

    return go_on


def all_is_there(host: Host) -> None:
    """Each record of the host is at the hub once and in its place: what `quire verify --against` reads."""
    eventually("all is at the hub", lambda: host.behind() == 0, 90)
    at = host.client.outbox(look=True)
    assert there(host) == at["records"] + at["behind"], "the hub has each record"
    verdict = host.cli("verify", "--against", host.address)
    assert verdict["ok"]

    def row() -> Any:
        return host.cli("hub", "verify")["journals"][0]

    eventually("the host's card is there again", lambda: row()["signed"], 15)
    assert not row()["wrong"]


@pytest.mark.parametrize("fault", [kill_leader, kill_minority, kill_all, stop_leader])
def test_three_nodes(cluster: Cluster, host: Host, fault: Callable[[Cluster, NatsNode], Callable[[], None]]) -> None:
    team = HubAddress.parse(host.address).team
    heal: Any = None
    for n in range(FILES):
        host.write(f"{n}.txt", f"{n}\n")
        time.sleep(BETWEEN_S)
        if n == FILES // 3:
            heal = fault(cluster, cluster.leader(stream_of(team), team))
        if n == FILES * 2 // 3:
            heal()
    all_is_there(host)
    assert "lost" not in host.client.status()["shipping"], "nothing that was acknowledged is gone"


def test_three_nodes_that_lost_everything(cluster: Cluster, host: Host) -> None:
    for n in range(FILES):
        host.write(f"{n}.txt", f"{n}\n")
    all_is_there(host)
    before = there(host)
    cluster.kill()
    for node in cluster.nodes:
        node.empty()
    cluster.start()
    host.write("later.txt", "later\n")
    told = eventually("the missing team is told", lambda: host.client.status()["shipping"].get("trouble"), 30)
    assert "quire hub join makes it" in told
    make_place(host.address, 3)
    eventually("the loss is told", lambda: host.client.status()["shipping"].get("lost"), 30)
    all_is_there(host)
    assert there(host) > before


def test_a_server_that_was_put_back_from_an_old_copy(tmp_path: Path) -> None:
    node = NatsNode(tmp_path / "nats", free_ports(1)[0])
    node.start()
    host = Host(clones(tmp_path) / "one", "alpha", new_team(node.host))
    try:
        host.join()
        for n in range(FILES):
            host.write(f"{n}.txt", f"{n}\n")
            time.sleep(BETWEEN_S / 3)
            if n == FILES // 2:
                node.kill()
                shutil.copytree(node.folder / "data", tmp_path / "copy")
                node.start()
        all_is_there(host)
        node.kill()
        node.empty()
        shutil.copytree(tmp_path / "copy", node.folder / "data")
        node.start()
        lost = eventually("the loss is told", lambda: host.client.status()["shipping"].get("lost"), 30)
        assert lost["records"] > 0
        all_is_there(host)
        assert host.client.outbox(look=True)["journal"] == host.client.hub()["journal"]
    finally:
        host.close()
        node.kill()
