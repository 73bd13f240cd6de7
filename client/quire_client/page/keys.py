"""Keys of the page: a one-time key is exchanged for a cookie with the permission to read or write."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final, Literal, NamedTuple

Right = Literal["read", "write"]
READ: Final[Right] = "read"
WRITE: Final[Right] = "write"

KEY_S: Final = 60.0
"""Seconds for which a one-time key is valid."""

IDLE_S: Final = 12 * 3600.0
"""Seconds without a request after which a cookie expires."""

MOST_KEYS: Final = 64
"""Maximum number of keys, and of cookies, for each permission, so that readers do not displace those who may write."""


class _OneTime(NamedTuple):
    right: Right
    made_s: float


class _Browser(NamedTuple):
    right: Right
    asked_s: float  # time of the last request


class Keys:
    """All valid one-time keys and cookies. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._once: dict[bytes, _OneTime] = {}
        self._browsers: dict[bytes, _Browser] = {}
        self.revocations = 0

    def mint(self, right: Right, now_s: float) -> str:
        key = secrets.token_urlsafe(24)
        self._once[_hash(key)] = _OneTime(right, now_s)
        _keep(self._once, right)
        return key

    def redeem(self, key: str, now_s: float) -> str | None:
        """Exchange a one-time key for a cookie; None if the key is unknown, used or expired."""
        right, made_s = self._once.pop(_hash(key), _OneTime(READ, float("-inf")))
        if now_s - made_s > KEY_S:
            return None
        cookie = secrets.token_urlsafe(32)
        self._browsers[_hash(cookie)] = _Browser(right, now_s)
        _keep(self._browsers, right)
        return cookie

    def right_of(self, cookie: str, now_s: float) -> Right | None:
        """Return the permission of a cookie and prolong the cookie; None if it is invalid."""
        name = _hash(cookie)
        found = self._browsers.get(name)
        if found is None or now_s - found.asked_s > IDLE_S:
            self._browsers.pop(name, None)
            return None
        del self._browsers[name]  # the one longest idle stays the first
        self._browsers[name] = found._replace(asked_s=now_s)
        return found.right

    def good(self, cookie: str, now_s: float) -> bool:
        """Return True if the cookie is valid, without prolonging it."""
        found = self._browsers.get(_hash(cookie))
        return found is not None and now_s - found.asked_s <= IDLE_S

    def revoke(self) -> int:
        """Revoke every key and cookie; return the number of revoked cookies."""
        many = len(self._browsers)
        self.revocations += 1
        self._once.clear()
        self._browsers.clear()
        return many


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def _keep(held: dict[bytes, _OneTime] | dict[bytes, _Browser], right: Right) -> None:
    same = [name for name, one in held.items() if one.right == right]
    for name in same[:-MOST_KEYS]:
        del held[name]
