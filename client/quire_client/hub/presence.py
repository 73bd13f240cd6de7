"""Presence: news that each checkout of a repository publishes every few seconds, and nobody stores.

The subject is `quire.TEAM.now.REPOSITORY.JOURNAL`. The receiver measures the age of news by its own clock. A forked
journal's name has one word more; its host may publish under that name with the same credentials.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any, Final

from quire_client.ship import NatsConnection

BEAT_S: Final = 5.0
"""Longest time in seconds between two publications of a host; a change is published at once."""

FRESH_S: Final = 3 * BEAT_S
"""Age in seconds of a host's newest news above which the host counts as gone."""

MOST_BYTES: Final = 256 * 1024
"""Maximum size of news in bytes; larger news is neither sent nor accepted."""

News = dict[str, Any]
"""News of a checkout: the fields of the daemon's `RemoteHost`."""


class Presence:
    """Publishes this checkout's news, and collects the news of the others."""

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
        """Publish `news` if it has changed, or if `BEAT_S` seconds have passed; news above `MOST_BYTES` is not sent.
        `journal`: the name under which our journal now ships.

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
        """Return the newest news of each checkout that was heard within `FRESH_S` seconds; `silent_s` is the news' age
        in seconds.
        """
        now_s = self._now_s()
        with self._lock:
            self._heard = {key: one for key, one in self._heard.items() if now_s - one[1] <= FRESH_S}
            return [{**news, "silent_s": round(now_s - at_s, 1)} for news, at_s in self._heard.values()]

    def _hear(self, subject: str, said: bytes) -> None:
        journal = subject.removeprefix(self._prefix)  # only the journal's owner may publish on this subject
        if journal == self._journal or len(said) > MOST_BYTES:
            return
        try:
            news = json.loads(said)
        except (ValueError, RecursionError):
            return
        if isinstance(news, dict):
            with self._lock:
                self._heard[journal] = {**news, "journal": journal}, self._now_s()
