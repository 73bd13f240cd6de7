"""Leases across hosts in a bucket of NATS, of one node and of three: the contract suite, by the server's clock."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from contracts.lease_store import LeaseStoreContract
from nats_server import Cluster, new_team
from quire_client.hub.leases import LeaseStore
from quire_client.hub.nats_leases import NatsLeases
from quire_client.ship import HubAddress, NatsConnection

pytestmark = [pytest.mark.real, pytest.mark.wide]


class TestNats(LeaseStoreContract):
    @pytest.fixture(autouse=True)
    def fresh(self, team: str) -> Iterator[None]:
        self.team, self.connections = team, list[NatsConnection]()
        yield
        for connection in self.connections:
            connection.close()

    def opened(self) -> LeaseStore:
        self.connections.append(NatsConnection(HubAddress.parse(self.team)))
        return NatsLeases(self.connections[-1])

    def pass_time(self, seconds: float) -> None:
        time.sleep(seconds)


class TestThreeNodes(TestNats):
    @pytest.fixture
    def team(self, nats_cluster: Cluster) -> str:
        return new_team(nats_cluster.hosts, 3)
