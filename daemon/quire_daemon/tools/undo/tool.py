"""`undo`, `redo`, `rollback` and `restore`: earlier states come back as new records.

All four select batches (`select`), compute the files without these (`project`), plan an action for each file (`plan`),
and carry out the actions or reply with a token. The token names the choice and a digest of the outcome, so that a later
call carries out exactly that plan or nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final, TypeVar

import msgspec

from quire_daemon.core import Decision, Tool, World, no_paths
from quire_daemon.core.replies import UnwoundReply
from quire_daemon.tools import blind_then
from quire_daemon.tools.history import and_before_it
from quire_daemon.tools.leases import lease_held
from quire_daemon.tools.undo.apply import CarryingOut
from quire_daemon.tools.undo.batches import Batches
from quire_daemon.tools.undo.candidates import by_git_told, may_be_meant
from quire_daemon.tools.undo.choice import Choice, read_token
from quire_daemon.tools.undo.emptied import emptied, left_empty
from quire_daemon.tools.undo.params import How, Params, RedoParams, RestoreParams, RollbackParams, UndoParams, of_git
from quire_daemon.tools.undo.plan import AS_THEN, UNSEEN, Action, Planner, in_order
from quire_daemon.tools.undo.project import UndoProjection, foresee, implied_by, left_alone, maker, stayed
from quire_daemon.tools.undo.report import (
    MOST_NAMED,
    SKIPPED,
    as_found_sentence,
    batches_json,
    file_json,
    lacking_sentence,
    left_out_json,
    writers_json,
)
from quire_daemon.tools.undo.select import require_as_planned
from quire_journal.history import RECORD_LOST, GitMoves, History, gaps_after, gaps_json, named, warning
from quire_journal.model import OUTSIDE, Refusal, counted, version_token

P = TypeVar("P", UndoParams, RedoParams, RollbackParams, RestoreParams)

RETRY_MS: Final = 250

TOLD_BY_A_PLAN: Final = ("conflict", "lease_held", "uncaptured")
"""Refusals that a plan reports within its reply, because they name the obstacle of each file."""


def _digest(choice: Choice, actions: Sequence[Action]) -> bytes:
    """Return the digest of everything that the plan promises."""
    told = [
        (
            a.do,
            a.unwound.now.path,
            a.unwound.now.seq,
            a.unwound.present,
            a.unwound.path,
            a.unwound.mode,
            a.unwound.blob,
            a.skipped,
            [c.seq for c in a.conflicts],
        )
        for a in actions
    ]
    return hashlib.sha256(msgspec.msgpack.encode((choice, told))).digest()[:12]


def _make_token(choice: Choice, actions: Sequence[Action]) -> str:
    packed = msgspec.msgpack.encode((choice, _digest(choice, actions)))
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


# ── the decision ─────────────────────────────────────────────────────────────


def decide(params: Params, world: World) -> Decision:
    """Undo, redo, roll back or restore, or reply with the plan. Raises `Refusal` if nothing can be done, or not
    everything and the caller wants all or nothing.
    """
    history = world.history
    known = Batches(history)
    seen = _foreseen(params, known, world)
    choice, found = seen.choice, seen.found
    if params.token is not None and choice.how != _HOW[type(params)]:
        raise Refusal("schema_invalid", f"token: it is of a plan to {choice.how}.", argument="token")
    actions = Planner(world, params.allow_uncaptured, choice.at if choice.how == "rollback" else 0).actions(found)
    if params.token is not None and _digest(choice, actions) != read_token(params.token)[1]:
        raise Refusal("plan_stale", "A file has changed since the plan was made; make a new plan.", "plan_again")
    if params.token is not None:
        require_as_planned(params, choice, history, lambda asked: foresee(asked, known, world.who).choice)
    alone = [a.left_alone for a in actions]
    staying = stayed(known, seen, alone)
    refused = _pointless(params, choice, actions, staying, world)
    if refused is not None and not (params.plan and refused.code in TOLD_BY_A_PLAN):
        try:
            raise refused
        finally:
            del refused  # the traceback would keep this frame and all texts alive
    if params.plan or params.dry_run:
        decision = Decision(_plan_reply(choice, actions, staying, known, refused))
    else:
        decision = CarryingOut(world, choice, staying, left_alone(seen, alone)).decision(actions)
        decision = msgspec.structs.replace(decision, emptied=emptied(actions, seen.lives, history))
    told = left_out_json(choice, known) | _lost_json(choice, _point(params), actions, history)
    if choice.how == "rollback" and any(known.writer(batch) == OUTSIDE for batch in choice.batches):
        left = left_empty(choice, actions, emptied(actions, seen.lives, history), history)
        told |= {"warnings": [*told.get("warnings", ()), left]} if left else {}
    if isinstance(params, UndoParams) and of_git(params):
        told |= _git_json(choice.batches, known)
    if choice.left_out or choice.by_git:
        besides = f"{may_be_meant(choice.left_out, known)}{by_git_told(choice.by_git, choice.how)}"
        told["message"] = f"{decision.reply['message']}{besides}"
    return msgspec.structs.replace(decision, reply=decision.reply | told)


def _git_json(batches: Sequence[int], known: Batches) -> dict[str, str]:
    """Return the fields `git` and `git_later` of the reply, by the newest write of the batches."""
    path, seq = max((start for batch in batches for start in known.starts(batch)), key=itemgetter(1), default=("", 0))
    version = known.history.version(path, seq) if seq else None
    command, later = ("", "") if version is None else GitMoves(known.history).around(version)
    return {name: text for name, text in (("git", command), ("git_later", later)) if text}


def _point(params: Params) -> str:
    return params.to if isinstance(params, RollbackParams) else params.at if isinstance(params, RestoreParams) else ""


def _lost_json(choice: Choice, point: str, actions: Sequence[Action], history: History) -> dict[str, Any]:
    gaps = gaps_after(history, choice.at) if choice.how == "rollback" else ()
    so = "what they did is not taken back"
    if not gaps and any(action.skipped == RECORD_LOST for action in actions):
        gaps = tuple(history.lost())
        so = "files that they may have changed are left alone"
    blind = blind_then(point, history)
    warnings = [*([warning(gaps, so)] if gaps else ()), *([blind] if blind else ())]
    return ({"gaps": gaps_json(gaps)} if gaps else {}) | ({"warnings": warnings} if warnings else {})


def _foreseen(params: Params, known: Batches, world: World) -> UndoProjection:
    seen = world.implied.thought
    if isinstance(seen, UndoProjection) and (seen.params, seen.head) == (params, known.history.head()):
        return seen
    return foresee(params, known, world.who)


def _pointless(
    params: Params, choice: Choice, actions: Sequence[Action], staying: Sequence[int], world: World
) -> Refusal | None:
    """Return the refusal if nothing can be done, or not everything and the caller wants all or nothing."""
    doing = [a for a in actions if a.do != "none" and (not staying or {*staying} != {*choice.batches})]
    history = world.history
    # A file at its first known version cannot go further back: harmless beside others, but no work by itself.
    harmless = (AS_THEN, UNSEEN) if doing else (AS_THEN,)
    blocked = [a for a in actions if a.built_on or (a.skipped and a.skipped not in harmless)]
    files = [file_json(a, choice, history) for a in blocked]
    # The plan's `conflicts` counts, and the caller may be stricter.
    aborting = "abort" in (choice.conflicts, "skip" if isinstance(params, RestoreParams) else params.conflicts)
    if blocked and (not doing or aborting):
        if all(a.skipped == "uncaptured" for a in blocked):
            files_told = lacking_sentence(blocked, history)
            message = f"The journal does not hold the bytes that {choice.how} needs; nothing was changed: {files_told}."
            return Refusal("uncaptured", message, "log", files=files)
        if all(a.skipped == RECORD_LOST for a in blocked):
            gaps = tuple(history.lost())
            message = f"{_conflict_sentence(blocked, history)[:-1]}: {named(gaps)}."
            return Refusal(RECORD_LOST, message, files=files, gaps=gaps_json(gaps))
        leased = [a.lease for a in blocked if a.lease is not None]
        if len(leased) == len(blocked):
            return lease_held(blocked[0].path, leased[:1], world, None, "written")
        if all(a.skipped == "not_there_then" for a in blocked):
            message = f"None of these files was there at that point.{and_before_it(choice.at, history)}"
            return Refusal("not_found", message, "log", files=files)
        if all(a.skipped == "changed_meanwhile" for a in blocked):
            message = f"{_conflict_sentence(blocked, history)[:-1]}; try again."
            return Refusal("busy", message, "retry", retry_after_ms=RETRY_MS, files=files)
        action = (
            "plan" if any(a.built_on for a in blocked) else "narrow_the_choice"
        )  # markers cannot solve the other conflicts
        return Refusal("conflict", _conflict_sentence(blocked, history), action, files=files)
    if not doing and choice.how != "restore":
        by = next((by for by in map(history.undone_by, choice.batches) if by is not None), None)
        why = f"batch {by} has undone it already" if by is not None else "the files are like that already"
        verb = "roll back" if choice.how == "rollback" else choice.how
        return Refusal("not_found", f"There is nothing to {verb}: {why}.", "log", batches=list(choice.batches))
    return None


def _conflict_sentence(blocked: Sequence[Action], history: History) -> str:
    for action in blocked:
        if not action.built_on or action.skipped in ("protected", "changed_meanwhile"):
            continue  # the conflict is not the reason
        seqs = dict.fromkeys(conflict.seq for conflict in action.built_on)
        each = [(maker(seq, history), version_token(seq)) for seq in seqs]
        if len(each) == 1:
            return f"{action.path}: {each[0][0]} built on it with {each[0][1]}; nothing was changed."
        makers = ", ".join(f"{who} ({version})" for who, version in each[:MOST_NAMED])
        more = f" and {len(each) - MOST_NAMED} more" if len(each) > MOST_NAMED else ""
        return f"{action.path}: {makers}{more} built on it; nothing was changed."
    first = blocked[0]
    why = first.skipped or first.built_on[0].why
    return f"{first.path}: {SKIPPED.get(why, why)}; nothing was changed."


_HOW: Final[dict[type[Params], How]] = {
    UndoParams: "undo",
    RedoParams: "redo",
    RollbackParams: "rollback",
    RestoreParams: "restore",
}


def _plan_reply(
    choice: Choice, actions: Sequence[Action], staying: Sequence[int], known: Batches, refused: Refusal | None
) -> dict[str, Any]:
    would = "" if refused is None else f" It would be refused: {refused.message}"
    held = refused.reply() if refused is not None and refused.code == "lease_held" else {}
    return {
        "ok": True,
        "message": f"Plan: {_summary(actions)}.{would}",
        "plan": True,
        "dry_run": True,
        "valid": refused is None,
        **batches_json(choice, staying),
        # In the order of execution.
        "files": [file_json(a, choice, known.history) for a, aside in in_order(actions) if not aside],
        "writers": writers_json(choice, known),
        "token": _make_token(choice, actions),
        **held,
    }


def _summary(actions: Sequence[Action]) -> str:
    doing = sum(a.do != "none" for a in actions)
    conflicts = sum(len(a.built_on) for a in actions)
    said = [f"{counted(doing, 'file')} to change"]
    if conflicts:
        said.append(counted(conflicts, "conflict"))
    return ", ".join([*said, as_found_sentence(actions)]).removesuffix(", ")


def _tool(params: type[P]) -> Tool[P]:
    asks = ("path", "paths")
    return Tool(
        _HOW[params],
        params,
        no_paths,
        decide,
        writes=True,
        implies=implied_by,
        asks=asks,
        long=True,
        of_tree=True,
        reply=UnwoundReply,
    )


UNDO_TOOL: Final[Tool[UndoParams]] = _tool(UndoParams)
REDO_TOOL: Final[Tool[RedoParams]] = _tool(RedoParams)
ROLLBACK_TOOL: Final[Tool[RollbackParams]] = _tool(RollbackParams)
RESTORE_TOOL: Final[Tool[RestoreParams]] = _tool(RestoreParams)
