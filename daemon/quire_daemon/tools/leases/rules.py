"""Rules of leases: the claims and writes that a lease refuses, and the replies about them.

| lease of another | claim of intent | of shared | of exclusive | write |
|---|---|---|---|---|
| intent | granted, reported | granted, reported | granted, reported | done with a warning |
| shared | granted, reported | granted, reported | refused | done with a warning |
| exclusive | granted, reported | refused | refused | refused |

A caller (uid, agent and agent session) is never blocked by its own leases. Programs that do not use Quire are not
blocked: their writes are recorded, and the holder is notified.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from quire_daemon.core import Decision, P, Put, Tool, World, Write, names
from quire_daemon.tools.leases.scope import apart, covers, disturbs, free_lines, lines_at, meet
from quire_journal.history import rfc3339, to_the_second
from quire_journal.model import LineRange, Refusal
from quire_journal.text import Text
from quire_journal.views import EXCLUSIVE, INTENT, SHARED, Lease, Version

MOST_TOLD: Final = 5
"""Maximum number of further leases in one reply."""

_PLANNED: Final = ("plan", "batches", "files", "token")
"""Reply fields of an undo plan that remain in the refusal if a lease forbids the undo."""

_SECOND: Final = 1_000_000_000


# ── which leases ─────────────────────────────────────────────────────────────


def others(world: World) -> list[Lease]:
    """Return the leases of other callers that are in force."""
    return [held for held in in_force(world) if held.holder != world.who.key]


def in_force(world: World) -> list[Lease]:
    """Return all leases that are neither expired nor broken, oldest first."""
    return [held for held in world.history.leases() if held.binds(world.now_ns)]


def excludes(held: str, wanted: str) -> bool:
    """True if a lease of strength `held` excludes a claim of strength `wanted`."""
    return INTENT not in (held, wanted) and EXCLUSIVE in (held, wanted)


def share_ground(a: Lease, b: Lease, world: World) -> bool:
    """True if both leases cover a common file; if both are on lines of one file, a common current line."""
    if not meet(a, b):
        return False
    if a.path != b.path or a.lines is None or b.lines is None:
        return True
    head = world.history.file(a.path)
    return not apart(lines_at(a, head, world.history), lines_at(b, head, world.history))


# ── telling ──────────────────────────────────────────────────────────────────


def lease_json(held: Lease, world: World) -> dict[str, Any]:
    """Return a lease or a waiting claim for a reply, with current line numbers."""
    lines = lines_at(held, world.history.file(held.path), world.history)
    return {
        "lease": held.number or None,
        "fencing": held.number or None,
        "kind": held.strength,
        "path": held.path,
        "form": held.form,
        "lines": None if lines is None else span_json(lines),
        "reason": held.reason,
        "holder": holder_json(held, world),
        "yours": held.holder == world.who.key,
        "granted_at": rfc3339(held.granted_ns),
        "age_s": max(0, world.now_ns - held.granted_ns) // _SECOND,
        "expires_at": rfc3339(held.expires_ns) if held.number else None,
        "expires_in_s": max(0, held.expires_ns - world.now_ns) // _SECOND if held.number else None,
        "bind": held.bind,
    }


def holder_json(held: Lease, world: World) -> dict[str, Any]:
    who = world.writer_json(held.writer)
    return {name: who[name] for name in ("id", "agent", "agent_session")}


def anothers_json(held: Lease, world: World) -> dict[str, Any]:
    """Return another caller's lease for a refusal, without the field `yours`."""
    return {name: value for name, value in lease_json(held, world).items() if name != "yours"}


def span_json(lines: LineRange) -> dict[str, int]:
    """Return a half-open range from 0 as `start` and `end` from 1, inclusive."""
    return {"start": lines[0] + 1, "end": lines[1]}


def quoted(reason: str) -> str:
    """Return a reason as `: "reason"` for the end of a message; "" for no reason."""
    return f": {json.dumps(reason, ensure_ascii=False)}" if reason else ""


def breaker(held: Lease, world: World) -> str:
    """Return the name of who broke the lease, with the reason; "someone" if the record is lost."""
    record = world.history.record(held.broken)
    if record is None:
        return "someone"
    return world.history.named(record.writer) + quoted(str(getattr(record.event(), "why", "")))


def _span(lines: LineRange) -> str:
    return f"line {lines[1]}" if lines[1] == lines[0] + 1 else f"lines {lines[0] + 1}-{lines[1]}"


