"""Finding any of many texts, in time that grows with what is searched and not with their number.

`a|b|c` tries each text at each place: of three thousand lines that took 15 µs for each byte that was looked at. Here
texts that begin alike share that beginning, as in a tree of their letters, so that a search gives a place up at
the first letter that leads nowhere. What is found is the longest text that stands there.

`AnyOf` makes such an expression of the first letters only, and looks up what stands there in a set: to compile whole
lines of 400 kB took 5 to 20 seconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

DEEPEST: Final = 24
"""How deep branches may be nested; beyond that, texts are tried one by one. `re` gives up at a few hundred."""


HEAD: Final = 8
"""How many letters of each text are in the expression of `AnyOf`. With more of them, fewer places are looked at in
vain."""


class AnyOf:
    """Many texts that are looked for together."""

    def __init__(self, texts: Iterable[bytes]) -> None:
        """None of `texts` may be empty, and there has to be one."""
        self.texts = frozenset(texts)
        heads = {text[:HEAD] for text in self.texts}
        self._sizes: dict[bytes, list[int]] = {head: [] for head in heads}  # of texts that may stand where a head does
        for text in self.texts:
            self._sizes[text[:HEAD]].append(len(text))
        for head, sizes in self._sizes.items():
            shorter = (n for n in range(1, len(head)) if head[:n] in self.texts)
            sizes[:] = sorted({*sizes, *shorter}, reverse=True)
        self._heads = re.compile(any_of(heads))

    def stands_in(self, data: bytes) -> bool:
        """Is one of them in there?"""
        return next(self._found(data), None) is not None

    def replaced(self, data: bytes, by: Callable[[bytes], bytes]) -> bytes:
        """`data` with something else for each."""
        parts, end = [], 0
        for start, upto in self._found(data):
            parts += [data[end:start], by(data[start:upto])]
            end = upto
        return b"".join((*parts, data[end:])) if parts else data

    def _found(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Where they stand, from the first on, none within another: the longest that begins at each place."""
        search, texts, at = self._heads.search, self.texts, 0
        while (head := search(data, at)) is not None:
            start = head.start()
            size = next((n for n in self._sizes[head[0]] if data[start : start + n] in texts), 0)
            if size:
                yield start, start + size
            at = start + (size or 1)


def any_of(texts: Iterable[bytes]) -> bytes:
    """The source of an expression without groups that finds any of `texts`; none of them may be empty."""
    return _after(sorted(set(texts)), 0, 0)


def _after(texts: Sequence[bytes], at: int, depth: int) -> bytes:
    """What follows the first `at` bytes, which all of the sorted texts have."""
    ends = len(texts[0]) == at
    longer = texts[1:] if ends else texts
    if not longer:
        return b""
    if depth == DEEPEST:
        branches = [re.escape(text[at:]) for text in sorted(longer, key=len, reverse=True)]
    else:
        branches = []
        for _, alike in groupby(longer, key=lambda text: text[at]):
            group = list(alike)
            upto = _alike(group[0], group[-1], at)
            branches.append(re.escape(group[0][at:upto]) + _after(group, upto, depth + 1))
    if len(branches) == 1 and not ends:
        return branches[0]
    return b"(?:" + b"|".join(branches) + b")" + (b"?" if ends else b"")


def _alike(one: bytes, other: bytes, at: int) -> int:
    """How many bytes the two begin with that are the same; the first `at` are."""
    while at < min(len(one), len(other)) and one[at] == other[at]:
        at += 1
    return at
