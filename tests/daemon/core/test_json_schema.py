"""Schemas of arguments are flat: what a reader sees that knows no `$ref` and no `null`."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import msgspec
import pytest

from quire_daemon.core.json_schema import described, flat, one_shape, without
from quire_daemon.tools.table import TOOLS


class Line(msgspec.Struct, tag_field="op", tag="line", forbid_unknown_fields=True):
    hash: str
    content: str = ""


class Span(msgspec.Struct, tag_field="op", tag="span", forbid_unknown_fields=True):
    first: str
    last: str


class Params(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Arguments of a test."""

    path: str
    operations: Annotated[tuple[Line | Span, ...], msgspec.Meta(min_length=1)]
    lines: tuple[int, int] | None = None
    how: Literal["b", "a"] | None = None
    count: int = 1
    which: int | str | None = None
    again: bool = False


def test_what_may_be_left_out_has_its_plain_type_and_no_null() -> None:
    properties = flat(Params)["properties"]
    assert properties["how"] == {"type": "string", "enum": ["a", "b"]}
    assert properties["again"] == {"type": "boolean"}
    assert properties["count"] == {"type": "integer", "default": 1}
    assert properties["which"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}


def test_a_pair_is_an_array_of_two() -> None:
    assert flat(Params)["properties"]["lines"] == {
        "type": "array",
        "minItems": 2,
        "maxItems": 2,
        "items": {"type": "integer"},
    }


def test_a_choice_among_shapes_is_one_shape_that_says_which_fields_go_together() -> None:
    operations = flat(Params)["properties"]["operations"]
    assert operations["minItems"] == 1
    assert operations["items"] == {
        "type": "object",
        "description": "One of: {op: line, hash, content?}, {op: span, first, last}.",
        "properties": {
            "op": {"type": "string", "enum": ["line", "span"]},
            "hash": {"type": "string"},
            "content": {"type": "string"},
            "first": {"type": "string"},
            "last": {"type": "string"},
        },
        "required": ["op"],
        "additionalProperties": False,
    }


def test_the_root_is_an_object_with_what_is_required() -> None:
    schema = flat(Params)
    assert (schema["type"], schema["required"]) == ("object", ["path", "operations"])
    assert schema["additionalProperties"] is False
    assert "description" not in schema


def test_shapes_without_a_tag_are_merged_as_well() -> None:
    class Insert(msgspec.Struct):
        lines: list[str]
        after: str | None = None

    class Set(msgspec.Struct):
        target: str
        lines: list[str]

    merged = one_shape((Insert, Set))
    assert merged["required"] == ["lines"]
    assert merged["description"] == "One of: {lines, after?}, {target, lines}."


def test_properties_are_hidden_required_and_described_without_touching_the_original() -> None:
    schema = flat(Params)
    shown = described(without(schema, ("which",), ("count",)), {"count": "How many.", "hash": "Which line."})
    assert "which" not in shown["properties"]
    assert shown["required"] == ["path", "operations", "count"]
    assert shown["properties"]["count"] == {"type": "integer", "default": 1, "description": "How many."}
    nested = shown["properties"]["operations"]["items"]
    assert nested["properties"]["hash"]["description"] == "Which line."
    assert nested["description"].startswith("One of: ")
    assert schema == flat(Params)


@pytest.mark.parametrize("tool", TOOLS)
def test_no_tool_has_arguments_that_cannot_be_told_flat(tool: str) -> None:
    told = json.dumps(flat(TOOLS[tool].params))
    assert not [word for word in ("$ref", "$defs", "null", "prefixItems", "discriminator") if word in told]
