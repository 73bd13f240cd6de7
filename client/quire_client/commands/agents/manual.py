"""`quire manual`: prints instructions for an agent about tools that edit files."""

from __future__ import annotations

import json
import sys
from typing import Any

from quire_client.cli import render
from quire_client.commands import Command, Invocation


def run(call: Invocation) -> int:
    from quire_journal.workspaces import WorkspaceRefused

    call.at_most(1)
    name = call.arguments[0] if call.arguments else None
    try:
        with call.connect() as client:
            reply = client.manual(name)
    except WorkspaceRefused:
        if "workspace" in call.options:
            raise
        reply = _without_a_workspace(name)
    return call.answer(reply, lambda reply: render.clean_text(reply.get("manual", "")))


def _without_a_workspace(name: str | None) -> dict[str, Any]:
    import subprocess

    words = [sys.executable, "-m", "quire_daemon.tools.admin.print_manual", *([] if name is None else [name])]
    done = subprocess.run(words, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, check=True)
    reply: dict[str, Any] = json.loads(done.stdout)
    return reply


COMMAND = Command(
    arguments="[DIALECT]",
    about="Prints the guidance for one tool, such as edit or hashline_edit, in Markdown: text for an agent's system\n"
    "prompt. `writing` is what all tools that write have in common; without DIALECT, a list of the tools and all of\n"
    "it. In a workspace its daemon answers (and is started), because settings change what is told; elsewhere none is\n"
    "needed.",
    example="quire manual edit",
    run=run,
)
