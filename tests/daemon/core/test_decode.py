"""Arguments on the wire: nothing hostile gets further than the door."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from quire_daemon.core.decision import Decision, Tool, World
from quire_daemon.core.decode import decode_arguments
from quire_daemon.tools.table import TOOLS
from quire_journal.model.refusals import Refusal


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    anything: Any = None


def _decide(params: Params, world: World) -> Decision:
    return Decision({"ok": True})


TOOL = Tool("try", Params, lambda p: (p.path,), _decide)


@pytest.mark.parametrize("levels", [2_000, 1_000_000])
@pytest.mark.parametrize("argument", [b"\xa4path", b"\xa8anything"])
def test_a_million_brackets_are_refused(argument: bytes, levels: int) -> None:
    with pytest.raises(Refusal) as caught:
        decode_arguments(TOOL, b"\x81" + argument + b"\x91" * levels + b"\xc0")
    assert caught.value.code == "schema_invalid"


def test_arguments_that_are_nested_too_deep_are_told_so() -> None:
    with pytest.raises(Refusal, match="nested too deep"):
        decode_arguments(TOOL, b"\x81\xa8anything" + b"\x91" * 1_000_000)


def test_a_missing_argument_is_named() -> None:
    with pytest.raises(Refusal, match="`path`"):
        decode_arguments(TOOL, msgspec.msgpack.encode({}))


def test_with_a_missing_argument_all_are_named_that_there_are() -> None:
    with pytest.raises(Refusal) as caught:
        decode_arguments(TOOLS["edit"], msgspec.msgpack.encode({}))
    assert caught.value.message.startswith("edit: Object missing required field `operations`. It takes path, base, ")


def test_an_unknown_argument_is_named() -> None:
    with pytest.raises(Refusal, match="`pth`"):
        decode_arguments(TOOL, msgspec.msgpack.encode({"path": "a", "pth": "b"}))


def test_a_wrong_type_is_told_with_its_place() -> None:
    with pytest.raises(Refusal, match=r"Expected `str`, got `int` - at `\$\.path`"):
        decode_arguments(TOOL, msgspec.msgpack.encode({"path": 5}))


def test_truncated_arguments_are_refused() -> None:
    with pytest.raises(Refusal, match="truncated"):
        decode_arguments(TOOL, msgspec.msgpack.encode({"path": "abc"})[:-2])


def test_a_value_that_is_one_of_few_is_answered_with_those_and_the_nearest() -> None:
    with pytest.raises(Refusal) as caught:
        decode_arguments(TOOLS["claim"], msgspec.msgpack.encode({"path": "a", "kind": "exclusiv"}))
    refused = caught.value
    assert refused.message == (
        "claim: Invalid enum value 'exclusiv' - at `$.kind`. It is one of exclusive, intent, shared. "
        "Did you mean exclusive?"
    )
    assert refused.details == {"argument": "kind", "choices": ["exclusive", "intent", "shared"]}


def test_that_holds_for_what_lies_inside_of_others() -> None:
    with pytest.raises(Refusal) as caught:
        decode_arguments(TOOLS["edit"], msgspec.msgpack.encode({"path": "a", "operations": [{"op": "delete_lines"}]}))
    refused = caught.value
    assert refused.message.endswith(" delete_range. Did you mean delete_line?")
    assert refused.details["argument"] == "operations"
    assert "replace_range" in refused.details["choices"]


def test_an_argument_that_there_is_not_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(Refusal) as caught:
        decode_arguments(TOOLS["read_file"], msgspec.msgpack.encode({"pth": "a"}))
    refused = caught.value
    assert refused.details["argument"] == "pth"
    assert refused.message.startswith("read_file: Object contains unknown field `pth`. It takes path, hashes, ")
    assert refused.message.endswith(" Did you mean path?")


def test_a_field_of_another_shape_is_answered_with_the_shapes() -> None:
    """`content` of a `delete_line` was called unknown, and then offered."""
    operation = {"op": "delete_line", "hash": "abcdef", "content": "x"}
    with pytest.raises(Refusal) as caught:
        decode_arguments(TOOLS["edit"], msgspec.msgpack.encode({"path": "a", "operations": [operation]}))
    message = caught.value.message
    assert message.startswith("edit: Object contains unknown field `content` - at `$.operations[0]`. One of: {op: ")
    assert "{op: delete_line, hash, occurrence?, line?}" in message
    assert "Did you mean" not in message
    assert caught.value.details == {"argument": "operations"}


@pytest.mark.parametrize(
    ("tool", "args", "nulls"),
    [
        ("edit_replace", {"old_text": "a", "new_text": "b"}, {"count": None, "dry_run": None, "base": None}),
        ("log", {}, {"since": None, "limit": None, "cursor": None, "order": None}),
        ("undo", {}, {"last": None, "writer": None, "plan": None}),
        ("hashline_edit", {"edits": []}, {"delete": None, "rename": None}),
    ],
)
def test_null_is_an_argument_that_is_left_out_whatever_its_type(
    tool: str, args: dict[str, Any], nulls: dict[str, None]
) -> None:
    """Programs that have to name every argument say so; what took it and what did not went by the types within."""

    def said(more: dict[str, None]) -> Any:
        return decode_arguments(TOOLS[tool], msgspec.msgpack.encode({"path": "a", **args, **more}))

    assert said(nulls) == said({})


def test_null_is_a_field_that_is_left_out_in_operations_and_edits_too() -> None:
    def said(tool: str, **args: object) -> Any:
        return decode_arguments(TOOLS[tool], msgspec.msgpack.encode({"path": "a", **args}))

    line = {"op": "delete_line", "hash": "abcdef"}
    nulls = {"content": None, "start_hash": None, "line": None, "occurrence": None}
    assert said("edit", operations=[{**line, **nulls}]) == said("edit", operations=[line])
    text = {"oldText": "a", "newText": "b"}
    more = {"expectedSha256": "0" * 64}
    known = said("edit_file", edits=[text], **more)
    assert said("edit_file", edits=[{**text, "replaceAll": None, "expectedOccurrences": None}], **more) == known


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({"path": None, "old_text": "a", "new_text": "b"}, "`path`"),
        ({"path": "a", "old_text": None, "new_text": "b"}, "`old_text`"),
        ({"path": "a", "old_text": "a", "new_text": "b", "nope": None}, "`nope`"),
    ],
)
def test_null_does_not_stand_for_what_a_call_needs_or_does_not_have(args: dict[str, Any], named: str) -> None:
    with pytest.raises(Refusal, match=named):
        decode_arguments(TOOLS["edit_replace"], msgspec.msgpack.encode(args))


def test_null_is_no_state_of_a_file_that_a_patch_is_about() -> None:
    args = {"patch": "x", "expectedSha256ByPath": {"a": None}, "dry_run": None}
    with pytest.raises(Refusal, match="expectedSha256ByPath"):
        decode_arguments(TOOLS["apply_patch"], msgspec.msgpack.encode(args))


def test_a_wrong_word_without_an_end_is_compared_with_nothing() -> None:
    with pytest.raises(Refusal) as caught:
        decode_arguments(TOOLS["claim"], msgspec.msgpack.encode({"path": "a", "kind": "e" * 1_000_000}))
    assert caught.value.message.endswith("eee…' - at `$.kind`. It is one of exclusive, intent, shared.")
    assert len(caught.value.message) < 200


def test_a_file_named_by_the_other_argument_makes_the_same_call() -> None:
    """A repeated success is looked up by what the call says, under one idempotency key."""

    def said(tool: str, **args: object) -> Any:
        return decode_arguments(TOOLS[tool], msgspec.msgpack.encode(args))

    texts = {"old_text": "a", "new_text": "b"}
    assert said("edit_replace", file="a.py", **texts) == said("edit_replace", path="a.py", **texts)
    assert TOOLS["edit"].paths(said("edit", file_path="a.py", operations=[])) == ("a.py",)
