"""`quire call`: calls any tool with JSON arguments."""

from __future__ import annotations

import json
import sys
from typing import Any

from quire_client.cli import render
from quire_client.commands import Command, Invocation, MissingArgument, Usage, status_of


def run(call: Invocation) -> int:
    call.at_most(2)
    if not call.arguments:
        raise MissingArgument("TOOL")
    try:
        arguments = _arguments(call.arguments[1] if len(call.arguments) > 1 else "{}")
    except Usage as wrong:
        raise Usage(f"{wrong} `quire call {call.arguments[0]} --help` tells what it takes.") from wrong
    with call.connect() as client:
        reply = client.call(call.arguments[0], arguments)
    call.put(render.as_json(reply) + "\n")
    return status_of(reply)


def explain(call: Invocation) -> int:
    from quire_client.commands import columns, of_tool

    with call.connect() as client:
        reply = client.describe(call.arguments[0])
    return call.answer(reply, lambda reply: of_tool(reply["tools"][0], call.colours, columns()))


def _arguments(text: str) -> dict[str, Any]:
    try:
        given = json.loads(sys.stdin.read() if text == "-" else text)
    except (ValueError, RecursionError) as error:
        raise Usage(f"The arguments are not JSON: {error}.") from error
    if not isinstance(given, dict):
        raise Usage("The arguments must be one JSON object.")
    return given


COMMAND = Command(
    arguments="TOOL [JSON | -]",
    about="Calls TOOL with the arguments in JSON, or from stdin for `-`, and prints the reply as one JSON object. The\n"
    "exit status tells what became of it. `quire call TOOL --help` tells what a tool does and takes, `quire call\n"
    "describe` has all of them.",
    example="""quire call read_file '{"path": "src/app.py", "hashes": true}'""",
    run=run,
    explain=explain,
)
