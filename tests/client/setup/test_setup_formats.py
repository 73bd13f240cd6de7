"""What is put into files of configuration and taken out again: JSON with comments, and TOML, byte for byte."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given, strategies as st

from letters import texts
from quire_client.setup import block, jsonc
from quire_client.setup.errors import MalformedConfig

# ── JSON with comments ───────────────────────────────────────────────────────

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | texts(8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(5), inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(texts(5).filter(lambda key: key != "ours"), JSON, max_size=4)


@given(OBJECTS, JSON, st.sampled_from([2, 4, "\t"]))
def test_what_is_put_and_removed_leaves_every_byte_as_it_was(found: dict[str, Any], value: Any, indent: Any) -> None:
    text = json.dumps(found, indent=indent, ensure_ascii=False) + "\n"
    with_ours = jsonc.put(text, ("ours", "below"), value)
    assert jsonc.read(with_ours) == {**found, "ours": {"below": value}}
    assert jsonc.remove(with_ours, ("ours", "below")) == text


@given(OBJECTS, st.lists(JSON, max_size=3), JSON)
def test_an_item_comes_behind_the_others_and_goes_again(found: dict[str, Any], items: list[Any], item: Any) -> None:
    text = json.dumps({**found, "ours": items}, indent=2)
    longer = jsonc.append(text, ("ours",), item)
    assert jsonc.read(longer) == {**found, "ours": [*items, item]}
    shorter = jsonc.remove(longer, ("ours", len(items)))
    assert shorter == (text if items else jsonc.remove(text, ("ours",)))


COMMENTED = """\
{
  // what I like
  "theme": "dark", // really
  "hooks": {
    /* mine */
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]}, // with a comma
    ],
  },
  "last": [1, 2] // no comma
  // the end
}
"""


@pytest.mark.parametrize("text", [COMMENTED, COMMENTED.replace("\n", "\r\n")], ids=["lf", "crlf"])
def test_comments_trailing_commas_and_line_breaks_stay(text: str) -> None:
    longer = jsonc.put(jsonc.append(text, ("hooks", "Stop"), {"x": 1}), ("new",), [1])
    value = jsonc.read(longer)
    assert (value["new"], value["hooks"]["Stop"][1], value["last"]) == ([1], {"x": 1}, [1, 2])
    for comment in ("// what I like", "// really", "/* mine */", "// with a comma", "// no comma", "// the end"):
        assert comment in longer
    assert longer.count("\n") == longer.count("\r\n") or "\r\n" not in text
    assert jsonc.remove(jsonc.remove(longer, ("hooks", "Stop", 1)), ("new",)) == text


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "line 1: a value is missing"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3: a comma or } is missing"),
        ('{"a": 1} x', "something follows"),
        ('{"a": 1, "a": 2}', "twice"),
        ("{a: 1}", "line 1"),
        ('{"a" 1}', "a colon is missing"),
        ("[1,,2]", "a value is missing"),
        ("/* never", "does not end"),
        ("[" * 5000, "nested too deep"),
        ('{"a": [1}', "a comma or ]"),
    ],
)
def test_what_is_no_json_is_told_with_its_line(text: str, where: str) -> None:
    with pytest.raises(MalformedConfig, match=where.replace("}", r"\}").replace("]", r"\]")):
        jsonc.read(text)


@given(JSON)
def test_every_json_is_read_as_the_library_reads_it(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=3, ensure_ascii=False)):
        assert jsonc.read(text) == value


# ── TOML ─────────────────────────────────────────────────────────────────────

TABLE: dict[str, str | list[str]] = {"command": 'C:\\a "b"/quire', "args": ["mcp", "-C", "/ü"]}


@pytest.mark.parametrize("text", ["", "# mine\nmodel = 'x' # fast\n\n[mcp_servers.other]\ncommand = 'y'", "a = 1\r\n"])
def test_our_table_comes_to_the_end_of_a_toml_file_once_and_goes_again(text: str) -> None:
    longer = block.put(text, ("mcp_servers", "quire"), TABLE)
    assert tomllib.loads(longer)["mcp_servers"]["quire"] == TABLE
    assert block.put(longer, ("mcp_servers", "quire"), TABLE) == longer
    assert longer.startswith(text)
    assert block.take(longer).rstrip("\r\n") == text.rstrip("\r\n")
    assert tomllib.loads(block.take(longer)) == tomllib.loads(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a = ", "Invalid value"),
        ("[mcp_servers.quire]\ncommand = 'mine'\n", "stands there already"),
        ("mcp_servers = {other = {command = 'y'}}\n", "Cannot"),
        ("mcp_servers = 3\n", "Cannot"),
    ],
)
def test_a_toml_file_that_has_no_place_for_our_table_is_refused(text: str, why: str) -> None:
    with pytest.raises(MalformedConfig, match=why):
        block.put(text, ("mcp_servers", "quire"), TABLE)
