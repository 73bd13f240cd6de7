"""Does a text hold a secret? Headers of private keys and tokens that carry the prefix of who issued them.

Only what is hardly ever anything else: a token has its issuer's prefix, its length and its alphabet. Passwords have no
form, so nobody finds them here. The literal prefixes are looked for first, which costs some ten microseconds for a
source file; the pattern is only tried on texts that have one.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

KINDS: Final[tuple[tuple[str, bytes, bytes], ...]] = (
    ("a private key", b"-----BEGIN ", rb"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"),
    *(
        ("a GitHub token", prefix, rb"(?<![A-Za-z0-9_])" + prefix + rb"[A-Za-z0-9]{36,255}(?![A-Za-z0-9_])")
        for prefix in (b"ghp_", b"gho_", b"ghs_", b"ghu_", b"ghr_")
    ),
    ("a GitHub token", b"github_pat_", rb"(?<![A-Za-z0-9_])github_pat_[A-Za-z0-9_]{60,255}(?![A-Za-z0-9_])"),
    ("an Anthropic key", b"sk-ant-", rb"(?<![A-Za-z0-9-])sk-ant-[A-Za-z0-9_-]{32,200}"),
    ("an OpenAI key", b"sk-", rb"(?<![A-Za-z0-9_-])sk-(?:proj-|svcacct-)[A-Za-z0-9_-]{32,200}"),
    ("an OpenAI key", b"sk-", rb"(?<![A-Za-z0-9_-])sk-[A-Za-z0-9]{40,64}(?![A-Za-z0-9_-])"),
    ("a Slack token", b"xox", rb"(?<![A-Za-z0-9])xox[abeoprs]-(?:[A-Za-z0-9]{1,40}-){1,4}[A-Za-z0-9]{20,64}"),
    ("an AWS key id", b"AKIA", rb"(?<![A-Z0-9])AKIA[A-Z2-7]{16}(?![A-Z0-9])"),
    ("a Google API key", b"AIza", rb"(?<![A-Za-z0-9_-])AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    ("a GitLab token", b"glpat-", rb"(?<![A-Za-z0-9_-])glpat-[A-Za-z0-9_-]{20,64}(?![A-Za-z0-9_-])"),
    ("an npm token", b"npm_", rb"(?<![A-Za-z0-9_])npm_[A-Za-z0-9]{36}(?![A-Za-z0-9_])"),
    ("a Stripe key", b"_live_", rb"(?<![A-Za-z0-9_])[rs]k_live_[A-Za-z0-9]{24,99}(?![A-Za-z0-9_])"),
)
"""(what it is, bytes that each of them has, pattern). `EXAMPLE` in one says that it is none."""

_PATTERNS: Final = tuple((kind, literal, re.compile(pattern)) for kind, literal, pattern in KINDS)


class SecretText(NamedTuple):
    """A secret in a text."""

    kind: str  # "a GitHub token"
    at: int  # byte


def find(data: bytes) -> SecretText | None:
    """A secret in `data`; None when there is none that has a known form."""
    for kind, literal, pattern in _PATTERNS:
        if literal in data:
            for match in pattern.finditer(data):
                if b"EXAMPLE" not in match[0].upper():
                    return SecretText(kind, match.start())
    return None
