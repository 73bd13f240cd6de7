"""The files of docs/hub with which a team runs its servers: the server takes them, and they say what quire asks for."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from nats_server import SERVER, certified

HUB = Path(__file__).parents[3] / "docs" / "hub"
NODES = ("n1", "n2", "n3")


@pytest.mark.real
def test_the_server_takes_the_configuration_of_a_node(tmp_path: Path) -> None:
    certified(tmp_path, "DNS:n1")
    config = tmp_path / "nats.conf"
    config.write_text((HUB / "nats.conf").read_text().replace("/certs", str(tmp_path)).replace("/data", str(tmp_path)))
    environ = {**os.environ, "NODE": "n1", "ADMIN": "ada", "ADMIN_PASSWORD": "secret"}
    ran = subprocess.run([SERVER, "-t", "-c", config], env=environ, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_a_node_syncs_speaks_tls_and_is_watched_as_quire_wants_it() -> None:
    config = (HUB / "nats.conf").read_text()
    for line in ("sync_interval: always", "cert_file: /certs/server.pem", "http: 0.0.0.0:8222"):
        assert line in config
    assert re.findall(r"nats://(n\d):6222", config) == list(NODES)


def test_three_nodes_of_a_version_without_known_losses_are_composed() -> None:
    compose = (HUB / "compose.yaml").read_text()
    assert compose.count("image: nats:2.15.1") == 3
    assert re.findall(r"NODE: (n\d)", compose) == list(NODES)
    assert "chrislusf/seaweedfs" in compose
