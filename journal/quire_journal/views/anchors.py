"""Anchors view: the line hashes that each version of a path removed and added, to find where an anchored line was last.

A path is indexed from its first read with anchors on; each later version adds a row with its changed lines. A version
without text (not captured, dropped, too large, not a regular file) has no row: the next text is compared with the last.
When bytes of a path are dropped or purged, its rows are deleted, as no hash of a secret's line may stay; the next read
with anchors indexes it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec

from quire_journal.model import (
    REGULAR,
    BytesGone,
    Event,
    FileDeleted,
    FileMoved,
    FileWritten,
    OutsideDeleted,
    OutsideMoved,
    OutsideWritten,
    ReadServed,
    Record,
    WritesAbandoned,
)
from quire_journal.storage import ReadTransaction, WriteTransaction, blobs, u32, u64
from quire_journal.text import BOM, Text, breaks_between, common_bytes, hash8_each, pack
from quire_journal.views import lost_bytes
from quire_journal.views.files import Version, abandoned_writes, older, version, versions
from quire_journal.views.paths import path_id

TABLES = ("anchors",)
KINDS: Final = (
    FileWritten,
    FileDeleted,
    FileMoved,
    OutsideWritten,
    OutsideDeleted,
    OutsideMoved,
    ReadServed,
    BytesGone,
    WritesAbandoned,
)

BytesOf = Callable[[ReadTransaction, bytes], bytes]
"""Function that returns the bytes of a blob, or raises `blobs.NotHeld`."""

MAX_TEXT: Final = 8 * 1024 * 1024
"""Maximum size of an indexed text; larger files are not edited by line."""

MAX_CATCH_UP: Final = 64
"""Maximum number of later versions indexed when a path is first indexed; with more, only the head is."""


Runs = tuple[tuple[int, int], ...]
"""0-based line numbers, as runs (first, count)."""


class Lines(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Line changes of one version. Hashes are packed, 4 bytes each."""

    before: int  # seq of the version compared with; 0: none, and `added` has every line
    removed: bytes
    removed_at: Runs  # the removed lines' numbers in `before`
    added: bytes
    added_at: Runs  # the added lines' numbers in this version


class AnchorTrace(msgspec.Struct, frozen=True):
    """Last place of a line that is not in the file now."""

    version: int  # seq of the last version known to have the line
    line: int  # 0-based
    removed_by: int  # seq of the first version without it


_ENCODER: Final = msgspec.msgpack.Encoder()
_LINES: Final = msgspec.msgpack.Decoder(Lines)
_NEWEST: Final = u64(0)  # key, within a path, of the seq of the newest row; no record has seq 0
_NONE: Final = b""  # value of `_NEWEST` for a path read with anchors that has no rows


def fold(w: WriteTransaction, record: Record, event: Event | None, bytes_of: BytesOf | None = None) -> None:
    """Index the version that the event made, index a new path, or remove abandoned versions. The files view must be
    folded first.
    """
    held = bytes_of or blobs.get
    match event:
        case FileWritten() | FileDeleted() | OutsideWritten() | OutsideDeleted():
            _follow(w, event.path, record.seq, held)
        case FileMoved() | OutsideMoved():
            old = path_id(w, event.path)
            _follow(w, event.path, record.seq, held)
            if old is not None and w.get("anchors", u32(old) + _NEWEST) is not None:
                _join(w, event.to, record.seq, held)
            _follow(w, event.to, record.seq, held)
        case ReadServed() if event.anchors:
            _join(w, event.path, event.version, held)
        case BytesGone():
            for number in _touched(w, event):
                _leave(w, number)
        case WritesAbandoned():
            # Oldest first: the files view has removed all of them, and a row is compared with the version before.
            for seq, write in reversed(abandoned_writes(w, record, event)):
                _take_back(w, write.path, seq, held)
                if isinstance(write, FileMoved):
                    _take_back(w, write.to, seq, held)
        case _:
            pass


def newest(r: ReadTransaction, path: int) -> int | None:
    """Return the newest indexed version of the path; None if it has none."""
    found = r.get("anchors", u32(path) + _NEWEST)
    return int.from_bytes(found, "big") if found else None


