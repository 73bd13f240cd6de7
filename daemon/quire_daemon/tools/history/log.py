"""`log` and `since`: lists of records. Each call examines a bounded number of records.

A cursor names a position between records and the journal. A call that reaches its work limit (`pages`) returns a cursor
even without a match, so that a search for a rare match is split into several short calls.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec

from quire_daemon.core import Decision, Tool, World, no_paths, require_in_bounds
from quire_daemon.core.replies import LogReply, SinceReply
from quire_daemon.tools.history.difference import ENTRIES
from quire_daemon.tools.history.filters import (
    BURST_KINDS,
    VERSION_KINDS,
    Filter,
    named_burst,
    named_kinds,
    path_filter,
    single_path,
    stretch_between,
)
from quire_daemon.tools.history.pages import MOST_UNDONE, LogQuery, Page, page
from quire_daemon.tools.history.renames import earlier_names
from quire_daemon.tools.history.short_names import spelled_out
from quire_daemon.tools.history.stories import StoriesParams, tell
from quire_daemon.tools.history.writers import is_unclaimed, nobody_warned
from quire_journal.history import History, parse_point, rfc3339
from quire_journal.model import REGULAR, CommandRan, Record, Refusal, WriteAttributed, counted, version_token

MAX_LIMIT: Final = 1000
"""Maximum number of records in one reply."""

LIMIT: Final = 50
"""Default number of records in a reply."""

_CURSOR: Final = re.compile(r"c(\d{1,19})\.([0-9a-f]{1,16})", re.ASCII)
_MORE_FIELDS: Final = (
    "to",
    "name",
    "cursor",
    "note",
    "tool",
    "code",
    "why",
    "kept",
    "undone",
    "how",
    "reason",
    "seqs",
    "lease",
    "strength",
    "burst",
    "label",
    "form",
    "outside",
    "command",
    "prompt",
    "transcript",
    "worktree",
    "exit_code",
    "parents",
    "head_before",
    "head_after",
    "origin",
    "broken",
    "status",
    "by_others",
)


class LogParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `log`."""

    path: str = ""  # a file, also under its earlier names; a folder, or a glob
    writer: str = ""  # an agent's name, `name/session`, `user`, `w3`, or `outside`
    agent: str = ""
    agent_session: str = ""
    turn: str = ""
    kind: str | list[str] = ""
    since: str = ""  # a point: records after it
    until: str = ""  # a point: records up to it
    burst: int | str | None = None  # a burst number: its records, begin and end
    contains: str = ""  # text in the version's bytes
    text_changed: str = ""  # text whose number of occurrences changed
    patch: bool = False  # include the patch against the previous version
    stat: bool = False  # include counts of added and removed lines
    stories: bool = False  # reply with stories instead of records
    limit: int | None = None  # 50 records, or 15 stories
    order: Literal["newest", "oldest"] = "newest"
    cursor: str | None = None


class SinceParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `since`. The daemon's engine implements `wait_ms`: it repeats the call after new records."""

    cursor: str | None = None  # a cursor of an earlier reply, or a point
    path: str = ""
    writer: str = ""
    kind: str | list[str] = ""
    limit: int = 200
    wait_ms: int = 0

    def __post_init__(self) -> None:
        if self.wait_ms < 0:
            raise ValueError("`wait_ms` must not be negative")


# ── a record as replies show it ──────────────────────────────────────────────


def record_json(record: Record, history: History) -> dict[str, Any]:
    """Return a record for a reply (`Record`). An undo's records also have its kind (`how`) and the undone batches
    (`undone`).
    """
    event, attribution = record.event(), history.attribution(record)
    path = getattr(event, "path", None)
    blob = getattr(event, "blob", b"")
    base = getattr(event, "base", 0)
    writer = record.writer if attribution is None else attribution.writer
    shown: dict[str, Any] = {
        "seq": record.seq,
        "at": rfc3339(record.at_ns),
        "kind": record.kind,
        "path": path,
        "version": version_token(record.seq) if record.kind in VERSION_KINDS else None,
        "sha256": blob.hex() if blob else None,
        "base": version_token(base) if base else None,
        "batch": record.batch,
        "writer": history.writer_json(writer, writer_type(record)),
        "evidence": getattr(event, "evidence", None) if attribution is None else attribution.evidence,
    }
    if attribution is not None:
        shown |= _attribution_json(attribution, history)
    elif is_unclaimed(record, history):
        shown["unclaimed"] = True
    shown.update({name: getattr(event, name) for name in _MORE_FIELDS if hasattr(event, name)})
    if isinstance(event, CommandRan) and (ran := history.burst(event.burst)) is not None:
        shown |= {"command": ran.command or ran.label, "ran_at": version_token(event.at) if event.at else None}
    if (entry := getattr(event, "entry", REGULAR)) != REGULAR:
        shown["entry"] = ENTRIES[entry]
    if writer_type(record) == "undo":
        shown |= _undoing_json(record.batch, history)
    if hint := getattr(event, "hint", ""):
        shown["hint"] = hint
    for name in ("started", "ended"):
        at_ns = getattr(event, f"{name}_ns", 0)
        if at_ns:
            shown[f"{name}_at"] = rfc3339(at_ns)
    if path is not None and record.kind in VERSION_KINDS and history.version(path, record.seq) is None:
        shown["abandoned"] = True
    return shown


