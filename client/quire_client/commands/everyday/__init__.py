"""Everyday: up, down, status, top, read, call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.commands.everyday.read import (
        LOSSY as LOSSY,
        line_range as line_range,
        say_if_there_are_none as say_if_there_are_none,
        shown as shown,
    )
else:
    __getattr__ = face(
        __name__,
        read="LOSSY line_range say_if_there_are_none shown",
    )
