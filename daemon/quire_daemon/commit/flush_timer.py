"""Timer that commits records for which no request waits, and repeats failed commits."""

from __future__ import annotations

import math
from typing import Final

FLUSH_S: Final = 0.2

AGAIN_S: Final = 1.0


class FlushTimer:
    """Time of the next flush (commit). The argument `wanted` says that events wait and the journal can take them."""

    def __init__(self) -> None:
        self._at_s = math.inf

    def due(self, wanted: bool, now_s: float) -> bool:
        """Return True once events have waited `FLUSH_S` seconds, then every `AGAIN_S` seconds until `done` is
        called.
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
        """Return the monotonic time by which to call `due` again; infinite if no events are pending."""
        if not wanted:
            return math.inf
        return now_s + FLUSH_S if self._at_s == math.inf else self._at_s
