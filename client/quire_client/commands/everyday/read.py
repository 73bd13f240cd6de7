"""`quire read`: prints a file."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from quire_client.cli import render
from quire_client.commands import Command, Invocation, Option, Usage, is_number

LOSSY: Final = "Some bytes are not UTF-8 and are shown as U+FFFD; `quire cat PATH@POINT > FILE` keeps them as they are."


def run(call: Invocation) -> int:
    named, lines = call.path_lines(call.one_argument("PATH"))
    path, point = call.path_then(named)
    arguments: dict[str, Any] = {"path": call.in_workspace(path or "."), **({"at": point} if point else {})}
    if {"hashes", "hashline"} <= call.options.keys():
        raise Usage("--hashes and --hashline exclude each other.")
    if "hashline" in call.options:
        arguments["format"] = "hashline"
    arguments |= call.stated(("since",), flags=("hashes",)) | line_range(call.options.get("lines", lines))
    reply = call.ask("read_file", arguments)
    if reply.get("truncated"):
        call.say(f"The reply was cut; `--lines {reply.get('next_line')}:` shows the rest.")
    if reply.get("lossy"):
        call.say(LOSSY)
    _say_if_there_are_none(call, reply)
    return call.answer(reply, shown, exact=True)


def _say_if_there_are_none(call: Invocation, reply: Mapping[str, Any]) -> None:
    if "lines" in call.options and reply.get("ok") and reply.get("startLine", 1) > reply.get("lineCount", 1):
        call.say(render.said(reply.get("message", "")))


def shown(reply: Mapping[str, Any]) -> str:
    """Return the text of a reply of `read_file`: without control characters on a terminal, else exact."""
    lines = reply.get("lines")
    if isinstance(reply.get("hunks"), list):
        lines = [*_places(reply)] or [str(reply["message"])]
    text = "".join(f"{line}\n" for line in lines) if isinstance(lines, list) else str(reply.get("content", ""))
    if text and not isinstance(lines, list) and reply.get("endLine", math.inf) < reply.get("lineCount", 0):
        text += "\n"  # `content` of a slice ends with a line break only at the end of the file
    if not sys.stdout.isatty():
        return text
    return render.clean_text(text if text.endswith("\n") else f"{text}\n")


def _places(reply: Mapping[str, Any]) -> Iterator[str]:
    for hunk in reply["hunks"]:
        yield f"@@ {hunk['startLine']}-{hunk['endLine']} @@"
        yield from (f"- {line}" for line in hunk["removed"])
        yield from hunk["lines"]


def line_range(text: str) -> dict[str, int]:
    """Return `A:B`, `A:`, `:B`, `A`, `A,B` or `A,+N` (N lines from A on) as tool arguments. Raises Usage if invalid."""
    if not text:
        return {}
    first, colon, last = text.replace(",", ":").partition(":")
    if is_number(first) and last.startswith("+") and is_number(last[1:]) and int(last[1:]):
        last = str(int(first) + int(last[1:]) - 1)
    if any(part and not is_number(part) for part in (first, last)) or not (first or last):
        raise Usage(f"--lines wants A:B, A:, :B or A, not {text[:40]!r}.")
    if not colon:
        last = first
    if first and last and int(last) < int(first):
        raise Usage(f"--lines {text[:40]} ends before it begins.")
    return {name: int(part) for name, part in (("start_line", first), ("end_line", last)) if part}


COMMAND = Command(
    arguments="PATH",
    about="Prints the file. With --hashes or --hashline every line comes with its anchor; the journal remembers that\n"
    "you were shown these lines, and edits are checked against them.",
    example="quire read src/app.py --hashes --lines 10:40",
    run=run,
    options=(
        Option("hashes", "", "lines as N#hash [quality]|text"),
        Option("hashline", "", "lines as LINE#ID"),
        Option("lines", "A:B", "only these lines, from 1"),
        Option("at", "POINT", "as it was then"),
        Option("since", "POINT", "only what changed since then, with what is gone"),
    ),
)
