"""Arguments as flat JSON Schemas: what clients of MCP can read, some of which know neither `$ref` nor `null`.

msgspec writes exact schemas, with definitions, references and a `null` for every argument that may be left out. Here
they become what models are shown: one object, its properties in the order of the struct, nested shapes in place. A
choice among shapes becomes one shape with the fields of all, which says in words which fields go together: the daemon
decodes strictly in any case, and its refusal names the argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

Schema = dict[str, Any]

_DROPPED: Final = ("title", "discriminator", "default")
_SAID_BY_THE_TYPE: Final[tuple[object, ...]] = (None, "", False, [], {})
"""Defaults that tell a reader nothing which "it may be left out" does not."""


def flat(params: type[msgspec.Struct]) -> Schema:
    """The schema of a tool's arguments: an object without references. Its docstring is not a part of it.

    A struct may say of arguments that a call cannot do without them (`NEEDED`), and of others that they are taken only
    to be refused with better words (`FOREIGN`): these are not told of.
    """
    schema = _plain(msgspec.json.schema(params), {})
    schema.pop("description", None)
    needed, foreign = getattr(params, "NEEDED", ()), getattr(params, "FOREIGN", ())
    return without(schema, foreign, needed) if needed or foreign else schema


def one_shape(shapes: Sequence[type[msgspec.Struct]]) -> Schema:
    """The schema of an object that has one of these shapes."""
    return _merged([_plain(msgspec.json.schema(shape), {}) for shape in shapes])


def described(schema: Schema, notes: Mapping[str, str]) -> Schema:
    """The same with a sentence behind each property that `notes` knows; nested shapes too."""
    out = {**schema}
    if "properties" in schema:
        out["properties"] = {name: _noted(name, below, notes) for name, below in schema["properties"].items()}
    return out


def without(schema: Schema, hidden: Sequence[str], required: Sequence[str] = ()) -> Schema:
    """The same without the properties in `hidden`; those in `required` cannot be left out."""
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
    """`schema` with references resolved, choices made flat, and what says nothing left out."""
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
    """One object with the fields of all `shapes`; those of every shape are required. Its description lists them."""
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
    """`{op: replace_line, hash, content, line?}`: the fields of one shape, a `?` behind those that may be left out."""

    def told(name: str, below: Schema) -> str:
        if len(below.get("enum", ())) == 1:
            return f"{name}: {below['enum'][0]}"
        return name if name in shape.get("required", ()) else f"{name}?"

    return "{" + ", ".join(told(name, below) for name, below in shape["properties"].items()) + "}"
