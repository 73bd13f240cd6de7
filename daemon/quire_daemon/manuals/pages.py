"""Reads the manual page of a tool from its file in this package."""

from __future__ import annotations

import tomllib
from functools import cache
from pkgutil import get_data

import msgspec


class ToolPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The manual page of one tool: title, Markdown text, hints for MCP clients, and meaning of the arguments."""

    title: str
    text: str = ""  # the manual, or a description; Markdown
    offerable: bool = True  # agents can be offered it over MCP: it removes no history, and does not end the daemon
    destructive: bool = True  # it may change or remove what is there; of a reading tool it does not matter
    idempotent: bool = False  # the same call a second time changes nothing more
    changes: bool = False  # it changes something, though no file of the workspace
    changed: str = ""  # of a tool that writes: what it means for a call that another writer changed the file since
    aliases: tuple[str, ...] = ()  # arguments that another one means, too
    arguments: dict[str, str] = {}  # what each means, where `arguments.toml` has none or this tool means another thing

    @property
    def about(self) -> str:
        """The one-line summary from the manual's first heading; "" if the tool has no manual."""
        heading = self.text.partition("\n")[0]
        return heading.partition(": ")[2] if heading.startswith("# ") else ""


@cache
def page(tool: str) -> ToolPage:
    """Return the manual page of the tool named `tool`. Raises `KeyError` if there is none."""
    if not tool.isidentifier():  # no name of a file
        raise KeyError(tool)
    try:
        _, head, text = _read(f"{tool}.md").split("+++\n", 2)
    except FileNotFoundError:
        raise KeyError(tool) from None
    return msgspec.convert({**tomllib.loads(head), "text": text}, ToolPage)


@cache
def meanings() -> dict[str, str]:
    """Return argument name → its meaning in one sentence, unless a tool's page says otherwise."""
    return tomllib.loads(_read("arguments.toml"))


def _read(name: str) -> str:
    return (get_data(__package__, name) or b"").decode()
