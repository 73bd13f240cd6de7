"""Bytes that the journal must not have: secrets, by file name or content, and purged blobs."""

from __future__ import annotations

from typing import Final

from quire_daemon.commit import Recorder
from quire_daemon.config import LiveSettings
from quire_daemon.watch.ignore import Ignore
from quire_journal.maintenance import secret_scan
from quire_journal.model import HOLDS_SECRET, PURGED, SECRET, TOO_LARGE, blob_id
from quire_journal.views import Version

MOST_CLEAN: Final = 2000
"""Maximum number of versions known to be free of secrets, of which only changes are checked."""


class CapturePolicy:
    """Decides which bytes the journal must not have. Only for the main loop's thread."""

    def __init__(self, recorder: Recorder, ignore: Ignore, settings: LiveSettings) -> None:
        self._recorder, self._ignore, self._settings = recorder, ignore, settings
        self._clean: dict[bytes, None] = {}  # blobs checked and free of secrets

    def of_anybody(self, path: str, data: bytes) -> str:
        """Return why the journal must not have the bytes `data` of `path` (as on disk); "" if it may."""
        return self.of_version(path, data, blob_id(data), None)

    def of_version(self, path: str, data: bytes, blob: bytes, head: Version | None) -> str:
        """Return why the journal must not have bytes read at `path` (as on disk), whose newest version is `head`; "" if
        it may.
        """
        if self._ignore.secret(path):
            return SECRET
        with self._recorder.history() as history:
            if history.purged(blob):
                return PURGED
            if head is not None and head.blob == blob and not head.uncaptured and history.holds(blob):
                return ""  # already journaled: only `purge` removes it
        if not self._settings.now.capture.scan_secrets:
            return ""
        return HOLDS_SECRET if self._has_secret(data, blob, head) else ""

    def _has_secret(self, data: bytes, blob: bytes, head: Version | None) -> bool:
        """True if `data` has a secret; if `head` is known to have none, only the change is searched."""
        before = self._recorder.journal.at_hand(head.blob) if head is not None and head.blob in self._clean else None
        found = secret_scan.find(data) if before is None else secret_scan.find_new(data, before)
        if found is None:
            if len(self._clean) >= MOST_CLEAN:
                del self._clean[next(iter(self._clean))]
            self._clean[blob] = None
        return found is not None

    def could_keep(self, path: str, head: Version) -> bool:
        """True if changed settings now allow the bytes of `head`; nothing else checks an unchanged file again. For any
        thread.
        """
        capture = self._settings.now.capture
        if head.uncaptured == SECRET:
            return not self._ignore.secret(path)
        if head.uncaptured == TOO_LARGE:
            return head.size <= capture.max_bytes
        return head.uncaptured == HOLDS_SECRET and not capture.scan_secrets
