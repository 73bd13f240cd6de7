"""How two versions differ, as replies show it: hunks, a unified diff, counts of lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from quire_journal.export import quoted
from quire_journal.history import RECORD_LOST, History, gaps_before, is_lost, lost_version
from quire_journal.model import FOLDER, LINK, REGULAR, is_escaped, pause, version_token
from quire_journal.text import Splice, Text, diff, shown
from quire_journal.views import Version, standing

CONTEXT: Final = 3
"""Unchanged lines around a change in a hunk."""

NEAR: Final = 10
"""Lines of a change that are shown before and behind the one that was asked about."""


def hunks(a: Text, b: Text) -> list[dict[str, Any]]:
    """How `b` differs from `a`: `{old_start, old_lines, new_start, new_lines, lines}`.

    Each of `lines` stands behind ` `, `-` or `+`. Starts are 1-based; for a side without lines it is the line before.
    """
    out: list[dict[str, Any]] = []
    moved = 0
    for group in _grouped(diff(a, b)):
        start, stop = max(group[0].start - CONTEXT, 0), min(group[-1].stop + CONTEXT, len(a))
        lines = list(_hunk_lines(a, group, start, stop))
        grown = sum(s.shift for s in group)
        old, new = stop - start, stop - start + grown
        out.append(
            {
                "old_start": start + (1 if old else 0),
                "old_lines": old,
                "new_start": start + moved + (1 if new else 0),
                "new_lines": new,
                "lines": lines,
            }
        )
        moved += grown
    return out


def around(line: int, body: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of these hunks the one that has this line of the new text, from 1, cut to the `NEAR` lines before and behind."""
    for hunk in body:
        old, new = max(hunk["old_start"], 1), max(hunk["new_start"], 1)
        rows: list[tuple[int, int, str]] = []  # (its number in the old text, in the new one, the line behind its mark)
        for row in hunk["lines"]:
            rows.append((old, new, row))
            old += row[0] != "+"
            new += row[0] != "-"
        at = next((i for i, (_, number, row) in enumerate(rows) if number == line and row[0] != "-"), None)
        if at is not None:
            return [_hunk_of(rows[max(at - NEAR, 0) : at + NEAR + 1])]
    return []


def _hunk_of(rows: Sequence[tuple[int, int, str]]) -> dict[str, Any]:
    """A part of a hunk as one."""
    lines = [row for _, _, row in rows]
    old, new = (sum(row[0] != sign for row in lines) for sign in "+-")
    return {
        "old_start": rows[0][0] - (0 if old else 1),
        "old_lines": old,
        "new_start": rows[0][1] - (0 if new else 1),
        "new_lines": new,
        "lines": lines,
    }


def patch_text(path_a: str | None, path_b: str | None, a: Text, b: Text, body: Sequence[dict[str, Any]]) -> str:
    """The hunks between `a` and `b` as a unified diff, "" for none; None for a path means that there is no file."""
    if not body and path_a is not None and path_b is not None:
        return ""
    out = [f"--- {_named('a/', path_a)}", f"+++ {_named('b/', path_b)}"]
    for hunk in body:
        pause()
        old = f"-{hunk['old_start']},{hunk['old_lines']}"
        out.append(f"@@ {old} +{hunk['new_start']},{hunk['new_lines']} @@")
        out += _marked(hunk, a, b)
    return "\n".join(out) + "\n"


def _named(prefix: str, path: str | None) -> str:
    """A name as the head of a patch has it, so that `git apply` and `apply_patch` find it again."""
    if path is None:
        return "/dev/null"
    plain = not is_escaped(path) and path.isprintable() and path == path.strip() and not {*path} & {*'"\\'}
    return prefix + path if plain else quoted(path, prefix.encode()).decode("ascii")


def _grouped(splices: Sequence[Splice]) -> Iterator[list[Splice]]:
    """Splices whose context would touch, together."""
    group: list[Splice] = []
    for s in splices:
        if group and s.start - group[-1].stop > 2 * CONTEXT:
            yield group
            group = []
        group.append(s)
    if group:
        yield group


def _hunk_lines(a: Text, group: Sequence[Splice], start: int, stop: int) -> Iterator[str]:
    at = start
    for s in group:
        pause()
        yield from (" " + shown(line) for line in a.lines[at : s.start])
        yield from ("-" + shown(line) for line in a.lines[s.start : s.stop])
        yield from ("+" + shown(line) for line in s.lines)
        at = s.stop
    yield from (" " + shown(line) for line in a.lines[at:stop])


