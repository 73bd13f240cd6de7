"""Error messages for a path that does not exist, with suggestions."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render

if TYPE_CHECKING:
    from quire_client.api import Client
    from quire_client.commands.base import Invocation

MOST_BESIDE: Final = 1000


def nowhere(call: Invocation, client: Client, given: str) -> dict[str, Any] | None:
    """Return a refusal if the path is neither on disk nor in the journal's history, else None."""
    if any(sign in given for sign in "*?[") or os.path.lexists(call.folder / given):
        return None
    path = call.in_workspace(given)
    past = client.call("log", {"path": path, "limit": 1})
    if not past.get("ok") or past.get("records"):
        return None
    message = f"Neither the journal nor the disk has {path}.{nearest(call, path)}"
    return {"ok": False, "error": "not_found", "message": message, "path": path, "suggested_action": "check_path"}


def nearest(call: Invocation, path: str) -> str:
    """Return a sentence with a leading blank that names the most similar file in the same folder; "" if none is
    similar.
    """
    from quire_journal.model import did_you_mean

    if os.path.isabs(path):
        return ""
    folder, name = os.path.split(path)
    try:
        with os.scandir(call.place.root / folder) as there:
            names = [entry.name for entry in islice(there, MOST_BESIDE)]
    except (OSError, ValueError):
        return ""
    return render.clean(did_you_mean(name, names))
