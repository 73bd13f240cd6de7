"""MCP resources: files at their versions, the log and the manuals.

quire://file/src/app.py            a file as it is now
quire://file/src/app.py?at=v812    a file at a point: a version, seq:N, a checkpoint's name, a time
quire://log?path=src&limit=20      records of the journal, with the arguments of the tool `log`
quire://manual/edit                the manual of one tool
quire://status
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

SCHEME: Final = "quire"

Call = Callable[[str, Mapping[str, Any]], dict[str, Any]]

RESOURCES: Final = (
    {"uri": "quire://log", "name": "log", "title": "History", "description": "The newest records of the journal."},
    {"uri": "quire://status", "name": "status", "title": "Status", "description": "How daemon and journal are."},
    {"uri": "quire://manual", "name": "manual", "title": "Manual", "description": "How to use every tool."},
)

TEMPLATES: Final = (
    {
        "uriTemplate": "quire://file/{+path}{?at}",
        "name": "file",
        "title": "A file, now or as it was",
        "description": "at is a version such as v812, seq:N, a checkpoint's name, or a time.",
    },
    {
        "uriTemplate": "quire://log{?path,writer,kind,since,until,contains,limit,order,cursor}",
        "name": "history",
        "title": "Records of the journal",
        "mimeType": "application/json",
    },
    {
        "uriTemplate": "quire://manual/{tool}",
        "name": "guidance",
        "title": "How to use a tool",
        "mimeType": "text/markdown",
    },
)


class NoSuchResource(Exception):
    """No resource has the requested URI; the text gives the reason."""


class ResourceQuery(NamedTuple):
    tool: str
    args: dict[str, Any]


def wanted(uri: str) -> ResourceQuery:
    """Return the tool call for `uri`. Raises NoSuchResource if the URI is unknown or invalid."""
    try:
        parts = urlsplit(uri)
        pairs = parse_qsl(parts.query, keep_blank_values=False, strict_parsing=bool(parts.query))
    except ValueError as error:
        raise NoSuchResource(f"{uri[:200]!r} is not a URI: {error}.") from None
    if parts.scheme != SCHEME:
        raise NoSuchResource(f"{uri[:200]!r} is not a URI of Quire; those begin with {SCHEME}://.")
    query: dict[str, Any] = dict(pairs)
    path = unquote(parts.path.lstrip("/"))
    match parts.netloc:
        case "file" if path and query.keys() <= {"at"}:
            return ResourceQuery("read_file", {"path": path, **query})
        case "log" if not path:
            limit = query.get("limit", "")
            number = limit.isascii() and limit.isdigit() and len(limit) <= 18
            return ResourceQuery("log", query | ({"limit": int(limit)} if number else {}))
        case "manual" if not query:
            return ResourceQuery("manual", {"dialect": path} if path else {})
        case "status" if not path and not query:
            return ResourceQuery("status", {})
    raise NoSuchResource(f"There is no resource {uri[:200]!r}; there are file/PATH?at=, log, manual/TOOL and status.")


def read(uri: str, call: Call) -> dict[str, str]:
    """Return the content of `uri` in MCP's form: `uri`, `text`, `mimeType`.

    Raises NoSuchResource if the URI is unknown or its tool call is refused.
    """
    asked = wanted(uri)
    if asked.tool == "read_file":
        return {"uri": uri, "text": _whole(asked.args, call), "mimeType": "text/plain"}
    reply = _ok(call(asked.tool, asked.args))
    if asked.tool == "manual":
        return {"uri": uri, "text": reply["manual"], "mimeType": "text/markdown"}
    return {"uri": uri, "text": json.dumps(reply, ensure_ascii=False), "mimeType": "application/json"}


def _whole(args: dict[str, Any], call: Call) -> str:
    pages: list[str] = []
    while True:
        reply = _ok(call("read_file", args))
        pages.append(reply["content"])
        if not reply.get("truncated"):
            return "\n".join(pages)  # a page before the last one has no final line break
        at = args.get("at") or reply.get("version")
        args = {**args, "start_line": reply["next_line"], **({"at": at} if at else {})}


def _ok(reply: dict[str, Any]) -> dict[str, Any]:
    if not reply.get("ok"):
        raise NoSuchResource(f"{reply.get('message', '')} [{reply.get('error', '')}]")
    return reply
