"""`quire purge`: removes a secret from everything that Quire controls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from quire_client.cli import Progress, render
from quire_client.commands import Command, Invocation, Option, Usage
from quire_journal.model import Refusal

TIMEOUT_S: Final = 3600.0
MOST_SHOWN: Final = 10


def run(call: Invocation) -> int:
    call.at_most(1)
    matching, named = call.options.get("matching", ""), next(iter(call.arguments), "")
    if bool(matching) == bool(named):
        raise Usage("Say a PATH, a BLOB (sha256), or --matching REGEX.")
    wanted: dict[str, Any] = {"matching": matching} if matching else {"path": call.in_workspace(named)}
    if re.fullmatch("[0-9a-f]{64}", named):
        wanted = {"blob": named}
    wanted |= {"note": call.options.get("note", "")}
    plan = "plan" in call.options
    if not plan and "yes" not in call.options:
        would = _asked(call, "Looking", wanted, plan=True)
        if not would.get("ok"):
            return call.answer(would, lambda reply: "")
        if not would.get("versions_total") and not would.get("records"):
            return call.answer(would, lambda reply: "\n".join(_lines(reply)))
        if not call.can_ask:
            message = "Nothing was purged: --yes was not said. `--plan` shows what would go."
            return call.answer(Refusal("not_confirmed", message, "confirm").reply(), lambda reply: "")
        for line in _lines(would, MOST_SHOWN):
            call.say(line)
        if not call.agreed(f"{render.counted(int(would.get('blobs') or 0), 'blob')} would be gone for good. Purge?"):
            return call.declined("Nothing was purged.")
    return call.answer(_asked(call, "Purging", wanted, plan=plan), lambda reply: "\n".join(_lines(reply)))


def _asked(call: Invocation, doing: str, wanted: Mapping[str, Any], *, plan: bool) -> Mapping[str, Any]:
    with call.connect() as client, Progress(doing, call.person_watches):
        return client.purge(timeout_s=call.timeout_s(TIMEOUT_S), plan=plan, **wanted)


def _lines(reply: Mapping[str, Any], most: int | None = None) -> Iterator[str]:
    listed = list(reply.get("versions") or ())[:most]
    rows = [(render.one_line(one.get("path", "?"), 4096), render.one_line(one.get("version", "?"))) for one in listed]
    yield from render.columns(rows) if rows else ()
    if (more := int(reply.get("versions_total") or 0) - len(rows)) > 0:
        yield f"… and {render.counted(more, 'version')} more"
    yield render.said(reply.get("message", ""))


COMMAND = Command(
    arguments="PATH|BLOB",
    about="Removes the bytes of every version of PATH, of a BLOB (sha256), or of every version that matches a regular\n"
    "expression, and whatever the journal, its kept replies and logs tell of them. Their records stay, and say who\n"
    "purged them. Nothing brings them back. It shows what would go and asks, or wants --yes; with --plan it only\n"
    "shows it. The files themselves are left alone. It says where copies may remain; a secret that was ever shared\n"
    "has to be replaced where it was issued.",
    example="quire purge --matching 'ghp_[A-Za-z0-9]{36}' --plan",
    run=run,
    options=(
        Option("matching", "REGEX", "whatever holds this, in bytes; ^ and $ are ends of lines"),
        Option("yes", "", "do not ask", "y"),
        Option("plan", "", "say what would go, and change nothing"),
        Option("note", "TEXT", "why; kept in the log, so not the secret"),
    ),
)
