"""What is put into files of configuration and taken out again: JSON with comments, and TOML, byte for byte."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from letters import texts
from quire_client.hooks.table import AGENTS
from quire_client.setup import agents, block, jsonc
from quire_client.setup.agents import File, Scope
from quire_client.setup.errors import MalformedConfig

# ── JSON with comments ───────────────────────────────────────────────────────

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | texts(8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(5), inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(texts(5).filter(lambda key: key != "ours"), JSON, max_size=4)


BLANKS = st.sampled_from(
    ["", " ", "  ", "\n", "\r\n", "\n  ", "\n\t\t", " // a comment {\n", "/* two\nlines */", "\n\n"]
)
STRINGS = texts(6) | st.sampled_from(["a // b", "{", "]", "\\", '"', "# x"])


@st.composite
def spelled(draw: st.DrawFn, value: Any) -> str:
    """`value` with blanks, comments and trailing commas wherever they may stand."""
    if not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    parts = [
        (f"{json.dumps(key)}{draw(BLANKS)}:{draw(BLANKS)}" if isinstance(value, dict) else "") + draw(spelled(part))
        for key, part in (value.items() if isinstance(value, dict) else enumerate(value))
    ]
    inside = "".join(f"{draw(BLANKS)}{part}{draw(BLANKS)}," for part in parts)
    inside = (inside if inside and draw(st.booleans()) else inside.removesuffix(",")) + draw(BLANKS)
    return f"{{{inside}}}" if isinstance(value, dict) else f"[{inside}]"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | STRINGS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts(4), inner, max_size=2),
    max_leaves=4,
)
EVENTS = st.sampled_from(["SessionStart", "PreToolUse", "BeforeTool", "preToolUse", "Stop", "Other"])
SETTINGS = st.dictionaries(texts(4), VALUES, max_size=2).flatmap(
    lambda more: st.fixed_dictionaries(
        {},
        optional={
            "hooks": st.dictionaries(EVENTS, st.lists(VALUES, max_size=2), max_size=3),
            "mcpServers": st.dictionaries(texts(4), VALUES, max_size=2),
            "mcp": st.dictionaries(texts(4), VALUES, max_size=2),
            "version": st.just(1),
            "$schema": st.just("https://opencode.ai/config.json"),
            **{key: st.just(value) for key, value in more.items()},
        },
    )
)
FILES = [
    file
    for agent in AGENTS
    for file in agents.files(agent, Scope(Path("/home/x"), {}, Path("/work/app")), "/opt/quire")
]
OLDER = [
    file
    for agent in AGENTS
    for file in agents.files(agent, Scope(Path("/home/x"), {}, Path("/work/app")), "/older/bin/quire", "quire")
]


@pytest.mark.parametrize(
    ("file", "older"),
    [pair for pair in zip(FILES, OLDER, strict=True) if pair[0].path.suffix == ".json"],
    ids=lambda file: str(file.path.relative_to("/work/app")),
)
@given(st.data())
def test_settings_that_are_put_in_and_taken_out_leave_every_byte_as_it_was(file: File, older: File, data: Any) -> None:
    found = data.draw(SETTINGS)
    if file.path.parent.name == ".cursor":
        found = {"version": 1, **found}
    before = data.draw(st.sampled_from(["", "\ufeff", "\n"])) + data.draw(spelled(found)) + data.draw(BLANKS)
    with_ours = file.put(before)
    assert file.put(with_ours) == with_ours
    assert file.put(older.put(before)) == with_ours
    assert file.take(with_ours) == before
    assert file.take(before) == before
    if found:
        assert file.take(with_ours.replace("{", '{"mine": [{}],', 1)) == before.replace("{", '{"mine": [{}],', 1)


PARTS = st.lists(
    st.sampled_from(
        [
            "# mine\n",
            "\n",
            "model = 'x' # fast\n",
            'text = """\n[mcp_servers.other]\n# no comment\n"""\n',
            "many = [\n  1, # one\n\n  2,\n]\n",
        ]
    ),
    unique=True,
).map("".join)
TABLES = st.lists(
    st.sampled_from(["[mcp_servers]\n", "[mcp_servers.other]\ncommand = 'y'\n", "[a]\n", "\n[[b]]\nc = {}\n", "# x\n"]),
    unique=True,
).map(lambda tables: "".join(sorted(tables, key=lambda table: table != "[mcp_servers]\n")))


