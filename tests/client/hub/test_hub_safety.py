"""What may lose the copy at the hub is told: few replicas, no syncing, a version with known losses."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from quire_client.hub.safety import Condition, ServerState, condition, server_states, warnings
from quire_client.hub.team import at_hub
from quire_client.ship.nats_connection import HubAddress

SAFE = Condition("2.15.1", 3, 1, 1)
SYNCING = ServerState("http://a:8222", "2.15.1", True)


def test_three_replicas_that_sync_and_have_a_version_without_known_losses_are_well() -> None:
    assert not warnings(SAFE, [SYNCING])


@pytest.mark.parametrize(
    ("found", "server", "says"),
    [
        (SAFE._replace(replicas=1), SYNCING, "has 1 replica;"),
        (SAFE, SYNCING._replace(syncs=False), "sync_interval: always"),
        (SAFE._replace(version="2.10.22"), SYNCING, "before 2.10.23 a server that is killed can lose a stream"),
        (SAFE._replace(version="2.12.1"), SYNCING, "before 2.12.3"),
        (SAFE, SYNCING._replace(version="v2.13.0-beta.1"), "before 2.14.0 a damaged snapshot"),
        (SAFE, ServerState("http://a:8222", trouble="refused"), "--monitor"),
    ],
)
def test_what_may_lose_records_is_told(found: Condition, server: ServerState, says: str) -> None:
    (said,) = warnings(found, [server])
    assert says in said


class Monitoring(BaseHTTPRequestHandler):
    answer = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def monitoring() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Monitoring)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.real
@pytest.mark.parametrize(
    ("answer", "syncs"),
    [
        (b'{"version":"2.15.1","jetstream":{"config":{"sync_always":true}}}', True),
        (b'{"version":"2.15.1","jetstream":{"config":{"sync_interval":120000000000}}}', False),
    ],
)
def test_a_server_tells_at_its_monitoring_whether_it_syncs(monitoring: str, answer: bytes, syncs: bool) -> None:
    Monitoring.answer = answer
    (state,) = server_states(HubAddress.parse(f"nats://127.0.0.1/team?monitor={monitoring}"))
    assert state == ServerState(monitoring, "2.15.1", syncs)


@pytest.mark.real
@pytest.mark.parametrize("answer", [b"", b"[]", b'{"jetstream":7}', b"<html>"])
def test_an_answer_of_something_else_is_trouble(monitoring: str, answer: bytes) -> None:
    Monitoring.answer = answer
    (state,) = server_states(HubAddress.parse(f"nats://127.0.0.1/team?monitor={monitoring}"))
    assert state.trouble


def test_each_server_is_asked_at_the_usual_port_where_none_is_named() -> None:
    address = HubAddress.parse("tls://a.example.org,b.example.org:4333/core")
    assert address.monitors == ("http://a.example.org:8222", "http://b.example.org:8222")


@pytest.mark.real
def test_a_team_on_one_server_is_told_as_it_is(team: str) -> None:
    with at_hub(HubAddress.parse(team)) as (connection, far):
        far.blobs.put_all({"ab12": b"bytes"})
        found = condition(connection)
    assert (found.version, found.replicas, found.messages) == ("2.15.1", 1, 1)
