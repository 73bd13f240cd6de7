"""`quire verify`: whether the journal is sound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from quire_client import render
from quire_client.commands.base import DAMAGED, Command, Invocation
from quire_client.progress import Progress

TIMEOUT_S: Final = 3600.0
"""A long history takes its time; --timeout shortens it."""


def run(call: Invocation) -> int:
    """Check the journal; whatever is found is damage."""
    call.at_most(0)
    with call.connect() as client, Progress("Verifying", call.person_watches):
        reply = client.verify(timeout_s=call.timeout_s(TIMEOUT_S))
    status = call.answer(reply, lambda reply: render.clean_text(reply.get("message", "The journal is sound.")))
    for finding in _findings(reply):
        call.say(f"  {render.one_line(finding, 500)}")
    return DAMAGED if _findings(reply) else status


def _findings(reply: Mapping[str, Any]) -> list[object]:
    return list(reply.get("findings") or ())


COMMAND = Command(
    arguments="",
    about="Reads the whole journal: the chain of records, every stored version, and whether the views are what the\n"
    "records say. Others can work meanwhile. Ends with status 7 when something is wrong.",
    example="quire verify",
    run=run,
)
