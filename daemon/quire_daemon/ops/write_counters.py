"""Samples of the bytes that processes have written, every few milliseconds, to decide whether a command can have
written a file.

Linux counts the bytes that each process has written, though not to which files; this needs no special right. A command
that wrote less at a moment than a change takes did not make the change.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final, NamedTuple

from quire_daemon.ops.process_tree import ProcessId, ProcessTree
from quire_journal.storage import Thread

EVERY_S: Final = 0.01

SHARE: Final = 0.02
"""Largest share of a processor for samples; expensive samples are taken less often."""

MOST_KEPT: Final = 6000
"""Samples kept of a process: those of a minute."""

COUNTED_NS: Final = 20_000_000
"""Nanoseconds after a file's time stamp when the write is surely counted: a stamp may be a tick (10 ms) early."""

DEAR_S: Final = 0.002
"""Seconds; a sample that takes longer is not taken while a caller waits."""


class _Look(NamedTuple):
    begun_ns: int
    ended_ns: int
    written: int


class WriteCounters:
    """Samples of some processes and their descendants. `follow` and `written_since` are for the loop's thread."""

    def __init__(
        self,
        tree: ProcessTree,
        is_needed: Callable[[], bool],
        now_ns: Callable[[], int],
        every_s: float = EVERY_S,
    ) -> None:
        """`is_needed`: False ends sampling. `now_ns`: the clock of the files' time stamps. `every_s`: seconds between
        samples; 0: only `look` takes samples.
        """
        self._tree, self._is_needed, self._now_ns, self._every_s = tree, is_needed, now_ns, every_s
        self._looks: dict[ProcessId, deque[_Look]] = {}
        self._lock = threading.Lock()  # guards `_looks` and `_cost_s`
        self._cost_s = 0.0  # processor time of the last sample of all processes
        self._end = threading.Event()
        self._thread: Thread | None = None

    def follow(self, processes: Iterable[ProcessId]) -> None:
        """Sample these processes from now on, and no others."""
        wanted = {*processes} if self._is_needed() else set()
        with self._lock:
            new = wanted - self._looks.keys()
            self._looks = {one: self._looks.get(one) or deque(maxlen=MOST_KEPT) for one in wanted}
        if new:
            self.look()
        with self._lock:
            if wanted and self._every_s and self._thread is None:
                with suppress(RuntimeError):  # no thread: only `look` takes samples
                    self._thread = Thread(self._go_on, "write-counters")

    def look(self) -> None:
        """Take a sample of each followed process now."""
        with self._lock:
            began_s = time.thread_time()
            for process, looks in self._looks.items():
                begun_ns = self._now_ns()
                written = self._tree.bytes_written(process)
                if written is None:
                    looks.clear()
                else:
                    looks.append(_Look(begun_ns, self._now_ns(), written))
            self._cost_s = time.thread_time() - began_s

    def written_since(self, process: ProcessId, at_ns: int) -> int | None:
        """Return an upper bound of the bytes that the process and its descendants wrote at about `at_ns`, from the
        nearest samples; None if unknown.
        """
        looks, late_ns = self._looks.get(process), at_ns + COUNTED_NS
        if not looks:
            return None
        if looks[-1].begun_ns < late_ns:
            if self._cost_s > DEAR_S:
                return None
            self.look()
            self.look()  # the first sample may lack a child that just ended
        with self._lock:
            kept = [*looks]
        after = next((n for n, one in enumerate(kept) if one.ended_ns > at_ns), len(kept))
        if not 0 < after < len(kept):
            return None  # no sample from before
        late = next((n for n, one in enumerate(kept) if one.begun_ns >= late_ns), len(kept))
        return max(one.written for one in kept[after : late + 2]) - kept[after - 1].written

    def close(self) -> None:
        """Stop sampling."""
        self._end.set()
        thread = self._thread
        if thread is not None:
            thread.join()

    def _go_on(self) -> None:
        while not self._end.wait(max(self._every_s, self._cost_s / SHARE)):
            with self._lock:
                if not self._looks or not self._is_needed():
                    self._looks, self._thread = {}, None
                    return
            self.look()
