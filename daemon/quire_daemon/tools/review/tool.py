"""`review`, `accept` and `reject`: changes that nobody has accepted yet (pending), by writer and turn, and the marks of
what somebody has accepted or rejected.

They are about agents' work, or with `all` about everybody's, that the point `since` (such as a commit) lacks. A mark
says who accepts which lines of which version. Rejected work is undone when the turn of its writer has ended
(`maintenance.rejections`), or at once by `undo` with the marks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from quire_daemon.core import Decision, Present, Tool, World, no_paths
from quire_daemon.core.replies import AcceptReply, RejectReply, ReviewReply
from quire_daemon.tools.history import (
    ComparedTrees,
    Ownership,
    Whose,
    is_own,
    is_unclaimed,
    made_by,
    named_paths,
    path_filter,
    side_of,
    spelled_out,
)
from quire_daemon.tools.review.review_places import (
    FileChange,
    LineOrigins,
    Meant,
    PendingHunk,
    all_marks,
    has_work,
    mark_of,
    marks_of,
    open_rejections,
    pending_hunks,
    rejection_of,
    work_of,
)
from quire_daemon.tools.undo import places_now
from quire_journal.history import History, rfc3339
from quire_journal.history.renames import LaterNames
from quire_journal.model import (
    CAPTURED,
    DURING,
    OUTSIDE,
    Refusal,
    TurnBegan,
    WorkRejected,
    counted,
    is_agent,
    pause,
    version_token,
)
from quire_journal.text import Text, shown
from quire_journal.views import Version, standing
from quire_journal.views.indexes import of_kind, term_index

MOST_FILES: Final = 200
"""Maximum number of files of one call."""

MOST_ROWS: Final = 200
"""Maximum number of lines of a place that a reply shows."""

_LINES: Final = re.compile(r"(\d{1,9})(?:[-:,](\d{1,9}))?", re.ASCII)


class ReviewParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `review`, `accept` and `reject`; the latter two are about what `review` shows with the same
    arguments.
    """

    path: str = ""  # a file, a folder or a glob
    paths: list[str] = []  # the same
    lines: str = ""  # of one file as it is now: `10` or `10-24`
    writer: str = ""  # default: every agent
    turn: str = ""
    since: str = ""  # a point: what it has needs no review; default: the first capture
    upto: int | None = None  # only lines written up to this record; what was shown
    all: bool = False  # everybody's work


def review(params: ReviewParams, world: World) -> Decision:
    """Return the reply (`ReviewReply`): the pending places by file, and their lines by writer and turn."""
    known = LineOrigins(world.history)
    found, more = _found(params, known, world)
    names = LaterNames(world.history)
    waiting = [(names.now(one.path, one.version), one) for one in open_rejections(world.history).values()]
    files = [_file_json(change, hunks, texts, waiting, world) for change, hunks, texts in found]
    by = _by_turn([hunk for _, hunks, _ in found for hunk in hunks], world.history)
    many = sum(len(hunks) for _, hunks, _ in found)
    reply = {
        "ok": True,
        "message": f"{counted(many, 'place')} to review in {counted(len(files), 'file')}."
        if many
        else "Nothing to review.",
        "files": files,
        "by": [_turn_json(hand, turn, lines, world.history) for hand, turn, lines in by],
        "seq": int(world.history.head()),
        "more": more,
    }
    return Decision(reply)


def accept(params: ReviewParams, world: World) -> Decision:
    """Mark the pending places as accepted (`AcceptReply`)."""
    known = LineOrigins(world.history)
    found, more = _found(params, known, world)
    if world.who.agent:
        found = [*_of_others(found, world)]
    events = [mark_of(change, hunks) for change, hunks, _ in found]
    many = sum(len(hunks) for _, hunks, _ in found)
    lines = sum(len(hunk.pending) or len(hunk.removed) for _, hunks, _ in found for hunk in hunks)
    message = (
        f"{counted(many, 'place')} accepted in {counted(len(events), 'file')}." if many else "Nothing to review there."
    )
    files = [{"path": change.path, "places": len(hunks)} for change, hunks, _ in found]
    return Decision({"ok": True, "message": message, "files": files, "lines": lines, "more": more}, events)


def _of_others(found: _Found, world: World) -> Iterator[tuple[FileChange, list[PendingHunk], Any]]:
    """Yield the files and places without the caller's own lines: no agent accepts its own work."""
    own = partial(is_own, who=world.who, history=world.history)
    for change, hunks, texts in found:
        left: list[PendingHunk] = []
        for hunk in hunks:
            if not hunk.pending:
                left += [] if all(map(own, hunk.writers)) else [hunk]
            elif kept := hunk.only(lambda _, version: not own(version.writer)):
                left.append(kept)
        if left:
            yield change, left, texts


