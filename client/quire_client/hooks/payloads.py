"""Claims about the bytes that an agent's own tool call wrote ("payloads"), which the daemon compares with the files.

If a call has several payloads, each is an alternative. A claim about a whole file is sent as changed lines with
context, so that text that an agent only read is never claimed as its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from quire_client.hooks.fields import (
    ALL_NAMES,
    CONTENT_NAMES,
    NEW_NAMES,
    OLD_NAMES,
    Fields,
    number,
    objects,
    text,
    text_or_none,
)

Payload = Mapping[str, Any]

MOST_BYTES: Final = 8 * 1024 * 1024
CONTEXT: Final = 3
UNENDED: Final = "\\ No newline at end of file"


def content(path: str, whole: str) -> Payload:
    return {"kind": "content", "path": path, "text": whole}


def removed(path: str) -> Payload:
    return {"kind": "removed", "path": path}


def written(path: str, told: Fields) -> tuple[Payload, ...]:
    """Return the payload for an edit tool's arguments: a whole text, or replacements; () if they have neither, or the
    text would be too large.
    """
    whole = text_or_none(told, *CONTENT_NAMES)
    edits = [edit for given in (told, *objects(told.get("edits"))) if (edit := _edit(given)) is not None]
    if edits and not edits[0]["old"]:
        whole = edits[0]["new"]
        for edit in edits[1:]:
            places = whole.count(edit["old"]) if edit["all"] else 1
            if len(whole) + places * len(edit["new"]) > MOST_BYTES:
                return ()  # too large to send, and the replacements may multiply it further
            whole = whole.replace(edit["old"], edit["new"], -1 if edit["all"] else 1)
    elif edits:
        return ({"kind": "replace", "path": path, "edits": edits},)
    return () if whole is None else (content(path, whole),)


def _edit(told: Fields) -> dict[str, Any] | None:
    new = text_or_none(told, *NEW_NAMES)
    if new is None:
        return None
    everywhere = any(told.get(name) is True for name in ALL_NAMES) or (number(told, "expected_replacements") or 1) > 1
    return {"old": text(told, *OLD_NAMES), "new": new, "all": everywhere}


def cell(path: str, told: Fields) -> Payload:
    return {
        "kind": "cell",
        "path": path,
        "cell": text(told, "cell_id"),
        "source": text(told, "new_source"),
        "type": text(told, "cell_type"),
        "mode": text(told, "edit_mode") or "replace",
    }


def patched(path: str, before: str | None, hunks: Any) -> tuple[Payload, ...]:
    """Return the payload for hunks as npm's `diff` library makes them (`oldStart`, from 1, and marked `lines`); () if
    invalid.
    """
    found = [{"start": number(hunk, "oldStart"), "lines": _rows(hunk.get("lines"))} for hunk in objects(hunks)]
    if not found or any(hunk["start"] is None or not hunk["lines"] for hunk in found):
        return ()
    return ({"kind": "hunks", "path": path, "before": before, "hunks": found},)


def _rows(rows: Any) -> list[str]:
    rows = rows if isinstance(rows, list) else []
    return rows if all(isinstance(row, str) and row[:1] in {" ", "-", "+", "\\"} for row in rows) else []


def changed(path: str, before: str, after: str) -> tuple[Payload, ...]:
    """Return the payload for the change between two texts, as one hunk from the first to the last different line; () if
    they are equal.
    """
    if before == after:
        return ()
    old, new = _lines(before), _lines(after)
    least = min(len(old), len(new))
    top = next((n for n in range(least) if old[n] != new[n]), least)
    most = least - top
    tail = next((n for n in range(most) if old[-1 - n] != new[-1 - n]), most)
    first, last = max(0, top - CONTEXT), min(len(old), len(old) - tail + CONTEXT)
    rows = [*_marked(" ", old[first:top]), *_marked("-", old[top : len(old) - tail])]
    rows += [*_marked("+", new[top : len(new) - tail]), *_marked(" ", old[len(old) - tail : last])]
    return ({"kind": "hunks", "path": path, "before": before, "hunks": [{"start": first + 1, "lines": rows}]},)


def _lines(whole: str) -> list[str]:
    *ended, last = whole.split("\n")
    return [line + "\n" for line in ended] + ([last] if last else [])


def _marked(mark: str, lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        yield mark + line.removesuffix("\n")
        if not line.endswith("\n"):
            yield UNENDED


def diffed(path: str, unified: str) -> tuple[Payload, ...]:
    """Return the payload for a unified diff of one file; () if invalid."""
    hunks: list[dict[str, Any]] = []
    for row in unified.removesuffix("\n").split("\n"):
        if row.startswith("@@ -"):
            start, _, count = row[4:].partition(" ")[0].partition(",")
            if not start.isdecimal() or not (count or "1").isdecimal():
                return ()
            hunks.append({"oldStart": int(start) + (count == "0"), "lines": []})
        elif hunks and row[:1] in {" ", "-", "+", "\\"}:
            hunks[-1]["lines"].append(row)
    return patched(path, None, hunks)


def size(values: Iterable[Any]) -> int:
    """Return the total size of all strings in these values, in bytes of UTF-8."""
    return sum(map(_size, values))


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "replace"))
    if isinstance(value, Mapping):
        return sum(map(_size, value.values()))
    return sum(map(_size, value)) if isinstance(value, list) else 0
