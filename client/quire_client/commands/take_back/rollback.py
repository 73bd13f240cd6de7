"""`quire rollback`: undoes one writer's changes since a point, and keeps those of other writers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from quire_client.cli import in_the_way, show_files, whose
from quire_client.commands import Command, Invocation, MissingArgument, Option, Usage, point_of
from quire_client.commands.take_back.consent import is_person
from quire_client.commands.take_back.undo import (
    EXECUTING,
    PROBABLE,
    YES,
    executing,
    files_named,
)

if TYPE_CHECKING:
    from quire_client.api import Client

EVERYONE = "*"


def run(call: Invocation) -> int:
    if "all-writers" in call.options and "only" in call.options:
        raise Usage("--all-writers and --only exclude each other.")
    arguments = executing(call) | call.stated({"only": "writer"})
    if "all-writers" in call.options:
        arguments["writer"] = EVERYONE
    if "token" not in call.options:
        if not call.arguments:
            raise MissingArgument("POINT")
        arguments["to"] = point_of(call.arguments[0])
    if call.arguments[1:]:
        arguments |= files_named(call, call.arguments[1:])
    with call.connect() as client:
        if not arguments.keys() & {"writer", "token"} and call.can_ask and is_person(client):
            if "plan" not in arguments and "yes" not in call.options:
                return _everything(call, client, arguments)
            arguments["writer"] = EVERYONE
        reply = client.call("rollback", arguments)
    return call.answer(reply, show_files, below=in_the_way)


def _everything(call: Invocation, client: Client, arguments: Mapping[str, Any]) -> int:
    plan = client.call("rollback", {**arguments, "writer": EVERYONE, "plan": True})
    if not plan.get("ok") or not plan.get("valid", True):
        return call.answer(plan, show_files, below=in_the_way)
    shown = {name: value for name, value in plan.items() if name != "token"}
    print("\n".join([show_files(shown), *whose(plan)]))
    if not call.agreed("Take all of this back?"):
        return call.declined(
            "Nothing was taken back. `quire rollback POINT --only WHO` takes back what one of them did."
        )
    return call.answer(client.call("rollback", {"token": plan["token"]}), show_files, below=in_the_way)


COMMAND = Command(
    arguments="POINT [PATH ...]",
    about="Takes back what you did since POINT, in everything or in the PATHs, and keeps what others did. Typed at a\n"
    "terminal without --only it is about all that changed since, whoever changed it: it shows whose work goes, and\n"
    "asks. --only names whose work it is about: an agent, outside, or '*' for everyone's, as --all-writers does.\n"
    "It is recorded, and `quire undo` takes it back. With --plan nothing is done; the plan's token carries it out.",
    example="quire rollback before-refactoring src --only alice --plan",
    run=run,
    options=(
        Option(
            "only",
            "WHO",
            "whose work: an agent's name, user, w3, outside, or '*' for everyone; also called --writer",
            also=("writer",),
        ),
        Option("all-writers", "", "everyone's work, without a question"),
        PROBABLE,
        *EXECUTING,
        YES,
    ),
)
