"""What others wait while one caller asks for much: reads and edits of one client beside undos, patches and a blame.

    scripts/bench waits [--scene NAME …] [--rounds N] [--scale X] [--in FOLDER] [--json]

One process reads a file and edits it, reply by reply, from beginning to end. Beside it another client plans and carries
out an undo of 500 edits in 20 files in which others undid 260 things, undoes and rolls back 1,000 files, asks for the
patches of a log, for the difference of a large file, and for who wrote 2,000 lines with 1,000 versions. For each of
these stands what the first one waited, the longest turn of the daemon's loop, and the processor's time in the turn that
took most of it (of all of the daemon's threads): on a machine that others use, too, that is the figure that is about
Quire. Promised: nobody waits more
than 20 ms for another's call.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from blame import Model, make as make_versions
from undo import names, raise_the_limit, text

import quire_client
from live import SEED, Live, caught_up, eventually, ok, verified
from quire_client import Client
from quire_client.transport import autostart

PROMISED_MS = 20.0
WARM_S = 3.0
BIG_LINES = 20_000


def ask_until_told(root: str, state: str) -> None:
    """The one who waits: reads a file and edits it in turn. (What, when it began (monotonic), milliseconds.)"""
    with quire_client.connect(root, agent="other", session="s1", state_dir=state, timeout_s=60.0) as client:
        ok(client.call("write_file", {"path": "beside.txt", "content": "count 0\n" + "a line\n" * 200}))
        number = 0
        print("ready", flush=True)
        while True:
            change = {"file": "beside.txt", "old_text": f"count {number}\n", "new_text": f"count {number + 1}\n"}
            number += 1
            for what, call in (
                ("read", lambda: client.call("read_file", {"path": "beside.txt"})),
                ("edit", lambda c=change: client.call("edit_replace", c)),
            ):
                begun = time.monotonic()
                reply = call()
                print(f"{what} {begun:.6f} {(time.monotonic() - begun) * 1000:.3f}", flush=True)
                if not reply.get("ok"):
                    raise SystemExit(f"refused: {reply}")


# ── what the other one does ──


class Writer:
    """Writes whole files, each on top of what it wrote last."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._versions: dict[str, str] = {}

    def write(self, path: str, content: str) -> str:
        """The version."""
        base = {"base": self._versions[path]} if path in self._versions else {}
        self._versions[path] = ok(self._client.call("write_file", {"path": path, "content": content, **base}))[
            "version"
        ]
        return self._versions[path]


Act = Callable[[], None]
"""One call that takes long; the waits of others count while it lasts."""


