"""Edits JSON with comments and trailing commas as text; all other bytes stay the same.

One blank after the opening bracket (`_WAS_EMPTY`) marks an object or list that was empty before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from quire_client.setup.errors import MalformedConfig

BLANK: Final = " \t\r\n\ufeff"
_SCALAR: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SKIPPED: Final = re.compile(rf"(?:[{BLANK}]+|//[^\n]*|/\*(?s:.*?)\*/)*")
_SKIPS: Final = frozenset((*BLANK, "/"))  # first characters of blanks and comments
_MAX_DEPTH: Final = 100
_WAS_EMPTY: Final = " "


class Node(NamedTuple):
    """A JSON value in a text, from offset `start` to `end` (exclusive)."""

    value: Any
    start: int
    end: int
    parts: tuple[Member, ...] = ()  # members of an object, items of a list


class Member(NamedTuple):
    """A member of an object, or an item of a list with its index as key."""

    key: str | int
    start: int  # of the key, or of the item
    node: Node
    comma: int  # offset of the comma after it; -1: there is none


def read(text: str) -> Any:
    """Parse JSON with comments and trailing commas. Raises MalformedConfig if the text is invalid."""
    return _parse(text).value


def rendered(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def put(text: str, path: Sequence[str], value: Any) -> str:
    """Return the JSON text with a new member at `path`; missing objects are created.

    Raises MalformedConfig if a value exists there, or the text is invalid.
    """
    node, missing = _follow(_parse(text), path)
    if not missing or not isinstance(node.value, dict):
        stands = ".".join(path[: len(path) - len(missing)])
        raise MalformedConfig(f"{stands} stands there already" if not missing else f"{stands or 'it'} is not an object")
    for key in reversed(missing[1:]):
        value = {key: value}
    return _insert(text, node, f"{json.dumps(missing[0])}: ", value, len(path) - len(missing) + 1)


def prepend(text: str, path: Sequence[str], item: Any) -> str:
    """Return the JSON text with `item` first in the list at `path`, which is created if missing.

    Raises MalformedConfig if `path` holds no list, or the text is invalid.
    """
    node, missing = _follow(_parse(text), path)
    if missing:
        return put(text, path, [item])
    if not isinstance(node.value, list):
        raise MalformedConfig(f"{'.'.join(path)} is not a list")
    return _insert(text, node, "", item, len(path) + 1)


def remove(text: str, path: Sequence[str | int]) -> str:
    """Return the JSON text without the value at `path`, and without objects and lists that were created for it."""
    above, missing = _follow(_parse(text), path[:-1])
    index = next((i for i, part in enumerate(above.parts) if part.key == path[-1]), -1)
    if missing or index < 0:
        return text
    part = above.parts[index]
    before, behind = text[above.start + 1 : part.start], text[max(part.node.end, part.comma + 1) : above.end - 1]
    made = len(above.parts) == 1 and before != _WAS_EMPTY and not (before + behind).strip(BLANK)
    return remove(text, path[:-1]) if made and len(path) > 1 else _without(text, above, index)


# ── reading ──────────────────────────────────────────────────────────────────


def _parse(text: str) -> Node:
    node = _value(text, _skip(text, 0), 0)
    rest = _skip(text, node.end)
    if rest != len(text):
        raise _malformed(text, rest, "something follows the value")
    return node


def _value(text: str, at: int, depth: int) -> Node:
    if depth > _MAX_DEPTH:
        raise _malformed(text, at, "it is nested too deep")
    opening = text[at : at + 1]
    if opening in ("{", "["):
        return _container(text, at, depth)
    found = (_STRING if opening == '"' else _SCALAR).match(text, at)
    if found is None:
        raise _malformed(text, at, "a value is missing")
    if opening == '"' and "\\" not in found[0]:
        return Node(found[0][1:-1], at, found.end())
    try:
        return Node(json.loads(found[0]), at, found.end())
    except ValueError:
        raise _malformed(text, at, "a string is not valid") from None


def _container(text: str, start: int, depth: int) -> Node:
    is_object = text[start] == "{"
    closing = "}" if is_object else "]"
    parts: list[Member] = []
    comma = -1
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        if parts and comma < 0:
            raise _malformed(text, at, f"a comma or {closing} is missing")
        part = _member(text, at, depth) if is_object else Member(len(parts), at, _value(text, at, depth + 1), -1)
        at = _skip(text, part.node.end)
        comma = at if text[at : at + 1] == "," else -1
        parts.append(part._replace(comma=comma))
        if comma >= 0:
            at = _skip(text, comma + 1)
    value: Any = [part.node.value for part in parts]
    if is_object:
        value = {part.key: part.node.value for part in parts}
        if len(value) < len(parts):
            raise _malformed(text, start, "a key stands there twice")
    return Node(value, start, at + 1, tuple(parts))


def _member(text: str, at: int, depth: int) -> Member:
    key = _value(text, at, depth + 1)
    if not isinstance(key.value, str):
        raise _malformed(text, at, "a key is missing")
    colon = _skip(text, key.end)
    if text[colon : colon + 1] != ":":
        raise _malformed(text, colon, "a colon is missing")
    return Member(key.value, at, _value(text, _skip(text, colon + 1), depth + 1), -1)


def _skip(text: str, at: int) -> int:
    if text[at : at + 1] not in _SKIPS:
        return at
    found = _SKIPPED.match(text, at)
    at = found.end() if found is not None else at
    if text.startswith("/*", at):
        raise _malformed(text, at, "a comment does not end")
    return at


def _malformed(text: str, at: int, what: str) -> MalformedConfig:
    return MalformedConfig(f"line {text.count(chr(10), 0, at) + 1}: {what}")


def _follow(node: Node, path: Sequence[str | int]) -> tuple[Node, list[Any]]:
    for done, key in enumerate(path):
        below = next((part.node for part in node.parts if part.key == key), None)
        if below is None:
            return node, list(path[done:])
        node = below
    return node, []


# ── writing ──────────────────────────────────────────────────────────────────


def _indent(text: str) -> str:
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return found[1] if found else "  "


def _insert(text: str, node: Node, key: str, value: Any, depth: int) -> str:
    at = node.start + 1
    if not node.parts:
        return text[:at] + _WAS_EMPTY + key + json.dumps(value, ensure_ascii=False) + text[at:]
    if "\n" not in text[at : node.parts[0].start]:
        return text[:at] + key + json.dumps(value, ensure_ascii=False) + "," + text[at:]
    indent, eol = _indent(text), "\r\n" if "\r\n" in text else "\n"
    lines = json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", eol + indent * depth)
    return text[:at] + eol + indent * depth + key + lines + "," + text[at:]


def _without(text: str, above: Node, index: int) -> str:
    part = above.parts[index]
    start = part.start
    while start > above.start + 1 and text[start - 1] in BLANK:
        start -= 1
    if part.comma >= 0 or index == 0:
        return text[:start] + text[max(part.node.end, part.comma + 1) :]
    comma = above.parts[index - 1].comma
    return text[:comma] + text[comma + 1 : start] + text[part.node.end :]
