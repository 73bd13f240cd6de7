"""`quire hook AGENT`: reads an agent's hook event as JSON and prints the answer; the exit status is always 0.

If the daemon is unreachable, the agent continues; with the setting `[hooks] unreachable = "deny"` its call is denied.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final

from quire_client.commands import DONE, TRIAL, Command, Invocation, Option
from quire_client.hooks import AGENTS, PATIENCE_S, Connected, Surroundings, agent, answered

MOST_INPUT: Final = 32 * 1024 * 1024


def run(call: Invocation) -> int:
    if sys.stdin is not None and sys.stdin.isatty():
        print(
            "quire hook: agents call it, with an event on stdin; `quire setup AGENT` has them do so.", file=sys.stderr
        )
        print("{}")
        return DONE
    if "stdio" in call.options:
        return serve(call, sys.stdin.buffer)
    try:
        answer = answer_to(call, sys.stdin.buffer.read(MOST_INPUT + 1))
    except Exception as error:  # a fault of Quire must not stop the agent
        if os.environ.get("QUIRE_TRACEBACK"):
            raise
        print(f"quire hook: {type(error).__name__}: {error}", file=sys.stderr)
        answer = {}
    print(json.dumps(answer))
    return DONE


def answer_to(call: Invocation, given: bytes, connected: Connected | None = None) -> dict[str, Any]:
    """Return the JSON answer to the hook event in `given`; {} if there is no such agent or event."""
    name, told = _agent(call), _event(given)
    return {} if name is None or told is None else answered(agent(name), told, _surroundings(call), connected)


def installed() -> int:
    """Return a number that changes when another version of Quire is installed."""
    return os.stat(__file__).st_mtime_ns


def serve(
    call: Invocation,
    events: BinaryIO,
    connect: Connected | None = None,
    running: Connected | None = None,
    program: Callable[[], object] = installed,
) -> int:
    """Answer each line of `events`, a hook event, with a line of JSON, until `events` ends or `program` returns another
    value, which means another version of Quire. Return the exit status.

    `connect` opens connections to daemons, `running` only to daemons that run.
    """
    from quire_client.hooks import Answerer

    name = _agent(call)
    if name is None:
        return DONE
    ours, answerer = program(), Answerer(name, _surroundings(call), connect, running)
    while given := events.readline(MOST_INPUT + 1):
        rest = given
        while rest and not rest.endswith(b"\n"):  # skip the rest of a too long line
            rest = events.readline(MOST_INPUT)
        if program() != ours:
            return DONE
        told = _event(given)
        print(json.dumps({} if told is None else answerer.answer(told)), flush=True)
    answerer.part()
    answerer.close()
    return DONE


def _agent(call: Invocation) -> str | None:
    name = call.arguments[0] if call.arguments else ""
    if name in AGENTS:
        return name
    wrong = f"there is no agent {name!r}" if name else "AGENT is missing"
    print(f"quire hook: {wrong}; there are {', '.join(AGENTS)}.", file=sys.stderr)
    return None


def _event(given: bytes) -> Mapping[str, Any] | None:
    if len(given) > MOST_INPUT:
        print(f"quire hook: more than {MOST_INPUT} bytes of input; it was not looked at.", file=sys.stderr)
        return None
    try:
        told = json.loads(given)
    except (ValueError, RecursionError) as error:
        print(f"quire hook: the event on stdin is not JSON: {error}.", file=sys.stderr)
        return None
    return told if isinstance(told, Mapping) else None


def _surroundings(call: Invocation) -> Surroundings:
    return Surroundings(
        call.environ,
        os.fspath(call.folder) if "workspace" in call.options else "",
        call.state_dir,
        call.options.get("agent", ""),
        bool(call.environ.get(TRIAL)),
        call.timeout_s(PATIENCE_S),
    )


COMMAND = Command(
    arguments="AGENT",
    about="What an agent's hooks call, as `quire setup AGENT` configures them. Reads the agent's JSON on stdin, tells\n"
    "the daemon which file the agent's own tools are about to write or have written, and prints the agent's answer:\n"
    "what others changed meanwhile, or why it must read again first. Ends with status 0 and valid JSON whatever\n"
    "happens. A folder without a journal is left alone.\n"
    f"Agents: {', '.join(AGENTS)}.",
    example="quire hook claude-code < event.json",
    run=run,
    words=tuple(AGENTS),
    options=(Option("stdio", "", "answer events, a line each, until stdin ends; for agents that keep a process"),),
)
