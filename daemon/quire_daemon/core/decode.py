"""Decoding of a call's arguments, and the refusal of arguments that do not fit the tool.

Null counts as an absent argument.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

import msgspec

from quire_daemon.core.decision import Tool
from quire_daemon.core.json_schema import Schema, flat
from quire_journal.model import LONGEST_GUESS, Refusal, did_you_mean

_PLACE: Final = re.compile(r" - at `\$(?P<place>[^`]*)`$")
_STEP: Final = re.compile(r"\.([^.\[]+)|\[[^\]]*\]")
_VALUE: Final = re.compile(r"Invalid (?:enum )?value '(?P<given>[^']*)'")
_FIELD: Final = re.compile(r"Object contains unknown field `(?P<given>[^`]*)`")
_MISSING: Final = re.compile(r"Object missing required field `")


def decode_arguments(tool: Tool[Any], raw: bytes) -> Any:
    """Return the arguments of a call from msgpack, decoded strictly. Raises `Refusal("schema_invalid")`, naming the
    argument.
    """
    try:
        try:
            return msgspec.msgpack.decode(raw, type=tool.params)
        except msgspec.ValidationError:
            plain = without_nulls(tool.params, msgspec.msgpack.decode(raw))
            if plain is None:
                raise
            return msgspec.msgpack.decode(msgspec.msgpack.encode(plain), type=tool.params)
    except RecursionError:
        raise Refusal("schema_invalid", f"{tool.name}: the arguments are nested too deep.") from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise refusal(tool.name, tool.params, error) from None


def refusal(tool: str, params: type[msgspec.Struct], error: Exception) -> Refusal:
    """Return the refusal for the decoder's `error`. Its field `choices` has the allowed values or argument names."""
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
        if field and given in choices:  # `below` merges several shapes, and another one has the name
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
    if wrong is None or len(wrong["given"]) <= LONGEST_GUESS:
        return said
    return f"{said[: wrong.start('given') + LONGEST_GUESS]}…{said[wrong.end('given') :]}"


def _below(schema: Schema, steps: list[str]) -> Schema:
    for step in steps:
        below = schema.get("properties", {}).get(step) if step else schema.get("items")
        if not isinstance(below, dict):
            return {}
        schema = below
    return schema


def without_nulls(params: type[msgspec.Struct], given: Any) -> dict[str, Any] | None:
    """Return `given` without nulls of known arguments and of fields of listed objects; None without such nulls."""
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
    below = flat(params)["properties"].get(name, {}).get("items", {})
    return frozenset(below.get("properties", ()))
