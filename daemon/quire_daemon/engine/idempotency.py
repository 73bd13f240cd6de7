"""Answers to repeated calls, recognised by operation id (logged with the records) or idempotency key (logged with the
whole reply).
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Final

import msgspec

from quire_daemon.core import Call
from quire_daemon.tools.undo import but_for, taken_back
from quire_journal.history import History
from quire_journal.model import FileDeleted, Refusal, ReplyKept, counted, path_after, version_token

KEPT_NS: Final = 24 * 3600 * 10**9
"""Nanoseconds for which a logged reply answers its idempotency key."""

MOST_FILES: Final = 20


def to_keep(call: Call, reply: dict[str, Any]) -> ReplyKept:
    return ReplyKept(call.key, call.arguments, msgspec.msgpack.encode(reply))


def answered_before(call: Call, history: History, now_ns: int, in_doubt: Container[int] = ()) -> dict[str, Any] | None:
    """Return the answer to a call that was performed before; None for a new call. Raises `Refusal` if the operation id
    is another caller's, the key was used with other arguments, or the first call's batch is one of `in_doubt` (outcome
    unknown).
    """
    batch = history.op(call.op) if call.op else None
    state = history.batch_state(batch) if batch is not None else "abandoned"
    # An abandoned batch may be tried again: by the daemon after a lost race, or by the caller.
    if batch is not None and state != "abandoned":
        made = history.record(batch)
        if made is None or history.caller_of(made.writer) != call.who.key:
            message = f"The operation id {call.op.hex()} is that of batch {batch}, of another caller; nothing was done."
            raise Refusal("schema_invalid", message)
        _require_known(batch, in_doubt)
        return _made_before(batch, history)
    kept = history.kept_reply(call.who.key, call.key) if call.key else None
    if kept is None or now_ns - kept[2] > KEPT_NS:
        return None
    if kept[0] != call.arguments:
        raise Refusal(
            "schema_invalid",
            f"idempotency_key {call.key!r} was used with other arguments; use a new key.",
            "new_key",
        )
    _require_known(kept[3], in_doubt)
    if taken_back(kept[3], history):
        return _made_before(kept[3], history)
    reply: dict[str, Any] = msgspec.msgpack.decode(kept[1])
    return reply


def _require_known(batch: int, in_doubt: Container[int]) -> None:
    if batch in in_doubt:
        message = f"What became of this operation (batch {batch}) is not known yet; ask `op_status`, or call again."
        raise Refusal("busy", message, "retry", outcome="unknown", retry_after_ms=1000)


def _made_before(batch: int, history: History) -> dict[str, Any]:
    writes = history.batch_writes(batch)
    files = [_made(seq, history) for seq in writes[:MOST_FILES]]
    more = f" and {counted(len(writes) - 1, 'more file')}" if len(writes) > 1 else ""
    what = f" ({files[0]['path']}{more})" if files else ""
    message = f"This operation was made before, as batch {batch}{what}; it is not applied twice."
    made = {"files": files} if more else files[0] if files else {}
    reply = {"ok": True, "message": message, **made, "outcome": "applied", "batch": batch, "repeated": True}
    if missing := taken_back(batch, history):
        told = but_for(missing)
        reply |= told | {"message": message + told["message"]}
    return reply


def _made(seq: int, history: History) -> dict[str, Any]:
    event = history.event(seq)
    blob: bytes = getattr(event, "blob", b"")
    version = None if isinstance(event, FileDeleted) else version_token(seq)
    return {"path": path_after(event), "version": version, "sha256": blob.hex() or None}
