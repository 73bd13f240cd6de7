"""Hosts of a team for tests: checkouts of one repository with real daemons and shippers."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from live import Live, eventually, ok, quire
from quire_client.ship import open_far_side, read_journal
from quire_journal.workspaces import place_of, running

TEXT = "".join(f"line {n}\n" for n in range(1, 21))


def git(folder: Path, *words: str) -> None:
    names = ("-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


class Host:
    """A checkout as on a machine of its own, and its shipper. `inside`: what runs a command on that machine."""

    def __init__(self, root: Path, name: str, address: str, inside: tuple[str, ...] = ()) -> None:
        self.live, self.name, self.address, self.inside = Live(root), name, address, inside
        self.environ = {**os.environ, "QUIRE_HOST": name}  # of this host: the next one changes the process's own
        if inside:
            self.cli("who")  # starts the daemon there
        self.client = self.live.connect("ada", f"of-{name}")
        self.shipper: subprocess.Popen[bytes] | None = None

    def cli(self, *words: str, exits: int = 0) -> Any:
        """What a command replies, as JSON."""
        words = (*words, "-C", str(self.live.root), "--state-dir", str(self.live.state_dir), "--json")
        if self.inside:
            command = [*self.inside, sys.executable, "-m", "quire_client", *words]
            ran = subprocess.run(command, env=self.environ, capture_output=True)
        else:
            ran = quire(*words)
        assert ran.returncode == exits, ran.stderr
        return json.loads(ran.stdout)

    def join(self) -> None:
        self.cli("hub", "join", self.address, "--no-start")
        self.ship()

    def ship(self) -> None:
        words = ["ship", "-C", str(self.live.root), "--state-dir", str(self.live.state_dir)]
        log = open(self.live.top / "ship.log", "ab")  # noqa: SIM115  closed with the process
        with log:
            self.shipper = subprocess.Popen(
                [*self.inside, sys.executable, "-m", "quire_client", *words], env=self.environ, stdout=log, stderr=log
            )

    def stop_shipping(self) -> None:
        if self.shipper is not None:
            self.shipper.kill()
            self.shipper.wait()
            self.shipper = None

    def stand_still(self) -> str:
        """End shipper and daemon; return the name under which the journal ships."""
        journal = str(ok(self.client.hub())["journal"])
        self.stop_shipping()
        self.cli("down")
        eventually("the daemon has ended", lambda: running(place_of(self.live.root, self.live.state_dir)) is None)
        return journal

    def go_on(self) -> None:
        self.client = self.live.connect("ada", f"of-{self.name}")
        self.client.status()
        self.ship()

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


def clones(tmp_path: Path) -> Path:
    """The folder of two clones of a repository, `one` and `two`."""
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


def there(host: Host) -> int:
    """Records at the hub, all of which were read and checked."""
    journal = host.client.outbox(look=True)["journal"]
    with contextlib.closing(open_far_side(host.address)) as far:
        found = read_journal(far, journal)
        return 0 if found.wrong else found.at.seq  # 0: it is being shipped anew
