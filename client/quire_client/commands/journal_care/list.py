"""`quire list`: lists all journals of the user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from quire_client.cli import render
from quire_client.commands import Command, Invocation
from quire_journal import VERSION


def run(call: Invocation) -> int:
    call.at_most(0)
    from quire_client.journals import journals

    known = list(journals(call.state_dir))
    listed = [
        {
            "id": one.identity.id,
            "path": one.identity.root,
            "exists": one.exists,
            "state_dir": str(one.state),
            "bytes": one.bytes,
            "shared_bytes": sum(one.shared.values()),
            "created": one.identity.created,
            "changed": _rfc3339(one.changed_ns),
            "running": one.daemon is not None,
            "pid": one.daemon.pid if one.daemon is not None else None,
            "version": one.version or None,
            "family": one.family or None,
            "branch": one.branch or None,
        }
        for one in known
    ]
    shared = {file: size for one in known for file, size in one.shared.items()}
    total = sum(one.bytes for one in known) + sum(shared.values())
    told = f", {render.size(sum(shared.values()))} of it shared by several" if shared else ""
    message = f"{render.counted(len(listed), 'journal')}, {render.size(total)}{told}."
    return call.answer({"ok": True, "message": message, "journals": listed, "client": VERSION}, _show)


def _rfc3339(at_ns: int) -> str | None:
    import time

    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_ns // 10**9)) if at_ns else None


def _show(reply: Mapping[str, Any]) -> str:
    together = Counter(one["family"] for one in reply["journals"] if one["family"])
    rows = [
        (
            str(one["id"])[:8],
            _state(one),
            render.size(one["bytes"]),
            render.moment(one["changed"] or "never written"),
            render.clean(one["path"]) + _about(one, together),
        )
        for one in sorted(reply["journals"], key=lambda one: _place(one, together))
    ]
    head = ("ID", "DAEMON", "SIZE", "LAST CHANGE", "WORKSPACE")
    return "\n".join([*(render.columns([head, *rows]) if rows else ()), str(reply["message"])])


def _place(one: Mapping[str, Any], together: Counter[str]) -> tuple[str, str]:
    family = one["family"]
    return (family.partition(":")[2] if together[family] > 1 else one["path"], one["path"])


def _about(one: Mapping[str, Any], together: Counter[str]) -> str:
    if not one["exists"]:
        return "  (the folder is gone)"
    if together[one["family"]] < 2:
        return ""
    branch = f"{render.one_line(one['branch'])}, " if one["branch"] else ""
    return f"  ({branch}one of {together[one['family']]} checkouts)"


def _state(one: Mapping[str, Any]) -> str:
    if not one["running"]:
        return "-"
    version = one["version"] or "no answer"
    return f"pid {one['pid']} ({version}{'' if version in (VERSION, 'no answer') else ', old'})"


COMMAND = Command(
    arguments="",
    about="Lists the journals of all your workspaces: the beginning of the id, the daemon with its version, the size\n"
    "on the disk, without contents that it shares with other checkouts of the repository, when the journal was\n"
    "written last, and the folder. Those with a\n"
    "--state-dir of their own are not known here; with that option, the one there is told. Checkouts and\n"
    "worktrees of one repository stand together, each with its branch. Starts no daemon.",
    example="quire list",
    run=run,
)
