"""What a person at a terminal is shown and asked before anything goes back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quire_client.api import Client
    from quire_client.commands import Invocation

SETTLED = frozenset({"plan", "token"})
"""Arguments with which nobody is to be asked: it is a plan, or was one."""


def is_asked(call: Invocation, client: Client, arguments: Mapping[str, Any]) -> bool:
    """Is a person to be asked first? Agents and scripts are not, nor who says --yes."""
    if not call.can_ask or "yes" in call.options or arguments.keys() & SETTLED:
        return False
    return is_person(client)


def is_person(client: Client) -> bool:
    """Is the caller no agent? The daemon knows an agent by the process that started this command."""
    listed = client.call("who", {"present": True, "limit": 100}).get("writers") or ()
    return not any(entry.get("you") and entry.get("agent") for entry in listed)


def goes_on(client: Client, plan: Mapping[str, Any]) -> str:
    """A sentence where somebody who has undone something takes back what came before that; "" else."""
    newest = client.call("log", {"kind": "batch_undone", "limit": 1}).get("records") or ()
    batches = list(plan.get("batches") or ())
    if not newest or not batches or newest[0].get("how") != "undo" or newest[0]["seq"] < max(batches):
        return ""
    return "You have undone later work already, and this goes on before it; `quire redo` takes the last undo back."
