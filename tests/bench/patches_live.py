"""Commits replayed by two agents in a real checkout, and the patches of one of them applied by git.

`patches.py --live` plays this. Every change of a commit belongs to one of two agents, who write in any order; modes and
files without lines are changed as another program does. In half of the commits the first agent's lines are committed
half-way, as `quire patch --writer ann | git apply --cached` stages them. At the end the same has to make the tree that
this agent alone would have made; files that stderr names as left out may differ.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import quire_client
from live import Live, caught_up, eventually, ok, quire

MOST_FILES = 12
MOST_BYTES = 200_000
AGENTS = ("ann", "ben")


class FileChange(NamedTuple):
    """A file in a commit and in its parent; no bytes: there is none. Only regular files."""

    path: str
    old: bytes | None
    new: bytes | None
    modes: tuple[str, str]


class ChangePart(NamedTuple):
    """What one agent does to a file: one hunk, or all of it."""

    file: int
    hunk: int  # -1: the whole file
    writer: str


class Replayed:
    """A commit whose parts are shared out."""

    def __init__(self, changes: Sequence[FileChange], rng: random.Random) -> None:
        self.changes = changes
        self.hunks = [[*_hunks(one)] if _is_divided(one) else [] for one in changes]
        parts = [
            ChangePart(n, hunk, rng.choice(AGENTS))
            for n, found in enumerate(self.hunks)
            for hunk in (range(len(found)) if found else (-1,))
        ]
        rng.shuffle(parts)
        self.parts = parts

    def made(self, number: int, done: Sequence[ChangePart]) -> bytes | None:
        """The file with these parts."""
        one, mine = self.changes[number], {part.hunk for part in done if part.file == number}
        if not self.hunks[number]:
            return one.new if mine else one.old
        assert one.old is not None
        assert one.new is not None
        a, b = one.old.splitlines(True), one.new.splitlines(True)
        out, at = list[bytes](), 0
        for n, (_, i, j, p, q) in enumerate(self.hunks[number]):
            out += a[at:i] + (b[p:q] if n in mine else a[i:j])
            at = j
        return b"".join(out + a[at:])


def _is_divided(one: FileChange) -> bool:
    return one.old is not None and one.new is not None and b"\0" not in one.old + one.new and one.old != one.new


def _hunks(one: FileChange) -> Iterator[tuple[str, int, int, int, int]]:
    a, b = (one.old or b"").splitlines(True), (one.new or b"").splitlines(True)
    yield from (op for op in SequenceMatcher(None, a, b, autojunk=False).get_opcodes() if op[0] != "equal")


class Checkout:
    """A clone with a daemon, in which commits are replayed."""

    def __init__(self, repository: str) -> None:
        self.at = Live()
        self.at.state_dir = Path()
        subprocess.run(["git", "clone", "-qns", repository, os.fspath(self.at.root)], check=True)
        self.git("config", "user.name", "Ann")
        self.git("config", "user.email", "ann@example.org")
        self.git("config", "core.autocrlf", "false")
        self.told = {"commits": 0, "right": 0, "right but for files named": 0, "wrong": 0, "named": 0}
        self.wrong: list[str] = []

    def git(self, *words: str, given: bytes | None = None, check: bool = True, index: str = "") -> bytes:
        environ = {**os.environ, **({"GIT_INDEX_FILE": index} if index else {})}
        ran = subprocess.run(["git", *words], cwd=self.at.root, input=given, capture_output=True, env=environ)
        if check and ran.returncode:
            raise RuntimeError(f"git {' '.join(words)}: {os.fsdecode(ran.stderr)}")
        return ran.stdout

    def changes(self, parent: str, commit: str) -> list[FileChange]:
        rows = self.git("diff-tree", "-r", "-z", "--no-renames", parent, commit).split(b"\0")
        found = list[FileChange]()
        for row, name in zip(rows[::2], rows[1::2], strict=False):
            old_mode, new_mode, old, new, _ = row[1:].decode().split()
            if not {old_mode, new_mode} <= {"000000", "100644", "100755"}:
                continue
            was, now = (None if not blob.strip("0") else self.git("cat-file", "blob", blob) for blob in (old, new))
            if len(was or b"") <= MOST_BYTES and len(now or b"") <= MOST_BYTES and len(found) < MOST_FILES:
                found.append(FileChange(os.fsdecode(name), was, now, (old_mode, new_mode)))
        return found

    def replay(self, parent: str, commit: str, rng: random.Random) -> None:
        self.git("checkout", "-qf", parent)
        self.git("clean", "-qfdx", "-e", ".quire")
        with quire_client.connect(self.at.root, agent="tester") as client:
            eventually("the first capture", lambda: client.status()["capture"]["finished"], 60)
            caught_up(client)
        replayed = Replayed(self.changes(parent, commit), rng)
        if not replayed.parts:
            return
        self.told["commits"] += 1
        half = len(replayed.parts) // 2 if rng.random() < 0.5 else 0
        done = list[ChangePart]()
        for part in replayed.parts:
            if half and len(done) == half:
                self.check(replayed, done, f"{commit[:9]} half-way")
                self.git("commit", "-qm", "ann's part", "--allow-empty", "--no-verify")
            done.append(part)
            self.write(replayed, done)
        self.check(replayed, done, commit[:9])
        self.git("reset", "-q")

    def write(self, replayed: Replayed, done: Sequence[ChangePart]) -> None:
        """The last part is written by its agent, or as another program writes where a tool cannot."""
        part = done[-1]
        one, data = replayed.changes[part.file], replayed.made(part.file, done)
        with quire_client.connect(self.at.root, agent=part.writer, session="s1") as client:
            known = client.call("read_file", {"path": one.path})
            base = {"base": known["version"]} if known.get("ok") else {}
            if data is None:
                ok(client.call("delete_file", {"path": one.path, **base}))
            else:
                told = client.call("write_file", {"path": one.path, "content": _text(data), **base})
                if not told.get("ok"):
                    raise RuntimeError(f"{one.path}: {told}")

    def check(self, replayed: Replayed, done: Sequence[ChangePart], where: str) -> None:
        ran = quire("patch", "--writer", "ann", cwd=self.at.root)
        said = ran.stderr.decode()
        expected = self.expected(replayed, done)
        if ran.stdout:
            self.git("apply", "--cached", "--whitespace=nowarn", given=ran.stdout)
        differing = self.git("diff-index", "--cached", "--name-only", "-z", "--no-renames", expected)
        named = {name for line in said.splitlines() if (name := _named(line, replayed))}
        wrong = sorted({os.fsdecode(name) for name in differing.split(b"\0") if name} - named)
        self.told["named"] += len(named)
        if wrong:
            self.told["wrong"] += 1
            self.wrong.append(f"{where} {wrong}: {said}")
        elif named:
            self.told["right but for files named"] += 1
        else:
            self.told["right"] += 1

    def expected(self, replayed: Replayed, done: Sequence[ChangePart]) -> str:
        """The tree that ann alone would have made."""
        index = os.fspath(self.at.top / "index")
        self.git("read-tree", "HEAD", index=index)
        mine = [part for part in done if part.writer == "ann"]
        for number in sorted({part.file for part in mine}):
            one, data = replayed.changes[number], replayed.made(number, mine)
            if data is None:
                self.git("update-index", "--force-remove", one.path, index=index)
                continue
            blob = self.git("hash-object", "-w", "--stdin", given=data).decode().strip()
            mode = one.modes[0] if one.old is not None else "100644"
            self.git("update-index", "--add", "--cacheinfo", f"{mode},{blob},{one.path}", index=index)
        return self.git("write-tree", index=index).decode().strip()


def _named(line: str, replayed: Replayed) -> str:
    paths = (one.path for one in replayed.changes)
    return next((path for path in paths if re.match(rf"(quire: )?{re.escape(path)}:", line)), "")


def _text(data: bytes) -> str:
    return data.decode()


def _can_be_written(changes: Sequence[FileChange]) -> bool:
    """True if tools can write all of it: text, in UTF-8."""
    for data in (data for one in changes for data in (one.old, one.new) if data is not None):
        try:
            data.decode()
        except UnicodeDecodeError:
            return False
        if b"\0" in data:
            return False
    return True


def play(repository: str, commits: int, seed: int, say: Callable[[str], None] = print) -> int:
    """Replay some commits; the number of those that came out wrong."""
    rng = random.Random(seed)
    checkout = Checkout(repository)
    try:
        rows = checkout.git("rev-list", "--no-merges", "--parents", "origin/HEAD").decode().splitlines()
        pairs = [(row.split()[1], row.split()[0]) for row in rows if len(row.split()) == 2]
        for parent, commit in rng.sample(pairs, len(pairs)):
            if checkout.told["commits"] >= commits:
                break
            if _can_be_written(checkout.changes(parent, commit)):
                checkout.replay(parent, commit, rng)
    finally:
        for line in checkout.wrong:
            say(f"wrong: {line}")
        say(f"{repository}: " + ", ".join(f"{count} {name}" for name, count in checkout.told.items()))
        checkout.at.close()
    return checkout.told["wrong"]