def rows(r: ReadTransaction, path: int, before: int | None = None) -> Iterable[tuple[int, Lines]]:
    """Yield (seq, lines) of the indexed versions of a path with seq < `before`, newest first."""
    stop = u32(path + 1) if before is None else u32(path) + u64(before)
    for key, value in r.scan("anchors", u32(path) + u64(1), stop, reverse=True):
        yield int.from_bytes(key[4:], "big"), _LINES.decode(value)


def trace(r: ReadTransaction, path: str, prefix: str) -> AnchorTrace | None:
    """Return the last place of the line whose hash begins with `prefix` (hex), across renames. None if no indexed
    version had the line, or the newest version has it.
    """
    digits = prefix.lower()
    before: int | None = None
    unknown: int | None = None  # the next version whose row lists every line, so that its removals are unknown
    while digits and (number := path_id(r, path)) is not None:
        oldest: int | None = None
        for seq, lines in rows(r, number, before):
            if (at := find(lines.removed, digits)) is not None:
                return AnchorTrace(lines.before, place(lines.removed_at, at), seq)
            if (at := find(lines.added, digits)) is not None:
                return None if unknown is None else AnchorTrace(seq, place(lines.added_at, at), unknown)
            unknown = unknown if lines.before else seq
            oldest = seq
        came = None if oldest is None else version(r, number, oldest)
        if came is None or not came.moved_from:
            return None
        path, before = came.moved_from, came.seq  # the path had another name before
        unknown = came.seq  # a rename may have changed the lines, too
    return None


def find(packed: bytes, prefix: str) -> int | None:
    """Return the index of the first hash in `packed` that begins with `prefix` (1 to 8 lower-case hex digits); None if
    there is none.
    """
    digits = packed.hex()
    at = digits.find(prefix)
    while at > 0 and at % 8:
        at = digits.find(prefix, at + 1)
    return None if at < 0 else at // 8


def place(runs: Runs, index: int) -> int:
    """Return the line number at `index` in the list of numbers that `runs` stand for. Raises IndexError."""
    for start, count in runs:
        if index < count:
            return start + index
        index -= count
    raise IndexError("there are fewer lines than that")


def compare(old: bytes, new: bytes, before: int = 0) -> Lines:
    """Return the lines that `new` removed from `old` (version `before`) and added. A line that the changed region has
    both before and after counts as unchanged.
    """
    head, tail = common_bytes(old, new)
    first = breaks_between(old, 0, head)
    gone = _lines(old, head, len(old) - tail)
    come = _lines(new, head, len(new) - tail)
    removed, added = _without(gone, come), _without(come, gone)
    return Lines(
        before,
        _pack(line for _, line in removed),
        _runs(first + index for index, _ in removed),
        _pack(line for _, line in added),
        _runs(first + index for index, _ in added),
    )


def _follow(w: WriteTransaction, path: str, seq: int, held: BytesOf) -> None:
    number = path_id(w, path)
    found = None if number is None else w.get("anchors", u32(number) + _NEWEST)
    if number is None or not found:
        return
    before = int.from_bytes(found, "big")
    if before >= seq:
        return
    made = version(w, number, seq)
    new = None if made is not None and made.displaced else _bytes(w, made, held)
    if new is None:
        return
    old = _bytes(w, older(w, number, before), held)
    _put(w, number, seq, _whole(new) if old is None else compare(old, new, before))
    _set_newest(w, number, seq)


def _join(w: WriteTransaction, path: str, seq: int, held: BytesOf) -> None:
    number = path_id(w, path)
    if number is None or newest(w, number) is not None:
        return
    w.put("anchors", u32(number) + _NEWEST, _NONE)
    later = [found.seq for found, _ in zip(versions(w, number, after=seq), range(MAX_CATCH_UP + 1), strict=False)]
    first = version(w, number, seq)
    if len(later) > MAX_CATCH_UP:
        first, later = next(versions(w, number, reverse=True), None), []
    text = None if first is None or first.displaced else _bytes(w, first, held)
    if first is None or text is None:
        return
    _put(w, number, first.seq, _whole(text))
    _set_newest(w, number, first.seq)
    for seq in later:
        _follow(w, path, seq, held)


