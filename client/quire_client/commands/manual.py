"""`quire manual`: what an agent should know before it edits."""

from __future__ import annotations

from quire_client import render
from quire_client.commands.base import Command, Invocation


def run(call: Invocation) -> int:
    """Print the manual of one tool, or all of them."""
    call.at_most(1)
    with call.connect() as client:
        reply = client.manual(call.arguments[0] if call.arguments else None)
    return call.answer(reply, lambda reply: render.clean_text(reply.get("manual", "")))


COMMAND = Command(
    arguments="[DIALECT]",
    about="Prints the guidance for one tool, such as edit or hashline_edit, in Markdown: text for an agent's system\n"
    "prompt. Without DIALECT, a list of the tools and all of it.",
    example="quire manual edit",
    run=run,
)
