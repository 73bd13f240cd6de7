"""Agents and git play in one checkout: each line says in its text who typed it, and blame says the same.

The git is a real one. Whether the daemon knows that git was at work is another thing: in every second game it does not.
"""

from __future__ import annotations

import os
import random
import subprocess

import pytest

import live
from memory_daemon import MemoryDaemon, lines

STEPS = 25
FILES = ("f", "g")
AGENTS = ("ann", "ben")


class Game:
    """One game."""

    def __init__(self, seed: int, heard: bool) -> None:
        self.random, self.heard = random.Random(seed), heard
        self.daemon, self.typed, self.said, self.stashed = MemoryDaemon(), 0, list[str](), 0
        self.branches = ["main"]
        self.git("init", "-q", "-b", "main")
        for path in FILES:
            self.daemon.write(path, lines(*[self.line("ann") for _ in range(12)]), self.daemon.ann)
        self.commit()

    def line(self, by: str) -> str:
        self.typed += 1
        return f"{by} typed this as line {self.typed}"

    def git(self, *words: str) -> bool:
        """A git command; does it succeed? What it did is noted."""
        self.said.append(" ".join(words))
        plain = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_EDITOR": "true"}
        who = ["-c", "user.name=max", "-c", "user.email=max@example.org", "-c", "rerere.enabled=false"]
        root = self.daemon.files.root
        ran = subprocess.run(["git", *who, *words], cwd=root, env={**plain, **nobody}, capture_output=True, timeout=30)
        if self.heard:
            self.daemon.app.observer.hint = lambda path, at_ns, exact: f"git {' '.join(words)} (pid 7)"
        self.daemon.watch()
        self.daemon.app.observer.hint = lambda path, at_ns, exact: ""
        return ran.returncode == 0

    def commit(self) -> None:
        self.git("add", *FILES)
        self.git("commit", "-q", "-m", "some")

    # ── what happens ──

    def edit(self) -> None:
        """An agent replaces, inserts or removes some lines of a file."""
        path, by = self.random.choice(FILES), self.random.choice(AGENTS)
        now = (self.daemon.read(path) or "").splitlines()
        at = self.random.randrange(len(now) + 1)
        cut = self.random.choice((0, 0, 1, 2))
        fresh = [self.line(by) for _ in range(self.random.choice((1, 1, 2)))]
        self.said.append(f"{by} edits {path}")
        self.daemon.write(path, lines(*now[:at], *fresh, *now[at + cut :]), self.daemon.who(by))

    def save(self) -> None:
        """Somebody saves in an editor."""
        path = self.random.choice(FILES)
        now = (self.daemon.read(path) or "").splitlines()
        at = self.random.randrange(len(now) + 1)
        self.daemon.save(path, lines(*now[:at], self.line("outside"), *now[at:]))
        self.daemon.watch()

    def branch(self) -> None:
        if len(self.branches) < 4 and self.git("checkout", "-q", "-b", name := f"side{len(self.branches)}"):
            self.branches.append(name)

    def checkout(self) -> None:
        self.commit()
        self.git("checkout", "-q", self.random.choice(self.branches))

    def stash(self) -> None:
        if self.git("stash", "-q"):
            self.edit_and_commit()
            if not self.git("stash", "pop", "-q"):
                self.git("checkout", "-q", "-f", "HEAD")
                self.git("stash", "drop", "-q")

    def edit_and_commit(self) -> None:
        if self.random.random() < 0.5:
            self.edit()
            self.commit()

    def merge(self) -> None:
        self.commit()
        if not self.git("merge", "-q", "--no-edit", self.random.choice(self.branches)):
            self.git("merge", "--abort")

    def rebase(self) -> None:
        self.commit()
        if not self.git("rebase", "-q", self.random.choice(self.branches)):
            self.git("rebase", "--abort")

    def pick(self) -> None:
        self.commit()
        if not self.git("cherry-pick", self.random.choice(self.branches)):
            self.git("cherry-pick", "--abort")

    def revert(self) -> None:
        self.commit()
        if not self.git("revert", "--no-edit", "HEAD"):
            self.git("revert", "--abort")

    def reset(self) -> None:
        self.git("reset", "-q", "--hard", self.random.choice(("HEAD", "HEAD~1", "ORIG_HEAD")))

    def play(self) -> None:
        """Steps, after each of which each line has its author."""
        acts = (self.edit, self.edit, self.edit, self.save, self.branch, self.checkout, self.checkout, self.stash)
        acts += (self.merge, self.rebase, self.pick, self.revert, self.reset)
        for _ in range(STEPS):
            self.random.choice(acts)()
            for path in FILES:
                self.check(path)

    def check(self, path: str) -> None:
        if not self.daemon.read(path):
            return
        for line in self.daemon.ask("blame", {"path": path})["lines"]:
            author = line["writer"]["agent"] or "outside"
            assert line["text"].startswith(f"{author} typed"), (line, self.said)


@pytest.mark.parametrize("heard", [False, True], ids=["unheard", "heard"])
@pytest.mark.parametrize("number", range(3))
def test_whatever_git_does_each_line_stays_its_authors(number: int, heard: bool) -> None:
    Game(live.SEED + number, heard).play()
