"""The batches that the arguments of `undo`, `redo`, `rollback` and `restore` select."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice, takewhile
from typing import NamedTuple

import msgspec

from quire_daemon.core import Who
from quire_daemon.tools.history import (
    Ownership,
    end_of,
    is_own,
    named_paths,
    nobody,
    require_one_session,
    single_path,
    spelled_out,
)
from quire_daemon.tools.undo.batches import Batches, Fits
from quire_daemon.tools.undo.candidates import (
    SCAN_RECORDS,
    by_git_told,
    candidates,
    claiming,
    may_be_meant,
    only_ignored,
)
from quire_daemon.tools.undo.choice import Choice, read_token
from quire_daemon.tools.undo.joint_batches import JointBatches
from quire_daemon.tools.undo.params import (
    MAX_BATCHES,
    Params,
    Paths,
    RedoParams,
    RestoreParams,
    RollbackParams,
    Selection,
    UndoParams,
    is_wide,
    of_git,
    rollback_as_undo,
    several,
    spares_git,
    wanted_calls,
)
from quire_daemon.tools.undo.places import batches_of_lines, choose_lines, choose_rejected
from quire_journal.history import History, parse_point, require_not_lost
from quire_journal.model import (
    DURING,
    BatchUndone,
    Refusal,
    parse_version_token,
)
from quire_journal.views import BELONGING


class _Chosen(NamedTuple):
    batches: tuple[int, ...]
    left_out: tuple[int, ...] = ()  # batches that may be meant
    by_git: int = 0  # number of batches of git that are left out


def choose(params: Params, known: Batches, who: Who, spent: Collection[int] = ()) -> Choice:
    """Return the choice that the arguments or a plan token mean. Batches `spent`, of which nothing is left to take
    back, do not count among the last calls. Raises `Refusal`.
    """
    history = known.history
    if params.token is not None:
        return read_token(params.token)[0]
    params = spelled_out(params, history)
    if isinstance(params, Selection) and params.turn and not (params.writer or params.agent_session or who.agent):
        require_one_session(params.turn, history)
    if isinstance(params, RestoreParams):
        return _choose_restore(params, history)
    paths = _paths_now(params, history)
    if isinstance(params, RollbackParams):
        undo = rollback_as_undo(params)
        point = parse_point(params.to, history, "to")
        require_not_lost(history, point, params.to)
        chosen = _matching(undo, known, who, paths, _everything_standing)
        return Choice("rollback", chosen.batches, paths, point, params.conflicts, chosen.left_out, by_git=chosen.by_git)
    if isinstance(params, RedoParams):
        chosen, paths = _choose_redo(params, known, who, paths)
        return Choice("redo", chosen.batches, paths, conflicts=params.conflicts, by_git=chosen.by_git)
    if params.rejected:
        return choose_rejected(params.rejected, history)
    if params.lines:
        return choose_lines(params, known, who, paths)
    if params.batch is not None:
        chosen = _named(params, known, who, paths)
    elif is_wide(params):
        chosen = _matching(params, known, who, paths, _edits_standing, spent)
    else:
        chosen = _own_last(params, known, who, paths, spent)
    return Choice(
        "undo", chosen.batches, paths, conflicts=params.conflicts, left_out=chosen.left_out, by_git=chosen.by_git
    )


def _paths_now(params: Params, history: History) -> Paths:
    """Return the named paths, with the current path in place of the path of a file that was renamed."""
    found = ((given, single_path(given, history)) for given in named_paths(params.path, params.paths))
    return tuple(given if path is None else _name_now(given, path, history) for given, path in found)


def _name_now(given: str, path: str, history: History) -> str:
    now, _ = end_of(path, history.head(), history)
    return given if now == path else now


def _named_batch(params: Selection, named: int | str, known: Batches, who: Who) -> int:
    """Return the batch with this number or version. Raises `Refusal` if there is none or it does not fit the other
    arguments.
    """
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
    if is_wide(params) and not _is_of(params, record.batch, known, who):
        message = f"Batch {record.batch} is none of those that the other arguments name; leave out one or the other."
        raise Refusal("not_found", message, "log", batch=record.batch)
    return record.batch


def _named(params: Selection, known: Batches, who: Who, paths: Paths) -> _Chosen:
    """Return the named batches; a version means all writes of its call that are in force."""
    in_path, joint = known.meant(paths), JointBatches(known)
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
                and (not is_wide(params) or _is_of(params, other, known, who))
            ):
                (left_out if joint.is_probable(other) and not unsure else found).add(other)
    _require_not_too_many(found)
    return _Chosen(tuple(sorted(found, reverse=True)), tuple(sorted(left_out - found, reverse=True)))


def _is_token(named: int | str) -> bool:
    """True for a version as `log` shows it: `v12`."""
    return isinstance(named, str) and parse_version_token(named) is not None


def _require_not_too_many(batches: Collection[int]) -> None:
    if len(batches) > MAX_BATCHES:
        message = f"That is more than {MAX_BATCHES:,} writes at once; `last` takes the newest of them."
        raise Refusal("schema_invalid", message, "narrow_the_choice")


def _is_of(params: Selection, batch: int, known: Batches, who: Who) -> bool:
    """True if the batch fits all arguments but the number; any writer fits if none is named."""
    anyone = msgspec.structs.replace(params, writer=params.writer or "*")
    record = known.write(batch)
    if record is None or claiming(anyone, known.history, who)(record) < Ownership.PROBABLE:
        return False
    if not params.from_ and not params.to and params.burst is None:
        return True
    newest_first = (record.batch for record, _ in candidates(params, known))
    return batch in takewhile(lambda found: found >= batch, newest_first)


def _own_last(params: Selection, known: Batches, who: Who, paths: Paths, spent: Collection[int]) -> _Chosen:
    wanted, joint = wanted_calls(params), JointBatches(known)
    in_path = known.meant(paths)
    found: dict[int, None] = {}
    may_be: dict[int, None] = {}
    calls = 0
    proved = ((at, True, batches) for at, batches in _own_done(known, who))
    probable = ((batch, False, (batch,)) for batch in known.history.probable_batches(who.key, MAX_BATCHES))
    for _, sure, batches in merge(proved, probable, reverse=True):
        if calls == wanted:
            break
        new = (batch for batch in batches if batch not in found and batch not in may_be and batch not in spent)
        left = [batch for batch in new if known.stands(batch, in_path)]
        if not left:
            continue
        together = [*dict.fromkeys(other for batch in left for other in joint.of(batch))]
        if found and len(found) + len(together) > MAX_BATCHES:
            break
        calls += 1  # also if nothing of it is taken back, as it is only probable
        for one in together:
            if one in left or (one not in spent and known.stands(one, in_path)):
                is_sure = sure if one in left else not joint.is_probable(one)
                (found if is_sure or params.probable else may_be)[one] = None
    _require_not_too_many(found)
    if not found:
        where = f" in {', '.join(paths)}" if paths else ""
        told = may_be_meant([*may_be], known)
        if _has_undone(known, who):
            told += " What you did last was an undo: `redo` takes it back."
        raise Refusal("not_found", f"There is nothing of yours to undo{where}.{told}", "log")
    return _Chosen(tuple(sorted(found, reverse=True)), tuple(may_be))


def _has_undone(known: Batches, who: Who) -> bool:
    """True if the caller's last batch is an undo that is in force."""
    marks = ((batch, known.mark(batch)) for batch in known.history.last_batches(who.key))
    return any(mark is not None and mark.how == "undo" and known.in_force(batch) for batch, mark in marks)


