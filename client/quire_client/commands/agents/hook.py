"""`quire hook AGENT`: the JSON of an agent's hook in, the answer out; whatever happens, exit status 0 and valid JSON.

A hook that fails would stop the agent's work, or, worse, block every edit with a text that nobody understands. So where
Quire cannot be asked the agent goes on, and is told; `[hooks] unreachable = "deny"` in the settings turns that round.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from quire_client.commands import DONE, TRIAL, Command, Invocation
from quire_client.hooks import AGENTS, Agent, Call, Intent, Outcome, agent, tell

if TYPE_CHECKING:
    from quire_journal.workspaces import Place

MOST_INPUT: Final = 32 * 1024 * 1024
"""Bytes of one hook's input; a tool's whole output may be in it."""

PATIENCE_S: Final = 5.0
"""How long the agent waits for all of it, a start of the daemon included."""


Connected = Callable[["Place", Mapping[str, str], float], Any]
"""(workspace, caller, until when) → a connection, as `fast_client.Quick` is one. Raises Unreachable."""


def run(call: Invocation) -> int:
    """Answer one hook."""
    if sys.stdin is not None and sys.stdin.isatty():
        print(
            "quire hook: agents call it, with an event on stdin; `quire setup AGENT` has them do so.", file=sys.stderr
        )
        print("{}")
        return DONE
    try:
        answer = answered(call, sys.stdin.buffer.read(MOST_INPUT + 1))
    except Exception as error:  # an agent's work does not stop for our faults
        if os.environ.get("QUIRE_TRACEBACK"):
            raise
        print(f"quire hook: {type(error).__name__}: {error}", file=sys.stderr)
        answer = {}
    print(json.dumps(answer))
    return DONE


def answered(call: Invocation, given: bytes, connected: Connected | None = None) -> dict[str, Any]:
    """The answer to a hook's input. Raises what a program can raise."""
    name = call.arguments[0] if call.arguments else ""
    if name not in AGENTS:
        wrong = f"there is no agent {name!r}" if name else "AGENT is missing"
        print(f"quire hook: {wrong}; there are {', '.join(AGENTS)}.", file=sys.stderr)
        return {}
    speaks = agent(name)
    if len(given) > MOST_INPUT:
        print(f"quire hook: more than {MOST_INPUT} bytes of input; it was not looked at.", file=sys.stderr)
        return {}
    try:
        told = json.loads(given)
    except ValueError as error:
        print(f"quire hook: the event on stdin is not JSON: {error}.", file=sys.stderr)
        return {}
    intent = speaks.understand(told) if isinstance(told, Mapping) else None
    if intent is None:
        return {}
    outcome = Outcome()
    for place, paths in workspaces(call, intent):
        outcome = _joined(outcome, _told(call, speaks, intent, place, paths, connected or _connected))
        if not outcome.allow:
            break
    _write_lines(call, speaks, outcome)
    return speaks.answer(intent, outcome)


def _write_lines(call: Invocation, speaks: Agent, outcome: Outcome) -> None:
    """Lines for the agent's shell, in the file that it reads them from."""
    file = call.environ.get(speaks.env_file, "") if speaks.env_file else ""
    if not file or not outcome.environment:
        return
    from quire_client.commands.set_up import exports

    with open(file, "a", encoding="utf-8") as lines:
        lines.write(exports(outcome.environment) + "\n")


def _told(
    call: Invocation, speaks: Agent, intent: Intent, place: Place, paths: Sequence[str], connected: Connected
) -> Outcome:
    """Tell the daemon of one workspace, started if need be."""
    from quire_client.transport import Unreachable

    caller = {
        "agent": call.options.get("agent") or speaks.name,
        "agent_session": intent.session,
        "turn": intent.turn,
        "tool_call": intent.call,
        "model": intent.model,
    }
    who = {} if call.environ.get(TRIAL) else caller
    try:
        with connected(place, who, time.monotonic() + call.timeout_s(PATIENCE_S)) as line:
            ask: Call = line.call
            outcome = tell(intent, paths, speaks.rereads, ask)
    except Unreachable as reason:
        said = f"Quire cannot be asked, so nothing is known of what other agents do: {reason}"
        if intent.moment == "before" and _must_be_reachable(place):
            return Outcome(allow=False, reason=f"{said} The settings ([hooks] unreachable) forbid to go on without it.")
        return Outcome(warning=said)
    if intent.moment != "start":
        return outcome
    from quire_client.commands.set_up import variables_for

    variables = variables_for(place, call.environ, caller["agent"], intent.session)
    return outcome._replace(environment=variables)


def _connected(place: Place, caller: Mapping[str, str], until: float) -> Any:
    """A connection to the daemon. Raises Unreachable."""
    from quire_client.transport import DaemonAbsent, Quick, Unreachable

    try:
        return Quick(place, caller, until)
    except DaemonAbsent:
        from quire_client.transport import NoDaemon, start
        from quire_journal.workspaces import WorkspaceRefused

        try:
            start(place, until)
        except (NoDaemon, WorkspaceRefused, OSError) as error:
            raise Unreachable(str(error)) from error
        return Quick(place, caller, until)


def _joined(one: Outcome, other: Outcome) -> Outcome:
    """Of a call that is about files of several workspaces: all must allow it, and each may have something to say."""
    texts = zip(one[1:4], other[1:4], strict=True)
    reason, notice, warning = ("\n".join(part for part in parts if part) for parts in texts)
    return Outcome(one.allow and other.allow, reason, notice, warning, {**one.environment, **other.environment})


def workspaces(call: Invocation, intent: Intent) -> Iterator[tuple[Place, list[str]]]:
    """The workspaces that an event is about, with the files in each, relative to it.

    What counts is where a file lies, not where the agent was started. A folder without a journal is none of ours, and
    becomes no workspace by being edited in.
    """
    folder = intent.folder or os.fspath(call.folder)
    if not intent.paths:
        place = _journaled(call, folder)
        if place is not None:
            yield place, []
        return
    from quire_journal.workspaces import at_home

    found: dict[Place, list[str]] = {}
    for path in intent.paths:
        absolute = os.path.normpath(os.path.join(folder, path))
        real = os.path.join(os.path.realpath(os.path.dirname(absolute)), os.path.basename(absolute))
        place = _journaled(call, os.path.dirname(real))
        if place is not None:
            found.setdefault(place, []).append(os.path.relpath(at_home(real), place.root))
    yield from found.items()


def _journaled(call: Invocation, folder: str) -> Place | None:
    """The workspace that holds `folder`, which need not exist yet; None where there is no journal."""
    from quire_journal.workspaces import WorkspaceRefused, at_home, find_workspace

    try:
        while not os.path.isdir(folder) and not at_home(folder).is_dir():
            above = os.path.dirname(folder)
            if above == folder:
                return None
            folder = above
        place = find_workspace(folder, call.state_dir)
    except (WorkspaceRefused, OSError):
        return None
    return place if place.identity_file.exists() else None


def _must_be_reachable(place: Place) -> bool:
    """Do the settings of the user or of the workspace forbid to go on without the daemon?"""
    import tomllib

    from quire_journal.workspaces import settings_files

    for path in settings_files(place.root):
        try:
            hooks = tomllib.loads(path.read_text("utf-8")).get("hooks")
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(hooks, Mapping) and hooks.get("unreachable") == "deny":
            return True
    return False


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
)
