"""Arguments of `undo`, `redo`, `rollback` and `restore`, and the batches that these select."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from heapq import merge
from itertools import repeat, takewhile
from typing import Final, Literal

import msgspec

from quire_daemon.core import Who, require_in_bounds
from quire_daemon.tools.history import (
    ME,
    VERSION_KINDS,
    in_session,
    is_unclaimed,
    named_burst,
    named_paths,
    nobody,
    require_one_session,
    single_path,
    spelled_out,
    writer_filter,
)
from quire_daemon.tools.undo.batches import Batches, Fits, in_paths
from quire_daemon.tools.undo.joint_batches import JointBatches
from quire_journal.history import History, blame, is_by_git, parse_point, require_not_lost
from quire_journal.history.stories import GIT, Story, StoryQuery, story_page
from quire_journal.model import (
    CAPTURED,
    DURING,
    OUTSIDE,
    REGULAR,
    SCANNED,
    Record,
    Refusal,
    Seq,
    WorkRejected,
    counted,
    parse_version_token,
    paths_of,
)
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import Along, carry_ranges, changes, place_after
from quire_journal.views import BELONGING, standing

Paths = tuple[str, ...]
"""Files, folders and globs; empty means everything."""

How = Literal["undo", "redo", "rollback", "restore"]

MAX_BATCHES: Final = 5000
"""Maximum number of batches that one call undoes; selecting that many takes seconds."""

SCAN_RECORDS: Final = 200_000

GIT_STORIES: Final = 50
"""Maximum number of git commands that are looked through for one that wrote."""

MOST_LEFT_OUT: Final = 5

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


class _Choosing(_GoingBack, frozen=True, kw_only=True, forbid_unknown_fields=True):
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


class UndoParams(_Choosing, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `undo`. The default is the caller's last call."""

    lines: str = ""  # lines of `path`, `10` or `10-24`
    git: Literal["", "last"] = ""  # what the last command of git wrote into the tree
    rejected: list[int] = []  # rejections (`WorkRejected`), which name files, lines and batches


