"""`quire show`: prints one version."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from quire_client.cli import render
from quire_client.commands import (
    REFUSED,
    Command,
    Invocation,
    Option,
    Usage,
    commit_named,
    is_number,
    is_point,
    nearest,
    point_of,
)
from quire_client.commands.everyday import LOSSY, shown
from quire_client.commands.history.log import row

if TYPE_CHECKING:
    from quire_client.api import Client


def run(call: Invocation) -> int:
    call.require_no_lines(call.one_argument("VERSION"))
    arguments = _what(call, call.one_argument("VERSION"))
    with call.connect() as client:
        reply = _whole(client, arguments)
        into_file = not call.json and not sys.stdout.isatty()
        data = _bytes(client, reply) if into_file and reply.get("binary") else None
    if reply.get("ok") and (commit := _commit(call, arguments)):
        raise Usage(
            f"{commit} is a commit of git: `git show {commit}` shows it, `quire diff {commit}~1..{commit}` what it "
            f"changed, `quire show PATH@{commit}` a file as it has it."
        )
    if reply.get("suggested_action") == "name_a_point" and _may_be_a_path(arguments):
        word = arguments["version"]
        message = f"{render.one_line(word)} is not a version, a checkpoint, or a file that is there."
        meant = nearest(call, call.in_workspace(word))
        reply = {**reply, "message": message + meant, "suggested_action": "name_a_version"}
    if reply.get("error") == "not_found" and _is_folder(call, arguments.get("path", "")):
        path = render.one_line(arguments["path"])
        message = f"{path} is a folder, which has no text."
        reply = {**reply, "error": "not_a_file", "message": message, "suggested_action": "list_folder"}
    if reply.get("ok"):
        call.say("  ".join(cell for cell in row(reply.get("record") or reply) if cell))
        if reply.get("lossy"):
            call.say(LOSSY)
        if "content" not in reply:
            return _without_text(call, reply, data)
    return call.answer(reply, shown, exact=True)


def _what(call: Invocation, given: str) -> dict[str, Any]:
    from quire_journal.model import parse_version_token

    path, point = call.path_then(given)
    if not point and is_number(given):
        return {"version": f"seq:{given}"}
    if not point and parse_version_token(given) is None and os.path.lexists(call.folder / given):
        point = point_of("now")
    return {"path": call.in_workspace(path or "."), "version": point} if point else {"version": given}


def _commit(call: Invocation, arguments: Mapping[str, Any]) -> str:
    word = str(arguments["version"])
    if "path" in arguments or is_point(word) or not commit_named(word, call.place.root, call.environ):
        return ""
    return word


def _may_be_a_path(arguments: Mapping[str, Any]) -> bool:
    word = arguments["version"]
    return "path" not in arguments and not word.startswith("seq:") and not is_number(word[1:])


def _is_folder(call: Invocation, path: str) -> bool:
    return bool(path) and os.path.isdir(os.path.join(call.place.root, path))


def _whole(client: Client, arguments: dict[str, Any]) -> dict[str, Any]:
    reply = page = client.call("show", arguments)
    pages = [str(reply.get("content", ""))]
    while page.get("ok") and page.get("truncated") and page.get("next_line"):
        page = client.call("show", {**arguments, "start_line": page["next_line"]})
        pages.append(str(page.get("content", "")))
    if page is reply or not page.get("ok"):
        return page
    return {**reply, "content": "".join(pages), "truncated": False, "next_line": None}


def _bytes(client: Client, reply: Mapping[str, Any]) -> bytes | None:
    from quire_client.export import ExportStop, Unwritable, bytes_of

    if isinstance(encoded := reply.get("content_base64"), str):
        return base64.b64decode(encoded)
    try:  # more than fits into a reply
        return next(data for _, data in bytes_of(client, [str(reply.get("sha256"))]))
    except (ExportStop, Unwritable):
        return None


def _without_text(call: Invocation, reply: Mapping[str, Any], data: bytes | None) -> int:
    if data is not None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    elif reply.get("binary"):
        call.say("It is not text; `quire restore` brings it back.")
    elif reply.get("uncaptured"):
        why = reply.get("uncaptured_told") or reply["uncaptured"]
        call.say(f"Its bytes are not in the journal ({render.one_line(why)}).")
    status = call.answer(reply, lambda reply: "", exact=True)
    return REFUSED if reply.get("uncaptured") and not call.json else status


COMMAND = Command(
    arguments="VERSION | PATH[@POINT]",
    about="Prints the text that a version holds, and on stderr who wrote it and when. `quire log --records` lists\n"
    "versions; the number of a record will do (14 is seq:14).",
    example="quire show src/app.py@before-refactoring",
    run=run,
    options=(Option("at", "POINT", "PATH as it was then, in place of @POINT"),),
)
