"""`status`, `who` and `op_status`: state of the journal, its callers, and the outcome of an operation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

import msgspec

from quire_daemon.core import Decision, Present, Tool, World, no_paths
from quire_daemon.core.replies import OpStatusReply, StatusReply, WhoReply
from quire_daemon.tools import burst_json
from quire_daemon.tools.admin.work import collisions, work_json, written_since
from quire_daemon.tools.history import is_own
from quire_daemon.tools.leases import in_force, lease_json
from quire_daemon.tools.undo import but_for, taken_back
from quire_journal.history import History, rfc3339, time_of
from quire_journal.model import MOST_OP_BYTES, Refusal, counted, paths_of, version_token, writer_name

MAX_CALLERS: Final = 20


class StatusParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`status` has no arguments."""


class WhoParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    limit: int = 100
    minutes: float = 15.0  # a caller with a connection or activity within this time is present
    present: bool = False  # only present callers
    hours: float = 0  # absent callers only if seen within this time; 0: all


MOST_FILES: Final = 5
"""Maximum number of files that `who` lists per caller."""

MOST_MINUTES: Final = 60 * 24 * 366

_SECOND: Final = 1_000_000_000


class OpStatusParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    op: str  # operation id in hex, from the reply with an unknown outcome


# ── status ───────────────────────────────────────────────────────────────────


def decide_status(params: StatusParams, world: World) -> Decision:
    """Return the state of the daemon from `World.health` and the journal (`StatusReply`). `ok` is True whenever the
    daemon can answer; `coverage` reports a degraded state.
    """
    health, history = world.health, world.history
    head = history.head()
    many = history.count_callers()
    coverage = health.get("coverage", {})
    state = coverage.get("state", "full") if isinstance(coverage, dict) else str(coverage)
    reply: dict[str, Any] = {
        "ok": True,
        "message": f"Serving {health.get('workspace', '')}, {state}, {counted(head, 'record')}.",
        "pid": health.get("pid"),
        "epoch": health.get("epoch"),
        "seq": head,
        "at": time_of(head, history),
        "workspace": health.get("workspace"),
        "state_dir": health.get("state_dir"),
        "versions": health.get("versions", {}),
        "writers": [_caller_json(key, history) for key in islice(history.callers(), MAX_CALLERS)],
        "writers_total": many,
        "coverage": coverage,
        "capture": health.get("capture"),
        "protection": health.get("protection", {}),
        "journal": {
            "bytes": health.get("journal_bytes"),
            "versions": health.get("journal_versions"),
            "records": head,
            "uncaptured": history.uncaptured_count(),
        },
    }
    # Further health values are copied to the reply, so that a new value needs no change here.
    shaped = {*reply, "journal_bytes", "journal_versions"}
    return Decision({**reply, **{key: value for key, value in health.items() if key not in shaped}})


# ── who ──────────────────────────────────────────────────────────────────────


def decide_who(params: WhoParams, world: World) -> Decision:
    """Return one entry per caller (uid, agent, agent session), present ones first (`WhoReply`). Connections, processes
    and files that a caller named are only known since the daemon's start.
    """
    if params.limit < 1:
        raise Refusal("schema_invalid", "limit: must be at least 1.", argument="limit")
    if not 0 <= params.hours <= MOST_MINUTES / 60:
        message = f"hours: must be at least 0, and at most {MOST_MINUTES // 60}."
        raise Refusal("schema_invalid", message, argument="hours")
    if not 0 < params.minutes <= MOST_MINUTES:
        message = f"minutes: must be more than 0, and at most {MOST_MINUTES}."
        raise Refusal("schema_invalid", message, argument="minutes")
    within_ns = int(params.minutes * 60 * _SECOND)
    here: list[tuple[bytes, int]] = []
    others: list[tuple[bytes, int]] = []
    for key in world.history.callers():
        present, seen_ns = _present_at(key, world, within_ns)
        (here if present else others).append((key, seen_ns))
    since_ns = 0 if not params.hours else world.now_ns - int(params.hours * 3600 * _SECOND)
    lately = sorted((one for one in others if one[1] >= since_ns), key=lambda one: -one[1])
    listed = [*here, *(() if params.present else lately)][: params.limit]
    held, bursts = _by_caller(world)
    began_ns = world.now_ns - within_ns
    works = {key: written_since(key, began_ns, world) for key, _ in here}
    writers = [
        {
            **_who_json(key, seen_ns, n < len(here), world),
            "on": {**_on(key, held, bursts, world), "writing": work_json(works.get(key, {}))},
        }
        for n, (key, seen_ns) in enumerate(listed)
    ]
    many = world.history.count_callers()
    return Decision(
        {
            "ok": True,
            "message": f"{counted(many, 'caller')}, {len(here)} present.",
            "writers": writers,
            "collisions": collisions(works, began_ns, world),
            "present": len(here),
            "total": many,
        }
    )


def _who_json(key: bytes, seen_ns: int, present: bool, world: World) -> dict[str, Any]:
    there = world.present.get(key, Present(0, 0))
    return _caller_json(key, world.history) | {
        "you": is_own(world.history.caller(key).ids[0], world.who, world.history),
        "present": present,
        "connections": there.connections,
        "alive": there.alive,
        "hooks": there.hooks,
        "last_seen": rfc3339(seen_ns) if seen_ns else None,
    }


