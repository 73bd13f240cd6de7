"""`quire log`: who changed what, as a table, or with a lane for each writer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quire_client import render
from quire_client.commands.base import Command, Invocation, Option


def run(call: Invocation) -> int:
    """List records of the journal, one page of them."""
    call.at_most(1)
    arguments: dict[str, Any] = {"path": call.in_workspace(call.arguments[0])} if call.arguments else {}
    for name in ("writer", "kind", "since", "until", "contains", "cursor"):
        if name in call.options:
            arguments[name] = call.options[name]
    for name in ("limit", "burst"):
        number = call.number(name)
        if number is not None:
            arguments[name] = number
    if "oldest" in call.options:
        arguments["order"] = "oldest"
    with call.connect() as client:
        reply = client.call("log", arguments)
    status = call.answer(reply, lambda reply: _show(reply, call.colours if "graph" in call.options else None))
    if reply.get("next"):
        call.say(f"There is more: --cursor {render.one_line(reply['next'])}")
    return status


def _show(reply: Mapping[str, Any], graph: render.Palette | None) -> str:
    records = reply.get("records") or ()
    if not records:
        return "Nothing is recorded there."
    table = render.columns(row(record) for record in records)
    if graph is not None:
        table = render.lanes([render.writer(record.get("writer")) for record in records], table, graph)
    return "\n".join(table)


def row(record: Mapping[str, Any]) -> tuple[str, ...]:
    """A record as a line of the table: when, which version, who, what, and where."""
    path = render.one_line(record.get("path") or record.get("name") or record.get("label") or "")
    if record.get("to"):
        path = f"{path} -> {render.one_line(record['to'])}"
    if record.get("command"):
        path = f"git {render.one_line(record['command'])}" if record.get("evidence") == "trace2" else record["command"]
        path = render.one_line(path)
    if record.get("hint"):
        path = f"{path}  [{render.one_line(record['hint'])}]"
    token = render.one_line(record.get("version") or f"seq:{record.get('seq', '?')}")
    kind = render.one_line(record.get("kind", "")).replace("_", " ")
    if record.get("abandoned"):
        kind += " (abandoned)"
    return (render.moment(record.get("at", "")), token, render.writer(record.get("writer")), kind, path)


COMMAND = Command(
    arguments="[PATH]",
    about="Lists the records of the journal, of everything or of PATH: a file, a folder, or a quoted glob. Points are\n"
    "versions (v12), seq:N, checkpoints, and times such as 2026-01-31T12:00:00Z.",
    example="quire log src --writer outside --since 2026-01-31T12:00:00Z --limit 20",
    run=run,
    options=(
        Option("writer", "WHO", "an agent's name, w3, or outside"),
        Option("kind", "KIND", "only records of this kind, such as file_written"),
        Option("since", "POINT", "records after it"),
        Option("until", "POINT", "records up to it"),
        Option("burst", "N", "what belongs to this burst"),
        Option("contains", "TEXT", "versions whose bytes contain TEXT"),
        Option("limit", "N", "at most so many"),
        Option("oldest", "", "oldest first"),
        Option("graph", "", "draw a lane for each writer"),
        Option("cursor", "C", "go on where an earlier page ended"),
    ),
)
