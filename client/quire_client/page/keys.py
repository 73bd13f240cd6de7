"""Keys of the page: a one-time key becomes a cookie, and a cookie may look only, or change as well.

Kept in memory and by their hashes: they end with the process, and comparing them takes no time that tells anything.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Final, Literal, NamedTuple

Right = Literal["read", "write"]
READ: Final[Right] = "read"
WRITE: Final[Right] = "write"

KEY_S: Final = 60.0
"""How long a one-time key can be used."""

IDLE_S: Final = 12 * 3600.0
"""A browser that asks nothing for so long needs another key."""

MOST_KEYS: Final = 64
"""One-time keys, and cookies, that are good at a time; the oldest goes."""


class _Browser(NamedTuple):
    right: Right
    asked_s: float  # when it asked last


class Keys:
    """Who may ask. All times are seconds of one clock that does not go back."""

    def __init__(self) -> None:
        self._once: dict[bytes, tuple[Right, float]] = {}
        self._browsers: dict[bytes, _Browser] = {}

    def mint(self, right: Right, now_s: float) -> str:
        """A one-time key."""
        key = secrets.token_urlsafe(24)
        self._once[_hash(key)] = right, now_s
        _keep(self._once)
        return key

    def redeem(self, key: str, now_s: float) -> str | None:
        """The cookie for a one-time key, which is used up; None where it is unknown, used or too old."""
        right, made_s = self._once.pop(_hash(key), (READ, float("-inf")))
        if now_s - made_s > KEY_S:
            return None
        cookie = secrets.token_urlsafe(32)
        self._browsers[_hash(cookie)] = _Browser(right, now_s)
        _keep(self._browsers)
        return cookie

    def right_of(self, cookie: str, now_s: float) -> Right | None:
        """What a browser with this cookie may do, which has asked by that; None: nothing."""
        name = _hash(cookie)
        found = self._browsers.get(name)
        if found is None or now_s - found.asked_s > IDLE_S:
            self._browsers.pop(name, None)
            return None
        self._browsers[name] = found._replace(asked_s=now_s)
        return found.right

    def good(self, cookie: str) -> bool:
        """Has the cookie not been revoked? Asking this is no use of it."""
        return _hash(cookie) in self._browsers

    def revoke(self) -> int:
        """Make every key and every cookie void; how many browsers that were."""
        many = len(self._browsers)
        self._once.clear()
        self._browsers.clear()
        return many


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def _keep(held: dict[bytes, tuple[Right, float]] | dict[bytes, _Browser]) -> None:
    while len(held) > MOST_KEYS:
        held.pop(next(iter(held)))
