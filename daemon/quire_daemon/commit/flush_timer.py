"""Timer of flushes: when events that nobody waits for are committed, and retries."""

from __future__ import annotations

import math
from typing import Final

FLUSH_S: Final = 0.2

AGAIN_S: Final = 1.0


class FlushTimer:
    """Time of the next flush. `wanted`: there is something to flush, and a log that may take it."""

    def __init__(self) -> None:
        self._at_s = math.inf

    def due(self, wanted: bool, now_s: float) -> bool:
        """True if it is time to flush; the caller then calls `done` on success."""
        if not wanted:
            self._at_s = math.inf
            return False
        if self._at_s == math.inf:
            self._at_s = now_s + FLUSH_S
        if now_s < self._at_s:
            return False
        self._at_s = now_s + AGAIN_S
        return True

    def done(self) -> None:
        """Record a flush."""
        self._at_s = math.inf

    def next_look_s(self, wanted: bool, now_s: float) -> float:
        """Latest time at which `due` should be called again."""
        if not wanted:
            return math.inf
        return now_s + FLUSH_S if self._at_s == math.inf else self._at_s
