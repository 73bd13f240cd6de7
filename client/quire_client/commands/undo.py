"""`quire undo`: take back what somebody did, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quire_client import render
from quire_client.commands.base import Command, Invocation, Option


def run(call: Invocation) -> int:
    """Undo, or plan it."""
    call.at_most(1)
    arguments: dict[str, Any] = {"path": call.in_workspace(call.arguments[0])} if call.arguments else {}
    for option, name in (
        ("writer", "writer"),
        ("batch", "batch"),
        ("turn", "turn"),
        ("agent-session", "agent_session"),
        ("from", "from"),
        ("to", "to"),
        ("token", "token"),
    ):
        if option in call.options:
            arguments[name] = call.options[option]
    if arguments.get("batch", "").isdigit():
        arguments["batch"] = int(arguments["batch"])
    last = call.number("last")
    if last is not None:
        arguments["last"] = last
    if "plan" in call.options:
        arguments["plan"] = True
    with call.connect() as client:
        reply = client.call("undo", arguments)
    return call.answer(reply, show_files)


def show_files(reply: Mapping[str, Any]) -> str:
    """The files of an undo or restore: what is done to each, what stays, and why."""
    lines = [render.clean_text(reply.get("message", ""))]
    for file in reply.get("files") or ():
        lines += _file(file)
    if reply.get("token"):
        lines.append(f"To carry it out: --token {render.one_line(reply['token'], 100_000)}")
    return "\n".join(lines)


def _file(file: Mapping[str, Any]) -> Iterator[str]:
    target = f" -> {render.one_line(file['to'])}" if file.get("to") else ""
    yield f"  {render.one_line(file.get('action', 'write')):8}{render.one_line(file.get('path', ''))}{target}"
    if file.get("skipped"):
        yield f"          left alone: {render.one_line(file.get('why') or file['skipped'])}"
    kept = [who for who in file.get("kept") or () if isinstance(who, Mapping)]
    if kept:
        names = sorted({render.writer(record.get("writer")) for record in kept})
        yield f"          keeps what {', '.join(names)} wrote"
    for conflict in file.get("conflicts") or ():
        if isinstance(conflict, Mapping):
            who = render.writer(conflict.get("writer"))
            where = f" (lines {render.lines(conflict['lines'])})" if conflict.get("lines") else ""
            yield f"          conflict: {who} built on it{where}"


COMMAND = Command(
    arguments="[PATH]",
    about="Undoes your own last batch, or what the options choose, in everything or in PATH. What others wrote stays;\n"
    "what they built on the undone lines stays, too, and is listed as a conflict. An undo is recorded and can be\n"
    "undone. With --plan nothing is done; the plan's token carries it out.",
    example="quire undo --writer alice --last 3 --plan",
    run=run,
    options=(
        Option("writer", "WHO", "an agent's name, w3, or outside"),
        Option("last", "N", "the newest N batches"),
        Option("batch", "B", "a batch, or a version that it made"),
        Option("turn", "T", "what was done in this turn"),
        Option("agent-session", "ID", "what this agent session did"),
        Option("from", "POINT", "batches after it"),
        Option("to", "POINT", "batches up to it"),
        Option("plan", "", "only tell what would be done"),
        Option("token", "TOKEN", "carry out this plan, unless something moved"),
    ),
)
