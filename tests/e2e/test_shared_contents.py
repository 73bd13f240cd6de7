"""Two worktrees of a repository, each with a real daemon: contents are stored once, and belong to each journal."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import quire_client
from live import Live, eventually, ok, sha256, verified
from quire_journal.workspaces.layout import place_of
from quire_journal.workspaces.lock import running

pytestmark = pytest.mark.real

FILES = 20
PATIENCE_S = 60.0


def content(n: int) -> str:
    """Half a megabyte of numbers, which take half of that in the journal."""
    return "".join(f"{number}\n" for number in random.Random(n).choices(range(10**9), k=50_000))


class Repository:
    """`site`, which is large enough for packs, and its worktree `fix`, with journals where users have them."""

    def __init__(self, live: Live) -> None:
        self.site, self.fix = live.root / "site", live.root / "fix"
        self.site.mkdir()
        for n in range(FILES):
            (self.site / f"{n}.txt").write_text(content(n))
        for words in ("init -b main", "add -A", "commit -m one", "worktree add -b fix ../fix"):
            names = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
            subprocess.run(["git", *names, *words.split()], cwd=self.site, check=True, capture_output=True)
        self._clients: list[quire_client.Client] = []

    def client(self, root: Path) -> quire_client.Client:
        self._clients.append(quire_client.connect(root, agent="ada", session="s1", timeout_s=PATIENCE_S))
        ok(self._clients[-1].call("since", {}))
        return self._clients[-1]

    def close(self) -> None:
        for client in self._clients:
            client.close()


@pytest.fixture
def repository(daemon: Callable[[], Live]) -> Iterator[Repository]:
    made = Repository(daemon())
    yield made
    made.close()


def packs_of(root: Path) -> dict[str, int]:
    """Name → number of links."""
    database = place_of(root).journal / "db"
    return {path.name: path.stat().st_nlink for path in database.glob("pack.*")}


def packed(root: Path) -> dict[str, int]:
    found: dict[str, int] = eventually("there are packs", lambda: packs_of(root), PATIENCE_S)
    return found


def require_contents(client: quire_client.Client) -> None:
    verified(client)
    for n in (0, FILES - 1):
        data = content(n).encode()
        (found,) = ok(client.call("blobs", {"sha256": [sha256(data)]}))["blobs"]
        assert found["sizeBytes"] == len(data)
        assert data.startswith(b64decode(found["content_base64"]))


def test_a_worktree_links_what_the_first_journal_packed_and_keeps_it_when_that_is_removed(
    repository: Repository,
) -> None:
    site = repository.client(repository.site)
    assert set(packed(repository.site).values()) == {1}
    fix = repository.client(repository.fix)
    assert set(packed(repository.fix).values()) == {2}
    assert packs_of(repository.fix) == packs_of(repository.site)
    for client in (site, fix):
        require_contents(client)
    ok(site.shutdown_daemon())
    eventually("it has ended", lambda: running(place_of(repository.site)) is None)
    shutil.rmtree(place_of(repository.site).state)
    assert set(packs_of(repository.fix).values()) == {1}
    require_contents(fix)
    ok(fix.shutdown_daemon())


@pytest.mark.parametrize("step", ["compact_copied", "compact_moved"])
def test_a_kill_during_the_compaction_after_a_first_capture_loses_nothing(repository: Repository, step: str) -> None:
    site = repository.client(repository.site)
    packed(repository.site)
    os.environ["QUIRE_FAULT"] = f"{step}:1"
    try:
        repository.client(repository.fix)
        eventually("the daemon has died", lambda: running(place_of(repository.fix)) is None, PATIENCE_S)
    finally:
        del os.environ["QUIRE_FAULT"]
    fix = repository.client(repository.fix)
    assert not list(place_of(repository.fix).journal.glob("db.compact"))
    assert bool(packs_of(repository.fix)) is (step == "compact_moved")
    ok(fix.call("gc", {"compact": True}))
    assert packs_of(repository.fix) == packs_of(repository.site), "a later compaction links as well"
    for client in (site, fix):
        require_contents(client)
        ok(client.shutdown_daemon())
