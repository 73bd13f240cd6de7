"""`quire undo`: undoes one writer's changes, and keeps those of other writers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import in_the_way, render, show_files, whose
from quire_client.commands import Command, Invocation, Option, Usage, commit_named, is_number, nowhere, stretch
from quire_client.commands.take_back.consent import goes_on, is_asked, last_undo

if TYPE_CHECKING:
    from quire_client.api import Client


def run(call: Invocation) -> int:
    chosen = choice(call)
    with call.connect() as client:
        asked = is_asked(call, client, chosen)
        own = not chosen.keys() - {"plan", "path", "paths"} and not call.json
        if not asked and own and not chosen and (undo := last_undo(client)):
            plan = client.call("undo", {"plan": True})
            if plan.get("ok") and goes_on(undo, plan):
                return _stopped(call, plan)
        reply = client.call("undo", {**chosen, "plan": True} if asked else chosen)
        if asked and "lines" in chosen and reply.get("argument") == "writer" and "writer" not in chosen:
            reply = client.call("undo", {**chosen, "writer": "*", "plan": True})  # the plan names the writers
        when = _when(client, reply) if own else ""
        if asked and reply.get("ok") and reply.get("valid", True):
            further = goes_on(last_undo(client), reply) if own else ""
            return _agreed(call, client, reply, [f"It is what you did at {when}."] * bool(when), further)
        if reply.get("error") == "not_found":
            reply = _unknown_path(call, client, chosen) or reply
    status = call.answer(reply, show_files, below=in_the_way)
    if when:
        call.say(f"That {'is' if 'plan' in chosen else 'was'} what you did at {when}.")
    if (
        reply.get("error") == "not_found"
        and "path" not in reply
        and not chosen.keys() - {"plan", "last", "path", "paths"}
    ):
        call.say(
            "What editors and other programs wrote is `outside`: see `quire undo --writer outside --last 1 --plan`."
        )
    return status


def _unknown_path(call: Invocation, client: Client, chosen: Mapping[str, Any]) -> dict[str, Any] | None:
    for word in call.arguments:
        path, _ = call.path_lines(word)
        if not {"path", "paths"} & chosen.keys() or (_is_version(call, word) and "batch" in chosen):
            continue
        refused = nowhere(call, client, path)
        if refused is not None and commit_named(word, call.place.root, call.environ):
            said = (
                f"{render.one_line(word)} is a commit of git: `quire undo --since {render.one_line(word)}` takes back"
            )
            return {"ok": False, "error": "not_found", "message": f"{said} what you did after it."}
        if refused is not None:
            return refused
    return None


def _stopped(call: Invocation, plan: Mapping[str, Any]) -> int:
    call.say(show_files({name: value for name, value in plan.items() if name != "token"}))
    batch = max(plan["batches"])
    names = [render.one_line(file["path"], 60) for file in plan.get("files") or ()]
    changed = f"{names[0]} and {render.counted(len(names) - 1, 'more file')}" if len(names) > 1 else "".join(names)
    return call.declined(
        "Nothing was done: what you did last was an undo, which `quire redo` takes back. "
        f"Your v{batch} before it changed {changed}: `quire undo v{batch}` takes it back, too."
    )


def _agreed(call: Invocation, client: Client, plan: Mapping[str, Any], when: Sequence[str], further: str) -> int:
    shown = {name: value for name, value in plan.items() if name != "token"}
    print("\n".join([show_files(shown), *whose(plan), *when, *filter(None, [further])]))
    if all(file.get("action") == "none" for file in plan.get("files") or ()):
        return call.declined("Nothing can be taken back of that.")
    if not call.agreed("Take it back?"):
        return call.declined("Nothing was taken back.")
    return call.answer(client.call("undo", {"token": plan["token"]}), show_files, below=in_the_way)


def _when(client: Client, reply: Mapping[str, Any]) -> str:
    batches = list(reply.get("batches") or ())
    if not reply.get("ok") or len(batches) != 1:
        return ""
    record = client.call("show", {"version": f"seq:{batches[0]}"}).get("record") or {}
    return render.moment(record.get("at", "")) if record.get("writer") else ""


def choice(call: Invocation) -> dict[str, Any]:
    """Return the tool arguments that select the changes to undo or redo. Raises Usage for contradictory options."""
    chosen = call.stated(("writer", "turn", "agent-session", "git"), ("last",)) | call.session_meant()
    for name in ("batch", "burst"):
        if named := [word for word in call.options.get(name, "").split(",") if word]:
            chosen[name] = _one_or_all([_number(name, word) for word in named])
    between = call.stated({"since": "from", "until": "to"})
    for start, dots, end in (
        word.partition("..") for word in call.arguments if not os.path.lexists(call.folder / word)
    ):
        if dots and "/" not in start and start:
            until = f" --until {end}" if end else ""
            raise Usage(f"A stretch is --since and --until here: --writer WHO --since {start}{until}.")
    places = [word for word in call.arguments if _is_place(word) and not os.path.lexists(call.folder / word)]
    if places:
        raise Usage(f"{places[0]} is a place in the log, and no version: `quire log --all` names the versions, as v12.")
    versions = [word for word in call.arguments if _is_version(call, word)]
    if versions and "batch" in chosen:
        raise Usage(f"{versions[0]} and --batch both name a version; --batch may be given several times.")
    if versions:
        chosen["batch"] = _one_or_all([f"v{word}" if is_number(word) else word for word in versions])
    named_files = [call.path_lines(word) for word in call.arguments if word not in versions]
    lines = [lines for _, lines in named_files if lines]
    if lines and len(named_files) > 1:
        raise Usage("PATH:LINES is about one file; name it alone.")
    if lines:
        first, _, last = lines[0].replace(",", ":").partition(":")
        if not 0 < int(first) <= int(last or first):
            raise Usage(f"Lines count from 1, and the smaller comes first, as PATH:10-24; {lines[0]!r} are none.")
        chosen["lines"] = lines[0].replace(":", "-")
    return files_named(call, [path for path, _ in named_files]) | chosen | between | executing(call)


def _one_or_all(named: list[Any]) -> Any:
    return named[0] if len(named) == 1 else named


def _number(option: str, word: str) -> int | str:
    if option == "burst" and not is_number(word):
        raise Usage(f"--burst wants the number of a burst, not {word[:40]!r}.")
    return int(word) if option == "burst" else word


def _is_version(call: Invocation, word: str) -> bool:
    from quire_journal.model import parse_version_token

    is_version = is_number(word) or parse_version_token(word) is not None
    return is_version and not os.path.lexists(call.folder / word)


def _is_place(word: str) -> bool:
    return word.startswith("seq:") and is_number(word.removeprefix("seq:"))


def files_named(call: Invocation, paths: Sequence[str]) -> dict[str, Any]:
    named = [call.in_workspace(path) for path in paths]
    return {} if not named else {"path": named[0]} if len(named) == 1 else {"paths": named}


def executing(call: Invocation) -> dict[str, Any]:
    return call.stated(("conflicts", "token"), flags=("plan", "probable", "allow-uncaptured"))


PLANNED: Final = (
    Option("plan", "", "only tell what would be done"),
    Option("token", "TOKEN", "carry out this plan, unless something moved"),
    Option("allow-uncaptured", "", "also over bytes that the journal does not hold; nothing brings those back"),
)
EXECUTING: Final = (
    Option(
        "conflicts",
        "HOW",
        "where others built on it: skip (if not said), markers, or abort",
        choices=("skip", "markers", "abort"),
    ),
    *PLANNED,
)
YES: Final = Option("yes", "", "do not ask", "y")

PROBABLE: Final = Option("probable", "", "also what is only probably (~) of whom the choice names")

CHOICE: Final = (
    Option(
        "writer", "WHO", "what WHO did in all sessions: an agent's name, user, me, w3, outside, or '*' for everyone"
    ),
    Option("last", "N", "the newest N calls, commands of git, writes of many files, or saves"),
    Option("batch", "B", "one batch, by its number, or a VERSION; may be given several times", several=True),
    Option("burst", "N", "what belongs to this burst; may be given several times", several=True),
    Option("turn", "T", "what was done in this turn"),
    Option("agent-session", "ID", "what this agent session did; so does --session without --agent"),
    *stretch("batches after it", "batches up to it"),
    PROBABLE,
    *EXECUTING,
)
GIT: Final = Option(
    "git",
    "last",
    "what the last command of git wrote into the tree; where HEAD is it leaves alone",
    choices=("last",),
)

COMMAND = Command(
    arguments="[VERSION ...] [PATH[:LINES] ...]",
    about="Undoes your own last call, VERSIONs, or what the options choose, in everything or in the PATHs; of\n"
    "PATH:10-24 only what was written in these lines; of several writers, --writer names one, or a person is asked.\n"
    "A VERSION of `quire log` is all that its call, its command of git or its program wrote at once, in the PATHs if\n"
    "named; a save is alone. --writer WHO is all that WHO did, in all sessions; with --last 1 its newest call only.\n"
    "What others wrote stays; what they built on the undone lines stays, too, and is listed as a conflict:\n"
    "--conflicts markers writes both sides into the file, abort does nothing then. A person at a terminal sees the\n"
    "plan and is asked. An undo is recorded; `quire redo` takes it back. With --plan nothing is done; the plan's\n"
    "token carries it out.",
    example="quire undo --writer alice --last 3 --plan",
    run=run,
    options=(GIT, *CHOICE, YES),
)