_ByCaller = Mapping[bytes, list[dict[str, Any]]]


def _by_caller(world: World) -> tuple[_ByCaller, _ByCaller]:
    held: dict[bytes, list[dict[str, Any]]] = {}
    bursts: dict[bytes, list[dict[str, Any]]] = {}
    for lease in in_force(world):
        held.setdefault(lease.holder, []).append(lease_json(lease, world))
    for burst in world.history.open_bursts():
        if burst.open_at(world.now_ns):
            bursts.setdefault(burst.owner, []).append(burst_json(burst, world))
    return held, bursts


def _on(key: bytes, held: _ByCaller, bursts: _ByCaller, world: World) -> dict[str, Any]:
    there = world.present.get(key, Present(0, 0))
    files = _files_json(there, _last_batch(key, world.history), world.history)
    return {"files": files, "leases": held.get(key, []), "bursts": bursts.get(key, [])}


def _files_json(there: Present, batch: int, history: History) -> list[dict[str, Any]]:
    at = dict(there.files)
    for record in history.batch(batch)[:MOST_FILES] if batch else ():
        for path in paths_of(record.event()):
            at[path] = max(at.get(path, 0), record.at_ns)
    newest = sorted(at.items(), key=lambda found: -found[1])[:MOST_FILES]
    return [{"path": path, "at": rfc3339(at_ns)} for path, at_ns in newest]


def _present_at(key: bytes, world: World, within_ns: int) -> tuple[bool, int]:
    there, batch = world.present.get(key, Present(0, 0)), _last_batch(key, world.history)
    record = world.history.record(batch)
    seen_ns = max(there.called_ns, record.at_ns if record is not None else 0)
    lately = seen_ns > 0 and world.now_ns - seen_ns <= within_ns
    here = key in world.present and not there.gone and (there.connections > 0 or lately)
    return here and not _is_setup(key, world.history), seen_ns


def _is_setup(key: bytes, history: History) -> bool:
    """True for the caller `quire setup`, which never counts as present."""
    return history.is_setup(history.caller(key).ids[0])


def _last_batch(key: bytes, history: History) -> int:
    return next(iter(history.last_batches(key)), 0)


def _caller_json(key: bytes, history: History) -> dict[str, Any]:
    caller = history.caller(key)
    ids = [writer_name(number) for number in caller.ids]
    entry = {**history.writer_json(caller.ids[0]), "turns": caller.writers, "ids": ids, "last_change": None}
    if batch := _last_batch(key, history):
        entry["last_change"] = {"batch": batch, "at": time_of(batch, history)}
    return entry


# ── op_status ────────────────────────────────────────────────────────────────


def decide_op_status(params: OpStatusParams, world: World) -> Decision:
    """Return the outcome of an operation (`OpStatusReply`). Writes complete on disk count as applied even if the log
    has not recorded that. An operation is logged before its writes, so an unknown operation was not applied, unless the
    journal has lost records.
    """
    try:
        op = bytes.fromhex(params.op)
    except ValueError:
        op = b""
    if not 0 < len(op) <= MOST_OP_BYTES:
        raise Refusal("schema_invalid", "op: must be the operation id in hexadecimal digits.", argument="op")
    batch = world.history.op(op)
    if batch is None:
        return Decision(_op_reply(params.op, "unknown" if world.unsure else "not_applied", known=False))
    state = world.history.batch_state(batch)
    landed = state == "unsettled" and batch <= world.landed and batch not in world.being_written
    if state != "applied" and not landed:
        return Decision(_op_reply(params.op, "not_applied" if state == "abandoned" else "unknown", batch=batch))
    later = list(_superseding(world.history, batch))
    reply = _op_reply(params.op, "superseded" if later else "applied", batch=batch, superseded_by=later or None)
    if missing := taken_back(batch, world.history):
        told = but_for(missing)
        reply |= told | {"message": reply["message"] + told["message"]}
    return Decision(reply)


def _op_reply(op: str, outcome: str, known: bool = True, **more: Any) -> dict[str, Any]:
    said = {
        "applied": "The operation was applied.",
        "superseded": "The operation was applied, and its files have changed since.",
        "not_applied": "The operation was not applied.",
        "unknown": "The operation is not settled; ask again.",
    }[outcome]
    return {"ok": True, "message": said, "op": op, "outcome": outcome, "known": known, **more}


def _superseding(history: History, batch: int) -> Iterator[dict[str, Any]]:
    heads = {}
    for record in history.batch(batch):
        for path in paths_of(record.event()):
            head = history.file(path)
            if head is not None and head.batch != batch and history.version(path, record.seq) is not None:
                heads[path] = head
    for path, head in heads.items():
        yield {"path": path, "version": version_token(head.seq), "writer": history.writer_json(head.writer, head.type)}


STATUS_TOOL: Final[Tool[StatusParams]] = Tool(
    "status", StatusParams, no_paths, decide_status, needs_health=True, reply=StatusReply
)
WHO_TOOL: Final[Tool[WhoParams]] = Tool(
    "who", WhoParams, no_paths, decide_who, needs_presence=True, all_noted=True, long=True, reply=WhoReply
)
OP_STATUS_TOOL: Final[Tool[OpStatusParams]] = Tool(
    "op_status", OpStatusParams, no_paths, decide_op_status, reply=OpStatusReply
)
