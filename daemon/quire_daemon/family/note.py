"""The note that a checkout leaves for the other checkouts of its repository: changed files and leases. Notes of others
are validated like untrusted input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from quire_journal.model import plain

MOST_FILES: Final = 500
MOST_LEASES: Final = 100

MOST_PATH: Final = 4096
MOST_NAME: Final = 120


class ChangedFile(msgspec.Struct, frozen=True, array_like=True):
    """A file that was written in a checkout: path, sha256, time and writer."""

    path: str
    sha256: str  # of its bytes; "" if it is empty or removed
    gone: bool
    at_ns: int
    agent: str = ""  # who wrote it last; "" with `session` for a person or an unknown program
    session: str = ""


class HeldLease(msgspec.Struct, frozen=True, array_like=True):
    """A lease in force in a checkout, as the checkout's note tells it to the other checkouts."""

    number: int
    path: str
    form: str  # as in `Lease`
    strength: str
    expires_ns: int
    agent: str = ""
    session: str = ""
    reason: str = ""
    lines: tuple[int, int] | None = None


class Note(msgspec.Struct, frozen=True):
    """What a checkout tells its family: branch, commit, changed files and leases."""

    family: str
    head: str = ""  # commit of HEAD
    branch: str = ""
    files: Sequence[ChangedFile] = ()
    leases: Sequence[HeldLease] = ()


Told = TypeVar("Told", ChangedFile, HeldLease)

_DECODER: Final = msgspec.json.Decoder(Note)


def encoded(note: Note) -> bytes:
    return msgspec.json.encode(note)


def decoded(said: bytes) -> Note | None:
    """Parse and check the note of another checkout as `checked` does; None if `said` is malformed."""
    try:
        note = _DECODER.decode(said)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return checked(note)


def checked(note: Note) -> Note:
    """Return the note without paths that lead out of the workspace, with names cut to one line and lists to their
    limits.
    """
    files = [_named(file) for file in note.files[:MOST_FILES] if _is_path(file.path)]
    leases = [_named(lease) for lease in note.leases[:MOST_LEASES] if _is_path(lease.path)]
    branch, head = plain(note.branch, MOST_NAME), plain(note.head, MOST_NAME)
    return Note(note.family, head, branch, files, leases)


def _is_path(path: str) -> bool:
    inside = path and len(path) <= MOST_PATH and not path.startswith("/") and "\0" not in path
    return bool(inside) and not {"", ".", ".."}.intersection(path.split("/"))


def _named(told: Told) -> Told:
    agent, session = plain(told.agent, MOST_NAME), plain(told.session, MOST_NAME)
    return msgspec.structs.replace(told, agent=agent, session=session)
