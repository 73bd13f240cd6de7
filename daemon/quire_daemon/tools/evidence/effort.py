"""The bounded cost of one look's evidence, in work instead of time, so that every machine decides the same."""

from __future__ import annotations

from typing import Final

LOOK: Final = 128 * 1024 * 1024
"""For one changed file: at most some 25 ms."""

END: Final = LOOK
"""For all changes during a call, at its end."""

LINE: Final = 400


class EffortSpentError(Exception):
    """The next attempt would exceed the effort."""


class Effort:
    """The remaining effort, in bytes searched, copied or compared in bulk."""

    def __init__(self, left: int = LOOK) -> None:
        self.left = left

    def spend(self, size: int, lines: int = 0) -> None:
        """Spend so many bytes, and lines examined one by one. Raises `EffortSpentError`."""
        self.left -= size + LINE * lines
        if self.left < 0:
            raise EffortSpentError

    def half(self) -> Effort:
        """Half of the remaining effort for one task; the other half stays."""
        self.left //= 2
        return Effort(self.left)
