"""What an undo is about: the batches that are chosen, and what their files come to without them.

Whose work is chosen: that of the caller, unless `writer`, `agent_session` or `batch` names another's. Everything in
here is asked of the journal alone, so that the app learns from it which files a decision must see (`paths_of`).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from quire_daemon.handlers.base import Who
from quire_daemon.handlers.log import VERSION_KINDS, path_filter, single_path, writer_filter
from quire_journal.events import REGULAR, BatchUndone, Record
from quire_journal.history import History
from quire_journal.ids import parse_version_token
from quire_journal.points import parse_point
from quire_journal.refusals import Refused
from quire_journal.unwind import State, Unwound, lives, unwind
from quire_journal.views.files import Version

How = Literal["undo", "redo", "rollback", "restore"]

MAX_BATCHES: Final = 1000
"""Batches that one call undoes."""

SCAN_RECORDS: Final = 200_000
"""Records that are looked through for another writer's batches."""


class UndoParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `undo`. They narrow the choice together; without any, the caller's own last batch.

    `conflicts`: "skip" undoes what is independent and lists the rest, "abort" refuses when there is any.
    """

    batch: int | str | None = None  # its number, or a version that it made
    writer: str = ""  # an agent's name, `w3`, `outside`, or `*` for everyone
    agent_session: str = ""
    turn: str = ""
    last: int | None = None  # only the newest so many
    from_: str = msgspec.field(name="from", default="")  # a point: batches after it
    to: str = ""  # a point: batches up to it
    path: str = ""  # only these files: a file, a folder, or a glob
    conflicts: Literal["skip", "abort"] = "skip"
    plan: bool = False
    token: str = ""
    dry_run: bool = False
    allow_uncaptured: bool = False
    idempotency_key: str = ""


class RedoParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `redo`."""

    conflicts: Literal["skip", "abort"] = "skip"
    plan: bool = False
    token: str = ""
    dry_run: bool = False
    allow_uncaptured: bool = False
    idempotency_key: str = ""


class RollbackParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `rollback`: everything that the caller (or `writer`) did after the point `to`."""

    to: str
    writer: str = ""
    path: str = ""
    conflicts: Literal["skip", "abort"] = "skip"
    plan: bool = False
    token: str = ""
    dry_run: bool = False
    allow_uncaptured: bool = False
    idempotency_key: str = ""


class RestoreParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `restore`: the files as they were at the point `at`. Files made later are left alone."""

    at: str = ""
    path: str = ""  # a file, a folder, or a glob
    paths: list[str] = []
    plan: bool = False
    token: str = ""
    dry_run: bool = False
    allow_uncaptured: bool = False
    idempotency_key: str = ""


Params = UndoParams | RedoParams | RollbackParams | RestoreParams


# ── what is chosen ───────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Choice:
    """Which batches, and of which files. Small and plain, because a token carries it."""

    how: How
    batches: tuple[int, ...] = ()
    path: str = ""
    at: int = 0  # of a restore
    paths: tuple[str, ...] = ()  # of a restore


def choose(params: Params, history: History, who: Who) -> Choice:
    """The choice that the arguments, or the token of a plan, stand for. Raises `Refused`."""
    if params.token:
        return read_token(params.token)[0]
    if isinstance(params, RestoreParams):
        return _choose_restore(params, history)
    if isinstance(params, RedoParams):
        return Choice("redo", (_last_undo(history, who),))
    if isinstance(params, RollbackParams):
        asked = UndoParams(writer=params.writer, from_=params.to, path=params.path)
        return Choice("rollback", _matching(asked, history, who), params.path)
    if params.batch is not None:
        return Choice("undo", (_named_batch(params.batch, history),), params.path)
    if _wide(params):
        return Choice("undo", _matching(params, history, who), params.path)
    return Choice("undo", _own_last(params, history, who), params.path)


def _wide(params: UndoParams) -> bool:
    """Is more asked for than the newest of the caller's own batches?"""
    return bool(params.writer or params.agent_session or params.turn or params.from_ or params.to)


def _named_batch(named: int | str, history: History) -> int:
    """The batch with that number, or the one that made that version. Raises `Refused`."""
    seq = named if isinstance(named, int) else parse_version_token(named)
    if seq is None and isinstance(named, str) and named.isascii() and named.isdigit():
        seq = int(named[:19])
    if seq is None:
        raise Refused("schema_invalid", f"batch: {named!r} is neither a number nor a version.", argument="batch")
    record = history.record(seq)
    if record is None:
        raise Refused("not_found", f"There is no batch {named}.", "log", batch=named)
    return record.batch


