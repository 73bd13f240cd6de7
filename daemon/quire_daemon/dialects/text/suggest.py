"""Finds lines similar to a text that is not in the file. They are only shown in refusals; no edit is applied to them.

A difference only in whitespace, similar characters, escapes or the line prefixes of a read is named. Otherwise the most
similar line is shown.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Final
from unicodedata import normalize

from quire_daemon.dialects.text.find import normalised
from quire_journal.model import Refusal
from quire_journal.text import Text, shown

COMPARED_LINES: Final = 20_000
"""Maximum number of lines compared. In a longer file only lines with the longest word of the text are compared."""

COMPARED_BYTES: Final = 256 * 1024
"""Maximum size in bytes of a file that is searched for other spellings of the text."""

LEAST_SIMILAR: Final = 60.0

SHOWN_LINES: Final = 5
SHOWN_CHARS: Final = 400
SHOWN_CODES: Final = 8

_UNREADABLE: Final = "\ufffd"
_BLANKS: Final = b" \t\n\r\v\f"
_WORD: Final = re.compile(rb"\w+")

_PREFIX: Final = re.compile(rb"[ +-]*(?:>>> )?\d+(?:#[0-9a-f]{4,8}(?: \[\w+\])?)?[|:\t]")
_ESCAPE: Final = re.compile(r"""\\(?:[nrt]|(?=["'`\\]))""")

_LOOK_ALIKE: Final = (
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"')
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", "")
)
"""Map from characters that look like an ASCII character to that character; invisible characters map to ""."""

_LOOKS_ALIKE: Final = re.compile(f"[{''.join(_LOOK_ALIKE)}]")  # `str.translate` takes ten times as long


def not_in(text: Text, old: str, message: str, **details: Any) -> Refusal:
    """Build the refusal `old_text_not_found`, with the most similar lines in `near_miss` if there are any."""
    near = nearest(text, old)
    if near is not None:
        details["near_miss"] = near
    return Refusal("old_text_not_found", message + why_not(old, near), "re-read_file", **details)


def why_not(old: str, near: dict[str, Any] | None) -> str:
    """Return sentences that explain why `old` was not found, to append to a message; "" if nothing explains it."""
    said = " U+FFFD is shown for bytes that are not UTF-8; it never matches." if _UNREADABLE in old else ""
    if near is not None:
        how = _HOW_NEAR.get(near["differs"], "comes nearest to it")
        said += f" Line {near['line']} {how}{_by_code(near)}: {near['text'][:SHOWN_CHARS]!r}."
    return said


_HOW_NEAR: Final = {
    "whitespace": "differs from it in blanks only",
    "look_alike": "only looks like it",
    "escapes": "differs from it in escapes only, such as \\n or &amp;",
    "prefixed": "is it without what reads put before a line",
    "longer": "goes on behind it",
}


def _by_code(near: dict[str, Any]) -> str:
    told = [f"{how} {', '.join(near[how][:SHOWN_CODES])}" for how in ("with", "without") if near.get(how)]
    return f" ({' and '.join(told)})" if told else ""


def nearest(text: Text, old: str) -> dict[str, Any] | None:
    """Return the lines most similar to `old` (see `near_miss`); None if none is similar. `differs` says how:
    `whitespace`, `look_alike` (similar characters; `with` lists those only in the file, `without` those only in `old`),
    `escapes` (only in escapes such as `&amp;`), `prefixed` (`old` has the line prefixes of a read) or `similar`.
    """
    wanted = normalised(old)
    return _told(text, old, _seen_alike(text, old, _holding) or _prefixed(text, wanted) or _similar(text, wanted))


def nearest_line(text: Text, line: str) -> dict[str, Any] | None:
    """Return the line most similar to `line`, in the form of `near_miss`; None if none is similar. `differs` is as for
    `nearest`, or `longer` if a line begins with `line`.
    """
    wanted = normalised(line)
    found = _seen_alike(text, line, _saying) or _beginning_with(text, wanted.strip()) or _prefixed(text, wanted)
    return _told(text, line, found or _similar(text, wanted))


def near_miss(text: Text, start: int, stop: int, differs: str) -> dict[str, Any]:
    """Describe lines [start, stop) of `text` for a refusal: line numbers from 1, the first lines' text, and
    `differs`.
    """
    return {
        "line": start + 1,
        "end_line": stop,
        "text": shown(b"\n".join(text.lines[start : min(stop, start + SHOWN_LINES)]))[:SHOWN_CHARS],
        "differs": differs,
    }


_Lines = tuple[int, int]
_Seen = Callable[[bytes], bytes]


def _told(text: Text, old: str, found: tuple[_Lines, str] | None) -> dict[str, Any] | None:
    if found is None:
        return None
    (start, stop), differs = found
    near = near_miss(text, start, stop, differs)
    if differs == "look_alike":
        there = shown(b"\n".join(text.lines[start:stop]))
        near |= {"with": _codes(there, old), "without": _codes(old, there)}
    return near


def _seen_alike(
    text: Text, old: str, place: Callable[[Text, bytes, _Seen], _Lines | None]
) -> tuple[_Lines, str] | None:
    if _UNREADABLE in old:
        return None
    wanted, whole = normalised(old), text.normalised
    ways: list[tuple[_Seen, str]] = [(_without_blanks, "whitespace")]
    if len(text.data) <= COMPARED_BYTES:
        if not (wanted.isascii() and whole.isascii()):
            ways.append((_as_it_looks, "look_alike"))
        if any(mark in said for said in (wanted, whole) for mark in (b"\\", b"&")):
            ways.append((_without_escapes, "escapes"))
    tried = ((place(text, wanted, seen), differs) for seen, differs in ways)
    return next(((lines, differs) for lines, differs in tried if lines is not None), None)


def _holding(text: Text, wanted: bytes, seen: _Seen) -> _Lines | None:
    solid = seen(wanted)
    at = seen(text.normalised).find(solid) if solid else -1
    if at < 0:
        return None
    ends = [*accumulate(len(seen(line)) for line in text.lines)]
    return bisect_right(ends, at), bisect_right(ends, at + len(solid) - 1) + 1


def _saying(text: Text, wanted: bytes, seen: _Seen) -> _Lines | None:
    solid = seen(wanted)
    if not solid or solid not in seen(text.normalised):  # one search of the whole text, before the slow search by lines
        return None
    line = next((n for n, line in enumerate(text.lines) if seen(line) == solid), None)
    return None if line is None else (line, line + 1)


def _beginning_with(text: Text, wanted: bytes) -> tuple[_Lines, str] | None:
    if not wanted or wanted not in text.normalised:
        return None
    line = next((n for n, line in enumerate(text.lines) if line.lstrip().startswith(wanted)), None)
    return None if line is None else ((line, line + 1), "longer")


def _prefixed(text: Text, wanted: bytes) -> tuple[_Lines, str] | None:
    lines = wanted.removesuffix(b"\n").split(b"\n")
    found = [_PREFIX.match(line) for line in lines]
    bare = [line[match.end() :] for line, match in zip(lines, found, strict=True) if match is not None]
    held = _holding(text, b"\n".join(bare), _without_blanks) if len(bare) == len(lines) else None
    return None if held is None else (held, "prefixed")


def _without_blanks(said: bytes) -> bytes:
    return said.translate(None, _BLANKS)


def _as_it_looks(said: bytes) -> bytes:
    if not said.isascii():
        plainer = _LOOKS_ALIKE.sub(lambda found: _LOOK_ALIKE[found[0]], shown(said))
        said = normalize("NFKC", plainer).encode()
    return said.translate(None, _BLANKS)


def _without_escapes(said: bytes) -> bytes:
    from html import unescape

    return _without_blanks(_ESCAPE.sub("", unescape(shown(said))).encode())


def _codes(some: str, others: str) -> list[str]:
    return [f"U+{ord(char):04X}" for char in sorted({*some} - {*others}) if not char.isascii()]


def _similar(text: Text, wanted: bytes) -> tuple[_Lines, str] | None:
    probe = max((line.strip() for line in wanted.split(b"\n")), key=len)[:SHOWN_CHARS]
    if not probe:
        return None
    rows: Sequence[int] = range(len(text))
    if len(rows) > COMPARED_LINES:
        word = max(_WORD.findall(probe), key=len, default=probe)
        rows = [i for i, line in enumerate(text.lines) if word in line][:COMPARED_LINES]
    from rapidfuzz import fuzz, process  # imported late, as most daemons never need it

    best = process.extractOne(
        probe, [text.lines[i].strip()[:SHOWN_CHARS] for i in rows], scorer=fuzz.ratio, score_cutoff=LEAST_SIMILAR
    )
    if best is None:
        return None
    line = rows[best[2]]
    return (line, line + 1), "similar"
