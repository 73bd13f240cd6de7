"""What `quire diff` prints `git apply` takes: of two trees it makes the one of the other.

The trees are random: renames, modes, links, binaries, files without a final newline, CRLF, bytes that are not UTF-8,
odd names, files in the place of folders. A few dozen pairs by default, 500 in the wide lane.
"""

from __future__ import annotations

import os
import random
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from live import SEED
from memory_daemon import MemoryDaemon
from quire_client.cli.render import Palette
from quire_client.commands.history.diff_text import patches, whole
from quire_daemon.config.settings import Settings
from quire_daemon.tools.table import TOOLS
from quire_journal.model.ids import journal_path

PAIRS = 36
PARTS = 10
"""Of the wide lane, 500 pairs together."""

NAMES = [
    *("a", "b.py", "src/c.py", "src/deep/d.md", "with blank.txt", " leading", "trailing ", "tab\there", 'quo"te'),
    *("back\\slash", "über.txt", "line\nbreak", "caf\udce9", "-dash", "--- a", "a b/c d", "d/e/f", "d/e", "%25", "%ff"),
    *("é/ü", "$x", "'q'", "diff --git a/x b/x"),
]
LINES = [
    *(b"one", b"two", b"def f():", b"    return 1", b"class C:", b"", b"+plus", b"-minus", b"--- a/x", b"+++ b/x"),
    *(b"@@ -1 +1 @@", b"\\ No newline at end of file", b"tab\t", b"trailing ", "ünï".encode(), b"caf\xe9", b"lone\rcr"),
    *(b"\x0cfeed", b"\x1b[31m", b"diff --git a/a b/a", b"rename from x", b"GIT binary patch", b"\xef\xbb\xbfbom"),
]

Tree = dict[str, tuple[int, bytes]]
"""Path → (mode, bytes); the mode of a link is 0o120000, and its bytes are where it leads."""


def content(chance: random.Random) -> bytes:
    kind = chance.random()
    if kind < 0.05:
        return b""
    if kind < 0.15:
        return chance.randbytes(chance.randint(1, 400)) + b"\0"
    ending = b"\r\n" if chance.random() < 0.25 else b"\n"
    lines = [chance.choice(LINES) for _ in range(chance.randint(1, 40))]
    return ending.join(lines) + (ending if chance.random() < 0.8 else b"")


def changed(data: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.1:
        return content(chance)
    if chance.random() < 0.1:
        return data.replace(b"\r\n", b"\n") if b"\r\n" in data else data.replace(b"\n", b"\r\n")
    lines = data.split(b"\n")
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(lines) + 1)
        lines[at : at + chance.randint(0, 2)] = [chance.choice(LINES)] * chance.randint(0, 2)
    return b"\n".join(lines)


def fits(path: str, tree: Tree) -> bool:
    """Can it be in the tree, beside what is there?"""
    folders = {other[: i + 1] for other in tree for i, sign in enumerate(other[1:]) if sign == "/"}
    above = {path[: i + 1] for i, sign in enumerate(path[1:]) if sign == "/"}
    return path not in tree and path not in folders and not above & {*tree}


def entry(chance: random.Random) -> tuple[int, bytes]:
    if chance.random() < 0.12:
        return 0o120000, chance.choice([b"a", b"../x", b"no/where", b"caf\xe9"])
    return chance.choice([0o644, 0o644, 0o755]), content(chance)


def play(chance: random.Random, daemon: MemoryDaemon, tree: Tree) -> Tree:
    """Things happen to the files. The tree that comes of it."""
    tree = dict(tree)
    for _ in range(chance.randint(1, 8)):
        what, name = chance.random(), chance.choice(NAMES)
        if what < 0.35 or not tree:
            if fits(name, tree):
                put(daemon, tree, name, *entry(chance))
            continue
        path = chance.choice(sorted(tree))
        mode, data = tree[path]
        if what < 0.5 and mode != 0o120000:
            put(daemon, tree, path, mode, changed(data, chance))
        elif what < 0.6:
            put(daemon, tree, path, *entry(chance))
        elif what < 0.7 and mode != 0o120000:
            put(daemon, tree, path, mode ^ 0o111, data)
        elif what < 0.8:
            remove(daemon, tree, path)
        elif fits(name, {other: one for other, one in tree.items() if other != path}):
            move(daemon, tree, path, name, by_tool=mode != 0o120000 and chance.random() < 0.5)
    return tree


