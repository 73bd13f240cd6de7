"""Recognises the kind of program (formatter, generator) that made a change. Pure."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from quire_daemon.tools.evidence.effort import Effort
from quire_journal.text import same_end, same_start

COUNTING: Final = 30

HEAD_BYTES: Final = 1024

_LAYOUT: Final = b" \t\r\n\f\v'\"`,;()\\"

_SAYS_SO: Final = re.compile(rb"(?i)\bgenerated\b|\bdo not (?:edit|modify)\b|\bautogen")

_CALLED_SO: Final = re.compile(
    r"(?:^|/)(?:gen|generated|__generated__|snapshots?|__snapshots__|migrations|dist|build|out|vendor|mocks)/"
    r"|[._-](?:gen|generated|pb|pb2|pb2_grpc|g|snap|lock|min)\.?[a-z]*$"
)


def plain_layout(text: bytes) -> bytes:
    """Return the text without the characters that a formatter chooses: blanks, line breaks, quotes, parentheses and
    commas.
    """
    return text.translate(None, _LAYOUT)


def sets_layout(before: bytes, after: bytes, effort: Effort) -> bool:
    """True if only layout, and perhaps the order of lines, changed, as a formatter does. Raises `EffortSpentError`."""
    effort.spend(2 * (len(before) + len(after)))
    was, now = plain_layout(before), plain_layout(after)
    if was == now or len(was) != len(now):
        return was == now
    effort.spend(COUNTING * (len(was) + len(now)))
    return Counter(was) == Counter(now)


def looks_generated(path: str, data: bytes) -> bool:
    """True for a generated file, recognised by its name or its header."""
    return _CALLED_SO.search(path) is not None or _SAYS_SO.search(data[:HEAD_BYTES]) is not None


def least_written(before: bytes, after: bytes) -> int:
    """Return the minimum number of bytes that a program must write to turn `before` into `after`."""
    start = same_start(before, after)
    end = same_end(before, after, start) if len(before) == len(after) else 0
    return len(after) - start - end
