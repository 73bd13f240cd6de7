"""`log` and `since`: which records there are. Read-only; one call looks at a bounded number of records.

A cursor is a position between records, with the mark of the journal it belongs to. `log` pages with it in either
direction, `since` forward only; a call that has looked at enough gives the cursor to go on from, whether it found
anything or not, so a rare match costs several short calls and never a long one.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from pathspec import GitIgnoreSpec

from quire_daemon.handlers.base import Decision, Tool, World
from quire_journal.blobs import NotHeld
from quire_journal.events import BY_KIND, FOLDER, Event, Record
from quire_journal.history import History
from quire_journal.ids import OUTSIDE, version_token
from quire_journal.points import parse_point, rfc3339
from quire_journal.refusals import Refused

MAX_LIMIT: Final = 1000
"""Records in one reply."""

SCAN_RECORDS: Final = 20_000
"""Records that one call looks at."""

BYTES_COST: Final = 50
"""What looking into a version's bytes counts for, in records."""

VERSION_KINDS: Final = frozenset(
    {
        "file_written",
        "file_deleted",
        "file_moved",
        "mode_changed",
        "outside_written",
        "outside_deleted",
        "outside_moved",
        "outside_mode_changed",
        "capture_failed",
        "bytes_displaced",
    }
)
"""Kinds of records that make versions of a path, or keep bytes that stood there."""

SHOWN_KINDS: Final = VERSION_KINDS | {"checkpoint_named", "checkpoint_dropped", "git_ran"}
"""What is shown when nobody names a kind."""

BURST_KINDS: Final = frozenset({"burst_begun", "burst_ended"})
"""What is shown besides, of one burst."""

_CURSOR: Final = re.compile(r"c(\d{1,19})\.([0-9a-f]{1,16})", re.ASCII)
_WRITER_ID: Final = re.compile(r"w(\d{1,9})", re.ASCII)
_GLOB: Final = re.compile(r"[*?\[]")
_MORE_FIELDS: Final = (
    "to",
    "name",
    "cursor",
    "note",
    "tool",
    "code",
    "why",
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
    "worktree",
    "exit_code",
    "head_before",
    "head_after",
)


class LogParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `log`."""

    path: str = ""  # a file, a folder, or a glob
    writer: str = ""  # an agent's name, `w3`, or `outside`
    kind: str | list[str] = ""
    since: str = ""  # a point: records after it
    until: str = ""  # a point: records up to it
    burst: int | str | None = None  # its number: what belongs to it, its beginning and its end
    contains: str = ""  # in the bytes of the version
    limit: int = 50
    order: str = "newest"  # or "oldest"
    cursor: str | None = None


class SinceParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `since`. `wait_ms` is the app's: it asks again when something has happened."""

    cursor: str | None = None  # of an earlier reply; a point does, too
    path: str = ""
    writer: str = ""
    kind: str | list[str] = ""
    limit: int = 200
    wait_ms: int = 0


# ── a record as replies show it ──────────────────────────────────────────────


def record_json(record: Record, history: History) -> dict[str, Any]:
    """A record as callers see it: `{seq, at, kind, path, version, sha256, base, batch, writer, evidence}` and more.

    What the kind has besides (`to` of a move, `name` of a checkpoint, `why`) stands under its own name. A write that
    did not happen has `abandoned: true`.
    """
    event = record.event()
    path = getattr(event, "path", None)
    blob = getattr(event, "blob", b"")
    base = getattr(event, "base", 0)
    shown: dict[str, Any] = {
        "seq": record.seq,
        "at": rfc3339(record.at_ns),
        "kind": record.kind,
        "path": path,
        "version": version_token(record.seq) if record.kind in VERSION_KINDS else None,
        "sha256": blob.hex() if blob else None,
        "base": version_token(base) if base else None,
        "batch": record.batch,
        "writer": history.writer_json(record.writer, writer_type(record)),
        "evidence": getattr(event, "evidence", None),
    }
    shown.update({name: getattr(event, name) for name in _MORE_FIELDS if hasattr(event, name)})
    if hint := getattr(event, "hint", ""):
        shown["hint"] = hint
    for name in ("started", "ended"):
        at_ns = getattr(event, f"{name}_ns", 0)
        if at_ns:
            shown[f"{name}_at"] = rfc3339(at_ns)
    if path is not None and record.kind in VERSION_KINDS and history.version(path, record.seq) is None:
        shown["abandoned"] = True
    return shown


