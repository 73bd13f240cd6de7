"""`why`: author of a file or a line: turn, call, operation, and the content that was replaced.

To what blame knows, this module adds the writing record, the replaced lines and their writers, the other files of the
batch, and the versions before and after.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from quire_daemon.core import Decision, FileNow, Tool, World
from quire_daemon.core.replies import WhyReply
from quire_daemon.tools import file_then, news, require_file, who_made
from quire_daemon.tools.history.blame import require_text
from quire_daemon.tools.history.difference import Room, before, difference, text_of
from quire_daemon.tools.history.filters import VERSION_KINDS
from quire_daemon.tools.history.log import record_json
from quire_daemon.tools.history.origins import blamed, commit_told, mover, origin_json
from quire_daemon.tools.history.renames import file_at
from quire_journal.history import (
    Blame,
    History,
    LineOrigin,
    blame,
    is_lost,
    parse_point,
    require_known,
    rfc3339,
    to_the_second,
)
from quire_journal.model import CAPTURED, DURING, REGULAR, BatchUndone, Record, Refusal, paths_of, version_token
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import Splice, Text, diff, shown
from quire_journal.views import Version, standing

MOST_BESIDE: Final = 50

_OF_LINES: Final = frozenset({"commit", "commit_pending", "brought"})
"""Fields of a line's origin that are added to those of the record."""

MOST_LINES: Final = 40


class WhyParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `why`."""

    path: str
    line: int | None = None  # 1-based; default: the whole file
    at: str | None = None  # a point; default: now


def decide(params: WhyParams, world: World) -> Decision:
    """Return the change that made the file or the line, and the versions before and after (`WhyReply`)."""
    history = world.history
    asked, version = _asked(params, world.files[params.path], world)
    path = asked
    told: dict[str, Any] = {}
    origin: LineOrigin | None = None
    if params.line is not None:
        found = _blamed(params.line, path, version, world)
        origin = found.origins[params.line - 1]
        path, version, told = _of_line(params.line, origin, found, world)
    record = history.record(version.seq)
    if record is None:
        raise Refusal("not_found", f"The record of {version_token(version.seq)} is not in the log.", "verify")
    old_path, old = before(history, path, version)
    change: dict[str, Any] | None = None
    if not _found_there(record):  # a captured file would look wholly inserted
        room = Room(world.settings.limits.reply_bytes)
        change = difference(old_path, old, path, version, history, room, told.get("line_then"))
        change.pop("hunks", None)
    batch_files, more = _beside(record.batch, path, history)
    reply = {
        "ok": True,
        "message": _sentence(params, asked, path, version, record, history, origin),
        "path": path,
        "version": version_token(version.seq),
        "record": record_json(record, history),
        "operation": getattr(record.event(), "dialect", "") or getattr(record.event(), "tool", "") or record.kind,
        **told,
        "diff": change,
        "previous": None if old is None or is_lost(old) else _brief(old, history),
        "next": _next(path, version, history),
        "batch_files": batch_files,
        "undone_by": history.undone_by(record.batch) if version.type != "outside" else None,
    }
    if more:
        reply["batch_files_more"] = more
    return Decision({**reply, **news(world, path)})


def _asked(params: WhyParams, now: FileNow, world: World) -> tuple[str, Version]:
    history, path = world.history, now.path
    if params.at is not None and now.resolved_from:  # a link may have had another target, or been a file
        return file_then(now, parse_point(params.at, history, "at"), params.at, history)
    if params.at is None:
        version = history.file(path)
    else:
        seq = parse_point(params.at, history, "at")
        require_known(history, path, seq, params.at)
        path, version = file_at(path, seq, history)
    if version is None:
        if params.at is None:
            require_file(now, world)
        point = f" at {params.at}" if params.at is not None else ""
        raise Refusal("not_found", f"The journal knows no file {path}{point}.", "check_path", path=path)
    return path, version


# ── a line ───────────────────────────────────────────────────────────────────


def _blamed(line: int, path: str, version: Version, world: World) -> Blame:
    """Return the blame of one line (from 1) of the version. Raises `Refusal` if the version has no such line."""
    if version.gone:
        message = f"{path} is gone since {version_token(version.seq)}; ask without a line, or at an earlier point."
        raise Refusal("not_found", message, "choose_another_point", path=path)
    if version.entry != REGULAR:
        raise Refusal("not_a_file", f"{path} is no regular file and has no lines.", "check_path", path=path)
    require_text(path, version, world)
    lines = len(world.history.text_of(version.blob))
    if not 1 <= line <= lines:
        message = f"There is no line {line}; {path} has {lines}."
        raise Refusal("line_out_of_range", message, "re-read_file", path=path, line=line)
    return blamed(path, version, world, line - 1, line)


def _of_line(line: int, origin: LineOrigin, found: Blame, world: World) -> tuple[str, Version, dict[str, Any]]:
    history = world.history
    path, version = origin.path, origin.version
    told: dict[str, Any] = {"line": line, "text": shown(found.text.lines[line - 1])}
    told |= {name: part for name, part in origin_json(origin, history).items() if name in _OF_LINES}
    made = text_of(version, history)
    if made is None:
        return path, version, told
    then = origin.number if origin.number >= 0 else _carried_back(line - 1, diff(made, found.text))
    if then is None or found.text.lines[line - 1] != made.lines[then]:
        return path, version, told
    told["line_then"] = then + 1
    old_path, old = before(history, path, version)
    was = text_of(old, history)
    if was is None or was.binary:
        return path, version, told
    splice, start = _covering(then, diff(was, made))
    if splice is not None:
        told["wrote"] = {"start": start + 1, "end": start + len(splice.lines), "lines": _few(splice.lines)}
        told["replaced"] = _replaced(old_path, old, was, splice, world)
    return path, version, told


def _carried_back(line: int, splices: Sequence[Splice]) -> int | None:
    moved = 0
    for s in splices:
        if line < s.start + moved:
            break
        if line < s.start + moved + len(s.lines):
            return None
        moved += s.shift
    return line - moved


def _covering(line: int, splices: Sequence[Splice]) -> tuple[Splice | None, int]:
    """Return (splice that inserted line `line` of the new text, number of the splice's first line there), from 0;
    (None, 0) for an unchanged line.
    """
    moved = 0
    for s in splices:
        start = s.start + moved
        if start <= line < start + len(s.lines):
            return s, start
        moved += s.shift
    return None, 0


def _replaced(path: str, old: Version | None, was: Text, splice: Splice, world: World) -> dict[str, Any] | None:
    old = standing(old)
    if splice.start == splice.stop or old is None:
        return None
    told: dict[str, Any] = {"start": splice.start + 1, "end": splice.stop}
    told["lines"] = _few(was.lines[splice.start : splice.stop])
    try:
        wrote = [origin.version for origin in blame(world.history, path, old).origins[splice.start : splice.stop]]
    except NotHeld:
        return told
    by = {version.seq: version for version in wrote}
    told["by"] = [_brief(by[seq], world.history) for seq in sorted(by)[-5:]]
    return told


def _few(lines: Sequence[bytes]) -> list[str]:
    return [shown(line) for line in lines[:MOST_LINES]]


# ── around it ────────────────────────────────────────────────────────────────


def _brief(version: Version, history: History) -> dict[str, Any]:
    return {
        "version": version_token(version.seq),
        "at": rfc3339(version.at_ns),
        "kind": version.kind,
        "writer": history.writer_json(version.writer, version.type),
        **({"evidence": version.evidence} if version.evidence else {}),
    }


def _next(path: str, version: Version, history: History) -> dict[str, Any] | None:
    if version.moved_to:
        path = version.moved_to
    following = next(history.versions(path, after=version.seq), None)
    return None if following is None else _brief(following, history)


def _beside(batch: int, path: str, history: History) -> tuple[list[dict[str, Any]], int]:
    found = [
        {"path": other, "version": version_token(record.seq), "kind": record.kind}
        for record in history.batch(batch)
        if record.kind in VERSION_KINDS
        for other in _others(record.event(), path)
    ]
    return found[:MOST_BESIDE], max(len(found) - MOST_BESIDE, 0)


def _others(event: Any, path: str) -> Iterator[str]:
    yield from (other for other in paths_of(event) if other != path)


def _sentence(
    params: WhyParams,
    asked: str,
    path: str,
    version: Version,
    record: Record,
    history: History,
    origin: LineOrigin | None,
) -> str:
    at = f"in {version_token(version.seq)} at {to_the_second(version.at_ns)}"
    then = f" ({path} then)" if path != asked else ""
    what = f"Line {params.line} of {asked}{then}" if params.line is not None else path
    back = _back(origin, history) if origin is not None else ""
    if origin is not None and origin.commit is not None:
        met = "the journal first saw it" if _found_there(record) else f"{mover(version, history)} brought it"
        return f"{what} comes from {commit_told(origin)}; {met} {at}{back}."
    asking = "; whether a commit tells is not known yet, ask again" if origin is not None and origin.pending else ""
    if _found_there(record):
        unknown = asking or "; who wrote it is not known"
        return f"{what} was there already when the journal first saw the file, {at}{back}{unknown}."
    who = history.writer(version.writer)
    turn = f" in turn {who.turn}" if who is not None and who.turn else ""
    undoing = history.undoing(record.batch) if version.type == "undo" else None
    how = f" ({_taking_back(undoing)})" if undoing is not None else ""
    did = "was written" if params.line is not None else f"was {_did(version)}"
    if version.evidence == DURING:
        did = did.replace("was ", "was probably ", 1)
    return f"{what} {did} by {who_made(version, history)}{how}{turn} {at}{back}{asking}."


def _back(origin: LineOrigin, history: History) -> str:
    brought = origin.brought
    if brought is None:
        return ""
    undoing = history.undoing(brought.batch) if brought.type == "undo" else None
    by = mover(brought, history)
    if undoing is not None:
        by = f"{_taking_back(undoing)} ({history.named(brought.writer)})"
    return f", brought back by {by} in {version_token(brought.seq)} at {to_the_second(brought.at_ns)}"


def _found_there(record: Record) -> bool:
    return getattr(record.event(), "evidence", "") == CAPTURED


def _taking_back(undoing: BatchUndone) -> str:
    undone, more = undoing.undone, len(undoing.undone) - 1
    return f"{undoing.how} of batch {undone[0]}{f' and {more} more' if more else ''}" if undone else undoing.how


def _did(version: Version) -> str:
    if version.gone:
        return f"moved to {version.moved_to}" if version.moved_to else "removed"
    return f"moved here from {version.moved_from}" if version.moved_from else "last changed"


WHY_TOOL: Final[Tool[WhyParams]] = Tool(
    "why",
    WhyParams,
    lambda params: (params.path,),
    decide,
    catch_up=True,
    of_past=True,
    of_tree=True,
    long=True,
    reply=WhyReply,
)
