"""Texts of `quire help`, wrapped to the terminal."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from quire_client.cli import PARTED, POINTS, render
from quire_client.commands.base import Command
from quire_client.commands.options import COMMON, VERSION_OPTION, Option
from quire_client.commands.table import COMMANDS, GROUPS

WIDEST: Final = 100
USUAL: Final = 80
_ITEM: Final = re.compile(r" +(?:\S+ {2,})?")
EXITS: Final = """\
Exit status: 0 done, 1 refused, 2 usage, 3 not found, 4 no daemon or time-out, 5 denied by policy,
6 lease held by another, 7 journal damaged, 70 fault, 74 the output could not be written."""


def columns() -> int:
    return min(shutil.get_terminal_size().columns, WIDEST) if sys.stdout.isatty() else USUAL


def overview(colours: render.Palette, width: int = USUAL) -> str:
    rows = render.columns((f"  {name}", summary) for name, summary in COMMANDS.items())
    line = dict(zip(COMMANDS, rows, strict=True))
    listed = [text for title, group in GROUPS.items() for text in ("", title, *(line[name] for name in group))]
    told = [
        *fitted("Quire keeps every version of every file of a workspace, who wrote it, and from which base.", width),
        "",
        "Usage: quire [options] COMMAND [arguments]",
        *(colours.paint(text, "bold") if text in GROUPS else text for text in listed),
        "",
        "`quire help COMMAND` explains one. Options of every command:",
        "",
        *option_lines((*COMMON, VERSION_OPTION), width),
        "",
        *fitted(EXITS, width),
    ]
    return "\n".join(told) + "\n"


def of_command(name: str, command: Command, colours: render.Palette, width: int = USUAL) -> str:
    told = [
        f"{COMMANDS[name]}.",
        "",
        *fitted(usage(name, command), width),
        "",
        *fitted(about(command), width),
        "",
        *titled("Example", (f"  {line}" for line in command.example.strip().splitlines()), colours),
        *(titled("Options", option_lines(command.options, width), colours) if command.options else ()),
        *titled("Options of every command", option_lines(COMMON, width), colours),
    ]
    return "\n".join(told[:-1]) + "\n"


def table() -> dict[str, Any]:
    """Return the list of commands as a reply for `--json`."""
    return {"ok": True, "message": f"{len(COMMANDS)} commands.", "groups": GROUPS}


def told(name: str, command: Command) -> dict[str, Any]:
    return {
        "ok": True,
        "message": f"{COMMANDS[name]}.",
        "name": name,
        "arguments": command.arguments,
        "about": about(command),
        "example": command.example,
        "options": [option._asdict() for option in (*command.options, *COMMON)],
    }


def about(command: Command) -> str:
    """Return the description of a command, with an explanation of points if it takes one."""
    told = [command.about.strip()]
    takes = " ".join([command.arguments, *(option.value for option in command.options)])
    if any(word in takes for word in ("POINT", "A..B", "CURSOR")):
        told += ["", POINTS]
    if "@POINT" in takes:
        told += ["", PARTED]
    return "\n".join(told)


def usage(name: str, command: Command) -> str:
    return f"Usage: quire {name} {command.arguments}".rstrip() + " [options]"


def titled(title: str, lines: Iterable[str], colours: render.Palette) -> Iterator[str]:
    yield from (f"{colours.paint(title, 'bold')}:", "", *lines, "")


def fitted(text: str, width: int) -> Iterator[str]:
    """Yield `text` in lines of at most `width` columns; longer words stay whole."""
    for paragraph in _paragraphs(text):
        item = _ITEM.match(paragraph)
        yield from _wrapped(paragraph, width, "", " " * (item.end() if item is not None else 0)) or [""]


def _paragraphs(text: str) -> list[str]:
    found: list[str] = []
    joins = False
    for line in text.splitlines():
        indented = line.startswith(" ")
        if joins and line and not indented:
            found[-1] += f" {line}"
        else:
            found.append(line)
        joins = bool(line) and not indented
    return found


def _wrapped(text: str, width: int, first: str, behind: str) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=behind, break_long_words=False, break_on_hyphens=False
    )


def option_lines(options: Sequence[Option], width: int) -> list[str]:
    def spelled(option: Option) -> str:
        return f"  {f'-{option.short}, ' if option.short else '    '}--{option.name} {option.value}".rstrip()

    left = max(len(spelled(option)) for option in options) + 2
    return [
        line for option in options for line in _wrapped(option.meaning, width, spelled(option).ljust(left), " " * left)
    ]
