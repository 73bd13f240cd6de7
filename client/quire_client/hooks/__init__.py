"""Hooks: what agents tell of their own tools, and what they are answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.hooks.dispatch import GREETING as GREETING
    from quire_client.hooks.relay import (
        PATIENCE_S as PATIENCE_S,
        Connected as Connected,
        Surroundings as Surroundings,
        answered as answered,
    )
    from quire_client.hooks.resident import Answerer as Answerer, serving as serving
    from quire_client.hooks.shell import TOLD as TOLD, exports as exports, variables_for as variables_for
    from quire_client.hooks.table import AGENTS as AGENTS, agent as agent
else:
    __getattr__ = face(
        __name__,
        dispatch="GREETING",
        relay="Connected PATIENCE_S Surroundings answered",
        resident="Answerer serving",
        shell="TOLD exports variables_for",
        table="AGENTS agent",
    )
