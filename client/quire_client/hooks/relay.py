"""Passes an agent's hook event to the daemon of each workspace concerned, and joins their answers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quire_client.hooks.base import Agent, Intent, Outcome
from quire_client.hooks.dispatch import Call, tell
from quire_client.hooks.patches import in_patch, renamed

if TYPE_CHECKING:
    from pathlib import Path

    from quire_client.hooks.payloads import Payload
    from quire_journal.workspaces import Place

PATIENCE_S: Final = 5.0
"""Maximum number of seconds until the answer, including the start of a daemon."""

Connected = Callable[["Place", Mapping[str, str], float], Any]
"""Function that connects to a daemon: (workspace, caller, monotonic deadline) → connection. Raises Unreachable if it
fails.
"""


class Surroundings(NamedTuple):
    environ: Mapping[str, str]
    folder: str = ""  # for an event without a folder; "": the current one
    state_dir: Path | None = None
    agent: str = ""  # name of the agent, if it uses the hooks of another agent
    trial: bool = False  # test call by a user: the daemon is called without an agent name
    patience_s: float = PATIENCE_S


def answered(
    speaks: Agent, told: Mapping[str, Any], where: Surroundings, connected: Connected | None = None
) -> dict[str, Any]:
    """Return the JSON answer to an agent's hook event, after asking the daemon of each workspace concerned; {} for an
    event that does not concern Quire. Raises OSError if the current folder does not exist or the agent's environment
    file cannot be written.
    """
    intent = speaks.understand(told)
    return {} if intent is None else answer_to(speaks, intent, where, connected)


def answer_to(speaks: Agent, intent: Intent, where: Surroundings, connected: Connected | None = None) -> dict[str, Any]:
    outcome = Outcome()
    for place, here in workspaces(intent, where):
        outcome = _joined(outcome, _told(speaks, here, place, where, connected or connection))
        if not outcome.allow:
            break
    _write_lines(speaks, outcome, where)
    return speaks.answer(intent, outcome)


def _write_lines(speaks: Agent, outcome: Outcome, where: Surroundings) -> None:
    file = where.environ.get(speaks.env_file, "") if speaks.env_file else ""
    if not file or not outcome.environment:
        return
    from quire_client.hooks.shell import exports

    with open(file, "a", encoding="utf-8") as lines:
        lines.write(exports(outcome.environment) + "\n")


def _told(speaks: Agent, intent: Intent, place: Place, where: Surroundings, connected: Connected) -> Outcome:
    from quire_client.transport import Unreachable

    caller = {
        "agent": where.agent or speaks.name,
        "agent_session": intent.session,
        "parent": intent.parent,
        "turn": intent.turn,
        "tool_call": intent.call,
        "model": intent.model,
    }
    quire = "quire"
    if intent.moment == "start":
        from quire_client.hooks.shell import command

        quire = command(where.environ)
    try:
        with connected(place, {} if where.trial else caller, time.monotonic() + where.patience_s) as line:
            guarded = _guarded(intent, place, where, line.call)
            if not guarded.allow and not guarded.ask:
                return guarded
            outcome = tell(intent, speaks.rereads, line.call, quire)
            if outcome.allow and guarded.ask:
                outcome = outcome._replace(allow=False, ask=True, reason=guarded.reason)
    except Unreachable as reason:
        said = f"Quire cannot be asked, so nothing is known of what other agents do: {reason}"
        if intent.moment == "before" and _must_be_reachable(place):
            return Outcome(allow=False, reason=f"{said} The settings ([hooks] unreachable) forbid to go on without it.")
        return Outcome(warning=said)
    if intent.moment != "start":
        return outcome
    from quire_client.hooks.shell import variables_for

    return outcome._replace(environment=variables_for(place, where.environ, caller["agent"], intent.session))


def _guarded(intent: Intent, place: Place, where: Surroundings, call: Call) -> Outcome:
    from quire_client.hooks.guard import MAY_TAKE, judged

    if intent.moment != "before" or where.trial or not MAY_TAKE.search(intent.command):
        return Outcome()
    folder = os.path.realpath(intent.folder or where.folder or os.getcwd())
    return judged(intent.command, folder, place.root, where.environ, call)


def running(place: Place, caller: Mapping[str, str], until: float) -> Any:
    from quire_client.transport import Quick

    return Quick(place, caller, until)


def connection(place: Place, caller: Mapping[str, str], until: float) -> Any:
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
    texts = zip(one[1:4], other[1:4], strict=True)
    reason, notice, warning = ("\n".join(part for part in parts if part) for parts in texts)
    environment = {**one.environment, **other.environment}
    allow, ask = one.allow and other.allow, (one.allow or one.ask) and (other.allow or other.ask)
    return Outcome(allow, reason, notice, warning, environment, ask and not allow)


# ── which workspaces ─────────────────────────────────────────────────────────


def workspaces(intent: Intent, where: Surroundings) -> Iterator[tuple[Place, Intent]]:
    """Yield each workspace with files of the event, and the event limited to it, with paths relative to the
    workspace.
    """
    folder = intent.folder or where.folder or os.getcwd()
    found: dict[Place, dict[str, str]] = {}
    folders: dict[str, tuple[Place, str] | None] = {}  # workspace of each folder, and the folder's path in it
    for name in files_of(intent):
        above, base = os.path.split(os.path.normpath(os.path.join(folder, name)))
        if above not in folders:
            folders[above] = _folder_of(above, where.state_dir)
        if (at := folders[above]) is not None:
            found.setdefault(at[0], {})[name] = os.path.normpath(os.path.join(at[1], base))
    if not intent.paths:
        place = _journaled(folder, where.state_dir)
        if place is not None:
            yield place, concerning(intent, found.get(place, {}))
        return
    for place, names in found.items():
        yield place, concerning(intent, names)


def _folder_of(folder: str, state_dir: Path | None) -> tuple[Place, str] | None:
    real = os.path.realpath(folder)
    place = _journaled(real, state_dir)
    if place is None:
        return None
    from quire_journal.workspaces import at_home

    return place, os.path.relpath(at_home(real), place.root)


def files_of(intent: Intent) -> list[str]:
    """Return all paths in an event and its patches, as the agent spells them."""
    found = list(intent.paths)
    for payload in intent.payloads:
        found += in_patch(payload["text"])[0] if payload["kind"] == "patch" else [payload["path"]]
    return list(dict.fromkeys(found))


def concerning(intent: Intent, names: Mapping[str, str]) -> Intent:
    """Return the event limited to the files of one workspace. `names` maps an agent's path to the path in the
    workspace; other files are left out.
    """
    paths = dict.fromkeys(names[path] for path in intent.paths if path in names)
    payloads = (_payload(payload, names) for payload in intent.payloads)
    return intent._replace(paths=tuple(paths), payloads=tuple(one for one in payloads if one is not None))


def _payload(payload: Payload, names: Mapping[str, str]) -> Payload | None:
    if payload["kind"] != "patch":
        name = names.get(payload["path"])
        return None if name is None else {**payload, "path": name}
    text = renamed(payload["text"], names.get)
    return {**payload, "text": text} if in_patch(text)[0] else None


def _journaled(folder: str, state_dir: Path | None) -> Place | None:
    from quire_journal.workspaces import WorkspaceRefused, at_home, find_workspace

    try:
        while not os.path.isdir(folder) and not at_home(folder).is_dir():
            above = os.path.dirname(folder)
            if above == folder:
                return None
            folder = above
        place = find_workspace(folder, state_dir)
    except (WorkspaceRefused, OSError):
        return None
    return place if place.identity_file.exists() else None


def _must_be_reachable(place: Place) -> bool:
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
