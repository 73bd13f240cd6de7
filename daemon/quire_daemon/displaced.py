"""Bytes of others that came into our hands: out of a swap that was lost, or written to a file after it was replaced.

They go into the journal, among the versions of their path. Those that the journal must not have (a secret, by the name
of the file or by what is in it; what was purged) go into a file in `.quire/displaced` instead, which only its owner can
read: the record holds their hash, and says where they are. A file that is too large for the journal goes there itself,
unread. Nothing of Quire removes such a file.
"""

from __future__ import annotations

from collections.abc import Callable

from quire_daemon.recorder import Recorder
from quire_daemon.workspace import Kept, Late, Workspace
from quire_journal.events import BytesDisplaced
from quire_journal.ids import blob_id, disk_path

Withheld = Callable[[str, bytes], str]
"""Why the journal must not have these bytes of a path, as on disk; "" where it may."""


def nothing_is_withheld(path: str, data: bytes) -> str:
    """In the place of `Gather.withheld`, where there are no settings."""
    del path, data
    return ""


def note_displaced(
    recorder: Recorder, workspace: Workspace, path: str, data: bytes, why: str, uncaptured: str = ""
) -> None:
    """Note bytes of `path`, as in the log, for the next commit; where they are withheld, put them aside before that.

    `why`: as in the event. Raises OSError or `Refused` when there can be no such file.
    """
    blob = blob_id(data)
    kept = workspace.put_aside(disk_path(path), data, blob) if uncaptured else ""
    if not uncaptured:
        recorder.note_blob(data, path)
    recorder.note(BytesDisplaced(path, blob, len(data), why, uncaptured, kept))


def note_theirs(
    recorder: Recorder, workspace: Workspace, path: str, one: Kept | Late, why: str, withheld: Withheld
) -> None:
    """Note what a swap brought out, or a program wrote late, as `note_displaced`; a large file itself goes aside.

    Nothing is known of its bytes but how many they are: who writes it still, goes on in the file that was put aside.
    """
    if one.large:
        kept = workspace.move_aside(disk_path(path), one.name)
        recorder.note(BytesDisplaced(path, b"", one.large, why, "too_large", kept))
        return
    note_displaced(recorder, workspace, path, one.data, why, withheld(disk_path(path), one.data))
