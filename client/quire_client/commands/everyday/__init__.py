"""Everyday: up, down, status, ui, top, page, read, call."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.commands.everyday.read import *
else:
    __getattr__ = face(
        __name__,
        read="LOSSY line_range shown",
    )