def writer_type(record: Record) -> str:
    """The writer type of contract §2; "" for a record that writes no file."""
    if record.kind not in VERSION_KINDS:
        return ""
    by: str = getattr(record.event(), "by", "outside")
    return by


# ── which records ────────────────────────────────────────────────────────────


def writer_filter(named: str, history: History) -> Callable[[int], bool]:
    """Does a writer match `named`: an agent's name, `w3`, `outside`, or "" for everyone?"""
    if not named:
        return lambda writer: True
    if named == "outside":
        return lambda writer: writer == OUTSIDE
    by_id = _WRITER_ID.fullmatch(named)
    if by_id:
        number = int(by_id[1])
        return lambda writer: writer == number
    known: dict[int, bool] = {}

    def is_named(writer: int) -> bool:
        if writer not in known:
            who = history.writer(writer)
            known[writer] = who is not None and who.agent == named
        return known[writer]

    return is_named


def relative_path(given: str, history: History) -> str:
    """A path from the arguments as the journal spells it.

    Questions about the past are not asked of the disk, so an absolute path is cut to the longest end that the
    journal knows; one that it does not know matches nothing.
    """
    plain = posixpath.normpath(given)
    if not plain.startswith("/"):
        return plain
    names = plain.split("/")[1:]
    ends = ("/".join(names[i:]) for i in range(len(names)))
    return next((end for end in ends if history.file(end) is not None), plain)


def path_filter(given: str, history: History) -> Callable[[str], bool]:
    """Does a path match: a file, everything in a folder, or a glob (`*`, `**`, `?`, `[…]` as in `.gitignore`)?"""
    if not given:
        return lambda path: True
    if _GLOB.search(given):
        spec = GitIgnoreSpec.from_lines(["\\" + given if given[0] in "!#" else given])
        return spec.match_file
    wanted = relative_path(given, history)
    if wanted == ".":
        return lambda path: True
    return lambda path: path == wanted or path.startswith(f"{wanted}/")


def single_path(given: str, history: History) -> str | None:
    """The one file that `given` names; None when it is a glob, a folder, or nothing that the journal knows."""
    if not given or _GLOB.search(given):
        return None
    wanted = relative_path(given, history)
    head = history.file(wanted)
    return wanted if head is not None and head.entry != FOLDER else None


def named_burst(named: int | str, history: History) -> int:
    """The burst with that number. Raises `Refused`."""
    if isinstance(named, str):
        if not (named.isascii() and named.isdigit() and len(named) < 19):
            raise Refused("schema_invalid", f"burst: {named!r} is not the number of a burst.", argument="burst")
        named = int(named)
    if history.burst(named) is None:
        raise Refused("not_found", f"There is no burst {named}.", "burst list", burst=named)
    return named


def _kinds(asked: str | list[str]) -> frozenset[str]:
    """The kinds that a caller asked for, or those shown by default. Raises `Refused` for one that does not exist."""
    named = frozenset([asked] if isinstance(asked, str) else asked) - {""}
    unknown = sorted(named - BY_KIND.keys())
    if unknown:
        raise Refused(
            "schema_invalid",
            f"kind: there is no kind {unknown[0]!r}; the kinds are {', '.join(sorted(BY_KIND))}.",
            argument="kind",
        )
    return named or SHOWN_KINDS


