"""The difference between two versions for replies: hunks, a patch, line counts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from quire_journal.export import (
    USUAL,
    Content,
    DiffHunk,
    PatchStyle,
    file_patch,
    fits_git,
    git_mode,
    hunks,
    is_binary,
    is_remade,
    split,
    text_patch,
)
from quire_journal.history import RECORD_LOST, History, gaps_before, is_lost, lost_version, missing
from quire_journal.model import FOLDER, LINK, REGULAR, blob_id, version_token
from quire_journal.text import BINARY_PROBE, BOM, Text, diff, shown
from quire_journal.views import Version, standing

NEAR: Final = 10

MOST_COMPARED: Final = 8 << 20
"""Maximum size in bytes of a version that is compared line by line, as the comparison blocks other callers."""

MANY: Final = 1 << 20
"""Size in bytes from which a binary file is treated as one line."""


def text_hunks(a: Text, b: Text, style: PatchStyle, path: str = "") -> list[DiffHunk]:
    """Return the hunks between two texts. A lone CR ends a line, unlike in git."""
    return hunks(_rows(a), _rows(b), style, path)


def _rows(text: Text) -> list[bytes]:
    return [line + ending for line, ending in zip(text.lines, text.breaks, strict=True)]


def hunk_json(hunk: DiffHunk) -> dict[str, Any]:
    """Return a hunk for a reply, its lines without line breaks."""
    told = {"heading": shown(hunk.heading)} if hunk.heading else {}
    return {
        "old_start": hunk.old_start,
        "old_lines": hunk.old_lines,
        "new_start": hunk.new_start,
        "new_lines": hunk.new_lines,
        "lines": [shown(row[:1] + _unmarked(row[1:], hunk)) for row in hunk.rows],
        **told,
    }


def _unmarked(line: bytes, hunk: DiffHunk) -> bytes:
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    return line.removeprefix(BOM) if min(hunk.old_start, hunk.new_start) <= 1 else line


def around(line: int, body: Sequence[DiffHunk]) -> list[DiffHunk]:
    """Return the hunk with this line (from 1) of the new text, cut to `NEAR` lines on each side; [] if no hunk has
    it.
    """
    for hunk in body:
        old, new = max(hunk.old_start, 1), max(hunk.new_start, 1)
        rows: list[_NumberedRow] = []
        for row in hunk.rows:
            rows.append((old, new, row))
            old += row[:1] != b"+"
            new += row[:1] != b"-"
        at = next((i for i, (_, number, row) in enumerate(rows) if number == line and row[:1] != b"-"), None)
        if at is not None:
            first = max(at - NEAR, 0)
            return [_hunk_of(rows[first : at + NEAR + 1], hunk.heading)]
    return []


_NumberedRow = tuple[int, int, bytes]
"""(line number in the old text, line number in the new text, row of a hunk)."""


def _hunk_of(rows: Sequence[_NumberedRow], heading: bytes) -> DiffHunk:
    lines = [row for _, _, row in rows]
    old, new = (sum(row[:1] != sign for row in lines) for sign in (b"+", b"-"))
    return DiffHunk(rows[0][0] - (0 if old else 1), old, rows[0][1] - (0 if new else 1), new, lines, heading)


class Room(msgspec.Struct):
    """Number of bytes left for patches in the reply."""

    left: int

    def takes(self, patch: bytes) -> bool:
        """Deduct the size of the patch and return True, or return False if the patch does not fit."""
        size = len(patch)
        if size > self.left:
            return False
        self.left -= size
        return True


# ── two versions ─────────────────────────────────────────────────────────────


def before(history: History, path: str, version: Version) -> tuple[str, Version | None]:
    """Return (path, version) before this version, also across a rename. If lost records leave the version unknown, it
    is a placeholder (`gaps`).
    """
    name = version.moved_from or path
    found = history.version_at(name, version.seq - 1)
    gaps = gaps_before(history, version, found)
    return name, lost_version(gaps, version.base) if gaps else found


def same(old: Version | None, new: Version | None) -> bool:
    """True if there is no difference to show between the two versions."""
    if is_lost(old) or is_lost(new):
        return False
    old, new = standing(old), standing(new)
    if old is None or new is None:
        return old is new
    if old.seq and (old.seq, old.mode) == (new.seq, new.mode):  # a file that only git has has no seq
        return True
    named = bool(new.blob) or new.entry == FOLDER  # a purged version has no hash
    return named and (old.blob, old.mode, old.entry) == (new.blob, new.mode, new.entry)


def difference(
    path_a: str,
    old: Version | None,
    path_b: str,
    new: Version | None,
    history: History,
    room: Room,
    near: int | None = None,
    style: PatchStyle = USUAL,
    texts: Mapping[bytes, Text] = {},
) -> dict[str, Any]:
    """Return one entry of `files` (`Difference`). `texts` has texts by sha256 that the journal lacks; with `near`, only
    the hunk around this line (from 1) of the new version is in it.
    """
    found = _about(path_b, old, new)
    if found["status"] == RECORD_LOST:
        return {**found, "hunks": []}
    moved_from = path_a if path_a != path_b and standing(old) and standing(new) else ""
    if moved_from:
        found["moved_from"] = moved_from
    if found["status"] in ("mode", "same"):
        sides = _content(path_a, old, b""), _content(path_b, new, b"")  # the modes decide; the bytes are not needed
        return {**found, "hunks": [], **_patch_json(text_patch(path_b, *sides, (), moved_from, style))}
    room_for = [one for one in (standing(old), standing(new)) if one is not None]
    if max(one.size for one in room_for) > MOST_COMPARED and all(one.blob and one.seq for one in room_for):
        named = [_named(path, one) for path, one in ((path_a, standing(old)), (path_b, standing(new)))]
        return {**found, "truncated": True, "sides": named}
    a, b = known_text(old, history, texts), known_text(new, history, texts)
    if a is None or b is None or a.binary or b.binary:
        found["status"] = "replaced" if found["status"] == "changed" else found["status"]
        found["binary"] = a is not None and b is not None
    if a is None or b is None:
        without = standing(old) if a is None else standing(new)
        lost = missing(history, without) if without is not None else None
        return {**found, "uncaptured": lost.why, "uncaptured_told": lost.told} if lost is not None else found
    sides = _content(path_a, old, a.data), _content(path_b, new, b.data)
    if found.get("binary"):
        patch = file_patch(path_b, *sides, moved_from, style)
    else:
        body = whole = _hunks(a, b, style, path_b)
        if near is not None:
            body = around(near, whole)
            found |= {"partial": True} if body != whole else {}
        found["hunks"] = list(map(hunk_json, body))
        patch = _text_patch(path_b, sides, (a, b), body, moved_from, style)
    if not room.takes(patch):
        found.pop("hunks", None)
        both = zip((path_a, path_b), sides, strict=True)
        told = [_side_json(path, side) if side is not None else None for path, side in both]
        return {**found, "truncated": True, "sides": told}
    return {**found, **_patch_json(patch)}


def known_text(version: Version | None, history: History, texts: Mapping[bytes, Text]) -> Text | None:
    """Return a version's text, from `texts` (by sha256) or from the journal; None if both lack it."""
    known = texts.get(version.blob) if version is not None else None
    return known if known is not None else text_of(version, history)