def _own_done(known: Batches, who: Who) -> Iterator[tuple[int, Sequence[int]]]:
    """Yield (batch, batches that an undo of it undoes) for the caller's edits and redos, newest first: for a redo of
    own edits what it brought back, else the batch itself.
    """
    for batch in known.history.last_batches(who.key, MAX_BATCHES):
        mark = known.mark(batch)
        if mark is None or not known.is_undo(batch):
            yield batch, (batch,)
        elif mark.how == "redo":
            edits = {edit for undo in known.undid(batch) for edit in known.undid(undo) if not known.is_undo(edit)}
            of_others = any(not is_own(known.writer(edit), who, known.history) for edit in edits)
            yield batch, (batch,) if of_others else sorted(edits, reverse=True)


def _choose_redo(params: RedoParams, known: Batches, who: Who, paths: Paths) -> tuple[_Chosen, Paths]:
    if params.batch is not None:
        asked = [(one, _named_batch(params, one, known, who)) for one in several(params.batch)]
        joint, in_path = JointBatches(known), known.meant(paths)
        together = (other for one, batch in asked if _is_token(one) for other in joint.of(batch))
        named = [*dict.fromkeys((*(batch for _, batch in asked), *(b for b in together if known.undone(b, in_path))))]
        if all(map(known.undid, named)):
            return _Chosen(tuple(sorted({*named}, reverse=True))), paths
        partly = _undone_partly(min(named), known, paths)
        if standing_now := [batch for batch in named if known.in_force(batch) and batch not in partly]:
            batch = standing_now[0]
            raise Refusal("not_found", f"Batch {batch} is in force: there is nothing to redo.", "log", batch=batch)
        batches, paths = _bringing_back(named, partly, known, paths)
        return _Chosen(batches), paths
    if is_wide(params):
        undone = msgspec.structs.replace(
            params, probable=True
        )  # a redo brings back whatever an undo took, probable or not
        after = parse_point(params.from_, known.history, "from") if params.from_ else 0
        partly = _undone_partly(after, known, paths)
        meant = _matching(undone, known, who, paths, _edits_undone(partly))
        batches, paths = _bringing_back(meant.batches, partly, known, paths)
        return _Chosen(batches, by_git=meant.by_git), paths
    return _Chosen(_last_undos(wanted_calls(params), known, who, paths)), paths


