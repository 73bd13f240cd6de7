"""`quire ls`: lists the files at a point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render
from quire_client.commands import Command, Invocation, Option, nowhere

if TYPE_CHECKING:
    from quire_client.export import Tree


def run(call: Invocation) -> int:
    from quire_client.export import ExportStop, fetch

    call.at_most(1)
    named, point = call.path_then(call.arguments[0]) if call.arguments else ("", call.options.get("at", ""))
    path = call.in_workspace(named or ".") if call.arguments else ""
    with call.connect() as client:
        try:
            tree = fetch(client, point, path)
        except ExportStop as stopped:
            return call.answer(stopped.reply, lambda reply: "")
        unknown = nowhere(call, client, named) if named and not tree.entries else None
    if unknown:
        return call.answer(unknown, lambda reply: "")
    reply = {
        "ok": True,
        "message": f"{render.counted(len(tree.entries), 'entry', 'entries')}.",
        "at": tree.at,
        "time": tree.time,
        "complete": tree.complete,
        "entries": tree.entries,
        **tree.told_beside,
    }
    if began_later(tree):
        call.say(BEFORE_IT)
    for sentence in beside(tree, len(tree.uncaptured), [entry["path"] for entry in tree.uncaptured]):
        call.say(sentence)
    return call.answer(reply, lambda reply: "\n".join(_rows(reply)), exact=not tree.entries)


BEFORE_IT: Final = "The journal begins later: it knows nothing of that time."


def began_later(tree: Tree) -> bool:
    """Return True if the tree's point is before the journal's first record."""
    return tree.time is None and not tree.entries


FEW: Final = 3


def beside(tree: Tree, uncaptured: int, paths: Sequence[str] = ()) -> list[str]:
    """Return sentences about an incomplete tree. `uncaptured`: number of files without bytes; `paths`: their names, if
    no list follows.
    """
    said: list[str] = []
    if not tree.complete and not tree.gaps:
        said.append("The whole tree had not been looked at by then; there may have been more.")
    if uncaptured:
        names = ", ".join(render.one_line(path) for path in paths[:FEW])
        more = f" and {len(paths) - FEW} more" if len(paths) > FEW else ""
        told = f": {names}{more}" if names else ""
        said.append(f"{render.lacking(uncaptured).capitalize()}{told}.")
    return said


def _rows(reply: Mapping[str, Any]) -> list[str]:
    return render.columns(_row(entry) for entry in reply["entries"])


def _row(entry: Mapping[str, Any]) -> tuple[str, ...]:
    path = render.one_line(entry.get("path", "?"), 4096)
    if entry.get("kind") == "folder":
        path += "/"
    if entry.get("kind") == "link":
        path += f" -> {render.one_line(entry.get('target', '?'), 4096)}"
    if entry.get("uncaptured"):
        path += f"  [not captured: {render.one_line(entry['uncaptured']).replace('_', ' ')}]"
    sort = {"folder": "d", "link": "l"}.get(str(entry.get("kind")), "-")
    size = render.one_line(entry.get("sizeBytes", 0))
    return (f"{sort}{render.one_line(entry.get('mode', ''))}", f"{size:>8}", str(entry.get("version") or ""), path)


COMMAND = Command(
    arguments="[PATH]",
    about="Lists the files, links and empty folders that there were at a point, or are: all of them, or those of\n"
    "PATH, a file, a folder or a quoted glob.",
    example="quire ls --at before-refactoring src",
    run=run,
    options=(Option("at", "POINT", "as it was then"),),
)
