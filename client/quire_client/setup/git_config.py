"""Adds a section to the user's git configuration by which every git process writes trace2 events for Quire's daemons.

Git reads trace2 settings from the user's and the system's configuration only. The section is between two marks, and is
removed byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from quire_client.setup.agents import File
from quire_client.setup.errors import MalformedConfig

GIT: Final = "git"
MOST_FILES: Final = 200
_BEGIN: Final = "# quire setup git: begin"
_JOINED: Final = " (the line above had no end)"
_END: Final = "# quire setup git: end"
_BLOCK: Final = re.compile(rf"(\n?){re.escape(_BEGIN)}({re.escape(_JOINED)})?\n(.*?){re.escape(_END)}\n", re.DOTALL)
_TARGET: Final = re.compile(r"^\s*eventTarget\s*=", re.MULTILINE | re.IGNORECASE)


def config_file(home: Path, environ: Mapping[str, str]) -> Path:
    """Return the path of the file that `git config --global` writes."""
    if environ.get("GIT_CONFIG_GLOBAL"):
        return Path(environ["GIT_CONFIG_GLOBAL"])
    usual = home / ".gitconfig"
    other = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "config"
    return other if other.exists() and not usual.exists() else usual


def git_file(path: Path, folder: Path, variables: tuple[str, ...]) -> File:
    """Return git's configuration file with the functions that add and remove the section.

    `folder` receives the events, `variables` are environment variables to report.
    """
    return File(path, partial(put, folder, variables), take)


def put(folder: Path, variables: tuple[str, ...], text: str | None) -> str:
    """Return git's configuration text with Quire's section at its end; `text` None means a new file.

    Raises MalformedConfig if `trace2.eventTarget` is already set.
    """
    rest = "" if text is None else take(text) or ""
    if _TARGET.search(rest):
        raise MalformedConfig("trace2.eventTarget is set there already, for another program")
    quoted = str(folder).replace("\\", "\\\\").replace('"', '\\"')
    section = f'[trace2]\n\teventTarget = "{quoted}"\n\tenvVars = {",".join(variables)}\n\tmaxFiles = {MOST_FILES}\n'
    joined = bool(rest) and not rest.endswith("\n")
    return f"{rest}{chr(10) if joined else ''}{_BEGIN}{_JOINED if joined else ''}\n{section}{_END}\n"


def take(text: str) -> str | None:
    """Return git's configuration text without Quire's section; None if the file held nothing else."""
    found = _BLOCK.search(text)
    if found is None:
        return text
    before, behind = text[: found.start()], text[found.end() :]
    line_end = "" if found[2] and not behind else found[1]
    return f"{before}{line_end}{behind}" or None
