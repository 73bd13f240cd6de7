"""What worktrees of one repository take, beside as many journals of clones, which are no family.

    scripts/bench worktrees [--members 5] [--files 20000]

Memory is that of the daemons at rest which nobody can take from them, disk what their state folders take: files with
one name, and told apart those with several, which are packs that the journals share. The reserve is told apart, too.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from processes import memory_mb  # noqa: E402

import quire_client  # noqa: E402
from live import Live, caught_up, eventually, ok  # noqa: E402
from quire_client.journals import measured  # noqa: E402
from quire_daemon.maintenance.gc.collector import WORTH_BYTES  # noqa: E402
from quire_journal.workspaces import place_of, running  # noqa: E402

PATIENCE_S = 300.0
EDITED = "src/p0/m0.py"
PREVIEWS = 39  # one for each line of the file but the first


def git(folder: Path, *words: str) -> None:
    names = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "gc.auto=0")  # a clone meets no packing git
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


def repository(root: Path, files: int) -> None:
    """A repository of small sources, which are different."""
    for n in range(files):
        folder = root / f"src/p{n // 200}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = (f"    value_{n}_{line} = compute({n * line % 977}, 'part {line % 7}')\n" for line in range(40))
        (folder / f"m{n}.py").write_text("".join(lines))
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "one"), ("gc", "-q")):
        git(root, *words)


class Taken(NamedTuple):
    """What the daemons of some checkouts take, in MB."""

    memory: float
    own: list[float]  # disk of each
    shared: float  # disk of all


def packed(state: Path) -> bool:
    """The journal was compacted after its first capture, if it is large enough."""
    database = state / "journal" / "db"
    return not database.with_name("db.compact").exists() and (
        (database / "data.mdb").stat().st_size < WORTH_BYTES or any(database.glob("pack.*"))
    )


def of_all(roots: Sequence[Path], files: int) -> Taken:
    """What the daemons of these checkouts, all running, that hold so many files, take."""
    clients = []
    for root in roots:
        clients.append(quire_client.connect(root, agent="bench", session="s", timeout_s=PATIENCE_S))
        caught_up(clients[-1])
        eventually("all is captured", lambda: int(clients[-1].status()["seq"]) >= files, PATIENCE_S)
        eventually("the journal is compacted", partial(packed, place_of(root).state), PATIENCE_S)
    time.sleep(3.0)  # they look around
    found = [running(place_of(root)) for root in roots]
    memory = sum(memory_mb(one.pid) for one in found if one is not None)
    for client in clients:
        client.shutdown_daemon()
        client.close()
    disk = [measured(place_of(root).state) for root in roots]
    shared = {file: size for one in disk for file, size in one.shared.items()}
    return Taken(memory, [one.own / 1e6 for one in disk], sum(shared.values()) / 1e6)


def previewed(one: Path, other: Path, rounds: int) -> list[float]:
    """The milliseconds from each edit in a checkout until a read in the other one tells of it and of its merge."""
    took = []
    with (
        quire_client.connect(one, agent="bench", session="one", timeout_s=PATIENCE_S) as ours,
        quire_client.connect(other, agent="bench", session="other", timeout_s=PATIENCE_S) as theirs,
    ):
        caught_up(ours)
        caught_up(theirs)
        for n in range(rounds):
            ok(theirs.read_file(EDITED))  # what was to be told of the change before
            sha256 = hashlib.sha256((one / EDITED).read_bytes()).hexdigest()
            ok(ours.edit_file(EDITED, sha256, [{"oldText": f"value_0_{n} =", "newText": f"changed_{n} ="}]))
            begun = time.perf_counter()
            while "also_changed" not in [one["type"] for one in ok(theirs.read_file(EDITED)).get("warnings", ())]:
                if time.perf_counter() - begun > PATIENCE_S:
                    raise TimeoutError("nobody was told")
            took.append((time.perf_counter() - begun) * 1000)
            time.sleep(0.15)  # changes come together
    return took


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--files", type=int, default=20_000)
    said = parser.parse_args()
    live = Live(on_disk=True)
    try:
        main_root = live.root / "main"
        main_root.mkdir()
        repository(main_root, said.files)
        together, apart = [main_root], []
        for n in range(said.members):
            single = live.root / f"single-{n}"
            git(live.root, "clone", "-q", "--local", os.fspath(main_root), os.fspath(single))
            apart.append(single)
            if n:
                together.append(live.root / f"tree-{n}")
                git(main_root, "worktree", "add", "-q", "-b", f"b{n}", os.fspath(together[-1]))
        if len(together) > 1:
            took = previewed(main_root, together[1], PREVIEWS)
            print(f"a change is told in another worktree with its merge after {statistics.median(took):.0f} ms")
        for name, roots in (("worktrees", together), ("single journals", apart)):
            taken, count = of_all(roots, said.files), len(roots)
            disk = sum(taken.own) + taken.shared
            print(
                f"{count} {name} of {said.files:,} files: {taken.memory:.0f} MB of memory, {disk:.0f} MB of disk; "
                f"{taken.memory / count:.1f} MB of memory, {disk / count:.1f} MB of disk each; "
                f"the last takes {taken.own[-1]:.1f} MB of disk of its own, and all share {taken.shared:.1f} MB"
            )
            sys.stdout.flush()
        reserve = place_of(main_root).state.parent / "reserve"
        print(f"reserve, one for all: {reserve.stat().st_blocks * 512 / 1e6 if reserve.exists() else 0:.1f} MB")
    finally:
        live.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
