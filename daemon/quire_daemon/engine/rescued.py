"""Bytes of other programs that a lost swap displaced, or that were written to a file after it was replaced.

They go into the journal, as versions of their path. Secrets and purged bytes go into a private file in
`.quire/displaced` instead; the record holds hash and place. A file too large for the journal is moved there unread.
Quire never removes such a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from quire_daemon.commit import Recorder
from quire_daemon.workspace import TMP, DisplacedBytes, LateBytes, Workspace
from quire_journal.model import TOO_LARGE, BytesDisplaced, Refusal, blob_id, disk_path, journal_path

LATE_S: Final = 1.0
"""Seconds between two attempts to journal these bytes."""

Withheld = Callable[[str, bytes], str]
"""Function (path as on disk, bytes): why the journal must not have them, or ""."""


def nothing_is_withheld(path: str, data: bytes) -> str:
    del path, data
    return ""


def meant_for(recorder: Recorder, name: str) -> str:
    """Return the path for which the temporary file `name` was written, by the record number that begins `name`. Without
    such a record, return the temporary path.
    """
    digits = name.partition(".")[0]
    with recorder.history() as history:
        event = history.event(int(digits)) if digits.isdecimal() else None
    return getattr(event, "path", "") or f"{TMP}/{name}"


def note_displaced(recorder: Recorder, workspace: Workspace, path: str, data: bytes, why: str, uncaptured: str) -> None:
    """Add bytes of `path` (as in the log) to the next commit; if `uncaptured` gives a reason, put them into
    `.quire/displaced` and record only their hash. Raises `OSError` or `Refusal`.
    """
    blob = blob_id(data)
    kept = workspace.put_aside(disk_path(path), data, blob) if uncaptured else ""
    if not uncaptured:
        recorder.note_blob(data, path)
    recorder.note(BytesDisplaced(path, blob, len(data), why, uncaptured, kept))


def note_theirs(
    recorder: Recorder, workspace: Workspace, path: str, one: DisplacedBytes | LateBytes, why: str, withheld: Withheld
) -> None:
    """Record bytes of another program as `note_displaced` does. A large file is moved to `.quire/displaced`, where the
    program can go on writing.
    """
    if one.large:
        kept = workspace.move_aside(disk_path(path), one.name)
        recorder.note(BytesDisplaced(path, b"", one.large, why, TOO_LARGE, kept))
        return
    note_displaced(recorder, workspace, path, one.data, why, withheld(disk_path(path), one.data))


class Theirs:
    """Bytes of other programs, from displaced files, that the log does not have yet. For the loop's thread."""

    def __init__(self, recorder: Recorder, workspace: Workspace, withheld: Withheld) -> None:
        self._recorder, self._workspace, self._withheld = recorder, workspace, withheld
        # (bytes, why displaced), not yet in the journal
        self._unkept: list[tuple[DisplacedBytes | LateBytes, str]] = []
        self._unkept_s = 0.0  # monotonic time of the next attempt
        self.no_place = ""  # why some bytes are only in `.quire/tmp`, or ""

    def note(
        self, displaced: Iterable[tuple[DisplacedBytes | LateBytes, str]]
    ) -> tuple[list[DisplacedBytes | LateBytes], OSError | Refusal | None]:
        """Add bytes, each with a reason, to the next commit. Returns the items added, and the last error or None. Other
        items stay in `.quire/tmp` for `sweep`.
        """
        noted: list[DisplacedBytes | LateBytes] = []
        failed: OSError | Refusal | None = None
        for one, why in displaced:
            path = journal_path(one.path) if one.path else meant_for(self._recorder, one.name)
            try:
                note_theirs(self._recorder, self._workspace, path, one, why, self._withheld)
                noted.append(one)
            except (OSError, Refusal) as error:
                self._unkept.append((one, why))
                failed = error
        return noted, failed

    def sweep(self, now: float, submit: Callable[[Callable[[], None]], object], commit: Callable[[], None]) -> None:
        """Let programs that wait to open a displaced file continue (kernel lease breaks), and journal what they write.

        Bytes that cannot be stored are tried again every `LATE_S` seconds; `no_place` has the reason.
        """
        self._unkept += [(late, "late") for late in self._workspace.sweep(now, submit)]
        if not self._unkept or now < self._unkept_s:
            return
        self._unkept_s = now + LATE_S
        before, self._unkept = self._unkept, []
        try:
            noted, failed = self.note(before)
            commit()
        except BaseException:
            self._unkept = before  # to be tried again; the bytes are still in `.quire/tmp`
            raise
        self._workspace.discard(noted)
        self.no_place = "" if failed is None else str(failed)
        self._unkept_s = 0.0 if failed is None else self._unkept_s