def _last_undos(wanted: int, known: Batches, who: Who, paths: Paths) -> tuple[int, ...]:
    in_path = known.meant(paths)
    found: list[int] = []
    for batch in known.history.last_batches(who.key, MAX_BATCHES):
        mark = known.mark(batch)
        if mark is None or mark.how not in ("undo", "rollback") or not known.in_force(batch):
            continue
        if any(in_path(*start) for start in known.starts(batch)):
            found.append(batch)
        if len(found) == wanted:
            break
    if not found:
        raise Refusal("not_found", "There is no undo of yours to take back.", "log")
    return tuple(found)


def _undone_partly(after: int, known: Batches, paths: Paths) -> dict[int, list[int]]:
    """Return batch → the undos in force that took back only lines of it, in the files that `paths` names."""
    in_path, found = known.meant(paths), dict[int, list[int]]()
    for record in islice(known.history.records(after=after, reverse=True), SCAN_RECORDS):
        if record.kind != BatchUndone.kind:
            continue
        by, event = record.batch, record.event()
        if not isinstance(event, BatchUndone) or event.how != "undo" or event.undone or not known.in_force(by):
            continue
        if any(in_path(*start) for start in known.starts(by)):
            for batch in batches_of_lines(by, known):
                found.setdefault(batch, []).append(by)
    return found


def _bringing_back(
    wanted: Sequence[int], partly: Mapping[int, Sequence[int]], known: Batches, paths: Paths
) -> tuple[tuple[int, ...], Paths]:
    """Return the batches and files to undo so that exactly `wanted` come back; batches that were undone together with
    `wanted` are undone anew. `partly`: batch → undos of some of its lines.
    """
    coming = {*wanted}
    of_lines = {by for batch in wanted for by in partly.get(batch, ())}
    undoing = list(
        dict.fromkeys(by for batch in wanted for by in (*known.standing_undoers(batch), *partly.get(batch, ())))
    )
    mixed = any(by in of_lines for batch, undos in partly.items() if batch not in coming for by in undos)
    besides = {b: None for by in undoing for b in known.undid(by) if b not in coming and not known.in_force(b)}
    batches = (*undoing, *(b for b in besides if b not in undoing))
    narrowed = {mark.paths for mark in map(known.mark, undoing) if mark is not None}
    for where in (paths, next(iter(narrowed)) if len(narrowed) == 1 and not paths else paths):
        if not mixed and all(_undone_there(known, batch, undoing, where) for batch in besides):
            return batches, where
    message = "What is to come back was undone together with others, and not all of it in the same files."
    raise Refusal(
        "conflict", f"{message} Name the undo itself, or fewer files.", "narrow_the_choice", undone_by=undoing
    )


def _undone_there(known: Batches, batch: int, undoing: Sequence[int], paths: Paths) -> bool:
    inside = known.meant(paths)
    marks = (mark for mark in map(known.mark, undoing) if mark is not None and batch in mark.undone)
    filters = [known.fits(mark.paths) for mark in marks]
    return all(any(fits(*start) for fits in filters) for start in known.starts(batch) if inside(*start))


_Admits = Callable[["Batches", int, Fits, set[int]], bool]
"""Decides whether a batch is admitted; the set holds the newer batches already chosen."""


def _edits_standing(known: Batches, batch: int, in_path: Fits, chosen: set[int]) -> bool:
    return not known.is_undo(batch) and _everything_standing(known, batch, in_path, chosen)


def _everything_standing(known: Batches, batch: int, in_path: Fits, chosen: set[int]) -> bool:
    """True, for a `rollback`, if the batch is in force, or would come back because all undos of it are chosen
    (`chosen`).
    """
    undone_by_chosen = not known.in_force(batch) and {*known.standing_undoers(batch)} <= chosen
    return known.stands(batch, in_path) or (undone_by_chosen and known.undone(batch, in_path))


def _edits_undone(partly: Collection[int]) -> _Admits:
    def admits(known: Batches, batch: int, in_path: Fits, chosen: set[int]) -> bool:
        return not known.is_undo(batch) and (batch in partly or known.undone(batch, in_path))

    return admits