def _attribution_json(attribution: WriteAttributed, history: History) -> dict[str, Any]:
    told: dict[str, Any] = {}
    burst = history.burst(attribution.burst)
    if burst is not None:
        told["call"] = {"burst": burst.number, "label": burst.label, "command": burst.command or None}
    if attribution.candidates:
        found = (history.burst(number) for number in attribution.candidates)
        told["candidates"] = [
            {"burst": burst.number, "label": burst.label, "writer": history.named(burst.writer)}
            for burst in found
            if burst is not None
        ]
    return told


def _undoing_json(batch: int, history: History) -> dict[str, Any]:
    undoing = history.undoing(batch)
    if undoing is None:
        return {}
    more = len(undoing.undone) - MOST_UNDONE
    told: dict[str, Any] = {"how": undoing.how, "undone": undoing.undone[:MOST_UNDONE]}
    return told | {"undone_more": more} if more > 0 else told


def writer_type(record: Record) -> str:
    """Return what wrote the record: `edit`, `write_file`, `outside` or `undo`; "" for a record that writes no file."""
    if record.kind not in VERSION_KINDS:
        return ""
    by: str = getattr(record.event(), "by", "outside")
    return by


# ── cursors ──────────────────────────────────────────────────────────────────


def cursor_at(seq: int, world: World) -> str:
    """Return the cursor after record `seq`."""
    return f"c{seq}.{world.first_event_ns:x}"


def _parse_cursor(cursor: str, world: World) -> int | None:
    """Return the seq of a cursor; None for a cursor of another journal. Raises `Refusal` for other text."""
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise Refusal("schema_invalid", f"cursor: {cursor!r} is not a cursor of an earlier reply.", argument="cursor")
    seq, journal = int(found[1]), int(found[2], 16)
    # A cursor made before the first record has no journal identity and fits every journal that begins later.
    ours = journal == world.first_event_ns or (journal == 0 and seq == 0)
    return seq if ours and seq <= world.history.head() else None


# ── log ──────────────────────────────────────────────────────────────────────


def _filter(params: LogParams | SinceParams, history: History) -> Filter:
    kinds = named_kinds(params.kind)
    path = path_filter(params.path, history) if params.path else None
    if isinstance(params, SinceParams):
        return Filter(history, kinds, params.writer, path=path)
    burst = 0 if params.burst is None else named_burst(params.burst, history)
    if burst and not params.kind:
        kinds |= BURST_KINDS
    single = single_path(params.path, history)
    earlier = {} if single is None else earlier_names(single, history)
    return Filter(history, kinds, params.writer, params.agent, params.agent_session, params.turn, path, burst, earlier)


def _within_burst(number: int, after: int, upto: int, history: History) -> tuple[int, int]:
    burst = history.burst(number)
    ended = burst.ended if burst is not None else 0
    return max(after, number - 1), min(upto, ended) if ended else upto


