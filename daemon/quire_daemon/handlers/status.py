"""`status`, `who`, `op_status` and `checkpoint`: how the journal stands, and the names of places in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from quire_daemon.handlers.base import Decision, Tool, World
from quire_journal.events import CheckpointDropped, CheckpointNamed, Record, WriterIntroduced
from quire_journal.history import History
from quire_journal.ids import version_token
from quire_journal.points import FORMS, MAX_NAME, is_name, parse_point, rfc3339
from quire_journal.refusals import Refused
from quire_journal.views.checkpoints import Checkpoint

MAX_CALLERS: Final = 20
"""Callers that `status` lists; `who` lists as many as it is asked for."""

MAX_NOTE: Final = 1000
"""Characters in the note of a checkpoint."""


class StatusParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`status` has no arguments."""


class WhoParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `who`."""

    limit: int = 100


MOST_OP_BYTES: Final = 16
"""Bytes of an operation id; the daemon takes no more of one."""


class OpStatusParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `op_status`."""

    op: str  # hex, as in the reply that left it unknown


class CheckpointParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `checkpoint`. `move` gives a name that exists to another point."""

    action: Literal["create", "list", "show", "drop"] = "create"
    name: str = ""
    at: str = ""  # a point; now
    note: str = ""
    move: bool = False
    idempotency_key: str = ""


# ── status ───────────────────────────────────────────────────────────────────


def decide_status(params: StatusParams, world: World) -> Decision:
    """The reply of contract §5, from what the app says in `World.health` and what the journal knows.

    From `health`: `pid`, `epoch`, `workspace`, `state_dir`, `versions` (`daemon`, `journal_format`, `wire`; the client
    adds its own), `coverage` (`{state, reasons, since}`), `capture`, `protection`, `journal_bytes`,
    `journal_versions`. `ok` is true as long as the daemon can answer; a degraded state is told in `coverage`.
    """
    health, history = world.health, world.history
    head = history.head()
    callers = _callers(history)
    coverage = health.get("coverage", {})
    state = coverage.get("state", "full") if isinstance(coverage, dict) else str(coverage)
    last = history.record(head)
    reply: dict[str, Any] = {
        "ok": True,
        "message": f"Serving {health.get('workspace', '')}, {state}, {head} record{'' if head == 1 else 's'}.",
        "pid": health.get("pid"),
        "epoch": health.get("epoch"),
        "seq": head,
        "at": rfc3339(last.at_ns) if last is not None else None,
        "workspace": health.get("workspace"),
        "state_dir": health.get("state_dir"),
        "versions": health.get("versions", {}),
        "writers": [_caller_json(caller, history) for caller in callers[:MAX_CALLERS]],
        "writers_total": len(callers),
        "coverage": coverage,
        "capture": health.get("capture"),
        "protection": health.get("protection", {}),
        "journal": {"bytes": health.get("journal_bytes"), "versions": health.get("journal_versions"), "records": head},
    }
    # What else the app tells stands beside it, so that a new figure needs no change here.
    shaped = {*reply, "journal_bytes", "journal_versions"}
    return Decision({**reply, **{key: value for key, value in health.items() if key not in shaped}})


# ── who ──────────────────────────────────────────────────────────────────────


def decide_who(params: WhoParams, world: World) -> Decision:
    """The reply: `writers`, one entry for each caller (uid, agent, agent session), the newest first.

    `{id, type, agent, …, pid}` of its newest writer, `you`, `turns` (how many writers it was), and `last_change`:
    `{batch, at}` of its newest file change.
    """
    if params.limit < 1:
        raise Refused("schema_invalid", "limit: must be at least 1.", argument="limit")
    callers = _callers(world.history)
    listed = [_caller_json(caller, world.history) for caller in callers[: params.limit]]
    for entry, (newest, _) in zip(listed, callers, strict=False):
        entry["you"] = world.history.caller_of(newest.id) == world.who.key
    many = len(callers)
    return Decision(
        {
            "ok": True,
            "message": f"{many} caller{'' if many == 1 else 's'}.",
            "writers": listed,
            "total": many,
        }
    )


def _callers(history: History) -> list[tuple[WriterIntroduced, int]]:
    """(newest writer, how many writers) of each caller, the newest first."""
    newest: dict[tuple[int, str, str], tuple[WriterIntroduced, int]] = {}
    for writer in history.writers():
        caller = (writer.uid, writer.agent, writer.agent_session)
        newest[caller] = (writer, newest[caller][1] + 1 if caller in newest else 1)
    return sorted(newest.values(), key=lambda found: -found[0].id)


def _caller_json(caller: tuple[WriterIntroduced, int], history: History) -> dict[str, Any]:
    newest, turns = caller
    entry = {**history.writer_json(newest.id), "turns": turns, "last_change": None}
    for batch in history.last_batches(history.caller_of(newest.id)):
        record = history.record(batch)
        entry["last_change"] = {"batch": batch, "at": rfc3339(record.at_ns) if record is not None else None}
    return entry


# ── op_status ────────────────────────────────────────────────────────────────


def decide_op_status(params: OpStatusParams, world: World) -> Decision:
    """The reply: `outcome` and, for an operation that the journal knows, `batch` and `superseded_by`.

    `applied`; `superseded`: applied, and a file of it has changed since; `not_applied`; `unknown`: being written at
    this moment, or not known to be on disk, ask again. The journal notes an operation before it performs it, so one
    that it does not know (`known: false`) was not applied; a client asks only when its request cannot come any more.
    """
    try:
        op = bytes.fromhex(params.op)
    except ValueError:
        op = b""
    if not 0 < len(op) <= MOST_OP_BYTES:
        raise Refused("schema_invalid", "op: must be the operation id in hexadecimal digits.", argument="op")
    batch = world.history.op(op)
    if batch is None:
        return Decision(_op_reply(params.op, "not_applied", known=False))
    state = world.history.batch_state(batch)
    if state != "applied":
        return Decision(_op_reply(params.op, "not_applied" if state == "abandoned" else "unknown", batch=batch))
    later = list(_superseding(world.history, batch))
    return Decision(
        _op_reply(params.op, "superseded" if later else "applied", batch=batch, superseded_by=later or None)
    )


def _op_reply(op: str, outcome: str, known: bool = True, **more: Any) -> dict[str, Any]:
    said = {
        "applied": "The operation was applied.",
        "superseded": "The operation was applied, and its files have changed since.",
        "not_applied": "The operation was not applied.",
        "unknown": "The operation is not settled; ask again.",
    }[outcome]
    return {"ok": True, "message": said, "op": op, "outcome": outcome, "known": known, **more}


def _superseding(history: History, batch: int) -> Iterator[dict[str, Any]]:
    """The newer heads of the files of a batch."""
    heads = {}
    for record in history.batch(batch):
        for path in _paths(record):
            head = history.file(path)
            if head is not None and head.batch != batch and history.version(path, record.seq) is not None:
                heads[path] = head
    for path, head in heads.items():
        yield {"path": path, "version": version_token(head.seq), "writer": history.writer_json(head.writer, head.type)}


def _paths(record: Record) -> set[str]:
    event = record.event()
    return {path for name in ("path", "to") if (path := getattr(event, name, None)) is not None}


# ── checkpoint ───────────────────────────────────────────────────────────────


def decide_checkpoint(params: CheckpointParams, world: World) -> Decision:
    """Name a point, list the names, show one, or give one up. A checkpoint costs one record, whatever the tree.

    A checkpoint in replies is `{name, seq, at, named_at, note, writer}`: `seq` is the point, `at` its time.
    """
    if params.action == "list":
        listed = [_checkpoint_json(named, world.history) for named in world.history.checkpoints()]
        many = f"{len(listed)} checkpoint{'' if len(listed) == 1 else 's'}."
        return Decision({"ok": True, "message": many, "checkpoints": listed})
    if not is_name(params.name):
        raise Refused(
            "schema_invalid",
            f"name: {params.name!r} cannot be a checkpoint's name: up to {MAX_NAME} printable characters that are not "
            "a version, seq:N or a time.",
            argument="name",
        )
    if params.action == "create":
        return _create(params, world)
    named = _named(params.name, world.history)
    shown = _checkpoint_json(named, world.history)
    if params.action == "show":
        return Decision({"ok": True, "message": f"Checkpoint {named.name!r} is at seq:{named.cursor}.", **shown})
    message = f"Checkpoint {named.name!r} is given up; the history it named stays."
    return Decision({"ok": True, "message": message, **shown}, [CheckpointDropped(named.name)])


def _create(params: CheckpointParams, world: World) -> Decision:
    history = world.history
    if len(params.note) > MAX_NOTE:
        raise Refused("schema_invalid", f"note: at most {MAX_NOTE} characters.", argument="note")
    existing = history.checkpoint(params.name)
    if existing is not None and not params.move:
        raise Refused(
            "already_exists",
            f"There is a checkpoint {params.name!r} at seq:{existing}; `move: true` gives the name to another point.",
            "choose_another_name",
            name=params.name,
            seq=existing,
        )
    # Records that are noted but not committed yet belong to the state of now.
    cursor = int(parse_point(params.at, history)) if params.at else world.next_seq - 1
    at = history.record(cursor)
    note = "".join(c for c in params.note if c.isprintable() or c == "\n")
    return Decision(
        {
            "ok": True,
            "message": f"Checkpoint {params.name!r} is at seq:{cursor}.",
            "name": params.name,
            "seq": cursor,
            "at": rfc3339(at.at_ns if at is not None else world.now_ns),
            "named_at": rfc3339(world.now_ns),
            "note": note,
            "writer": history.writer_json(world.who.writer),
        },
        [CheckpointNamed(params.name, cursor, note)],
    )


def _named(name: str, history: History) -> Checkpoint:
    found = next((named for named in history.checkpoints() if named.name == name), None)
    if found is None:
        raise Refused(
            "not_found", f"There is no checkpoint {name!r}; a point is {FORMS}.", "checkpoint list", name=name
        )
    return found


def _checkpoint_json(named: Checkpoint, history: History) -> dict[str, Any]:
    at = history.record(named.cursor)
    return {
        "name": named.name,
        "seq": named.cursor,
        "at": rfc3339(at.at_ns) if at is not None else None,
        "named_at": rfc3339(named.at_ns),
        "note": named.note,
        "writer": history.writer_json(named.writer),
    }


def _no_paths(params: StatusParams | WhoParams | OpStatusParams | CheckpointParams) -> Sequence[str]:
    return ()


STATUS_TOOL: Final = Tool("status", StatusParams, _no_paths, decide_status, needs_text=False, needs_health=True)
WHO_TOOL: Final = Tool("who", WhoParams, _no_paths, decide_who, needs_text=False)
OP_STATUS_TOOL: Final = Tool("op_status", OpStatusParams, _no_paths, decide_op_status, needs_text=False)
CHECKPOINT_TOOL: Final = Tool(
    "checkpoint", CheckpointParams, _no_paths, decide_checkpoint, writes=True, needs_text=False, catch_up=True
)
