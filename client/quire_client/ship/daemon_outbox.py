"""The outbox of a journal (segments to ship), which the daemon keeps and its tool `outbox` returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from quire_client.ship.shipper import Parcel, Shipment

Ask = Callable[[dict[str, Any]], Mapping[str, Any]]


class NoOutbox(Exception):
    """The daemon did not answer the tool `outbox`, or refused. The message says why."""


class DaemonOutbox:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._news: dict[str, Any] = {}  # not told yet
        self._number = 0  # of the next segment
        self.journal = ""  # name at the far side, as it was told last

    def last(self) -> Shipment:
        reply = self._asked(look=True)
        hash = bytes.fromhex(str(reply["hash"]))
        return Shipment(str(reply["holder"]), int(reply["number"]), hash, reply.get("gaps", ()))

    def next(self) -> Parcel | None:
        reply = self._asked()
        if "segment" not in reply:
            return None
        changed = bool(reply.get("changed"))
        return Parcel(str(reply["journal"]), self._number, reply["segment"], reply["contents"], changed)

    def shipped(self, parcel: Parcel) -> None:
        self.found(parcel.data)

    def found(self, data: bytes) -> None:
        self._news = {"took": data, "number": self._number}

    def passed(self, number: int, data: bytes) -> None:
        self._news = {"took": data, "number": number, "gap": self._number}

    def restart(self) -> None:
        self._news = {"restart": True}

    def unreachable(self, why: str) -> None:
        """Report to the daemon that the remote store cannot be reached, for `quire status`."""
        self._asked(look=True, trouble=why)

    def _asked(self, **more: Any) -> Mapping[str, Any]:
        reply = self._ask({**self._news, **more})
        self._news = {}
        self._number = int(reply["number"]) + 1
        self.journal = str(reply["journal"])
        return reply
