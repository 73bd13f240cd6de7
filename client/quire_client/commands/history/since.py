"""`quire since`: prints the records after a cursor once, and the next cursor."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render
from quire_client.commands import Command, Invocation, Option, Usage, nowhere, point_of
from quire_client.commands.history.log import MOST_A_PAGE, row

if TYPE_CHECKING:
    from quire_client.api import Client

MOST_WAIT_S: Final = 60.0


def run(call: Invocation) -> int:
    call.at_most(2)
    arguments = call.stated(("writer", "kind"))
    if call.arguments:
        arguments["cursor"] = point_of(call.arguments[0])
    if call.arguments[1:]:
        arguments["path"] = call.in_workspace(call.arguments[1])
    if "wait" in call.options:
        arguments["wait_ms"] = round(_wait_s(call.options["wait"]) * 1000)
    limit = call.number("limit")
    with call.connect() as client:
        reply = _all(client, arguments, limit, call.timeout_s(30.0))
        unknown = nowhere(call, client, call.arguments[1]) if call.arguments[1:] and not reply.get("records") else None
    status = call.answer(reply, _text if call.arguments else _cursor)
    if reply.get("suggested_action") == "name_a_point" and os.path.lexists(call.arguments[0]):
        from shlex import quote

        path = quote(render.one_line(call.arguments[0]))
        call.say(
            f"{path} is a path: `quire log {path}` tells what became of it, `quire since CURSOR {path}` what "
            "came after CURSOR."
        )
    if reply.get("ok") and call.arguments:
        if reply.get("fresh"):
            call.say("Unknown cursor; showing all records from the beginning.")
        if reply.get("more"):
            call.say("There is more.")
        if unknown:  # not refused: the writer may still appear
            call.say(render.clean_text(unknown["message"]))
        call.say(f"The next cursor is {_cursor(reply)}")
    elif reply.get("ok") and call.person_watches:
        now = _cursor(reply)
        call.say(
            f"That is the cursor of now: `quire since {now}` tells what comes after it, `quire since 2h` what came."
        )
    return status


def _wait_s(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= MOST_WAIT_S:
        raise Usage(f"--wait wants a number of seconds, at most {MOST_WAIT_S:.0f}, not {text[:40]!r}.")
    return seconds


def _all(client: Client, arguments: dict[str, Any], limit: int | None, timeout_s: float) -> dict[str, Any]:
    records: list[Any] = []
    fresh = False
    while True:
        wanted = {} if limit is None else {"limit": min(limit - len(records), MOST_A_PAGE)}
        waits_s = arguments.get("wait_ms", 0) / 1000
        page = client.call("since", {**arguments, **wanted}, timeout_s=timeout_s + waits_s)
        if not page.get("ok"):
            return page
        records += page.get("records") or ()
        fresh = fresh or bool(page.get("fresh"))
        if not page.get("more") or (limit is not None and len(records) >= limit):
            return {**page, "records": records, "fresh": fresh, "message": f"{render.counted(len(records), 'record')}."}
        arguments = {**arguments, "cursor": page["cursor"], "wait_ms": 0}


def _text(reply: Mapping[str, Any]) -> str:
    return "\n".join(render.columns(row(record) for record in reply["records"])) or "Nothing was recorded since."


def _cursor(reply: Mapping[str, Any]) -> str:
    return render.one_line(reply.get("cursor", ""))


COMMAND = Command(
    arguments="[CURSOR] [PATH]",
    about="Prints what was recorded after CURSOR, oldest first, and on stderr the cursor to ask with next. Without\n"
    "one it prints the cursor of now, when all that is on disk has been noticed. A POINT will do as well. PATH is a\n"
    "file, a folder or a quoted glob. `quire watch` goes on and on.",
    example="quire since seq:812 src --writer outside",
    run=run,
    options=(
        Option("writer", "WHO", "an agent's name, ada/s1, user, me, w3, or outside"),
        Option("kind", "KIND", "only records of this kind, such as 'file written'"),
        Option("limit", "N", "at most so many; all if not said"),
        Option("wait", "SECONDS", "wait so long for something to tell"),
    ),
)
