"""What an undo is about: the arguments of `undo`, `redo`, `rollback` and `restore`, and the batches they stand for.

Whose work is chosen: that of the caller, unless `writer`, `agent_session` or `batch` names another's. What
the files come to without them is for `unwinding` to say.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal

import msgspec

from quire_daemon.handlers.base import Who
from quire_daemon.handlers.log_filter import (
    VERSION_KINDS,
    named_burst,
    named_paths,
    path_filter,
    paths_of,
    writer_filter,
)
from quire_journal.events import FOLDER, BatchUndone
from quire_journal.history import History
from quire_journal.ids import parse_version_token
from quire_journal.points import parse_point
from quire_journal.records import Record
from quire_journal.refusals import Refused
from quire_journal.views.files import Version

Paths = tuple[str, ...]
"""Files, folders and globs; none stands for everything."""

How = Literal["undo", "redo", "rollback", "restore"]

MAX_BATCHES: Final = 5000
"""Batches that one call undoes. To choose from so many takes seconds; how many files it may be is the disk's to say."""

SCAN_RECORDS: Final = 200_000
"""Records that are looked through for another writer's batches."""

SPARSE: Final = 8
"""Records for each wanted batch: where there are more, each batch is looked up by itself."""


Conflicts = Literal["skip", "markers", "abort"]
"""What becomes of a place that others built on: it stays, it is written with both sides in it, or nothing is done."""


class _Choosing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `undo` and `redo`. They narrow the choice together."""

    batch: int | str | None = None  # its number, or a version that it made
    burst: int | str | None = None  # its number
    writer: str = ""  # an agent's name, `name/session`, `user`, `w3`, `outside`, or `*` for everyone
    agent_session: str = ""
    turn: str = ""
    last: int | None = None  # only the newest so many
    from_: str = msgspec.field(name="from", default="")  # a point: batches after it
    to: str = ""  # a point: batches up to it
    path: str = ""  # only these files: a file, a folder, or a glob
    paths: list[str] = []  # the same
    conflicts: Conflicts = "skip"
    plan: bool = False
    token: str = ""
    dry_run: bool = False
    allow_uncaptured: bool = False
    idempotency_key: str = ""


class UndoParams(_Choosing, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `undo`; without any, the caller's own last batch."""


