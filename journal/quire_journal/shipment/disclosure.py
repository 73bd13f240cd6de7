"""Disclosure: which records leave the machine unchanged, and which only as their leaf of the Merkle tree. A record
leaves if its kind is listed here, it has no text of a person or an agent, and none of its paths is hidden. So a new
kind is withheld until it is listed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from quire_journal.model import (
    BatchUndone,
    BurstEnded,
    BytesGone,
    CheckpointCommitted,
    CheckpointSaved,
    CommandRan,
    Event,
    FileDeleted,
    FileMoved,
    FileWritten,
    HeadSigned,
    JournalForked,
    LeaseExpired,
    LeaseGranted,
    LeaseReleased,
    LeaseRenewed,
    ModeChanged,
    OutsideDeleted,
    OutsideModeChanged,
    OutsideMoved,
    OutsideWritten,
    ReadServed,
    RejectionEnded,
    WorkAccepted,
    WorkRejected,
    WorkspaceScanned,
    WriteAttributed,
    WriterIntroduced,
    WritesAbandoned,
    WritesSettled,
    WrittenApart,
    paths_of,
)

Hidden = Callable[[str], object]
"""Function that is true for a path of which nothing leaves."""

_TOLD: Final = frozenset(
    {
        BatchUndone,
        BurstEnded,
        BytesGone,
        CheckpointCommitted,
        CheckpointSaved,
        CommandRan,
        FileDeleted,
        FileMoved,
        FileWritten,
        HeadSigned,
        JournalForked,
        LeaseExpired,
        LeaseGranted,
        LeaseReleased,
        LeaseRenewed,
        ModeChanged,
        OutsideDeleted,
        OutsideModeChanged,
        OutsideMoved,
        OutsideWritten,
        ReadServed,
        RejectionEnded,
        WorkAccepted,
        WorkRejected,
        WorkspaceScanned,
        WriteAttributed,
        WriterIntroduced,
        WritesAbandoned,
        WritesSettled,
        WrittenApart,
    }
)
_TEXTS: Final = ("uncaptured", "reason", "note", "command", "prompt", "label")

_WILD: Final = frozenset("*?[")
"""Characters of a glob. A file with such a name is withheld, too, as the record does not tell the two apart."""


def leaves_machine(event: Event | None, hidden: Hidden) -> bool:
    """True if the record of this event (None: of an unknown kind) may be shipped unchanged."""
    if event is None or type(event) not in _TOLD or any(getattr(event, name, "") for name in _TEXTS):
        return False
    if " " in getattr(event, "hint", ""):  # a command line
        return False
    if isinstance(event, LeaseGranted) and event.form == "glob":  # it may match hidden paths
        return False
    if isinstance(event, BatchUndone) and any(_WILD.intersection(path) for path in event.paths):  # so may these
        return False
    if isinstance(event, BytesGone) and not event.paths:  # the paths are unknown
        return False
    return not any(hidden(path) for path in (*paths_of(event), *getattr(event, "paths", ())))


def shipped_blob(event: Event | None) -> bytes:
    found = getattr(event, "blob", b"")
    return found if isinstance(found, bytes) else b""
