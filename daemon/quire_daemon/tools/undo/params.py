"""Arguments of `undo`, `redo`, `rollback` and `restore`."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from quire_daemon.core import require_in_bounds
from quire_journal.model import (
    Refusal,
)

Paths = tuple[str, ...]
"""Files, folders and globs; empty means everything."""


How = Literal["undo", "redo", "rollback", "restore"]


MAX_BATCHES: Final = 5000
"""Maximum number of batches that one call undoes; selecting that many takes seconds."""


Conflicts = Literal["skip", "markers", "abort"]
"""Treatment of a place that others built on: keep it, mark both sides, or refuse the whole call."""


class _GoingBack(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments that undo, redo, rollback and restore share."""

    path: str = ""  # a file, a folder, or a glob
    paths: list[str] = []  # the same
    plan: bool = False
    token: str | None = None
    dry_run: bool = False
    allow_uncaptured: bool = False
    idempotency_key: str = ""


class Selection(_GoingBack, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `undo` and `redo`; each one narrows the choice further."""

    batch: int | str | list[int | str] | None = None  # a batch number, or a version for all that its call wrote; a list
    burst: int | str | list[int | str] | None = None  # a burst number, or a list
    writer: str = ""  # an agent's name, `name/session`, `user`, `w3`, `outside`, or `*` for everyone
    agent_session: str = ""
    turn: str = ""
    last: int | None = None  # at most this many calls, newest first; a save of another program is one
    from_: str = msgspec.field(name="from", default="")  # a point: batches after it
    to: str = ""  # a point: batches up to it
    conflicts: Conflicts = "skip"
    probable: bool = False  # include writes of only probable authorship


class UndoParams(Selection, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `undo`. The default is the caller's last call."""

    lines: str = ""  # lines of `path`, `10` or `10-24`
    git: Literal["", "last"] = ""  # what the last command of git wrote into the tree
    rejected: list[int] = []  # rejections (`WorkRejected`), which name files, lines and batches


class RedoParams(Selection, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `redo`: undone batches to bring back, or undos to undo. The default is the caller's last undo."""


class RollbackParams(_GoingBack, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `rollback`: undo the work of the caller or `writer` (alias `only`) after the point `to`."""

    to: str = ""
    writer: str = ""
    only: str = ""
    conflicts: Conflicts = "skip"
    probable: bool = False


class RestoreParams(_GoingBack, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `restore`: files return to the point `at`. Files created later are left alone."""

    at: str = ""


Params = UndoParams | RedoParams | RollbackParams | RestoreParams


def several(named: int | str | list[int | str] | None) -> list[int | str]:
    """Return one or several values as a list."""
    return [] if named is None else named if isinstance(named, list) else [named]


def rollback_as_undo(params: RollbackParams) -> UndoParams:
    if not params.to:
        raise Refusal("schema_invalid", "to: is missing; name the point to go back to.", argument="to")
    if params.only and params.writer and params.only != params.writer:
        raise Refusal("schema_invalid", "only: means the same as `writer`; give one of them.", argument="only")
    return UndoParams(writer=params.only or params.writer, from_=params.to, probable=params.probable)


def is_wide(params: Selection) -> bool:
    named = params.writer or params.agent_session or params.turn or params.from_ or params.to or of_git(params)
    return bool(named) or params.burst is not None


def wanted_calls(params: Selection) -> int:
    wanted = 1 if params.last is None else params.last
    require_in_bounds("last", wanted, MAX_BATCHES)
    return wanted


def of_last_calls(params: Params) -> bool:
    """True for an undo of the last call, or of a number (`last`) of newest calls."""
    if not isinstance(params, UndoParams) or params.token is not None or params.lines or params.rejected:
        return False
    return params.batch is None and (params.last is not None or not is_wide(params))


def spares_git(params: Selection) -> bool:
    """True if git's writes are left out: their writer, `outside`, is named, but not git."""
    return params.writer == "outside" and not of_git(params)


def of_git(params: Selection) -> bool:
    return isinstance(params, UndoParams) and params.git == "last"
