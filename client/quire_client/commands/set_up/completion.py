"""`quire completion`: prints a completion script for a shell."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pkgutil import get_data
from typing import Any, Final

from quire_client.cli import render
from quire_client.commands import DONE, Command, Invocation, chosen, completed

PATIENCE_S: Final = 0.25
_ASKED: Final[dict[str, tuple[str, dict[str, Any], str, tuple[str, ...]]]] = {
    "points": ("checkpoint", {"action": "list"}, "checkpoints", ("name",)),
    "tools": ("describe", {}, "tools", ("name",)),
    "writers": ("who", {"present": False}, "writers", ("agent",)),
}

SHELLS: Final = ("bash", "zsh", "fish")
"""Shells with a script beside this module, which runs `quire completion words` at every Tab."""


def run(call: Invocation) -> int:
    if call.arguments[:1] in (["words"], ["line"]):
        tell(call.arguments, lambda kind: _names(call, kind))
        return DONE
    shell = chosen("SHELL", call.one_argument("SHELL"), SHELLS)
    script = (get_data(__package__, f"completion.{shell}") or b"").decode()
    print(render.as_json({"ok": True, "message": f"For {shell}.", "script": script}) if call.json else script, end="")
    return DONE


def tell(asked: Sequence[str], names: Callable[[str], Iterable[str]]) -> None:
    """Print one completion per line, with its meaning after a tab; finally `:files` or `:folders` if the shell must
    complete paths. `asked` is "words" and the words after `quire`, or "line" and the typed line.
    """
    how, *typed = asked
    found = completed(_split(" ".join(typed)) if how == "line" else typed, names)
    for word, meaning in found.words:
        print(f"{word}\t{render.one_line(meaning, 200)}")
    if found.paths:
        print(f":{found.paths}")


def _split(line: str) -> list[str]:
    for closing in ("", "'", '"'):
        try:
            words = shlex.split(line + closing)[1:]
        except ValueError:
            continue
        return [*words, ""] if line[-1:].isspace() or not words else words
    return line.split()[1:]


def _names(call: Invocation, kind: str) -> list[str]:
    from quire_client.transport import Quick, Unreachable
    from quire_journal.workspaces import WorkspaceRefused

    tool, arguments, listed, fields = _ASKED[kind]
    try:
        with Quick(call.place, {}, time.monotonic() + PATIENCE_S) as line:
            reply = line.call(tool, arguments)
    except (Unreachable, WorkspaceRefused, OSError):
        return []
    found = sorted({name for entry in reply.get(listed) or () for name in _of(entry, fields)})
    return ["outside", "user", *found] if tool == "who" else found


def _of(entry: Mapping[str, Any], fields: Iterable[str]) -> list[str]:
    names = (str(entry.get(field) or "") for field in fields)
    return [name for name in names if name and name == render.one_line(name) and not set(name) & set(" \t'\"\\$`")]


COMMAND = Command(
    arguments="SHELL",
    about="Prints a script for bash, zsh or fish, which completes commands, options, their values and paths by\n"
    "itself. Names of checkpoints, callers and tools come from the workspace's daemon, if one runs and answers at\n"
    "once.\n"
    '  bash  in ~/.bashrc: eval "$(quire completion bash)"\n'
    "  zsh   in a folder of $fpath: quire completion zsh > _quire\n"
    "  fish  quire completion fish > ~/.config/fish/completions/quire.fish",
    example="quire completion bash > quire.bash && . ./quire.bash",
    run=run,
    words=SHELLS,
)
