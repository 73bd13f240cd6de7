"""Lanes of other hosts: when each writer wrote, from the journals at the hub."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from quire_client.calls import Answer

SLOTS: Final = 1000
"""Number of intervals in which versions are counted."""

KEPT_S: Final = 5.0
"""Seconds for which an answer is given again."""

_MS: Final = 1_000_000


class OtherHosts:
    """Reads other hosts' histories of this repository at the hub. Thread-safe; one read at a time."""

    def __init__(self, state: Path, own: Callable[[], Answer], clock: Callable[[], float]) -> None:
        """`own`: the reply of the tool `hub`. `clock` returns monotonic seconds."""
        self._state, self._own, self._clock = state, own, clock
        self._lock = threading.Lock()
        self._kept: tuple[float, tuple[int, int], Answer] = (float("-inf"), (0, 0), {})

    def lanes(self, since_ms: int, until_ms: int) -> Answer:
        """Return a lane for each writer on another host: `checkout`, `writer`, and `writes` as (time in milliseconds,
        count).
        """
        from quire_client.hub import joined

        if not (address := joined(self._state)):
            return {"ok": True, "message": "This checkout is in no team.", "lanes": [], "hosts": []}
        with self._lock:
            at_s, window, kept = self._kept
            if window != (since_ms, until_ms) or self._clock() - at_s > KEPT_S:
                kept = self._read(address, since_ms, until_ms)
                self._kept = self._clock(), (since_ms, until_ms), kept
            return kept

    def _read(self, address: str, since_ms: int, until_ms: int) -> Answer:
        from quire_client.hub import at_hub, of_other_hosts
        from quire_client.ship import FarSideUnreachable, HubAddress
        from quire_journal.model import JournalDamaged
        from quire_journal.shipment import BadSegment

        own = self._own()
        journal = str(own.get("journal", ""))
        heard = [f"{host['host']}:{host['checkout']}" for host in own.get("hosts") or ()]
        try:
            with at_hub(HubAddress.parse(address)) as (connection, far):
                lanes = [
                    lane for one in of_other_hosts(connection, far, journal) for lane in _lanes(one, since_ms, until_ms)
                ]
        except (FarSideUnreachable, BadSegment, JournalDamaged) as error:
            return {"ok": False, "error": "unreachable", "message": f"The hub could not be read: {error}."}
        return {"ok": True, "message": f"{len(lanes)} lanes.", "lanes": lanes, "hosts": heard}


def _lanes(history: Any, since_ms: int, until_ms: int) -> Iterable[Mapping[str, Any]]:
    step = max(1, (until_ms - since_ms) // SLOTS)
    counts: dict[int, Counter[int]] = {}
    for record, writer, _ in history.versions(since_ns=since_ms * _MS):
        at_ms = record.at_ns // _MS
        if at_ms <= until_ms:
            counts.setdefault(writer, Counter())[at_ms - at_ms % step] += 1
    for writer, writes in counts.items():
        yield {"checkout": history.checkout, "writer": history.named(writer), "writes": sorted(writes.items())}
