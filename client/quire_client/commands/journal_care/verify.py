"""`quire verify`: checks the journal, its stored bytes and its signed heads."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quire_client.cli import Progress, render
from quire_client.commands import DAMAGED, Command, Invocation, Option, Usage

if TYPE_CHECKING:
    from quire_client.ship import FarJournal

TIMEOUT_S: Final = 3600.0
PAUSE_S: Final = 0.3


def run(call: Invocation) -> int:
    call.at_most(0)
    part = call.options.get("read-data", "all")
    given = call.options.get("against")
    keys = _keys(call.options["key"]) if "key" in call.options else None
    if keys and given is None:
        raise Usage("--key says who must have signed the head of --against FILE.")
    far = None if given is None or given == "-" else _far_side(call, given, keys)
    against = _heads(given) if given is not None and far is None else "".join(far.found.heads) if far else None
    source = far.at if far else None
    with call.connect() as client, Progress("Verifying", call.person_watches) as bar, _watching(call, bar):
        reply = client.verify(part, against=against, keys=keys, source=source, timeout_s=call.timeout_s(TIMEOUT_S))
    told = reply if far is None else _beside(reply, far)
    status = call.answer(told, lambda reply: render.clean_text(reply.get("message", "The journal is sound.")))
    wrong = [f"At {far.at}: {one}." for one in far.wrong] if far else []
    for finding in [*render.first_of(wrong), *render.first_of(_findings(reply))]:
        call.say(f"  {finding}")
    return DAMAGED if wrong or _findings(reply) else status


class _FarSide(NamedTuple):
    """Segments and contents read back from a remote store."""

    at: str  # address, without a password
    found: FarJournal
    wrong: list[str]  # clauses


def _far_side(call: Invocation, given: str, keys: list[str] | None) -> _FarSide | None:
    """Read back the remote store at the address `given`; None if `given` is no such address. `keys` are the verifier
    keys of its segments (none: the journal's). Raises Usage if the store cannot be read.
    """
    from quire_client.ship import FarSideUnreachable, audit, from_here, is_address, without_password
    from quire_journal.transparency import BadNote, read_vkey

    if not is_address(given):
        return None
    given = from_here(given)
    with call.connect() as client:
        at = client.outbox(to=without_password(given), look=True)
        known = keys or client.prove(timeout_s=call.timeout_s(TIMEOUT_S)).get("keys") or ()
    try:
        found, wrong = audit(given, str(at["holder"] or at["journal"]), int(at["number"]), [*map(read_vkey, known)])
        return _FarSide(without_password(given), found, wrong)
    except (FarSideUnreachable, BadNote) as error:
        raise Usage(f"{given}: {error}.") from error


def _beside(reply: Mapping[str, Any], far: _FarSide) -> dict[str, Any]:
    """Return the reply with what was read back from the remote store, and a message on both."""
    heads = [head for head in reply.get("heads") or () if head["source"] == far.at]
    agree = sum(head["state"] == "held" for head in heads)
    found = far.found
    here = "The journal here is sound" if reply.get("ok") else str(reply.get("message", "")).rstrip(".")
    counts = [render.counted(found.segments, "segment"), f"{render.counted(found.contents, 'content')} read back"]
    if agree == len(heads):
        counts.append(render.counted(agree, "head agrees", "heads agree"))
    else:
        counts.append(f"{agree} of {render.counted(len(heads), 'head')} agree")
    if far.wrong:
        counts.insert(0, render.counted(len(far.wrong), "finding"))
    told = {"at": far.at, "segments": found.segments, "contents": found.contents, "heads": len(heads), "agree": agree}
    message = f"{here}; at {far.at}: {', '.join(counts)}."
    newest = next((str(head["said"]) for head in reversed(heads) if head["state"] == "held"), "")
    if more := newest.partition(". ")[2]:  # what its first sentence says is counted above
        message += f" Of the newest head: {more}"
    return {**reply, "message": message, "far_side": {**told, "findings": far.wrong}}


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
