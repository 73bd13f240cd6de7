"""Presence: what each checkout of a repository tells the others every few seconds; nothing of it is stored.

It is told on `quire.TEAM.now.REPOSITORY.JOURNAL`. Who receives it ages it by a clock of its own. The name of a fork has
one word more, which a host may tell with the same credentials.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any, Final

from quire_client.ship import NatsConnection

BEAT_S: Final = 5.0
"""Longest time between two beats of a host; a change is told at once."""

FRESH_S: Final = 3 * BEAT_S
"""A host that was not heard of for so long is gone."""

MOST_BYTES: Final = 256 * 1024
"""Larger news are not taken."""

News = dict[str, Any]
"""What a checkout tells: the fields of `RemoteHost` of the daemon."""


class Presence:
    """The news of the other checkouts, and the way to tell ours."""

    def __init__(self, connection: NatsConnection, repository: str, journal: str, now_s: Callable[[], float]) -> None:
        """`now_s`: the monotonic clock of this host. Raises `FarSideUnreachable`."""
        self._connection, self._now_s = connection, now_s
        self._journal = journal  # ours
        self._prefix = f"quire.{connection.address.team}.now.{repository}."
        self._heard: dict[str, tuple[News, float]] = {}  # by journal
        self._lock = threading.Lock()
        self._told: tuple[bytes, float] = (b"", float("-inf"))
        connection.listen(f"{self._prefix}>", self._hear)

    def tell(self, news: News, journal: str) -> None:
        """Tell the others if it is new, or time for a beat. `journal`: the name under which ours ships now.

        Raises `FarSideUnreachable`.
        """
        self._journal = journal
        said = json.dumps(news, separators=(",", ":"), sort_keys=True).encode()
        before, at_s = self._told
        now_s = self._now_s()
        if len(said) <= MOST_BYTES and (said != before or now_s - at_s >= BEAT_S):
            self._connection.tell(self._prefix + self._journal, said)
            self._told = said, now_s

    def heard(self) -> list[News]:
        """The news of the checkouts that are there, each with the seconds since as `silent_s`."""
        now_s = self._now_s()
        with self._lock:
            self._heard = {key: one for key, one in self._heard.items() if now_s - one[1] <= FRESH_S}
            return [{**news, "silent_s": round(now_s - at_s, 1)} for news, at_s in self._heard.values()]

    def _hear(self, subject: str, said: bytes) -> None:
        journal = subject.removeprefix(self._prefix)  # what the server lets only its owner publish on
        if journal == self._journal or len(said) > MOST_BYTES:
            return
        try:
            news = json.loads(said)
        except (ValueError, RecursionError):
            return
        if isinstance(news, dict):
            with self._lock:
                self._heard[journal] = {**news, "journal": journal}, self._now_s()
