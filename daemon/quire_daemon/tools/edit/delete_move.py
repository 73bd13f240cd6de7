"""`delete_file` and `move_file`: a whole file is removed or renamed. No other file is overwritten."""

from __future__ import annotations

from typing import Any, Final

from quire_daemon.core import Decision, FileNow, Move, Remove, Tool, World, WriteArguments
from quire_daemon.core.replies import WriteReply
from quire_daemon.tools import (
    WHOLE,
    captured,
    news,
    require_captured,
    require_file,
    require_free,
    require_own_name,
)
from quire_daemon.tools.edit.basis import Basis, find_basis, find_basis_of_whole, never_read, on_stale
from quire_daemon.tools.edit.engine import WRITER_TYPE, answering
from quire_daemon.tools.edit.rebase import RebaseConflict
from quire_daemon.tools.edit.stale_replies import Stale, refuse_stale
from quire_journal.model import Event, FileDeleted, FileMoved, ReadServed, version_token
from quire_journal.text import Splice, Text, changed_ranges

STALE: Final = "stale_base"


class DeleteParams(WriteArguments, frozen=True, kw_only=True):
    """Arguments of `delete_file`."""


class MoveParams(WriteArguments, frozen=True, kw_only=True):
    to: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.to:
            raise ValueError("`to` is empty; it must be the path that the file gets")


def decide_delete(params: DeleteParams, world: World) -> Decision:
    """Remove a file. Raises `Refusal`, for example if another writer has changed it."""
    return answering(params, world, lambda now: deletion(params, now, world))


def deletion(params: WriteArguments, now: FileNow, world: World, meant: WriteArguments | None = None) -> Decision:
    """Return the decision that removes the file `now`, or a refusal if another writer changed it since the caller's
    base. `meant` has the arguments as the caller gave them, if `params` were completed. Raises `Refusal`.
    """
    require_file(now, world)
    require_own_name(now)
    lost = require_captured(now, params.allow_uncaptured)
    basis = _basis(params, now, world)
    if basis is not None and basis.behind and basis.others:
        return _refuse(params, basis, now, world, "delete_file")
    text = _text(now, world)
    seq = world.next_seq
    reply = _common_fields(params, now, world, text, lines_after=0, gone=True) | {
        "message": f"1 operation {_applied(params)}: {now.path} {'would be' if params.dry_run else 'is'} removed.",
        "deleted": True,
        "warnings": [*lost, *never_read(meant or params, now, world, "the file goes as it is now")],
    }
    if params.dry_run:
        return Decision(reply)
    base = now.version.seq if now.version is not None else 0
    event = FileDeleted(now.path, base, WRITER_TYPE, now.inode)
    return Decision(reply, [event], [Remove(seq, now.path, now)])


def decide_move(params: MoveParams, world: World) -> Decision:
    """Rename a file. Raises `Refusal`, for example if the new name is taken."""
    return answering(params, world, lambda now: movement(params, now, world.files[params.to], world))


def movement(params: WriteArguments, now: FileNow, there: FileNow, world: World) -> Decision:
    """Return the decision that renames the file `now` to `there`. Raises `Refusal` if that name is taken; uncaptured
    bytes may be renamed too.
    """
    require_file(now, world)
    require_own_name(now)
    require_free(there, now.path)
    basis = _basis(params, now, world)
    if basis is not None and basis.behind and basis.others:
        return _refuse(params, basis, now, world, "move_file")
    text = _text(now, world)
    seq = world.next_seq
    lines = None if text is None else len(text)
    reply = _common_fields(params, now, world, text, lines_after=lines, gone=False) | {
        "message": f"1 operation {_applied(params)}: {now.path} {'would be' if params.dry_run else 'is'} {there.path}.",
        "path": there.path,
        "moved_from": now.path,
        "warnings": [],
    }
    if params.dry_run:
        return Decision(reply)
    head = captured(now)
    size = now.size if text is None else len(text.data)
    base = now.version.seq if now.version is not None else 0
    blob = head.blob if head is not None else b""
    events: list[Event] = [FileMoved(now.path, there.path, blob, size, now.mode, base, WRITER_TYPE, now.inode)]
    if basis is not None and world.history.shown(world.who.key, now.path) is not None:  # even if no line was shown
        events.append(ReadServed(there.path, seq, basis.still_shown, False, basis.still_moved))
    return Decision(reply, events, [Move(seq, now.path, there.path, now)])


def _refuse(params: WriteArguments, basis: Basis, now: FileNow, world: World, tool: str) -> Decision:
    conflict = None
    if on_stale(params, world) == "rebase" and basis.steps and basis.steps[0]:
        theirs = basis.steps[0][0]
        kept = basis.text.lines[theirs.start : theirs.stop] if tool == "move_file" else ()
        conflict = RebaseConflict(Splice(theirs.start, theirs.stop, tuple(kept)), theirs, index=0, base=basis.text)
    return refuse_stale(Stale(tool, STALE, basis, now, None, conflict), world, params.dry_run)


def _text(now: FileNow, world: World) -> Text | None:
    if now.text is not None or captured(now) is None:
        return now.text
    assert now.version is not None
    return world.history.text_held(now.version.blob)


def _basis(params: WriteArguments, now: FileNow, world: World) -> Basis | None:
    text = _text(now, world)
    if text is None:
        if params.stated_base:
            find_basis(params, now, Text.of(b""), world, STALE)
        return None
    return find_basis_of_whole(params, now, text, world, STALE)


def _applied(params: WriteArguments) -> str:
    return "would be applied" if params.dry_run else "applied"


def _common_fields(
    params: WriteArguments, now: FileNow, world: World, text: Text | None, lines_after: int | None, gone: bool
) -> dict[str, Any]:
    head = captured(now)
    before = None if text is None else len(text)
    seq = (now.version.seq if now.version else 0) if params.dry_run else world.next_seq
    kept = 0 if gone or before is None else before
    removed = (Splice(0, before),) if gone and before else ()
    reply: dict[str, Any] = {
        "ok": True,
        "path": now.path,
        "version": version_token(seq),
        "sha256": None if gone or head is None else head.blob.hex(),
        "sizeBytes": 0 if gone else now.size,
        "writer_type": WRITER_TYPE,
        "baseline_continuity": world.history.continuity(now.path, WRITER_TYPE),
        "operations_applied": 1,
        "lines_before": before,
        "lines_after": lines_after,
        "net_lines": None if before is None or lines_after is None else lines_after - before,
        "changed": changed_ranges(removed),
        "anchors_valid_through": kept,
        "must_refresh_from_line": kept + 1,
        "diff": [],
        "safety_status": "off",
        **news(world, now.path, WHOLE),
    }
    return reply | ({"dry_run": True, "valid": True} if params.dry_run else {"checkpoint": "committed"})


DELETE_TOOL: Final[Tool[DeleteParams]] = Tool(
    name="delete_file",
    params=DeleteParams,
    paths=lambda params: (params.path,),
    decide=decide_delete,
    writes=True,
    reply=WriteReply,
)

MOVE_TOOL: Final[Tool[MoveParams]] = Tool(
    name="move_file",
    params=MoveParams,
    paths=lambda params: (params.path, params.to),
    decide=decide_move,
    writes=True,
    reply=WriteReply,
)
