"""A person saves between commands of git that report nothing: each save is the person's, each other write is git's.

The order is known: a save writes bytes that nobody has written before, and git only brings bytes back or merges them.
"""

from __future__ import annotations

import os
import random
import subprocess
import time
from typing import Any, Final

import pytest

import live

pytestmark = [pytest.mark.real, pytest.mark.wide, pytest.mark.timeout(live.length(180, 3600))]

STEPS: Final = 60
FILES: Final = tuple(f"f{number}.txt" for number in range(6))
WORK: Final = (
    *(("commit", "-qam", "m"), ("stash",), ("stash", "-u"), ("stash", "push", FILES[0]), ("stash", "push", FILES[1])),
    *(("stash", "pop"), ("stash", "apply"), ("switch", "main"), ("switch", "side"), ("merge", "--no-edit", "side")),
    *(("rebase", "main"), ("cherry-pick", "side"), ("reset", "--hard"), ("reset", "--hard", "HEAD~1")),
    *(("reset", "--soft", "HEAD~1"), ("checkout", "--", FILES[2]), ("restore", FILES[3])),
    *(("merge", "--abort"), ("rebase", "--abort"), ("cherry-pick", "--abort")),
)


def _command(*words: str) -> list[str]:
    return ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words]


def _environment(editor: str = "true") -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**plain, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_EDITOR": editor}


class Desk:
    """A checkout, in which a person saves, and git is at work."""

    def __init__(self, at: live.Live, seed: int) -> None:
        self.at, self.draw = at, random.Random(seed)
        self.saved: set[str] = set()  # hashes
        self.did: list[str] = []
        for name in FILES:
            at.write(name, "".join(f"{name} {number}\n" for number in range(30)))
        for words in (("init", "-qb", "main"), ("add", "."), ("commit", "-qm", "one"), ("branch", "side")):
            self.git(*words)

    def git(self, *words: str) -> None:
        ran = subprocess.run(_command(*words), cwd=self.at.root, env=_environment(), capture_output=True, timeout=30)
        self.did.append(f"{' '.join(words)}: {ran.returncode}")

    def save(self) -> None:
        path = self.at.root / self.draw.choice(FILES)
        lines = path.read_text().splitlines(keepends=True)
        lines[self.draw.randrange(len(lines))] = f"saved {self.draw.random()}\n"
        data = "".join(lines).encode()
        self.saved.add(live.sha256(data))
        if self.draw.random() < 0.4:
            temporary = path.with_suffix(".tmp~")
            temporary.write_bytes(data)
            temporary.replace(path)
        else:
            path.write_bytes(data)
        self.did.append(f"save {path.name}")

    def commit_by_editor(self) -> None:
        """Save while `git commit -a` waits for its editor."""
        folder = self.at.root / ".git"
        opened, closed = folder / "opened", folder / "closed"
        editor = folder / "editor"
        editor.write_text(f"#!/bin/sh\ntouch {opened}\nwhile [ ! -e {closed} ]; do sleep 0.01; done\necho m > $1\n")
        editor.chmod(0o755)
        environment = _environment(str(editor))
        with live.running(
            *_command("commit", "-a"), cwd=self.at.root, env=environment, stderr=subprocess.DEVNULL
        ) as git:
            live.eventually("the editor", lambda: opened.exists() or git.poll() is not None)
            self.did.append("commit -a, its editor open")
            self.save()
            closed.touch()
            git.wait(30)
        opened.unlink(missing_ok=True)
        closed.unlink()

    def step(self) -> None:
        time.sleep(self.draw.random() * 0.2)
        chance = self.draw.random()
        if chance < 0.3:
            self.save()
        elif chance < 0.37:
            self.commit_by_editor()
        else:
            self.git(*self.draw.choice(WORK))


def mistaken(records: list[dict[str, Any]], saved: set[str]) -> list[tuple[int, str, str]]:
    """Records whose label is not that of who wrote them: only the first of saved bytes is a save."""
    known: set[str] = set()
    found = []
    for record in sorted(records, key=lambda record: record["seq"]):
        is_save = record["sha256"] in saved - known
        known.add(record["sha256"])
        if is_save != bool(record.get("unclaimed")):
            found.append((record["seq"], record["path"], record.get("hint", "")))
    return found


@pytest.mark.parametrize("seed", range(live.length(2, 40)))
def test_what_a_person_saves_between_commands_of_git_is_never_gits(seed: int) -> None:
    at = live.Live(on_disk=True)
    try:
        desk = Desk(at, live.SEED + seed)
        client = at.connect("watcher", "s1")
        live.caught_up(client)
        for _ in range(STEPS):
            desk.step()
        live.caught_up(client)
        written = [one for one in live.log(client, kind="outside_written") if one["evidence"] == "watched"]
        assert len({one["sha256"] for one in written} & desk.saved) > STEPS // 8
        assert mistaken(written, desk.saved) == [], desk.did
    finally:
        at.close()
