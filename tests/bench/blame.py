"""How long blame takes: a 2,000-line file with 1,000 versions by 8 writers, each line held against a model.

    scripts/bench blame [--rounds N] [--lines N] [--versions N] [--writers N] [--in FOLDER] [--json]

The versions are made through the daemon, as agents make them: whole-file writes, each with a line or a few replaced,
inserted or removed somewhere. Meanwhile the model does the same to a list of (line, record). The time is a call's, from
the client and back, with the daemon's replay and the reply of all lines in it; and that of the replay alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from live import SEED, Live, ok, sha256
from quire_journal.history.history import History
from quire_journal.history.line_blame import blame
from quire_journal.storage.lmdb import LmdbStore

BUDGET_MS = 300
"""For 2,000 lines and 1,000 versions."""

PATH = "big.py"


class Model:
    """The file as a list of (line, the record that wrote it). No two lines are ever equal."""

    def __init__(self, lines: int, chance: random.Random) -> None:
        self.lines: list[tuple[str, int]] = []
        self._chance = chance
        self._made = 0
        self.change(0, 0, lines)

    def change(self, at: int, removed: int, added: int) -> None:
        """Replace lines by new ones, which belong to no record yet."""
        fresh = [(f"    value_{self._made + n} = compute({self._chance.getrandbits(40):x})\n", 0) for n in range(added)]
        self._made += added
        self.lines[at : at + removed] = fresh

    def change_somewhere(self, size: int) -> None:
        """One to three neighbours are replaced by as many, more or fewer; around `size` lines stay."""
        removed = self._chance.randint(1, 3)
        added = removed + self._chance.choice((-1, 0, 0, 1) if len(self.lines) <= size else (-1, -1, 0, 0))
        self.change(self._chance.randrange(len(self.lines) - removed), removed, added)

    def written(self, seq: int) -> None:
        """What is new was written by record `seq`."""
        self.lines = [(line, origin or seq) for line, origin in self.lines]

    @property
    def text(self) -> str:
        """The whole file."""
        return "".join(line for line, _ in self.lines)


def make(at: Live, model: Model, size: int, versions: int, writers: int) -> None:
    """Write `versions` versions, the writers in turn."""
    clients = [at.connect(f"agent {n}", "bench") for n in range(writers)]
    digest = ""
    for n in range(versions):
        if n:
            model.change_somewhere(size)
        gate = {"expectedSha256": digest} if digest else {}
        reply = ok(clients[n % writers].call("write_file", {"path": PATH, "content": model.text, **gate}))
        digest = reply["sha256"]
        model.written(int(reply["version"][1:]))


def check(reply: dict[str, Any], model: Model) -> None:
    """Does each line say what the model says?"""
    told = [(line["text"] + "\n", line["seq"]) for line in reply["lines"]]
    wrong = [n for n, pair in enumerate(model.lines, 1) if told[n - 1 : n] != [pair]]
    if wrong or len(told) != len(model.lines):
        raise SystemExit(f"blame and the model differ in {len(wrong)} lines, first in line {wrong[:1]}")


def measure(act: Callable[[], object], rounds: int) -> list[float]:
    """Milliseconds of each of `rounds` calls, sorted."""
    took = []
    for _ in range(rounds):
        begun = time.perf_counter()
        act()
        took.append((time.perf_counter() - begun) * 1000)
    return sorted(took)


def in_process(journal: Path, rounds: int) -> list[float]:
    """The replay alone, on the daemon's journal after it has ended."""
    store = LmdbStore.open(journal)
    try:

        def once() -> None:
            with store.reading() as reading:
                history = History(reading)
                head = history.file(PATH)
                assert head is not None
                blame(history, PATH, head)

        return measure(once, rounds)
    finally:
        store.close()


def main() -> None:
    """Measure, and print a line for each or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--versions", type=int, default=1000)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--in", dest="folder", help="measure on the file system of this folder")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.folder:
        tempfile.tempdir = os.path.abspath(options.folder)
    at = Live(on_disk=True)
    try:
        model = Model(options.lines, random.Random(SEED))
        make(at, model, options.lines, options.versions, options.writers)
        client = at.connect("reader", "bench")
        check(ok(client.blame(PATH)), model)
        called = measure(lambda: ok(client.blame(PATH)), options.rounds)
        client.shutdown_daemon()
        alone = in_process(at.state_dir / "journal", options.rounds)
        assert at.read(PATH) == model.text.encode(), sha256(at.read(PATH))
    finally:
        at.close()
    rows = {"blame, call to reply": called, "the replay alone": alone}
    what = f"{len(model.lines)} lines, {options.versions} versions, {options.writers} writers"
    figures = {
        name: {"median_ms": round(statistics.median(took), 1), "worst_ms": round(took[-1], 1)}
        for name, took in rows.items()
    }
    if options.json:
        print(json.dumps({"what": what, "rounds": options.rounds, "figures": figures, "budget_ms": BUDGET_MS}))
        return
    print(f"{what}; every line equals the model's ({options.rounds} rounds)")
    print(f"{'':24}{'median':>12}{'worst':>12}{'budget':>12}")
    for name, figure in figures.items():
        print(f"{name:24}{figure['median_ms']:>9.1f} ms{figure['worst_ms']:>9.1f} ms{BUDGET_MS:>9} ms")


if __name__ == "__main__":
    main()
