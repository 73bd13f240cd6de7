"""`quire restore`: writes an old version of a file to disk."""

from __future__ import annotations

from typing import Any

from quire_client.cli import in_the_way, show_files
from quire_client.commands import Command, Invocation, MissingArgument, Option, Usage
from quire_client.commands.take_back.undo import PLANNED, executing


def run(call: Invocation) -> int:
    call.at_most(1)
    arguments: dict[str, Any] = {}
    if call.arguments:
        path, point = call.path_then(call.arguments[0])
        if not path or not point:
            given = call.arguments[0]
            like = f": try `quire restore {given}@yesterday`, or a version of `quire log {given}`" if path else ""
            raise Usage(f"PATH@POINT names a path and a point; {given!r} does not{like}.")
        arguments = {"path": call.in_workspace(path), "at": point}
    elif "token" not in call.options:
        raise MissingArgument("PATH@POINT")
    with call.connect() as client:
        reply = client.call("restore", arguments | executing(call))
    return call.answer(reply, show_files, below=in_the_way)


COMMAND = Command(
    arguments="PATH@POINT",
    about="Writes a file, or the files of a folder or a quoted glob, as they were at POINT (a commit of git: one\n"
    "file). Links and empty folders come back where nothing is now. It is recorded and can be undone.",
    example="quire restore src/app.py@before-refactoring --plan",
    run=run,
    options=(Option("at", "POINT", "as it was then, in place of @POINT"), *PLANNED),
)
