"""Changes of a text, and how each of the edit protocols says them. It knows nothing of Quire but its arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from live import sha256

Lines = list[str]
Call = tuple[str, dict[str, Any]]


class Splice(NamedTuple):
    """Lines start..stop of a text become `new`."""

    start: int
    stop: int
    new: Lines


class View(NamedTuple):
    """What an agent was last shown of a file, all of it."""

    data: bytes
    version: str
    refs: Lines  # of a read for `hashline_edit`
    since: list[bytes | None]  # what stood there after others wrote


def lines_of(data: bytes) -> Lines:
    return data.decode().replace("\r\n", "\n").split("\n")[:-1]


def spliced(data: bytes, splices: Sequence[Splice]) -> bytes:
    """The text in which these were made. All lines end alike."""
    lines, end = lines_of(data), "\r\n" if b"\r\n" in data else "\n"
    for start, stop, new in reversed(splices):
        lines[start:stop] = new
    return "".join(line + end for line in lines).encode()


def of_hunk(hunk: dict[str, Any]) -> Splice:
    """What a hunk of a diff does."""
    start = hunk["old_start"] - (hunk["old_lines"] > 0)
    return Splice(start, start + hunk["old_lines"], [row[1:] for row in hunk["lines"] if row[0] != "-"])


def around(data: bytes, splice: Splice) -> Lines:
    """The lines that a splice touches, and those beside them; what is beyond the ends of the file, too."""
    return ["<begin>", *lines_of(data), "<end>"][splice.start : splice.stop + 2]


def places(data: bytes, wanted: Lines) -> list[int]:
    """The lines at which `wanted`, as `around` gives it, begins."""
    lines = ["<begin>", *lines_of(data), "<end>"]
    return [n for n in range(len(lines)) if lines[n : n + len(wanted)] == wanted]


# ── how the dialects say it ──────────────────────────────────────────────────


def by_edit(path: str, view: View, splices: Sequence[Splice], hashes: dict[str, str]) -> Call:
    lines, operations = lines_of(view.data), []
    for start, stop, new in splices:
        content = {"content": "\n".join(new)} if new else {}
        if start == stop:
            operations.append({"op": "insert_before", "hash": hashes[lines[start]], **content})
        elif stop == start + 1:
            op = "replace_line" if new else "delete_line"
            operations.append({"op": op, "hash": hashes[lines[start]], **content})
        else:
            ends = {"start_hash": hashes[lines[start]], "end_hash": hashes[lines[stop - 1]]}
            operations.append({"op": "replace_range" if new else "delete_range", **ends, **content})
    return "edit", {"path": path, "operations": operations}


def by_hashline(path: str, view: View, splices: Sequence[Splice], _: dict[str, str]) -> Call:
    edits: list[dict[str, Any]] = []
    for start, stop, new in splices:
        if start == stop:
            edits.append({"before": view.refs[start], "inserted_lines": new})
        else:
            edits.append({"first": view.refs[start], "last": view.refs[stop - 1], "new_content": new})
    return "hashline_edit", {"path": path, "edits": edits}


def by_numbers(path: str, _: View, splices: Sequence[Splice], __: dict[str, str]) -> Call:
    (start, stop, new), *_rest = splices
    if start == stop:
        return "insert_lines", {"path": path, "line_number": start + 1, "text": "\n".join(new)}
    return "replace_lines", {"path": path, "start_line": start + 1, "end_line": stop, "new_text": "\n".join(new)}


def texts(view: View, splices: Sequence[Splice]) -> list[tuple[str, str]]:
    """Old and new text of each; of an insertion, with the line behind it."""
    lines = lines_of(view.data)
    behind = [stop + (start == stop) for start, stop, _ in splices]
    old = ["".join(f"{line}\n" for line in lines[s.start : end]) for s, end in zip(splices, behind, strict=True)]
    kept = [lines[s.stop : end] for s, end in zip(splices, behind, strict=True)]
    new = ["".join(f"{line}\n" for line in [*s.new, *k]) for s, k in zip(splices, kept, strict=True)]
    return list(zip(old, new, strict=True))


def by_text(path: str, view: View, splices: Sequence[Splice], _: dict[str, str]) -> Call:
    (old, new), *_rest = texts(view, splices)
    return "edit_replace", {"path": path, "old_text": old, "new_text": new}


def by_pattern(path: str, view: View, splices: Sequence[Splice], _: dict[str, str]) -> Call:
    (old, new), *_rest = texts(view, splices)
    return "regex_replace", {"path": path, "pattern": re.escape(old), "replacement": new}


def by_texts(path: str, view: View, splices: Sequence[Splice], _: dict[str, str]) -> Call:
    edits = [{"old_text": old, "new_text": new} for old, new in texts(view, splices)]
    return "multi_edit", {"path": path, "edits": edits}


def by_edit_file(path: str, view: View, splices: Sequence[Splice], _: dict[str, str]) -> Call:
    edits = [{"oldText": old, "newText": new} for old, new in texts(view, splices)]
    return "edit_file", {"path": path, "expectedSha256": sha256(view.data), "edits": edits}


def by_patch(path: str, view: View, splices: Sequence[Splice], _: dict[str, str]) -> Call:
    lines, rows = lines_of(view.data), ["*** Begin Patch", f"*** Update File: {path}"]
    for start, stop, new in splices:
        rows += ["@@", *(f" {line}" for line in lines[max(start - 1, 0) : start])]
        rows += [*(f"-{line}" for line in lines[start:stop]), *(f"+{line}" for line in new), f" {lines[stop]}"]
    return "apply_patch", {"patch": "\n".join([*rows, "*** End Patch"])}


def by_write_file(path: str, view: View, splices: Sequence[Splice], _: dict[str, str]) -> Call:
    content = spliced(view.data, splices).decode().replace("\r\n", "\n")
    return "write_file", {"path": path, "base": view.version, "content": content}


Say = Callable[[str, View, Sequence[Splice], dict[str, str]], Call]

ONE: tuple[Say, ...] = (by_numbers, by_text, by_pattern)
"""These say one change at a time."""

MANY: tuple[Say, ...] = (by_edit, by_edit, by_texts, by_edit_file, by_patch, by_write_file)
PROVED_BY_TEXT = ("edit_replace", "regex_replace", "multi_edit", "apply_patch")
"""Judged on the file as it is, whatever others have done to it."""