_Sides = tuple[Content | None, Content | None]


def _text_patch(
    path: str, sides: _Sides, texts: tuple[Text, Text], body: Sequence[DiffHunk], moved_from: str, style: PatchStyle
) -> bytes:
    """Return the patch from the hunks `body`, or from new hunks if git splits the texts into lines differently."""
    if is_remade(*sides) or any(is_binary(text.data) or b"\r" in text.breaks for text in texts):
        return file_patch(path, *sides, moved_from, style)
    return text_patch(path, *sides, body if any(sides) else (), moved_from, style)


def _hunks(a: Text, b: Text, style: PatchStyle, path: str) -> list[DiffHunk]:
    if b"\r" in a.breaks or b"\r" in b.breaks:
        return text_hunks(a, b, style, path)
    return hunks(split(a.data), split(b.data), style, path)


def _content(path: str, version: Version | None, data: bytes) -> Content | None:
    mode = git_mode(standing(version))
    return Content(mode, data) if mode and fits_git(path) else None


def _side_json(path: str, side: Content) -> dict[str, str]:
    return {"path": path, "mode": side.mode, "sha256": blob_id(side.data).hex()}


def _named(path: str, version: Version | None) -> dict[str, str] | None:
    mode = git_mode(version) if fits_git(path) else ""
    return {"path": path, "mode": mode, "sha256": version.blob.hex()} if version is not None and mode else None


def _patch_json(patch: bytes) -> dict[str, Any]:
    if not patch:
        return {}
    try:
        return {"patch": patch.decode()}
    except UnicodeDecodeError:
        return {"patch_base64": b64encode(patch).decode("ascii")}


def lines_counted(old: Version | None, new: Version | None, history: History) -> dict[str, Any]:
    """Return line counts `{added, removed}`, or `{binary: true}`; empty if a version is not held or too large."""
    if any(there is not None and there.size > MOST_COMPARED for there in (standing(old), standing(new))):
        return {}
    a, b = text_of(old, history), text_of(new, history)
    if a is None or b is None:
        return {}
    if a.binary or b.binary:
        return {"binary": True}
    splices = diff(a, b)
    return {"added": sum(len(s.lines) for s in splices), "removed": sum(s.stop - s.start for s in splices)}


def _about(path: str, old: Version | None, new: Version | None) -> dict[str, Any]:
    old, new = standing(old), standing(new)
    found: dict[str, Any] = {"path": path, "status": "changed"}
    found |= {"from": _token(old), "to": _token(new)}
    if is_lost(old) or is_lost(new):
        return {**found, "status": RECORD_LOST}
    kinds = [ENTRIES[v.entry] for v in (old, new) if v is not None and v.entry != REGULAR]
    if kinds:
        found["entry"] = kinds[-1]
    if old is None or new is None:
        return {**found, "status": "added" if new else "removed" if old else "same"}
    if old.mode != new.mode:
        found["mode"] = [f"{old.mode:04o}", f"{new.mode:04o}"]
    if (old.blob, old.entry) == (new.blob, new.entry) and (new.blob or new.entry == FOLDER):
        found["status"] = "mode" if old.mode != new.mode else "same"
    return found


def _token(version: Version | None) -> str | None:
    return version_token(version.seq) if version is not None and version.seq else None


def _has_text(version: Version | None) -> bool:
    there = standing(version)
    return there is not None and there.entry != FOLDER


ENTRIES: Final = {REGULAR: "file", LINK: "link", FOLDER: "folder"}
"""Entry types by the names that replies use."""


def text_of(version: Version | None, history: History) -> Text | None:
    """Return the text of a version, empty if there was no file; None if the journal lacks its bytes. A large binary
    counts as one line.
    """
    if version is None or not _has_text(version):
        return Text.of(b"")
    if version.size <= MANY:
        return history.text_held(version.blob)
    data = history.bytes_held(version.blob)
    return None if data is None else whole_or_lines(data)


def whole_or_lines(data: bytes) -> Text:
    """Return the text of a large file; a binary counts as one line."""
    return Text(False, [data], [b""]) if data.find(b"\0", 0, BINARY_PROBE) >= 0 else Text.of(data)
