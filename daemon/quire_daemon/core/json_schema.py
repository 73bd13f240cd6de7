"""Arguments as flat JSON Schemas, for MCP clients that do not know `$ref` or `null`.

Nested shapes are inlined. A union becomes one shape with all fields, and a description of the fields that go together.
The daemon decodes strictly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

Schema = dict[str, Any]

_DROPPED: Final = ("title", "discriminator", "default")
_SAID_BY_THE_TYPE: Final[tuple[object, ...]] = (None, "", False, [], {})
"""Defaults that "optional" implies."""


def flat(params: type[msgspec.Struct]) -> Schema:
    """Return the schema of a tool's arguments: an object without references or description.

    `NEEDED` of a struct makes arguments required. `FOREIGN` hides arguments accepted only for a better refusal.
    """
    schema = _plain(msgspec.json.schema(params), {})
    schema.pop("description", None)
    needed, foreign = getattr(params, "NEEDED", ()), getattr(params, "FOREIGN", ())
    return without(schema, foreign, needed) if needed or foreign else schema


def one_shape(shapes: Sequence[type[msgspec.Struct]]) -> Schema:
    return _merged([_plain(msgspec.json.schema(shape), {}) for shape in shapes])


def described(schema: Schema, notes: Mapping[str, str]) -> Schema:
    """Return the schema with the sentences of `notes` (by property name) in its properties' descriptions."""
    out = {**schema}
    if "properties" in schema:
        out["properties"] = {name: _noted(name, below, notes) for name, below in schema["properties"].items()}
    return out


def without(schema: Schema, hidden: Sequence[str], required: Sequence[str] = ()) -> Schema:
    """Return the schema without the properties `hidden`; the properties `required` become required."""
    kept = {name: below for name, below in schema["properties"].items() if name not in hidden}
    needed = [name for name in kept if name in required or name in schema.get("required", ())]
    return {**schema, "properties": kept, "required": needed}


def _noted(name: str, below: Schema, notes: Mapping[str, str]) -> Schema:
    out = {**below}
    if name in notes:
        own = out.pop("description", "")
        out = {**out, "description": f"{notes[name]} {own}".strip()}
    if isinstance(out.get("items"), dict):
        out["items"] = described(out["items"], notes)
    return out


def _plain(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    definitions = {**definitions, **schema.get("$defs", {})}
    if "$ref" in schema:
        return _plain(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        choices = [_plain(choice, definitions) for choice in schema["anyOf"] if choice.get("type") != "null"]
        chosen = _chosen(choices)
    else:
        chosen = {key: value for key, value in schema.items() if key not in (*_DROPPED, "$defs")}
    if "properties" in chosen and "anyOf" not in schema:
        chosen["properties"] = {name: _plain(below, definitions) for name, below in chosen["properties"].items()}
    if "prefixItems" in chosen:
        chosen["items"] = _plain(chosen.pop("prefixItems")[0], definitions)
    elif isinstance(chosen.get("items"), dict) and "anyOf" not in schema:
        chosen["items"] = _plain(chosen["items"], definitions)
    if "enum" in chosen and "type" not in chosen:
        chosen = {"type": "string", **chosen}
    default = schema.get("default")
    return {**chosen, "default": default} if default not in _SAID_BY_THE_TYPE else chosen


def _chosen(choices: Sequence[Schema]) -> Schema:
    if len(choices) == 1:
        return {**choices[0]}
    if all(choice.get("type") == "object" for choice in choices):
        return _merged(choices)
    return {"anyOf": list(choices)}


def _merged(shapes: Sequence[Schema]) -> Schema:
    properties: dict[str, Schema] = {}
    for shape in shapes:
        for name, below in shape["properties"].items():
            known = properties.setdefault(name, {**below})
            if "enum" in known:
                known["enum"] = list(dict.fromkeys([*known["enum"], *below.get("enum", ())]))
    everywhere = set.intersection(*(set(shape.get("required", ())) for shape in shapes))
    words = "One of: " + ", ".join(_fields(shape) for shape in shapes) + "."
    required = [name for name in properties if name in everywhere]
    return {
        "type": "object",
        "description": words,
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _fields(shape: Schema) -> str:
    """Return the fields of a shape as text, such as `{op: replace_line, hash, content, line?}`."""

    def told(name: str, below: Schema) -> str:
        if len(below.get("enum", ())) == 1:
            return f"{name}: {below['enum'][0]}"
        return name if name in shape.get("required", ()) else f"{name}?"

    return "{" + ", ".join(told(name, below) for name, below in shape["properties"].items()) + "}"
