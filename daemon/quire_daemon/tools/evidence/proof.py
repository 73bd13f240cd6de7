"""Decides whether a write found is the result of a call's payload (claimed content). Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from quire_daemon.core import AnnouncedCall
from quire_daemon.tools.evidence.accounts import CallAccounts
from quire_daemon.tools.evidence.effort import END, Effort
from quire_daemon.tools.evidence.explanation import explain, explain_move
from quire_journal.history import History
from quire_journal.model import OutsideDeleted, OutsideMoved, OutsideWritten, Record, paths_of
from quire_journal.views import standing


class Proof:
    """Comparison of writes with the payload of one call."""

    def __init__(self, call: AnnouncedCall, history: History) -> None:
        self._accounts, self._history, self._effort = CallAccounts.of(call), history, Effort(END)

    def is_about(self, record: Record) -> bool:
        return any(self._accounts.about(path) for path in paths_of(record.event()))

    def holds(self, record: Record) -> bool:
        """True if the record's bytes are exactly the result of the call."""
        event = record.event()
        if isinstance(event, OutsideMoved):
            return self._is_move(event, record.seq)
        if not isinstance(event, OutsideWritten | OutsideDeleted) or not self._accounts.about(event.path):
            return False
        before, known = self._bytes_before(event.path, record.seq)
        found = self._history.bytes_held(event.blob) if isinstance(event, OutsideWritten) else None
        if not known or (found is None and isinstance(event, OutsideWritten)):
            return False

        def bytes_at(path: str) -> Iterator[bytes]:
            versions = self._history.versions(path, upto=record.seq, reverse=True)
            stood = next((one for one in islice(versions, 2) if not one.gone), None)
            held = None if stood is None else self._history.bytes_held(stood.blob)
            if held is not None:
                yield held

        return explain(event.path, before, found, [self._accounts], bytes_at, self._effort).proved

    def _is_move(self, event: OutsideMoved, seq: int) -> bool:
        before, _ = self._bytes_before(event.path, seq)
        found = self._history.bytes_held(event.blob)
        if before is None or found is None:
            return False
        return explain_move(event.path, event.to, before, found, [self._accounts], self._effort) is not None

    def _bytes_before(self, path: str, seq: int) -> tuple[bytes | None, bool]:
        version = standing(self._history.version_at(path, seq - 1))
        held = None if version is None else self._history.bytes_held(version.blob)
        return held, version is None or held is not None
