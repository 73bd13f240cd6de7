"""`undo`, `redo`, `rollback` and `restore`: earlier states come back as new records.

The first three take changes out of the files as they are now and leave what others did (`quire_journal.unwind`);
`restore` puts back the bytes of a point. All four work alike: choose, see what the files come to, make a plan,
and carry it out or answer with the plan and its token. The token names the choice and a digest of the outcome:
it carries out exactly what the plan said, or nothing.

Whose work is chosen: that of the caller, unless `writer`, `agent_session` or `batch` names another's.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from quire_daemon.handlers.base import Decision, FileNow, Move, Put, Remove, Tool, Who, World, Write
from quire_daemon.handlers.localised import localised_diff
from quire_daemon.handlers.log import VERSION_KINDS, path_filter, single_path, writer_filter
from quire_journal.blobs import NotHeld
from quire_journal.diff import changed_ranges, diff
from quire_journal.events import (
    REGULAR,
    BatchUndone,
    Event,
    FileDeleted,
    FileMoved,
    FileWritten,
    ModeChanged,
    ReadServed,
    Record,
)
from quire_journal.history import History
from quire_journal.ids import blob_id, parse_version_token, version_token
from quire_journal.points import parse_point, rfc3339
from quire_journal.refusals import Refused
from quire_journal.splice import carry_ranges
from quire_journal.text import Text, merge_ranges
from quire_journal.unwind import Conflict, State, Unwound, lives, unwind
from quire_journal.views.files import Version

MAX_BATCHES: Final = 1000
"""Batches that one call undoes."""

SCAN_RECORDS: Final = 200_000
"""Records that are looked through for another writer's batches."""

MOST_KEPT: Final = 20
"""Entries of `kept` and `takes_back` that a reply lists for a file; the rest is counted."""

How = Literal["undo", "redo", "rollback", "restore"]


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
class _Choice:
    """Which batches, and of which files. Small and plain, because a token carries it."""

    how: How
    batches: tuple[int, ...] = ()
    path: str = ""
    at: int = 0  # of a restore
    paths: tuple[str, ...] = ()  # of a restore


def _choose(params: Params, history: History, who: Who) -> _Choice:
    """The choice that the arguments, or the token of a plan, stand for. Raises `Refused`."""
    if params.token:
        return _read_token(params.token)[0]
    if isinstance(params, RestoreParams):
        return _choose_restore(params, history)
    if isinstance(params, RedoParams):
        return _Choice("redo", (_last_undo(history, who),))
    if isinstance(params, RollbackParams):
        asked = UndoParams(writer=params.writer, from_=params.to, path=params.path)
        return _Choice("rollback", _matching(asked, history, who), params.path)
    if params.batch is not None:
        return _Choice("undo", (_named_batch(params.batch, history),), params.path)
    if _wide(params):
        return _Choice("undo", _matching(params, history, who), params.path)
    return _Choice("undo", _own_last(params, history, who), params.path)


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
        if history.undone_by(batch) is None or _does_something(history, _Choice("undo", (batch,), params.path)):
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


def _unwound(history: History, choice: _Choice) -> list[Unwound]:
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


def _restored(history: History, choice: _Choice) -> list[Unwound]:
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


def _choose_restore(params: RestoreParams, history: History) -> _Choice:
    asked = tuple(dict.fromkeys([*([params.path] if params.path else []), *params.paths]))
    if not params.at:
        raise Refused("schema_invalid", "at: is missing; name the point to go back to.", argument="at")
    if not asked:
        raise Refused("schema_invalid", "path: is missing; name what to restore, `.` for everything.", argument="path")
    return _Choice("restore", at=parse_point(params.at, history), paths=asked)


def _restore_paths(history: History, choice: _Choice) -> list[str]:
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


def _outcome(history: History, choice: _Choice) -> list[Unwound]:
    return _restored(history, choice) if choice.how == "restore" else _unwound(history, choice)


def _does_something(history: History, choice: _Choice) -> bool:
    return any(not _is_now(u) for u in _unwound(history, choice))


def _is_now(unwound: Unwound) -> bool:
    """Is the file like that already?"""
    now = unwound.now
    if not unwound.present or not now.present:
        return unwound.present == now.present
    mode = now.version.mode if now.version is not None else 0
    return (unwound.path, unwound.mode, unwound.blob) == (now.path, mode, now.blob)