def reject(params: ReviewParams, world: World) -> Decision:
    """Mark the pending places as rejected (`RejectReply`)."""
    history = world.history
    known, marks = LineOrigins(history), all_marks(history)
    found, more = _found(params, known, world)
    events = list[WorkRejected]()
    for change, hunks, _ in found:
        batches = work_of(change, hunks, marks_of(change.path, marks, history), known)
        events.append(rejection_of(change, hunks, batches))
    many = sum(len(hunks) for _, hunks, _ in found)
    writers = {history.caller_of(writer): writer for _, hunks, _ in found for hunk in hunks for writer in hunk.writers}
    at_work = (one for key, one in writers.items() if is_at_work(key, world.present, history, world.now_ns))
    busy = [history.named(writer) for writer in at_work]
    when = f", when the turn of {' and '.join(busy)} has ended" if busy else ""
    reply = {
        "ok": True,
        "message": f"{counted(many, 'place')} rejected in {counted(len(events), 'file')}: taken back{when}."
        if many
        else "Nothing to review there.",
        "files": [{"path": change.path, "places": len(hunks)} for change, hunks, _ in found],
        "rejections": [world.next_seq + n for n in range(len(events))],
        "waits_for": busy,
        "more": more,
    }
    return Decision(reply, events)


def is_at_work(key: bytes, present: Mapping[bytes, Present], history: History, now_ns: int) -> bool:
    """True while a turn or a call of this caller is under way."""
    there = present.get(key)
    if there is not None and there.in_turn and not there.gone:
        return True
    return any(burst.owner == key and burst.open_at(now_ns) for burst in history.open_bursts())


_Found = list[tuple[FileChange, list[PendingHunk], Mapping[bytes, Text]]]


def _found(params: ReviewParams, known: LineOrigins, world: World) -> tuple[_Found, int]:
    """Return (the files with pending places that fit the arguments, the number of further files). Raises `Refusal`."""
    history = world.history
    params = spelled_out(params, history)
    first = history.first_scan()
    start = side_of(params.since or f"seq:{first or 0}", "since", world)
    trees = ComparedTrees(start, side_of("", "to", world), world)
    filters = [path_filter(path, history) for path in named_paths(params.path, params.paths)]
    fitting = sorted(path for path in trees.paths() if not filters or any(fits(path) for fits in filters))
    if not params.all:
        fitting = [path for path in fitting if not _is_as_found(path, history)]
    marks = all_marks(history)
    meant, span = _meant(params, history), _span(params)
    found: _Found = []
    more = 0
    for compared in trees.changes(fitting):
        path, last = made_by(compared, history.head(), history)
        if last is None or (standing(compared.old) is None and standing(compared.new) is None):
            continue
        change = FileChange(path, compared.old_path, compared.old, last)
        if not has_work(change, known.history, meant):
            continue
        if len(found) == MOST_FILES:  # an upper bound: some may be accepted
            more += 1
            continue
        hunks = pending_hunks(change, marks_of(path, marks, history), trees.texts, known, meant)
        hunks = [part for hunk in hunks for part in _part(hunk, span, params.upto)]
        if hunks:
            found.append((change, hunks, trees.texts))
    if params.lines and len(found) > 1:
        raise Refusal("schema_invalid", "lines: they want one file as path.", argument="lines")
    return found, more


def _is_as_found(path: str, history: History) -> bool:
    """True for a file that nobody has changed since the first scan recorded it."""
    pause()
    head = history.file(path)
    return head is None or (head.writer == OUTSIDE and head.evidence == CAPTURED)


def _meant(params: ReviewParams, history: History) -> Meant:
    """Return version → the claim to it of the named writer; without a name, of agents, or with `all` of everybody."""
    whose = Whose(history, params.writer, turn=params.turn)
    if params.writer or params.all:
        return whose.of_version

    def of_agents(version: Version) -> Ownership:
        who = history.writer(version.writer)
        return whose.of_version(version) if who is not None and is_agent(who.agent) else Ownership.NONE

    return of_agents


def _span(params: ReviewParams) -> tuple[int, int] | None:
    if not params.lines:
        return None
    parsed = _LINES.fullmatch(params.lines)
    if parsed is None or not 0 < int(parsed[1]) <= int(parsed[2] or parsed[1]):
        raise Refusal("schema_invalid", f"lines: {params.lines[:40]!r} names no lines; 10-24 does.", argument="lines")
    return int(parsed[1]) - 1, int(parsed[2] or parsed[1])


def _part(hunk: PendingHunk, span: tuple[int, int] | None, upto: int | None) -> Iterator[PendingHunk]:
    """Yield the place with only its pending lines within `span`, and written up to record `upto` (None: no limit)."""
    start, stop = span or (0, 1 << 62)
    if not hunk.pending:
        made = max(version.seq for version in hunk.authors)
        if start <= hunk.start <= stop and (upto is None or made <= upto):
            yield hunk
        return
    kept = hunk.only(lambda number, version: start <= number < stop and (upto is None or version.seq <= upto))
    if kept is not None:
        yield kept


# ── replies ──────────────────────────────────────────────────────────────────


