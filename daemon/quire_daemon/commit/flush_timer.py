"""Timer that commits pending records when no request waits for a commit, and retries failed commits."""

from __future__ import annotations

import math
from typing import Final

FLUSH_S: Final = 0.2

AGAIN_S: Final = 1.0


class FlushTimer:
    """Time of the next flush. The argument `wanted` says that records are pending and the journal takes them."""

    def __init__(self) -> None:
        self._at_s = math.inf

    def due(self, wanted: bool, now_s: float) -> bool:
        """True if it is time to flush. Call `done` after a flush that succeeded; otherwise `due` is true again after
        `AGAIN_S`.
        """
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
        self._at_s = math.inf

    def next_look_s(self, wanted: bool, now_s: float) -> float:
        """Monotonic time by which `due` must be called again; infinity if nothing is pending."""
        if not wanted:
            return math.inf
        return now_s + FLUSH_S if self._at_s == math.inf else self._at_s
