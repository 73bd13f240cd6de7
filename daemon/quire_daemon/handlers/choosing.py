"""What an undo is about: the batches that are chosen, and what their files come to without them.

Whose work is chosen: that of the caller, unless `writer`, `agent_session` or `batch` names another's. Everything in
here is asked of the journal alone, so that the app learns from it which files a decision must see (`paths_of`).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import msgspec

from quire_daemon.handlers.base import Implied, Who
from quire_daemon.handlers.log_filter import VERSION_KINDS, named_burst, path_filter, single_path, writer_filter
from quire_journal.blobs import NotHeld
from quire_journal.carry import changes
from quire_journal.events import FOLDER, REGULAR, BatchUndone, Record
from quire_journal.history import History
from quire_journal.ids import parse_version_token, version_token, writer_name
from quire_journal.marking import Marked, mark, place_after
from quire_journal.points import parse_point
from quire_journal.refusals import Refused
from quire_journal.unwind import Life, State, Step, Unwound, lives, unwind
from quire_journal.views.files import Version

Paths = tuple[str, ...]
"""Files, folders and globs; none stands for everything."""

How = Literal["undo", "redo", "rollback", "restore"]

MAX_BATCHES: Final = 5000
"""Batches that one call undoes. To choose from so many takes seconds; how many files it may be is the disk's to say."""

MOST_STEPS: Final = 2000
"""Steps of files that one undo goes through anew to tell what stays; a batch that is not asked about is undone."""

MOST_NAME: Final = 60
"""Characters of a writer's name in conflict markers."""

SCAN_RECORDS: Final = 200_000
"""Records that are looked through for another writer's batches."""


Conflicts = Literal["skip", "markers", "abort"]
"""What becomes of a place that others built on: it stays, it is written with both sides in it, or nothing is done."""


