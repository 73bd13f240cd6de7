"""Lines of ours in a TOML file, between two marks, at its end: nothing else in the file is touched.

Whether the file still means what it meant, and our table besides, is checked by reading it before and after.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from quire_client.setup.errors import MalformedConfig

BEGIN: Final = "# quire: begin (`quire unsetup` removes these lines)"
END: Final = "# quire: end"
_BLOCK: Final = re.compile(r"(?:\r?\n)?# quire: begin[^\n]*\n.*?# quire: end[^\n]*(?:\n|\Z)", re.DOTALL)


def put(text: str, path: tuple[str, ...], table: Mapping[str, str | list[str]]) -> str:
    """The text with our table in it, once. Raises MalformedConfig."""
    rest = take(text)
    before = read(rest)
    if at(before, path) is not None:
        raise MalformedConfig(f"[{'.'.join(path)}] stands there already, and is not from `quire setup`")
    lines = [BEGIN, f"[{'.'.join(path)}]", *(f"{key} = {_dumped(value)}" for key, value in table.items()), END]
    eol = "\r\n" if "\r\n" in rest else "\n"
    gap = "" if not rest else eol if rest.endswith("\n") else eol * 2
    new = rest + gap + eol.join(lines) + eol
    after = read(new)
    if at(after, path) != dict(table) or not _same_but(before, after, path):
        raise MalformedConfig(f"[{'.'.join(path)}] cannot stand at the end of it")
    return new


def take(text: str) -> str:
    """The text without our lines. Raises MalformedConfig."""
    read(text)
    rest = _BLOCK.sub("", text)
    read(rest)
    return rest


def read(text: str) -> dict[str, Any]:
    """What the text means. Raises MalformedConfig."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MalformedConfig(str(error)) from None


def at(value: Any, path: tuple[str, ...]) -> Any:
    """What stands there in nested objects; None where nothing does."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _same_but(before: dict[str, Any], after: dict[str, Any], path: tuple[str, ...]) -> bool:
    """Is `after` what `before` is, beside `path`?"""
    (first, *rest) = path
    if {key: value for key, value in after.items() if key != first} != {k: v for k, v in before.items() if k != first}:
        return False
    below = before.get(first, {})
    return not rest or (isinstance(below, dict) and _same_but(below, after[first], tuple(rest)))


def _dumped(value: str | list[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_dumped, value))}]"
    escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in value)
    return f'"{escaped}"'
