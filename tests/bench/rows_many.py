"""Rows about many at once: clients beside each other, and what somebody outside does until it can be asked about."""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from floor import batched_edits, commits, timed
from processes import cpu_s, memory_mb, wait_for_rest
from rows_edit import editor, functions, served
from table import Line, Scale, bounded, compared, skipped
from watchman import INSTALL, watching

from live import caught_up, eventually, ok

LINES = 2000
"""Of each file."""


def clients(scale: Scale) -> Iterator[Line]:
    """Clients that edit a file of their own as fast as they are answered: edits a second, and the slowest."""
    alone, data = 0.0, functions(LINES).encode()
    for many in scale.clients:
        names = [f"file{n}.txt" for n in range(many)]
        with served(scale, {name: functions(LINES) for name in names}) as (at, _), batched_edits(data) as bare:
            edits = [editor(at.connect(f"agent{n}", "s1", timeout_s=120.0), name) for n, name in enumerate(names)]
            each, pid = max(scale.rounds * 2 // many, 5), at.daemon_pid()
            before = cpu_s(pid)
            took, rate, fairness = at_once(edits, each)
            used_ms = (cpu_s(pid) - before) * 1000 / (many * (each + 1))
            wait_for_rest(pid)
            _, floor, _ = at_once([bare(n) for n in range(many)], each)
        p50, p99 = statistics.median(took), took[int(len(took) * 0.99)]
        alone = alone or rate
        note = (
            f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, slowest client {fairness:.2f} of the fastest, "
            f"{used_ms:.1f} ms of the daemon's processor an edit"
        )
        held = rate >= 0.5 * floor and p99 <= 10 * p50 if many == 16 else None
        budget = "≥ 0.5 ×, p99 ≤ 10 × p50" if many == 16 else ""
        if many > 1:
            note += f", {rate / alone:.2f} times the rate of one client"
        more = {"p50": p50, "p99": p99, "fairness": fairness}
        yield Line(
            f"{many} client{'s' if many > 1 else ''}, each its file", "/s", rate, (0.0, 0.0),
            "bare floor", floor, budget, held, note, many, more=more,
        )  # fmt: skip


def at_once(edits: list[Any], each: int) -> tuple[list[float], float, float]:
    """(sorted milliseconds of every edit, edits a second, the slowest client's rate by the fastest's)."""
    start = threading.Barrier(len(edits) + 1)
    took: list[list[float]] = [[] for _ in edits]
    ends = [0.0] * len(edits)

    def run(n: int) -> None:
        edits[n]()
        start.wait()
        for _ in range(each):
            took[n].append(timed(edits[n]))
        ends[n] = time.perf_counter()

    threads = [threading.Thread(target=run, args=(n,)) for n in range(len(edits))]
    for thread in threads:
        thread.start()
    start.wait()
    begun = time.perf_counter()
    for thread in threads:
        thread.join()
    seconds = [end - begun for end in ends]
    return sorted(ms for mine in took for ms in mine), each * len(edits) / max(seconds), min(seconds) / max(seconds)


def visible(scale: Scale) -> Iterator[Line]:
    """From an outside program's write to its record, journaled and told to one who waits with `since`."""
    with (
        served(scale, {"seen.txt": functions(LINES)}) as (at, client),
        ThreadPoolExecutor(1) as beside,
        commits() as commit,
        _told_by_watchman(at.top / "watched") as told_by_watchman,
    ):
        cursor, took, floor, asked, subscribed = caught_up(client), [], [], [], []

        def told() -> float:
            """When the change was told."""
            nonlocal cursor
            while True:
                page = ok(client.call("since", {"cursor": cursor, "wait_ms": 10_000}))
                cursor = page["cursor"]
                if any(record["kind"].startswith("outside") for record in page["records"]):
                    return time.perf_counter()

        for number in range(scale.rounds):
            data = functions(LINES) + f"# {number}\n"
            waiting = beside.submit(told)
            time.sleep(0.02)
            begun = time.perf_counter()
            at.write("seen.txt", data)
            took.append((waiting.result() - begun) * 1000)
            wait_for_rest(at.daemon_pid())
            floor.append(timed(commit))
            if told_by_watchman is not None:
                when_asked, when_told = told_by_watchman(data)
                asked.append(when_asked)
                subscribed.append(when_told)
    took.sort()
    note = f"a synced commit alone takes {statistics.median(floor):.1f} ms"
    yield bounded("outside write to `since`, p50", statistics.median(took), "ms", 5.0, note)
    yield bounded("outside write to `since`, p99", took[int(len(took) * 0.99)], "ms", 25.0)
    if not asked:
        yield skipped("outside write to watchman", INSTALL)
        return
    what, note = "outside write, until it is told", "watchman tells the name; it keeps no bytes"
    yield compared(what, took, "watchman, asked with `since` at once", asked, note=note)
    yield compared(what, took, "watchman, told to a subscription", subscribed, note="which settles for 20 ms")


@contextlib.contextmanager
def _told_by_watchman(root: Path) -> Iterator[Callable[[str], tuple[float, float]] | None]:
    """Writes two files: milliseconds until watchman names one when asked at once, and the other to a subscriber."""
    root.mkdir()
    with watching() as watchman:
        if watchman is None:
            yield None
            return
        watchman.crawl(root)
        asking, listening = watchman.connect(), watchman.connect()
        at = asking.ask("clock", str(root))["clock"]
        wanted = {"fields": ["name"], "since": at, "expression": ["name", "told.txt"]}
        listening.ask("subscribe", str(root), "ours", wanted)

        def write(data: str) -> tuple[float, float]:
            nonlocal at
            begun = time.perf_counter()
            (root / "seen.txt").write_text(data)
            page = asking.ask("query", str(root), {"fields": ["name"], "since": at})
            asked_ms = (time.perf_counter() - begun) * 1000
            assert "seen.txt" in page["files"], page
            at = page["clock"]
            begun = time.perf_counter()
            (root / "told.txt").write_text(data)
            told = listening.told()
            told_ms = (time.perf_counter() - begun) * 1000
            assert told["files"] == ["told.txt"], told
            return asked_ms, told_ms

        yield write


def rest(scale: Scale) -> Iterator[Line]:
    """Memory and processor of a daemon that watches a tree: at rest, and after edits."""
    files = min(scale.files[-1], 20_000)
    made = {f"src/part{n // 100}/file{n}.py": f"value_{n} = {n}\n" * 20 for n in range(files)}
    with served(scale, {**made, "big.txt": functions(LINES)}) as (at, client):
        eventually("the first capture", lambda: ok(client.call("status", {}))["capture"]["finished"], 600.0)
        time.sleep(3.0)
        pid = at.daemon_pid()
        before = cpu_s(pid)
        time.sleep(5.0)
        idle = (cpu_s(pid) - before) / 5.0 * 100
        note = f"beside it {memory_mb(pid, cached=True):.0f} MB of page cache, of the journal mostly"
        yield bounded(f"memory at rest, {files:,} files", memory_mb(pid), "MB", 60.0, note=note, size=files)
        yield bounded(f"processor at rest, {files:,} files", idle, "%", 1.0, size=files)
        once = editor(client, "big.txt")
        before, edits = cpu_s(pid), max(scale.rounds, 50)
        begun = time.perf_counter()
        for _ in range(edits):
            once()
        took_s, used_s = time.perf_counter() - begun, cpu_s(pid) - before
        yield Line(f"memory under load, {edits} edits in a row", "MB", memory_mb(pid))
        note = f"{used_s / edits * 1000:.1f} ms an edit"
        yield Line(f"processor under load, {edits} edits in a row", "%", used_s / took_s * 100, note=note)
