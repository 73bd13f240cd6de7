"""Replies: the shape of every reply, one struct for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.core.replies.table import reply_schema as reply_schema
else:
    __getattr__ = face(
        __name__,
        table="reply_schema",
    )
