"""`quire completion`: the script that lets a shell complete command lines of `quire`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from quire_client.cli import render
from quire_client.commands import DONE, Command, Invocation, Usage, chosen

SHELLS: Final = ("bash", "zsh", "fish")

PATIENCE_S: Final = 0.25
"""How long somebody who presses Tab waits for names."""

_ASKED: Final[dict[str, tuple[str, dict[str, Any], str, tuple[str, ...]]]] = {
    "points": ("checkpoint", {"action": "list"}, "checkpoints", ("name",)),
    "tools": ("describe", {}, "tools", ("name",)),
    "writers": ("who", {"present": False}, "writers", ("agent",)),
}
"""Kind of names → the call that has them, and where in its reply they stand."""


def run(call: Invocation) -> int:
    """Print the script, or for a script the names that a running daemon knows."""
    if call.arguments[:1] == ["names"]:
        names = _names(call) if len(call.arguments) > 1 else []
        sys.stdout.write("".join(f"{name}\n" for name in names))
        return DONE
    shell = chosen("SHELL", call.one_argument("SHELL"), SHELLS)
    from quire_client.commands import completion_scripts

    script = completion_scripts.SHELLS[shell]()
    print(render.as_json({"ok": True, "message": f"For {shell}.", "script": script}) if call.json else script, end="")
    return DONE


def _names(call: Invocation) -> list[str]:
    """What a daemon that runs says at once; nothing where none does, or where it takes its time."""
    from quire_client.transport import Quick, Unreachable
    from quire_journal.workspaces import WorkspaceRefused

    if call.arguments[1] not in _ASKED:
        raise Usage(f"There are no names of kind {call.arguments[1]!r}.")
    tool, arguments, listed, fields = _ASKED[call.arguments[1]]
    try:
        with Quick(call.place, {}, time.monotonic() + PATIENCE_S) as line:
            reply = line.call(tool, arguments)
    except (Unreachable, WorkspaceRefused, OSError):
        return []
    found = sorted({name for entry in reply.get(listed) or () for name in _of(entry, fields)})
    return ["outside", "user", *found] if tool == "who" else found


def _of(entry: Mapping[str, Any], fields: Iterable[str]) -> list[str]:
    """Names that a shell can take as they are."""
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