def _file_json(
    change: FileChange,
    hunks: Sequence[PendingHunk],
    texts: Mapping[bytes, Text],
    waiting: Sequence[tuple[str, WorkRejected]],
    world: World,
) -> dict[str, Any]:
    made = change.made
    text = None if made.gone else texts.get(made.blob) or world.history.text_held(made.blob)
    rejected = [
        place
        for path, event in waiting
        if path == change.path
        for place in (places_now(event, path, world.history) if event.places else [(0, 1 << 62)])
    ]
    return {
        "path": change.path,
        "status": "added" if standing(change.old) is None else "removed" if made.gone else "changed",
        **({"moved_from": change.old_path} if change.old_path != change.path and not made.gone else {}),
        "version": version_token(made.seq),
        "hunks": [_hunk_json(hunk, text, rejected, world.history) for hunk in hunks],
    }


def _hunk_json(
    hunk: PendingHunk, text: Text | None, rejected: Sequence[tuple[int, int]], history: History
) -> dict[str, Any]:
    rows = [f"-{shown(line)}" for line in hunk.removed]
    if text is not None and not hunk.whole:
        marks = ("+" if number in hunk.pending else " " for number in range(hunk.start, hunk.stop))
        lines = zip(marks, text.lines[hunk.start : hunk.stop], strict=True)
        rows += [mark + shown(line) for mark, line in lines]
    return {
        "start": hunk.start + 1,
        "end": hunk.stop,
        "lines": len(hunk.pending) or len(hunk.removed),
        "writers": [_writer_json(*one, history) for one in _writers(hunk, history)],
        "rows": rows[:MOST_ROWS],
        "rows_more": max(len(rows) - MOST_ROWS, 0),
        "whole": hunk.whole,
        "rejected": any(start <= hunk.stop and hunk.start <= stop for start, stop in rejected),
    }


_Hand = tuple[int, str]
"""(a writer, `probable` or `unclaimed` if it is not sure)."""


def _hand(version: Version, history: History) -> _Hand:
    if version.evidence == DURING:
        return version.writer, "probable"
    record = history.record(version.seq) if version.writer == OUTSIDE else None
    return version.writer, "unclaimed" if record is not None and is_unclaimed(record, history) else ""


def _writers(hunk: PendingHunk, history: History) -> list[_Hand]:
    """Return the writers of a hunk's lines, each once, with any doubt about them."""
    found: dict[tuple[bytes, str], _Hand] = {}
    for writer, mark in (_hand(version, history) for version in dict.fromkeys(hunk.authors)):
        found.setdefault((history.caller_of(writer) or b"%d" % writer, mark), (writer, mark))
    return [*found.values()]


def _writer_json(writer: int, mark: str, history: History) -> dict[str, Any]:
    return {**history.writer_json(writer), **({mark: True} if mark else {})}


def _by_turn(hunks: Iterable[PendingHunk], history: History) -> Iterator[tuple[_Hand, str, int]]:
    """Yield (writer, turn, number of pending or removed lines) for each turn, in the order of the files."""
    newest: dict[tuple[bytes, str, str], int] = {}
    lines = Counter[tuple[bytes, str, str]]()
    for version, many in Counter(version for hunk in hunks for version in hunk.authors).items():
        writer, mark = _hand(version, history)
        who = history.writer(writer)
        key = (history.caller_of(writer), who.turn if who is not None else "", mark)
        newest[key] = max(writer, newest.get(key, 0))
        lines[key] += many
    for key, count in lines.items():
        yield (newest[key], key[2]), key[1], count


def _turn_json(hand: _Hand, turn: str, lines: int, history: History) -> dict[str, Any]:
    writer, _ = hand
    told: dict[str, Any] = {"writer": _writer_json(*hand, history), "turn": turn, "lines": lines}
    wanted = [[term_index.of_turn(turn)], [of_kind(TurnBegan.kind)]]
    spans = history.with_terms(wanted, 0, history.head(), reverse=True) if turn else ()
    for seq in (seq for _, seqs in spans for seq in seqs):
        record, event = history.record(seq), history.event(seq)
        if record is None or not isinstance(event, TurnBegan):
            continue
        who = history.writer(record.writer)
        if who is not None and who.turn == turn and history.caller_of(record.writer) == history.caller_of(writer):
            return told | {"prompt": event.prompt, "at": rfc3339(record.at_ns)}
    return told


REVIEW_TOOL: Final[Tool[ReviewParams]] = Tool(
    "review", ReviewParams, no_paths, review, catch_up=True, long=True, reply=ReviewReply
)
ACCEPT_TOOL: Final[Tool[ReviewParams]] = Tool(
    "accept", ReviewParams, no_paths, accept, writes=True, catch_up=True, reply=AcceptReply
)
REJECT_TOOL: Final[Tool[ReviewParams]] = Tool(
    "reject", ReviewParams, no_paths, reject, writes=True, catch_up=True, needs_presence=True, reply=RejectReply
)
