"""The main job on real input: an installed package's source tree and this repository, agents and an outside program."""

from __future__ import annotations

import hashlib
import random
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import live
from live import caught_up, eventually, journaled, log, ok, running, sha256, verified

pytestmark = [pytest.mark.real, pytest.mark.timeout(live.length(60, 900))]

ROOT = Path(__file__).resolve().parents[2]

SCRIBBLER = """
import random, sys, time
rng, until, names = random.Random(7), time.monotonic() + float(sys.argv[1]), sys.argv[2:]
n = 0
while time.monotonic() < until:
    with open(rng.choice(names), "a") as file:
        file.write(f"# an outside program was here: {n}\\n")
    n += 1
    time.sleep(float(sys.argv[1]) / 33)
"""


def installed_package() -> Path:
    """A source tree that is sure to be there, of some dozens or some hundreds of files."""
    return Path(sysconfig.get_path("purelib"), live.length("_pytest", "pip"))


def this_repository() -> Path:
    """What we are working on; short, the part of it that is the journal."""
    return live.length(ROOT / "journal", ROOT)


def copy(source: Path, target: Path) -> None:
    """The tree without what is not its source; with a git of its own, if git is there."""
    shutil.copytree(
        source,
        target,
        dirs_exist_ok=True,
        symlinks=True,
        ignore=shutil.ignore_patterns(".venv", "__pycache__", ".git", ".*_cache", ".hypothesis", ".quire"),
    )
    if shutil.which("git"):
        identity = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
        for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "as it was"]):
            subprocess.run(["git", *command], cwd=target, check=True)


def tree(root: Path) -> dict[str, str]:
    """Every file with the hash of its content; `.quire` and git's own folder are nobody's source."""
    return {
        path.relative_to(root).as_posix(): sha256(path.read_bytes())
        for path in root.rglob("*")
        if path.is_file() and not {".git", ".quire"} & set(path.relative_to(root).parts)
    }


def git_state(root: Path) -> str:
    """A hash of everything in `.git`."""
    digest = hashlib.sha256()
    for path in sorted((root / ".git").rglob("*")):
        digest.update(str(path).encode() + (path.read_bytes() if path.is_file() else b""))
    return digest.hexdigest()


@pytest.mark.parametrize("source", [this_repository, *live.length([], [installed_package])])
def test_agents_and_an_outside_program_on_a_real_tree_and_all_of_it_undone(daemon, source: Any) -> None:
    at = daemon()
    copy(source(), at.root)
    before = tree(at.root)
    git_before = git_state(at.root)
    boss = at.connect("boss")
    eventually("the first capture is through", lambda: log(boss, kind="workspace_scanned"), 60)

    # Every file is captured as it is.
    chance = random.Random(live.SEED)
    for path in chance.sample(sorted(before), 40):
        assert before[path] in journaled(boss, path), path
    ok(boss.call("checkpoint", {"name": "as-it-was"}))

    # Two agents edit by anchors while a program appends to other files.
    sources = [p for p in sorted(before) if p.endswith(".py") and (at.root / p).stat().st_size > 400]
    mine, theirs = sources[::2][: live.length(12, 150)], sources[1::2][:6]
    versions = {}
    with running(
        sys.executable, "-IS", "-c", SCRIBBLER, live.length("1", "2"), *[at.root / p for p in theirs]
    ) as scribbler:
        agents = [at.connect(f"agent{n}", f"agent{n}") for n in range(2)]
        for n, path in enumerate(mine):
            versions[path] = edit_somewhere(agents[n % 2], path, chance)
        assert scribbler.wait(20) == 0
    caught_up(boss)

    # The history has both: what each agent wrote, by whom, and what the program left.
    for n, path in enumerate(mine):
        record = next(r for r in log(boss, path=path) if r["version"] == versions[path])
        assert record["writer"]["agent"] == f"agent{n % 2}"
        assert record["sha256"] == sha256(at.read(path))
    for path in theirs:
        outside = [r for r in log(boss, path=path) if r["writer"]["type"] == "outside" and r["sha256"]]
        assert outside[-1]["sha256"] == sha256(at.read(path))
        assert len(outside) > 1

    # Agents' work is undone; the program's is kept.
    kept = {path: at.read(path) for path in theirs}
    for n in range(2):
        for _ in mine[n::2]:
            ok(boss.call("undo", {"writer": f"agent{n}", "last": 1}))
    for path in mine:
        assert sha256(at.read(path)) == before[path], path
    assert {path: at.read(path) for path in theirs} == kept

    # And a rollback to the checkpoint brings back the rest, as new records.
    ok(boss.call("restore", {"at": "as-it-was", "paths": theirs}))
    assert tree(at.root) == before
    assert git_state(at.root) == git_before, "git's own files were touched"
    verified(boss)


def edit_somewhere(client: Any, path: str, chance: random.Random) -> str:
    """Insert a comment after a line that its hash tells from all others; the version that this made."""
    shown = ok(client.call("read_file", {"path": path, "hashes": True}))
    unique = [line.partition(" ")[0] for line in shown["lines"] if " [high]|" in line]
    counts: dict[str, int] = {}
    for anchor in unique:
        counts[anchor.partition("#")[2]] = counts.get(anchor.partition("#")[2], 0) + 1
    target = chance.choice([a for a in unique if counts[a.partition("#")[2]] == 1])
    operation = {"op": "insert_after", "hash": target, "content": f"# noted by an agent ({chance.random()})"}
    reply = ok(client.call("edit", {"path": path, "operations": [operation]}))
    return str(reply["version"])
