"""The arguments of a call, from the bytes of its request; and the refusal of those that do not fit the tool.

A null for an argument that may be left out means that it is left out. Some programs name every argument of a tool in
each call, and say null where they mean nothing by it. An argument that the call needs is still missing then, and a name
that the tool does not have is still unknown.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

import msgspec

from quire_daemon.core.decision import Tool
from quire_daemon.core.json_schema import Schema, flat
from quire_journal.model import LONGEST_GUESS, MAX_DEPTH, Refusal, did_you_mean

MOST_HEADERS: Final = 50_000
"""Values of one request that are walked before it is decoded: the walk is in the loop, where others wait for it."""

_PLACE: Final = re.compile(r" - at `\$(?P<place>[^`]*)`$")
_STEP: Final = re.compile(r"\.([^.\[]+)|\[[^\]]*\]")
_VALUE: Final = re.compile(r"Invalid (?:enum )?value '(?P<given>[^']*)'")
_FIELD: Final = re.compile(r"Object contains unknown field `(?P<given>[^`]*)`")
_MISSING: Final = re.compile(r"Object missing required field `")


def decode_arguments(tool: Tool[Any], raw: bytes) -> Any:
    """The arguments of `tool`, strictly. Raises `Refusal("schema_invalid")`, naming the argument."""
    try:
        # Each level takes a byte that begins an array or a map: most calls have too few for a walk to be needed.
        depth = nesting(raw) if len(raw) - len(raw.translate(None, _OPENING)) > MAX_DEPTH else 0
        if depth > MAX_DEPTH:
            raise Refusal(
                "schema_invalid", f"{tool.name}: the arguments are nested {depth} deep; {MAX_DEPTH} is the limit."
            )
        try:
            return msgspec.msgpack.decode(raw, type=tool.params)
        except msgspec.ValidationError:
            plain = without_nulls(tool.params, msgspec.msgpack.decode(raw))
            if plain is None:
                raise
            return msgspec.msgpack.decode(msgspec.msgpack.encode(plain), type=tool.params)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise refusal(tool.name, tool.params, error) from None


def nesting(raw: bytes) -> int:
    """How deep msgpack arrays and maps are nested in `raw`, without building anything.

    Walks headers only, at most `MOST_HEADERS` of them. msgspec's own limit is Python's recursion limit, which a hostile
    message should not get near, and which catches what lies behind those. Truncated input ends the walk: the decoder
    names that error.
    """
    at, deepest, left = 0, 0, MOST_HEADERS
    open_items: list[int] = []
    while at < len(raw) and left:
        left -= 1
        items, at = _header(raw, at)
        while open_items and open_items[-1] == 0:
            open_items.pop()
        if open_items:
            open_items[-1] -= 1
        if items:
            open_items.append(items)
            deepest = max(deepest, len(open_items))
            if deepest > MAX_DEPTH:
                return deepest
    return deepest


# Bytes behind the head byte of fixed-size values; width of the length and extra bytes of sized ones; width of the
# count and values per item of arrays and maps.
_FIXED = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}
_FIXED |= {0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8, 0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
_SIZED = {
    0xC4: (1, 0),
    0xC5: (2, 0),
    0xC6: (4, 0),
    0xC7: (1, 1),
    0xC8: (2, 1),
    0xC9: (4, 1),
    0xD9: (1, 0),
    0xDA: (2, 0),
    0xDB: (4, 0),
}
_OPENING = bytes(range(0x80, 0xA0)) + bytes(range(0xDC, 0xE0))
_NESTED = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}


def _header(raw: bytes, at: int) -> tuple[int, int]:
    """(items inside, where the next header stands) for the msgpack value at `at` (msgpack specification, formats)."""
    byte = raw[at]
    at += 1
    if byte < 0x80 or byte >= 0xE0:
        return 0, at
    if byte < 0x90:
        return (byte & 15) * 2, at
    if byte < 0xA0:
        return byte & 15, at
    if byte < 0xC0:
        return 0, at + (byte & 31)
    if byte in _FIXED:
        return 0, at + _FIXED[byte]
    if byte in _SIZED:
        width, extra = _SIZED[byte]
        return 0, at + width + extra + int.from_bytes(raw[at : at + width], "big")
    if byte in _NESTED:
        width, times = _NESTED[byte]
        return int.from_bytes(raw[at : at + width], "big") * times, at + width
    return 0, at


def refusal(tool: str, params: type[msgspec.Struct], error: Exception) -> Refusal:
    """The refusal of a call of `tool` whose arguments the decoder of `params` did not take, with its `error`.

    Where a value is one of few, or an argument has another name, `choices` has those that there are.
    """
    said = str(error)
    place = _PLACE.search(said)
    steps = [step.group(1) or "" for step in _STEP.finditer(place["place"])] if place else []
    details: dict[str, Any] = {"argument": next(iter(steps))} if steps else {}
    value, field = _VALUE.match(said), _FIELD.match(said)
    wrong = value or field
    message = f"{tool}: {_cut(said, wrong)}"
    if wrong is not None:
        below, given = _below(flat(params), steps), wrong["given"]
        choices = [str(choice) for choice in (below.get("enum" if value else "properties") or ())]
        if field and given in choices:  # of several shapes, which `below` has all in one, another one has it
            message = f"{message}. {below.get('description', '')}"
        elif choices:
            details = {"argument": given, **details} if field else details
            there_are = f"{'It is one of' if value else 'It takes'} {', '.join(choices)}."
            message = f"{message}. {there_are}{did_you_mean(given, choices)}"
            details["choices"] = choices
    if _MISSING.match(said) and (taken := _below(flat(params), steps).get("properties")):
        message = f"{message}. It takes {', '.join(taken)}."
    message = message if message.endswith((".", "?")) else f"{message}."
    return Refusal("schema_invalid", message, "fix_arguments", **details)


def _cut(said: str, wrong: re.Match[str] | None) -> str:
    """The decoder's sentence with no more of a wrong word than helps."""
    if wrong is None or len(wrong["given"]) <= LONGEST_GUESS:
        return said
    return f"{said[: wrong.start('given') + LONGEST_GUESS]}…{said[wrong.end('given') :]}"


def _below(schema: Schema, steps: list[str]) -> Schema:
    """What `schema` says of the place that `steps` lead to: names, and "" for an item of an array."""
    for step in steps:
        below = schema.get("properties", {}).get(step) if step else schema.get("items")
        if not isinstance(below, dict):
            return {}
        schema = below
    return schema


def without_nulls(params: type[msgspec.Struct], given: Any) -> dict[str, Any] | None:
    """`given` without the nulls of arguments, and of fields of objects in a list; None where it has none of these."""
    if not isinstance(given, dict):
        return None
    known = frozenset(params.__struct_encode_fields__)
    kept = {
        name: [_item(params, name, item) for item in value] if isinstance(value, list) else value
        for name, value in given.items()
        if value is not None or name not in known
    }
    return None if kept == given else kept


def _item(params: type[msgspec.Struct], name: str, item: Any) -> Any:
    if not isinstance(item, dict) or None not in item.values():
        return item
    known = _names_inside(params, name)
    return {field: value for field, value in item.items() if value is not None or field not in known}


@lru_cache(maxsize=64)
def _names_inside(params: type[msgspec.Struct], name: str) -> frozenset[str]:
    """The fields that an object in the list `name` can have: to work them out takes longer than most calls."""
    below = flat(params)["properties"].get(name, {}).get("items", {})
    return frozenset(below.get("properties", ()))
