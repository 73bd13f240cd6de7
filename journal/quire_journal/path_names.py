"""The names of all paths, held in memory by the one who asks often: numbers are never taken back, so it only grows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quire_journal.log import Reading, u32


class PathNames:
    """Path number → path, of every path that the log names. It is read when it is first asked for."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._answered: tuple[str, int] = "", -1  # the last question, and of how many paths
        self._answer: Sequence[int] = ()

    def matching(self, r: Reading, question: str, fits: Callable[[str], object]) -> Sequence[int]:
        """The numbers of the paths that fit, in their order. `question` says what `fits` asks: pages ask it again."""
        known = len(self._names)
        self._names += [name.decode("utf-8", "surrogateescape") for _, name in r.scan("paths", u32(known + 1))]
        count = r.count("paths")  # `r` may be older than another that asked before it
        if self._answered != (question, count):
            self._answer = [number for number, fit in enumerate(map(fits, self._names[:count]), 1) if fit]
            self._answered = question, count
        return self._answer