def undo_plan(at: Live, client: Client, size: float) -> Iterator[Act]:
    """500 edits in 20 files; 260 of what others did there are undone."""
    files, edits, undos = 20, int(500 * size), int(260 * size)
    for n in range(files):
        at.write(f"planned/f{n}.txt", text(60, n))
    caught_up(client)
    others = [at.connect(f"colleague{n}", "s1", timeout_s=120.0) for n in range(4)]
    for n in range(max(edits, undos)):
        path = f"planned/f{n % files}.txt"
        if n < edits:
            line = 2 * (n // files) % 60
            change = {"file": path, "old_text": f"value_{line} = ", "new_text": f"value_{line} = {n} + "}
            ok(client.call("edit_replace", change))
        if n < undos:
            line, other = 2 * (n // files) % 60 + 1, others[n % len(others)]
            change = {"file": path, "old_text": f"value_{line} = ", "new_text": f"value_{line} = {n} - "}
            ok(other.call("edit_replace", change))
            ok(other.call("undo", {}))
    while True:
        yield lambda: ok(client.call("undo", {"writer": "asker", "plan": True}))


def big_burst(at: Live, client: Client, files: int) -> tuple[str, int]:
    """(The point before it, the burst.) As many files edited once more."""
    caught_up(client)
    point = f"seq:{ok(client.call('status', {}))['seq']}"
    begun = ok(client.call("burst", {"action": "begin", "label": "many"}))["burst"]
    stamp = str(time.monotonic_ns())
    for name in names(files):
        path = at.root / name
        old = path.read_text().partition("\n")[0]
        change = {"file": name, "old_text": old + "\n", "new_text": f"value_{stamp}\n"}
        ok(client.call("edit_replace", change))
    ok(client.call("burst", {"action": "end"}))
    time.sleep(1.0)  # what was displaced is let go of meanwhile
    return point, int(begun)


def _many_files(at: Live, client: Client, size: float) -> int:
    files = max(int(1000 * size), 70)
    for n, name in enumerate(names(files)):
        at.write(name, text(100, n))
    caught_up(client)
    return files


def long_undo(at: Live, client: Client, size: float) -> Iterator[Act]:
    """A burst over 1,000 files is undone."""
    files = _many_files(at, client, size)
    while True:
        _, burst = big_burst(at, client, files)
        yield lambda b=burst: ok(client.call("undo", {"burst": b}))


def long_rollback(at: Live, client: Client, size: float) -> Iterator[Act]:
    """1,000 files go back to a point, after a plan."""
    files = _many_files(at, client, size)
    while True:
        point, _ = big_burst(at, client, files)

        def act(point: str = point) -> None:
            plan = ok(client.call("rollback", {"to": point, "plan": True}))
            ok(client.call("rollback", {"token": plan["token"]}))

        yield act


def long_restore(at: Live, client: Client, size: float) -> Iterator[Act]:
    """1,000 files are restored as they were at a point."""
    files = _many_files(at, client, size)
    while True:
        point, _ = big_burst(at, client, files)
        yield lambda p=point: ok(client.call("restore", {"at": p, "path": "src"}))


def patches(at: Live, client: Client, size: float) -> Iterator[Act]:
    """The patches of a log: of files of 2,000 lines with some changes each, and of one of 20,000 lines."""
    chance, writer = random.Random(SEED), Writer(client)
    for n in range(5):
        lines = text(2000, n).splitlines(keepends=True)
        for _ in range(int(40 * size)):
            for line in chance.sample(range(len(lines)), 20):
                lines[line] = f"changed {chance.getrandbits(40):x}\n"
            writer.write(f"long/f{n}.txt", "".join(lines))
    while True:
        for args in ({}, {"limit": 200}, {"path": "long/f1.txt"}):
            yield lambda a=args: ok(client.call("log", {"patch": True, **a}))


def _big_versions(at: Live, client: Client) -> list[str]:
    """Two versions of a file of 20,000 lines, much of which is different."""
    chance, writer = random.Random(SEED), Writer(client)
    lines = text(BIG_LINES, 0).splitlines(keepends=True)
    found = []
    for _ in range(2):
        found.append(writer.write("big.txt", "".join(lines)))
        for line in chance.sample(range(len(lines)), len(lines) // 4):
            lines[line] = f"changed {chance.getrandbits(12):x}\n"
        lines = [line for line in lines if chance.random() > 0.1]
    return found


def differences(at: Live, client: Client, size: float) -> Iterator[Act]:
    """The difference of two versions of 20,000 lines, and the patch and the text of one."""
    older, newer = _big_versions(at, client)
    while True:
        yield lambda: ok(client.call("diff", {"from": older, "to": newer, "path": "big.txt"}))
        yield lambda: ok(client.call("log", {"path": "big.txt", "patch": True}))
        yield lambda: ok(client.call("show", {"version": older}))


def big_undo(at: Live, client: Client, size: float) -> Iterator[Act]:
    """The plan to undo what was written into a file of 20,000 lines, much of which was changed after it."""
    *_, base = _big_versions(at, client)
    other = at.connect("colleague", "s1", timeout_s=120.0)
    data = (at.root / "big.txt").read_text().splitlines(keepends=True)
    chance = random.Random(SEED + 1)
    for line in chance.sample(range(len(data)), len(data) // 10):
        data[line] = f"theirs {chance.getrandbits(40):x}\n"
    ok(other.call("write_file", {"path": "big.txt", "content": "".join(data), "base": base}))
    while True:
        yield lambda: ok(client.call("undo", {"last": 1, "plan": True}))


def who_wrote(at: Live, client: Client, size: float) -> Iterator[Act]:
    """Who wrote each of 2,000 lines with 1,000 versions."""
    make_versions(at, Model(2000, random.Random(SEED)), 2000, int(1000 * size), 8)
    while True:
        yield lambda: ok(client.call("blame", {"path": "big.py"}))


def exports(at: Live, client: Client, size: float) -> Iterator[Act]:
    """The whole journal as lines of JSON."""
    chance, writer = random.Random(SEED), Writer(client)
    for n in range(int(400 * size)):
        content = text(200, n % 7).replace(f"value_{n % 200} = ", f"value_{chance.getrandbits(30)} = ")
        writer.write(f"kept/f{n % 7}.txt", content)

    def act() -> None:
        page = ok(client.call("export", {"format": "jsonl"}))
        while not page["done"]:
            page = ok(client.call("export", {"export": page["export"], "page": page["page"] + 1}))

    while True:
        yield act


SCENES: dict[str, Callable[[Live, Client, float], Iterator[Act]]] = {
    "undo plan": undo_plan,
    "undo": long_undo,
    "rollback": long_rollback,
    "restore": long_restore,
    "patches": patches,
    "difference": differences,
    "undo of a big file": big_undo,
    "blame": who_wrote,
    "export": exports,
}


# ── measuring ──


@contextmanager
def timed_turns(at: Live) -> Iterator[Path]:
    """Daemons that are started meanwhile tell how long their turns take, in this file."""
    told, apart = at.top / "turns", autostart.apart
    told.touch()

    def timed(words: list[str], log: int, errors: int) -> Any:
        assert words[1:3] == ["-m", "quire_daemon"], words
        script = os.fspath(Path(__file__).with_name("timed_daemon.py"))
        return apart([words[0], script, os.fspath(told), *words[3:]], log, errors)

    autostart.apart = timed
    try:
        yield told
    finally:
        autostart.apart = apart


def within(began: float, took_s: float, spans: list[tuple[float, float]]) -> bool:
    """Was it going on in one of these spans?"""
    return any(began < end and began + took_s > begin for begin, end in spans)


def waited(lines: list[str], spans: list[tuple[float, float]]) -> dict[str, Any]:
    """What the one who waits was told meanwhile."""
    rows = [(what, float(began), float(ms)) for what, began, ms in map(str.split, lines)]
    found: dict[str, Any] = {}
    for what in ("read", "edit"):
        took = sorted(ms for kind, began, ms in rows if kind == what and within(began, ms / 1000, spans))
        if took:
            at = [took[min(len(took) - 1, int(len(took) * q))] for q in (0.5, 0.99, 0.999)]
            found[what] = {"calls": len(took), "p50": at[0], "p99": at[1], "p999": at[2], "max": took[-1]}
    return found


def turned(lines: list[str], spans: list[tuple[float, float]]) -> dict[str, float]:
    """The longest turn, and the most of the processor that one took, in milliseconds."""
    rows = [(float(began), float(took), float(used)) for began, took, used in map(str.split, lines)]
    meanwhile = [(took, used) for began, took, used in rows if within(began, took, spans)]
    return {
        "turn": round(max((took for took, _ in meanwhile), default=0.0) * 1000, 2),
        "turn_cpu": round(max((used for _, used in meanwhile), default=0.0) * 1000, 2),
    }


def measure(scene: str, rounds: int, size: float) -> dict[str, Any]:
    """The waits alone, and beside the calls of this scene."""
    at = Live(on_disk=True)
    beside: subprocess.Popen[str] | None = None
    try:
        with timed_turns(at) as turns:
            client = at.connect("asker", "s1", timeout_s=600.0)
            eventually("the first look", lambda: ok(client.call("status", {}))["capture"]["finished"], 600.0)
            acts = SCENES[scene](at, client, size)
            act, spans, took = next(acts), [], []
            out = at.top / "beside"
            with out.open("w") as told:
                command = [sys.executable, __file__, "--client", str(at.root), str(at.state_dir)]
                beside = subprocess.Popen(command, stdout=told, text=True)
            eventually("somebody asks", lambda: out.read_text(), 60.0)
            alone = [(time.monotonic(), time.monotonic() + WARM_S * size)]
            time.sleep(WARM_S * size)
            for number in range(rounds):
                act = act if number == 0 else next(acts)
                begun = time.monotonic()
                act()
                spans.append((begun, time.monotonic()))
                took.append((spans[-1][1] - begun) * 1000)
                time.sleep(0.05)
            assert beside.poll() is None, "the one who waits was refused"
            beside.kill()
            beside.wait()
            verified(client)
            calls, each = out.read_text().splitlines()[1:-1], turns.read_text().splitlines()
    finally:
        if beside is not None:
            beside.kill()
            beside.wait()
        at.close()
    took.sort()
    return {
        "scene": scene,
        "rounds": rounds,
        "took_ms": round(took[len(took) // 2], 1),
        "alone": waited(calls, alone) | turned(each, alone),
        "beside": waited(calls, spans) | turned(each, spans),
    }


ROUNDS = {"undo": 3, "rollback": 3, "restore": 3}


def main() -> int:
    if sys.argv[1:2] == ["--client"]:
        ask_until_told(*sys.argv[2:4])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scene", action="append", choices=[*SCENES], help="which; all if none is named")
    parser.add_argument("--rounds", type=int, default=15, help="calls of each scene that are short")
    parser.add_argument("--scale", type=float, default=1.0, help="of every size; less only shows that it works")
    parser.add_argument("--in", dest="folder", help="where the scratch checkout is made")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.folder:
        tempfile.tempdir = options.folder
    raise_the_limit()
    found = []
    for scene in options.scene or SCENES:
        found.append(measure(scene, min(options.rounds, ROUNDS.get(scene, options.rounds)), options.scale))
        if not options.json:
            _print(found[-1])
    if options.json:
        print(json.dumps({"scenes": found, "promised_ms": PROMISED_MS}))
    return 0


def _print(one: dict[str, Any]) -> None:
    print(f"{one['scene']} ({one['took_ms']:.0f} ms)")
    for name in ("alone", "beside"):
        told = one[name]
        waits = "   ".join(
            f"{what} {t['calls']:5}: p50 {t['p50']:6.2f} p99 {t['p99']:7.2f} p99.9 {t['p999']:7.2f} max {t['max']:7.2f}"
            for what, t in told.items()
            if isinstance(t, dict)
        )
        print(f"  {name:8}{waits}   longest turn {told['turn']:7.2f}, of processor {told['turn_cpu']:7.2f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
