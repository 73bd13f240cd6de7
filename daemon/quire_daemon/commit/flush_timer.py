"""When what nobody waits for goes into the log: a while after it was noted, and where that failed, later again."""

from __future__ import annotations

import math
from typing import Final

FLUSH_S: Final = 0.2
"""How long an event that nobody waits for may stay out of the log while the loop is idle."""

AGAIN_S: Final = 1.0
"""Between two tries to commit where the store takes nothing: a full disk is not asked without a pause."""


class FlushTimer:
    """The time of the next flush. `wanted`: there is something to flush, and a log that may take it."""

    def __init__(self) -> None:
        self._at_s = math.inf

    def due(self, wanted: bool, now_s: float) -> bool:
        """Is it time? Who is told so flushes, and calls `done` when that went well."""
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
        """Everything is in the log."""
        self._at_s = math.inf

    def next_look_s(self, wanted: bool, now_s: float) -> float:
        """When the loop should come here again, at the latest."""
        if not wanted:
            return math.inf
        return now_s + FLUSH_S if self._at_s == math.inf else self._at_s
