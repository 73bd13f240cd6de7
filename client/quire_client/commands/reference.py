"""Generates `docs/commands.md`, the reference of all commands.

python -m quire_client.commands.reference > docs/commands.md
"""

from __future__ import annotations

from collections.abc import Iterator

from quire_client.commands.help import EXITS, WIDEST, about, fitted, option_lines, usage
from quire_client.commands.options import COMMON, VERSION_OPTION
from quire_client.commands.table import COMMANDS, GROUPS, offered

MADE_BY = "<!-- Made by `python -m quire_client.commands.reference > docs/commands.md`; a test keeps it true. -->"


def reference() -> str:
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield from (
        "# Commands",
        "",
        MADE_BY,
        "",
        "`quire help` and `quire help COMMAND` say the same in the terminal.",
        "",
    )
    for title, group in GROUPS.items():
        yield f"- {title}: {', '.join(f'[{name}](#{name})' for name in group)}"
    yield ""
    yield from ("Options of every command:", "", *_block(option_lines((*COMMON, VERSION_OPTION), WIDEST)), EXITS, "")
    for title, group in GROUPS.items():
        yield from (f"## {title}", "")
        for name in group:
            yield from _command(name)


def _command(name: str) -> Iterator[str]:
    command = offered(name)
    yield from (f"### `{name}`", "", f"{COMMANDS[name]}.", "")
    told = [usage(name, command), "", *fitted(about(command), WIDEST)]
    yield from _block([*told, *(["", *option_lines(command.options, WIDEST)] if command.options else [])])
    yield from ("Example:", "", "```bash", *command.example.strip().splitlines(), "```", "")


def _block(lines: list[str]) -> Iterator[str]:
    yield from ("```text", *lines, "```", "")


if __name__ == "__main__":
    print(reference(), end="")
