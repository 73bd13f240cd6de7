"""`quire redo`: restores undone changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from quire_client.cli import in_the_way, render, show_files
from quire_client.commands import Command, Invocation, Usage
from quire_client.commands.take_back.consent import is_asked
from quire_client.commands.take_back.undo import CHOICE, YES, choice

if TYPE_CHECKING:
    from quire_client.api import Client


def run(call: Invocation) -> int:
    chosen = choice(call)
    if "lines" in chosen:
        raise Usage("Lines are for `quire undo`; a redo is of whole changes.")
    with call.connect() as client:
        asked = is_asked(call, client, chosen)
        reply = client.call("redo", {**chosen, "plan": True} if asked else chosen)
        if asked and reply.get("ok") and reply.get("valid", True):
            return _agreed(call, client, reply)
    return call.answer(reply, show_files, below=in_the_way)


def _agreed(call: Invocation, client: Client, plan: Mapping[str, Any]) -> int:
    shown = {name: value for name, value in plan.items() if name != "token"}
    print("\n".join([show_files(shown), *_undone_at(client, plan)]))
    if all(file.get("action") == "none" for file in plan.get("files") or ()):
        return call.declined("Nothing can be brought back of that.")
    if not call.agreed("Bring it back?"):
        return call.declined("Nothing was brought back.")
    return call.answer(client.call("redo", {"token": plan["token"]}), show_files, below=in_the_way)


def _undone_at(client: Client, plan: Mapping[str, Any]) -> list[str]:
    batches = list(plan.get("batches") or ())
    if not batches:
        return []
    record = client.call("show", {"version": f"seq:{max(batches)}"}).get("record") or {}
    return [f"It was undone at {render.moment(record['at'])}."] if record.get("at") else []


COMMAND = Command(
    arguments="[PATH ...]",
    about="Takes your own last undo back; or brings back, of what was undone, what the options choose, in everything\n"
    "or in the PATHs. `--batch` names an undone batch, or an undo. What others wrote meanwhile stays. A person at a\n"
    "terminal sees the plan, and when it was undone, and is asked.",
    example="quire redo --plan",
    run=run,
    options=(*CHOICE, YES),
)
