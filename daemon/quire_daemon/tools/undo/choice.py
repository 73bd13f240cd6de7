"""What to undo, and the token that carries it."""

from __future__ import annotations

import base64
import binascii

import msgspec

from quire_daemon.tools.undo.params import MAX_BATCHES, Conflicts, How
from quire_journal.model import (
    Refusal,
)


class Choice(msgspec.Struct, frozen=True):
    """What an undo, redo, rollback or restore changes, and in which files; small, because a token carries it.

    For a redo, `batches` are the undos to be undone.
    """

    how: How
    batches: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()  # only in these files; for a restore, the files to bring back
    at: int = 0  # the point of a restore or rollback
    conflicts: Conflicts = "skip"
    left_out: tuple[int, ...] = ()  # probable batches, and those of `quire setup`
    by_git: int = 0  # number of batches of git that an undo of `outside` leaves out
    lines: tuple[int, int] | None = None  # lines of the only file, 0-based and half-open
    places: tuple[tuple[str, tuple[tuple[int, int], ...]], ...] = ()  # the same of some files, for rejections
    rejections: tuple[int, ...] = ()

    @property
    def partial(self) -> bool:
        """True if only some lines are undone, so that the batches stay in force."""
        return self.lines is not None or bool(self.rejections)


def read_token(token: str) -> tuple[Choice, bytes]:
    """Return (the choice, the digest of the outcome). Raises `Refusal` for an invalid or empty token: a caller that
    lost its token does not mean the default choice.
    """
    try:
        packed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        choice, digest = msgspec.msgpack.decode(packed, type=tuple[Choice, bytes])
    except (binascii.Error, ValueError, msgspec.MsgspecError) as wrong:
        raise Refusal("schema_invalid", "token: this is not the token of a plan.", argument="token") from wrong
    if len(choice.batches) > MAX_BATCHES:  # a caller can write a token by hand
        raise Refusal("schema_invalid", f"token: it names more than {MAX_BATCHES} batches.", argument="token")
    return choice, digest
