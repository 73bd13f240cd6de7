"""Asks a user at a terminal before changes are undone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quire_client.api import Client
    from quire_client.commands import Invocation

SETTLED = frozenset({"plan", "token"})
"""Tool arguments with which the user is not asked: `plan` changes nothing, `token` executes a plan."""


def is_asked(call: Invocation, client: Client, arguments: Mapping[str, Any]) -> bool:
    """Return True if the caller must confirm first: a person at a terminal, without `--yes`, who neither asks for a
    plan nor executes one.
    """
    if not call.can_ask or "yes" in call.options or arguments.keys() & SETTLED:
        return False
    return is_person(client)


def is_person(client: Client) -> bool:
    """Return True if the caller is no agent, which the daemon recognises by the process tree."""
    return not _agent_of(client).get("agent")


def _agent_of(client: Client) -> Mapping[str, Any]:
    """Return the agent that the caller is, or {} for a person."""
    listed = client.call("who", {"present": True, "limit": 100}).get("writers") or ()
    return next((entry for entry in listed if entry.get("you") and entry.get("agent")), {})


def last_undo(client: Client) -> int:
    """Return the seq of the caller's newest undo; 0 if there is none, or if a redo, rollback or restore is newer."""
    asked = {"kind": "batch_undone", "limit": 1}
    if not client.call("log", asked).get("records"):
        return 0
    agent = _agent_of(client)
    name = f"{agent['agent']}/{agent.get('agent_session', '')}" if agent else "user"
    newest = (client.call("log", {**asked, "writer": name}).get("records") or [{}])[0]
    return int(newest["seq"]) if newest.get("how") == "undo" else 0


def goes_on(undo: int, plan: Mapping[str, Any]) -> str:
    """Return a warning sentence if all changes of the plan are older than the caller's newest undo (seq `undo`, 0:
    none), else "".
    """
    if undo < max(plan.get("batches") or (undo + 1,)):
        return ""
    return (
        "You have undone later work already, and this plan is about work before it; `quire redo` takes the undo back."
    )
