"""Two hosts and a hub: real daemons, real shippers, a real server of NATS."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from live import Live, eventually, ok, quire
from nats_server import NatsNode, free_ports, new_team
from quire_client.hub import make_team
from quire_client.ship import HubAddress, NatsConnection, open_far_side, read_journal
from quire_journal.shipment import BadSegment

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]

TEXT = "".join(f"line {n}\n" for n in range(1, 21))


def git(folder: Path, *words: str) -> None:
    names = ("-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


class Host:
    """A checkout as on a machine of its own, and its shipper."""

    def __init__(self, root: Path, name: str, address: str) -> None:
        self.live, self.name, self.address = Live(root), name, address
        self.environ = {**os.environ, "QUIRE_HOST": name}  # of this host: the next one changes the process's own
        self.client = self.live.connect("ada", f"of-{name}")
        self.shipper: subprocess.Popen[bytes] | None = None

    def cli(self, *words: str) -> Any:
        ran = quire(*words, "-C", str(self.live.root), "--state-dir", str(self.live.state_dir), "--json")
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    def join(self) -> None:
        self.cli("hub", "join", self.address, "--no-start")
        self.ship()

    def ship(self) -> None:
        words = ["ship", "-C", str(self.live.root), "--state-dir", str(self.live.state_dir)]
        log = open(self.live.top / "ship.log", "ab")  # noqa: SIM115  closed with the process
        with log:
            self.shipper = subprocess.Popen(
                [sys.executable, "-m", "quire_client", *words], env=self.environ, stdout=log, stderr=log
            )

    def stop_shipping(self) -> None:
        if self.shipper is not None:
            self.shipper.kill()
            self.shipper.wait()
            self.shipper = None

    def heard(self) -> list[str]:
        return [f"{one['host']}:{one['checkout']}" for one in ok(self.client.hub())["hosts"]]

    def write(self, path: str, content: str) -> dict[str, Any]:
        version = self.client.call("read_file", {"path": path}).get("version")
        base = {"base": version} if version else {}
        return ok(self.client.call("write_file", {"path": path, "content": content, **base}))

    def behind(self) -> int:
        return int(self.client.outbox(look=True)["behind"])

    def close(self) -> None:
        self.stop_shipping()
        self.live.close()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "auth.ts").write_text(TEXT)
    git(tmp_path / "one", "init")
    git(tmp_path / "one", "add", "-A")
    git(tmp_path / "one", "commit", "-m", "one")
    git(tmp_path, "clone", "one", "two")
    return tmp_path


@contextlib.contextmanager
def two_hosts(repository: Path, address: str) -> Iterator[tuple[Host, Host]]:
    alpha = Host(repository / "one", "alpha", address)
    try:
        beta = Host(repository / "two", "beta", address)
        try:
            alpha.join()
            beta.join()
            yield alpha, beta
        finally:
            beta.close()
    finally:
        alpha.close()


def test_hosts_hear_of_each_other_and_are_told_before_an_edit(repository: Path, team: str) -> None:
    with two_hosts(repository, team) as (alpha, beta):
        eventually("beta hears of alpha", lambda: beta.heard() == ["alpha:one"])
        eventually("alpha hears of beta", lambda: alpha.heard() == ["beta:two"])
        alpha.write("auth.ts", TEXT.replace("line 3\n", "line three\n"))
        ok(alpha.client.call("claim", {"path": "auth.ts", "kind": "exclusive"}))

        def warned() -> list[str]:
            fresh = beta.live.connect("bob", os.urandom(4).hex())
            return [one["type"] for one in fresh.call("read_file", {"path": "auth.ts"}).get("warnings") or ()]

        eventually("beta is warned", lambda: {"also_changed", "leased_elsewhere"} <= {*warned()})
        ok(beta.client.call("claim", {"path": "auth.ts", "kind": "exclusive"}))
        eventually("beta's lease is known to be taken", lambda: "lease_taken" in warned())
        hosts = {one["host"]: one for one in ok(beta.client.hub())["hosts"]}
        assert hosts["alpha"]["writers"][0]["agent"] == "ada"
        git(alpha.live.root, "commit", "-am", "two")
        eventually("what is committed is no news", lambda: not beta.client.hub()["hosts"][0]["note"]["files"])


def test_the_history_of_all_hosts_is_at_the_hub_and_is_sound(repository: Path, team: str) -> None:
    with two_hosts(repository, team) as (alpha, beta):
        for n in range(5):
            alpha.write(f"a{n}.txt", f"{n}\n")
            beta.write(f"b{n}.txt", f"{n}\n")
        eventually("all is there", lambda: alpha.behind() + beta.behind() <= 2)
        work = alpha.cli("log", "--host", "all")["work"]
        paths = {path for one in work for path in one["paths"]}
        assert {f"{which}{n}.txt" for which in "ab" for n in range(5)} <= paths
        assert {one["checkout"] for one in work} == {"alpha:one", "beta:two"}
        (only,) = alpha.cli("log", "--host", "beta", "b3.txt")["work"]
        assert (only["writer"]["agent"], only["writer"]["agent_session"]) == ("ada", "of-beta")
        verdict = beta.cli("hub", "verify")
        assert [one["wrong"] for one in verdict["journals"]] == [[], []]
        status = beta.cli("hub", "status")
        assert [(one["checkout"], one["you"]) for one in status["journals"]] == [
            ("alpha:one", False),
            ("beta:two", True),
        ]


def test_a_server_that_is_killed_and_one_that_lost_everything_get_it_all(repository: Path, tmp_path: Path) -> None:
    node = NatsNode(tmp_path / "nats", free_ports(1)[0])
    node.start()
    host = Host(repository / "one", "alpha", new_team(node.host))
    try:
        host.join()
        for n in range(20):
            host.write(f"{n}.txt", f"{n}\n")
            if n == 5:
                node.kill()
            if n == 10:
                node.start()
        eventually("all is there", lambda: host.behind() <= 1, 60)
        node.kill()
        node.empty()
        node.start()
        host.write("later.txt", "later\n")
        remake(host.address)
        eventually("all is there again", lambda: there(host) >= 20, 60)
    finally:
        host.close()
        node.kill()


def remake(address: str) -> None:
    connection = NatsConnection(HubAddress.parse(address))
    make_team(connection, 1)
    connection.close()


def there(host: Host) -> int:
    """Records at the hub, all of which were read and checked."""
    journal = host.client.outbox(look=True)["journal"]
    with contextlib.closing(open_far_side(host.address)) as far:
        try:
            return read_journal(far, journal).at.seq
        except BadSegment:  # it is being shipped anew
            return 0


def test_one_shipper_runs_for_a_checkout(repository: Path, team: str) -> None:
    host = Host(repository / "one", "alpha", team)
    try:
        host.join()
        eventually("it ships", lambda: host.client.hub()["linked"])
        ran = quire("ship", "-C", str(host.live.root), "--state-dir", str(host.live.state_dir))
        assert ran.returncode == 2
        assert b"runs here already" in ran.stderr
        assert host.cli("hub", "leave")["stopped"]
        eventually("it ends", lambda: host.shipper is not None and host.shipper.poll() is not None)
    finally:
        host.close()