def paths_of(params: Params, history: History, who: Who) -> Sequence[str]:
    """The paths that a decision must see. A refusal is left to the decision."""
    try:
        outcome = _outcome(history, _choose(params, history, who))
    except Refused:
        return ()
    return list(dict.fromkeys(path for u in outcome for path in (u.now.path, u.path)))


# ── the plan ─────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Action:
    """What happens to one file. `do`: "write", "mode", "create", "delete", "move", "none"."""

    do: str
    unwound: Unwound
    now: FileNow | None = None  # at the path where the file is now, or where it will be made
    then: FileNow | None = None  # at the path that it will have, where that is another
    data: bytes = b""
    skipped: str = ""  # why nothing is done
    conflicts: tuple[Conflict, ...] = ()

    @property
    def path(self) -> str:
        """The path that the reply speaks of: where the file is now, or will be."""
        return self.unwound.now.path if self.unwound.now.present else self.unwound.path


@dataclass
class _Planning:
    """Turns what the files would come to into actions on the files that are there."""

    world: World
    allow_uncaptured: bool
    taken: set[str] = field(default_factory=set)

    def action(self, u: Unwound) -> _Action:
        """What is to be done for one file."""
        if u.missing:
            return self._skip(u, u.missing)
        if _is_now(u):
            return _Action("none", u, conflicts=u.conflicts)
        if self.taken & {u.now.path, u.path}:
            # Two histories end under one name; the first has it, the second would overwrite its result.
            return self._skip(u, "occupied")
        action = self._create(u) if not u.now.present else self._change(u)
        if not action.skipped:
            self.taken |= {u.now.path, u.path}
        return action

    def _skip(self, u: Unwound, why: str, *conflicts: Conflict) -> _Action:
        return _Action("none", u, skipped=why, conflicts=(*u.conflicts, *conflicts))

    def _occupied(self, u: Unwound, there: FileNow | None) -> _Action:
        head = self.world.history.file(u.path)
        seq = head.seq if head is not None else 0
        return self._skip(u, "occupied", *([Conflict(seq, "occupied")] if there is not None and seq else []))

    def _create(self, u: Unwound) -> _Action:
        there = self.world.files.get(u.path)
        if there is None or there.kind != "missing" or there.path != u.path:
            return self._occupied(u, there)
        return self._with_data("create", u, there)

    def _change(self, u: Unwound) -> _Action:
        now, head = self.world.files.get(u.now.path), u.now.version
        if now is None or head is None:
            return self._skip(u, "changed_meanwhile")
        if now.path != u.now.path or now.kind != "file" or head.entry != REGULAR:
            return self._skip(u, "not_a_file")
        if (now.uncaptured or now.version is None) and not self.allow_uncaptured:
            return self._skip(u, "uncaptured")
        if now.version is not None and now.version.seq != head.seq:
            return self._skip(u, "changed_meanwhile")
        if not u.present:
            return _Action("delete", u, now, conflicts=u.conflicts)
        if u.path != u.now.path:
            there = self.world.files.get(u.path)
            if there is None or there.kind != "missing" or there.path != u.path:
                return self._occupied(u, there)
            return self._with_data("move", u, now, there)
        return self._with_data("write" if u.blob != u.now.blob else "mode", u, now)

    def _with_data(self, do: str, u: Unwound, now: FileNow, then: FileNow | None = None) -> _Action:
        try:
            data = u.made.data if u.made is not None else self.world.history.bytes_of(u.blob)
        except NotHeld:
            return self._skip(u, "uncaptured")
        return _Action(do, u, now, then, data, conflicts=u.conflicts)


# ── the token ────────────────────────────────────────────────────────────────


def _digest(choice: _Choice, actions: Sequence[_Action]) -> bytes:
    """Of everything that the plan promises: the files as they are, and what becomes of each."""
    outcome = [
        (
            a.do,
            a.unwound.now.path,
            a.unwound.now.version.seq if a.unwound.now.version is not None else 0,
            a.unwound.present,
            a.unwound.path,
            a.unwound.mode,
            a.unwound.blob,
            a.skipped,
            [c.seq for c in a.conflicts],
        )
        for a in actions
    ]
    return hashlib.sha256(msgspec.msgpack.encode((choice, outcome))).digest()[:12]


def _make_token(choice: _Choice, actions: Sequence[_Action]) -> str:
    packed = msgspec.msgpack.encode((choice, _digest(choice, actions)))
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _read_token(token: str) -> tuple[_Choice, bytes]:
    """(the choice, the digest of the outcome). Raises `Refused` for what is not a token of a plan."""
    try:
        packed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        return msgspec.msgpack.decode(packed, type=tuple[_Choice, bytes])
    except (binascii.Error, ValueError, msgspec.MsgspecError) as wrong:
        raise Refused("schema_invalid", "token: this is not the token of a plan.", argument="token") from wrong