def _own_last(params: UndoParams, history: History, who: Who) -> tuple[int, ...]:
    """The newest batches of the caller that are in force and would change something. Raises `Refused`."""
    wanted = 1 if params.last is None else params.last
    if not 1 <= wanted <= MAX_BATCHES:
        raise Refused("schema_invalid", f"last: must be from 1 to {MAX_BATCHES}.", argument="last")
    in_path = path_filter(params.path, history)
    found: list[int] = []
    for batch in history.last_batches(who.key, MAX_BATCHES):
        if len(found) == wanted:
            break
        if _is_undo(history, batch) or not any(in_path(path) for path, _ in _starts(history, batch)):
            continue
        if history.undone_by(batch) is None or _does_something(history, Choice("undo", (batch,), params.path)):
            found.append(batch)
    if not found:
        where = f" in {params.path}" if params.path else ""
        raise Refused("not_found", f"There is nothing of yours to undo{where}.", "log")
    return tuple(found)


def _last_undo(history: History, who: Who) -> int:
    """The caller's newest undo that is in force. Raises `Refused`."""
    for batch in history.last_batches(who.key, MAX_BATCHES):
        mark = _mark(history, batch)
        if mark is not None and mark.how in ("undo", "rollback") and history.undone_by(batch) is None:
            return batch
    raise Refused("not_found", "There is no undo of yours to take back.", "log")


def _matching(params: UndoParams, history: History, who: Who) -> tuple[int, ...]:
    """The batches in force that fit every choice, newest first. Raises `Refused`."""
    after = parse_point(params.from_, history) if params.from_ else 0
    upto = parse_point(params.to, history) if params.to else history.head()
    fits, in_path = _writer_choice(params, history, who), path_filter(params.path, history)
    wanted = MAX_BATCHES if params.last is None else params.last
    seen: set[int] = set()
    found: list[int] = []
    for looked, record in enumerate(history.records(after=after, upto=upto, reverse=True)):
        if looked == SCAN_RECORDS:
            raise Refused(
                "schema_invalid",
                f"The choice goes back more than {SCAN_RECORDS} records; name where it begins with `from`.",
                "narrow_the_choice",
                argument="from",
            )
        if record.kind not in VERSION_KINDS or record.batch in seen or not fits(record.writer):
            continue
        if not any(in_path(path) for path, _ in _places(record)):
            continue
        seen.add(record.batch)
        if not _is_undo(history, record.batch) and history.undone_by(record.batch) is None:
            found.append(record.batch)
        if len(found) > MAX_BATCHES:
            raise Refused("schema_invalid", f"That is more than {MAX_BATCHES} batches.", "narrow_the_choice")
        if len(found) == wanted:
            break
    if not found:
        raise Refused("not_found", "No change that is in force fits the choice: there is nothing to undo.", "log")
    return tuple(found)


def _writer_choice(params: UndoParams, history: History, who: Who) -> Callable[[int], bool]:
    """Does a writer fit? The caller itself, unless the choice names someone."""
    if params.writer == "*":
        named: Callable[[int], bool] = lambda writer: True  # noqa: E731
    elif params.writer:
        named = writer_filter(params.writer, history)
    elif params.agent_session:
        named = lambda writer: True  # noqa: E731
    else:
        named = lambda writer: history.caller_of(writer) == who.key  # noqa: E731

    def fits(writer: int) -> bool:
        if not named(writer):
            return False
        if not (params.agent_session or params.turn):
            return True
        introduced = history.writer(writer)
        return (
            introduced is not None
            and params.agent_session in ("", introduced.agent_session)
            and params.turn in ("", introduced.turn)
        )

    return fits


def _mark(history: History, batch: int) -> BatchUndone | None:
    """What says that the batch undid others; None for any other batch."""
    for record in history.batch(batch):
        if record.kind == BatchUndone.kind:
            event = record.event()
            return event if isinstance(event, BatchUndone) else None
    return None


def _is_undo(history: History, batch: int) -> bool:
    """Is the batch one that `redo` is for? A restore or a rollback is undone like an edit."""
    mark = _mark(history, batch)
    return mark is not None and mark.how in ("undo", "redo")


def _places(record: Record) -> Iterator[tuple[str, int]]:
    """(path, seq) of what a record changed."""
    if record.kind in VERSION_KINDS:
        event = record.event()
        for name in ("path", "to"):
            path = getattr(event, name, None)
            if path is not None:
                yield path, record.seq


def _starts(history: History, batch: int) -> list[tuple[str, int]]:
    """(path, seq) of the versions that a batch made and that stand."""
    places = (place for record in history.batch(batch) for place in _places(record))
    return [(path, seq) for path, seq in places if _stands(history.version(path, seq))]


def _stands(version: Version | None) -> bool:
    return version is not None and not version.displaced