def _touched(r: ReadTransaction, event: BytesGone) -> Iterator[int]:
    if event.paths:
        yield from (number for path in event.paths if (number := path_id(r, path)) is not None)
        return
    gone, joined = {*event.blobs}, -1
    while (found := next(iter(r.scan("anchors", u32(joined + 1))), None)) is not None:
        joined = int.from_bytes(found[0][:4], "big")
        if any(version.blob in gone for version in versions(r, joined, displaced=True)):
            yield joined


def _leave(w: WriteTransaction, path: int) -> None:
    """Delete the rows of a path, except the mark that the path was read with anchors."""
    first, *rows = [key for key, _ in w.scan("anchors", u32(path), u32(path + 1))] or [b""]
    for key in rows:
        w.delete("anchors", key)
    if first:
        w.put("anchors", first, _NONE)


def _take_back(w: WriteTransaction, path: str, seq: int, held: BytesOf) -> None:
    number = path_id(w, path)
    if number is None or not w.delete("anchors", u32(number) + u64(seq)):
        return
    before = next(iter(rows(w, number, before=seq)), None)
    after = next(iter(w.scan("anchors", u32(number) + u64(seq), u32(number + 1))), None)
    if after is None:
        if before is None:
            w.put("anchors", u32(number) + _NEWEST, _NONE)
        else:
            _set_newest(w, number, before[0])
        return
    later = int.from_bytes(after[0][4:], "big")
    if _LINES.decode(after[1]).before != seq:
        return  # the later row lists every line anyway
    new = _bytes(w, version(w, number, later), held)
    old = None if before is None else _bytes(w, version(w, number, before[0]), held)
    if new is None:
        w.put("anchors", after[0], _ENCODER.encode(Lines(0, b"", (), b"", ())))
    elif before is None or old is None:
        _put(w, number, later, _whole(new))
    else:
        _put(w, number, later, compare(old, new, before[0]))


def _put(w: WriteTransaction, path: int, seq: int, lines: Lines) -> None:
    w.put("anchors", u32(path) + u64(seq), _ENCODER.encode(lines))


def _set_newest(w: WriteTransaction, path: int, seq: int) -> None:
    w.put("anchors", u32(path) + _NEWEST, u64(seq))


def _bytes(r: ReadTransaction, of: Version | None, held: BytesOf) -> bytes | None:
    if of is None or of.uncaptured:
        return None
    if of.gone:
        return b""
    if of.entry != REGULAR or of.size > MAX_TEXT:
        return None
    gone = lost_bytes.gone(r, of.blob)
    if gone is not None and gone.seq > of.seq:
        return None  # even if the bytes are held again: a replay cannot know since when
    try:
        return held(r, of.blob)
    except blobs.NotHeld:
        return None


def _whole(text: bytes) -> Lines:
    lines = Text.of(text).lines
    return Lines(0, b"", (), _pack(lines), ((0, len(lines)),))


def _runs(lines: Iterable[int]) -> Runs:
    runs: list[tuple[int, int]] = []
    for line in lines:
        if runs and sum(runs[-1]) == line:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((line, 1))
    return tuple(runs)


def _pack(lines: Iterable[bytes]) -> bytes:
    return pack(hash8_each([*lines]))


def _lines(data: bytes, start: int, stop: int) -> Sequence[bytes]:
    part = data[start:stop]
    if start and part.startswith(BOM):  # a BOM is part of a line, except at the start of a file
        return Text.of(b"\n" + part).lines[1:]
    return Text.of(part).lines


def _without(lines: Sequence[bytes], others: Sequence[bytes]) -> list[tuple[int, bytes]]:
    left: dict[bytes, int] = {}
    for line in others:
        left[line] = left.get(line, 0) + 1
    out: list[tuple[int, bytes]] = []
    for index, line in enumerate(lines):
        if left.get(line):
            left[line] -= 1
        else:
            out.append((index, line))
    return out
