"""Races that a call has lost to outside programs, and what comes of them.

What was swapped in is taken back then, and the call is decided again, on what is there now. Of few files that costs
little, and is done often. Of many it costs their records anew each time: so a file that changes again and again while
it is being undone is left out (it is told as one that changes at this moment), and the others are done without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

TRIES: Final = 10
"""So often one file of several may change between the look at it and the swap, before it is left out."""

TRIES_OF_LONG: Final = 3
"""And so often one of many."""

MOST: Final = 50
"""Races that one call loses, before it is told `busy`."""

MOST_OF_LONG: Final = 8
"""And one that is written in slices; whatever changes once more after half of these is left out at once."""


class LostRaces(msgspec.Struct):
    """Of one call."""

    count: int = 0
    left_out: set[str] = msgspec.field(default_factory=set)  # paths, as in the log, that are not looked at any more
    _by_path: dict[str, int] = msgspec.field(default_factory=dict)

    def lose(self, paths: Sequence[str], several: bool, long: bool) -> bool:
        """A race is lost because of what is at `paths`. Is it worth another try?

        `several`: it was to write more than one file. `long`: so many that it is written in slices.
        """
        self.count += 1
        tries = TRIES if not long else TRIES_OF_LONG if self.count <= MOST_OF_LONG // 2 else 1
        for path in paths:
            self._by_path[path] = self._by_path.get(path, 0) + 1
            if several and self._by_path[path] >= tries:
                self.left_out.add(path)
        return self.count <= (MOST_OF_LONG if long else MOST)
