"""`read_file`: lines of a file with or without anchors, and a record of the lines that the caller has seen."""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from quire_daemon.core import Decision, FileNow, Tool, World
from quire_daemon.core.replies import ReadReply
from quire_daemon.tools.history import before_it, file_at
from quire_daemon.tools.preconditions import require_lines, require_readable, require_size, shown_as
from quire_daemon.tools.recent_changes import news
from quire_journal.history import History, missing, parse_point, require_known, rfc3339
from quire_journal.model import (
    FOLDER,
    LINK,
    Ranges,
    ReadServed,
    Refusal,
    counted,
    disk_path,
    journal_path,
    merge_ranges,
    version_token,
    without,
)
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import LineHashes, Splice, Text, carry_ranges, diff, moved_ranges, shown
from quire_journal.views import Version, standing

_KEPT: Final = "packed_rows"
_ENCODER: Final = msgspec.msgpack.Encoder()

MOST_LINKS: Final = 16
"""Maximum length of a chain of symbolic links; a longer chain counts as a loop."""


class ReadParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `read_file`. Lines are 1-based, inclusive and clamped to the file."""

    path: str
    hashes: bool = False
    format: Literal["plain", "hashed", "hashline", "numbered"] | None = None
    start_line: int | None = None
    startLine: int | None = None
    end_line: int | None = None
    endLine: int | None = None
    at: str | None = None  # a point: a version, seq:N, a time, or a checkpoint's name
    since: str | None = None  # a point: only what has changed since then
    content_base64: bool = False

    def __post_init__(self) -> None:
        if self.hashes and self.format not in (None, "hashed"):
            raise ValueError(f"`hashes` and `format` ({self.format}) contradict each other")
        for snake, camel, name in (
            (self.start_line, self.startLine, "start_line"),
            (self.end_line, self.endLine, "end_line"),
        ):
            if snake is not None and camel is not None and snake != camel:
                raise ValueError(f"`{name}` is given twice, as {snake} and as {camel}")
        beside = (self.at, self.start_line, self.startLine, self.end_line, self.endLine, self.content_base64 or None)
        if self.since is not None and any(value is not None for value in beside):
            raise ValueError("`since` shows what has changed, and goes with none of lines, `at` and `content_base64`")

    @property
    def shape(self) -> str:
        return self.format or ("hashed" if self.hashes else "plain")

    @property
    def first(self) -> int:
        """The first requested line, 1-based; values below 1 mean the first line of the file."""
        return next((n for n in (self.start_line, self.startLine) if n is not None), 1)

    @property
    def last(self) -> int | None:
        """The last requested line, 1-based; None for the last line of the file."""
        return next((n for n in (self.end_line, self.endLine) if n is not None), None)


class _Slice(msgspec.Struct, frozen=True):
    """Lines [start, stop) of a text, from 0; `cut` if further requested lines do not fit."""

    text: Text
    start: int
    stop: int
    rows: Sequence[str] | msgspec.Raw  # empty for the format `plain`
    cut: bool  # the reply could not hold all requested lines


def decide(params: ReadParams, world: World) -> Decision:
    """Return the requested lines of a file, and record them as read. Raises `Refusal` for a file that is not text, or
    has too many lines for anchors.
    """
    now = world.files[params.path]
    if params.at is not None:
        return _past(params, params.at, now, world)
    text = require_readable(now, world)
    if params.shape in _WITH_ANCHORS:
        require_lines(now.path, len(text), world)
    if params.since is not None:
        return _since(params, params.since, now, text, world)
    part = _slice(text, params, world.settings.limits.reply_bytes)
    reply = {**_reply(part, params, now.path, now.version, world), **news(world, now.path)}
    head = shown_as(now)
    if head is None:
        return Decision(reply)
    return Decision(reply, [_seen(part, params.shape in _WITH_ANCHORS, now.path, head, world)])


def _slice(text: Text, params: ReadParams, limit: int) -> _Slice:
    start = min(max(params.first, 1) - 1, len(text))
    stop = len(text) if params.last is None else min(max(params.last, 0), len(text))
    stop = max(stop, start)
    likely = stop
    if len(text.data) >= limit:  # rows are longer than their lines
        likely = fitting(text.lines[start : min(stop, start + limit)], limit) + start
    elif stop - start == len(text) and len(packed := _packed(text, params.shape)) <= limit:
        return _Slice(text, start, stop, msgspec.Raw(packed), False)
    rows = _ROWS[params.shape](text, start, likely)
    end = fitting(rows, limit) + start if rows else likely
    return _Slice(text, start, end, rows[: end - start], end < stop)


def _packed(text: Text, shape: str) -> bytes:
    """Return all rows of a text in the format `shape`, encoded for the reply; cached in the text."""
    kept: dict[str, bytes] = text.__dict__.setdefault(_KEPT, {})
    if shape not in kept:
        kept[shape] = _ENCODER.encode(_ROWS[shape](text, 0, len(text)))
    return kept[shape]


def _numbered(text: Text, start: int, stop: int) -> Sequence[str]:
    return [f"{number:6}\t{shown(line)}" for number, line in enumerate(text.lines[start:stop], start + 1)]


_ROWS: Final[dict[str, Callable[[Text, int, int], Sequence[str]]]] = {
    "plain": lambda text, start, stop: (),
    "hashed": lambda text, start, stop: LineHashes.of(text).rows(start, stop),
    "hashline": lambda text, start, stop: LineHashes.of(text).references(start, stop),
    "numbered": _numbered,
}

_WITH_ANCHORS: Final = ("hashed", "hashline")


def fitting(lines: Sequence[str | bytes], limit: int) -> int:
    """Return the number of lines that fit into `limit` bytes with their line breaks; at least one."""
    sizes = [len(line) if isinstance(line, bytes) or line.isascii() else len(line.encode()) for line in lines]
    if sum(sizes) + len(sizes) <= limit:
        return len(lines)
    left = limit
    for number, size in enumerate(sizes):
        left -= 1 + size
        if left < 0 and number:
            return number
    return len(lines)


def _reply(part: _Slice, params: ReadParams, path: str, version: Version | None, world: World) -> dict[str, Any]:
    text, start, stop = part.text, part.start, part.stop
    reply: dict[str, Any] = {
        "ok": True,
        "message": _sentence(part, path),
        "path": path,
        "version": version_token(version.seq) if version is not None else None,
        "sha256": text.blob.hex(),
        "newlineStyle": text.newline_style,
        "hasBom": text.bom,
        "sizeBytes": len(text.data),
        "lineCount": len(text),
        "startLine": start + 1,
        "endLine": stop,
        "last_writer": None,
        "truncated": part.cut,
    }
    if version is not None:
        writer = world.history.writer_json(version.writer, version.type)
        reply["last_writer"] = {**writer, "at": rfc3339(version.at_ns), "evidence": version.evidence or None}
    if version is not None and version.uncaptured:
        reply["uncaptured"] = version.uncaptured
    if part.cut:
        reply["next_line"] = stop + 1
    if params.shape == "plain":
        reply["content"] = text.slice(start, stop).decode("utf-8", "replace")
    else:
        reply["lines"] = part.rows
    if text.lossy and _is_lossy(text.slice(start, stop)):
        reply["lossy"] = True
    if params.content_base64:
        whole = b"".join(a + b for a, b in zip(text.lines[start:stop], text.breaks[start:stop], strict=True))
        reply["content_base64"] = base64.b64encode(whole).decode("ascii")
    return reply


def _sentence(part: _Slice, path: str) -> str:
    if part.start == part.stop:
        return f"No lines of {path}, which has {len(part.text)}."
    more = f"; more from line {part.stop + 1} on" if part.cut else ""
    return f"Lines {part.start + 1}-{part.stop} of {len(part.text)} of {path}{more}."


def _is_lossy(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def _seen(part: _Slice, anchors: bool, path: str, head: Version, world: World) -> ReadServed:
    return seen_with(((part.start, part.stop),), anchors, path, head.seq, part.text, world)


def seen_with(lines: Ranges, anchors: bool, path: str, seq: int, text: Text, world: World) -> ReadServed:
    """Return the record that the caller has read `lines` of version `seq`, besides the lines that it read before, at
    their current line numbers. If another writer moved a line, the record says that the caller has not read its new
    number.
    """
    history, who = world.history, world.who.key
    before = history.shown(who, path)
    shown, moved = ((), ()) if before is None else (before.lines, before.moved)
    if before is not None and before.version != seq and shown:
        version = standing(history.version(path, before.version))
        then = None if version is None else history.text_held(version.blob)
        if then is None:
            return ReadServed(path, seq, merge_ranges(lines), anchors)
        step = diff(then, text)
        by_others = moved_ranges(step, shown)
        if by_others and not any(history.changed_since(path, before.version, who)):
            by_others = []
        shown, moved = tuple(carry_ranges(step, shown)), (*carry_ranges(step, moved), *by_others)
    return ReadServed(path, seq, merge_ranges([*shown, *lines]), anchors, without(moved, lines))


CONTEXT: Final = 3
"""Number of unchanged lines that `since` shows before and after a change."""


def _since(params: ReadParams, point: str, now: FileNow, text: Text, world: World) -> Decision:
    """Return only the lines that have changed since a point, with the lines removed there; lines shown count as
    read.
    """
    path, version = file_then(now, parse_point(point, world.history, "since"), point, world.history)
    then = _text_then(path, version, point, world.history)
    splices = diff(then, text)
    places = _places(splices, len(text))
    hunks: list[dict[str, Any]] = []
    left = world.settings.limits.reply_bytes
    for start, stop in places:
        part = _slice(
            text, msgspec.structs.replace(params, since=None, start_line=start + 1, end_line=stop), max(left, 1)
        )
        inside = [splice for splice, at in splices_now(splices) if start <= at <= stop]
        gone = [shown(line) for splice in inside for line in then.lines[splice.start : splice.stop]]
        left -= len(text.slice(part.start, part.stop)) + sum(map(len, gone))
        if left < 0 and hunks:
            break
        rows = part.rows or [shown(line) for line in text.lines[part.start : part.stop]]
        hunks.append({"startLine": part.start + 1, "endLine": part.stop, "lines": rows, "removed": gone})
    seen = [(hunk["startLine"] - 1, hunk["endLine"]) for hunk in hunks]
    whole = _Slice(text, seen[0][0] if seen else 0, seen[-1][1] if seen else 0, [], len(hunks) < len(places))
    reply = _reply(whole, msgspec.structs.replace(params, hashes=True, format="hashed"), now.path, now.version, world)
    since = version_token(version.seq)
    message = f"{now.path} is as it was in {since}."
    if places:
        message = f"{counted(len(places), 'place')} of {now.path} changed since {since}."
        message += " The reply was cut." if whole.cut else ""
    del reply["lines"]
    reply |= {"message": message, "since": since, "hunks": hunks, **news(world, now.path)}
    head = shown_as(now)
    if head is None:
        return Decision(reply)
    return Decision(reply, [seen_with(tuple(seen), params.shape in _WITH_ANCHORS, now.path, head.seq, text, world)])


def splices_now(splices: Sequence[Splice]) -> Iterator[tuple[Splice, int]]:
    """Yield each splice with the line number (from 0) at which its lines stand after all splices."""
    moved = 0
    for splice in splices:
        yield splice, splice.start + moved
        moved += splice.shift


def _places(splices: Sequence[Splice], count: int) -> list[tuple[int, int]]:
    """Return the changed lines with context as half-open ranges of the current text; overlapping and adjacent ranges
    are merged.
    """
    found: list[tuple[int, int]] = []
    for splice, at in splices_now(splices):
        start, stop = max(at - CONTEXT, 0), min(at + len(splice.lines) + CONTEXT, count)
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], stop)
        else:
            found.append((start, stop))
    return found


def _past(params: ReadParams, point: str, now: FileNow, world: World) -> Decision:
    """Return lines of a past version. They do not count as read."""
    history = world.history
    seq = parse_point(point, history, "at")
    path, version = file_then(now, seq, point, history)
    text = _text_then(path, version, point, history)
    require_size(path, len(text.data), world)
    if text.binary:
        raise Refusal("binary_file", f"{path} held NUL bytes at {point}.", path=path)
    if params.shape in _WITH_ANCHORS:
        require_lines(path, len(text), world)
    part = _slice(text, params, world.settings.limits.reply_bytes)
    return Decision({**_reply(part, params, path, version, world), **news(world, path)})


def _text_then(path: str, version: Version, point: str, history: History) -> Text:
    """Return the text of a version. Raises `Refusal` if the journal does not hold its bytes."""
    try:
        return history.text_of(version.blob)
    except NotHeld:
        lost = missing(history, version)
        message = f"The bytes of {path} at {point} are not in the journal: {lost.told}."
        raise Refusal("uncaptured", message, path=path, why=lost.why) from None


def file_then(now: FileNow, seq: int, point: str, history: History) -> tuple[str, Version]:
    """Return (path, version) of the file that the path of `now` named at record `seq`: symbolic links lead where they
    led then; if no file was at the path, the current file counts, under its earlier name. Raises `Refusal` if no file
    was there, or lost records leave it unknown.
    """
    path = named = now.resolved_from if now.resolved_from and history.file(now.resolved_from) else now.path
    for _ in range(MOST_LINKS):
        require_known(history, path, seq, point)
        path, version = file_at(path, seq, history)
        if version is None or version.gone:
            led = "" if path == named else f", where it led to {path}"
            unknown = before_it(seq, history)
            what = f"is not known at {point}{led}. {unknown}" if unknown else f"did not exist at {point}{led}."
            raise Refusal("not_found", f"{named} {what}", "choose_another_point", path=named)
        if version.entry == FOLDER:
            raise Refusal("not_a_file", f"{path} was a folder at {point}.", "check_path", path=path)
        if version.entry != LINK:
            return path, version
        target = _text_then(path, version, point, history).data.decode("utf-8", "surrogateescape")
        path = journal_path(posixpath.normpath(posixpath.join(posixpath.dirname(disk_path(path)), target)))
    raise Refusal("not_a_file", f"{named} was a link at {point} that leads to no file.", "check_path", path=named)


READ_TOOL: Final[Tool[ReadParams]] = Tool(
    name="read_file",
    params=ReadParams,
    paths=lambda params: (params.path,),
    decide=decide,
    journals=True,
    reply=ReadReply,
)
