"""`checkpoint`: names for points in the log, one record each.

A checkpoint cannot restore bytes that the journal never held, so it records the number of uncaptured files and whether
the watcher may have missed writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, Literal

import msgspec

from quire_daemon.core import Decision, Tool, World, no_paths, require_in_bounds
from quire_daemon.core.replies import CheckpointReply
from quire_daemon.tools.history import DiffParams, decide_diff
from quire_journal.history import (
    MAX_NAME,
    History,
    gaps_at,
    gaps_json,
    is_name,
    no_checkpoint,
    parse_point,
    require_not_lost,
    rfc3339,
    time_of,
    warning,
)
from quire_journal.model import CheckpointDropped, CheckpointNamed, Refusal, counted
from quire_journal.views import Checkpoint

MAX_NOTE: Final = 1000
"""Maximum number of characters of a checkpoint's note."""

MOST_LISTED: Final = 20
"""Default number of uncaptured files in a reply."""

MAX_LISTED: Final = 1000
"""Maximum number of uncaptured files that a reply lists."""

NEVER_CAPTURED: Final = "what is ignored (.gitignore, .quireignore, settings) and what lies in .git"
"""Description of the content that no checkpoint includes."""


class CheckpointParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `checkpoint`. `move` gives an existing name to another point."""

    action: Literal["create", "list", "show", "diff", "drop"] = "create"
    name: str = ""
    at: str = ""  # of `create`: a point; default: now
    note: str = ""
    move: bool = False
    to: str = ""  # of `diff`: another point; default: now
    path: str = ""  # of `diff`: only these files
    paths: list[str] = []
    limit: int = MOST_LISTED  # of `show`: most uncaptured files listed
    idempotency_key: str = ""


def decide(params: CheckpointParams, world: World) -> Decision:
    """Create, list, show, compare or drop checkpoints (`CheckpointReply`)."""
    if params.action == "list":
        listed = [_checkpoint_json(named, world.history) for named in world.history.checkpoints()]
        many = f"{counted(len(listed), 'checkpoint')}."
        return Decision({"ok": True, "message": many, "checkpoints": listed})
    if params.action == "create" and not is_name(params.name):
        raise Refusal(
            "schema_invalid",
            f"name: {params.name!r} cannot be a checkpoint's name: up to {MAX_NAME} printable characters that are not "
            "a version, seq:N, a time (`2d`, too) or a cursor, without `@` and `..`, not beginning with `-`.",
            "choose_another_name",
            argument="name",
        )
    if params.action == "create":
        return _create(params, world)
    named = _named(params.name, world.history)
    if params.action == "show":
        return _show(named, params, world)
    if params.action == "diff":
        return _diff(named, params, world)
    message = f"Checkpoint {named.name!r} is given up; the history it named stays."
    return Decision(
        {"ok": True, "message": message, **_checkpoint_json(named, world.history)}, [CheckpointDropped(named.name)]
    )


def _create(params: CheckpointParams, world: World) -> Decision:
    history = world.history
    if len(params.note) > MAX_NOTE:
        raise Refusal("schema_invalid", f"note: at most {MAX_NOTE} characters.", argument="note")
    existing = history.checkpoint(params.name)
    if existing is not None and not params.move:
        raise Refusal(
            "already_exists",
            f"There is a checkpoint {params.name!r} at seq:{existing}; `move: true` gives the name to another point.",
            "choose_another_name",
            name=params.name,
            seq=existing,
        )
    # Records that are not yet committed belong to the current state.
    cursor = int(parse_point(params.at, history, "at")) if params.at else world.next_seq - 1
    if params.at:
        require_not_lost(history, cursor, params.at)
    at = history.record(cursor)
    note = "".join(c for c in params.note if c.isprintable() or c == "\n")
    count, blind = history.uncaptured_count(), _blind(world)
    lost = _files(history.uncaptured() if count else iter(()), count, MOST_LISTED)
    message = f"Checkpoint {params.name!r} is at seq:{cursor}."
    if count:
        message += f" {counted(count, 'file is', 'files are')} not captured and cannot be brought back."
    if blind:
        message += f" The journal may not know everything: {blind}."
    return Decision(
        {
            "ok": True,
            "message": message,
            "name": params.name,
            "seq": cursor,
            "at": rfc3339(at.at_ns if at is not None else world.now_ns),
            "named_at": rfc3339(world.now_ns),
            "note": note,
            "writer": history.writer_json(world.who.writer),
            "not_captured": {"count": count, "never": NEVER_CAPTURED, "blind": blind or None, **lost},
            **_gaps(cursor, history),
            **_gaps_warned(cursor, history),
        },
        [CheckpointNamed(params.name, cursor, note, count, blind)],
    )


def _blind(world: World) -> str:
    coverage = world.health.get("coverage", {})
    if not isinstance(coverage, dict) or coverage.get("state", "full") == "full":
        return ""
    return "; ".join(str(reason) for reason in coverage.get("reasons", ())) or "degraded"


def _gaps(cursor: int, history: History) -> dict[str, Any]:
    gaps = gaps_at(history, cursor)
    return {"gaps": gaps_json(gaps)} if gaps else {}


def _gaps_warned(cursor: int, history: History) -> dict[str, Any]:
    gaps = gaps_at(history, cursor)
    so = "of files that they may have changed nobody knows what they were at that point"
    return {"warnings": [warning(gaps, so)]} if gaps else {}


def blind_then(point: str, history: History) -> dict[str, Any] | None:
    """Return the warning that the watcher may have missed writes before checkpoint `point` was named; None without such
    doubts, or if `point` names no checkpoint.
    """
    named = next((one for one in history.checkpoints() if one.name == point), None) if point else None
    if named is None or not named.blind:
        return None
    message = f"When checkpoint {named.name!r} was named the journal may not have known everything: {named.blind}."
    return {"type": "coverage", "message": message}


def _files(lost: Iterator[tuple[str, str]], count: int, limit: int) -> dict[str, Any]:
    listed = [{"path": path, "why": why} for path, why in islice(lost, limit)]
    return {"files": listed, "more": max(count - len(listed), 0)}


def _show(named: Checkpoint, params: CheckpointParams, world: World) -> Decision:
    require_in_bounds("limit", params.limit, MAX_LISTED)
    shown = _checkpoint_json(named, world.history)
    lost = list(world.history.uncaptured(at=named.cursor))
    shown["not_captured"] |= {"count": len(lost), **_files(iter(lost), len(lost), params.limit)}
    many = f"{counted(len(lost), 'file was', 'files were')} not captured then"
    message = f"Checkpoint {named.name!r} is at seq:{named.cursor}; {many}."
    return Decision({"ok": True, "message": message, **shown, **_gaps_warned(named.cursor, world.history)})


def _diff(named: Checkpoint, params: CheckpointParams, world: World) -> Decision:
    asked = DiffParams(from_=named.name, to=params.to, path=params.path, paths=params.paths)
    reply = decide_diff(asked, world).reply
    return Decision({**reply, "name": named.name, "not_captured": _not_captured(named)})


def _named(name: str, history: History) -> Checkpoint:
    found = next((named for named in history.checkpoints() if named.name == name), None)
    if found is None:
        raise Refusal("not_found", no_checkpoint(name, history), "list_checkpoints", name=name)
    return found


def _checkpoint_json(named: Checkpoint, history: History) -> dict[str, Any]:
    return {
        "name": named.name,
        "seq": named.cursor,
        "at": time_of(named.cursor, history),
        "named_at": rfc3339(named.at_ns),
        "note": named.note,
        "writer": history.writer_json(named.writer),
        "not_captured": _not_captured(named),
        **_gaps(named.cursor, history),
    }


def _not_captured(named: Checkpoint) -> dict[str, Any]:
    return {"count": named.uncaptured, "never": NEVER_CAPTURED, "blind": named.blind or None}


CHECKPOINT_TOOL: Final[Tool[CheckpointParams]] = Tool(
    "checkpoint",
    CheckpointParams,
    no_paths,
    decide,
    writes=True,
    catch_up=True,
    of_tree=True,
    needs_coverage=True,
    asks=("path", "paths"),
    reply=CheckpointReply,
)