@given(PARTS, TABLES, st.booleans(), st.booleans(), st.booleans())
def test_a_table_that_is_put_in_and_taken_out_leaves_every_byte_as_it_was(
    parts: str, tables: str, crlf: bool, mark: bool, ended: bool
) -> None:
    (file, older) = (file for file in (*FILES, *OLDER) if file.path.suffix == ".toml")
    text = parts + tables if ended else (parts + tables).removesuffix("\n")
    before = "\ufeff" * mark + (text.replace("\n", "\r\n") if crlf else text)
    with_ours = file.put(before)
    assert file.put(with_ours) == with_ours
    assert file.put(older.put(before)) == with_ours
    assert file.take(with_ours) == before
    assert file.take(before) == before
    added = '[projects."/x"]\ntrust_level = "trusted"\n'
    after = file.take(f"{with_ours}\n[mcp_servers.quire.tools.edit]\napproval_mode = 'approve'\n\n{added}")
    assert after is not None
    assert after.startswith(before)
    assert after.endswith(f"\n{added}")
    assert tomllib.loads(after.removeprefix("\ufeff")) == tomllib.loads(
        (before + "\n" + added).removeprefix("\ufeff").replace("\r\n\n", "\n\n")
    )


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
    longer = jsonc.put(jsonc.prepend(text, ("hooks", "Stop"), {"x": 1}), ("new",), [1])
    value = jsonc.read(longer)
    assert (value["new"], value["hooks"]["Stop"][0], value["last"]) == ([1], {"x": 1}, [1, 2])
    for comment in ("// what I like", "// really", "/* mine */", "// with a comma", "// no comma", "// the end"):
        assert comment in longer
    assert longer.count("\n") == longer.count("\r\n") or "\r\n" not in text
    assert jsonc.remove(jsonc.remove(longer, ("hooks", "Stop", 0)), ("new",)) == text


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

TABLE: dict[str, Any] = {"command": 'C:\\a "b"/quire', "args": ["mcp", "-C", "/ü"], "startup_timeout_sec": 30}
PLACE = ("mcp_servers", "quire")


@pytest.mark.parametrize("text", [None, "", "# mine\nmodel = 'x' # fast\n\n[a]\ncommand = 'y'", "a = 1\r\n", "\ufeff"])
def test_our_table_comes_to_the_end_of_a_toml_file_and_goes_again(text: str | None) -> None:
    longer = block.put(text, PLACE, TABLE)
    assert block.read(longer)["mcp_servers"]["quire"] == TABLE
    assert longer.startswith(text or "")
    assert block.take(longer, PLACE) == text


def test_a_table_that_codex_wrote_anew_goes_with_the_approvals_that_it_put_below() -> None:
    """Codex drops the comments of the tables, and writes its own behind ours."""
    rest = "# mine\nmodel = 'x'\n\n[features]\nmulti_agent = true\n"
    ours = "\n[mcp_servers.quire]\ncommand = 'quire'\nstartup_timeout_sec = 30.0\n"
    below = "\n[mcp_servers.quire.tools.edit]\napproval_mode = 'approve'\n"
    other = "\n[mcp_servers.other]\ncommand = 'x'\n"
    head, tail = rest.split("\n\n")
    assert block.take(f"{head}\n{ours}{below}{other}\n{tail}", PLACE) == f"{head}\n{other}\n{tail}"
    assert block.take(f"{head}\n{ours}{other}{below}\n{tail}", PLACE) == f"{head}\n{other}\n{tail}"


def test_a_table_that_cannot_be_told_from_the_rest_is_left_alone() -> None:
    text = "[mcp_servers.quire]\nargs = [\n  'x',\n\n  'y',\n]\n"
    with pytest.raises(MalformedConfig, match="by hand"):
        block.take(text, PLACE)


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
        block.put(text, PLACE, TABLE)