# ── the decision ─────────────────────────────────────────────────────────────


def decide(params: Params, world: World) -> Decision:
    """Undo, redo, roll back or restore; or the plan of it."""
    history = world.history
    choice = _choose(params, history, world.who)
    if params.token and choice.how != _HOW[type(params)]:
        raise Refused("schema_invalid", f"token: it is of a plan to {choice.how}.", argument="token")
    planning = _Planning(world, params.allow_uncaptured)
    actions = [planning.action(u) for u in _outcome(history, choice)]
    if params.token and _digest(choice, actions) != _read_token(params.token)[1]:
        raise Refused("plan_stale", "A file has changed since the plan was made; make a new plan.", "plan_again")
    _refuse_if_pointless(params, choice, actions, history)
    if params.plan or params.dry_run:
        return Decision(_plan_reply(params, choice, actions, history))
    return _Performing(world, choice).decision(actions)


def _refuse_if_pointless(params: Params, choice: _Choice, actions: Sequence[_Action], history: History) -> None:
    """Raises `Refused` when nothing can be done, or not everything and the caller wants all or nothing."""
    doing = [a for a in actions if a.do != "none"]
    blocked = [a for a in actions if a.conflicts or a.skipped]
    files = [_file_json(a, choice, history) for a in blocked]
    aborting = not isinstance(params, RestoreParams) and params.conflicts == "abort"
    if blocked and (not doing or aborting):
        if all(a.skipped == "uncaptured" for a in blocked):
            message = f"The journal does not hold the bytes that {choice.how} needs; nothing was changed."
            raise Refused("uncaptured", message, files=files)
        if all(a.skipped == "not_there_then" for a in blocked):
            raise Refused("not_found", "None of these files was there at that point.", "log", files=files)
        raise Refused("conflict", _conflict_sentence(blocked, history), "plan", files=files)
    if not doing and choice.how != "restore":
        by = next((by for by in map(history.undone_by, choice.batches) if by is not None), None)
        why = f"batch {by} has done so already" if by is not None else "the files are like that already"
        raise Refused("not_found", f"There is nothing to {choice.how}: {why}.", "log", batches=list(choice.batches))


def _conflict_sentence(blocked: Sequence[_Action], history: History) -> str:
    for action in blocked:
        for conflict in action.conflicts:
            who = _who(conflict.seq, history)
            return f"{action.path}: {who} built on it with {version_token(conflict.seq)}; nothing was changed."
    first = blocked[0]
    return f"{first.path}: {_SKIPPED.get(first.skipped, first.skipped)}; nothing was changed."


def _who(seq: int, history: History) -> str:
    record = history.record(seq)
    if record is None:
        return "someone"
    shown = history.writer_json(record.writer)
    return str(shown["agent"] or shown["id"])


_SKIPPED: Final = {
    "uncaptured": "bytes that are needed, or that would be lost, are not in the journal",
    "not_a_file": "it is not a regular file",
    "occupied": "something else stands there now",
    "changed_meanwhile": "it is being changed at this moment",
    "not_there_then": "it was not there at that point",
}

_HOW: Final[dict[type[Params], How]] = {
    UndoParams: "undo",
    RedoParams: "redo",
    RollbackParams: "rollback",
    RestoreParams: "restore",
}


def _plan_reply(params: Params, choice: _Choice, actions: Sequence[_Action], history: History) -> dict[str, Any]:
    reply = {
        "ok": True,
        "message": f"Plan: {_summary(actions)}.",
        "plan": True,
        "batches": list(choice.batches),
        "files": [_file_json(a, choice, history) for a in actions],
        "token": _make_token(choice, actions),
    }
    return {**reply, "dry_run": True, "valid": True} if params.dry_run else reply


def _summary(actions: Sequence[_Action]) -> str:
    doing = sum(a.do != "none" for a in actions)
    conflicts = sum(len(a.conflicts) for a in actions)
    said = f"{doing} file{'' if doing == 1 else 's'} to change"
    return f"{said}, {conflicts} conflict{'' if conflicts == 1 else 's'}" if conflicts else said


