"""The contract suite over JetStream: one NATS server, a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contracts.far_side import FarSideContract, J
from nats_server import Cluster, NatsNode, free_ports, new_team
from quire_client.ship.address import FarSide, open_far_side
from quire_client.ship.nats_connection import HubAddress
from quire_client.ship.port import FarSideUnreachable

pytestmark = pytest.mark.real


@pytest.fixture
def open_far(team: str) -> Iterator[Callable[[], FarSide]]:
    opened: list[FarSide] = []

    def open_one() -> FarSide:
        opened.append(open_far_side(team))
        return opened[-1]

    yield open_one
    for far in opened:
        far.close()


class TestJetStream(FarSideContract):
    @pytest.fixture(autouse=True)
    def fresh(self, open_far: Callable[[], FarSide]) -> None:
        self.open_far = open_far

    def opened(self) -> FarSide:
        return self.open_far()


@pytest.mark.wide
class TestThreeNodes(TestJetStream):
    @pytest.fixture
    def team(self, nats_cluster: Cluster) -> str:
        return new_team(nats_cluster.hosts, 3)


def test_a_store_that_does_not_answer_is_unreachable() -> None:
    with pytest.raises(FarSideUnreachable, match=r"127\.0\.0\.1"):
        open_far_side(f"nats://127.0.0.1:{free_ports(1)[0]}/team")


def test_a_team_that_nobody_made_is_named(nats_node: NatsNode) -> None:
    far = open_far_side(f"nats://127.0.0.1:{nats_node.port}/nobody")
    with pytest.raises(FarSideUnreachable, match="hub join"):
        far.segments.get(J, 1)
    far.close()


def test_what_was_put_outlives_a_kill_of_the_server(tmp_path: Path) -> None:
    server = NatsNode(tmp_path, free_ports(1)[0])
    server.start()
    far = open_far_side(new_team(server.host))
    for number in range(1, 30):
        assert far.segments.put(J, number, b"%d" % number)
    server.kill()
    with pytest.raises(FarSideUnreachable):
        far.segments.get(J, 1)
    server.start()
    assert [far.segments.get(J, number) for number in range(1, 30)] == [b"%d" % number for number in range(1, 30)]
    far.close()
    server.kill()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nats://hub.example.org/team", "TLS"),
        ("nats://127.0.0.1", "TEAM"),
        ("nats://127.0.0.1/a.b", "TEAM"),
        ("nats://127.0.0.1/team?tls=no", "tls is no field"),
        ("tls:///team", "not nats://"),
    ],
)
def test_an_address_that_is_wrong_or_unsafe_is_told(text: str, says: str) -> None:
    with pytest.raises(FarSideUnreachable, match=says):
        HubAddress.parse(text)


def test_an_address_is_told_without_its_password() -> None:
    address = HubAddress.parse("tls://ada:secret@hub.example.org,b.example.org:4223/core?creds=/x")
    assert str(address) == "tls://hub.example.org:4222,b.example.org:4223/core"
    assert (address.user, address.password, address.creds) == ("ada", "secret", "/x")
