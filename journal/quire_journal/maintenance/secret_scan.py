"""Secret scan: search for headers of private keys, and tokens with the prefix of their issuer; passwords have no
recognizable form. A source file of 2,700 lines takes a millisecond; in an edit, or after a version without a secret,
only changed lines are scanned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from quire_journal.model import MOST_NAME, plain_name
from quire_journal.text import common_bytes

KINDS: Final[tuple[tuple[str, bytes], ...]] = (
    ("a private key", rb"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"),
    ("a GitHub token", rb"gh[opsur]_[A-Za-z0-9]{36,255}(?![A-Za-z0-9_])"),
    ("a GitHub token", rb"github_pat_[A-Za-z0-9_]{60,255}(?![A-Za-z0-9_])"),
    (
        "an API key",  # Anthropic, OpenAI, and others that adopted the form
        rb"sk-(?:(?:ant-|proj-|svcacct-)[A-Za-z0-9_-]{32,200}|[A-Za-z0-9]{40,64}(?![A-Za-z0-9_-]))",
    ),
    ("a Slack token", rb"xox[abeoprs]-(?:[A-Za-z0-9]{1,40}-){1,4}[A-Za-z0-9]{20,64}"),
    ("an AWS key id", rb"AKIA[A-Z2-7]{16}(?![A-Z0-9])"),
    ("a Google API key", rb"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    ("a GitLab token", rb"glpat-[A-Za-z0-9_-]{20,64}(?![A-Za-z0-9_-])"),
    ("an npm token", rb"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9_])"),
    ("a Stripe key", rb"sk_live_[A-Za-z0-9]{24,99}(?![A-Za-z0-9_])"),
)
"""(name, pattern); each begins with its literal prefix, for speed. A word character before a match, or `EXAMPLE` in it,
excludes the match.
"""

# No pattern crosses a line break: `find_new` relies on it.
_PATTERNS: Final = tuple((kind, re.compile(pattern)) for kind, pattern in KINDS)
_WORD: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")


_LONG: Final = 26
_SHORTER: Final = (b"-----BEGIN ", b"AKIA")
"""Literals of the patterns that can match fewer than `_LONG` token characters in a row."""
_TOKEN: Final = bytes(ord("a") if char in _WORD or char == ord("-") else ord(" ") for char in range(256))


class SecretText(NamedTuple):
    kind: str  # "a GitHub token"
    at: int  # offset in bytes


def find(data: bytes) -> SecretText | None:
    """Return the first secret found in `data`; None if there is none. Kinds are tried in the order of `KINDS`."""
    if not _possible(data):
        return None
    for kind, pattern in _PATTERNS:
        for match in _secrets(data, pattern):
            return SecretText(kind, match.start())
    return None


def _secrets(data: bytes, pattern: re.Pattern[bytes]) -> Iterator[re.Match[bytes]]:
    for match in pattern.finditer(data):
        at = match.start()
        if (at == 0 or data[at - 1] not in _WORD) and b"EXAMPLE" not in match[0].upper():
            yield match


MOST_OF_NAME: Final = 4 * MOST_NAME
"""Maximum number of characters of a name that are scanned; at most `MOST_NAME` are shown."""

MOST_NAMES: Final = 512

_CLOSING: Final = re.compile(rb"-----END [^\n-]*-----")
"""Last line of a PEM block, at which a private key ends."""


def redacted(text: str) -> str:
    """Return the text with each secret replaced by its kind."""
    data = text.encode("utf-8", "replace")
    if _possible(data):
        for kind, pattern in _PATTERNS:
            data = _masked(data, kind, pattern)
    return data.decode("utf-8", "replace")


def masked_name(text: str) -> str:
    """Return `plain_name` with each secret replaced by its kind. Equal names stay equal and
    different names different.
    """
    return plain_name(text, _name_shown(text[:MOST_OF_NAME]))


@lru_cache(MOST_NAMES)
def _name_shown(text: str) -> str:
    return redacted(text)


def _masked(data: bytes, kind: str, pattern: re.Pattern[bytes]) -> bytes:
    kept, done = bytearray(), 0
    for match in _secrets(data, pattern):
        if match.start() >= done:
            kept += data[done : match.start()] + f"[{kind}]".encode()
            done = _end(match)
    return bytes(kept + data[done:])


def _end(match: re.Match[bytes]) -> int:
    if not match[0].startswith(b"-----BEGIN "):
        return match.end()
    closing = _CLOSING.search(match.string, match.end())
    return closing.end() if closing is not None else len(match.string)


def find_new(data: bytes, before: bytes) -> SecretText | None:
    """Return the first secret in the lines of `data` that differ from `before`, a version without secrets; None if
    there is none.
    """
    head, tail = common_bytes(before, data)
    found = find(data[head : len(data) - tail])
    return None if found is None else found._replace(at=found.at + head)


def _possible(data: bytes) -> bool:
    return b"a" * _LONG in data.translate(_TOKEN) or any(short in data for short in _SHORTER)
