"""Changes: what a change of a file says about the kind of program that made it. Pure."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from quire_daemon.tools.evidence.effort import Effort

COUNTING: Final = 30
"""To count a byte takes so many times as long as to copy it."""

HEAD_BYTES: Final = 1024
"""Within so many first bytes a program says that it made a file."""

_LAYOUT: Final = b" \t\r\n\f\v'\"`,;()\\"

_SAYS_SO: Final = re.compile(rb"(?i)\bgenerated\b|\bdo not (?:edit|modify)\b|\bautogen")

_CALLED_SO: Final = re.compile(
    r"(?:^|/)(?:gen|generated|__generated__|snapshots?|__snapshots__|migrations|dist|build|out|vendor|mocks)/"
    r"|[._-](?:gen|generated|pb|pb2|pb2_grpc|g|snap|lock|min)\.?[a-z]*$"
)


def plain_layout(text: bytes) -> bytes:
    """The text without blanks, line breaks, quotes, parentheses and commas, which a formatter sets as it likes."""
    return text.translate(None, _LAYOUT)


def same_but_layout(one: bytes, other: bytes) -> bool:
    """Do the two differ in nothing but what a formatter sets?"""
    return plain_layout(one) == plain_layout(other)


def sets_layout(before: bytes, after: bytes, effort: Effort) -> bool:
    """Does the change set the text anew, and its lines perhaps in another order, as formatters do?

    Raises `EffortSpentError`.
    """
    effort.spend(2 * (len(before) + len(after)))
    was, now = plain_layout(before), plain_layout(after)
    if was == now or len(was) != len(now):
        return was == now
    effort.spend(COUNTING * (len(was) + len(now)))
    return Counter(was) == Counter(now)


def looks_generated(path: str, data: bytes) -> bool:
    """Does a file look like one that programs make, by its name or by what it says of itself?"""
    return _CALLED_SO.search(path) is not None or _SAYS_SO.search(data[:HEAD_BYTES]) is not None
