"""What never changes about paths and bytes, held in memory for a caller that asks often: their names and numbers.

So it only grows. A purge, which puts other records in the place of some, makes it forget what those said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

from quire_journal.storage import ReadTransaction, u32

MOST_GIT_NAMES: Final = 50_000
"""Names in git that are kept, a fifth of a kilobyte each. To find one takes the time to unpack and hash its bytes."""

_AT_ONCE: Final = 1024  # the memory for a part serves the next one: all in one part takes a sixth longer, cold


class PathNames:
    """Path number → path, of every path that the log names. It is read when it is first asked for.

    A daemon with many paths reads them before the first question (`History.read_names`).
    """

    def __init__(self) -> None:
        self.begun_outside: set[int] = set()
        """Numbers of paths whose first version no tool made, as far as somebody asked."""
        self.git_names: dict[tuple[bytes, int], str] = {}
        """(Address of bytes, digits of the name) → their name in git, as far as somebody asked."""
        self._names: list[str] = []
        self._answered: tuple[str, int] = "", -1  # the last question, and of how many paths
        self._answer: Sequence[int] = ()

    def __len__(self) -> int:
        """How many are held."""
        return len(self._names)

    def all(self, r: ReadTransaction) -> Sequence[str]:
        """Every path that the log names, that with number 1 first; and those that an older `r` does not know yet."""
        while part := r.values("paths", u32(len(self._names) + 1), _AT_ONCE):
            self._names += _decoded(part)
            if len(part) < _AT_ONCE:
                break
        return self._names

    def matching(
        self, r: ReadTransaction, question: str, fits: Callable[[str], object], part: str = "", most: int | None = None
    ) -> Sequence[int]:
        """The numbers of the paths that fit, in their order; of more than `most` the first `most` + 1.

        `question` says what `fits` and `most` ask: pages ask it again. Every path that fits has `part` in it, which is
        asked of it first: that takes a fifth of the time of an expression.
        """
        count = r.count("paths")  # `r` may be older than another that asked before it
        names = self.all(r)
        if self._answered != (question, count):
            known_then = names if count == len(names) else names[:count]
            fitting = (number for number, path in enumerate(known_then, 1) if part in path and fits(path))
            self._answer = list(fitting if most is None else islice(fitting, most + 1))
            self._answered = question, count
        return self._answer


def _decoded(names: Sequence[bytes]) -> list[str]:
    """All of them at once, which takes a third of the time: no path has a NUL, and none ends within another's bytes."""
    return b"\0".join(names).decode("utf-8", "surrogateescape").split("\0")