@dataclass(frozen=True)
class _Filter:
    """What a record must be to be listed."""

    history: History
    kinds: frozenset[str]
    writer: Callable[[int], bool]
    path: Callable[[str], bool] | None
    contains: bytes = b""
    burst: int = 0

    @classmethod
    def of(cls, params: LogParams | SinceParams, history: History) -> _Filter:
        burst = params.burst if isinstance(params, LogParams) else None
        kinds = _kinds(params.kind)
        return cls(
            history,
            kinds | BURST_KINDS if burst is not None and not params.kind else kinds,
            writer_filter(params.writer, history),
            path_filter(params.path, history) if params.path else None,
            params.contains.encode() if isinstance(params, LogParams) else b"",
            0 if burst is None else named_burst(burst, history),
        )

    def admits(self, record: Record) -> bool:
        """Everything but `contains`."""
        if record.kind not in self.kinds or not self.writer(record.writer):
            return False
        if self.burst and not self._of_the_burst(record):
            return False
        return self.path is None or any(self.path(path) for path in _paths(record.event()))

    def _of_the_burst(self, record: Record) -> bool:
        """Is it what belongs to the burst, or its beginning or end?"""
        if record.kind in BURST_KINDS:
            return self.burst in (record.seq, getattr(record.event(), "burst", 0))
        return self.history.in_burst(self.burst, record.batch)

    def holds(self, record: Record) -> bool:
        """Do the bytes of the version contain the text? Bytes that are not kept contain nothing."""
        blob: bytes = getattr(record.event(), "blob", b"")
        if not blob:
            return False
        try:
            return self.contains in self.history.bytes_of(blob)
        except NotHeld:
            return False


def _paths(event: Event | None) -> Iterator[str]:
    for name in ("path", "to"):
        path = getattr(event, name, None)
        if path is not None:
            yield path


@dataclass(frozen=True)
class _Page:
    """What one call found. `looked_to` is the last record it looked at, `more` whether there are others behind it."""

    records: list[Record]
    looked_to: int | None
    more: bool


def _page(candidates: Iterator[Record], keep: _Filter, limit: int) -> _Page:
    found: list[Record] = []
    looked_to: int | None = None
    budget = SCAN_RECORDS
    for record in candidates:
        if budget <= 0 or len(found) == limit:
            return _Page(found, looked_to, more=True)
        budget -= 1
        looked_to = record.seq
        if not keep.admits(record):
            continue
        if keep.contains:
            budget -= BYTES_COST
            if not keep.holds(record):
                continue
        found.append(record)
    return _Page(found, looked_to, more=False)


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= MAX_LIMIT:
        raise Refused("schema_invalid", f"limit: must be from 1 to {MAX_LIMIT}, not {limit}.", argument="limit")


# ── cursors ──────────────────────────────────────────────────────────────────


def cursor_at(seq: int, world: World) -> str:
    """The cursor behind record `seq`."""
    return f"c{seq}.{world.first_event_ns:x}"


def _parse_cursor(cursor: str, world: World) -> int | None:
    """The seq in a cursor of this journal; None for one of another. Raises `Refused` for what is not a cursor."""
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise Refused("schema_invalid", f"cursor: {cursor!r} is not a cursor of an earlier reply.", argument="cursor")
    seq, journal = int(found[1]), int(found[2], 16)
    # A cursor from before the first record carries no mark yet, and is right in every journal that begins after it.
    ours = journal == world.first_event_ns or (journal == 0 and seq == 0)
    return seq if ours and seq <= world.history.head() else None


# ── log ──────────────────────────────────────────────────────────────────────


def _candidates(params: LogParams, kinds: frozenset[str], after: int, upto: int, history: History) -> Iterator[Record]:
    """The records to look at, in order; of one file, by way of its versions."""
    reverse = params.order == "newest"
    path = single_path(params.path, history) if kinds <= SHOWN_KINDS else None
    if path is None:
        yield from history.records(after=after, upto=upto, reverse=reverse)
        return
    for version in history.versions(path, after=after, upto=upto, reverse=reverse, displaced=True):
        record = history.record(version.seq)
        if record is not None:
            yield record


