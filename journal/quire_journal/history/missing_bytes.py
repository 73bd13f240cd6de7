"""Missing bytes: why the journal does not hold them, as far as the log says."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec

from quire_journal.history.history import History
from quire_journal.model import Purged, Record, RetentionApplied
from quire_journal.views import Version, lost_bytes

_GONE: Final = {
    lost_bytes.DROPPED: "dropped by retention",
    lost_bytes.PURGED: "purged",
    lost_bytes.LOST: "lost to damage",
}


class MissingBytes(msgspec.Struct, frozen=True):
    why: str  # code: "too_large", "secret", …; "dropped", "purged", "lost"; "not_held" if unknown
    told: str  # phrase: "dropped by retention on 2026-11-20 (keep-last 20)"


def missing(history: History, version: Version) -> MissingBytes:
    if version.uncaptured:
        return MissingBytes(version.uncaptured, version.uncaptured.replace("_", " "))
    return missing_blob(history, version.blob)


def missing_blob(history: History, blob: bytes) -> MissingBytes:
    gone = history.gone(blob)
    since = None if gone is None else history.record(gone.seq)
    if gone is None or since is None:
        return MissingBytes("not_held", "not held")
    day = datetime.fromtimestamp(since.at_ns // 10**9, UTC).date().isoformat()
    return MissingBytes(gone.why, f"{_GONE.get(gone.why, gone.why)} on {day}{_policy(history, since)}")


def _policy(history: History, gone: Record) -> str:
    first = history.record(gone.batch)
    event = first.event() if first is not None else None
    if isinstance(event, Purged) and first is not None:
        return f" by {history.named(first.writer)}"
    return f" ({event.policy})" if isinstance(event, RetentionApplied) else ""
