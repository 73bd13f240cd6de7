"""Warnings about other checkouts, as replies carry them. Pure functions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from quire_daemon.family.compare import Elsewhere
from quire_daemon.family.note import HeldLease
from quire_journal.history import rfc3339
from quire_journal.model import counted

ALSO_CHANGED: Final = "also_changed"
LEASED_ELSEWHERE: Final = "leased_elsewhere"

MOST_SAID: Final = 3


def told(one: Elsewhere, conflicts: int | None, now_ns: int) -> dict[str, Any]:
    """Build the warning about a file changed in another checkout. `conflicts`: number of merge conflicts with the
    local file; None: unknown.
    """
    file, lines = one.file, one.preview.lines if one.preview is not None else ()
    verdict = {None: "unknown", 0: "clean"}.get(conflicts, "conflicts")
    end = {
        "unknown": "" if file.gone else "; whether a merge of both is clean is not known",
        "clean": "; a merge of both is clean",
        "conflicts": f"; a merge of both conflicts in {counted(conflicts or 0, 'hunk')}",
    }[verdict]
    by = f" by {_name(file.agent, file.session)}" if file.agent else ""
    what = "is removed" if file.gone else f"{_where(lines)} also changed"
    message = f"{file.path} {what} in {one.checkout}{by}, {_ago(now_ns - file.at_ns)}{end}."
    elsewhere = {
        "checkout": one.checkout,
        "root": os.fspath(one.root),
        "branch": one.branch,
        "agent": file.agent,
        "agent_session": file.session,
        "at": rfc3339(max(0, file.at_ns)),
        "lines": [list(span) for span in lines],
        "merge": verdict,
        "conflicts": conflicts,
        "gone": file.gone,
    }
    return {"type": ALSO_CHANGED, "message": message, "path": file.path, "elsewhere": elsewhere}


def lease_told(root: Path, path: str, lease: HeldLease) -> dict[str, Any]:
    """Build the warning about a lease in another checkout. It restricts nobody in this checkout."""
    who = _name(lease.agent, lease.session) if lease.agent else "somebody"
    why = f": {lease.reason}" if lease.reason else ""
    message = (
        f"{who} has a lease ({lease.strength}) on {lease.path} in {root.name}{why}. It binds nobody here, as these "
        "are other files; both will be merged."
    )
    return {"type": LEASED_ELSEWHERE, "message": message, "path": path}


def _where(lines: tuple[tuple[int, int], ...]) -> str:
    said = [f"{a} to {b}" if b > a else f"{a}" if a == b else f"before {a}" for a, b in lines[:MOST_SAID]]
    if not said:
        return "is"
    if len(lines) == 1 and lines[0][1] < lines[0][0]:
        return f"the place before line {lines[0][0]} is"
    more = f" and {len(lines) - len(said)} more" if len(lines) > len(said) else ""
    one = len(lines) == 1 and lines[0][0] == lines[0][1]
    return f"line{'' if one else 's'} {', '.join(said)}{more} {'is' if one else 'are'}"


def _name(agent: str, session: str) -> str:
    return f"{agent}/{session}" if session else agent


def _ago(ns: int) -> str:
    seconds = max(0, ns) // 1_000_000_000
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{counted(seconds // size, name)} ago"
    return "just now"
