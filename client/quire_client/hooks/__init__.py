"""Hooks: what agents tell of their own tools, and what they are answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.hooks.base import Agent as Agent, Intent as Intent, Outcome as Outcome
    from quire_client.hooks.dispatch import GREETING as GREETING, Call as Call, tell as tell
    from quire_client.hooks.table import AGENTS as AGENTS, agent as agent
else:
    __getattr__ = face(
        __name__,
        base="Agent Intent Outcome",
        dispatch="Call GREETING tell",
        table="AGENTS agent",
    )
