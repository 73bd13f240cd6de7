"""A watcher on a real folder, and all that it has told: what the tests of it stand on."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from quire_daemon.ops.daemon_log import Log
from quire_daemon.watch.hints import Batch, WatchCoverage
from quire_daemon.watch.ignore import Ignore
from quire_daemon.watch.watcher import Watcher

PATIENCE_S = 15.0  # what is awaited comes in milliseconds; this is when a test gives up

Start = Callable[..., "Watch"]


class Watch:
    """A watcher, and all that it has told so far."""

    def __init__(self, root: Path, ignored: Callable[[str, bool], bool] | None = None, log: Log | None = None) -> None:
        self.root = root
        self.woken = threading.Event()
        self.told = Batch()
        self.watcher = Watcher(root, ignored or Ignore(root).ignored, self.woken.set, log)
        self.watcher.start()

    def drain(self) -> Batch:
        """What is new; it is also added to `told`."""
        self.woken.clear()
        batch = self.watcher.drain()
        for told, new in ((self.told.locked, batch.locked), (self.told.unlocked, batch.unlocked)):
            told -= batch.dirty - new
            told |= new - self.told.dirty  # else a change before it was not under the lock, or under it
        self.told.dirty |= batch.dirty
        self.told.touched |= batch.touched
        self.told.folders |= batch.folders
        self.told.overflowed |= batch.overflowed
        self.told.moved += batch.moved
        return batch

    def until(self, condition: Callable[[], bool]) -> None:
        """Drain whenever woken until `condition` holds."""
        end = time.monotonic() + PATIENCE_S
        self.drain()
        while not condition():
            assert time.monotonic() < end, f"gave up; {len(self.told.dirty)} told, health {self.watcher.health()}"
            self.woken.wait(0.05)  # wakes at once; the limit is for conditions that no event changes
            self.drain()

    def catch_up(self) -> Batch:
        """All that happened before this call, and nothing told earlier."""
        token = self.watcher.cookie()
        self.until(lambda: self.watcher.seen(token))
        self.drain()
        batch, self.told = self.told, Batch()
        return batch

    def health(self) -> WatchCoverage:
        return self.watcher.health()


def told_of(batch: Batch, path: str) -> bool:
    above = [path[:at] for at, char in enumerate(path) if char == "/"]
    return path in batch.dirty or any(f in batch.folders for f in [path, *above])


def exchange(one: Path, other: Path) -> None:
    """renameat2(one, other, RENAME_EXCHANGE)."""
    libc = ctypes.CDLL(None, use_errno=True)
    at_fdcwd, rename_exchange = -100, 2
    done = libc.renameat2(at_fdcwd, os.fsencode(one), at_fdcwd, os.fsencode(other), rename_exchange)
    assert done == 0, os.strerror(ctypes.get_errno())
