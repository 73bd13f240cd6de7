"""What the journal must not have: secrets, by the name of the file or by what is in it, and what was purged."""

from __future__ import annotations

from typing import Final

from quire_daemon.commit import Recorder
from quire_daemon.config import LiveSettings
from quire_daemon.watch.ignore import Ignore
from quire_journal.maintenance import secret_scan
from quire_journal.model import HOLDS_SECRET, PURGED, SECRET, TOO_LARGE, blob_id
from quire_journal.views import Version

MOST_CLEAN: Final = 2000
"""Versions that are remembered to hold no secret, the last ones: a change of one is looked through sooner."""


class CapturePolicy:
    """Says of bytes why the journal must not have them; "" where it may. For the loop's thread."""

    def __init__(self, recorder: Recorder, ignore: Ignore, settings: LiveSettings) -> None:
        self._recorder, self._ignore, self._settings = recorder, ignore, settings
        self._clean: dict[bytes, None] = {}  # blobs that were looked through and hold no secret

    def of_anybody(self, path: str, data: bytes) -> str:
        """Of these bytes of `path`, as on disk, wherever they come from. It may hold them already."""
        return self.of_version(path, data, blob_id(data), None)

    def of_version(self, path: str, data: bytes, blob: bytes, head: Version | None) -> str:
        """Of what was read at `path`, as on disk, where `head` is the newest version that the journal knows."""
        if self._ignore.secret(path):
            return SECRET
        with self._recorder.history() as history:
            if history.purged(blob):
                return PURGED
            if head is not None and head.blob == blob and not head.uncaptured and history.holds(blob):
                return ""  # it is there already: only `purge` takes it out again
        if not self._settings.now.capture.scan_secrets:
            return ""
        return HOLDS_SECRET if self._has_secret(data, blob, head) else ""

    def _has_secret(self, data: bytes, blob: bytes, head: Version | None) -> bool:
        """Of a version that follows one without, only what has changed is looked through: all takes 9 µs a kB."""
        before = self._recorder.journal.at_hand(head.blob) if head is not None and head.blob in self._clean else None
        found = secret_scan.find(data) if before is None else secret_scan.find_new(data, before)
        if found is None:
            if len(self._clean) >= MOST_CLEAN:
                del self._clean[next(iter(self._clean))]
            self._clean[blob] = None
        return found is not None

    def could_keep(self, path: str, head: Version) -> bool:
        """Would the settings allow by now what they forbade, to keep the bytes of this head of `path`, as on disk?

        Its file has not changed, so that nothing else would have it looked at. On any thread.
        """
        capture = self._settings.now.capture
        if head.uncaptured == SECRET:
            return not self._ignore.secret(path)
        if head.uncaptured == TOO_LARGE:
            return head.size <= capture.max_bytes
        return head.uncaptured == HOLDS_SECRET and not capture.scan_secrets