class _Choosing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `undo` and `redo`. They narrow the choice together."""

    batch: int | str | None = None  # its number, or a version that it made
    burst: int | str | None = None  # its number
    writer: str = ""  # an agent's name, `w3`, `outside`, or `*` for everyone
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


@dataclass(frozen=True)
class Choice:
    """What is to be undone, and in which files. Small and plain, because a token carries it.

    `batches` are undone from now on, as the record of it will say: of a redo, those that undid others.
    """

    how: How
    batches: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()  # only in these; of a restore, what comes back
    at: int = 0  # of a restore
    conflicts: Conflicts = "skip"


def choose(params: Params, known: Batches, who: Who) -> Choice:
    """The choice that the arguments, or the token of a plan, stand for. Raises `Refused`."""
    history = known.history
    if params.token:
        return read_token(params.token)[0]
    if isinstance(params, RestoreParams):
        return _choose_restore(params, history)
    paths = tuple(dict.fromkeys(given for given in (params.path, *params.paths) if given))
    if isinstance(params, RollbackParams):
        batches = _matching(_rollback_as_undo(params), known, who, paths, _everything_standing)
        return Choice("rollback", batches, paths, conflicts=params.conflicts)
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
    message = "No change that is in force fits the choice: there is nothing to undo."
    if not (params.writer or params.agent_session or params.burst is not None):
        message += " It was about your own work; `writer` names another's, `*` everyone's."
    return Refused("not_found", message, "log")


def _candidates(params: _Choosing, known: Batches) -> Iterator[tuple[int, int]]:
    """(batch, writer) of the file changes within the burst and the points, newest first. Raises `Refused`."""
    history = known.history
    after = parse_point(params.from_, history) if params.from_ else 0
    upto = parse_point(params.to, history) if params.to else history.head()
    if params.burst is not None:
        for batch in reversed(history.burst_batches(named_burst(params.burst, history))):
            if after < batch <= upto:
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
            found = self.history.undoers(batch)
            self._undoers[batch] = [by for by in found if self.history.batch_state(by) != "abandoned"]
        return self._undoers[batch]

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
            mark: BatchUndone | None = None
            places: list[tuple[str, int]] = []
            writer = 0
            for record in self.history.batch(batch):
                writer = record.writer
                if record.kind == BatchUndone.kind:
                    event = record.event()
                    mark = event if isinstance(event, BatchUndone) else None
                places += _places(record)
            stand = tuple((path, seq) for path, seq in places if _stands(self.history.version(path, seq)))
            self._records[batch] = mark, stand, writer
        return self._records[batch]


def _places(record: Record) -> Iterator[tuple[str, int]]:
    """(path, seq) of what a record changed."""
    if record.kind in VERSION_KINDS:
        event = record.event()
        for name in ("path", "to"):
            path = getattr(event, name, None)
            if path is not None:
                yield path, record.seq


def _stands(version: Version | None) -> bool:
    """Is it one of a file? Empty folders are recorded so that the tree can be told, and left alone by undo."""
    return version is not None and not version.displaced and version.entry != FOLDER


def in_paths(given: Sequence[str], history: History) -> Fits:
    """Does a path match one of these files, folders and globs? Where there is none, every path does."""
    if not given:
        return lambda path: True
    filters = [path_filter(one, history) for one in given]
    return lambda path: any(fits(path) for fits in filters)


# ── what the files come to ───────────────────────────────────────────────────


class _Without:
    """The journal as if the chosen batches had not been: which steps of a file's life are undone then.

    A batch that undid others undoes nothing any more when it is undone itself. So all that is connected with the
    choice in this way is looked at together: what undid others makes no difference by itself (its steps count as
    undone), and of the other batches those are undone that are not in force then.
    """

    def __init__(self, known: Batches, choice: Choice) -> None:
        self._known, self._choice = known, choice
        self._chosen = {*choice.batches}
        self._connected = self._all_connected()
        self._filters: dict[tuple[str, ...], Callable[[str], bool]] = {}
        self._stands: dict[tuple[int, str], bool] = {}
        marks = (known.mark(batch) for batch in self._connected)
        self._by_path = bool(choice.paths) or any(mark is not None and mark.paths for mark in marks)

    def _all_connected(self) -> set[int]:
        found = {*self._chosen}
        todo = [*self._chosen]
        while todo:
            batch = todo.pop()
            for other in (*self._known.undoers(batch), *self._known.undid(batch)):
                if other not in found:
                    found.add(other)
                    todo.append(other)
        return found

    def lives(self) -> list[Life]:
        """The lives of the files that the choice is about, with what is undone in each."""
        known = self._known
        in_path = self._filter(self._choice.paths)
        wanted = [(p, s) for batch in self._choice.batches for p, s in known.starts(batch) if in_path(p)]
        others = [(p, s) for b in self._connected - self._chosen for p, s in known.starts(b) if self._undone(b, p)]
        found = lives(known.history, [*wanted, *others], lambda version: version.batch in self._connected)
        if others:
            about = {*wanted}
            found = [life for life in found if any((p, s.seq) in about for s in life.steps for p in _names(s))]
        return [self._flagged(life) for life in found]

    def _flagged(self, life: Life) -> Life:
        steps = tuple(
            step if not step.undone or self._undone(_batch(step), step.after.path) else replace(step, undone=False)
            for step in life.steps
        )
        return Life(steps)

    def _undone(self, batch: int, path: str) -> bool:
        return batch in self._chosen or bool(self._known.undid(batch)) or not self._in_force(batch, path)

    def _in_force(self, batch: int, path: str) -> bool:
        """Is the batch in force at this path when the chosen ones are undone?"""
        key = (batch, path if self._by_path else "")
        if key not in self._stands:
            todo = [batch]  # without recursion: undo and redo can follow each other a thousand times
            while todo:
                at = todo[-1]
                if (at, key[1]) in self._stands:
                    todo.pop()
                    continue
                deciding = () if at in self._chosen else [by for by in self._known.undoers(at) if self._meant(by, path)]
                unknown = [by for by in deciding if (by, key[1]) not in self._stands]
                if unknown:
                    todo += unknown
                else:
                    stands = at not in self._chosen and not any(self._stands[by, key[1]] for by in deciding)
                    self._stands[at, key[1]] = stands
        return self._stands[key]

    def _meant(self, undoer: int, path: str) -> bool:
        """Did that batch undo what is at this path, too?"""
        mark = self._known.mark(undoer)
        return mark is None or self._filter(mark.paths)(path)

    def _filter(self, paths: tuple[str, ...]) -> Callable[[str], bool]:
        if paths not in self._filters:
            self._filters[paths] = in_paths(paths, self._known.history)
        return self._filters[paths]


def _batch(step: Step) -> int:
    return step.after.version.batch if step.after.version is not None else 0


def _names(step: Step) -> tuple[str, str]:
    return step.before.path, step.after.path


def _unwound(known: Batches, choice: Choice) -> list[Unwound]:
    """What the files of the chosen batches come to without them."""
    found = [unwind(known.history, life) for life in _Without(known, choice).lives()]
    if choice.how != "redo":
        return found
    # What undid others may have been about files that the chosen batch never touched: they stay as they are.
    return [u for u in found if not is_now(u) or u.conflicts or u.missing]


def _restored(history: History, choice: Choice) -> list[Unwound]:
    """The chosen files as they were at the point."""
    found: list[Unwound] = []
    paths = _restore_paths(history, choice)
    inhabited = {path[:at] for path in paths for at, c in enumerate(path) if c == "/"}
    for path in paths:
        now, then = State(path, history.file(path)), State(path, history.version_at(path, choice.at))
        if then.version is None or not then.present:
            found.append(_left_alone(now, "not_there_then"))
        elif _same_link(now.version, then.version) or (then.version.entry == FOLDER and path in inhabited):
            found.append(_left_alone(now, ""))  # a folder comes with what is in it
        elif then.version.entry != REGULAR and not now.present and (not then.blob or history.holds(then.blob)):
            found.append(Unwound(now, True, path, then.version.mode, then.blob, entry=then.version.entry))
        elif then.version.entry != REGULAR:
            found.append(_left_alone(now, "not_a_file"))
        elif then.version.uncaptured or not history.holds(then.blob):
            found.append(_left_alone(now, "uncaptured", then.blob))
        else:
            found.append(Unwound(now, True, path, then.version.mode, then.blob))
    return found


def _same_link(now: Version | None, then: Version) -> bool:
    """Is a link or a folder, which is never put in the place of another, what it was?"""
    if now is None or now.gone or then.entry == REGULAR:
        return False
    return now.seq == then.seq or ((now.entry, now.blob) == (then.entry, then.blob) and not now.uncaptured)


def _left_alone(now: State, why: str, needed: bytes = b"") -> Unwound:
    mode = now.version.mode if now.version is not None else 0
    return Unwound(now, now.present, now.path, mode, now.blob, missing=why, needed=needed)


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


def outcome(known: Batches, choice: Choice, who: Who) -> list[Unwound]:
    """What the chosen files come to. Raises `Refused` for a restore of what was not there."""
    if choice.how == "restore":
        return _restored(known.history, choice)
    found = _unwound(known, choice)
    return [_with_markers(u, known.history, who) for u in found] if choice.conflicts == "markers" else found


# ── what stays in force ──────────────────────────────────────────────────────


def stayed(known: Batches, choice: Choice, found: Sequence[Unwound], skipped: Sequence[bool]) -> tuple[int, ...]:
    """The chosen batches of which nothing comes out, in the order of the choice: they are in force as before.

    `found` is the outcome, and `skipped` says of each file whether it is left alone. A redo and conflict markers leave
    nothing: what is in the way of a redo was not undone by others, and markers hold both sides.
    """
    if choice.how not in ("undo", "rollback") or choice.conflicts == "markers":
        return ()
    if not any(skipped) and not any(u.conflicts for u in found):
        return ()
    return _Staying(known, choice, found, skipped).batches()


class _Staying:
    """Tells what stays by leaving batches out: what comes to the same with fewer conflicts made no difference."""

    def __init__(self, known: Batches, choice: Choice, found: Sequence[Unwound], skipped: Sequence[bool]) -> None:
        self._known, self._choice = known, choice
        self._files = list(zip(_Without(known, choice).lives(), found, skipped, strict=True))
        self._touched: dict[int, set[int]] = {}  # by batch: which of the files it is undone in
        for number, (life, _, _) in enumerate(self._files):
            for step in life.steps:
                if step.undone:
                    self._touched.setdefault(step.batch, set()).add(number)
        self._out: set[int] = set()
        self._conflicts = [len(u.conflicts) for u in found]  # of each file, when those are left out
        self._steps = 0

    def batches(self) -> tuple[int, ...]:
        """Those of which nothing comes out."""
        self._try([batch for batch in self._choice.batches if self._may_stay(batch)])
        eased = [
            skipped or n < len(u.conflicts) for (_, u, skipped), n in zip(self._files, self._conflicts, strict=True)
        ]
        return tuple(b for b in self._choice.batches if b in self._out and all(eased[n] for n in self._touched[b]))

    def _may_stay(self, batch: int) -> bool:
        """Is all that it did in files where something stays, and is it in force by itself?"""
        known, choice = self._known, self._choice
        if known.undid(batch) or {*known.undoers(batch)} & {*choice.batches}:
            return False
        touched = self._touched.get(batch, set())
        if not touched or known.undone(batch, in_paths(choice.paths, known.history)):
            return False
        return all(self._stuck(batch, number) for number in touched)

    def _stuck(self, batch: int, number: int) -> bool:
        """Are all the places of a file that the batch changed among those where something stays?

        A cheap look at where they are now; only what passes it is tried.
        """
        life, found, skipped = self._files[number]
        if skipped or not found.conflicts:
            return skipped
        if not all(conflict.lines for conflict in found.conflicts):
            return True
        ranges = [lines for conflict in found.conflicts for lines in conflict.lines]
        steps = (step for step in life.steps if step.undone and step.batch == batch)
        try:
            places = [place for step in steps for place in self._places_now(step, found.now)]
        except NotHeld:
            return True
        return all(any(start <= b and a <= stop for a, b in ranges) for start, stop in places)

    def _places_now(self, step: Step, now: State) -> Iterator[tuple[int, int]]:
        """Where the lines are now that a step changed."""
        if not (step.before.present and step.after.present and now.present) or step.before.blob == step.after.blob:
            return
        text_of = self._known.history.text_of
        after = text_of(step.after.blob)
        since, shift = changes(after, text_of(now.blob)), 0
        for splice in changes(text_of(step.before.blob), after):
            start = splice.start + shift
            yield place_after(since, start, start + len(splice.lines))
            shift += splice.shift

    def _try(self, candidates: Sequence[int]) -> None:
        """Leave out as many as make no difference. They are tried together first: mostly all or none of many do."""
        todo = [candidates] if candidates else []
        while todo and self._steps < MOST_STEPS:
            group = todo.pop()
            left = self._left_with({*group})
            if left is not None:
                self._out |= {*group}
                for number, conflicts in left.items():
                    self._conflicts[number] = conflicts
            elif len(group) > 1:
                half = len(group) // 2
                todo += [group[half:], group[:half]]  # the newest first: older ones may stay only below them

    def _left_with(self, group: set[int]) -> dict[int, int] | None:
        """How many conflicts each file has when these are left out, too. None when a file comes to something else."""
        left: dict[int, int] = {}
        for number in {n for batch in group for n in self._touched[batch]}:
            life, was, skipped = self._files[number]
            if skipped:
                continue
            self._steps += len(life.steps)
            kept = self._out | group
            steps = tuple(replace(s, undone=s.undone and s.batch not in kept) for s in life.steps)
            now = unwind(self._known.history, Life(steps))
            same = (now.present, now.path, now.mode, now.blob) == (was.present, was.path, was.mode, was.blob)
            if not same or now.missing or len(now.conflicts) > self._conflicts[number]:
                return None
            left[number] = len(now.conflicts)
        return left


def _with_markers(u: Unwound, history: History, who: Who) -> Unwound:
    """The file with both sides in each place that others built on. Whole files stay as they are."""
    places = [(conflict, conflict.place) for conflict in u.conflicts if conflict.place is not None]
    if not places or not u.present or not u.now.present:
        return u
    now = history.text_of(u.now.blob)
    rest = u.made if u.made is not None else history.text_of(u.blob)
    since = changes(now, rest)
    by = plain_name(who.agent or writer_name(who.writer))
    marked = []
    for conflict, place in places:
        start, stop = place_after(since, place.start, place.stop)
        sides = f"undone by {by}", _blocker(conflict.seq, history)
        marked.append(Marked(replace(place, start=start, stop=stop), *sides))
    made = mark(rest, sorted(marked, key=lambda one: (one.place.start, one.place.stop)))
    return replace(u, blob=made.blob, made=made)


def _blocker(seq: int, history: History) -> str:
    """`w3 (ben) v812`: whose lines stand there."""
    record = history.record(seq)
    if record is None:
        return version_token(seq)
    writer = history.writer(record.writer)
    agent = f" ({plain_name(writer.agent)})" if writer is not None and writer.agent else ""
    return f"{writer_name(record.writer)}{agent} {version_token(seq)}"


def plain_name(name: str) -> str:
    """A name that a caller gave itself, as it may stand in somebody's file."""
    return "".join(c for c in name if c.isprintable())[:MOST_NAME]


def is_now(unwound: Unwound) -> bool:
    """Is the file like that already?"""
    now = unwound.now
    if not unwound.present or not now.present:
        return unwound.present == now.present
    mode = now.version.mode if now.version is not None else 0
    return (unwound.path, unwound.mode, unwound.blob) == (now.path, mode, now.blob)


@dataclass(frozen=True)
class Foreseen:
    """What a call is about and what its files come to, as the journal has it up to record `head`."""

    params: Params
    head: int
    choice: Choice
    found: Sequence[Unwound]


def foresee(params: Params, known: Batches, who: Who) -> Foreseen:
    """The choice that the arguments stand for, and what comes of it. Raises `Refused`."""
    choice = choose(params, known, who)
    return Foreseen(params, known.history.head(), choice, outcome(known, choice, who))


def implied_by(params: Params, history: History, who: Who) -> Implied:
    """The paths that a decision must see. A refusal is left to the decision."""
    try:
        seen = foresee(params, Batches(history), who)
    except Refused:
        return Implied()
    return Implied(list(dict.fromkeys(path for u in seen.found for path in (u.now.path, u.path))), seen)


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