def _within_burst(number: int, after: int, upto: int, history: History) -> tuple[int, int]:
    """The bounds, no wider than the burst."""
    burst = history.burst(number)
    ended = burst.ended if burst is not None else 0
    return max(after, number - 1), min(upto, ended) if ended else upto


def decide_log(params: LogParams, world: World) -> Decision:
    """The reply: `records` and `next`, the cursor of the next page or None."""
    _check_limit(params.limit)
    if params.order not in ("newest", "oldest"):
        raise Refused("schema_invalid", f"order: must be newest or oldest, not {params.order!r}.", argument="order")
    history = world.history
    after: int = parse_point(params.since, history) if params.since else 0
    upto: int = parse_point(params.until, history) if params.until else history.head()
    if params.cursor is not None:
        at = _parse_cursor(params.cursor, world)
        if at is None:
            raise Refused("schema_invalid", "cursor: it belongs to another journal; begin anew.", argument="cursor")
        after, upto = (after, min(upto, at)) if params.order == "newest" else (max(after, at), upto)
    keep = _Filter.of(params, history)
    if params.burst is not None:
        after, upto = _within_burst(keep.burst, after, upto, history)
    page = _page(_candidates(params, keep.kinds, after, upto, history), keep, params.limit)
    following = None
    if page.more and page.looked_to is not None:
        following = cursor_at(page.looked_to - 1 if params.order == "newest" else page.looked_to, world)
    return Decision(
        {
            "ok": True,
            "message": _counted(len(page.records), page.more),
            "records": [record_json(record, history) for record in page.records],
            "next": following,
        }
    )


def _counted(found: int, more: bool) -> str:
    many = f"{found} record{'' if found == 1 else 's'}"
    return f"{many}; `next` leads on." if more else f"{many}."


# ── since ────────────────────────────────────────────────────────────────────


def decide_since(params: SinceParams, world: World) -> Decision:
    """The reply: `records` in order, `cursor` to ask with next, `more` (ask at once) and `fresh`.

    `fresh` means that the cursor is of no use (another journal, or records behind it are gone): the listing then
    begins at the oldest record that is kept. Without a cursor: the cursor of now and no records.
    """
    _check_limit(params.limit)
    history = world.history
    keep = _Filter.of(params, history)
    if params.cursor is None:
        return _since_reply(world, _Page([], None, more=False), history.head(), fresh=False)
    after, fresh = _after(params.cursor, world)
    page = _page(history.records(after=after), keep, params.limit)
    end = page.looked_to if page.looked_to is not None else after
    return _since_reply(world, page, end, fresh)


def _after(cursor: str, world: World) -> tuple[int, bool]:
    """(the record to go on behind, whether that is not what the cursor says)."""
    history = world.history
    at = _parse_cursor(cursor, world) if _CURSOR.fullmatch(cursor) else parse_point(cursor, history)
    if at is None:
        return 0, True
    following = next(history.records(after=at), None)
    gone = following is not None and following.seq != at + 1
    return (0, True) if gone else (at, False)


def _since_reply(world: World, page: _Page, end: int, fresh: bool) -> Decision:
    many = len(page.records)
    return Decision(
        {
            "ok": True,
            "message": f"{many} record{'' if many == 1 else 's'}{', from the beginning' if fresh else ''}.",
            "records": [record_json(record, world.history) for record in page.records],
            "cursor": cursor_at(end, world),
            "more": page.more,
            "fresh": fresh,
        }
    )


def _no_paths(params: LogParams | SinceParams) -> Sequence[str]:
    return ()


LOG_TOOL: Final = Tool("log", LogParams, _no_paths, decide_log, needs_text=False, catch_up=True)
SINCE_TOOL: Final = Tool("since", SinceParams, _no_paths, decide_since, needs_text=False, catch_up=True)
