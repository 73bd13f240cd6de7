"""`quire purge`: a secret's bytes go from everywhere that Quire controls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from quire_client import render
from quire_client.commands.base import Command, Invocation, Option, Usage
from quire_client.progress import Progress

TIMEOUT_S: Final = 3600.0
"""All stored bytes may have to be read; --timeout shortens it."""


def run(call: Invocation) -> int:
    """Purge, or with --plan say what would go."""
    call.at_most(1)
    matching, named = call.options.get("matching", ""), next(iter(call.arguments), "")
    if bool(matching) == bool(named):
        raise Usage("Say a PATH, a BLOB (sha256), or --matching REGEX.")
    wanted: dict[str, Any] = {"matching": matching} if matching else {"path": call.in_workspace(named)}
    if re.fullmatch("[0-9a-f]{64}", named):
        wanted = {"blob": named}
    wanted |= {"plan": "plan" in call.options, "note": call.options.get("note", "")}
    with call.connect() as client, Progress("Purging", call.person_watches):
        reply = client.purge(timeout_s=call.timeout_s(TIMEOUT_S), **wanted)
    return call.answer(reply, lambda reply: "\n".join(_lines(reply)))


def _lines(reply: Mapping[str, Any]) -> Iterator[str]:
    listed = reply.get("versions") or ()
    rows = [(render.one_line(one.get("path", "?"), 4096), render.one_line(one.get("version", "?"))) for one in listed]
    yield from render.columns(rows) if rows else ()
    if (more := int(reply.get("versions_total") or 0) - len(rows)) > 0:
        yield f"… and {render.count(more, 'version')} more"
    yield render.clean_text(reply.get("message", ""))


COMMAND = Command(
    arguments="PATH|BLOB",
    about="Removes the bytes of every version of PATH, of a BLOB (sha256), or of every version that matches a regular\n"
    "expression, and whatever the journal, its kept replies and logs tell of them. Their records stay, and say who\n"
    "purged them. Nothing brings them back. The files themselves are left alone. --plan changes nothing. It says\n"
    "where copies may remain; a secret that was ever shared has to be replaced where it was issued.",
    example="quire purge --matching 'ghp_[A-Za-z0-9]{36}' --plan",
    run=run,
    options=(
        Option("matching", "REGEX", "whatever holds this, in bytes; ^ and $ are ends of lines"),
        Option("plan", "", "say what would go, and change nothing"),
        Option("note", "TEXT", "why; kept in the log, so not the secret"),
    ),
)
