"""`quire prove`: prints the journal's signed head, or a proof that anybody can check."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quire_client.commands import Command, Invocation, Option, Usage

TIMEOUT_S = 600.0
"""Default timeout in seconds, as the first signed head of a large journal takes long; `--timeout` changes it."""


def run(call: Invocation) -> int:
    call.at_most(1)
    point = call.arguments[0] if call.arguments else ""
    since = _text(call.options["since"]) if "since" in call.options else ""
    with call.connect() as client:
        timeout_s = call.timeout_s(TIMEOUT_S)
        asked = call.stated(flags=("writer", "with-prompts"))
        reply = client.prove(point, since=since, timeout_s=timeout_s, **asked)
    if reply.get("masked"):
        call.say(str(reply["message"]))
    return call.answer(reply, lambda reply: _shown(reply, "keys" in call.options))


def _shown(reply: Mapping[str, Any], keys: bool) -> str:
    return "\n".join(reply["keys"]) if keys else str(reply.get("proof") or reply["checkpoint"]).removesuffix("\n")


def _text(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text("utf-8", "replace")
    except OSError as error:
        raise Usage(f"{name} cannot be read: {error.strerror}.") from error


COMMAND = Command(
    arguments="[POINT]",
    about="Prints the newest signed head of the journal (c2sp.org/tlog-checkpoint): kept where nobody of this machine\n"
    "can write, it later shows with `quire verify --against` whether the past was changed. With a POINT it prints a\n"
    "proof that its record is in that head (c2sp.org/tlog-proof), which needs no Quire to be checked; the page\n"
    "docs/proofs.md says how, and what it does not prove. What is not signed yet is signed first.",
    example="quire prove v812 > v812.tlog-proof",
    run=run,
    options=(
        Option("writer", "", "prove the record that introduced the writer of that record"),
        Option("since", "FILE", "prove that the newest head goes on from the one in a file (- is stdin)"),
        Option("with-prompts", "", "show the record even if it has a prompt or an agent's command line"),
        Option("keys", "", "print the keys that verify the heads"),
    ),
)