def decide_log(params: LogParams, world: World) -> Decision:
    """Return a page of records, or of stories (`LogReply`)."""
    if params.stories:
        return tell(_as_stories(params), world)
    params = spelled_out(params, world.history)
    limit = LIMIT if params.limit is None else params.limit
    require_in_bounds("limit", limit, MAX_LIMIT)
    history = world.history
    after, upto = stretch_between(params.since, params.until, history)
    if params.cursor is not None:
        at = _parse_cursor(params.cursor, world)
        if at is None:
            raise Refusal("schema_invalid", "cursor: it belongs to another journal; begin anew.", argument="cursor")
        after, upto = (after, min(upto, at)) if params.order == "newest" else (max(after, at), upto)
    keep = _filter(params, history)
    if params.burst is not None:
        after, upto = _within_burst(keep.burst, after, upto, history)
    wish = LogQuery(
        keep,
        params.path,
        after,
        upto,
        params.order == "newest",
        limit,
        params.contains.encode(),
        params.text_changed.encode(),
        params.patch,
        params.stat,
        world.settings.limits.reply_bytes,
    )
    found = page(wish, history)
    following = None
    if found.more and found.looked_to is not None:
        following = cursor_at(found.looked_to - 1 if params.order == "newest" else found.looked_to, world)
    return Decision(
        {
            "ok": True,
            "message": _counted(len(found.found), found.more),
            "records": [{**record_json(entry.record, history), **entry.told} for entry in found.found],
            "next": following,
            **({"left_out": found.left_out} if found.left_out else {}),
            **({"capturing": True} if history.first_scan() is None else {}),
            **({} if found.found or found.more else nobody_warned(params.writer, history)),
        }
    )


_OF_STORIES: Final = (*("path", "writer", "agent_session", "turn", "since", "until", "limit", "cursor", "stories"),)
"""Arguments of `log` that `stories` also has."""


def _as_stories(params: LogParams) -> StoriesParams:
    usual = LogParams()
    for name in params.__struct_fields__:
        if name not in _OF_STORIES and getattr(params, name) != getattr(usual, name):
            raise Refusal("schema_invalid", f"{name}: it is about records; leave it out, or `stories`.", argument=name)
    asked = StoriesParams(
        path=params.path,
        writer=params.writer,
        agent_session=params.agent_session,
        turn=params.turn,
        since=params.since,
        until=params.until,
        cursor=params.cursor,
    )
    return asked if params.limit is None else msgspec.structs.replace(asked, limit=params.limit)


def _counted(found: int, more: bool) -> str:
    many = counted(found, "record")
    return f"{many}; `next` leads on." if more else f"{many}."


# ── since ────────────────────────────────────────────────────────────────────


def decide_since(params: SinceParams, world: World) -> Decision:
    """Return the records after the cursor; without a cursor, only the current cursor (`SinceReply`). `fresh`: the
    cursor's position no longer exists in this journal, so the list begins at the oldest record.
    """
    require_in_bounds("limit", params.limit, MAX_LIMIT)
    history = world.history
    params = spelled_out(params, history)
    keep = _filter(params, history)
    head = history.head()
    if params.cursor is None:
        return _since_reply(world, params, Page([], None, more=False), head, fresh=False)
    after, fresh = _after(params.cursor, world)
    found = page(LogQuery(keep, params.path, after, head, newest_first=False, limit=params.limit), history)
    end = head if not found.more else found.looked_to if found.looked_to is not None else after
    return _since_reply(world, params, found, end, fresh)


def _after(cursor: str, world: World) -> tuple[int, bool]:
    """Return (seq after which the list begins, True if that is not the cursor's position, because it no longer
    exists).
    """
    history = world.history
    at = _parse_cursor(cursor, world) if _CURSOR.fullmatch(cursor) else parse_point(cursor, history, "cursor")
    if at is None:
        return 0, True
    following = next(history.records(after=at), None)
    gone = following is not None and following.seq != at + 1
    return (0, True) if gone else (at, False)


def _since_reply(world: World, params: SinceParams, found: Page, end: int, fresh: bool) -> Decision:
    many = len(found.found)
    return Decision(
        {
            "ok": True,
            "message": f"{counted(many, 'record')}{', from the beginning' if fresh else ''}.",
            "records": [record_json(entry.record, world.history) for entry in found.found],
            "cursor": cursor_at(end, world),
            "more": found.more,
            "fresh": fresh,
            **({} if many or found.more else nobody_warned(params.writer, world.history)),
        }
    )


LOG_TOOL: Final[Tool[LogParams]] = Tool(
    "log",
    LogParams,
    no_paths,
    decide_log,
    catch_up=True,
    of_tree=True,
    long=True,
    all_noted=True,
    asks=("path",),
    reply=LogReply,
)
SINCE_TOOL: Final[Tool[SinceParams]] = Tool(
    "since",
    SinceParams,
    no_paths,
    decide_since,
    catch_up=True,
    of_tree=True,
    all_noted=True,
    asks=("path",),
    reply=SinceReply,
)
