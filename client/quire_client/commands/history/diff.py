"""`quire diff`: what changed between two points."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render
from quire_client.commands import Command, Invocation, Option, Usage, point_of

if TYPE_CHECKING:
    from quire_client.api import Client

MOST_PATHS: Final = 100
"""Files that are asked for at a time."""


def run(call: Invocation) -> int:
    """Show the changes from one point to another, or to now."""
    if not call.arguments:
        raise Usage("A..B is missing: the points to compare, as in `quire diff yesterday..` or `… v10..v12 PATH`.")
    from quire_journal.model import parse_version_token

    given = call.arguments[0]
    start, dots, end = given.partition("..")
    if (not start or not dots) and parse_version_token(given) is None and os.path.lexists(call.folder / given):
        raise Usage(f"{given!r} is a path, not a point: try `quire diff v10.. {shlex.quote(given)}`.")
    if not start:
        raise Usage(f"A..B begins with a point, not with {given!r}.")
    arguments: dict[str, Any] = {"from": point_of(start), **call.stated(("cursor",))}
    if end:
        arguments["to"] = point_of(end)
    if call.arguments[1:]:
        arguments["paths"] = [call.in_workspace(path) for path in call.arguments[1:]]
    with call.connect() as client:
        reply = client.call("diff", arguments)
        if not call.json:
            reply = whole(client, reply, arguments)
    show = _counts if "stat" in call.options else lambda reply: patches(reply, call.colours)
    return call.answer(reply, lambda reply: "\n".join(show(reply)))


def whole(client: Client, reply: dict[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """The reply to `asked` with the files that it had no room for, and the patches."""
    from quire_journal.model import shown_path  # by which two files differ that are shown alike, one escaped

    files: dict[str, dict[str, Any]] = {}
    page = reply
    while True:
        files |= {shown_path(file): file for file in page.get("files") or ()}
        if not page.get("next"):
            break
        page = client.call("diff", {**asked, "from": page["from"], "to": page["to"], "cursor": page["next"]})
        if not page.get("ok"):
            return page
    left = [path for path, file in files.items() if file.get("truncated")]
    while left:
        some = left[:MOST_PATHS]
        more = client.call("diff", {"from": reply["from"], "to": reply["to"], "paths": some})
        told = {shown_path(file): file for file in more.get("files") or () if not file.get("truncated")}
        fitting = {path: told[path] for path in some if path in told}
        files |= fitting
        # Where none fits, each of them is larger than a reply.
        left = [path for path in left if path not in fitting] if fitting else left[len(some) :]
    return {**reply, "files": [*files.values()]}


def _counts(reply: Mapping[str, Any]) -> Iterator[str]:
    """How many lines came and went in each file."""
    rows = []
    for file in reply.get("files") or ():
        body = file.get("patch", "").split("\n")[2:]  # behind the names
        added, removed = (sum(line.startswith(sign) for line in body) for sign in "+-")
        told = f"+{added} -{removed}" if file.get("patch") else _without_patch(file)
        rows.append((told, render.one_line(file.get("path", "?"), 4096)))
    yield from render.columns(rows) or ["Nothing differs."]


def patches(reply: Mapping[str, Any], colours: render.Palette) -> Iterator[str]:
    """The lines that show how files differ."""
    return map(colours.diff_line, _lines(reply))


def _lines(reply: Mapping[str, Any]) -> Iterator[str]:
    """The patches of all files, and a line for each file that has none to show."""
    files = reply.get("files") or ()
    if not files:
        yield "Nothing differs."
    for file in files:
        if file.get("patch"):
            yield from map(_line, file["patch"].removesuffix("\n").split("\n"))
        else:
            yield f"{render.one_line(file.get('path', '?'), 4096)}: {_without_patch(file)}"


def _line(line: str) -> str:
    """A line of a patch. The CR of a CRLF is a part of it: `git apply` needs it, and a person is to see it."""
    ending = ("^M" if sys.stdout.isatty() else "\r") if line.endswith("\r") else ""
    return render.clean(line, keep="\t") + ending


def _without_patch(file: Mapping[str, Any]) -> str:
    """How a file differs whose lines are not shown."""
    entry = f"{render.one_line(file['entry'])} " if file.get("entry") else ""
    status = f"{entry}{render.one_line(file.get('status', 'changed'))}"
    if file.get("truncated"):
        return f"{status}; too long to be shown, `quire show` and `quire cat` print the whole of it"
    if file.get("mode"):
        return f"mode {' -> '.join(map(render.one_line, file['mode']))}"
    if file.get("binary") is False:
        return f"{status}; its bytes are not in the journal"
    return f"{status}, binary" if file.get("binary") else status


COMMAND = Command(
    arguments="A..B [PATH ...]",
    about="Shows what changed from point A to point B, or to now with `A..`, in everything or in the paths named. Of\n"
    "one file, since a version: `quire diff v10.. PATH`.",
    example="quire diff before-refactoring.. src/app.py",
    run=run,
    options=(
        Option("stat", "", "only how many lines came and went in each file"),
        Option("cursor", "C", "with the `next` of a reply in JSON: the files behind those that it tells of"),
    ),
)
