"""What one durable edit and one read cost, beside the floor that this machine sets in the same run.

    scripts/bench [--rounds N] [--lines N] [--in FOLDER] [--json]

The floor of an edit is what nobody can leave out who answers only when the edit survives a power cut: a round trip over
ZeroMQ, one synced commit of LMDB, and a temporary file that is written, fsynced and exchanged with the real one. The
floor of a read is a ZeroMQ echo of as many bytes. Milliseconds differ from machine to machine; the ratios hardly do.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import lmdb
import zmq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from live import Live, ok

EXCHANGE = 2
_renameat2 = ctypes.CDLL(None, use_errno=True).renameat2

ECHO = """
import os, sys, zmq
context = zmq.Context()
answer = os.urandom(int(sys.argv[2]))
router = context.socket(zmq.ROUTER)
router.bind(sys.argv[1])
while True:
    router.send_multipart([router.recv_multipart()[0], answer])
"""


def measure(act: Callable[[int], object], rounds: int, warm_up: int = 20) -> list[float]:
    """Milliseconds of each of `rounds` calls, sorted."""
    took = []
    for n in range(warm_up + rounds):
        begun = time.perf_counter()
        act(n)
        took.append((time.perf_counter() - begun) * 1000)
    return sorted(took[warm_up:])


def text(lines: int) -> str:
    """Functions, as source has them (a grammar reads it after each edit), in which every line is unique."""
    made: list[str] = []
    for n in range(lines // 4 + 1):
        made += [
            f"def function_{n}(value):  # one of many",
            f"    found_{n} = compute(value, 'some words that make it as long as code is', {n})",
            f"    if found_{n} > {n}:",
            f"        return found_{n} - {n}",
        ]
    return "\n".join(made[:lines]) + "\n"


def echo(folder: Path, request: int, reply: int, rounds: int) -> list[float]:
    """A round trip over ipc: a request and a reply of these sizes, to a process that does nothing else."""
    door = f"ipc://{folder}/echo.sock"
    server = subprocess.Popen([sys.executable, "-c", ECHO, door, str(reply)])
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    try:
        dealer = context.socket(zmq.DEALER)
        dealer.connect(door)
        payload = os.urandom(request)

        def once(_: int) -> None:
            dealer.send(payload)
            dealer.recv()

        return measure(once, rounds)
    finally:
        context.destroy(linger=0)
        server.kill()
        server.wait()


def commit(folder: Path, rounds: int) -> list[float]:
    """One synced transaction: a record, a small blob, and the few keys of the views that an edit moves."""
    store = lmdb.open(str(folder / "floor"), map_size=1 << 34, max_dbs=4, writemap=False)
    table = store.open_db(b"records")

    def once(n: int) -> None:
        with store.begin(write=True, db=table) as transaction:
            for part in range(6):
                transaction.put((n * 8 + part).to_bytes(8, "big"), os.urandom(150))

    try:
        return measure(once, rounds)
    finally:
        store.close()


def replace(folder: Path, data: bytes, rounds: int) -> list[float]:
    """A temporary file, written, fsynced, and exchanged with the one that has the name."""
    path, beside = folder / "floor.txt", folder / "floor.tmp"
    path.write_bytes(data)

    def once(_: int) -> None:
        fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(fd, data)
        os.fsync(fd)
        os.close(fd)
        if _renameat2(-100, os.fsencode(path), -100, os.fsencode(beside), EXCHANGE):
            raise OSError(ctypes.get_errno(), "renameat2")
        os.unlink(beside)

    return measure(once, rounds)


def quire(lines: int, rounds: int) -> tuple[list[float], list[float], int, int]:
    """An edit by anchor and a read with hashes through the client; and how long their messages are."""
    at = Live()
    try:
        at.write("big.py", text(lines))
        client = at.connect("bench", "bench")
        shown: list[str] = []
        start: int | None = 1
        while start:
            page = ok(client.call("read_file", {"path": "big.py", "hashes": True, "start_line": start}))
            shown += page["lines"]
            start = page.get("next_line")
        anchors = [line.partition(" ")[0] for line in shown]
        step = max(1, len(anchors) // (rounds + 20))

        def edit(n: int) -> None:
            change = {
                "op": "replace_line",
                "hash": anchors[n * step % len(anchors)],
                "content": f"    edited_{n} = {n}",
            }
            ok(client.call("edit", {"path": "big.py", "operations": [change]}))

        def read(_: int) -> None:
            ok(client.call("read_file", {"path": "big.py", "hashes": True}))

        edits, reads = measure(edit, rounds), measure(read, rounds)
        reply = len(json.dumps(client.call("read_file", {"path": "big.py", "hashes": True})))
        return edits, reads, 400, reply
    finally:
        at.close()


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--in", dest="folder", help="measure on the file system of this folder")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.folder:
        tempfile.tempdir = os.path.abspath(options.folder)
    rounds = min(options.rounds, options.lines - 20)

    edits, reads, asked, answered = quire(options.lines, rounds)
    with tempfile.TemporaryDirectory(prefix="quire-bench-") as name:
        folder = Path(name)
        parts = {
            "ZeroMQ echo of an edit's messages": echo(folder, asked, 1500, rounds),
            "LMDB commit, synced": commit(folder, rounds),
            "temporary file, fsync, exchange": replace(folder, text(options.lines).encode(), rounds),
        }
        read_echo = echo(folder, asked, answered, rounds)
    floor = sum(statistics.median(part) for part in parts.values())
    rows = {
        **parts,
        f"durable edit of a {options.lines}-line file": edits,
        "ZeroMQ echo of a read's bytes": read_echo,
        f"read_file with hashes, {options.lines} lines, unchanged": reads,
    }
    figures = {
        name: {"p50_ms": round(statistics.median(took), 3), "p99_ms": round(took[int(len(took) * 0.99)], 3)}
        for name, took in rows.items()
    }
    ratios = {
        "edit / floor": round(statistics.median(edits) / floor, 2),
        "read / echo": round(statistics.median(reads) / statistics.median(read_echo), 2),
    }
    if options.json:
        print(json.dumps({"rounds": rounds, "figures": figures, "edit_floor_ms": round(floor, 3), **ratios}))
        return
    print(f"{'':52}{'p50':>10}{'p99':>10}")
    for name, figure in figures.items():
        print(f"{name:52}{figure['p50_ms']:>7.2f} ms{figure['p99_ms']:>7.2f} ms")
    print(f"{'floor of an edit (sum of the first three)':52}{floor:>7.2f} ms")
    print(
        f"edit / floor {ratios['edit / floor']:.2f} ×    read / echo {ratios['read / echo']:.2f} ×    ({rounds} rounds)"
    )


if __name__ == "__main__":
    main()