# ── what the files come to ───────────────────────────────────────────────────


def _unwound(history: History, choice: Choice) -> list[Unwound]:
    """What the files of the chosen batches come to without them."""
    in_path = path_filter(choice.path, history)
    starts = [(p, s) for batch in choice.batches for p, s in _starts(history, batch) if in_path(p)]
    undone = _belongs(history, choice.batches)
    return [unwind(history, life) for life in lives(history, starts, undone)]


def _belongs(history: History, batches: Sequence[int]) -> Callable[[Version], bool]:
    """Is a version of one of these batches, or of a batch that undid or redid them?

    A batch in force that was undone once has been redone since: both cancel out, and neither is in the way.
    """
    known: dict[int, bool] = dict.fromkeys(batches, True)

    def related(batch: int) -> bool:
        if batch not in known:
            mark = _mark(history, batch)
            known[batch] = mark is not None and any(related(undone) for undone in mark.undone if undone < batch)
        return known[batch]

    return lambda version: related(version.batch) if version.type == "undo" else known.get(version.batch, False)


def _restored(history: History, choice: Choice) -> list[Unwound]:
    """The chosen files as they were at the point."""
    found: list[Unwound] = []
    for path in _restore_paths(history, choice):
        now, then = State(path, history.file(path)), State(path, history.version_at(path, choice.at))
        if then.version is None or not then.present:
            found.append(_left_alone(now, "not_there_then"))
        elif then.version.entry != REGULAR:
            found.append(_left_alone(now, "not_a_file"))
        elif then.version.uncaptured or not history.holds(then.blob):
            found.append(_left_alone(now, "uncaptured"))
        else:
            found.append(Unwound(now, True, path, then.version.mode, then.blob))
    return found


def _left_alone(now: State, why: str) -> Unwound:
    mode = now.version.mode if now.version is not None else 0
    return Unwound(now, now.present, now.path, mode, now.blob, missing=why)


def _choose_restore(params: RestoreParams, history: History) -> Choice:
    asked = tuple(dict.fromkeys([*([params.path] if params.path else []), *params.paths]))
    if not params.at:
        raise Refused("schema_invalid", "at: is missing; name the point to go back to.", argument="at")
    if not asked:
        raise Refused("schema_invalid", "path: is missing; name what to restore, `.` for everything.", argument="path")
    return Choice("restore", at=parse_point(params.at, history), paths=asked)


def _restore_paths(history: History, choice: Choice) -> list[str]:
    """The files that the choice names: single ones as they are, of folders and globs those that existed then."""
    found: dict[str, None] = {}
    for asked in choice.paths:
        single = single_path(asked, history)
        if single is not None:
            found[single] = None
            continue
        fits = path_filter(asked, history)
        there = [
            path
            for path, _ in history.paths()
            if fits(path) and State(path, history.version_at(path, choice.at)).present
        ]
        if not there:
            raise Refused("not_found", f"{asked!r} was not there at that point.", "log", path=asked)
        found.update(dict.fromkeys(there))
    return list(found)


def outcome(history: History, choice: Choice) -> list[Unwound]:
    """What the chosen files come to. Raises `Refused` for a restore of what was not there."""
    return _restored(history, choice) if choice.how == "restore" else _unwound(history, choice)


def _does_something(history: History, choice: Choice) -> bool:
    return any(not is_now(u) for u in _unwound(history, choice))


def is_now(unwound: Unwound) -> bool:
    """Is the file like that already?"""
    now = unwound.now
    if not unwound.present or not now.present:
        return unwound.present == now.present
    mode = now.version.mode if now.version is not None else 0
    return (unwound.path, unwound.mode, unwound.blob) == (now.path, mode, now.blob)


def paths_of(params: Params, history: History, who: Who) -> Sequence[str]:
    """The paths that a decision must see. A refusal is left to the decision."""
    try:
        files = outcome(history, choose(params, history, who))
    except Refused:
        return ()
    return list(dict.fromkeys(path for u in files for path in (u.now.path, u.path)))


def read_token(token: str) -> tuple[Choice, bytes]:
    """(the choice, the digest of the outcome). Raises `Refused` for what is not a token of a plan."""
    try:
        packed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        choice, digest = msgspec.msgpack.decode(packed, type=tuple[Choice, bytes])
    except (binascii.Error, ValueError, msgspec.MsgspecError) as wrong:
        raise Refused("schema_invalid", "token: this is not the token of a plan.", argument="token") from wrong
    if len(choice.batches) > MAX_BATCHES:  # a caller can write a token by hand
        raise Refused("schema_invalid", f"token: it names more than {MAX_BATCHES} batches.", argument="token")
    return choice, digest
