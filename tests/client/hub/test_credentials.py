"""The permissions that docs/hub.md gives a host: its own journals, and nothing of others; and TLS."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from nats_server import NatsNode, certified, free_ports, make_place, tls_block
from quire_client.hub.nats_leases import NatsLeases
from quire_client.hub.presence import Presence
from quire_client.hub.team import Card, Cards, at_hub
from quire_client.ship import FarSide, FarSideUnreachable, HubAddress, NatsConnection, Stream, open_far_side, stream_of

pytestmark = pytest.mark.real

GUIDE = Path(__file__).parents[3] / "docs" / "hub.md"
TEAM = "core"


def permissions(user: str, journal: str) -> str:
    """The user of the guide, with this name, password and journal."""
    (block,) = re.findall(r"authorization \{ users: \[ (\{ user: laptop.*?\} \}) \] \}", GUIDE.read_text(), re.DOTALL)
    named = block.replace("user: laptop", f"user: {user}").replace("$LAPTOP", "secret")
    return str(named.replace("JOURNAL", journal).replace("TEAM", TEAM))


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsNode]:
    users = ", ".join(["{ user: admin, password: secret }", permissions("alpha", "aaaa"), permissions("beta", "bbbb")])
    node = NatsNode(tmp_path_factory.mktemp("nats"), free_ports(1)[0], more=f"authorization {{ users: [ {users} ] }}")
    node.start()
    make_place(f"nats://admin:secret@{node.host}/{TEAM}")
    make_place(f"nats://admin:secret@{node.host}/another")
    yield node
    node.kill()


@pytest.fixture
def alpha(node: NatsNode) -> Iterator[tuple[NatsConnection, FarSide]]:
    with at_hub(HubAddress.parse(f"nats://alpha:secret@{node.host}/{TEAM}")) as opened:
        yield opened


def test_a_host_ships_its_own_journal_and_forks_of_it(alpha: tuple[NatsConnection, FarSide]) -> None:
    connection, far = alpha
    assert far.blobs.put_all({"ab12": bytes(2_000_000)}) == {"ab12": bytes(2_000_000)}
    assert far.segments.put("aaaa", 1, b"one")
    assert far.segments.put("aaaa.f00d", 2, b"two")
    assert far.segments.get("aaaa", 1) == b"one"
    assert far.segments.journals() == ["aaaa", "aaaa.f00d"]
    Cards(connection).put(Card("aaaa", "alpha", "site", "repo", "key"))
    assert [card.host for card in Cards(connection).all()] == ["alpha"]
    leases = NatsLeases(connection)
    token = leases.acquire("repo.x", b"alpha", 5)
    assert token
    assert leases.renew("repo.x", b"alpha", token, 5)
    for journal in ("aaaa", "aaaa.f00d"):
        Presence(connection, "repo", journal, lambda: 0.0).tell({}, journal)


def denied(connection: NatsConnection, subject: str) -> bool:
    """True if the server says so, or lets nobody answer."""
    with pytest.raises(FarSideUnreachable, match="permissions violation"):
        connection.wait(connection.nats.jetstream().publish(subject, b"not mine", timeout=0.3), 3)
    return True


@pytest.mark.parametrize(
    "subject",
    [
        f"quire.{TEAM}.segments.bbbb.000000000001",
        f"quire.{TEAM}.segments.bbbb.f00d.000000000001",
        f"quire.{TEAM}.segments.aaaab.000000000001",
        f"$KV.quire-hosts-{TEAM}.bbbb",
        "quire.another.segments.aaaa.000000000001",
        "quire.another.blobs.ab.ab12",
        "$KV.quire-leases-another.repo.x",
        f"$JS.API.STREAM.PURGE.{stream_of(TEAM)}",
        f"$JS.API.STREAM.DELETE.{stream_of(TEAM)}",
        f"$JS.API.STREAM.UPDATE.{stream_of(TEAM)}",
        f"$JS.API.STREAM.MSG.DELETE.{stream_of(TEAM)}",
        "$JS.API.STREAM.MSG.GET.QUIRE-another",
        "$JS.API.STREAM.CREATE.mine",
    ],
)
def test_a_host_may_not_speak_for_another(node: NatsNode, alpha: tuple[NatsConnection, FarSide], subject: str) -> None:
    before = _state(node)
    assert denied(alpha[0], subject)
    assert _state(node) == before


@pytest.mark.wide
def test_a_host_may_not_be_present_as_another_nor_hear_another_team(
    node: NatsNode, alpha: tuple[NatsConnection, FarSide]
) -> None:
    heard: list[str] = []
    with at_hub(HubAddress.parse(f"nats://admin:secret@{node.host}/{TEAM}")) as (admin, _):
        admin.listen("quire.*.now.>", lambda subject, said: heard.append(subject))
        alpha[0].tell(f"quire.{TEAM}.now.repo.bbbb", b"{}")
        alpha[0].tell(f"quire.{TEAM}.now.repo.aaaa", b"{}")
        admin.tell("quire.another.now.repo.x", b"{}")
        overheard: list[str] = []
        with suppress(FarSideUnreachable):  # the server may say no at once or later
            alpha[0].listen("quire.another.>", lambda subject, said: overheard.append(subject))
        admin.tell("quire.another.now.repo.x", b"{}")
        with pytest.raises(FarSideUnreachable):
            alpha[0].api("$JS.API.STREAM.INFO.QUIRE-another", b"")
    assert set(heard) == {f"quire.{TEAM}.now.repo.aaaa", "quire.another.now.repo.x"}
    assert not overheard


def _state(node: NatsNode) -> list[object]:
    with at_hub(HubAddress.parse(f"nats://admin:secret@{node.host}/{TEAM}")) as (admin, _):
        names = [stream_of(TEAM), "QUIRE-another", f"KV_quire-hosts-{TEAM}", "KV_quire-leases-another"]
        return [Stream(admin, name).info()["state"]["last_seq"] for name in names]


# ── TLS ──────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certified(tmp_path_factory.mktemp("tls"), "DNS:localhost")


@pytest.fixture(scope="module")
def tls_node(certificate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsNode]:
    node = NatsNode(tmp_path_factory.mktemp("nats"), free_ports(1)[0], more=tls_block(certificate))
    node.start()
    yield node
    node.kill()


def test_a_server_whose_certificate_is_known_is_spoken_to_by_tls(tls_node: NatsNode, certificate: Path) -> None:
    address = f"tls://localhost:{tls_node.port}/{TEAM}?ca={certificate}"
    make_place(address)
    far = open_far_side(address)
    assert far.segments.put("aaaa", 1, b"one")
    assert far.segments.get("aaaa", 1) == b"one"
    far.close()


@pytest.mark.wide
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_server_whose_certificate_is_unknown_or_of_another_name_is_not_spoken_to(
    tls_node: NatsNode, certificate: Path, host: str
) -> None:
    ca = "" if host == "localhost" else f"?ca={certificate}"
    with pytest.raises(FarSideUnreachable, match="certificate verify failed"):
        open_far_side(f"tls://{host}:{tls_node.port}/{TEAM}{ca}")


@pytest.mark.wide
def test_a_server_that_offers_no_tls_is_not_spoken_to_where_tls_is_asked_for(node: NatsNode) -> None:
    with pytest.raises(FarSideUnreachable, match="offers no TLS"):
        open_far_side(f"tls://admin:secret@localhost:{node.port}/{TEAM}")
