"""Definitions: the function, class or heading around a line, found by indentation, as a parser takes some ten ms a
file. A line that begins like a definition encloses all lines below it that are indented more.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import Final

MOST_LINES: Final = 5000

_NAME: Final = rb"([A-Za-z_$][\w$]*)"
_BRACES: Final = re.compile(
    rb"^\s*(?:[\w:<>,*&\[\]@()]+\s+)*?"
    rb"(?:(?:class|interface|enum|struct|trait|impl|mod|namespace|module|record|object|fn|func|fun|function\*?)\s+"
    rb"(?:\([^)]*\)\s*)?"
    + _NAME
    + rb"|(?:const|let|var)\s+"
    + _NAME
    + rb"\s*=\s*(?:async\s*)?(?:\(|function\b|\w+\s*=>)"
    rb"|" + _NAME + rb"\s*\([^;]*\)[^;={]*\{\s*$)"
)
_FORMS: Final = {
    **dict.fromkeys((".py", ".pyi", ".pyx"), re.compile(rb"^\s*(?:async\s+def|def|class)\s+" + _NAME)),
    ".rb": re.compile(rb"^\s*(?:def|class|module)\s+(?:self\.)?" + _NAME),
    **dict.fromkeys((".sh", ".bash"), re.compile(rb"^\s*(?:function\s+)?" + _NAME + rb"\s*\(\)")),
    **dict.fromkeys((".toml", ".ini", ".cfg"), re.compile(rb"^\s*\[+\s*([^\]]+?)\s*\]")),
    **dict.fromkeys(
        (
            *(".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".java", ".kt", ".kts", ".scala", ".swift"),
            *(".cs", ".dart", ".go", ".rs", ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".php"),
        ),
        _BRACES,
    ),
}
"""File suffix → pattern of a definition's first line; the first group that matches is its name."""

_HEADINGS: Final = (".toml", ".ini", ".cfg")

_NO_NAMES: Final = frozenset(
    (b"if", b"for", b"while", b"switch", b"catch", b"return", b"else", b"do", b"with", b"match")
)


def definitions_at(path: str, lines: Sequence[bytes], places: Iterable[int]) -> list[str]:
    """Return the names of the definitions around these lines (from 0), such as `Clock.now_ns`. Empty for unknown file
    types.
    """
    suffix = posixpath.splitext(path)[1].lower()
    form = _FORMS.get(suffix)
    if form is None:
        return []
    around = _heading if suffix in _HEADINGS else _around
    named = [place for place in places if lines]
    told = [place for place in named if place < len(lines) and lines[place].strip()]
    found = (around(form, lines, place) for place in told or named)
    return [*dict.fromkeys(name for name in found if name)]


def _heading(form: re.Pattern[bytes], lines: Sequence[bytes], place: int) -> str:
    at = min(place, len(lines) - 1)
    above = (_name(form, lines[row]) for row in range(at, max(at - MOST_LINES, -1), -1))
    return next(filter(None, above), "")


def _around(form: re.Pattern[bytes], lines: Sequence[bytes], place: int) -> str:
    at = min(place, len(lines) - 1)
    while at < len(lines) - 1 and not lines[at].strip():
        at += 1  # an empty line belongs to the lines after it
    names: list[str] = []
    first = lines[at].lstrip()
    # A closing bracket ends what begins at its depth: the signature or the body of the definition above.
    limit = len(lines[at]) - len(first) + 1 if first.startswith((b")", b"]", b"}")) else None
    for row in range(at, max(at - MOST_LINES, -1), -1):
        line = lines[row]
        depth = len(line) - len(line.lstrip())
        if not line.strip() or (limit is not None and depth >= limit):
            continue
        name = _name(form, line)
        if name:
            names.append(name)
        if name or limit is None or not line.lstrip().startswith((b"#", b"//", b")", b"}", b"*")):
            limit = depth
        if limit == 0:
            break
    return ".".join(reversed(names))


def _name(form: re.Pattern[bytes], line: bytes) -> str:
    found = form.match(line[:400])
    name = next((group for group in found.groups() if group), b"") if found is not None else b""
    return "" if name in _NO_NAMES else name.decode("utf-8", "replace")