class RedoParams(_Choosing, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `redo`: which undone batches come back, or which batch that undid others is taken back.

    Without any, the caller's last undo is taken back.
    """


class RollbackParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `rollback`: what the caller (or `writer`, which is also called `only`) did after the point `to`."""

    to: str = ""
    writer: str = ""
    only: str = ""
    path: str = ""
    paths: list[str] = []
    conflicts: Conflicts = "skip"
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


class Choice(msgspec.Struct, frozen=True):
    """What is to be undone, and in which files. Small and plain, because a token carries it.

    `batches` are undone from now on, as the record of it will say: of a redo, those that undid others.
    """

    how: How
    batches: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()  # only in these; of a restore, what comes back
    at: int = 0  # of a restore or a rollback: the point
    conflicts: Conflicts = "skip"


def choose(params: Params, known: Batches, who: Who) -> Choice:
    """The choice that the arguments, or the token of a plan, stand for. Raises `Refused`."""
    history = known.history
    if params.token:
        return read_token(params.token)[0]
    if isinstance(params, RestoreParams):
        return _choose_restore(params, history)
    paths = named_paths(params.path, params.paths)
    if isinstance(params, RollbackParams):
        batches = _matching(_rollback_as_undo(params), known, who, paths, _everything_standing)
        return Choice("rollback", batches, paths, parse_point(params.to, history), params.conflicts)
    if isinstance(params, RedoParams):
        batches, paths = _choose_redo(params, known, who, paths)
        return Choice("redo", batches, paths, conflicts=params.conflicts)
    if params.batch is not None:
        batches = (_named_batch(params.batch, history),)
    elif _wide(params):
        batches = _matching(params, known, who, paths, _edits_standing)
    else:
        batches = _own_last(params, known, who, paths)
    return Choice("undo", batches, paths, conflicts=params.conflicts)


def _rollback_as_undo(params: RollbackParams) -> UndoParams:
    """The undo that a rollback is. Raises `Refused`."""
    if not params.to:
        raise Refused("schema_invalid", "to: is missing; name the point to go back to.", argument="to")
    if params.only and params.writer and params.only != params.writer:
        raise Refused("schema_invalid", "only: means the same as `writer`; give one of them.", argument="only")
    return UndoParams(writer=params.only or params.writer, from_=params.to)


def _wide(params: _Choosing) -> bool:
    """Is more asked for than the newest of the caller's own batches?"""
    named = params.writer or params.agent_session or params.turn or params.from_ or params.to
    return bool(named) or params.burst is not None


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


def _own_last(params: _Choosing, known: Batches, who: Who, paths: Sequence[str]) -> tuple[int, ...]:
    """The newest batches of the caller that are in force and would change something. Raises `Refused`."""
    wanted = _wanted(params)
    in_path = in_paths(paths, known.history)
    found: list[int] = []
    for batch in known.history.last_batches(who.key, MAX_BATCHES):
        if len(found) == wanted:
            break
        if not known.is_undo(batch) and known.stands(batch, in_path):
            found.append(batch)
    if not found:
        where = f" in {', '.join(paths)}" if paths else ""
        raise Refused("not_found", f"There is nothing of yours to undo{where}.", "log")
    return tuple(found)


def _wanted(params: _Choosing) -> int:
    """How many of the caller's own are asked for. Raises `Refused`."""
    wanted = 1 if params.last is None else params.last
    if not 1 <= wanted <= MAX_BATCHES:
        raise Refused("schema_invalid", f"last: must be from 1 to {MAX_BATCHES}.", argument="last")
    return wanted


def _choose_redo(params: RedoParams, known: Batches, who: Who, paths: Paths) -> tuple[tuple[int, ...], Paths]:
    """What has to be undone so that the chosen comes back, and in which files. Raises `Refused`."""
    if params.batch is not None:
        batch = _named_batch(params.batch, known.history)
        if known.undid(batch):
            return (batch,), paths
        if known.in_force(batch):
            raise Refused("not_found", f"Batch {batch} is in force: there is nothing to redo.", "log", batch=batch)
        return _bringing_back([batch], known, paths)
    if _wide(params):
        return _bringing_back(_matching(params, known, who, paths, _edits_undone), known, paths)
    return _last_undos(_wanted(params), known, who, paths), paths


def _last_undos(wanted: int, known: Batches, who: Who, paths: Sequence[str]) -> tuple[int, ...]:
    """The caller's newest undos that are in force. Raises `Refused`."""
    in_path = in_paths(paths, known.history)
    found: list[int] = []
    for batch in known.history.last_batches(who.key, MAX_BATCHES):
        mark = known.mark(batch)
        if mark is None or mark.how not in ("undo", "rollback") or not known.in_force(batch):
            continue
        if any(in_path(path) for path, _ in known.starts(batch)):
            found.append(batch)
        if len(found) == wanted:
            break
    if not found:
        raise Refused("not_found", "There is no undo of yours to take back.", "log")
    return tuple(found)


def _bringing_back(wanted: Sequence[int], known: Batches, paths: Paths) -> tuple[tuple[int, ...], Paths]:
    """What to undo, and where, so that the batches `wanted` are in force again, and nothing else that is undone.

    Whatever undid them goes; what that had undone besides is undone anew, where it was. Raises `Refused`.
    """
    coming = {*wanted}
    undoing = list(dict.fromkeys(by for batch in wanted for by in known.standing_undoers(batch)))
    besides = {b: None for by in undoing for b in known.undid(by) if b not in coming and not known.in_force(b)}
    batches = (*undoing, *(b for b in besides if b not in undoing))
    narrowed = {mark.paths for mark in map(known.mark, undoing) if mark is not None}
    for where in (paths, next(iter(narrowed)) if len(narrowed) == 1 and not paths else paths):
        if all(_undone_there(known, batch, undoing, where) for batch in besides):
            return batches, where
    message = "What is to come back was undone together with others, and not all of it in the same files."
    raise Refused(
        "conflict", f"{message} Name the undo itself, or fewer files.", "narrow_the_choice", undone_by=undoing
    )


def _undone_there(known: Batches, batch: int, undoing: Sequence[int], paths: Paths) -> bool:
    """Did `undoing` undo the batch in all of its files that are in `paths`?"""
    inside = in_paths(paths, known.history)
    marks = (mark for mark in map(known.mark, undoing) if mark is not None and batch in mark.undone)
    filters = [in_paths(mark.paths, known.history) for mark in marks]
    return all(any(fits(path) for fits in filters) for path, _ in known.starts(batch) if inside(path))


Fits = Callable[[str], bool]
"""Is a path meant?"""

_Admits = Callable[["Batches", int, Fits, set[int]], bool]
"""Is a batch to be chosen, by how it stands? The set are those that are chosen already, all of them newer."""


def _edits_standing(known: Batches, batch: int, in_path: Fits, chosen: set[int]) -> bool:
    """What `undo` is for."""
    return not known.is_undo(batch) and _everything_standing(known, batch, in_path, chosen)


def _everything_standing(known: Batches, batch: int, in_path: Fits, chosen: set[int]) -> bool:
    """What `rollback` is for: undos and redos, too. What a chosen one undid goes with it, else it would come back."""
    undone_by_chosen = not known.in_force(batch) and {*known.standing_undoers(batch)} <= chosen
    return known.stands(batch, in_path) or (undone_by_chosen and known.undone(batch, in_path))


def _edits_undone(known: Batches, batch: int, in_path: Fits, chosen: set[int]) -> bool:
    """What `redo` is for."""
    return not known.is_undo(batch) and known.undone(batch, in_path)


def _matching(params: _Choosing, known: Batches, who: Who, paths: Sequence[str], admits: _Admits) -> tuple[int, ...]:
    """The batches that fit every choice and are admitted, newest first. Raises `Refused`."""
    history = known.history
    fits, in_path = _writer_choice(params, history, who), in_paths(paths, history)
    wanted = MAX_BATCHES + 1 if params.last is None else _wanted(params)
    found: list[int] = []
    chosen: set[int] = set()
    for batch, writer in _candidates(params, known):
        if len(found) == wanted:
            break
        if not fits(writer) or not admits(known, batch, in_path, chosen):
            continue
        found.append(batch)
        chosen.add(batch)
        if len(found) > MAX_BATCHES:
            raise Refused("schema_invalid", f"That is more than {MAX_BATCHES} batches.", "narrow_the_choice")
    if not found:
        raise _nothing_fits(params)
    return tuple(found)


def _nothing_fits(params: _Choosing) -> Refused:
    if isinstance(params, RedoParams):
        return Refused("not_found", "Nothing that was undone fits the choice: there is nothing to redo.", "log")
    message = "No change that is in force fits the choice: there is nothing to take back."
    if not (params.writer or params.agent_session or params.burst is not None):
        message += " It was about your own work; `writer` names another's, `*` everyone's."
    return Refused("not_found", message, "log")


def _candidates(params: _Choosing, known: Batches) -> Iterator[tuple[int, int]]:
    """(batch, writer) of the file changes within the burst and the points, newest first. Raises `Refused`."""
    history = known.history
    after = parse_point(params.from_, history) if params.from_ else 0
    upto = parse_point(params.to, history) if params.to else history.head()
    if params.burst is not None:
        within = [b for b in history.burst_batches(named_burst(params.burst, history)) if after < b <= upto]
        known.prepare(within)
        for batch in reversed(within):
            yield batch, known.writer(batch)
        return
    seen: set[int] = set()
    for looked, record in enumerate(history.records(after=after, upto=upto, reverse=True)):
        if looked == SCAN_RECORDS:
            raise Refused(
                "schema_invalid",
                f"The choice goes back more than {SCAN_RECORDS} records; name where it begins with `from`.",
                "narrow_the_choice",
                argument="from",
            )
        if record.kind in VERSION_KINDS and record.batch not in seen:
            seen.add(record.batch)
            yield record.batch, record.writer


def _writer_choice(params: _Choosing, history: History, who: Who) -> Callable[[int], bool]:
    """Does a writer fit? The caller itself, unless the choice names someone."""
    if params.writer == "*":
        named: Callable[[int], bool] = lambda writer: True  # noqa: E731
    elif params.writer:
        named = writer_filter(params.writer, history)
    elif params.agent_session or params.burst is not None:
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


class Batches:
    """What the journal knows of batches, each asked once."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._records: dict[int, tuple[BatchUndone | None, tuple[tuple[str, int], ...], int]] = {}
        self._undoers: dict[int, list[int]] = {}
        self._in_force: dict[int, bool] = {}

    def prepare(self, wanted: Sequence[int]) -> None:
        """Ask about all of these at once: their records, and what undid them, stand beside each other."""
        first, last = min(wanted, default=0), max(wanted, default=0)
        if not 0 < last - first <= len(wanted) * SPARSE:
            return
        asked = {*wanted} - self._records.keys()
        found: dict[int, list[Record]] = {batch: [] for batch in asked}
        for record in self.history.records(after=first - 1):
            if record.batch in asked:
                found[record.batch].append(record)
            if record.seq > last and record.batch != last:
                break
        for batch, records in found.items():
            if {*self.history.batch_writes(batch)} <= {record.seq for record in records}:
                self._take(batch, records)
        undoers = self.history.undoers_within(first, last)
        for batch in asked - self._undoers.keys():
            self._undoers[batch] = self._not_abandoned(undoers.get(batch, ()))

    def mark(self, batch: int) -> BatchUndone | None:
        """What says that the batch undid others; None for any other batch."""
        return self._of(batch)[0]

    def starts(self, batch: int) -> tuple[tuple[str, int], ...]:
        """(path, seq) of the versions that a batch made and that stand."""
        return self._of(batch)[1]

    def writer(self, batch: int) -> int:
        """Who made it."""
        return self._of(batch)[2]

    def is_undo(self, batch: int) -> bool:
        """Is the batch one that `redo` is for? A restore or a rollback is undone like an edit."""
        mark = self.mark(batch)
        return mark is not None and mark.how in ("undo", "redo")

    def undid(self, batch: int) -> tuple[int, ...]:
        """The batches that this one undid."""
        mark = self.mark(batch)
        return () if mark is None else tuple(b for b in mark.undone if b < batch)

    def undoers(self, batch: int) -> list[int]:
        """The batches that undid this one, in force or not, newest first; abandoned ones never were."""
        if batch not in self._undoers:
            self._undoers[batch] = self._not_abandoned(self.history.undoers(batch))
        return self._undoers[batch]

    def _not_abandoned(self, batches: Iterable[int]) -> list[int]:
        return [batch for batch in batches if self.history.batch_state(batch) != "abandoned"]

    def standing_undoers(self, batch: int) -> list[int]:
        """Those of them that are in force."""
        return [by for by in self.undoers(batch) if self.in_force(by)]

    def in_force(self, batch: int) -> bool:
        """Is the batch not undone?"""
        if batch not in self._in_force:
            self._in_force[batch] = not self.undoers(batch) or self.history.undone_by(batch) is None
        return self._in_force[batch]

    def stands(self, batch: int, in_path: Fits) -> bool:
        """Did the batch change a file that is meant, and was it not undone there?"""
        undone = self._undone_at(batch)
        return any(in_path(path) and not undone(path) for path, _ in self.starts(batch))

    def undone(self, batch: int, in_path: Fits) -> bool:
        """Did the batch change a file that is meant, and was it undone there?"""
        undone = self._undone_at(batch)
        return any(in_path(path) and undone(path) for path, _ in self.starts(batch))

    def _undone_at(self, batch: int) -> Fits:
        marks = (self.mark(by) for by in self.standing_undoers(batch))
        filters = [in_paths(mark.paths, self.history) for mark in marks if mark is not None]
        return lambda path: any(fits(path) for fits in filters)

    def _of(self, batch: int) -> tuple[BatchUndone | None, tuple[tuple[str, int], ...], int]:
        if batch not in self._records:
            self._take(batch, self.history.batch(batch))
        return self._records[batch]

    def _take(self, batch: int, records: Iterable[Record]) -> None:
        mark: BatchUndone | None = None
        places: list[tuple[str, int]] = []
        writer = 0
        for record in records:
            writer = record.writer
            if record.kind == BatchUndone.kind:
                event = record.event()
                mark = event if isinstance(event, BatchUndone) else None
            places += _places(record)
        stand = tuple((path, seq) for path, seq in places if _stands(self.history.version(path, seq)))
        self._records[batch] = mark, stand, writer


def _places(record: Record) -> Iterator[tuple[str, int]]:
    """(path, seq) of what a record changed."""
    if record.kind in VERSION_KINDS:
        yield from ((path, record.seq) for path in paths_of(record.event()))


def _stands(version: Version | None) -> bool:
    """Is it one of a file? Empty folders are recorded so that the tree can be told, and left alone by undo."""
    return version is not None and not version.displaced and version.entry != FOLDER


def in_paths(given: Sequence[str], history: History) -> Fits:
    """Does a path match one of these files, folders and globs? Where there is none, every path does."""
    if not given:
        return lambda path: True
    filters = [path_filter(one, history) for one in given]
    return lambda path: any(fits(path) for fits in filters)


def _choose_restore(params: RestoreParams, history: History) -> Choice:
    asked = named_paths(params.path, params.paths)
    if not params.at:
        raise Refused("schema_invalid", "at: is missing; name the point to go back to.", argument="at")
    if not asked:
        raise Refused("schema_invalid", "path: is missing; name what to restore, `.` for everything.", argument="path")
    return Choice("restore", at=parse_point(params.at, history), paths=asked)


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
