"""Programs that read the whole tree, and bursts that overflow the kernel's queue, hide no write from the journal."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import live
from live import Live, caught_up, eventually, journaled, log, ok, running, sha256, stop, verified

pytestmark = [pytest.mark.real, pytest.mark.timeout(live.length(60, 900))]

QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")


def plant(root: Path, files: int) -> list[str]:
    """A tree of `files` small files, fifty in a folder."""
    paths = [f"tree/d{n // 50}/f{n}.txt" for n in range(files)]
    for n, path in enumerate(paths):
        if n % 50 == 0:
            (root / path).parent.mkdir(parents=True)
        (root / path).write_text(f"file {n}\n" + "needle in hay\n" * 5)
    return paths


def first_scan_done(client: Any) -> bool:
    """Is the initial capture through?"""
    return any(record["kind"] == "workspace_scanned" for record in log(client, kind="workspace_scanned"))


def write_two_hundred(at: Live, paths: list[str]) -> dict[str, str]:
    """200 saves of 200 files spread over the tree; the sha256 of each."""
    chosen = paths[:: len(paths) // 200][:200]
    return {path: sha256(at.write(path, f"written while others read: {path}\n")) for path in chosen}


def missing(client: Any, written: dict[str, str]) -> list[str]:
    """The files whose write is not in the journal."""
    held = {(record["path"], record["sha256"]) for record in log(client) if record.get("sha256")}
    return [path for path, content in written.items() if (path, content) not in held]


def test_two_hundred_writes_under_two_recursive_greps_are_all_journaled(daemon) -> None:
    if not shutil.which("grep"):
        pytest.skip("there is no grep")
    at = daemon()
    paths = plant(at.root, live.length(400, 20_000))
    client = at.connect("boss")
    eventually("the first scan is through", lambda: first_scan_done(client), 120)
    forever = f"while :; do grep -r hay {at.root} >/dev/null; done"
    with (
        running("sh", "-c", forever, start_new_session=True) as one,
        running("sh", "-c", forever, start_new_session=True) as two,
    ):
        written = write_two_hundred(at, paths)
        cursor = caught_up(client)
        lost = missing(client, written)
        assert one.poll() is None
        assert two.poll() is None
    assert cursor
    assert not lost, f"{len(lost)} of 200 writes are not in the journal"
    verified(client)


@contextlib.contextmanager
def short_queue(length: int) -> Iterator[None]:
    """inotify queues that are made meanwhile hold this many events; skips where that may not be set."""
    before = QUEUE.read_text()
    try:
        QUEUE.write_text(str(length))
    except OSError as refused:
        pytest.skip(f"{QUEUE} cannot be written: {refused.strerror}")
    try:
        yield
    finally:
        QUEUE.write_text(before)


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A process that does nothing meanwhile."""
    stop(pid)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.campaign  # with a queue as it is, and so without a limit set for the whole machine: tests/incidents, 25
def test_an_overflow_of_the_kernels_queue_is_recorded_and_survived(daemon) -> None:
    """The queue is made before the first scan, so the limit is back to what it was as soon as that is through."""
    at = daemon()
    paths = plant(at.root, live.length(200, 2_000))
    with short_queue(256):  # more than a test beside this one has waiting, whose queue is made at the same moment
        client = at.connect("boss")
        eventually("the first scan is through", lambda: first_scan_done(client), 60)  # so there is a queue
    with stopped(at.daemon_pid()):  # nothing is taken out of the queue meanwhile, so it must overflow
        latest = {path: sha256(at.write(path, f"in a burst: {path}\n")) for path in paths}
    eventually("the overflow is on record", lambda: log(client, kind="watch_lost"))
    eventually("every last write is journaled", lambda: caught_up(client) and not missing(client, latest), 30)
    coverage = ok(client.call("status", {}))["coverage"]
    assert coverage["state"] == "full" or coverage["reasons"], coverage
    after = sha256(at.write("tree/after.txt", "the watcher sees again\n"))
    caught_up(client)
    assert after in journaled(client, "tree/after.txt")
    verified(client)