def _marked(hunk: dict[str, Any], a: Text, b: Text) -> Iterator[str]:
    """The lines of a hunk as a patch has them: CR of a CRLF kept, and the mark behind a last line without a break."""
    old, new = max(hunk["old_start"] - 1, 0), max(hunk["new_start"] - 1, 0)
    for line in hunk["lines"]:
        ending = b.breaks[new] if line[0] == "+" else a.breaks[old]
        yield line + ("\r" if ending == b"\r\n" else "")
        if not ending:
            yield "\\ No newline at end of file"
        old += line[0] != "+"
        new += line[0] != "-"


class Room(msgspec.Struct):
    """How many bytes of patch still fit into the reply."""

    left: int

    def takes(self, patch: str) -> bool:
        """Does this one fit? Then its room is gone."""
        size = len(patch.encode())
        if size > self.left:
            return False
        self.left -= size
        return True


# ── two versions ─────────────────────────────────────────────────────────────


def before(history: History, path: str, version: Version) -> tuple[str, Version | None]:
    """What a version took the place of, and under which name that was: the file's own past, across a rename.

    Where lost records leave that open it is what stands for a lost version (`gaps`).
    """
    name = version.moved_from or path
    found = history.version_at(name, version.seq - 1)
    gaps = gaps_before(history, version, found)
    return name, lost_version(gaps, version.base) if gaps else found


def same(old: Version | None, new: Version | None) -> bool:
    """Is there no difference to show?"""
    if is_lost(old) or is_lost(new):
        return False
    old, new = standing(old), standing(new)
    if old is None or new is None:
        return old is new
    return old.seq == new.seq or (old.blob, old.mode, old.entry) == (new.blob, new.mode, new.entry)


def difference(
    path_a: str,
    old: Version | None,
    path_b: str,
    new: Version | None,
    history: History,
    room: Room,
    near: int | None = None,
) -> dict[str, Any]:
    """One entry of `files`: `{path, status, from, to, mode?, entry?, hunks?, patch?, binary?, truncated?}`.

    `status`: "added", "removed", "changed", "mode", "replaced" (binary or not held: no hunks), "same", "record_lost"
    (the record that tells of one of the two). `entry` where one of the two is a link, whose text is its target, or an
    empty folder. `near`: only what is around this line of the new version, from 1; `partial` where that is not all.
    """
    found = _about(path_b, old, new)
    if found["status"] in ("mode", "same", RECORD_LOST) or not any(_has_text(version) for version in (old, new)):
        return {**found, "hunks": []}
    a, b = text_of(old, history), text_of(new, history)
    if a is None or b is None or a.binary or b.binary:
        status = "replaced" if found["status"] == "changed" else found["status"]
        return {**found, "status": status, "binary": a is not None and b is not None}
    body = whole = hunks(a, b)
    if near is not None:
        body = around(near, whole)
        found |= {"partial": True} if body != whole else {}
    patch = patch_text(path_a if standing(old) else None, path_b if standing(new) else None, a, b, body)
    if not room.takes(patch):
        return {**found, "truncated": True}
    return {**found, "hunks": body, "patch": patch}


def lines_counted(old: Version | None, new: Version | None, history: History) -> dict[str, Any]:
    """How many lines came and went: `{added, removed}`; `{binary: true}`; nothing where bytes are not held."""
    a, b = text_of(old, history), text_of(new, history)
    if a is None or b is None:
        return {}
    if a.binary or b.binary:
        return {"binary": True}
    splices = diff(a, b)
    return {"added": sum(len(s.lines) for s in splices), "removed": sum(s.stop - s.start for s in splices)}


def _about(path: str, old: Version | None, new: Version | None) -> dict[str, Any]:
    """What can be told of a difference without a look at the bytes."""
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
    """The version as a reply names it; None where there is none, or where its number is not known."""
    return version_token(version.seq) if version is not None and version.seq else None


def _has_text(version: Version | None) -> bool:
    there = standing(version)
    return there is not None and there.entry != FOLDER


ENTRIES: Final = {REGULAR: "file", LINK: "link", FOLDER: "folder"}
"""What stood at a path, as replies name it."""


def text_of(version: Version | None, history: History) -> Text | None:
    """The text of a version, empty where there was no file; None when its bytes are not held."""
    return Text.of(b"") if version is None or not _has_text(version) else history.text_held(version.blob)