def put(daemon: MemoryDaemon, tree: Tree, path: str, mode: int, data: bytes) -> None:
    if path in tree:
        del daemon.files[journal_path(path)]
    tree[path] = mode, data
    if mode == 0o120000:
        daemon.files.link(journal_path(path), os.fsdecode(data))
    else:
        daemon.files[journal_path(path)] = data
        os.chmod(daemon.files.at(journal_path(path)), mode)
    daemon.look_at(journal_path(path))


def remove(daemon: MemoryDaemon, tree: Tree, path: str) -> None:
    del tree[path], daemon.files[journal_path(path)]
    daemon.look_at(journal_path(path))


def move(daemon: MemoryDaemon, tree: Tree, path: str, to: str, by_tool: bool) -> None:
    mode, data = tree[path]
    inside = path.startswith(to + "/") or to.startswith(path + "/")
    if by_tool and not inside:
        tree[to] = tree.pop(path)
        daemon.move(journal_path(path), journal_path(to), daemon.ann)
        return
    remove(daemon, tree, path)
    put(daemon, tree, to, mode, data)


def laid_out(tree: Tree, folder: Path) -> None:
    for path, (mode, data) in tree.items():
        at = os.path.join(folder, path)
        os.makedirs(os.path.dirname(at), exist_ok=True)
        if mode == 0o120000:
            os.symlink(os.fsdecode(data), at)
        else:
            Path(at).write_bytes(data)
            os.chmod(at, mode)


def found(folder: Path) -> Tree:
    tree: Tree = {}
    for above, folders, files in os.walk(folder):
        for name in (*files, *(name for name in folders if os.path.islink(os.path.join(above, name)))):
            at = os.path.join(above, name)
            path = os.path.relpath(at, folder)
            if os.path.islink(at):
                tree[path] = 0o120000, os.fsencode(os.readlink(at))
            else:
                tree[path] = 0o755 if os.stat(at).st_mode & stat.S_IXUSR else 0o644, Path(at).read_bytes()
    return tree


class Line:
    """A client whose calls a daemon in memory answers."""

    def __init__(self, daemon: MemoryDaemon) -> None:
        self.daemon = daemon

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self.daemon.call(TOOLS[tool], self.daemon.ann, **arguments)


def printed(daemon: MemoryDaemon, asked: dict[str, Any]) -> bytes:
    """What the command prints into a file."""
    line: Any = Line(daemon)
    reply = whole(line, line.call("diff", asked), asked)
    text = "".join(f"{row}\n" for row in patches(reply, Palette(False, {})))
    return text.encode("utf-8", "surrogateescape")


def applied(patch: bytes, folder: Path) -> None:
    alone = {**os.environ, "GIT_CEILING_DIRECTORIES": os.fspath(folder.parent), "GIT_CONFIG_GLOBAL": os.devnull}
    if patch.strip():
        words = ["git", "-c", "core.quotePath=true", "apply", "--whitespace=nowarn", "-"]
        done = subprocess.run(words, cwd=folder, env=alone, input=patch, capture_output=True, check=False)
        assert done.returncode == 0, f"{done.stderr.decode()}\n{patch.decode('utf-8', 'replace')}"


def pair(seed: int, folder: Path) -> None:
    chance = random.Random(seed)
    room = chance.choice([64, 2_000, 256 * 1024])
    daemon = MemoryDaemon(settings=replace(Settings(), limits=replace(Settings().limits, reply_bytes=room)))
    before: Tree = {}
    for _ in range(chance.randint(1, 4)):
        before = play(chance, daemon, before)
    start = f"seq:{daemon.journal.head}"
    after = before
    for _ in range(chance.randint(1, 2)):
        after = play(chance, daemon, after)
    there, back = folder / f"{seed}", folder / f"{seed}.back"
    for made, tree in ((there, before), (back, after)):
        made.mkdir()
        laid_out(tree, made)
    context = {"context": chance.choice([0, 1, 3, 10])}
    if context["context"]:  # of a patch without context git wants to be told that it is one
        applied(printed(daemon, {"from": start, **context}), there)
        assert found(there) == after
    applied(printed(daemon, {"from": f"seq:{daemon.journal.head}", "to": start}), back)
    assert found(back) == before


@pytest.mark.parametrize("part", range(3))
def test_a_patch_of_random_trees_makes_the_one_of_the_other(part: int, tmp_path: Path) -> None:
    for seed in range(PAIRS // 3):
        pair(SEED + part * PAIRS + seed, tmp_path)


@pytest.mark.wide
@pytest.mark.parametrize("part", range(PARTS))
def test_a_patch_of_500_random_trees_makes_the_one_of_the_other(part: int, tmp_path: Path) -> None:
    for seed in range(500 // PARTS):
        pair(10_000 + part * 1_000 + seed, tmp_path)
