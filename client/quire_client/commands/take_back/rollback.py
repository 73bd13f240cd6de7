"""`quire rollback`: back to a point, without what others did being lost."""

from __future__ import annotations

from quire_client.commands import Command, Invocation, MissingArgument, Option, point_of
from quire_client.commands.take_back.undo import EXECUTING, executing, files_named, in_the_way, show_files


def run(call: Invocation) -> int:
    """Roll back, or plan it."""
    arguments = executing(call) | call.stated({"only": "writer"})
    if "token" not in call.options:
        if not call.arguments:
            raise MissingArgument("POINT")
        arguments["to"] = point_of(call.arguments[0])
    if call.arguments[1:]:
        arguments |= files_named(call, call.arguments[1:])
    with call.connect() as client:
        reply = client.call("rollback", arguments)
    return call.answer(reply, show_files, below=in_the_way)


COMMAND = Command(
    arguments="POINT [PATH ...]",
    about="Takes back everything that you did since POINT, in everything or in the PATHs, and keeps what others did.\n"
    "--only names whose work it is about: an agent, outside, or '*' for everyone's.\n"
    "It is recorded, and `quire undo` takes it back. With --plan nothing is done; the plan's token carries it out.",
    example="quire rollback before-refactoring src --only alice --plan",
    run=run,
    options=(
        Option("only", "WHO", "whose work: an agent's name, user, w3, outside, or '*' for everyone", also=("writer",)),
        *EXECUTING,
    ),
)
