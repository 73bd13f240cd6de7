"""`quire why`: the origin of a file, or of a line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from quire_client.cli import render
from quire_client.commands import Command, Invocation, Option, Usage, is_number
from quire_client.commands.history.diff_text import patches
from quire_client.commands.history.log import undoing


def run(call: Invocation) -> int:
    path, line = _path_and_line(call, call.one_argument("PATH"))
    arguments: dict[str, Any] = {"path": call.in_workspace(path), **call.stated(("at",))}
    if line is not None:
        arguments["line"] = line
    with call.connect() as client:
        reply = client.call("why", arguments)
    return call.answer(reply, lambda reply: "\n".join(_told(reply, call.colours)))


def _path_and_line(call: Invocation, given: str) -> tuple[str, int | None]:
    path, lines = call.path_lines(given)
    if lines and not is_number(lines):
        raise Usage(
            f"`quire why` is about one line, as {path}:{lines.partition(':')[0]}; `quire blame {given}` has all."
        )
    path, colon, digits = given.rpartition(":")
    if not colon or not path or not is_number(digits) or os.path.lexists(call.folder / given):
        return given, None
    return path, int(digits)


def _told(reply: Mapping[str, Any], colours: render.Palette) -> Iterator[str]:
    record = reply.get("record") or {}
    writer = record.get("writer") or {}
    yield render.one_line(render.said(reply.get("message", "")), 4096)
    if "text" in reply:
        yield f"{reply.get('line', ''):>6}| {render.clean(reply['text'], keep=chr(9))}"
    yield ""
    session = writer.get("agent_session") or ""
    rows = [
        ("version", f"{reply.get('version', '')}, batch {record.get('batch', '')}"),
        ("commit", _commit(reply.get("commit"))),
        ("writer", render.author(record)),
        ("session", session if session != render.short_id(session) else ""),
        ("turn", writer.get("turn")),
        ("tool call", writer.get("tool_call")),
        ("model", writer.get("model")),
        ("operation", _operation(reply)),
        ("evidence", record.get("evidence")),
        ("hint", record.get("hint")),
        ("brought by", _brought(reply.get("brought"))),
        ("made from", record.get("base")),
        ("replaced", _versions((reply.get("replaced") or {}).get("by"))),
        ("before it", _versions([reply["previous"]] if reply.get("previous") else None)),
        ("after it", _versions([reply["next"]] if reply.get("next") else None)),
        ("beside it", _beside(reply)),
        ("undone by", f"batch {reply['undone_by']}" if reply.get("undone_by") else ""),
    ]
    yield from render.columns((f"  {name}", render.one_line(value, 400)) for name, value in rows if value)
    if reply.get("diff"):
        yield ""
        yield from patches({"files": [reply["diff"]]}, colours)
        if reply["diff"].get("partial"):
            from shlex import quote

            now, path = render.one_line(reply.get("version", "")), render.one_line(reply.get("path", ""))
            yield f"Only what is around the line; `quire log {quote(path)} --until {now} --limit 1 --patch` has all."
    elif record.get("evidence") == "captured":
        yield ""
        yield f"`quire show {render.one_line(reply.get('version', ''))}` prints the file as it was found."


def _operation(reply: Mapping[str, Any]) -> str:
    record = reply.get("record") or {}
    if record.get("evidence") == "captured":
        return "first seen"
    return undoing(record) if record.get("how") else str(reply.get("operation", "")).replace("_", " ")


def _commit(found: object) -> str:
    if not isinstance(found, Mapping):
        return ""
    return f"{found.get('id')} by {found.get('author')}, {found.get('at')}"


def _brought(found: object) -> str:
    if not isinstance(found, Mapping):
        return ""
    return f"{found.get('by')} in {found.get('version')}, {render.moment(found.get('at'))}"


def _versions(found: object) -> str:
    if not isinstance(found, list):
        return ""
    return ", ".join(
        f"{v.get('version')} ({render.writer(v.get('writer'))}, {render.moment(v.get('at'))})" for v in found
    )


def _beside(reply: Mapping[str, Any]) -> str:
    paths = [str(file.get("path", "?")) for file in reply.get("batch_files") or ()]
    more = reply.get("batch_files_more", 0) + max(len(paths) - 8, 0)
    return ", ".join(paths[:8]) + (f" and {more} more" if more else "")


COMMAND = Command(
    arguments="PATH[:LINE]",
    about="Tells who made a file, or one line of it, what it is: when, in which turn and tool call, by which\n"
    "operation, from which base, in place of what, and what else the same call changed. Of a file that is\n"
    "gone, who removed it.",
    example="quire why src/app.py:42",
    run=run,
    options=(Option("at", "POINT", "as it was then"),),
)