class RedoParams(_Choosing, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `redo`: undone batches to bring back, or undoing batches to take back. The default is the caller's
    last undo.
    """


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


# ── what is chosen ───────────────────────────────────────────────────────────


class Choice(msgspec.Struct, frozen=True):
    """What to undo, and in which files; small, because a token carries it.

    For a redo, `batches` are the undoing batches.
    """

    how: How
    batches: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()  # only in these files; for a restore, the files to bring back
    at: int = 0  # the point of a restore or rollback
    conflicts: Conflicts = "skip"
    left_out: tuple[int, ...] = ()  # probable batches, and those of `quire setup`
    lines: tuple[int, int] | None = None  # lines of the only file, 0-based and half-open
    places: tuple[tuple[str, tuple[tuple[int, int], ...]], ...] = ()  # the same of some files, for rejections
    rejections: tuple[int, ...] = ()

    @property
    def partial(self) -> bool:
        """True if only some lines are undone, so that the batches stay in force."""
        return self.lines is not None or bool(self.rejections)


def choose(params: Params, known: Batches, who: Who) -> Choice:
    """The choice that the arguments or a plan token mean. Raises `Refusal`."""
    history = known.history
    if params.token is not None:
        return read_token(params.token)[0]
    params = spelled_out(params, history)
    if isinstance(params, _Choosing) and params.turn and not (params.writer or params.agent_session or who.agent):
        require_one_session(params.turn, history)
    if isinstance(params, RestoreParams):
        return _choose_restore(params, history)
    paths = named_paths(params.path, params.paths)
    if isinstance(params, RollbackParams):
        undo = _rollback_as_undo(params)
        point = parse_point(params.to, history, "to")
        require_not_lost(history, point, params.to)
        batches, left_out = _matching(undo, known, who, paths, _everything_standing)
        return Choice("rollback", batches, paths, point, params.conflicts, left_out)
    if isinstance(params, RedoParams):
        batches, paths = _choose_redo(params, known, who, paths)
        return Choice("redo", batches, paths, conflicts=params.conflicts)
    if params.rejected:
        return _choose_rejected(params.rejected, history)
    if params.lines:
        return _choose_lines(params, known, who, paths)
    if params.batch is not None:
        batches, left_out = _named(params, known, who, paths)
    elif _wide(params):
        batches, left_out = _matching(params, known, who, paths, _edits_standing)
    else:
        batches, left_out = _own_last(params, known, who, paths)
    return Choice("undo", batches, paths, conflicts=params.conflicts, left_out=left_out)


_LINES: Final = re.compile(r"(\d{1,9})(?:[-:,](\d{1,9}))?", re.ASCII)


def _choose_lines(params: UndoParams, known: Batches, who: Who, paths: Paths) -> Choice:
    """The batches that put these lines here, of the named writer or else of their only author.

    The batch that made the file is meant only if no later one wrote any of the lines.
    """
    history, parsed = known.history, _LINES.fullmatch(params.lines)
    path = single_path(paths[0], history) if len(paths) == 1 else None
    if parsed is None or not 0 < int(parsed[1]) <= int(parsed[2] or parsed[1]):
        raise Refusal("schema_invalid", f"lines: {params.lines[:40]!r} names no lines; 10-24 does.", argument="lines")
    if path is None or params.batch is not None or params.burst is not None or params.last is not None:
        raise Refusal("schema_invalid", "lines: they want one file as path, and at most a writer.", argument="lines")
    version = standing(history.file(path))
    if version is None or version.entry != REGULAR:
        raise Refusal("not_found", f"The journal knows no file {path}.", "check_path", path=path)
    first, last = int(parsed[1]) - 1, int(parsed[2] or parsed[1])
    try:
        known_lines = blame(history, path, version)
    except NotHeld:
        raise Refusal("uncaptured", f"The bytes of {path} are not in the journal.", path=path) from None
    if not known_lines.origins[first:last]:
        raise Refusal("not_found", f"There is no line {first + 1} in {path}.", "re-read_file", path=path)
    anyone = msgspec.structs.replace(params, writer=params.writer or "*")
    fits = _writer_choice(anyone, history, who)
    names = (path, *known_lines.names)
    found = [  # a line that an equal file had before has its author there: what counts is who put it here
        one.version if one.brought is None or one.path in names else one.brought
        for one in known_lines.origins[first:last]
    ]
    found = [one for one in found if one.base] or found
    wrote = {one.seq: one for one in found if one.writer != OUTSIDE or one.evidence not in FOUND}
    if not params.writer and any(one.writer != OUTSIDE for one in wrote.values()):
        wrote = {seq: one for seq, one in wrote.items() if one.writer != OUTSIDE}
    meant = [one for one in wrote.values() if fits(one.writer)]
    sure = [one for one in meant if not params.writer or params.probable or one.evidence != DURING]
    batches = sorted({one.batch for one in sure}, reverse=True)
    said, were = f"Lines {params.lines} of {path}", "were"
    if last == first + 1:
        said, were = f"Line {first + 1} of {path}", "was"
    if not batches:
        why = f"{were} not written by {params.writer}" if wrote else f"{were} there before anybody was seen to write it"
        message = f"{said} {why}.{may_be_meant([one.batch for one in meant], known)}"
        raise Refusal("not_found", message, "log", path=path)
    callers = {history.caller_of(one.writer): history.named(one.writer) for one in wrote.values()}
    if len(callers) > 1 and not params.writer:
        writers = " and ".join(sorted({*callers.values()}))
        message = f"{said} {were} written by {writers}: `writer` says whose work is meant, `*` everyone's."
        raise Refusal("schema_invalid", message, "narrow_the_choice", argument="writer")
    return Choice("undo", tuple(batches), (path,), conflicts=params.conflicts, lines=(first, last))


def _choose_rejected(seqs: Sequence[int], history: History) -> Choice:
    """The batches and places that rejections name; the places are those of the files now."""
    batches, places, whole = set[int](), dict[str, list[tuple[int, int]]](), list[str]()
    for seq in seqs:
        event = history.event(seq)
        if not isinstance(event, WorkRejected):
            raise Refusal("not_found", f"There is no rejection {seq}.", "log", argument="rejected")
        batches |= {*event.batches}
        if event.places:
            places.setdefault(event.path, []).extend(places_now(event, history))
        else:
            whole.append(event.path)
    fitting = {path: found for path, found in places.items() if found}
    paths = tuple(dict.fromkeys((*whole, *fitting)))
    if not paths:
        raise Refusal("not_found", "What was rejected is not there any more.", "log")
    found = tuple((path, tuple(sorted({*some}))) for path, some in fitting.items() if path not in whole)
    return Choice("undo", tuple(sorted(batches, reverse=True)), paths, places=found, rejections=tuple(seqs))


def places_now(event: WorkRejected, history: History) -> list[tuple[int, int]]:
    """The lines of rejected places in the file now."""
    then, now = history.version(event.path, event.version), standing(history.file(event.path))
    if then is None or now is None or then.entry != REGULAR or now.entry != REGULAR:
        return []
    if then.blob == now.blob:
        return [*event.places]
    a, b = history.text_held(then.blob), history.text_held(now.blob)
    if a is None or b is None or a.binary or b.binary:
        return []
    since = Along(splices := changes(a, b))
    removals = [place_after(since, start, stop) for start, stop in event.places if start == stop]
    return [*carry_ranges(splices, [one for one in event.places if one[0] < one[1]]), *removals]


FOUND: Final = (CAPTURED, SCANNED)


def several(named: int | str | list[int | str] | None) -> list[int | str]:
    """One or several values as a list."""
    return [] if named is None else named if isinstance(named, list) else [named]


def _rollback_as_undo(params: RollbackParams) -> UndoParams:
    if not params.to:
        raise Refusal("schema_invalid", "to: is missing; name the point to go back to.", argument="to")
    if params.only and params.writer and params.only != params.writer:
        raise Refusal("schema_invalid", "only: means the same as `writer`; give one of them.", argument="only")
    return UndoParams(writer=params.only or params.writer, from_=params.to, probable=params.probable)


def _wide(params: _Choosing) -> bool:
    named = params.writer or params.agent_session or params.turn or params.from_ or params.to or _of_git(params)
    return bool(named) or params.burst is not None


def _named_batch(params: _Choosing, named: int | str, known: Batches, who: Who) -> int:
    """The batch with this number or version, if it fits the other arguments."""
    history = known.history
    seq = named if isinstance(named, int) else parse_version_token(named)
    if seq is None and isinstance(named, str) and named.isascii() and named.isdigit():
        seq = int(named[:19])
    if seq is None:
        raise Refusal("schema_invalid", f"batch: {named!r} is neither a number nor a version.", argument="batch")
    record = history.record(seq)
    if record is None:
        what = "batch" if str(named).isdigit() else "version"
        raise Refusal("not_found", f"There is no {what} {named}.", "log", batch=named)
    if _wide(params) and not _is_of(params, record.batch, known, who):
        message = f"Batch {record.batch} is none of those that the other arguments name; leave out one or the other."
        raise Refusal("not_found", message, "log", batch=record.batch)
    return record.batch


def _named(params: _Choosing, known: Batches, who: Who, paths: Paths) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(the named batches, those that may be meant); a version means all that stands of what its call wrote."""
    in_path, joint = in_paths(paths, known.history), JointBatches(known)
    found: set[int] = set()
    left_out: set[int] = set()
    for one in several(params.batch):
        batch = _named_batch(params, one, known, who)
        found.add(batch)
        if not _is_token(one):
            continue
        unsure = params.probable or joint.is_probable(batch)
        for other in joint.of(batch):
            if (
                other != batch
                and known.stands(other, in_path)
                and (not _wide(params) or _is_of(params, other, known, who))
            ):
                (left_out if joint.is_probable(other) and not unsure else found).add(other)
    _require_not_too_many(found)
    return tuple(sorted(found, reverse=True)), tuple(sorted(left_out - found, reverse=True))


def _is_token(named: int | str) -> bool:
    """True for a version as `log` shows it: `v12`."""
    return isinstance(named, str) and parse_version_token(named) is not None


def _require_not_too_many(batches: Collection[int]) -> None:
    if len(batches) > MAX_BATCHES:
        message = f"That is more than {MAX_BATCHES:,} writes at once; `last` takes the newest of them."
        raise Refusal("schema_invalid", message, "narrow_the_choice")


def _is_of(params: _Choosing, batch: int, known: Batches, who: Who) -> bool:
    """True if the batch fits all arguments but the number; any writer fits unless one is named."""
    anyone = msgspec.structs.replace(params, writer=params.writer or "*")
    if not _writer_choice(anyone, known.history, who)(known.writer(batch)):
        return False
    if not params.from_ and not params.to and params.burst is None:
        return True
    newest_first = (found for found, _, _ in _candidates(params, known))
    return batch in takewhile(lambda found: found >= batch, newest_first)


def _own_last(
    params: _Choosing, known: Batches, who: Who, paths: Sequence[str]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    wanted, joint = _wanted(params), JointBatches(known)
    in_path = in_paths(paths, known.history)
    found: dict[int, None] = {}
    may_be: dict[int, None] = {}
    calls = 0
    proved = (batch for batch in known.history.last_batches(who.key, MAX_BATCHES) if _is_done(known, who, batch))
    probable = known.history.probable_batches(who.key, MAX_BATCHES)
    for batch, sure in merge(zip(proved, repeat(True)), zip(probable, repeat(False)), reverse=True):
        if calls == wanted:
            break
        if batch in found or not known.stands(batch, in_path):
            continue
        if not (sure or params.probable):
            may_be[batch] = None
            continue
        if found and len(found) + len(joint.of(batch)) > MAX_BATCHES:
            break
        calls += 1
        for one in joint.of(batch):
            if one == batch or known.stands(one, in_path):
                unsure = one != batch and joint.is_probable(one) and not params.probable
                (may_be if unsure else found)[one] = None
    _require_not_too_many(found)
    if not found:
        where = f" in {', '.join(paths)}" if paths else ""
        told = may_be_meant([*may_be], known)
        raise Refusal("not_found", f"There is nothing of yours to undo{where}.{told}", "log")
    return tuple(sorted(found, reverse=True)), tuple(may_be)


def _is_done(known: Batches, who: Who, batch: int) -> bool:
    """True for what a bare undo can take back: an edit, or a redo of what another did; a redo of one's own edit leaves
    the edit itself to be taken back.
    """
    mark = known.mark(batch)
    if mark is None or not known.is_undo(batch):
        return True
    if mark.how != "redo":
        return False
    edits = (edit for undo in known.undid(batch) for edit in known.undid(undo))
    return any(not known.is_undo(edit) and not _is_own(known.history, who, known.writer(edit)) for edit in edits)


def may_be_meant(batches: Sequence[int], known: Batches) -> str:
    """Sentences about writes that an undo leaves out: probable ones and those of `quire setup`; "" for none."""
    own = [batch for batch in batches if known.is_setup(batch)]
    told = _sentence([batch for batch in batches if batch not in own], known)
    if own:
        names = list(dict.fromkeys(path for batch in own for path, _ in known.starts(batch)))
        told += f" What `quire setup` wrote stays ({_some(names)}): `quire unsetup AGENT` takes it out."
    return told


def _sentence(batches: Sequence[int], known: Batches) -> str:
    if not batches:
        return ""
    names = list(dict.fromkeys(path for batch in batches for path, _ in known.starts(batch)))
    written = counted(len(batches), "write is", "writes are")
    return f" {written} only probably meant ({_some(names)}): `--probable` takes them back, too."


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_LEFT_OUT} more" if len(names) > MOST_LEFT_OUT else ""
    return ", ".join(names[:MOST_LEFT_OUT]) + more


def _wanted(params: _Choosing) -> int:
    wanted = 1 if params.last is None else params.last
    require_in_bounds("last", wanted, MAX_BATCHES)
    return wanted


def _choose_redo(params: RedoParams, known: Batches, who: Who, paths: Paths) -> tuple[tuple[int, ...], Paths]:
    if params.batch is not None:
        asked = [(one, _named_batch(params, one, known, who)) for one in several(params.batch)]
        joint, in_path = JointBatches(known), in_paths(paths, known.history)
        together = (other for one, batch in asked if _is_token(one) for other in joint.of(batch))
        named = [*dict.fromkeys((*(batch for _, batch in asked), *(b for b in together if known.undone(b, in_path))))]
        if all(map(known.undid, named)):
            return tuple(sorted({*named}, reverse=True)), paths
        if standing_now := [batch for batch in named if known.in_force(batch)]:
            batch = standing_now[0]
            raise Refusal("not_found", f"Batch {batch} is in force: there is nothing to redo.", "log", batch=batch)
        return _bringing_back(named, known, paths)
    if _wide(params):
        undone = msgspec.structs.replace(
            params, probable=True
        )  # a redo brings back whatever an undo took, probable or not
        return _bringing_back(_matching(undone, known, who, paths, _edits_undone)[0], known, paths)
    return _last_undos(_wanted(params), known, who, paths), paths


def _last_undos(wanted: int, known: Batches, who: Who, paths: Sequence[str]) -> tuple[int, ...]:
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
        raise Refusal("not_found", "There is no undo of yours to take back.", "log")
    return tuple(found)


def _bringing_back(wanted: Sequence[int], known: Batches, paths: Paths) -> tuple[tuple[int, ...], Paths]:
    """The batches and files to undo so that exactly `wanted` come back; other batches that the undos of `wanted` had
    undone are undone anew.
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
    raise Refusal(
        "conflict", f"{message} Name the undo itself, or fewer files.", "narrow_the_choice", undone_by=undoing
    )


def _undone_there(known: Batches, batch: int, undoing: Sequence[int], paths: Paths) -> bool:
    inside = in_paths(paths, known.history)
    marks = (mark for mark in map(known.mark, undoing) if mark is not None and batch in mark.undone)
    filters = [in_paths(mark.paths, known.history) for mark in marks]
    return all(any(fits(path) for fits in filters) for path, _ in known.starts(batch) if inside(path))


_Admits = Callable[["Batches", int, Fits, set[int]], bool]
"""Decides whether a batch is admitted; the set holds the newer batches already chosen."""


def _edits_standing(known: Batches, batch: int, in_path: Fits, chosen: set[int]) -> bool:
    return not known.is_undo(batch) and _everything_standing(known, batch, in_path, chosen)


def _everything_standing(known: Batches, batch: int, in_path: Fits, chosen: set[int]) -> bool:
    """Admission for `rollback`: everything in force. A batch undone by a chosen undo would come back, so it is chosen
    too.
    """
    undone_by_chosen = not known.in_force(batch) and {*known.standing_undoers(batch)} <= chosen
    return known.stands(batch, in_path) or (undone_by_chosen and known.undone(batch, in_path))


def _edits_undone(known: Batches, batch: int, in_path: Fits, chosen: set[int]) -> bool:
    return not known.is_undo(batch) and known.undone(batch, in_path)


def _matching(
    params: _Choosing, known: Batches, who: Who, paths: Sequence[str], admits: _Admits
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(the admitted batches that fit, those that may fit), newest first.

    Batches of probable authorship fit only with `probable`, those of `quire setup` only if it is named.
    """
    history = known.history
    fits, in_path = _writer_choice(params, history, who), in_paths(paths, history)
    wanted = 0 if params.last is None else _wanted(params)
    found: list[int] = []
    left_out: list[int] = []
    chosen: set[int] = set()
    everyone = params.writer == "*"
    joint, of_wanted, calls = JointBatches(known), set[int](), 0
    for batch, writer, evidence in _candidates(params, known):
        of_wanted = {one for one in of_wanted if one <= batch}
        if calls == wanted and wanted and not of_wanted:
            break
        if calls == wanted and wanted and batch not in of_wanted:
            continue
        if not fits(writer) or not admits(known, batch, in_path, chosen):
            continue
        if everyone and known.is_setup(batch):
            left_out.append(batch)
            continue
        unsure = evidence == DURING or (params.burst is not None and evidence not in BELONGING)
        if unsure and not (everyone or _of_git(params)) and not (params.probable and evidence == DURING):
            left_out.append(batch)
            continue
        if params.last is not None and batch not in of_wanted:
            of_call = joint.of(batch)
            if found and len(found) + len(of_call) > MAX_BATCHES:
                break
            calls += 1
            of_wanted.update(of_call)
        found.append(batch)
        chosen.add(batch)
        _require_not_too_many(found)
    if not found:
        raise _nothing_fits(params, left_out, known)
    return tuple(found), tuple(left_out)


def _nothing_fits(params: _Choosing, left_out: Sequence[int], known: Batches) -> Refusal:
    unknown = nobody(params.writer, known.history)
    if unknown:
        return Refusal("not_found", f"{unknown} There is nothing to take back or to redo.", "log")
    if left_out:
        proved = "" if all(map(known.is_setup, left_out)) else " is proved to be of it"
        message = f"Nothing that fits the choice{proved or ' is to be taken back'}.{may_be_meant(left_out, known)}"
        return Refusal("not_found", message, "log", left_out=list(left_out))
    if isinstance(params, RedoParams):
        return Refusal("not_found", "Nothing that was undone fits the choice: there is nothing to redo.", "log")
    if _of_git(params):
        return Refusal("not_found", "What the last command of git wrote into the tree is not in force any more.", "log")
    message = "No change that is in force fits the choice: there is nothing to take back."
    if not (params.writer or params.agent_session or params.turn or params.burst is not None):
        message += " It was about your own work; `writer` names another's, `*` everyone's."
    return Refusal("not_found", message, "log")


def _candidates(params: _Choosing, known: Batches) -> Iterator[tuple[int, int, str]]:
    """(batch, writer, evidence) of file changes within the burst and the points, newest first."""
    history = known.history
    after = parse_point(params.from_, history, "from") if params.from_ else 0
    upto = parse_point(params.to, history, "to") if params.to else history.head()
    command = _last_of_git(after, upto, history) if _of_git(params) else None
    if command is not None:
        after, upto = Seq(command.oldest - 1), Seq(command.newest)
    if params.burst is not None:
        evidence: dict[int, str] = {}
        for one in several(params.burst):
            evidence |= history.burst_evidence(named_burst(one, history))
        evidence = dict(sorted(evidence.items()))
        within = [b for b in evidence if after < b <= upto]
        known.prepare(within)
        for batch in reversed(within):
            yield batch, known.writer(batch), evidence[batch]
        return
    seen: set[int] = set()
    for looked, record in enumerate(history.records(after=after, upto=upto, reverse=True)):
        if looked == SCAN_RECORDS:
            raise Refusal(
                "schema_invalid",
                f"The choice goes back more than {SCAN_RECORDS} records; name where it begins with `from`.",
                "narrow_the_choice",
                argument="from",
            )
        if record.kind in VERSION_KINDS and record.batch not in seen:
            if command is not None and not _is_by_command(command, record, history):
                continue
            seen.add(record.batch)
            attribution = history.attribution(record)
            if params.writer == ME and record.writer == OUTSIDE:
                if is_unclaimed(record, history):
                    yield record.batch, record.writer, DURING
            elif attribution is None:
                yield record.batch, record.writer, ""
            else:
                yield record.batch, attribution.writer, attribution.evidence


def _of_git(params: _Choosing) -> bool:
    return isinstance(params, UndoParams) and params.git == "last"


def _is_by_command(command: Story, record: Record, history: History) -> bool:
    """True if git made the record, or its story has it: untracked files of a stash come back before git shows."""
    if is_by_git(getattr(record.event(), "hint", "")):
        return True
    named = {*paths_of(record.event())}
    shown = any(run.path in named and run.first <= record.seq <= run.last for run in command.runs)
    return shown and record.writer == OUTSIDE and history.attribution(record) is None


def _last_of_git(after: int, upto: int, history: History) -> Story:
    """The story of the last command of git that wrote into the tree. Raises `Refusal`."""
    found = story_page(StoryQuery(after, upto, GIT_STORIES, forms=frozenset({GIT}), work=SCAN_RECORDS), history).stories
    story = next((one for one in found if one.writes), None)
    if story is None:
        raise Refusal("not_found", "No command of git is known that wrote into the tree.", "log")
    return story


def _writer_choice(params: _Choosing, history: History, who: Who) -> Callable[[int], bool]:
    """The writer filter: the caller by default, everyone for a turn that a person names."""
    if params.writer == "*":
        named: Callable[[int], bool] = lambda writer: True  # noqa: E731
    elif params.writer:
        named = writer_filter(params.writer, history)
    elif params.agent_session or params.burst is not None or _of_git(params) or (params.turn and not who.agent):
        named = lambda writer: True  # noqa: E731
    else:
        named = partial(_is_own, history, who)

    def fits(writer: int) -> bool:
        if not named(writer):
            return False
        if not (params.agent_session or params.turn):
            return True
        introduced = history.writer(writer)
        return (
            introduced is not None
            and (not params.agent_session or in_session(introduced, params.agent_session))
            and params.turn in ("", introduced.turn)
        )

    return fits


def _is_own(history: History, who: Who, writer: int) -> bool:
    if history.caller_of(writer) == who.key:
        return True
    child = history.writer(writer)
    return child is not None and bool(child.parent) and (child.agent, child.parent) == (who.agent, who.agent_session)


def _choose_restore(params: RestoreParams, history: History) -> Choice:
    asked = named_paths(params.path, params.paths)
    if not params.at:
        raise Refusal("schema_invalid", "at: is missing; name the point to go back to.", argument="at")
    if not asked:
        raise Refusal("schema_invalid", "path: is missing; name what to restore, `.` for everything.", argument="path")
    return Choice("restore", at=parse_point(params.at, history, "at"), paths=asked)


def require_as_planned(params: Params, planned: Choice, known: Batches, who: Who) -> None:
    """Raise `Refusal` if arguments beside a token do not cover the plan's choice."""
    paths = named_paths(params.path, params.paths)
    same = not paths or paths == planned.paths
    if isinstance(params, RestoreParams):
        same = same and (not params.at or parse_point(params.at, known.history, "at") == planned.at)
    elif isinstance(params, RollbackParams):
        same = same and (not params.to or parse_point(params.to, known.history, "to") == planned.at)
        if same and (params.writer or params.only):
            asked = msgspec.structs.replace(params, token=None, to=f"seq:{planned.at}")
            same = {*planned.batches} <= {*choose(asked, known, who).batches}
    elif same and isinstance(params, UndoParams) and params.lines:
        same = planned.lines == choose(msgspec.structs.replace(params, token=None), known, who).lines
    elif same and (_wide(params) or params.batch is not None or params.last is not None):
        asked_too = msgspec.structs.replace(params, token=None)
        same = {*planned.batches} <= {*choose(asked_too, known, who).batches}
    if not same:
        message = "token: its plan is not what the other arguments name; give it alone, or make a plan of them."
        raise Refusal("schema_invalid", message, "plan_again", argument="token")


def read_token(token: str) -> tuple[Choice, bytes]:
    """(the choice, the digest of the outcome). Raises `Refusal` for an invalid token, also an empty one: a caller that
    lost its token does not mean the default choice.
    """
    try:
        packed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        choice, digest = msgspec.msgpack.decode(packed, type=tuple[Choice, bytes])
    except (binascii.Error, ValueError, msgspec.MsgspecError) as wrong:
        raise Refusal("schema_invalid", "token: this is not the token of a plan.", argument="token") from wrong
    if len(choice.batches) > MAX_BATCHES:  # a caller can write a token by hand
        raise Refusal("schema_invalid", f"token: it names more than {MAX_BATCHES} batches.", argument="token")
    return choice, digest
