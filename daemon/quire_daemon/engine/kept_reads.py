"""LRU cache of replies to repeated reads.

Theory of operation. A reply stays valid while its inputs are unchanged: arguments, caller, settings, journal (same
newest record, no pending event) and file (same signature, verified under a kernel lease). Its warnings (`respond`) are
computed for each call.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from quire_daemon.config import Settings
from quire_daemon.core import Call, Decision, FileNow
from quire_daemon.tools import READ_TOOL
from quire_daemon.watch import Observer
from quire_daemon.workspace import Signature
from quire_journal.model import Event, WriterId, disk_path

MOST_KEPT: Final = 256


class KeptRead(msgspec.Struct, frozen=True):
    reply: dict[str, Any]
    path: str
    signature: Signature
    events: Sequence[Event]  # recorded reads of this reply
    head: int
    settings: Settings


class KeptReads:
    def __init__(self, observer: Observer) -> None:
        self._observer, self._recorder = observer, observer.recorder
        self._kept: OrderedDict[tuple[WriterId, bytes], KeptRead] = OrderedDict()

    def find(self, call: Call) -> KeptRead | None:
        """Return the cached reply to this call, or None if an input has changed."""
        if call.tool is not READ_TOOL:
            return None
        key = _key(call)
        kept = self._kept.pop(key, None)
        if kept is None or not self._holds(kept, call.who.writer):
            return None
        self._kept[key] = kept
        return kept

    def _holds(self, kept: KeptRead, writer: WriterId) -> bool:
        recorder = self._recorder
        if recorder.waiting or kept.head != recorder.journal.head or kept.settings is not self._observer.settings:
            return False
        for event in kept.events:
            if not recorder.told(event, writer):  # the read is due to be recorded again
                return False
        in_flight = self._observer.in_flight.writes(kept.path)
        return not in_flight and self._observer.workspace.verify_unchanged(disk_path(kept.path), kept.signature)

    def keep(self, call: Call, now: FileNow | None, decision: Decision) -> None:
        """Cache the reply to a read if the log has all its events already. A file read through a link is not cached,
        because the link may change.
        """
        if call.tool is not READ_TOOL or now is None or not now.proof or now.path != call.params.path:
            return
        told = all(self._recorder.told(event, call.who.writer) for event in decision.events)
        if not told or self._recorder.waiting:
            return
        head, signature = self._recorder.journal.head, Signature(*now.proof)
        self._kept[_key(call)] = KeptRead(
            dict(decision.reply), now.path, signature, decision.events, head, self._observer.settings
        )
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)


def _key(call: Call) -> tuple[WriterId, bytes]:
    request = call.incoming.request
    assert request is not None
    return call.who.writer, bytes(request.args)