def _file_json(action: _Action, choice: _Choice, history: History) -> dict[str, Any]:
    """One entry of `files`: `{path, action, to?, kept, conflicts, skipped, why?}` and the lines' counts.

    `kept` are later versions of others whose changes stay; a restore has `takes_back` instead, the versions since the
    point. Both are cut at `MOST_KEPT`, and the rest counted (`kept_more`, `takes_back_more`).
    """
    u = action.unwound
    name, later = "kept", u.kept
    if choice.how == "restore":
        name, later = "takes_back", tuple(v.seq for v in history.versions(u.path, after=choice.at))
    entry: dict[str, Any] = {
        "path": action.path,
        "action": action.do,
        name: [_brief(seq, history) for seq in later[-MOST_KEPT:]],
        "conflicts": [_conflict_json(conflict, history) for conflict in action.conflicts],
        "skipped": action.skipped or None,
    }
    if len(later) > MOST_KEPT:
        entry[f"{name}_more"] = len(later) - MOST_KEPT
    if action.do == "move":
        entry["to"] = u.path
    if action.skipped:
        entry["why"] = _SKIPPED.get(action.skipped, action.skipped)
    if action.do in ("write", "create", "delete", "move"):
        entry.update(_lines_json(action))
    return entry


def _brief(seq: int, history: History) -> dict[str, Any]:
    """Who made a record, and when."""
    record = history.record(seq)
    if record is None:
        return {"version": version_token(seq)}
    return {
        "version": version_token(seq),
        "at": rfc3339(record.at_ns),
        "batch": record.batch,
        "writer": history.writer_json(record.writer),
    }


def _conflict_json(conflict: Conflict, history: History) -> dict[str, Any]:
    """`lines` are of the file as it is now, 1-based and inclusive."""
    lines = [{"start": start + 1, "end": stop} for start, stop in conflict.lines]
    return {**_brief(conflict.seq, history), "seq": conflict.seq, "why": conflict.why, "lines": lines}


def _lines_json(action: _Action) -> dict[str, Any]:
    """How the lines change; nothing for a binary file."""
    before, after = _texts(action)
    if before.binary or after.binary:
        return {"binary": True}
    return {
        "lines_before": len(before),
        "lines_after": len(after),
        "net_lines": len(after) - len(before),
        "changed": changed_ranges(diff(before, after)),
    }


