"""Reads fields of agents' hook JSON under any of the names that agents use for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

Fields = Mapping[str, Any]

PATH_NAMES: Final = (
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "notebook_path",
    "target_file",
    "target_notebook",
)

OLD_NAMES: Final = ("old_string", "oldString", "old_text", "oldText", "old_str")
NEW_NAMES: Final = ("new_string", "newString", "new_text", "newText", "new_str")
CONTENT_NAMES: Final = ("content", "contents", "file_text")

ALL_NAMES: Final = ("replace_all", "replaceAll", "allow_multiple")


def text(fields: Fields, *names: str) -> str:
    """Return the first of the named fields that holds a non-empty string; "" if none does."""
    return text_or_none(fields, *names) or ""


def text_or_none(fields: Fields, *names: str) -> str | None:
    """Return the first of the named fields that holds a non-empty string, else "" if one is empty, else None."""
    empty = None
    for name in names:
        found = fields.get(name)
        if isinstance(found, str):
            if found:
                return found
            empty = found
    return empty


def number(fields: Fields, *names: str) -> int | None:
    for name in names:
        found = fields.get(name)
        if isinstance(found, int) and not isinstance(found, bool):
            return found
    return None


def fields(of: Fields, *names: str) -> Fields:
    for name in names:
        found = of.get(name)
        if isinstance(found, Mapping):
            return found
    return {}


def objects(items: Any) -> list[Fields]:
    if not isinstance(items, Sequence) or isinstance(items, str):
        return []
    return [item for item in items if isinstance(item, Mapping)]


def span(of: Fields, first: str = "offset", count: str = "limit") -> tuple[int | None, int | None]:
    """Return (first line, last line) of a read, 1-based, from its offset and line count; None where unknown."""
    start, lines = number(of, first), number(of, count)
    start = None if start is None or start < 1 else start
    end = None if lines is None or lines < 1 else (start or 1) + lines - 1
    return start, end


def one_path(of: Fields) -> tuple[str, ...]:
    path = text(of, *PATH_NAMES)
    return (path,) if path else ()


def replaced(of: Fields) -> tuple[str, ...]:
    one = text(of, *OLD_NAMES)
    found = (one,) if one else (text(edit, *OLD_NAMES) for edit in objects(of.get("edits")))
    return tuple(old for old in found if old)
