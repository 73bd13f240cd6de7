"""`quire who`: who is present or was lately, and on what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from quire_client.cli import render
from quire_client.commands import Command, Invocation, Option, Usage

LATELY_H: Final = 12
"""Hours for which somebody is listed who has gone."""


def run(call: Invocation) -> int:
    """List the callers that are present, or were lately, or all that there ever were."""
    call.at_most(0)
    arguments: dict[str, Any] = {"hours": 0 if "all" in call.options else LATELY_H, **call.stated(numbers=("limit",))}
    if "minutes" in call.options:
        try:
            arguments["minutes"] = float(call.options["minutes"])
        except ValueError:
            raise Usage(f"--minutes wants a number, not {call.options['minutes']!r}.") from None
    with call.connect() as client:
        reply = client.call("who", arguments)
    return call.answer(reply, lambda reply: _show(reply, "all" in call.options))


def _show(reply: Mapping[str, Any], ids: bool) -> str:
    writers = [writer for writer in reply.get("writers") or () if isinstance(writer, Mapping)]
    rows = [(_ids(writer), *row(writer)) if ids else row(writer) for writer in writers]
    lines = render.columns(rows) or ["Nobody is there."]
    more = int(reply.get("total") or 0) - len(writers)
    if more > 0:
        how = "a larger --limit lists them" if ids else "--all lists them"
        lines.append(f"and {more} more; {how}" if writers else f"{more} have been; {how}")
    return "\n".join(lines)


def row(writer: Mapping[str, Any]) -> tuple[str, ...]:
    """A caller as a line of the table: who, how it is known to be there, when it did something, and on what."""
    turn = render.one_line(writer.get("turn") or "", 40)
    return (
        f"{render.writer(writer)}{' (you)' if writer.get('you') else ''}",
        f"turn {turn}" if turn else "",
        _there(writer),
        render.moment(writer.get("last_seen") or ""),
        "; ".join(_on(writer.get("on"))),
    )


def _there(writer: Mapping[str, Any]) -> str:
    """How it is known to be there. That a process of it has ended is news only where one of them stays."""
    if writer.get("connections"):
        return "connected"
    there = "present" if writer.get("present") else "away"
    if writer.get("hooks"):
        return f"{there}, by its hooks"
    return f"{there}, process ended" if writer.get("alive") is False else there


def _ids(writer: Mapping[str, Any]) -> str:
    """`w8 and 5 before`: a caller is another writer for each process and turn, and shown once."""
    before = int(writer.get("turns") or 1) - 1
    return render.one_line(writer.get("id") or "") + (f" and {before} before" if before > 0 else "")


def _on(on: object) -> Iterator[str]:
    """What a caller is on: leases, bursts, files."""
    told = on if isinstance(on, Mapping) else {}
    for lease in told.get("leases") or ():
        kind, path = render.one_line(lease.get("kind", "")), render.one_line(lease.get("path", ""))
        yield f"{kind} lease on {path}"
    for burst in told.get("bursts") or ():
        yield f"burst {render.one_line(burst.get('burst', ''))} {render.one_line(burst.get('label', ''), 60)}".rstrip()
    files = [render.one_line(file.get("path", "")) for file in told.get("files") or ()]
    if files:
        yield ", ".join(files)


COMMAND = Command(
    arguments="",
    about="Lists who is present (callers with an open connection, and those that did something in the last minutes),\n"
    "then who was in the last 12 hours and is away, each with when it was last seen. On what: their leases, open\n"
    "bursts, and the files that they named or wrote last. An agent session is shown once,\n"
    "though each process, turn and tool call of it is another writer; --all says how many, with the number of the\n"
    "newest. `quire log --agent-session` has what all of them did.",
    example="quire who --minutes 60",
    run=run,
    options=(
        Option("minutes", "N", "how long somebody who has no connection counts as present; 15 if not said"),
        Option("all", "", "list everybody who ever called, with the numbers of writers"),
        Option("limit", "N", "at most so many"),
    ),
)
