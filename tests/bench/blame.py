"""How long blame takes: a 2,000-line file with 1,000 versions by 8 writers, each line held against a model.

    scripts/bench blame [--rounds N] [--lines N] [--versions N] [--writers N] [--movers N] [--blocks N] [--in FOLDER]
                        [--json]

The versions are made through the daemon, as agents make them: whole-file writes, each with a line or a few replaced,
inserted or removed somewhere. Of them `--movers` are checkouts (another program writes what stood before), undos and
restores, in turn, and in `--blocks` another program moves ten blocks within the file. No line is typed twice, so the
model is a table: line → the record that wrote it first. The time is a call's, from the client and back, with the
daemon's replay and the reply of all lines in it; and that of the replay alone.
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
from live import SEED, Live, eventually, ok, sha256
from quire_client import Client
from quire_journal.history.history import History
from quire_journal.history.line_blame import blame
from quire_journal.storage.lmdb import LmdbStore

BUDGET_MS = 300
"""For 2,000 lines and 1,000 versions."""

PATH = "big.py"


class Model:
    """The file as a list of lines, no two of which were ever equal, and the record that wrote each."""

    def __init__(self, lines: int, chance: random.Random) -> None:
        self.lines: list[str] = []
        self.wrote: dict[str, int] = {}
        self.past: list[list[str]] = []  # what a checkout may bring back
        self._chance = chance
        self._made = 0
        self.change(0, 0, lines)

    def change(self, at: int, removed: int, added: int) -> None:
        """Replace lines by new ones, which belong to no record yet."""
        fresh = [f"    value_{self._made + n} = compute({self._chance.getrandbits(40):x})\n" for n in range(added)]
        self._made += added
        self.lines[at : at + removed] = fresh

    def change_somewhere(self, size: int) -> None:
        """One to three neighbours are replaced by as many, more or fewer; around `size` lines stay."""
        removed = self._chance.randint(1, 3)
        added = removed + self._chance.choice((-1, 0, 0, 1) if len(self.lines) <= size else (-1, -1, 0, 0))
        self.change(self._chance.randrange(len(self.lines) - removed), removed, added)

    def move_blocks(self) -> None:
        """Ten blocks of 5 to 60 lines go elsewhere."""
        for _ in range(10):
            at, size = self._chance.randrange(len(self.lines)), self._chance.randint(5, 60)
            block = self.lines[at : at + size]
            del self.lines[at : at + size]
            to = self._chance.randrange(len(self.lines) + 1)
            self.lines[to:to] = block

    def written(self, seq: int) -> None:
        """What is new was written by record `seq`."""
        for line in self.lines:
            self.wrote.setdefault(line, seq)
        self.past.append([*self.lines])

    @property
    def text(self) -> str:
        """The whole file."""
        return "".join(self.lines)


def make(at: Live, model: Model, size: int, versions: int, writers: int, movers: int = 0, moved: int = 0) -> None:
    """Write `versions` versions, the writers in turn; `movers` bring back what stood before, `moved` move blocks."""
    clients = [at.connect(f"agent {n}", "bench") for n in range(writers)]
    every = versions // movers if movers else versions + 1
    every_block = versions // moved if moved else versions + 1
    for n in range(versions):
        client = clients[n % writers]
        if n % every_block == every_block // 2:
            model.move_blocks()
            save(at, model, client)
            continue
        if n and n % every == 0:
            move(at, model, client, n // every, f"v{model.wrote[model.past[-9][0]]}" if len(model.past) > 9 else "")
            continue
        if n:
            model.change_somewhere(size)
        gate = {"expectedSha256": sha256(at.read(PATH))} if n else {}
        reply = ok(client.call("write_file", {"path": PATH, "content": model.text, **gate}))
        model.written(int(reply["version"][1:]))


def move(at: Live, model: Model, client: Client, number: int, point: str) -> None:
    """A checkout, an undo or a restore, by number; the model takes what comes of it."""
    kind = ("checkout", "undo", "restore")[number % 3]
    if kind == "checkout":
        model.lines = [*model.past[-min(20, len(model.past))]]
        save(at, model, client)
    elif kind == "undo":
        client.call("undo", {})  # where others built on it, it may be declined
    elif point:
        client.call("restore", {"path": PATH, "at": point})
    model.lines = at.read(PATH).decode().splitlines(keepends=True)
    model.past.append([*model.lines])


def save(at: Live, model: Model, client: Client) -> None:
    """Another program writes the file as the model has it."""
    at.write(PATH, model.text)
    eventually("the write is noted", lambda: ok(client.read_file(PATH))["sha256"] == sha256(at.read(PATH)))


def check(reply: dict[str, Any], model: Model) -> None:
    """Does each line say what the model says?"""
    told = [(line["text"] + "\n", line["seq"]) for line in reply["lines"]]
    expected = [(line, model.wrote[line]) for line in model.lines]
    wrong = [n for n, pair in enumerate(expected, 1) if told[n - 1 : n] != [pair]]
    if wrong or len(told) != len(expected):
        raise SystemExit(f"blame and the model differ in {len(wrong)} lines, first in line {wrong[:1]}")


def measure(act: Callable[[], object], rounds: int, clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Milliseconds of each of `rounds` calls, sorted."""
    took = []
    for _ in range(rounds):
        begun = clock()
        act()
        took.append((clock() - begun) * 1000)
    return sorted(took)


def in_process(journal: Path, rounds: int, clock: Callable[[], float]) -> list[float]:
    """The replay alone, on the daemon's journal after it has ended."""
    store = LmdbStore.open(journal)
    try:

        def once() -> None:
            with store.reading() as reading:
                history = History(reading)
                head = history.file(PATH)
                assert head is not None
                blame(history, PATH, head)

        return measure(once, rounds, clock)
    finally:
        store.close()


def main() -> None:
    """Measure, and print a line for each or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--versions", type=int, default=1000)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--movers", type=int, default=0, help="of the versions so many are checkouts, undos, restores")
    parser.add_argument(
        "--blocks", type=int, default=0, help="in so many versions blocks of lines move within the file"
    )
    parser.add_argument("--in", dest="folder", help="measure on the file system of this folder")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.folder:
        tempfile.tempdir = os.path.abspath(options.folder)
    at = Live(on_disk=True)
    try:
        model = Model(options.lines, random.Random(SEED))
        make(at, model, options.lines, options.versions, options.writers, options.movers, options.blocks)
        client = at.connect("reader", "bench")
        check(ok(client.blame(PATH)), model)
        called = measure(lambda: ok(client.blame(PATH)), options.rounds)
        client.shutdown_daemon()
        alone = in_process(at.state_dir / "journal", options.rounds, time.perf_counter)
        busy = in_process(at.state_dir / "journal", options.rounds, time.process_time)
        assert at.read(PATH) == model.text.encode(), sha256(at.read(PATH))
    finally:
        at.close()
    rows = {"blame, call to reply": called, "the replay alone": alone, "of the processor": busy}
    told = {"are checkouts, undos and restores": options.movers, "move blocks": options.blocks}
    moved = "".join(f", of which {count} {what}" for what, count in told.items() if count)
    what = f"{len(model.lines)} lines, {options.versions} versions{moved}, {options.writers} writers"
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
