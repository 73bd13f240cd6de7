"""`burst`: groups changes that belong together: a tool call, a formatter run, a git operation.

A caller's bursts nest, and a write belongs to all open ones. The watcher records all pending writes before a burst
begins and ends, so that exactly the outside writes in between belong to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final, Literal

import msgspec

from quire_daemon.core import AnnouncedCall, Decision, Tool, World, no_paths, require_in_bounds
from quire_daemon.core.replies import BurstReply
from quire_daemon.tools.evidence import NAMED, CallEnd, Claim, verdicts
from quire_daemon.tools.history import VERSION_KINDS, named_burst
from quire_journal.history import History, rfc3339, to_the_second
from quire_journal.model import BurstBegun, BurstEnded, Record, Refusal, counted, paths_of
from quire_journal.views import BELONGING, Burst

NATIVE: Final = "native"
"""Form of a burst of an agent's announced call."""

MOST_OPEN: Final = 16
"""Maximum number of open bursts of one caller; announced calls have as many of their own."""

MAX_TTL_S: Final = 86_400
MAX_LABEL: Final = 200
MAX_LISTED: Final = 1000

MOST_PATHS: Final = 20

SETTLE_S: Final = 20.0
"""Maximum wait in seconds for the watcher at a burst's begin and end. Outside writes recorded later do not belong to
the burst.
"""

_FORM: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}", re.ASCII)
_WRITTEN_BY_OTHERS: Final = frozenset({"formatter", "git"})
_SECOND: Final = 1_000_000_000


class BurstParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    action: Literal["begin", "end", "list", "show"] = "list"
    label: str = ""
    kind: str = "tool_call"  # "tool_call", "formatter", "git", or another word
    ttl_s: float = 600.0
    outside: bool | None = None  # outside writes belong to the burst; default: only for formatters and git
    bind: Literal["session", "connection"] = "session"  # "connection": the burst also ends with the caller's connection
    burst: int | str | None = None  # of `end` and `show`; default of `end`: the caller's newest open burst
    limit: int = 50  # of `list`, and of the batches in `show`
    idempotency_key: str = ""


def decide(params: BurstParams, world: World) -> Decision:
    """Begin, end, show or list bursts (`BurstReply`). Raises `Refusal`."""
    match params.action:
        case "begin":
            return _begin(params, world)
        case "end":
            return _end(params, world)
        case "show":
            return _show(params, world)
        case _:
            return _list(params, world)


def _begin(params: BurstParams, world: World) -> Decision:
    if not 1 <= params.ttl_s <= MAX_TTL_S:
        raise Refusal("schema_invalid", f"ttl_s: must be from 1 to {MAX_TTL_S} seconds.", argument="ttl_s")
    if not _FORM.fullmatch(params.kind):
        message = f"kind: {params.kind!r} must be one word of lower-case letters, such as tool_call, formatter or git."
        raise Refusal("schema_invalid", message, argument="kind")
    if len(params.label) > MAX_LABEL:
        raise Refusal("schema_invalid", f"label: at most {MAX_LABEL} characters.", argument="label")
    beside = open_beside(params.kind, world)
    if len(beside) >= MOST_OPEN:
        message = f"{len(beside)} bursts of yours are open; end one before you begin another."
        raise Refusal("busy", message, "end_burst", open=[burst.number for burst in beside])
    around = own_open(world)
    label = "".join(c for c in params.label if c.isprintable()).strip()
    outside = params.kind in _WRITTEN_BY_OTHERS if params.outside is None else params.outside
    expires_ns = world.now_ns + int(params.ttl_s * _SECOND)
    begun = BurstBegun(label, params.kind, expires_ns, outside, params.bind)
    shown = Burst(
        world.next_seq,
        world.who.key,
        world.who.writer,
        label,
        params.kind,
        world.now_ns,
        expires_ns,
        outside,
        params.bind,
    )
    reply = {
        "ok": True,
        "message": f"Burst {world.next_seq} has begun{_within(around)}.",
        **burst_json(shown, world),
        "within": [burst.number for burst in around],
    }
    others = [b for b in _open(world) if b.outside] if outside else []
    if others:
        reply["warnings"] = [_contested(others)]
    return Decision(reply, [begun])


def _within(around: Sequence[Burst]) -> str:
    return f" within burst {around[-1].number}" if around else ""


def _contested(others: Sequence[Burst]) -> dict[str, Any]:
    numbers = ", ".join(str(burst.number) for burst in others)
    message = f"Burst {numbers} takes what other programs write, too; while both are open it belongs to neither."
    return {"type": "outside_contested", "message": message, "bursts": [burst.number for burst in others]}


