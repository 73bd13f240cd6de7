"""Queue of the paths to look at, with time and evidence of the first event, and due time."""

from __future__ import annotations

import heapq
import math


class DueQueue:
    """Queue of paths by due time. All times are monotonic seconds."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[float, str]] = {}  # path → (time of its first event, evidence)
        self._late: set[str] = set()  # paths that were looked at but are open for writing, or failed
        self._at: dict[str, float] = {}  # path → due time; other entries of `_due` are stale
        self._due: list[tuple[float, int, str]] = []  # (when, tie, path)
        self._tie = 0

    def __contains__(self, path: str) -> bool:
        return path in self._first

    def keep(self, path: str, evidence: str, now: float) -> None:
        """Remember time and evidence of the first event of `path`, without planning a look."""
        self._first.setdefault(path, (now, evidence))

    def name(self, path: str, evidence: str, now: float, at: float | None = None, late: bool = False) -> None:
        """Plan a look at `path`, now or at the time `at`, unless an earlier one is planned. `late`: no caller waits for
        the look.
        """
        self.keep(path, evidence, now)
        (self._late.add if late else self._late.discard)(path)
        at = now if at is None else at
        if at < self.due_s(path):  # else an earlier look is already planned
            self._at[path] = at
            self._tie += 1
            heapq.heappush(self._due, (at, self._tie, path))

    def first(self, path: str) -> tuple[float, str]:
        return self._first[path]

    def due_s(self, path: str) -> float:
        """Return the time of the planned look at `path`; infinite if none is planned."""
        return self._at.get(path, math.inf)

    def is_late(self, path: str) -> bool:
        """True if no caller waits for the look at `path`."""
        return path in self._late

    def take(self, now: float) -> str | None:
        """Remove and return a path that is due; None if none is. After the look, call `name` or `looked`."""
        while self._due and self._due[0][0] <= now:
            at, _, path = heapq.heappop(self._due)
            if self._at.get(path) == at:  # else a stale entry
                del self._at[path]
                return path
        return None

    def looked(self, path: str) -> None:
        del self._first[path]
        self._late.discard(path)
        self._at.pop(path, None)

    @property
    def waiting(self) -> int:
        return len(self._first) - len(self._late)

    @property
    def next_s(self) -> float:
        return self._due[0][0] if self._due else math.inf
