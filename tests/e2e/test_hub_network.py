"""Two hosts and a hub, each in a network of its own: agents on one repository, a partition of 30 s, and its healing."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from hub_hosts import TEXT, Host, clones
from live import eventually, ok
from nats_server import NatsNode, certified, tls_block

pytestmark = [pytest.mark.real, pytest.mark.wide, pytest.mark.timeout(300)]

PORT = 4222
PRESENCE_S = 6.0
PARTITION_S = 30.0


class Network:
    """A hub and hosts, each in a network namespace; a cable leads from each host to the hub."""

    def __init__(self, hosts: tuple[str, ...]) -> None:
        self._mark = secrets.token_hex(2)
        self._made: list[str] = []
        self.hosts = hosts
        try:
            self._add("hub")
            for number, host in enumerate(hosts, 1):
                self._add(host)
                hub_end, end = self._cable(host), f"q{self._mark}h{number}"
                self._ip("link", "add", hub_end, "netns", self._name("hub"), "type", "veth", "peer", "name", end,
                         "netns", self._name(host))  # fmt: skip
                for name, link, address in (("hub", hub_end, self.hub(host)), (host, end, f"10.77.{number}.2")):
                    self._ip("-n", self._name(name), "address", "add", f"{address}/24", "dev", link)
                    self._ip("-n", self._name(name), "link", "set", link, "up")
        except (OSError, subprocess.CalledProcessError):
            self.close()
            raise

    def hub(self, host: str) -> str:
        """The address of the hub, as a host sees it."""
        return f"10.77.{self.hosts.index(host) + 1}.1"

    def inside(self, name: str) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self._name(name))

    def cut(self, host: str) -> None:
        self._ip("-n", self._name("hub"), "link", "set", self._cable(host), "down")

    def heal(self, host: str) -> None:
        self._ip("-n", self._name("hub"), "link", "set", self._cable(host), "up")

    def close(self) -> None:
        for name in self._made:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)

    def _add(self, name: str) -> None:
        self._ip("netns", "add", self._name(name))
        self._made.append(self._name(name))
        self._ip("-n", self._name(name), "link", "set", "lo", "up")

    def _cable(self, host: str) -> str:
        return f"q{self._mark}c{self.hosts.index(host) + 1}"

    def _name(self, name: str) -> str:
        return f"quire-{self._mark}-{name}"

    @staticmethod
    def _ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def network() -> Iterator[Network]:
    if os.geteuid() or not shutil.which("ip"):
        pytest.skip("network namespaces want root and iproute2")
    try:
        network = Network(("alpha", "beta"))
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", b"") or str(error).encode()
        pytest.skip(f"network namespaces cannot be made here: {said.decode().strip()}")
    yield network
    network.close()


class Agent(threading.Thread):
    """An agent that edits: files of its own, and one that both hosts have."""

    def __init__(self, host: Host) -> None:
        super().__init__(name=f"agent on {host.name}")
        self.host, self.client = host, host.live.connect("codex", host.name)
        self.written: list[str] = []
        self.ends = threading.Event()
        self.longest_s = 0.0

    def run(self) -> None:
        while not self.ends.wait(0.25):
            path = f"{self.host.name}/{len(self.written)}.txt"
            begun = time.monotonic()
            ok(self.client.call("write_file", {"path": path, "content": f"{begun}\n"}))
            if len(self.written) % 5 == 0:
                version = ok(self.client.call("read_file", {"path": "auth.ts"}))["version"]
                text = TEXT.replace("line 3\n", f"{path}\n")
                ok(self.client.call("write_file", {"path": "auth.ts", "content": text, "base": version}))
            self.longest_s = max(self.longest_s, time.monotonic() - begun)
            self.written.append(path)


def seconds_until(what: str, look: Any, within_s: float) -> float:
    begun = time.monotonic()
    eventually(what, look, within_s)
    return time.monotonic() - begun


def test_two_hosts_go_on_through_a_partition_and_nothing_is_lost(network: Network, tmp_path: Path) -> None:
    certificate = certified(tmp_path, ",".join(f"IP:{network.hub(host)}" for host in network.hosts))
    hub = NatsNode(tmp_path / "nats", PORT, more=tls_block(certificate), listen="0.0.0.0", inside=network.inside("hub"))
    repository = clones(tmp_path)
    with ExitStack() as stack:
        stack.callback(hub.kill)
        hub.start()
        hosts = []
        for name, folder in (("alpha", "one"), ("beta", "two")):
            address = f"tls://{network.hub(name)}:{PORT}/core?ca={certificate}"
            hosts.append(Host(repository / folder, name, address, network.inside(name)))
            stack.callback(hosts[-1].close)
        alpha, beta = hosts
        alpha.join()
        eventually("alpha ships", lambda: alpha.client.hub()["linked"])
        beta.join()
        eventually("beta ships", lambda: beta.client.hub()["linked"])
        heard_s = seconds_until("alpha hears of beta", lambda: alpha.heard() == ["beta:two"], PRESENCE_S)
        heard_s = max(heard_s, seconds_until("beta hears of alpha", lambda: beta.heard() == ["alpha:one"], PRESENCE_S))
        agents = [Agent(host) for host in hosts]
        for agent in agents:
            stack.callback(agent.ends.set)
            agent.start()
        told_s = seconds_until("beta is told what alpha changes", lambda: changed_by(beta, "alpha"), PRESENCE_S)
        ok(alpha.client.call("claim", {"path": "package.lock", "kind": "exclusive"}))
        eventually("alpha's lease is held", lambda: standing(alpha)[0] == "held", PRESENCE_S)
        token = standing(alpha)[1]

        network.cut("alpha")
        begun, before = time.monotonic(), [len(agent.written) for agent in agents]
        gone_s = seconds_until("alpha is gone for beta", lambda: not beta.heard(), 17.0)
        eventually("alpha's lease is unconfirmed", lambda: standing(alpha)[0] == "unconfirmed", 15.0)
        ok(beta.client.call("claim", {"path": "package.lock", "kind": "exclusive"}))
        eventually("beta has the lease at the hub", lambda: standing(beta)[0] == "held", 20.0)
        assert standing(beta)[1] > token
        assert standing(alpha)[0] == "unconfirmed"
        time.sleep(max(0.0, begun + PARTITION_S - time.monotonic()))
        went_on = [len(agent.written) - many for agent, many in zip(agents, before, strict=True)]
        assert min(went_on) > PARTITION_S, "both go on editing"
        assert alpha.client.status()["shipping"]["trouble"], "quire status tells it"
        behind = alpha.behind()
        assert behind >= went_on[0]

        network.heal("alpha")
        healed_s = seconds_until("beta hears of alpha again", lambda: beta.heard() == ["alpha:one"], 20.0)
        eventually("alpha hears of beta again", lambda: alpha.heard() == ["beta:two"], 20.0)
        eventually("alpha is told who has the lease", lambda: standing(alpha)[0] == "taken", 20.0)
        for agent in agents:
            agent.ends.set()
            agent.join()
        for host in hosts:
            eventually("all is at the hub", lambda host=host: host.behind() == 0, 60.0)
            (mine,) = [row for row in host.cli("hub", "verify")["journals"] if row["checkout"].startswith(host.name)]
            at = host.client.outbox(look=True)
            assert (mine["records"], mine["wrong"], mine["signed"]) == (at["records"], [], True)
        for host in hosts:
            work = host.cli("log", "--host", "all", "-5000")["work"]
            for agent in agents:
                theirs = [one for one in work if one["checkout"].startswith(f"{agent.host.name}:")]
                paths = {path for one in theirs for path in one["paths"]}
                assert {*agent.written} <= paths, "the merged log is complete"
    print(
        f"\npresence {heard_s:.1f} s, a change {told_s:.1f} s, gone after {gone_s:.1f} s, heard again {healed_s:.1f} s"
        f" after healing; edits in the partition {went_on}, the longest"
        f" {max(agent.longest_s for agent in agents):.2f} s;"
        f" {behind} records waited"
    )


def changed_by(host: Host, other: str) -> bool:
    return any(one["note"]["files"] for one in host.client.hub()["hosts"] if one["host"] == other)


def standing(host: Host) -> tuple[str, int]:
    """How the only exclusive lease of a host is at the hub, and its token."""
    found = list(ok(host.client.hub())["leases"].values())
    return (str(found[0]["standing"]), int(found[0]["token"])) if found else ("", 0)
