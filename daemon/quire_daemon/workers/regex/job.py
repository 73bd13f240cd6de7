"""A search and replacement by regular expression, and its results. Pure functions with unbounded run time.

Only killing its process stops a running `re` match. Only `re` and msgspec are imported, so that the process starts
fast.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

Edit: TypeAlias = tuple[int, int, bytes]
"""(start, stop, new bytes): replace bytes [start, stop) of a text with LF line ends."""


class Search(msgspec.Struct, frozen=True, array_like=True):
    """A regular expression, its replacement, and the text to apply both to."""

    pattern: str
    replacement: str
    count: int  # most replacements, from the top; 0: all
    text: bytes  # with LF at its line ends, without a byte order mark
    most_bytes: int  # size limit of the result


class _Answer(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Base class of the results of a search."""


class Replacements(_Answer, frozen=True):
    """Edits of a search, sorted. Replacements on one line are one edit; `made` counts each."""

    made: int
    edits: tuple[Edit, ...] = ()
    beyond: bool = False  # a replacement comes after the final line break


class BadPattern(_Answer, frozen=True):
    why: str
    position: int | None = None  # 0-based, in characters of the pattern


class BadReplacement(_Answer, frozen=True):
    why: str
    position: int | None = None


class ResultTooLarge(_Answer, frozen=True):
    """The text would grow to `size` bytes, more than allowed."""

    size: int


class TimedOut(_Answer, frozen=True):
    """The search was stopped at its limit."""

    limit_ms: int


class SearchFailure(_Answer, frozen=True):
    """The search failed for another reason, such as lack of memory."""

    why: str
    limit: Literal["", "threads", "descriptors", "memory"] = ""  # limit of the machine that was reached


Answer: TypeAlias = Replacements | BadPattern | BadReplacement | ResultTooLarge | TimedOut | SearchFailure


class NeedsSearch(Exception):
    """Raised by a decision that needs this search; it is repeated with the result in `World.found`."""

    def __init__(self, search: Search) -> None:
        super().__init__()
        self.search = search


NO_TEXT: Final = "\ufffd"
r"""U+FFFD, shown for bytes that are not UTF-8, so that a pattern with it matches nothing. Escaped as `\ufffd` it
matches the character itself.
"""

_MARK: Final = "\ud800"


def run(search: Search) -> Answer:
    """Apply `search` like `re.sub`, with `^` and `$` at every line."""
    try:
        return _run(search)
    except MemoryError:
        return SearchFailure("it needs more memory than a search may have")


def _run(search: Search) -> Answer:
    try:
        with warnings.catch_warnings(action="ignore"):  # warnings about future meanings of sets
            pattern = re.compile(_lf(search.pattern), re.MULTILINE)
    except re.error as error:
        return BadPattern(error.msg, error.pos)
    except (OverflowError, ValueError) as error:
        return BadPattern(str(error))
    except RecursionError:
        return BadPattern("it is nested too deeply")
    try:
        pattern.sub(search.replacement, "", 1)
    except re.error as error:
        return BadReplacement(error.msg, error.pos)
    except (IndexError, OverflowError, ValueError) as error:
        return BadReplacement(str(error))
    if NO_TEXT in search.pattern:
        return Replacements(0)
    # One pass in C: each match becomes itself and its replacement, separated by marks.
    marked = f"{_MARK}\\g<0>{_MARK}{search.replacement}{_MARK}"
    text = search.text.decode("utf-8", "surrogateescape")
    parts = _lf(pattern.sub(marked, text, min(search.count, sys.maxsize))).split(_MARK)
    edits = tuple(_edits(parts, len if text.isascii() else _size))
    size = len(search.text) + sum(len(new) - (stop - start) for start, stop, new in edits)
    if size > search.most_bytes:
        return ResultTooLarge(size)
    made = len(parts) // 3
    beyond = bool(made) and text.endswith("\n") and not parts[-3] and not parts[-1] and bool(parts[-2])
    return Replacements(made, edits, beyond)


def _edits(parts: Sequence[str], size: Callable[[str], int]) -> Iterator[Edit]:
    start = stop = 0
    new: list[str] = []
    for gap, old, made in zip(parts[0:-1:3], parts[1::3], parts[2::3], strict=True):
        begins = stop + size(gap)
        if new and "\n" not in gap:
            new += gap, made
        else:
            if new:
                yield start, stop, _bytes(new)
            start, new = begins, [made]
        stop = begins + size(old)
    if new:
        yield start, stop, _bytes(new)


def _bytes(parts: Sequence[str]) -> bytes:
    return "".join(parts).encode("utf-8", "surrogateescape")


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
