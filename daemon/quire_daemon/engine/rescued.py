"""Bytes of others that came into our hands: out of a swap that was lost, or written to a file after it was replaced.

They go into the journal, among the versions of their path. Those that the journal must not have (a secret, or purged
bytes) go into a private file in `.quire/displaced`; the record holds their hash and place. A file that is too large for
the journal goes there itself, unread. Quire never removes such a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from quire_daemon.commit import Recorder
from quire_daemon.workspace import TMP, DisplacedBytes, LateBytes, Workspace
from quire_journal.model import TOO_LARGE, BytesDisplaced, Refusal, blob_id, disk_path, journal_path

LATE_S: Final = 1.0
"""Seconds between two tries to journal bytes of others."""

Withheld = Callable[[str, bytes], str]
"""(path as on disk, bytes) → why the journal must not have them, or ""."""


def nothing_is_withheld(path: str, data: bytes) -> str:
    """The policy without settings."""
    del path, data
    return ""


def meant_for(recorder: Recorder, name: str) -> str:
    """The path of the temporary file `name`, which begins with the seq of the record."""
    digits = name.partition(".")[0]
    with recorder.history() as history:
        event = history.event(int(digits)) if digits.isdecimal() else None
    return getattr(event, "path", "") or f"{TMP}/{name}"


def note_displaced(recorder: Recorder, workspace: Workspace, path: str, data: bytes, why: str, uncaptured: str) -> None:
    """Note bytes of `path`, as in the log, for the next commit, and put withheld ones aside first. Raises OSError or
    `Refusal` without such a file.
    """
    blob = blob_id(data)
    kept = workspace.put_aside(disk_path(path), data, blob) if uncaptured else ""
    if not uncaptured:
        recorder.note_blob(data, path)
    recorder.note(BytesDisplaced(path, blob, len(data), why, uncaptured, kept))


def note_theirs(
    recorder: Recorder, workspace: Workspace, path: str, one: DisplacedBytes | LateBytes, why: str, withheld: Withheld
) -> None:
    """Note what a swap brought out, or a program wrote late, as `note_displaced`; a large file goes aside itself, and
    whoever writes it goes on there.
    """
    if one.large:
        kept = workspace.move_aside(disk_path(path), one.name)
        recorder.note(BytesDisplaced(path, b"", one.large, why, TOO_LARGE, kept))
        return
    note_displaced(recorder, workspace, path, one.data, why, withheld(disk_path(path), one.data))


class Theirs:
    """Bytes of others in a running daemon's hands, until the log has them. For the loop's thread only."""

    def __init__(self, recorder: Recorder, workspace: Workspace, withheld: Withheld) -> None:
        self._recorder, self._workspace, self._withheld = recorder, workspace, withheld
        self._unkept: list[tuple[DisplacedBytes | LateBytes, str]] = []  # and why; the journal has not taken it
        self._unkept_s = 0.0  # not before
        self.no_place = ""  # why some of it is kept nowhere but in `.quire/tmp`

    def note(
        self, displaced: Iterable[tuple[DisplacedBytes | LateBytes, str]]
    ) -> tuple[list[DisplacedBytes | LateBytes], OSError | Refusal | None]:
        """Note these for the next commit, each with a reason; returns the noted ones, and why others are not. A secret
        without a place stays in `.quire/tmp` for a sweep.
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
        """Answer lease breaks on displaced files, and journal what late writers wrote.

        Bytes without a place aside are tried again each second; `no_place` says why. `submit`: runs work on another
        thread.
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
            self._unkept = before  # what the journal does not take stays in `.quire/tmp` as well as here
            raise
        self._workspace.discard(noted)
        self.no_place = "" if failed is None else str(failed)
        self._unkept_s = 0.0 if failed is None else self._unkept_s
