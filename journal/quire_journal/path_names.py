"""The names of all paths, held in memory by the one who asks often: numbers are never taken back, so it only grows."""

from __future__ import annotations

from collections.abc import Callable

from quire_journal.log import Reading, u32


class PathNames:
    """Path number → path, of every path that the log names. It is read when it is first asked for."""

    def __init__(self) -> None:
        self._names: list[str] = []

    def matching(self, r: Reading, fits: Callable[[str], object]) -> list[int]:
        """The numbers of the paths that fit, in their order."""
        known = len(self._names)
        self._names += [name.decode("utf-8", "surrogateescape") for _, name in r.scan("paths", u32(known + 1))]
        # `r` may be older than another that asked before it.
        return [number for number, fit in enumerate(map(fits, self._names[: r.count("paths")]), 1) if fit]
