"""Globs as `.gitignore` has them, made into expressions whose time only grows with the length of the path.

pathspec translates a glob star by star, and `re` tries every way of dividing a name among the stars: `*a*a*a*a*a*b` on
a long name of a's takes longer than anybody waits, in the process that answers everybody. But what stands between two
stars may always be taken where it comes first, for the second star reaches whatever a later place would have left. So
each such part becomes an atomic group, which is never tried a second time. The same goes for the folders between two
`**`. What matches is exactly the same.
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
"""pathspec's folders between two names."""

_START: Final = "(?:.+/)?"
"""And before the first one."""

_SET: Final = r"\[\^?\]?(?:\\.|[^\]\\])*\]"
_ONE: Final = rf"(?:\\.|(?:\(\?!/\))?{_SET}|[^\\\[\]()*+?{{}}.^$|/])"
"""In expressions, what matches one character."""

_SETS: Final = re.compile(rf"(\\.|\[\^/\])|({_SET})", re.DOTALL)
_NOT_LITERAL: Final = re.compile(r"[*?/]+")
_WILD: Final = re.compile(r"[*?]")
_GLOB: Final = re.compile(r"[*?\[]")
_UNCLEAR: Final = re.compile(r"[\[\\]")
_STARS: Final = re.compile(r"(?:\[\^/\]\*)+")
_BETWEEN_STARS: Final = re.compile(rf"\[\^/\]\*({_ONE}+)(?=\[\^/\]\*)", re.DOTALL)


def is_glob(path: str) -> bool:
    """Does `path` hold a wildcard?"""
    return _GLOB.search(path) is not None


@lru_cache(maxsize=256)
def matches(glob: str) -> Callable[[str], object]:
    """A function that says of a path whether `glob` matches it; its answer counts as true or false.

    Raises `ValueError` for a glob that could never match, with what is wrong with it.
    """
    try:
        (pattern,) = GitIgnoreSpec.from_lines(["\\" + glob if glob[0] in "!#" else glob]).patterns
        if pattern.regex is None:
            raise ValueError("it matches nothing")
        # As git has them: no set matches "/", and a line break is a character like others.
        source = _SETS.sub(lambda found: found[1] or f"(?!/){found[2]}", pattern.regex.pattern)
        return re.compile(re.sub(r"\$\)\Z", r"\\Z)", linear(source)), re.DOTALL).match
    except GitIgnorePatternError:
        raise ValueError("it is no pattern as in .gitignore") from None
    except re.error as error:
        raise ValueError(str(error)) from None


def common_part(glob: str) -> str:
    """A part of a name that every path has which `glob` matches; "" when none is known, and for what is no glob.

    To look for it takes a fifth of the time that the expression takes, and of most globs it leaves few paths.
    """
    if _UNCLEAR.search(glob) or not _WILD.search(glob):
        return ""
    return max(map(str.strip, _NOT_LITERAL.split(glob)), key=len)


def linear(source: str) -> str:
    """pathspec's expression as one that matches the same, and never looks for a second way to."""
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
