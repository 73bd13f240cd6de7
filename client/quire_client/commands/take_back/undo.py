"""`quire undo`: takes back somebody's changes, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import in_the_way, render, show_files, whose
from quire_client.commands import Command, Invocation, Option, Usage, is_number, stretch
from quire_client.commands.everyday import line_range
from quire_client.commands.take_back.consent import SETTLED, goes_on, is_asked

if TYPE_CHECKING:
    from quire_client.api import Client


def run(call: Invocation) -> int:
    """Undo, or plan it; a person at a terminal sees the plan and is asked."""
    return max(_undone(call, chosen) for chosen in choices(call, newest_first=True))


def _undone(call: Invocation, chosen: Mapping[str, Any]) -> int:
    with call.connect() as client:
        if any(":" in path for path in call.arguments):
            chosen = _with_lines(call, client, dict(chosen))
        asked = is_asked(call, client, chosen)
        reply = client.call("undo", {**chosen, "plan": True} if asked else chosen)
        own = not chosen.keys() - {"plan", "path", "paths"} and not call.json
        when = _when(client, reply) if own else ""
        if asked and reply.get("ok") and reply.get("valid", True):
            further = goes_on(client, reply) if own else ""
            return _agreed(call, client, reply, [f"It is what you did at {when}."] * bool(when), further)
    status = call.answer(reply, show_files, below=in_the_way)
    if when:
        call.say(f"That {'is' if 'plan' in chosen else 'was'} what you did at {when}.")
    if reply.get("error") == "not_found" and not chosen.keys() - {"plan", "last", "path", "paths"}:
        call.say(
            "What editors and other programs wrote is `outside`: see `quire undo --writer outside --last 1 --plan`."
        )
    return status


def _agreed(call: Invocation, client: Client, plan: Mapping[str, Any], when: Sequence[str], further: str) -> int:
    shown = {name: value for name, value in plan.items() if name != "token"}
    print("\n".join([show_files(shown), *whose(plan), *when, *filter(None, [further])]))
    if all(file.get("action") == "none" for file in plan.get("files") or ()):
        return call.declined("Nothing can be taken back of that.")
    if not call.agreed("Take it back?"):
        return call.declined("Nothing was taken back.")
    return call.answer(client.call("undo", {"token": plan["token"]}), show_files, below=in_the_way)


def _with_lines(call: Invocation, client: Client, chosen: dict[str, Any]) -> dict[str, Any]:
    """The choice with the version that wrote the lines of `PATH:LINES`. Raises Usage for several versions, or none."""
    named = [call.path_lines(word) for word in call.arguments]
    if len(named) != 1 or not named[0][1]:
        return chosen
    path, lines = call.in_workspace(named[0][0]), named[0][1]
    reply = client.call("blame", {"path": path, **line_range(lines)})
    if not reply.get("ok"):
        raise Usage(render.said(reply.get("message", "")))
    wrote = [run for run in reply.get("runs") or () if not run.get("commit")]
    versions = list(dict.fromkeys(str(run.get("version")) for run in wrote))
    if len(versions) == 1:
        return {**chosen, "path": path, "batch": versions[0]}
    each = ", ".join(f"{v} ({render.writer(run.get('writer'))})" for v, run in _newest(wrote)[:MOST_VERSIONS])
    undo_one = f"undo one: `quire undo {_newest(wrote)[0][0]} {path}`" if wrote else ""
    told = f"were written in {each}; {undo_one}" if wrote else "came with a commit of git; nothing here wrote it"
    raise Usage(f"{'Lines' if ':' in lines else 'Line'} {lines.replace(':', '-')} of {path} {told}.")


def _newest(runs: Sequence[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    """Versions of these runs of lines, newest first, each with a run."""
    each = {run["version"]: run for run in runs}
    return sorted(each.items(), key=lambda one: -int(one[1].get("seq", 0)))


MOST_VERSIONS: Final = 5
"""Most versions in a sentence."""


def choices(call: Invocation, newest_first: bool) -> list[dict[str, Any]]:
    """The choices to undo or redo in turn, one for each burst. Raises Usage."""
    bursts = [word for word in call.options.get("burst", "").split(",") if word]
    if len(bursts) < 2:
        return [choice(call)]
    if wrong := next((word for word in bursts if not is_number(word)), None):
        raise Usage(f"--burst wants the number of a burst, not {wrong!r}.")
    if call.options.keys() & SETTLED or call.json:
        raise Usage("Several bursts cannot be planned at once, or told as one object; name one --burst.")
    rest = {name: value for name, value in call.options.items() if name != "burst"}
    chosen = choice(Invocation(call.arguments, rest, call.environ, call.opener, call.name))
    return [{**chosen, "burst": number} for number in sorted(map(int, bursts), reverse=newest_first)]


def _when(client: Client, reply: Mapping[str, Any]) -> str:
    """Time of the single request that is taken back; "" if it is not one.

    A list of files does not show which call was the last, and a person's own edits are mostly not calls.
    """
    batches = list(reply.get("batches") or ())
    if not reply.get("ok") or len(batches) != 1:
        return ""
    record = client.call("show", {"version": f"seq:{batches[0]}"}).get("record") or {}
    return render.moment(record.get("at", "")) if record.get("writer") else ""


def choice(call: Invocation) -> dict[str, Any]:
    """Arguments that select what is undone or redone. Raises Usage."""
    chosen = call.stated(("writer", "batch", "turn", "agent-session"), ("burst", "last"))
    between = call.stated({"since": "from", "until": "to"})
    versions = [word for word in call.arguments if _is_version(call, word)]
    if len(versions) > 1 or (versions and "batch" in chosen):
        raise Usage(f"One version at a time: `quire undo {versions[0]}`.")
    if versions:
        chosen["batch"] = f"v{versions[0]}" if is_number(versions[0]) else versions[0]
    paths = [call.path_lines(word)[0] for word in call.arguments if word not in versions]
    return files_named(call, paths) | chosen | between | executing(call)


def _is_version(call: Invocation, word: str) -> bool:
    from quire_journal.model import parse_version_token

    is_version = is_number(word) or parse_version_token(word) is not None
    return is_version and not os.path.lexists(call.folder / word)


def files_named(call: Invocation, paths: Sequence[str]) -> dict[str, Any]:
    """The argument for the named files."""
    named = [call.in_workspace(path) for path in paths]
    return {} if not named else {"path": named[0]} if len(named) == 1 else {"paths": named}


def executing(call: Invocation) -> dict[str, Any]:
    """Arguments about the execution."""
    return call.stated(("conflicts", "token"), flags=("plan", "probable", "allow-uncaptured"))


PLANNED: Final = (
    Option("plan", "", "only tell what would be done"),
    Option("token", "TOKEN", "carry out this plan, unless something moved"),
    Option("allow-uncaptured", "", "also over bytes that the journal does not hold; nothing brings those back"),
)
"""Options of commands with a plan."""

EXECUTING: Final = (
    Option(
        "conflicts",
        "HOW",
        "where others built on it: skip (if not said), markers, or abort",
        choices=("skip", "markers", "abort"),
    ),
    *PLANNED,
)
"""Options of commands that take changes back."""

YES: Final = Option("yes", "", "do not ask", "y")

PROBABLE: Final = Option("probable", "", "also what is only probably (~) of whom the choice names")

CHOICE: Final = (
    Option(
        "writer", "WHO", "what WHO did in all sessions: an agent's name, user, me, w3, outside, or '*' for everyone"
    ),
    Option("last", "N", "the newest N batches"),
    Option("batch", "B", "a batch, or a version that it made"),
    Option("burst", "N", "what belongs to this burst; may be given several times", several=True),
    Option("turn", "T", "what was done in this turn"),
    Option("agent-session", "ID", "what this agent session did"),
    *stretch("batches after it", "batches up to it"),
    PROBABLE,
    *EXECUTING,
)
"""Options that select what is undone or redone."""

COMMAND = Command(
    arguments="[VERSION] [PATH[:LINES] ...]",
    about="Undoes your own last batch, a VERSION, or what the options choose, in everything or in the PATHs.\n"
    "--writer WHO is all that WHO did, in all sessions; with --last 1 its newest batch only. What others wrote stays;\n"
    "what they built on the undone lines stays, too, and is listed as a conflict: --conflicts markers writes both\n"
    "sides into the file, abort does nothing then. A person at a terminal sees the plan and is asked. An undo is\n"
    "recorded; `quire redo` takes it back. With --plan nothing is done; the plan's token carries it out.",
    example="quire undo --writer alice --last 3 --plan",
    run=run,
    options=(*CHOICE, YES),
)
