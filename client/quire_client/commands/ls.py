"""`quire ls`: what there was at a point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quire_client import render
from quire_client.commands.base import Command, Invocation, Option


def run(call: Invocation) -> int:
    """List files, links and empty folders."""
    from quire_client.trees import Stopped, fetch

    call.at_most(1)
    path = call.in_workspace(call.arguments[0]) if call.arguments else ""
    with call.connect() as client:
        try:
            tree = fetch(client, call.options.get("at", ""), path)
        except Stopped as stopped:
            return call.answer(stopped.reply, lambda reply: "")
        nowhere = call.nowhere(client, call.arguments[0]) if call.arguments and not tree.entries else None
    if nowhere:
        return call.answer(nowhere, lambda reply: "")
    reply = {
        "ok": True,
        "message": f"{len(tree.entries)} entr{'y' if len(tree.entries) == 1 else 'ies'}.",
        "at": tree.at,
        "time": tree.time,
        "complete": tree.complete,
        "entries": tree.entries,
    }
    for sentence in beside(tree.complete, len(tree.uncaptured)):
        call.say(sentence)
    return call.answer(reply, lambda reply: "\n".join(_rows(reply)), exact=not tree.entries)


def beside(complete: bool, uncaptured: int) -> list[str]:
    """What a tree of the journal does not tell."""
    said = [] if complete else ["The whole tree had not been looked at by then; there may have been more."]
    if uncaptured:
        said.append(f"Of {uncaptured} file{'' if uncaptured == 1 else 's'} the bytes are not in the journal.")
    return said


def _rows(reply: Mapping[str, Any]) -> list[str]:
    return render.columns(_row(entry) for entry in reply["entries"])


def _row(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Mode, size, version, and the path: with where a link leads, or why the bytes are not there."""
    path = render.one_line(entry.get("path", "?"), 4096)
    if entry.get("kind") == "folder":
        path += "/"
    if entry.get("kind") == "link":
        path += f" -> {render.one_line(entry.get('target', '?'), 4096)}"
    if entry.get("uncaptured"):
        path += f"  [not captured: {render.one_line(entry['uncaptured']).replace('_', ' ')}]"
    sort = {"folder": "d", "link": "l"}.get(str(entry.get("kind")), "-")
    size = render.one_line(entry.get("sizeBytes", 0))
    return (f"{sort}{render.one_line(entry.get('mode', ''))}", f"{size:>8}", str(entry.get("version", "")), path)


COMMAND = Command(
    arguments="[PATH]",
    about="Lists the files, links and empty folders that there were at a point, or are: all of them, or those of\n"
    "PATH, a file, a folder or a quoted glob.",
    example="quire ls --at before-refactoring src",
    run=run,
    options=(Option("at", "POINT", "as it was then"),),
)
