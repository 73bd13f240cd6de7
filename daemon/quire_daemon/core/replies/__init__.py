"""Replies: the shape of every reply, one struct for each."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.core.replies.table import *
else:
    __getattr__ = face(
        __name__,
        table="reply_schema",
    )
