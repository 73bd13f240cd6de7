"""The tool `edit_file`: the dialect, and what its replies and refusals say that the engine does not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from quire_daemon.dialects.edit_file import EDIT_FILE, FileParams, Match, applied_edits, matches
from quire_daemon.dialects.matching import Lines
from quire_daemon.handlers.base import Decision, FileNow, Tool, World
from quire_daemon.handlers.edit import answering, decide_on
from quire_daemon.handlers.staleness import Basis, Stale, find_basis, refuse_stale
from quire_journal.refusals import Refused
from quire_journal.splice import shift_line
from quire_journal.text import Text


def decide(params: FileParams, world: World) -> Decision:
    """Edit one file. Raises `Refused`."""
    return answering(params, world, lambda now: _decide(params, now, world))


def _decide(params: FileParams, now: FileNow, world: World) -> Decision:
    if now.kind == "folder":
        raise Refused("not_found", f"{now.path} is a folder.", "check_path", path=now.path)
    decision = decide_on(EDIT_FILE, params, now, world)
    if not decision.reply.get("cross_version") or now.text is None:
        return decision
    return _across(params, decision, now, now.text, world)


def _across(params: FileParams, decision: Decision, now: FileNow, text: Text, world: World) -> Decision:
    """The decision for a file that is not the one whose bytes were named: what was matched must still stand, whole.

    The reply tells where it stands now.
    """
    basis = find_basis(params, now, text, world, EDIT_FILE.stale)
    was = matches(params.edits, basis.text)
    found = _carried(was, basis)
    if found is None:
        lines = Lines(basis.text)
        needs = tuple((lines.at(m.start), lines.at(m.stop - 1) + 1) for m in was)
        return refuse_stale(Stale(EDIT_FILE.name, EDIT_FILE.stale, basis, now, needs), world, params.dry_run)
    decision.reply["beforeSha256"] = text.blob.hex()
    decision.reply["appliedEdits"] = applied_edits(params.edits, found, text)
    return decision


def _carried(was: Sequence[Match], basis: Basis) -> list[Match] | None:
    """The matches in the file as it is; None when somebody changed the text of one."""
    before, after = Lines(basis.text), Lines(basis.now)
    found: list[Match] = []
    for match in was:
        line = before.at(match.start)
        at: int | None = line
        for step in basis.steps:
            at = None if at is None else shift_line(step, at)
        if at is None:
            return None
        start = after.start(at) + match.start - before.begin(match.start)
        stop = start + match.stop - match.start
        if basis.now.normalised[start:stop] != basis.text.normalised[match.start : match.stop]:
            return None
        found.append(Match(start, stop, match.edit))
    return found


EDIT_FILE_TOOL: Final = Tool(
    name=EDIT_FILE.name,
    params=FileParams,
    paths=lambda params: (params.target,),
    decide=decide,
    writes=True,
)
