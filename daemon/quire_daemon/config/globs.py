"""Matching of paths with `.gitignore` patterns in linear time.

pathspec translates each `*` by itself, and `re` then backtracks over every split: `*a*a*a*a*a*b` on a long name would
block the daemon. The text between two stars can always match at its first occurrence, so it becomes an atomic group;
likewise folders between two `**`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore import GitIgnorePatternError

_STAR: Final = "[^/]*"
_GAP: Final = "(?:/.+)?/"
"""pathspec's expression for folders between two names."""

_START: Final = "(?:.+/)?"
"""pathspec's expression for folders before the first name."""

_SET: Final = r"\[\^?\]?(?:\\.|[^\]\\])*\]"
_ONE: Final = rf"(?:\\.|(?:\(\?!/\))?{_SET}|[^\\\[\]()*+?{{}}.^$|/])"

_SETS: Final = re.compile(rf"(\\.|\[\^/\])|({_SET})", re.DOTALL)
_NOT_LITERAL: Final = re.compile(r"[*?/]+")
_WILD: Final = re.compile(r"[*?]")
_GLOB: Final = re.compile(r"[*?\[]")
_UNCLEAR: Final = re.compile(r"[\[\\]")
_STARS: Final = re.compile(r"(?:\[\^/\]\*)+")
_BETWEEN_STARS: Final = re.compile(rf"\[\^/\]\*({_ONE}+)(?=\[\^/\]\*)", re.DOTALL)


def is_glob(path: str) -> bool:
    return _GLOB.search(path) is not None


@lru_cache(maxsize=256)
def matches(glob: str) -> Callable[[str], object]:
    """Return a function that says whether a path matches `glob` (`.gitignore` syntax, not empty). Raises `ValueError`
    if it is invalid or no path can match.
    """
    try:
        (pattern,) = GitIgnoreSpec.from_lines(["\\" + glob if glob[0] in "!#" else glob]).patterns
        if pattern.regex is None:
            raise ValueError("it matches nothing")
        # As in git: no set matches "/", and a newline is an ordinary character.
        source = _SETS.sub(lambda found: found[1] or f"(?!/){found[2]}", pattern.regex.pattern)
        return re.compile(re.sub(r"\$\)\Z", r"\\Z)", linear(source)), re.DOTALL).match
    except GitIgnorePatternError:
        raise ValueError("it is no pattern as in .gitignore") from None
    except re.error as error:
        raise ValueError(str(error)) from None


def common_part(glob: str) -> str:
    """Return a text that every path matched by `glob` contains; "" if none is known or `glob` has no wildcard."""
    if _UNCLEAR.search(glob) or not _WILD.search(glob):
        return ""
    return max(map(str.strip, _NOT_LITERAL.split(glob)), key=len)


def linear(source: str) -> str:
    """Return a regular expression that matches as `source` (a glob translated by pathspec), without backtracking."""
    source = _STARS.sub(lambda _: _STAR, source)
    source = _BETWEEN_STARS.sub(lambda found: f"(?>[^/]*?{found[1]})", source)
    first, *others = source.split(_GAP)
    if not others:
        return source
    *between, last = others
    anchor = "^" if first.startswith("^") else ""
    if first.startswith(anchor + _START):
        first = f"{anchor}(?>(?:.+?/)??{first[len(anchor + _START) :]}(?=/))"
    return "".join([first, *(f"(?>(?:/.+?)??/{names}(?=/))" for names in between), _GAP, last])