def _end(params: BurstParams, world: World) -> Decision:
    if params.burst is None:
        around = own_open(world)
        if not around:
            raise Refusal("not_found", "No burst of yours is open.", "list_bursts")
        burst = around[-1]
    else:
        burst = _burst(params.burst, world.history)
        if burst.owner != world.who.key:
            name, over = world.history.named(burst.writer), to_the_second(burst.expires_ns)
            message = f"Burst {burst.number} was begun by {name}, who alone ends it; its time is over at {over}."
            raise Refusal("permission_denied", message, "wait", burst=burst.number)
    if burst.ended:
        message = f"Burst {burst.number} has ended before ({burst.why})."
        return Decision({"ok": True, "message": message, **burst_json(burst, world), "unchanged": True})
    why = "owner" if burst.open_at(world.now_ns) else "ttl"
    call = AnnouncedCall(burst.number, burst.writer, burst.paths)
    end = CallEnd(burst, call, world.now_ns, announced=world.announced)
    found = verdicts(end, world.history, _as_its_owner_says) if burst.outside else []
    ended = msgspec.structs.replace(
        burst, ended=world.next_seq + len(found), ended_ns=min(world.now_ns, burst.expires_ns), why=why
    )
    message = f"Burst {burst.number} has ended: {_counted(burst)}."
    if why == "ttl":
        message = f"The time of burst {burst.number} was over at {to_the_second(burst.expires_ns)}: {_counted(burst)}."
    return Decision(
        {"ok": True, "message": message, **burst_json(ended, world)}, [*found, BurstEnded(burst.number, why)]
    )


def _as_its_owner_says(call: AnnouncedCall, record: Record) -> Sequence[Claim]:
    """Return a claim to every write: the owner of a burst with `outside` declares to have made each."""
    del call, record
    return (Claim(NAMED),)


def _counted(burst: Burst) -> str:
    said = counted(burst.batches, "batch", "batches")
    return f"{said}, and {burst.unclear} of which nobody knows whether they belong to it" if burst.unclear else said


def _list(params: BurstParams, world: World) -> Decision:
    require_in_bounds("limit", params.limit, MAX_LISTED)
    listed = list(islice(world.history.bursts(), params.limit + 1))
    shown = [burst_json(burst, world) for burst in listed[: params.limit]]
    return Decision(
        {
            "ok": True,
            "message": f"{counted(len(shown), 'burst')}, the newest first.",
            "bursts": shown,
            "more": len(listed) > params.limit,
        }
    )


def _show(params: BurstParams, world: World) -> Decision:
    require_in_bounds("limit", params.limit, MAX_LISTED)
    if params.burst is None:
        raise Refusal("schema_invalid", "burst: is missing; name the burst to show.", argument="burst")
    burst = _burst(params.burst, world.history)
    rows = list(world.history.burst_evidence(burst.number))
    contents = [_batch_json(batch, evidence, world.history) for batch, evidence in rows[: params.limit]]
    message = f"Burst {burst.number}: {_counted(burst)}."
    reply = {"ok": True, "message": message, **burst_json(burst, world), "contents": contents}
    return Decision({**reply, "more": len(rows) - len(contents)})


def _batch_json(batch: int, evidence: str, history: History) -> dict[str, Any]:
    first = history.record(batch)
    paths = list(dict.fromkeys(_paths(batch, history)))
    return {
        "batch": batch,
        "at": rfc3339(first.at_ns) if first is not None else None,
        "writer": history.writer_json(history.author(first)) if first is not None else None,
        "evidence": evidence,
        "belongs": evidence in BELONGING,
        "in_force": history.undone_by(batch) is None,
        "paths": paths[:MOST_PATHS],
        "paths_more": max(len(paths) - MOST_PATHS, 0),
    }


def _paths(batch: int, history: History) -> Iterator[str]:
    for record in history.batch(batch):
        if record.kind in VERSION_KINDS:
            yield from paths_of(record.event())


def burst_json(burst: Burst, world: World) -> dict[str, Any]:
    is_open = burst.open_at(world.now_ns)
    over = not is_open and not burst.ended
    ended_ns = burst.expires_ns if over else burst.ended_ns
    return {
        "burst": burst.number,
        "label": burst.label,
        "kind": burst.form,
        "state": "open" if is_open else "ended",
        "outside": burst.outside,
        "bind": burst.bind,
        **({"paths": list(burst.paths)} if burst.paths else {}),
        "owner": world.writer_json(burst.writer),
        "yours": burst.owner == world.who.key,
        "began_at": rfc3339(burst.began_ns),
        "expires_at": rfc3339(burst.expires_ns),
        "ended_at": None if is_open else rfc3339(ended_ns),
        "why": None if is_open else "ttl" if over else burst.why,
        "first": burst.number,
        "last": burst.ended or burst.last or burst.number,
        "batches": burst.batches,
        "unclear": burst.unclear,
    }


def own_open(world: World) -> list[Burst]:
    """Return the caller's open bursts, oldest first."""
    return [burst for burst in _open(world) if burst.owner == world.who.key]


def open_beside(form: str, world: World) -> list[Burst]:
    """Return the caller's open bursts that count with a burst of this form towards the limit `MOST_OPEN`. Announced
    calls of an agent count apart, because the agent may never end them.
    """
    return [burst for burst in own_open(world) if (burst.form == NATIVE) == (form == NATIVE)]


def _open(world: World) -> list[Burst]:
    return [burst for burst in world.history.open_bursts() if burst.open_at(world.now_ns)]


def _burst(named: int | str, history: History) -> Burst:
    burst = history.burst(named_burst(named, history))
    if burst is None:
        raise Refusal("not_found", f"There is no burst {named}.", "list_bursts", burst=named)
    return burst


BURST_TOOL: Final[Tool[BurstParams]] = Tool(
    "burst", BurstParams, no_paths, decide, writes=True, catch_up=True, settle_s=SETTLE_S, reply=BurstReply
)
