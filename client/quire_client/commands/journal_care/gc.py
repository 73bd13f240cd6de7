"""`quire gc`: removes blobs that no retention rule keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from quire_client.cli import Progress, render
from quire_client.commands import Command, Invocation, Option, Usage

TIMEOUT_S: Final = 3600.0


def run(call: Invocation) -> int:
    call.at_most(0)
    arguments = call.stated(("only",), ("limit", "skip"), ("dry-run", "compact"))
    if {"limit", "skip", "only"} & {*arguments} and "dry_run" not in arguments:
        raise Usage("--limit, --skip and --only are about what --dry-run lists.")
    with call.connect() as client, Progress("Collecting", call.person_watches):
        reply = client.gc(timeout_s=call.timeout_s(TIMEOUT_S), **arguments)
    return call.answer(reply, lambda reply: "\n".join(_lines(reply)))


def _lines(reply: Mapping[str, Any]) -> Iterator[str]:
    yield from render.columns(map(_row, reply.get("blobs") or ()))
    if reply.get("next") is not None:
        yield f"… more with --skip {reply['next']}"
    reasons = reply.get("reasons") or {}
    yield from (
        f"  {render.counted(int(number), 'version')}: {render.one_line(why)}" for why, number in reasons.items()
    )
    yield render.said(reply.get("message", ""))


def _row(blob: Mapping[str, Any]) -> tuple[str, ...]:
    path, why = render.one_line(blob.get("path", "?"), 4096), render.one_line(blob.get("reason", "?"))
    return (
        render.one_line(blob.get("version", "?")),
        render.moment(blob.get("at") or ""),
        f"{render.size(blob.get('size') or 0):>10}",
        ("kept: " if blob.get("keep") else "") + why.removesuffix(f" of {path}"),
        path,
    )


COMMAND = Command(
    arguments="",
    about="Drops the bytes of old versions that no rule of [retention] in your config.toml keeps. Their records stay,\n"
    "and say so. Heads, checkpoints, open bursts and what was read lately are kept whatever the rules say. --dry-run\n"
    "changes nothing and lists each blob with the reason. Others can work meanwhile.",
    example="quire gc --dry-run --only dropped",
    run=run,
    options=(
        Option("dry-run", "", "change nothing; say what would stay and go, and why", "n"),
        Option("compact", "", "give the freed space back to the disk, by a copy of the journal"),
        Option("limit", "N", "--dry-run: list so many versions; 100 if not said"),
        Option("skip", "N", "--dry-run: leave out the first N, for the next page"),
        Option("only", "WHAT", "--dry-run: list what is kept, or dropped", choices=("kept", "dropped")),
    ),
)
