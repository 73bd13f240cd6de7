"""What a collection costs those who edit meanwhile: four clients, alone, beside `gc --compact`, alone again.

    scripts/bench gc [--events N] [--files N] [--journal FOLDER] [--seconds N] [--in FOLDER] [--json]

The journal is that of `scripts/bench log` (N events; 100,000 if not said, the promise is about 1,000,000), or a copy of
one that it kept (`scripts/bench log --keep FOLDER` leaves it in `FOLDER/log-N`). Each client is a process of its own
that rewrites a file of its own, reply by reply. Promised: an edit's p99 stays under 50 ms while the journal is
collected and compacted. The machine matters: the first phase says what the same clients get without a gc, and the last
one what they get after it, when they have kept the disk busy for as long (a disk that lags by then is not the
collection's doing).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from log import Maker, path_of

import quire_client
from live import Live, eventually, ok
from quire_daemon.integrity import verdict
from quire_journal.history.history import History
from quire_journal.journal import Journal
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.workspaces.identity import settle
from quire_journal.workspaces.layout import make_private_folder, place_of
from quire_journal.workspaces.lock import hold_lock

CLIENTS = 4
STAGES = {"gc": "mark", "gc_marked": "drop", "gc_compacts": "compact", "gc_finished": "after"}
PROMISED_MS = 50.0
SETTINGS = '[retention]\nkeep_last = 3\nkeep_within = ""\ndaily = 0\nthin_outside = ""\ngrace = "1s"\n'


class Begun(NamedTuple):
    """The journal that is collected, as it is at the beginning."""

    events: int
    size_bytes: int


def make(at: Live, events: int, files: int) -> Begun:
    """A journal of so many events, and the files as it has them."""
    place = place_of(at.root, at.state_dir)
    make_private_folder(place.state)
    with hold_lock(place.lock):
        identity = settle(place)
        store = LmdbStore.open(place.journal, synced=False)
        maker = Maker(Journal.open(store, 1, identity.id), files)
        maker.capture()
        maker.turns(events)
        store.sync()
        begun = Begun(maker.journal.head, store.size_bytes())
        store.close()
    for number in range(files):
        at.write(path_of(number), b"\n".join(maker.texts[number]) + b"\n")
        (at.root / path_of(number)).chmod(0o644)
    return begun


def take(at: Live, kept: Path) -> Begun:
    """A copy of the journal in the folder `kept`, and the files as it has them."""
    place = place_of(at.root, at.state_dir)
    make_private_folder(place.state)
    with hold_lock(place.lock):
        identity = settle(place)
        shutil.copytree(kept / "db", place.journal / "db")
        store = LmdbStore.open(place.journal, synced=False)
        with store.writing() as w:
            w.put("meta", b"workspace", identity.id.encode())
        journal = Journal.open(store, 1)
        with store.reading() as r:
            history = History(r)
            for path, version in history.paths():
                if version.blob:
                    at.write(path, history.bytes_of(version.blob))
                    (at.root / path).chmod(version.mode)
        begun = Begun(journal.head, store.size_bytes())
        journal.close()
        verdict.leave_mark(place.journal)
    return begun


def edit_until_told(root: str, state: str, name: str) -> None:
    """One client: rewrite a file again and again, a line for each edit: when it ended (monotonic), milliseconds."""
    with quire_client.connect(root, agent=name, session=name, state_dir=state, timeout_s=60.0) as client:
        base, number = None, 0
        print("ready", flush=True)
        while True:
            number += 1
            content = "".join(f"line {n} of {name} {number if n == number % 100 else 0}\n" for n in range(100))
            begun = time.perf_counter()
            reply = client.write_file(f"{name}.txt", content, **({"base": base} if base else {}))
            took = (time.perf_counter() - begun) * 1000
            if not reply.get("ok"):
                raise SystemExit(f"refused: {reply}")
            base = reply["version"]
            print(f"{time.monotonic():.6f} {took:.3f}", flush=True)


def quantiles(took: list[float]) -> dict[str, float]:
    """p50, p99 and the longest, in milliseconds; and how many there were."""
    ordered = sorted(took)
    at = [ordered[min(len(ordered) - 1, int(len(ordered) * q))] for q in (0.5, 0.99)]
    return {"edits": len(took), "p50": round(at[0], 2), "p99": round(at[1], 2), "max": round(ordered[-1], 2)}


def stages(log: Path) -> list[tuple[str, float]]:
    """The stages of the collection by the daemon's log, and when each began (monotonic)."""
    offset = time.time() - time.monotonic()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [
        (STAGES[line["event"]], datetime.fromisoformat(line["at"]).timestamp() - offset)
        for line in lines
        if line["event"] in STAGES
    ]


