"""Formats a tool's arguments for users, from the schema of the tool `describe`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final

from quire_client.cli import render

_TYPES: Final = {"string": "text", "boolean": "true or false", "integer": "whole number", "number": "number"}


def of_tool(tool: Mapping[str, Any], colours: render.Palette, width: int) -> str:
    """Return the description of the tool and of each argument, in `width` columns."""
    schema = tool.get("schema") or {}
    name = render.one_line(tool.get("name", "?"))
    told = [f"{colours.paint(name, 'bold')}: {render.one_line(tool.get('title', ''))}", ""]
    if tool.get("description"):
        told += [*_wrapped(tool["description"], "", width), ""]
    told += [f"Usage: quire call {name} JSON", ""]
    arguments = list(_arguments(schema, "  ", colours, width))
    told += ["Arguments:", "", *arguments] if arguments else ["It takes no arguments.", ""]
    if tool.get("aliases"):
        told += [*_wrapped(f"Accepted as well, for other names: {', '.join(tool['aliases'])}.", "", width), ""]
    writes = "It writes: see `quire manual writing`." if tool.get("writes") else "It only reads."
    return "\n".join([*told, writes, ""])


def _arguments(schema: Mapping[str, Any], indent: str, colours: render.Palette, width: int) -> Iterator[str]:
    needed = schema.get("required") or ()
    for name, below in (schema.get("properties") or {}).items():
        told = [_type(below)]
        if name in needed:
            told.append("required")
        elif "default" in below:
            told.append(f"{json.dumps(below['default'])} if left out")
        yield f"{indent}{colours.paint(render.one_line(name), 'bold')}  ({render.one_line(', '.join(told), 400)})"
        yield from _wrapped(below.get("description", ""), indent + "    ", width)
        inside = below.get("items") if isinstance(below.get("items"), Mapping) else below
        if inside is not below and inside.get("description"):
            yield from _wrapped(inside["description"], indent + "    ", width)
        yield ""
        yield from _arguments(inside, indent + "    ", colours, width)


def _type(schema: Mapping[str, Any]) -> str:
    if schema.get("enum"):
        return f"one of {', '.join(map(str, schema['enum']))}"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_type, schema["anyOf"])))
    kind = schema.get("type", "any value")
    if kind == "array":
        items = _type(schema.get("items") or {})
        return f"list of {items}s" if items in ("object", "number", "whole number") else f"list of {items}"
    return _TYPES.get(kind, str(kind)) + _bounds(schema)


def _bounds(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    return f" from {low}" if low is not None else f" up to {high}" if high is not None else ""


def _wrapped(text: object, indent: str, width: int) -> Iterator[str]:
    example = False
    for paragraph in render.clean_text(text or "").splitlines():
        fence = paragraph.startswith("```")
        example ^= fence
        if example or fence or paragraph.startswith("|"):  # copied verbatim, or a row of a table
            yield indent + paragraph
            continue
        yield from textwrap.wrap(paragraph, width, initial_indent=indent, subsequent_indent=indent) or [""]
