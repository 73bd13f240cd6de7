"""`quire cat`: prints a whole file at a point."""

from __future__ import annotations

import base64
import sys
from typing import TYPE_CHECKING, Any, Final

from quire_client.commands import DONE, Command, Invocation, Option
from quire_client.commands.everyday import LOSSY, shown

if TYPE_CHECKING:
    from quire_client.api import Client


def run(call: Invocation) -> int:
    path, point = call.path_then(call.one_argument("PATH@POINT"))
    arguments: dict[str, Any] = {"path": call.in_workspace(path or ".")}  # `@scope/a` is refused with advice
    if point:
        arguments["at"] = point
    exact = not call.json and not sys.stdout.isatty()
    if exact:
        arguments["content_base64"] = True
    with call.connect() as client:
        pages = _pages(client, arguments)
        if exact and pages[-1].get("error") in _NO_TEXT:
            data = _blob(client, arguments["path"], point)
            if data is not None:
                sys.stdout.flush()
                sys.stdout.buffer.write(data)
                return DONE
    if exact and pages[-1].get("ok"):
        sys.stdout.flush()
        sys.stdout.buffer.write(_bytes(pages))
        return DONE
    if pages[-1].get("lossy"):
        call.say(LOSSY)
    return call.answer(_joined(pages), shown, exact=True)


_NO_TEXT: Final = ("binary_file", "file_too_large")


def _blob(client: Client, path: str, point: str) -> bytes | None:
    from quire_client.export import ExportStop, Unwritable, bytes_of, fetch
    from quire_journal.model import shown_path

    try:
        entries = fetch(client, point, path).entries
        files = (one["sha256"] for one in entries if shown_path(one) == path and one["kind"] == "file")
        address = next(files, None)
        return None if address is None else next(data for _, data in bytes_of(client, [address]))
    except (ExportStop, Unwritable):
        return None  # the first refusal counts


def _pages(client: Client, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    pages = [client.call("read_file", arguments)]
    # The version keeps the text the same for all pages.
    at = arguments.get("at") or pages[0].get("version")
    while pages[-1].get("ok") and pages[-1].get("truncated") and pages[-1].get("next_line"):
        pages.append(client.call("read_file", {**arguments, "at": at, "start_line": pages[-1]["next_line"]}))
    return pages


def _bytes(pages: list[dict[str, Any]]) -> bytes:
    whole = b"".join(base64.b64decode(page.get("content_base64", "")) for page in pages)
    return b"\xef\xbb\xbf" + whole if pages[0].get("hasBom") else whole


def _joined(pages: list[dict[str, Any]]) -> dict[str, Any]:
    if len(pages) == 1 or not pages[-1].get("ok"):
        return pages[-1]
    texts = [str(page.get("content", "")) for page in pages]
    # A page that does not reach the end lacks its last line break.
    whole = "".join(f"{text}\n" for text in texts[:-1]) + texts[-1]
    end = pages[-1].get("endLine")
    return {**pages[0], "content": whole, "endLine": end, "truncated": False, "next_line": None}


COMMAND = Command(
    arguments="PATH[@POINT]",
    about="Prints the text of a file as it was at POINT, or as it is. What goes into a file or pipe is\n"
    "byte for byte the file.",
    example="quire cat src/app.py@before-refactoring",
    run=run,
    options=(Option("at", "POINT", "as it was then, in place of @POINT"),),
)
