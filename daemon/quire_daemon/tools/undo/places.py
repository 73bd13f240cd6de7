"""Lines and rejected places that an undo names, and the batches that wrote them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from quire_daemon.core import Who
from quire_daemon.tools.history import Ownership, Whose, single_path
from quire_daemon.tools.undo.batches import Batches
from quire_daemon.tools.undo.candidates import may_be_meant
from quire_daemon.tools.undo.choice import Choice
from quire_daemon.tools.undo.joint_batches import JointBatches
from quire_daemon.tools.undo.params import Paths, UndoParams, spares_git
from quire_journal.history import History, blame
from quire_journal.history.renames import LaterNames
from quire_journal.model import (
    CAPTURED,
    OUTSIDE,
    REGULAR,
    SCANNED,
    Refusal,
    WorkRejected,
)
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import Along, Text, carry_ranges, changes, place_after
from quire_journal.views import standing

_LINES: Final = re.compile(r"(\d{1,9})(?:[-:,](\d{1,9}))?", re.ASCII)


def choose_lines(params: UndoParams, known: Batches, who: Who, paths: Paths) -> Choice:
    """Return the batches that put these lines here, of the named writer or else of their only author. Raises `Refusal`
    if the lines are invalid, or of nobody or several authors.

    The batch that made the file is meant only if no later batch wrote any of the lines.
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
    whose = Whose(history, params.writer, agent_session=params.agent_session, turn=params.turn)
    names = (path, *known_lines.names)
    found = [  # a line that an equal file had before has its author there: what counts is who put it here
        one.version if one.brought is None or one.path in names else one.brought
        for one in known_lines.origins[first:last]
    ]
    found = [one for one in found if one.base] or found
    wrote = {one.seq: one for one in found if one.writer != OUTSIDE or one.evidence not in FOUND}
    if not params.writer and any(one.writer != OUTSIDE for one in wrote.values()):
        wrote = {seq: one for seq, one in wrote.items() if one.writer != OUTSIDE}
    claims = [(one, whose.of_version(one)) for one in wrote.values()]
    joint = JointBatches(known)
    by_git = [one for one, _ in claims if spares_git(params) and joint.is_by_git(one.batch)]
    claims = [(one, claim) for one, claim in claims if one not in by_git]
    least = Ownership.PROVED if params.writer and not params.probable else Ownership.PROBABLE
    meant = [one for one, claim in claims if claim]
    sure = [one for one, claim in claims if claim >= least]
    batches = sorted({one.batch for one in sure}, reverse=True)
    said, were = f"Lines {params.lines} of {path}", "were"
    if last == first + 1:
        said, were = f"Line {first + 1} of {path}", "was"
    if not batches:
        why = f"{were} not written by {params.writer}" if wrote else f"{were} there before anybody was seen to write it"
        why += ", but by git" if by_git else ""
        message = f"{said} {why}.{may_be_meant([one.batch for one in meant], known)}"
        raise Refusal("not_found", message, "log", path=path)
    callers = {history.caller_of(one.writer): history.named(one.writer) for one in wrote.values()}
    if len(callers) > 1 and not params.writer:
        writers = " and ".join(sorted({*callers.values()}))
        message = f"{said} {were} written by {writers}: `writer` says whose work is meant, `*` everyone's."
        raise Refusal("schema_invalid", message, "narrow_the_choice", argument="writer")
    return Choice("undo", tuple(batches), (path,), conflicts=params.conflicts, lines=(first, last))


def choose_rejected(seqs: Sequence[int], history: History) -> Choice:
    """Return the batches that rejections name, with the rejected places in the files now. Raises `Refusal` if there is
    no such rejection, or nothing of the places is left.
    """
    names = LaterNames(history)
    batches, places, whole = set[int](), dict[str, list[tuple[int, int]]](), list[str]()
    for seq in seqs:
        event = history.event(seq)
        if not isinstance(event, WorkRejected):
            raise Refusal("not_found", f"There is no rejection {seq}.", "log", argument="rejected")
        batches |= {*event.batches}
        path = names.now(event.path, event.version)
        if event.places:
            places.setdefault(path, []).extend(places_now(event, path, history))
        else:
            whole.append(path)
    fitting = {path: found for path, found in places.items() if found}
    paths = tuple(dict.fromkeys((*whole, *fitting)))
    if not paths:
        raise Refusal("not_found", "What was rejected is not there any more.", "log")
    found = tuple((path, tuple(sorted({*some}))) for path, some in fitting.items() if path not in whole)
    return Choice("undo", tuple(sorted(batches, reverse=True)), paths, places=found, rejections=tuple(seqs))


def places_now(event: WorkRejected, path: str, history: History) -> list[tuple[int, int]]:
    """Return the rejected lines (from 0, half-open) in the current file, whose path is `path`; [] if they cannot be
    found.
    """
    then, now = history.version(event.path, event.version), standing(history.file(path))
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


def batches_of_lines(undo: int, known: Batches) -> set[int]:
    """Return the batches that wrote the lines which the batch `undo`, an undo of lines, took out."""
    history, found = known.history, set[int]()
    for path, seq in known.starts(undo):
        made = history.version(path, seq)
        was = standing(history.version_at(path, seq - 1))
        if made is None or was is None or was.entry != REGULAR:
            continue
        try:
            now = history.text_of(made.blob) if not made.gone else Text.of(b"")
            origins = blame(history, path, was).origins
            splices = changes(history.text_of(was.blob), now)
        except NotHeld:
            continue
        taken = (one for splice in splices for one in origins[splice.start : splice.stop])
        found |= {one.version.batch for one in taken}
    return found


FOUND: Final = (CAPTURED, SCANNED)