def measure(events: int, files: int, seconds: float, kept: Path | None = None) -> dict[str, Any]:
    """The three phases, and what the collection did."""
    at = Live(on_disk=True)
    clients: list[subprocess.Popen[str]] = []
    outputs: list[Path] = []
    try:
        folder = Path(os.environ["XDG_CONFIG_HOME"]) / "quire"
        folder.mkdir()
        (folder / "config.toml").write_text(SETTINGS)
        journal = make(at, events, files) if kept is None else take(at, kept)
        boss = at.connect("boss", "boss", timeout_s=3600.0)
        eventually("the first look", lambda: ok(boss.call("status", {}))["capture"]["finished"], 600.0)
        for n in range(CLIENTS):
            outputs.append(at.top / f"client{n}")
            command = [sys.executable, __file__, "--client", str(at.root), str(at.state_dir), f"client{n}"]
            with outputs[-1].open("w") as out:
                clients.append(subprocess.Popen(command, stdout=out, text=True))
        eventually("all clients are there", lambda: all(out.read_text() for out in outputs), 60.0)
        phases = [time.monotonic()]
        time.sleep(seconds)
        phases.append(time.monotonic())
        done = ok(boss.gc(compact=True))
        phases.append(time.monotonic())
        time.sleep(seconds)
        phases.append(time.monotonic())
        parts = stages(at.state_dir / "daemon.log")
        alive = [client.poll() is None for client in clients]
        for client in clients:
            client.kill()
            client.wait()
        rows = [tuple(map(float, line.split())) for out in outputs for line in out.read_text().splitlines()[1:-1]]
        assert all(alive), "a client was refused"
        assert not ok(boss.verify(timeout_s=3600.0))["findings"]
    finally:
        for client in clients:
            client.kill()
            client.wait()
        at.close()
    alone, beside, after = ([took for ended, took in rows if a <= ended < b] for a, b in pairwise(phases))
    begun = [*parts, ("", float("inf"))]
    by_stage = {
        name: {"seconds": round(min(until, phases[2]) - since, 2), **quantiles(found)}
        for (name, since), (_, until) in pairwise(begun)
        if (found := [took for ended, took in rows if since <= ended < min(until, phases[2])])
    }
    return {
        "events": journal.events,
        "journal_bytes": journal.size_bytes,
        "gc_seconds": round(phases[2] - phases[1], 2),
        "dropped": done["dropped"]["blobs"],
        "kept": done["kept"],
        "compacted": done["compacted"],
        "alone": quantiles(alone),
        "beside_gc": quantiles(beside),
        "after": quantiles(after),
        "stages": by_stage,
        "promised_p99_ms": PROMISED_MS,
    }


def main() -> int:
    if sys.argv[1:2] == ["--client"]:
        edit_until_told(*sys.argv[2:5])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--journal", help="the folder `log-N` that `scripts/bench log --keep` left; it is copied")
    parser.add_argument("--seconds", type=float, default=5.0, help="of the phase without a gc")
    parser.add_argument("--in", dest="folder", help="where the scratch checkout is made")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.folder:
        tempfile.tempdir = options.folder
    kept = Path(options.journal) if options.journal else None
    found = measure(options.events, options.files, options.seconds, kept)
    if options.json:
        print(json.dumps(found))
        return 0
    mib = found["journal_bytes"] / (1 << 20)
    print(f"A journal of {found['events']:,} events, {mib:.1f} MiB; gc dropped {found['dropped']:,} blobs,")
    after = found["compacted"]["after_bytes"] / (1 << 20)
    print(f"compacted it to {after:.1f} MiB, and took {found['gc_seconds']} s beside {CLIENTS} clients that edit.\n")
    rows = {"without gc": found["alone"], "beside gc": found["beside_gc"]}
    rows |= {f"  {name}, {row['seconds']:.0f} s": row for name, row in found["stages"].items()}
    rows |= {"afterwards": found["after"]}
    for name, row in rows.items():
        times = "   ".join(f"{which} {row[which]:7.2f} ms" for which in ("p50", "p99", "max"))
        print(f"{name:20} {row['edits']:6} edits   {times}")
    kept = found["beside_gc"]["p99"] < PROMISED_MS
    print(f"\nPromised: p99 under {PROMISED_MS:.0f} ms beside a gc: {'kept' if kept else 'NOT kept here'}.")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
