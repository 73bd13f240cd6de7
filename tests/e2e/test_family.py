"""Two worktrees of a repository, each with a real daemon: what one changes is told in the other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import quire_client
from live import Live, ok, quire
from quire_journal.workspaces.family import note_file
from quire_journal.workspaces.layout import place_of
from quire_journal.workspaces.lock import running

pytestmark = pytest.mark.real

TEXT = "".join(f"line {n}\n" for n in range(1, 41))
LATEST_S = 20.0
"""Longest wait on a busy machine."""


class Family:
    """`site` and its worktree `fix-2`, with journals where users have them."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.site, self.fix = live.root / "site", live.root / "fix-2"
        self.site.mkdir()
        (self.site / "auth.ts").write_text(TEXT)
        for words in ("init -b main", "add -A", "commit -m one", "worktree add -b fix ../fix-2"):
            self.git(self.site, words)
        self._clients: list[quire_client.Client] = []

    def git(self, root: Path, words: str) -> None:
        names = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *names, *words.split()], cwd=root, check=True, capture_output=True)

    def client(self, root: Path, agent: str) -> quire_client.Client:
        self._clients.append(quire_client.connect(root, agent=agent, session="s1", timeout_s=20.0))
        ok(self._clients[-1].call("since", {}))
        return self._clients[-1]

    def close(self) -> None:
        for client in self._clients:
            client.close()


@pytest.fixture
def family(daemon: Callable[[], Live]) -> Iterator[Family]:
    made = Family(daemon())
    yield made
    made.close()


def replaced(client: quire_client.Client, old: str, new: str) -> None:
    ok(client.call("edit_replace", {"path": "auth.ts", "old_text": old, "new_text": new}))


def until(found: Callable[[], Any]) -> Any:
    end = time.monotonic() + LATEST_S
    while not (value := found()) and time.monotonic() < end:
        time.sleep(0.02)
    return value


def told(client: quire_client.Client) -> list[str]:
    reply = ok(client.call("read_file", {"path": "auth.ts"}))
    return [warning["message"] for warning in reply.get("warnings", ()) if "elsewhere" in warning]


def test_a_change_is_told_in_the_other_worktree_once_and_again_as_a_conflict(family: Family) -> None:
    ada, codex = family.client(family.site, "ada"), family.client(family.fix, "codex")
    until(note_file(place_of(family.site).state).exists)
    replaced(codex, "line 12\n", "line twelve\n")
    assert until(lambda: told(ada)) == [
        "auth.ts line 12 is also changed in fix-2 by codex/s1, just now; a merge of both is clean."
    ]
    assert told(ada) == []
    states = [place_of(root).state for root in (family.site, family.fix)]
    assert (states[0].parent / "reserve").exists()
    assert not any((state / "reserve").exists() for state in states), "one for all journals"
    replaced(ada, "line 12\n", "line 12b\n")
    (conflict,) = until(lambda: [one for one in told(ada) if "conflicts" in one])
    assert conflict.endswith("a merge of both conflicts in 1 hunk.")
    assert until(lambda: [one for one in told(codex) if "conflicts in 1 hunk" in one])


def test_a_killed_or_stopped_neighbour_costs_nothing_and_its_work_stays_known(family: Family) -> None:
    ada, codex = family.client(family.site, "ada"), family.client(family.fix, "codex")
    until(note_file(place_of(family.site).state).exists)
    replaced(codex, "line 12\n", "line twelve\n")
    assert until(lambda: told(ada))
    neighbour = running(place_of(family.fix))
    assert neighbour is not None
    os.kill(neighbour.pid, signal.SIGSTOP)
    try:
        replaced(ada, "line 1\n", "turn 0\n")
        for n in range(300):  # more rings than a bell takes
            replaced(ada, f"turn {n}\n", f"turn {n + 1}\n")
    finally:
        os.kill(neighbour.pid, signal.SIGKILL)
    ben = family.client(family.site, "ben")
    assert until(lambda: told(ben))
    ada.shutdown_daemon()
    carl = family.client(family.site, "carl")
    assert until(lambda: told(carl)), "a daemon that is started finds the note of one that is not"


def test_a_line_of_a_commit_from_the_other_worktree_has_its_author_there(family: Family) -> None:
    """`blame --all-checkouts` wanted a team's hub for it."""
    family.client(family.site, "ada")
    codex = family.client(family.fix, "codex")
    replaced(codex, "line 12\n", "line twelve\nand a half\n")
    replaced(codex, "line 1\n", "line one\n")
    family.git(family.fix, "commit -am two")
    family.git(family.site, "merge fix")

    def lines() -> list[dict[str, Any]]:
        ran = quire("blame", "auth.ts", "--all-checkouts", "--json", cwd=family.site)
        return list(json.loads(ran.stdout)["lines"])

    found = until(lambda: [line for line in lines() if line.get("elsewhere")])
    assert [line["line"] for line in found] == [1, 12, 13]
    whose = {(one["checkout"], one["writer"]["agent"]) for line in found for one in line["elsewhere"]}
    assert whose == {("fix-2", "codex")}
    codex.shutdown_daemon()
    assert not any(line.get("elsewhere") for line in lines())