def _matching(
    params: Selection, known: Batches, who: Who, paths: Paths, admits: _Admits, spent: Collection[int] = ()
) -> _Chosen:
    """Return the batches that the arguments and `admits` admit, newest first.

    Batches of probable authorship fit only with `probable`, those of `quire setup` only if it is named, and those of
    git not for `outside`.
    """
    history = known.history
    claim_to, in_path = claiming(params, history, who), known.meant(paths)
    wanted = 0 if params.last is None else wanted_calls(params)
    found: list[int] = []
    left_out: list[int] = []
    chosen: set[int] = set()
    everyone = params.writer == "*"
    joint, of_wanted, calls = JointBatches(known), set[int](), 0
    by_git, spared, spares = set[int](), set[int](), spares_git(params)
    is_by_git = joint.is_by_git if wanted else known.is_by_git
    for record, evidence in candidates(params, known):
        batch = record.batch
        if wanted and only_ignored(record):
            continue
        of_wanted = {one for one in of_wanted if one <= batch}
        if calls == wanted and wanted and not of_wanted:
            break
        if calls == wanted and wanted and batch not in of_wanted:
            continue
        claim = claim_to(record)
        if claim < Ownership.PROBABLE or batch in spent or not admits(known, batch, in_path, chosen):
            continue
        if spares and (batch in by_git or is_by_git(batch)):
            by_git.update(joint.of(batch))
            spared.add(batch)
            continue
        if everyone and known.is_setup(batch):
            left_out.append(batch)
            continue
        probable = claim == Ownership.PROBABLE or evidence == DURING
        unsure = not params.probable if probable else evidence not in BELONGING
        if unsure and not (everyone or of_git(params)):
            if params.last is not None and batch not in of_wanted:
                calls += 1  # one of the last, though it is not taken back
                of_wanted.update(joint.of(batch))
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
    spared |= by_git.intersection(found)
    found = [batch for batch in found if batch not in by_git]
    if not found:
        raise _nothing_fits(params, left_out, len(spared), known)
    return _Chosen(tuple(found), tuple(left_out), len(spared))


def _nothing_fits(params: Selection, left_out: Sequence[int], by_git: int, known: Batches) -> Refusal:
    unknown = nobody(params.writer, known.history)
    if unknown:
        return Refusal("not_found", f"{unknown} There is nothing to take back or to redo.", "log")
    if left_out:
        proved = "" if all(map(known.is_setup, left_out)) else " is proved to be of it"
        message = f"Nothing that fits the choice{proved or ' is to be taken back'}.{may_be_meant(left_out, known)}"
        return Refusal("not_found", message, "log", left_out=list(left_out))
    if by_git:
        told = by_git_told(by_git, "redo" if isinstance(params, RedoParams) else "undo")
        return Refusal("not_found", f"Only what git wrote fits the choice.{told}", "log", left_out_by_git=by_git)
    if isinstance(params, RedoParams):
        return Refusal("not_found", "Nothing that was undone fits the choice: there is nothing to redo.", "log")
    if of_git(params):
        return Refusal("not_found", "What the last command of git wrote into the tree is not in force any more.", "log")
    message = "No change that is in force fits the choice: there is nothing to take back."
    if not (params.writer or params.agent_session or params.turn or params.burst is not None):
        message += " It was about your own work; `writer` names another's, `*` everyone's."
    return Refusal("not_found", message, "log")


def _choose_restore(params: RestoreParams, history: History) -> Choice:
    asked = named_paths(params.path, params.paths)
    if not params.at:
        raise Refusal("schema_invalid", "at: is missing; name the point to go back to.", argument="at")
    if not asked:
        raise Refusal("schema_invalid", "path: is missing; name what to restore, `.` for everything.", argument="path")
    return Choice("restore", at=parse_point(params.at, history, "at"), paths=asked)


def require_as_planned(params: Params, planned: Choice, history: History, chosen: Callable[[Params], Choice]) -> None:
    """Raise `Refusal` if arguments beside a token name less than the plan's choice; `chosen` returns the choice of
    arguments.
    """
    paths = named_paths(params.path, params.paths) if planned.how == "restore" else _paths_now(params, history)
    same = not paths or paths == planned.paths
    if isinstance(params, RestoreParams):
        same = same and (not params.at or parse_point(params.at, history, "at") == planned.at)
    elif isinstance(params, RollbackParams):
        same = same and (not params.to or parse_point(params.to, history, "to") == planned.at)
        if same and (params.writer or params.only):
            asked = msgspec.structs.replace(params, token=None, to=f"seq:{planned.at}")
            same = {*planned.batches} <= {*chosen(asked).batches}
    elif same and isinstance(params, UndoParams) and params.lines:
        same = planned.lines == chosen(msgspec.structs.replace(params, token=None)).lines
    elif same and (is_wide(params) or params.batch is not None or params.last is not None):
        asked_too = msgspec.structs.replace(params, token=None)
        same = {*planned.batches} <= {*chosen(asked_too).batches}
    if not same:
        message = "token: its plan is not what the other arguments name; give it alone, or make a plan of them."
        raise Refusal("schema_invalid", message, "plan_again", argument="token")