def lease_held(path: str, holding: Sequence[Lease], world: World, count: int | None, verb: str) -> Refusal:
    """Return the refusal to write or claim `path` because of the leases `holding`. `count` is the number of lines of
    the file, or None. The field `free` has the free `lines`, the `kinds` of leases possible there, and the time `after`
    which everything is free.
    """
    first = holding[0]
    head = world.history.file(path)
    taken = [lines_at(held, head, world.history) if held.path == path else None for held in holding]
    free = [] if count is None or None in taken else free_lines(count, [lines for lines in taken if lines is not None])
    rest = f"; {', '.join(map(_span, free[:MOST_TOLD]))} free" if free else ""
    if first.number:
        since, until = to_the_second(first.granted_ns), to_the_second(first.expires_ns)
        told = f"{first.strength} since {since}, until {until} at the latest"
    else:
        told = f"promised to it first: it waits for {first.strength}"
    strong = any(held.strength == EXCLUSIVE for held in holding)
    what = "it" if first.path == path else first.path
    over_ns = max((held.expires_ns for held in holding if held.number), default=None)
    return Refusal(
        "lease_held",
        f"{path} cannot be {verb}: {world.history.named(first.writer)} has {what}, {told}{quoted(first.reason)}{rest}.",
        "wait_or_use_free_lines" if free else "wait",
        **{**anothers_json(first, world), "path": path, "lease_path": first.path},
        free={
            "lines": [span_json(lines) for lines in free],
            "kinds": [INTENT] if strong else [INTENT, SHARED],
            "after": None if over_ns is None else rfc3339(over_ns),
        },
        **({"leases": [lease_json(held, world) for held in holding[:MOST_TOLD]]} if len(holding) > 1 else {}),
    )


# ── writes ───────────────────────────────────────────────────────────────────


def under_leases(tool: Tool[P], params: P, world: World) -> Decision:
    """Return the decision of a call with warnings about leases. Raises `Refusal` if a lease forbids its writes; a dry
    run is judged like the real call.
    """
    decision = tool.decide(params, world)
    if not tool.writes:
        return decision
    dry = not decision.writes
    valid = decision.reply.get("ok") and decision.reply.get("dry_run") and decision.reply.get("valid", True)
    if dry and not valid:
        return decision
    held = [one for one in world.history.leases() if not one.over_at(world.now_ns)]
    if not held:
        return decision
    writes = tool.decide(_in_earnest(params), world).writes if dry else decision.writes
    try:
        told = warnings(writes, held, world)
    except Refusal as refused:
        if not dry:
            raise
        planned: dict[str, Any] = {name: decision.reply[name] for name in _PLANNED if name in decision.reply}
        return Decision({**planned, **refused.reply(), "dry_run": True, "valid": False})
    if not told:
        return decision
    reply = {**decision.reply, "warnings": [*decision.reply.get("warnings", ()), *told]}
    return replace(decision, reply=reply)


def warnings(writes: Sequence[Write], held: Sequence[Lease], world: World) -> list[dict[str, Any]]:
    """Return warnings about leases on files that a call writes. Raises `Refusal` if another caller's exclusive lease
    forbids a write.
    """
    met = [(one, write, path) for write in writes for path in names(write) for one in held if covers(one, path)]
    theirs = [m for m in met if m[0].holder != world.who.key and not m[0].broken and _affects(*m, world)]
    for one, write, path in theirs:
        if one.strength == EXCLUSIVE:
            text = write.over.text if isinstance(write, Put) else None
            holding = [o for o, _, p in theirs if o.strength == EXCLUSIVE and p == path]
            raise lease_held(path, holding, world, None if text is None else len(text), "written")
    mine = [m for m in met if m[0].holder == world.who.key and m[0].broken]
    by_number = {one.number: (one, path) for one, _, path in [*mine, *theirs]}
    return [_warning(one, path, world) for one, path in list(by_number.values())[:MOST_TOLD]]


def _affects(held: Lease, write: Write, path: str, world: World) -> bool:
    """True if the write changes the leased lines. Removing, renaming and creating a file affect all its lines."""
    if not isinstance(write, Put) or write.over.kind != "file" or write.over.text is None:
        return True
    lines = _lines(held, path, write.over.version, world)
    if lines is None:
        return True
    after = write.text if write.text is not None else Text.of(write.data)
    return disturbs(write.over.text, after, lines)


def _lines(held: Lease, path: str, head: Version | None, world: World) -> LineRange | None:
    return lines_at(held, head, world.history) if held.path == path else None


def _warning(held: Lease, path: str, world: World) -> dict[str, Any]:
    if held.broken:
        message = f"Your lease {held.number} on {held.path} was broken by {breaker(held, world)}."
        return {"type": "lease_broken", "message": message, "lease": held.number}
    meant = "announced work on" if held.strength == INTENT else "shares a lease on"
    until = to_the_second(held.expires_ns)
    message = (
        f"{world.history.named(held.writer)} {meant} {path} until {until} (lease {held.number}){quoted(held.reason)}."
    )
    return {"type": "lease", "message": message, "lease": held.number}


def _in_earnest(params: P) -> P:
    dry = dict.fromkeys({"dry_run", "plan"} & {*params.__struct_fields__}, False)
    return msgspec.structs.replace(params, **dry)


def in_the_way(wanted: Lease, held: Iterable[Lease], world: World) -> list[Lease]:
    """Return the leases of other callers in `held` that exclude the claim `wanted`."""
    return [
        one
        for one in held
        if one.holder != wanted.holder and excludes(one.strength, wanted.strength) and share_ground(one, wanted, world)
    ]
