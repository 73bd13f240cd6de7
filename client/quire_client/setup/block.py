"""Adds Quire's table at the end of a TOML file and removes it, without any other change.

Tables that Codex adds below it (`[mcp_servers.quire.tools.edit]` is an approval) are removed with it. The file is
parsed before and after, and must otherwise mean the same.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from quire_client.setup.errors import MalformedConfig

_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
_EMPTY: Final = ("\n", "\r\n")


def put(text: str | None, path: tuple[str, ...], table: Mapping[str, Any]) -> str:
    """Return the TOML text with Quire's table at its end; `text` None means a new file.

    Raises MalformedConfig if the table exists or the text is invalid TOML.
    """
    name, before = ".".join(path), read(text or "")
    if at(before, path) is not None:
        raise MalformedConfig(f"[{name}] stands there already, and is not from `quire setup`")
    eol = "\r\n" if "\r\n" in (text or "") else "\n"
    lines = [f"[{name}]", *(f"{key} = {_dumped(value)}" for key, value in table.items())]
    new = ("" if text is None else text + eol) + "".join(line + eol for line in lines)
    after = read(new)
    if at(after, path) != dict(table) or not _same_but(before, after, path):
        raise MalformedConfig(f"[{name}] cannot stand at the end of it")
    return new


def take(text: str, path: tuple[str, ...]) -> str | None:
    """Return the TOML text without the table at `path` and its subtables; None if nothing else remains. Raises
    MalformedConfig if the table is missing or cannot be separated from the rest.
    """
    name, lines = ".".join(path), _LINES.findall(text)
    header = next((n for n, line in enumerate(lines) if line.strip() == f"[{name}]"), len(lines))
    behind = [*_behind(lines[_end(lines, header) :], f"[{name}.")]
    kept = lines[: max(header - 1, 0)]
    if header and lines[header - 1] not in _EMPTY:  # the last line had no line end before `put`
        kept.append(lines[header - 1] if behind else lines[header - 1].removesuffix("\n").removesuffix("\r"))
    rest = "".join([*kept, *behind])
    if header == len(lines) or not _leaves(rest, read(text), path):
        raise MalformedConfig(f"[{name}] cannot be told from the rest of it; remove it by hand")
    return rest if header or behind else None


def _end(lines: Sequence[str], header: int) -> int:
    end = header + 1
    while end < len(lines) and lines[end].strip() and lines[end].lstrip()[0] not in "[#":
        end += 1
    return end


def _behind(lines: Sequence[str], below: str) -> Iterator[str]:
    at = 0
    while at < len(lines):
        header = at + (lines[at] in _EMPTY and at + 1 < len(lines))
        if lines[header].startswith(below):
            at = _end(lines, header)
            continue
        yield lines[at]
        at += 1


def read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise MalformedConfig(str(error)) from None


def at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _leaves(rest: str, whole: dict[str, Any], path: Sequence[str]) -> bool:
    try:
        return _same_but(read(rest), whole, path)
    except MalformedConfig:
        return False


def _same_but(before: Any, after: Any, path: Sequence[str]) -> bool:
    first, *rest = path
    if {key: value for key, value in after.items() if key != first} != {k: v for k, v in before.items() if k != first}:
        return False
    below = before.get(first, {}), after.get(first, {})
    return _same_but(*below, rest) if rest and isinstance(below[0], dict) else first not in before


def _dumped(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_dumped, value))}]"
    if not isinstance(value, str):
        return repr(value)
    escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in value)
    return f'"{escaped}"'
