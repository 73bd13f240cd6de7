"""Everyday commands: up, down, status, ui, top, page, read, run, call."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.commands.everyday.read import *
else:
    __getattr__ = face(
        __name__,
        read="LOSSY line_range shown",
    )
