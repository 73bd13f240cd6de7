"""`quire diff`: what changed between two points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quire_client import render
from quire_client.commands.base import Command, Invocation, Usage


def run(call: Invocation) -> int:
    """Show the changes from one point to another, or to now."""
    if not call.arguments:
        raise Usage("A..B is missing.")
    start, _, end = call.arguments[0].partition("..")
    if not start:
        raise Usage(f"A..B begins with a point, not with {call.arguments[0]!r}.")
    arguments: dict[str, Any] = {"from": start}
    if end:
        arguments["to"] = end
    if call.arguments[1:]:
        arguments.update(call.path_arguments(*call.arguments[1:], many=True))
    with call.connect() as client:
        reply = client.call("diff", arguments)
    return call.answer(reply, lambda reply: "\n".join(map(call.colours.diff_line, _lines(reply))))


def _lines(reply: Mapping[str, Any]) -> Iterator[str]:
    """The lines of all diffs, each file's below its name."""
    for file in [reply] if "diff" in reply or "hunks" in reply else reply.get("files") or ():
        name = render.one_line(file.get("path", ""), 4096)
        text = list(_text(file))
        if name and not any(line.startswith("--- ") for line in text[:1]):
            yield f"--- {name}"
            yield f"+++ {render.one_line(file.get('to') or name, 4096)}"
        yield from text


def _text(file: Mapping[str, Any]) -> Iterator[str]:
    diff = file.get("diff")
    if isinstance(diff, str):
        diff = diff.splitlines()
    for line in diff or ():
        yield render.clean(line, keep="\t")
    for hunk in () if diff is not None else file.get("hunks") or ():
        if hunk.get("header"):
            yield render.one_line(hunk["header"])
        for line in hunk.get("lines") or ():
            yield render.clean(line, keep="\t")


COMMAND = Command(
    arguments="A..B [PATH ...]",
    about="Shows what changed from point A to point B, or to now with `A..`, in everything or in the paths named. A\n"
    "point is a version, seq:N, a checkpoint or a time such as 2026-01-31T12:00:00Z.",
    example="quire diff v800..v812 src/app.py",
    run=run,
)
