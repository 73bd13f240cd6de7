"""Effort: how much work the evidence of one look may cost, counted so that it comes to the same on every machine."""

from __future__ import annotations

from typing import Final

LOOK: Final = 128 * 1024 * 1024
"""For one file that was found changed: at most some 25 ms."""

END: Final = LOOK
"""For all that was found during a call, when it ends."""

LINE: Final = 400
"""Bytes that can be copied while one line is looked at."""


class EffortSpentError(Exception):
    """What is left to be tried costs more than it may."""


class Effort:
    """What may still be spent: bytes that are searched, copied or compared in bulk."""

    def __init__(self, left: int = LOOK) -> None:
        self.left = left

    def spend(self, size: int, lines: int = 0) -> None:
        """Count so many bytes, and lines that are looked at one by one. Raises `EffortSpentError`."""
        self.left -= size + LINE * lines
        if self.left < 0:
            raise EffortSpentError

    def half(self) -> Effort:
        """Half of what is left, to be spent on one thing; the other half stays."""
        self.left //= 2
        return Effort(self.left)
