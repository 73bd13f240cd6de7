"""`quire undo`: take back what somebody did, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render, sentence, step
from quire_client.commands import Command, Invocation, Option, Usage, is_number, stretch
from quire_client.commands.everyday import line_range
from quire_client.commands.take_back.consent import SETTLED, goes_on, is_asked, line_counts, whose

if TYPE_CHECKING:
    from quire_client.api import Client


def run(call: Invocation) -> int:
    """Undo, or plan it; a person at a terminal sees the plan and is asked."""
    return max(_undone(call, chosen) for chosen in choices(call, newest_first=True))


def _undone(call: Invocation, chosen: Mapping[str, Any]) -> int:
    """Undo what is chosen; the exit status."""
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
    """Carry the plan out, if the person who sees it agrees."""
    shown = {name: value for name, value in plan.items() if name != "token"}
    print("\n".join([show_files(shown), *whose(plan), *when, *filter(None, [further])]))
    if all(file.get("action") == "none" for file in plan.get("files") or ()):
        return call.declined("Nothing can be taken back of that.")
    if not call.agreed("Take it back?"):
        return call.declined("Nothing was taken back.")
    return call.answer(client.call("undo", {"token": plan["token"]}), show_files, below=in_the_way)


def _with_lines(call: Invocation, client: Client, chosen: dict[str, Any]) -> dict[str, Any]:
    """The choice with the version that wrote the lines of `PATH:LINES`. Raises Usage where several did, or none."""
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
    """The versions of these runs of lines, newest first, each with a run."""
    each = {run["version"]: run for run in runs}
    return sorted(each.items(), key=lambda one: -int(one[1].get("seq", 0)))


MOST_VERSIONS: Final = 5
"""Versions in a sentence."""


def choices(call: Invocation, newest_first: bool) -> list[dict[str, Any]]:
    """What is undone or redone, one after the other: several bursts are. Raises Usage."""
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
    """When the one request was made that is taken back; "" where it is not one.

    Nobody sees from a list of files what was last done through Quire; a person's own edits mostly are not.
    """
    batches = list(reply.get("batches") or ())
    if not reply.get("ok") or len(batches) != 1:
        return ""
    record = client.call("show", {"version": f"seq:{batches[0]}"}).get("record") or {}
    return render.moment(record.get("at", "")) if record.get("writer") else ""


def choice(call: Invocation) -> dict[str, Any]:
    """The arguments that choose what is undone, or redone. Raises Usage."""
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
    """Is it a version, and no file that is called so?"""
    from quire_journal.model import parse_version_token

    is_version = is_number(word) or parse_version_token(word) is not None
    return is_version and not os.path.lexists(call.folder / word)


def files_named(call: Invocation, paths: Sequence[str]) -> dict[str, Any]:
    """The argument for the files that the command line names."""
    named = [call.in_workspace(path) for path in paths]
    return {} if not named else {"path": named[0]} if len(named) == 1 else {"paths": named}


def executing(call: Invocation) -> dict[str, Any]:
    """The arguments that say how it is carried out."""
    return call.stated(("conflicts", "token"), flags=("plan", "probable", "allow-uncaptured"))


def show_files(reply: Mapping[str, Any]) -> str:
    """The files of an undo or restore: what is done to each, what stays, and why."""
    lines = [sentence(render.said(reply.get("message", ""))), *_list(reply)]
    if reply.get("token") and reply.get("valid", True):
        lines.append(f"To carry it out: --token {render.one_line(reply['token'], 100_000)}")
    elif reply.get("token") and any(file.get("conflicts") for file in reply.get("files") or ()):
        lines.append(f"Next: {step('plan')}.")
    return "\n".join(lines)


def in_the_way(reply: Mapping[str, Any]) -> list[str]:
    """What keeps all of it from being done; the sentence of such a refusal names the first only."""
    rows = _list(reply) if reply.get("error") == "conflict" else []
    one_reason = len(reply.get("files") or ()) == 1 and not reply["files"][0].get("conflicts")
    return [] if one_reason else rows  # the sentence has it


def _list(reply: Mapping[str, Any]) -> list[str]:
    """A row for each file, with what is below it; many to which nothing is done for one reason share theirs."""
    lines: list[str] = []
    files = [file for file in reply.get("files") or () if isinstance(file, Mapping)]
    idle: dict[str, list[str]] = {}  # why nothing is done → to which files
    for file in files:
        if _is_idle(file):
            idle.setdefault(_why(file), []).append(render.one_line(file.get("path", "")))
    for file in files:
        if not _is_idle(file) or len(idle[_why(file)]) <= FEW:
            lines += _file(file)
    for why, paths in idle.items():
        if len(paths) > FEW:
            lines.append(f"  {render.counted(len(paths), 'file')} left alone: {why}")
            lines.append(f"          {', '.join(paths[:FEW])} and {len(paths) - FEW} more; --json lists them")
    for entry in reply.get("left_out") or ():
        if isinstance(entry, Mapping):
            version, path = (render.one_line(entry.get(key, "")) for key in ("version", "path"))
            probable = f"~{render.writer(entry.get('writer'))}; --probable takes it, too"
            why = "Quire's own, by `quire setup`" if entry.get("why") == "setup" else probable
            lines.append(f"  left    {path} {version}: {why}")
    return lines


FEW: Final = 3
"""So many files to which nothing is done for one and the same reason are listed each by itself."""


def _is_idle(file: Mapping[str, Any]) -> bool:
    """Is nothing done to it, and nothing to be told but why?"""
    told = any(file.get(name) for name in ("kept", "conflicts", "first_seen", "marked"))
    return file.get("action") == "none" and not told


def _why(file: Mapping[str, Any]) -> str:
    """Why nothing is done to it, or not all."""
    if not file.get("skipped"):
        return "nothing has to be changed"
    return sentence(render.one_line(file.get("why") or str(file.get("skipped", "")).replace("_", " ")))


def _file(file: Mapping[str, Any]) -> Iterator[str]:
    target = f" -> {render.one_line(file['to'])}" if file.get("to") else ""
    counts = f"  {line_counts(file)}" if line_counts(file) else ""
    yield f"  {render.one_line(file.get('action', 'write')):8}{render.one_line(file.get('path', ''))}{target}{counts}"
    if file.get("skipped") or _is_idle(file):
        yield f"          left alone: {_why(file)}"
    kept = [who for who in file.get("kept") or () if isinstance(who, Mapping)]
    if kept and file.get("action") != "delete":  # what others did to a file that goes came to nothing
        names = ", ".join(sorted({render.writer(one.get("writer")) for one in kept if not one.get("by_git")}))
        brought = "what git brought"
        wrote = f"what {names} wrote" if names else brought
        also = f", and {brought}" if names and any(one.get("by_git") for one in kept) else ""
        yield f"          keeps {wrote}{also}"
    first = file.get("first_seen")
    if isinstance(first, Mapping):
        version, why = (render.one_line(first.get(key, "")) for key in ("version", "why"))
        yield f"          back to {version} only: {why}"
    for conflict in file.get("conflicts") or ():
        if isinstance(conflict, Mapping):
            who = "git" if conflict.get("by_git") else render.writer(conflict.get("writer"))
            spans = render.lines(conflict["lines"]) if conflict.get("lines") else ""
            where = f" ({'line' if spans.isdigit() else 'lines'} {spans})" if spans else ""
            version = render.one_line(conflict.get("version", ""))
            with_ = f" with {version}" if version else ""
            yield f"          conflict: {who} {_DID.get(str(conflict.get('why')), 'built on it')}{with_}{where}"
    if file.get("marked"):
        yield f"          {render.counted(file['marked'], 'place')} with both sides, between conflict markers"


_DID: Final = {
    "deleted": "deleted it",
    "moved": "moved it",
    "mode": "changed its permission bits",
    "occupied": "put something else there",
}
"""What was done by the record that is in the way, by the reason of a conflict; else it built on what is undone."""

PLANNED: Final = (
    Option("plan", "", "only tell what would be done"),
    Option("token", "TOKEN", "carry out this plan, unless something moved"),
    Option("allow-uncaptured", "", "also over bytes that the journal does not hold; nothing brings those back"),
)
"""Options of everything that can be planned before."""

EXECUTING: Final = (
    Option(
        "conflicts",
        "HOW",
        "where others built on it: skip (if not said), markers, or abort",
        choices=("skip", "markers", "abort"),
    ),
    *PLANNED,
)
"""Options of everything that goes back."""

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
"""Options that choose what is undone, or redone."""

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
