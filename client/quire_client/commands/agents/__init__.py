"""Agents: setup, unsetup, hooks, MCP and the manual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.commands.agents.setup import entry_point as entry_point
else:
    __getattr__ = face(
        __name__,
        setup="entry_point",
    )
