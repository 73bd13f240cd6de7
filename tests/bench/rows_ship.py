"""Rows about shipping: what it costs an edit, and whether it keeps up."""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from floor import timed
from processes import cpu_s, wait_for_rest
from rows_edit import editor, functions, served
from rows_many import LINES, at_once
from table import Line, Scale, bounded

from live import Live, eventually

PAIRS = 15
"""Short ones: what else the machine does changes within seconds, and falls on both of a pair."""


def shipping(scale: Scale) -> Iterator[Line]:
    """Edits of one client by turns with and without `quire ship` beside the daemon; then many clients, and how long it
    takes until all that they did is at the far side.
    """
    with served(scale, {"a.txt": functions(LINES)}) as (at, client), _shipper(at) as pid:
        once, each = editor(client, "a.txt"), max(scale.rounds, 5)  # over a second: the shipper asks once in it
        medians, sums, with_ms, without_ms, shipped = [], [], [], [], []
        cpu = {True: 0.0, False: 0.0}  # ms of the daemon an edit
        for pair in range(PAIRS):
            took: dict[bool, list[float]] = {}
            for ships in (True, False) if pair % 2 else (False, True):
                if ships:
                    os.kill(pid, signal.SIGCONT)
                    eventually("all is shipped", lambda: _behind(client) <= 1, 120.0)
                else:
                    os.kill(pid, signal.SIGSTOP)
                wait_for_rest(at.daemon_pid())
                before, there = _records(client), _records(client) - _behind(client)
                used = cpu_s(at.daemon_pid())
                took[ships] = [timed(once) for _ in range(each)]
                cpu[ships] += (cpu_s(at.daemon_pid()) - used) * 1000 / (each * PAIRS)
                if ships:
                    shipped.append((_records(client) - _behind(client) - there) / (_records(client) - before))
            medians.append(statistics.median(took[True]) / statistics.median(took[False]))
            sums.append(sum(took[True]) / sum(took[False]))
            with_ms += took[True]
            without_ms += took[False]
        os.kill(pid, signal.SIGCONT)
    told = ", ".join(f"{ratio:.2f}" for ratio in medians)
    used_ms = f"{cpu[True]:.2f} and {cpu[False]:.2f} ms of the daemon's processor an edit with and without"
    note = f"{used_ms}; pairs {told}; of the sums {statistics.median(sums):.2f}"
    note += f"; {statistics.median(shipped):.0%} of it was shipped meanwhile"
    yield bounded(
        "edit while it is shipped, by the same without, median of the pairs", statistics.median(medians), "×", 1.1,
        note, reference="ms with, without", theirs=statistics.median(with_ms) / statistics.median(without_ms),
    )  # fmt: skip
    many = max(one for one in scale.clients if one <= 16)
    names = [f"file{n}.txt" for n in range(many)]
    with served(scale, {name: functions(LINES) for name in names}) as (at, client), _shipper(at):
        eventually("all is shipped", lambda: _behind(client) <= 1, 120.0)
        edits = [editor(at.connect(f"agent{n}", "s1", timeout_s=120.0), name) for n, name in enumerate(names)]
        before, begun = _records(client), time.perf_counter()
        at_once(edits, max(scale.rounds, 5))
        ended = time.perf_counter()
        behind, made = _behind(client), _records(client) - before
        eventually("all is shipped", lambda: _behind(client) <= 1, 120.0)
        late = time.perf_counter() - ended
    note = f"{made / (ended - begun):.0f} records a second for {ended - begun:.1f} s, {behind} behind at their end"
    yield bounded(f"until all of {many} clients is at the far side", late, "s", 5.0, note)


@contextlib.contextmanager
def _shipper(at: Live) -> Iterator[int]:
    (far := at.top / "far").mkdir()
    command = [sys.executable, "-m", "quire_client", "ship", str(far), "--state-dir", str(at.state_dir)]
    process = subprocess.Popen(command, cwd=at.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def _behind(client: Any) -> int:
    return int(client.status().get("shipping", {}).get("behind", 10**9))


def _records(client: Any) -> int:
    return int(client.status()["seq"])