class _Performing:
    """Collects the events and writes of the actions, in step: event number n gets seq `next_seq + n`."""

    def __init__(self, world: World, choice: _Choice) -> None:
        self.world = world
        self.choice = choice
        self.events: list[Event] = []
        self.writes: list[Write] = []
        self.blobs: list[bytes] = []

    def decision(self, actions: Sequence[_Action]) -> Decision:
        """The decision that carries all of them out."""
        files = []
        for action in actions:
            version = self._perform(action) if action.do != "none" else _seq(action.unwound.now)
            entry = {**_file_json(action, self.choice, self.world.history), **self._result(action, version)}
            if action.do in ("write", "create", "move"):
                entry |= self._showing(action, version)
            files.append(entry)
        done = sum(a.do != "none" for a in actions)
        if done:
            # Last of its batch: whoever reads the log backwards learns first what the records before it are.
            self.events.append(BatchUndone(self.choice.batches, self.choice.how))
        reply: dict[str, Any] = {
            "ok": True,
            "message": self._message(actions, done),
            "batch": self.world.next_seq if done else None,
            "batches": list(self.choice.batches),
            "files": files,
        }
        if not done:
            reply["unchanged"] = True
        if done == 1:
            only = next(f for f, a in zip(files, actions, strict=True) if a.do != "none")
            reply.update({k: only[k] for k in ("path", "version", "sha256", "sizeBytes") if k in only})
        reply["writer_type"] = "undo"
        return Decision(reply, self.events, self.writes, self.blobs)

    def _message(self, actions: Sequence[_Action], done: int) -> str:
        if not done:
            return "The files are like that already."
        conflicts = sum(len(a.conflicts) for a in actions)
        skipped = sum(bool(a.skipped) for a in actions)
        said = f"{_DONE[self.choice.how]} {done} file{'' if done == 1 else 's'}"
        if conflicts:
            said += f"; {conflicts} place{'' if conflicts == 1 else 's'} stayed, because others built on them"
        if skipped:
            said += f"; {skipped} file{'' if skipped == 1 else 's'} left alone"
        return said + "."

    def _note(self, event: Event) -> int:
        self.events.append(event)
        return self.world.next_seq + len(self.events) - 1

    def _perform(self, action: _Action) -> int:
        """Add what carries the action out; the seq of the version that it makes."""
        u, now = action.unwound, action.now
        if now is None:
            raise ValueError(f"{action.do} of {action.path} without a look at it")
        match action.do:
            case "delete":
                return self._remove(u, now)
            case "mode":
                return self._mode(action, now)
            case "move" if action.then is not None:
                return self._move(action, now, action.then)
            case "write":
                return self._put(action, now, base=_seq(u.now))
            case _:
                return self._put(action, now, base=0)

    def _put(self, action: _Action, over: FileNow, base: int) -> int:
        u, data = action.unwound, action.data
        seq = self._note(FileWritten(u.path, blob_id(data), len(data), u.mode, base, "undo", over.inode))
        self.writes.append(Put(seq, u.path, data, u.mode, over))
        self.blobs.append(data)
        return seq

    def _remove(self, u: Unwound, over: FileNow) -> int:
        seq = self._note(FileDeleted(u.now.path, _seq(u.now), "undo", over.inode))
        self.writes.append(Remove(seq, u.now.path, over))
        return seq

    def _mode(self, action: _Action, over: FileNow) -> int:
        u, data = action.unwound, action.data
        seq = self._note(ModeChanged(u.path, u.blob, len(data), u.mode, _seq(u.now), "undo"))
        self.writes.append(Put(seq, u.path, data, u.mode, over))
        return seq

    def _move(self, action: _Action, over: FileNow, there: FileNow) -> int:
        """Rename back; where the bytes change too, it is a new file there and the end of the one here."""
        u, head = action.unwound, action.unwound.now.version
        if head is None or (u.blob, u.mode) != (head.blob, head.mode):
            seq = self._put(action, there, base=0)
            self._remove(u, over)
            return seq
        seq = self._note(
            FileMoved(u.now.path, u.path, u.blob, head.size, u.mode, head.seq, "undo", over.inode, head.entry)
        )
        self.writes.append(Move(seq, u.now.path, u.path, over))
        return seq

    def _result(self, action: _Action, version: int) -> dict[str, Any]:
        """The file as it is afterwards."""
        result: dict[str, Any] = {"version": version_token(version) if version else None}
        if action.do == "none":
            return result
        path = action.unwound.path if action.unwound.present else action.path
        result["writer_type"] = "undo"
        result["baseline_continuity"] = self.world.history.continuity(path, "undo")
        if action.do != "delete":
            result["sha256"] = blob_id(action.data).hex()
            result["sizeBytes"] = len(action.data)
        return result

    def _showing(self, action: _Action, version: int) -> dict[str, Any]:
        """The localised diff with fresh anchors, which the caller is thereby shown; nothing for a binary file."""
        before, after = _texts(action)
        if before.binary or after.binary:
            return {}
        rows, ranges, cut = localised_diff(before, after, diff(before, after))
        seen = merge_ranges([*self._still_shown(action.unwound, after), *ranges])
        self._note(ReadServed(action.unwound.path, version, seen, anchors=True))
        return {"diff": rows, "diff_truncated": True} if cut else {"diff": rows}

    def _still_shown(self, u: Unwound, after: Text) -> Sequence[tuple[int, int]]:
        """The lines of `after` that the caller has seen before."""
        history = self.world.history
        seen = history.shown(self.world.who.key, u.path)
        base = history.version(u.path, seen.version) if seen is not None else None
        if seen is None or base is None or base.gone:
            return ()
        try:
            return carry_ranges(diff(history.text_of(base.blob), after), seen.lines)
        except NotHeld:
            return ()


def _texts(action: _Action) -> tuple[Text, Text]:
    """The file before and after an action."""
    before = action.now.text if action.now is not None and action.now.text is not None else Text.of(b"")
    return before, action.unwound.made if action.unwound.made is not None else Text.of(action.data)


def _seq(state: State) -> int:
    return state.version.seq if state.version is not None else 0


_DONE: Final[dict[How, str]] = {
    "undo": "Undone in",
    "redo": "Redone in",
    "rollback": "Rolled back",
    "restore": "Restored",
}


def _no_paths(params: Params) -> Sequence[str]:
    return ()


UNDO: Final = Tool("undo", UndoParams, _no_paths, decide, writes=True, paths_from=paths_of)
REDO: Final = Tool("redo", RedoParams, _no_paths, decide, writes=True, paths_from=paths_of)
ROLLBACK: Final = Tool("rollback", RollbackParams, _no_paths, decide, writes=True, paths_from=paths_of)
RESTORE: Final = Tool("restore", RestoreParams, _no_paths, decide, writes=True, paths_from=paths_of)
