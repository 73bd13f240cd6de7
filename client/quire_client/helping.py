"""The texts of `quire help`, made of the table of commands and of what their modules offer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from quire_client import render
from quire_client.commands import COMMANDS, GROUPS
from quire_client.commands.base import COMMON, VERSION_OPTION, Command, Option
from quire_client.moments import PARTED, POINTS

EXITS = """\
Exit status: 0 done, 1 refused, 2 usage, 3 not found, 4 no daemon or time-out, 5 denied by policy,
6 lease held by another, 7 journal damaged, 70 fault, 74 the output could not be written."""


def overview(colours: render.Palette) -> str:
    """All commands, by groups."""
    rows = render.columns((f"  {name}", summary) for name, summary in COMMANDS.items())
    line = dict(zip(COMMANDS, rows, strict=True))
    listed = [text for title, group in GROUPS.items() for text in ("", title, *(line[name] for name in group))]
    told = [
        "Quire keeps every version of every file of a workspace, who wrote it, and from which base.",
        "",
        "Usage: quire [options] COMMAND [arguments]",
        *(colours.paint(text, "bold") if text in GROUPS else text for text in listed),
        "",
        "`quire help COMMAND` explains one. Options of every command:",
        "",
        *option_lines((*COMMON, VERSION_OPTION)),
        "",
        EXITS,
    ]
    return "\n".join(told) + "\n"


def of_command(name: str, command: Command, colours: render.Palette) -> str:
    """What one command does, with an example and its options."""
    told = [
        f"{COMMANDS[name]}.",
        "",
        usage(name, command),
        "",
        about(command),
        "",
        *titled("Example", (f"  {line}" for line in command.example.strip().splitlines()), colours),
        *(titled("Options", option_lines(command.options), colours) if command.options else ()),
        *titled("Options of every command", option_lines(COMMON), colours),
    ]
    return "\n".join(told[:-1]) + "\n"


def table() -> dict[str, Any]:
    """The same as `overview`, for programs: `groups`, each with what its commands do."""
    return {"ok": True, "message": f"{len(COMMANDS)} commands.", "groups": GROUPS}


def told(name: str, command: Command) -> dict[str, Any]:
    """The same as `of_command`, for programs."""
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
    """What it does; and what a point is, and how it is told from a path, where it takes one."""
    told = [command.about.strip()]
    takes = " ".join([command.arguments, *(option.value for option in command.options)])
    if any(word in takes for word in ("POINT", "A..B", "CURSOR")):
        told.append(POINTS)
    if "@POINT" in takes:
        told.append(PARTED)
    return "\n".join(told)


def usage(name: str, command: Command) -> str:
    """The usage line."""
    return f"Usage: quire {name} {command.arguments}".rstrip() + " [options]"


def titled(title: str, lines: Iterable[str], colours: render.Palette) -> Iterator[str]:
    """`lines` between a title and an empty line."""
    yield from (f"{colours.paint(title, 'bold')}:", "", *lines, "")


def option_lines(options: Sequence[Option]) -> list[str]:
    """A line for each option."""

    def spelled(option: Option) -> str:
        return f"  {f'-{option.short}, ' if option.short else '    '}--{option.name} {option.value}".rstrip()

    return render.columns((spelled(option), option.meaning) for option in options)
