"""`quire checkpoint`: names points in the history to which files can be restored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any

from quire_client.cli import render
from quire_client.commands import Command, Invocation, Option, Usage, chosen
from quire_client.commands.history import patches, whole
from quire_journal.model import did_you_mean

_ACTIONS = ("create", "list", "show", "diff", "drop")


def run(call: Invocation) -> int:
    action, *rest = call.arguments or ["list"]
    if action not in _ACTIONS and len(call.arguments) == 1 and not did_you_mean(action, _ACTIONS):
        raise Usage(f"`quire checkpoint create {quote(action)}` gives this moment that name; `show` tells of one.")
    chosen("What `quire checkpoint` can do", action, _ACTIONS)
    arguments: dict[str, Any] = {"action": action}
    if action != "list":
        if not rest:
            raise Usage(f"NAME is missing: `quire checkpoint {action} NAME`.")
        arguments["name"] = rest.pop(0)
    if rest and action != "diff":
        usage = f"quire checkpoint {action}{' NAME' if action != 'list' else ''}"
        raise Usage(f"Unexpected argument {rest[0]!r}. Usage: `{usage}`.")
    if rest:
        arguments["paths"] = [call.in_workspace(path) for path in rest]
    arguments |= call.stated(("note", "at", "to"), ("limit",), ("move",))
    with call.connect() as client:
        reply = client.call("checkpoint", arguments)
        if action == "diff" and not call.json:
            files = {"paths": arguments["paths"]} if "paths" in arguments else {}
            reply = whole(client, reply, files)
    if action == "diff":
        return call.answer(reply, lambda reply: "\n".join([*_changes(reply, call), *_lost(reply)]))
    return call.answer(reply, _list if action == "list" else _show)


def _changes(reply: Mapping[str, Any], call: Invocation) -> list[str]:
    return [*patches(reply, call.colours)] or ["Nothing differs."]


def _list(reply: Mapping[str, Any]) -> str:
    rows = [tuple(_cells(named)) for named in reply.get("checkpoints") or ()]
    none = "There is no checkpoint; `quire checkpoint create NAME` makes one."
    return "\n".join(render.columns(rows, render.terminal_width())) if rows else none


def _cells(named: Mapping[str, Any]) -> Iterator[str]:
    yield render.one_line(named.get("name", "?"))
    yield f"seq:{named.get('seq', '?')}"
    yield render.moment(named.get("at") or "")
    yield render.writer(named.get("writer"))
    count = (named.get("not_captured") or {}).get("count")
    yield f"{count} not captured" if count else ""
    yield render.one_line(named.get("note", ""))


def _show(reply: Mapping[str, Any]) -> str:
    lines = [render.said(reply.get("message", ""))]
    if reply.get("note"):
        lines += [f"  {line}" for line in render.clean_text(reply["note"]).splitlines()]
    return "\n".join([*lines, *_lost(reply)])


def _reason(file: Mapping[str, Any]) -> str:
    return render.one_line(file.get("why", "")).replace("_", " ")


def _lost(reply: Mapping[str, Any]) -> Iterator[str]:
    lost = reply.get("not_captured") or {}
    for file in lost.get("files") or ():
        yield f"  not captured: {render.one_line(file.get('path', '?'), 4096)} ({_reason(file)})"
    if lost.get("more"):
        yield f"  and {lost['more']} more"
    elif lost.get("count") and "files" not in lost:
        yield f"  {render.counted(lost['count'], 'file')} not captured"
    if lost.get("blind"):
        yield f"  the journal may not have known everything: {render.one_line(lost['blind'])}"
    if lost.get("never"):
        yield f"  never captured: {render.one_line(lost['never'])}"


COMMAND = Command(
    arguments="[create|list|show|diff|drop] [NAME] [PATH ...]",
    about="Gives this moment a NAME, whatever the size of the tree at no cost; lists the names, shows one, shows what\n"
    "changed since (in everything or in the PATHs), or gives one up. Each says which files the journal does not hold.\n"
    "`quire restore PATH@NAME` and `quire rollback NAME` go back to it.",
    example='quire checkpoint create before-refactoring --note "all tests green"',
    run=run,
    words=_ACTIONS,
    options=(
        Option("note", "TEXT", "create: what is to be remembered"),
        Option("at", "POINT", "create: an earlier moment"),
        Option("move", "", "create: give a NAME that exists to this moment"),
        Option("to", "POINT", "diff: compare with this, not with now"),
        Option("limit", "N", "show: at most so many files that are not captured"),
    ),
)
