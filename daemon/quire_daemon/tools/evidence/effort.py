"""Bound on the cost of evidence, counted in work instead of time, so that every machine decides the same."""

from __future__ import annotations

from typing import Final

LOOK: Final = 128 * 1024 * 1024
"""Effort for one changed file, at most about 25 ms."""

END: Final = LOOK
"""Effort for all changes during a call, at its end."""

LINE: Final = 400


class EffortSpentError(Exception):
    """The next step would exceed the effort."""


class Effort:
    """Remaining effort, in bytes searched, copied or compared in bulk."""

    def __init__(self, left: int = LOOK) -> None:
        self.left = left

    def spend(self, size: int, lines: int = 0) -> None:
        """Deduct `size` bytes, and `lines` lines examined one by one. Raises `EffortSpentError` if the effort is
        exceeded.
        """
        self.left -= size + LINE * lines
        if self.left < 0:
            raise EffortSpentError

    def half(self) -> Effort:
        """Take half of the remaining effort away for one task, and return that half."""
        self.left //= 2
        return Effort(self.left)
