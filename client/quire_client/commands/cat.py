"""`quire cat`: the text of a file at a point, all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quire_client.commands.base import Command, Invocation, path_at
from quire_client.commands.read import shown

if TYPE_CHECKING:
    from quire_client.api import Client


def run(call: Invocation) -> int:
    """Print the file as it was, or as it is."""
    path, point = path_at(call.one_argument("PATH@POINT"))
    arguments = call.path_arguments(path)
    if point:
        arguments["at"] = point
    with call.connect() as client:
        reply = _whole(client, arguments)
    if reply.get("lossy"):
        call.say("Some bytes are not UTF-8 and are shown as U+FFFD; `quire restore` brings them back as they were.")
    return call.answer(reply, shown, exact=True)


def _whole(client: Client, arguments: dict[str, Any]) -> dict[str, Any]:
    """The reply with the content of all its pages: a reply holds a bounded number of lines."""
    reply = client.call("read_file", arguments)
    pages = [str(reply.get("content", ""))]
    page = reply
    while page.get("ok") and page.get("truncated") and page.get("next_line"):
        # The version pins the text: the file may change between two pages.
        at = arguments.get("at") or reply.get("version")
        page = client.call("read_file", {**arguments, "at": at, "start_line": page["next_line"]})
        pages.append(str(page.get("content", "")))
    if not page.get("ok"):
        return page
    if len(pages) == 1:
        return reply
    # A page that does not reach the end comes without its last line break.
    whole = "".join(text if text.endswith("\n") else f"{text}\n" for text in pages[:-1]) + pages[-1]
    return {**reply, "content": whole, "truncated": False, "next_line": None}


COMMAND = Command(
    arguments="PATH[@POINT]",
    about="Prints the text of a file as it was at a point: a version, seq:N, a checkpoint, or a time such as\n"
    "2026-01-31T12:00:00Z. Line ends are shown as LF. Without a point, as it is now.",
    example="quire cat src/app.py@2026-01-31T12:00:00Z",
    run=run,
)
