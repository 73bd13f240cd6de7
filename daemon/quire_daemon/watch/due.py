"""The paths that are to be looked at: since when, how that was found out, and from when on each may be looked at."""

from __future__ import annotations

import heapq
import math


class DueQueue:
    """Each path until it has been looked at. All times are monotonic seconds."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[float, str]] = {}  # path → (when it was named first, evidence)
        self._late: set[str] = set()  # those that were looked at: held open, or a look failed
        self._at: dict[str, float] = {}  # path → when it is due; what else `_due` has of it does not count
        self._due: list[tuple[float, int, str]] = []  # (when, tie, path)
        self._tie = 0

    def __contains__(self, path: str) -> bool:
        return path in self._first

    def keep(self, path: str, evidence: str, now: float) -> None:
        """It is to be looked at, and the caller sees to that."""
        self._first.setdefault(path, (now, evidence))

    def name(self, path: str, evidence: str, now: float, at: float | None = None, late: bool = False) -> None:
        """Look at it, soon or from `at` on. `late`: it has been looked at, and nobody waits for the next time."""
        self.keep(path, evidence, now)
        (self._late.add if late else self._late.discard)(path)
        at = now if at is None else at
        if at < self._at.get(path, math.inf):  # else it is looked at before that, and once is enough
            self._at[path] = at
            self._tie += 1
            heapq.heappush(self._due, (at, self._tie, path))

    def first(self, path: str) -> tuple[float, str]:
        """When it was named first, and the evidence."""
        return self._first[path]

    def is_late(self, path: str) -> bool:
        """Has it been looked at, and is it to be looked at again?"""
        return path in self._late

    def take(self, now: float) -> str | None:
        """One whose time has come; it has to be named again unless it is `looked` at. None where there is none."""
        while self._due and self._due[0][0] <= now:
            at, _, path = heapq.heappop(self._due)
            if self._at.get(path) == at:  # else another time came before this one
                del self._at[path]
                return path
        return None

    def looked(self, path: str) -> None:
        """It has been looked at, and that is all."""
        del self._first[path]
        self._late.discard(path)
        self._at.pop(path, None)

    @property
    def waiting(self) -> int:
        """How many have not been looked at since they were named."""
        return len(self._first) - len(self._late)

    @property
    def next_s(self) -> float:
        """When the next is due."""
        return self._due[0][0] if self._due else math.inf
