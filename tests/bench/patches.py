"""Patches of one writer alone, beside what this writer alone would have made of real commits.

    scripts/bench patches --repo PATH [--commits N] [--seed N] [--live]

The hunks of each commit are shared out to two agents, who write them in any order; of half of the files some of the
first one's are committed already. Told are files that come out right, those of which lines were left out and named, and
those that come out wrong in silence, which must be none. `--live` plays it with a daemon and git (`patches_live`).
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from collections.abc import Iterator, Set
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.patches_live import play
from memory_daemon import MemoryDaemon

HEAD = "1" * 40
MOST_FILES = 8
MOST_BYTES = 200_000


class Shared:
    """A changed file of a commit, whose hunks two agents write."""

    def __init__(self, old: bytes, new: bytes, rng: random.Random) -> None:
        self.a, self.b = old.splitlines(True), new.splitlines(True)
        matched = SequenceMatcher(None, self.a, self.b, autojunk=False).get_opcodes()
        self.hunks = [hunk for hunk in matched if hunk[0] != "equal"]
        self.by_ann = {n for n in range(len(self.hunks)) if rng.random() < 0.5}
        self.order = rng.sample(range(len(self.hunks)), len(self.hunks))
        some = rng.random() < 0.5
        self.committed = {n for n in self.by_ann if some and rng.random() < 0.5}

    def text(self, done: Set[int]) -> bytes:
        """The file with these hunks."""
        out, at = list[bytes](), 0
        for n, (_, i, j, p, q) in enumerate(self.hunks):
            out += self.a[at:i] + (self.b[p:q] if n in done else self.a[i:j])
            at = j
        return b"".join(out + self.a[at:])

    def patched(self) -> tuple[bytes, bool]:
        """(the commit with ann's patch, whether lines were left out)."""
        daemon = MemoryDaemon()
        daemon.outside("f", self.text(set()))
        head = self.text(self.committed)
        daemon.git_answers.trees[HEAD] = {"f": ("100644", head)}
        done = set[int]()
        for n in self.order:
            before = self.text(done)
            done.add(n)
            if self.text(done) != before:
                daemon.write("f", self.text(done), daemon.ann if n in self.by_ann else daemon.ben)
        if not self.by_ann:
            return head, False
        reply = daemon.ask("diff", {"from": f"commit:{HEAD}", "writer": "ann", "alone": "apart", "context": 10**6})
        assert reply["ok"], reply
        made = next((applied(file["patch"]) for file in reply["files"] if file.get("patch")), head)
        return made, any("resting" in file or "inseparable" in file for file in reply["files"])


def applied(patch: str) -> bytes:
    """The new text of a patch that shows the whole file."""
    rows = patch.encode().split(b"\n@@", 1)[1].split(b"\n")[1:-1]
    out = list[bytes]()
    for n, row in enumerate(rows):
        if row[:1] in (b" ", b"+"):
            out.append(row[1:] + (b"" if rows[n + 1 : n + 2] and rows[n + 1].startswith(b"\\") else b"\n"))
    return b"".join(out)


def changed(repository: str, commits: int, rng: random.Random) -> Iterator[tuple[str, bytes, bytes]]:
    """(where, old bytes, new bytes) of the changed text files of some commits."""

    def git(*words: str) -> bytes:
        return subprocess.run(["git", "-C", repository, *words], capture_output=True, check=True).stdout

    found = [row.split() for row in git("rev-list", "--no-merges", "--parents", "HEAD").decode().splitlines()]
    for commit, parent in rng.sample([(row[0], row[1]) for row in found if len(row) == 2], commits):
        names = git("diff", "--name-only", "--diff-filter=M", "--no-renames", parent, commit).decode().splitlines()
        for name in names[:MOST_FILES]:
            try:
                old, new = git("show", f"{parent}:{name}"), git("show", f"{commit}:{name}")
            except subprocess.CalledProcessError:
                continue  # a submodule
            if len(old) <= MOST_BYTES and not any(sign in old + new for sign in (b"\0", b"\r")):
                yield f"{commit[:8]} {name}", old, new


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", required=True, help="a repository")
    parser.add_argument("--commits", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--live", action="store_true", help="in a checkout, with git apply --cached")
    options = parser.parse_args()
    if options.live:
        return min(1, play(options.repo, options.commits, options.seed))
    rng = random.Random(options.seed)
    told: dict[str, Any] = {"files": 0, "right": 0, "left out": 0, "wrong": 0}
    for where, old, new in changed(options.repo, options.commits, rng):
        file = Shared(old, new, rng)
        made, left_out = file.patched()
        how = "right" if made == file.text(file.by_ann) else "left out" if left_out else "wrong"
        told["files"] += 1
        told[how] += 1
        if how == "wrong":
            print(f"wrong: {where}")
    print(f"{options.repo}: " + ", ".join(f"{count} {name}" for name, count in told.items()))
    return 1 if told["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
