"""`quire show`: one version."""

from __future__ import annotations

from typing import Any

from quire_client.commands.base import Command, Invocation, path_at
from quire_client.commands.read import shown


def run(call: Invocation) -> int:
    """Show a version by its token, or a path at a point."""
    path, point = path_at(call.one_argument("VERSION"))
    # Without `@` the argument is the token alone.
    arguments: dict[str, Any] = {**call.path_arguments(path), "at": point} if point else {"version": path}
    with call.connect() as client:
        reply = client.call("show", arguments)
    return call.answer(reply, shown, exact=True)


COMMAND = Command(
    arguments="VERSION | PATH@POINT",
    about="Prints the text that a version holds. `quire log` lists versions; a point is a version, seq:N, a\n"
    "checkpoint, or a time such as 2026-01-31T12:00:00Z. With --json also who wrote it, when, and from which base.",
    example="quire show v812",
    run=run,
)
