"""Path cache: facts about paths and bytes that never change. Only a purge, which replaces records, clears it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Final

from quire_journal.storage import ReadTransaction, u32

MOST_GIT_NAMES: Final = 50_000
"""Maximum number of git hashes in the cache; each takes some 200 bytes."""

_AT_ONCE: Final = 1024  # memory is reused from part to part: reading all at once takes a sixth longer


class PathNames:
    """Path number → path, for every path in the log; read on demand."""

    def __init__(self) -> None:
        self.begun_outside: set[int] = set()
        """Numbers of paths known to begin with a version that no tool made."""
        self.git_names: dict[tuple[bytes, int], str] = {}
        """(blob, digits) → git's hash in hex."""
        self._names: list[str] = []
        self._sorted: list[str] = []
        self._answered: tuple[str, int] = "", -1  # the last query, and the number of paths that it saw
        self._answer: Sequence[int] = ()

    def __len__(self) -> int:
        return len(self._names)

    def all(self, r: ReadTransaction) -> Sequence[str]:
        """Return every path, also those newer than `r`: path number N at index N - 1."""
        while part := r.values("paths", u32(len(self._names) + 1), _AT_ONCE):
            self._names += _decoded(part)
            if len(part) < _AT_ONCE:
                break
        return self._names

    def below(self, r: ReadTransaction, folder: str) -> Iterator[str]:
        """Yield the paths below a folder, sorted."""
        if len(self._sorted) != len(self.all(r)):
            self._sorted = sorted(self._names)
        start = bisect_left(self._sorted, f"{folder}/")
        return takewhile(lambda path: path.startswith(f"{folder}/"), islice(self._sorted, start, None))

    def matching(
        self, r: ReadTransaction, question: str, fits: Callable[[str], object], part: str = "", most: int | None = None
    ) -> Sequence[int]:
        """Return the numbers of the paths for which `fits` returns a true value, in order, at most `most` + 1.
        `question` identifies `fits` and `most`, so that pages reuse the answer; `part`, in every fitting path, is
        tested first for speed.
        """
        count = r.count("paths")  # `r` may be older than the last query's
        names = self.all(r)
        if self._answered != (question, count):
            known_then = names if count == len(names) else names[:count]
            fitting = (number for number, path in enumerate(known_then, 1) if part in path and fits(path))
            self._answer = list(fitting if most is None else islice(fitting, most + 1))
            self._answered = question, count
        return self._answer


def _decoded(names: Sequence[bytes]) -> list[str]:
    return b"\0".join(names).decode("utf-8", "surrogateescape").split("\0")
