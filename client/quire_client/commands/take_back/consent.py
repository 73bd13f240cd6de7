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
    """Return True if the caller must confirm first: a user at a terminal without `--yes`."""
    if not call.can_ask or "yes" in call.options or arguments.keys() & SETTLED:
        return False
    return is_person(client)


def is_person(client: Client) -> bool:
    """Return True if the caller is no agent, which the daemon recognises by the process tree."""
    listed = client.call("who", {"present": True, "limit": 100}).get("writers") or ()
    return not any(entry.get("you") and entry.get("agent") for entry in listed)


def has_undone(client: Client) -> bool:
    """Return True if the newest undo in the journal was made by `undo`, not by redo, rollback or restore."""
    newest = client.call("log", {"kind": "batch_undone", "limit": 1}).get("records") or [{}]
    return bool(newest[0].get("how") == "undo")


def goes_on(client: Client, plan: Mapping[str, Any]) -> str:
    """Return a warning sentence if the plan undoes changes older than those undone last, else ""."""
    newest = client.call("log", {"kind": "batch_undone", "limit": 1}).get("records") or ()
    batches = list(plan.get("batches") or ())
    if not newest or not batches or newest[0].get("how") != "undo" or newest[0]["seq"] < max(batches):
        return ""
    return "You have undone later work already, and this goes on before it; `quire redo` takes the last undo back."
