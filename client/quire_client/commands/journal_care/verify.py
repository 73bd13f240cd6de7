"""`quire verify`: checks the journal, its stored bytes and its signed heads."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from quire_client.cli import Progress, render
from quire_client.commands import DAMAGED, Command, Invocation, Option, Usage

TIMEOUT_S: Final = 3600.0
PAUSE_S: Final = 0.3


def run(call: Invocation) -> int:
    call.at_most(0)
    part = call.options.get("read-data", "all")
    given = call.options.get("against")
    keys = _keys(call.options["key"]) if "key" in call.options else None
    if keys and given is None:
        raise Usage("--key says who must have signed the head of --against FILE.")
    wrong: list[str] = []
    against = None if given is None else _heads_of(call, given, keys, wrong)
    with call.connect() as client, Progress("Verifying", call.person_watches) as bar, _watching(call, bar):
        reply = client.verify(part, against=against, keys=keys, timeout_s=call.timeout_s(TIMEOUT_S))
    status = call.answer(reply, lambda reply: render.clean_text(reply.get("message", "The journal is sound.")))
    for finding in [*render.first_of(wrong), *render.first_of(_findings(reply))]:
        call.say(f"  {finding}")
    return DAMAGED if wrong or _findings(reply) else status


def _heads_of(call: Invocation, given: str, keys: list[str] | None, wrong: list[str]) -> str:
    from quire_client.ship import is_address

    if given == "-" or not is_address(given):
        return _heads(given)
    from quire_client.ship import FarSideUnreachable, audit
    from quire_journal.transparency import BadNote, read_vkey

    with call.connect() as client:
        at = client.outbox(look=True)
        known = keys or client.prove(timeout_s=call.timeout_s(TIMEOUT_S)).get("keys") or ()
    try:
        found, said = audit(given, str(at["holder"] or at["journal"]), int(at["number"]), [*map(read_vkey, known)])
    except (FarSideUnreachable, BadNote) as error:
        raise Usage(f"{given}: {error}.") from error
    wrong += [f"At {given}: {one}." for one in said]
    return "".join(found.heads)


def _heads(name: str) -> str:
    from quire_journal.transparency import checkpoints_in

    return checkpoints_in(_text(name))


def _keys(given: str) -> list[str]:
    text = given if given.count("+") >= 2 and not os.path.exists(given) else _text(given)
    return [line for line in text.splitlines() if line.strip()]


def _text(name: str) -> str:
    try:
        if name == "-":
            return sys.stdin.buffer.read().decode("utf-8", "replace")
        return Path(name).read_text("utf-8", "replace")
    except OSError as error:
        raise Usage(f"{name} cannot be read: {error.strerror}.") from error


@contextmanager
def _watching(call: Invocation, bar: Progress) -> Iterator[None]:
    over = threading.Event()

    def follow() -> None:
        # The check reports its own errors.
        with suppress(Exception), call.connect(start=False) as client:
            while not over.wait(PAUSE_S):
                told = (client.status().get("progress") or {}).get("verify") or {}
                bar.update(int(told.get("done") or 0), int(told.get("total") or 0))

    watcher = threading.Thread(target=follow, daemon=True)
    if call.person_watches:
        with suppress(RuntimeError):  # no thread available: no bar
            watcher.start()
    try:
        yield
    finally:
        over.set()
        if watcher.is_alive():
            watcher.join(1.0)


def _findings(reply: Mapping[str, Any]) -> list[object]:
    return list(reply.get("findings") or ())


COMMAND = Command(
    arguments="",
    about="Reads the whole journal in a process of its own: pages, the chain of records, every stored version, and\n"
    "whether the views are what the records say. Others can work meanwhile. Status 7 says that something is wrong.\n"
    "With --read-data 2/7 only the second of seven parts of the stored bytes is unpacked: one a day, all in a week.\n"
    "With --against FILE the journal is compared with signed heads that were saved, as `quire prove` prints them: a\n"
    "past that was cut, rewritten or forked since then is shown. An address of `quire ship` may stand there, too: all\n"
    "of it is read back, contents as well, and what is wrong on either side is named. --key names the verifier key,\n"
    "or a file of keys, that must have signed the heads; without it the journal's own count.",
    example="quire verify --against site.checkpoint --key site.keys",
    run=run,
    options=(
        Option("read-data", "N/T", 'which stored bytes to unpack: part N of T, "none" or "all"'),
        Option("against", "FILE", "compare with the signed heads in a file (- is stdin), or with a far side"),
        Option("key", "KEY", "the verifier key of those heads, or a file of keys"),
    ),
)
