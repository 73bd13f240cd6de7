"""`describe` tells what each tool takes and may do, in a form that every client of MCP can list."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest

from memory_daemon import MemoryDaemon
from quire_daemon.config.errors import BadSettings
from quire_daemon.config.settings import Mcp, Settings, load
from quire_daemon.core.json_schema import flat
from quire_daemon.dialects.table import DIALECTS
from quire_daemon.maintenance.table import SERVICES
from quire_daemon.manuals.pages import page
from quire_daemon.tools.admin.describe import MOST, TRAINED, DescribeParams, answer, ascii_text, offered, summary
from quire_daemon.tools.table import TOOLS

ALL = Settings(mcp=Mcp(tools="all"))

MOST_LISTED = 16_000
"""Characters of names, descriptions and schemas in a listing: an agent pays for them with every request."""


def listed(settings: Settings | None = None, **arguments: Any) -> dict[str, dict[str, Any]]:
    """The reply of `describe`, by name."""
    reply = MemoryDaemon(settings=settings).ask("describe", arguments)
    assert reply["ok"], reply
    return {tool["name"]: tool for tool in reply["tools"]}


@cache
def everything() -> dict[str, dict[str, Any]]:
    """The same where all dialects are offered. Not to be changed."""
    return listed(ALL)


@pytest.mark.parametrize("agent", [*TRAINED, "cursor", ""])
def test_what_is_offered_by_default_is_reading_writing_undo_and_history_in_few_words(agent: str) -> None:
    tools = answer(DescribeParams(offered=True), TOOLS, Settings(), agent)["tools"]
    names = [tool["name"] for tool in tools]
    assert len(names) <= 12
    assert {"read_file", "edit", "write_file", "undo", "redo", "restore", "log", "diff", "blame"} <= {*names}
    told = (json.dumps([tool["name"], tool["description"], tool["schema"]], separators=(",", ":")) for tool in tools)
    assert sum(map(len, told)) <= MOST_LISTED


def test_an_agent_is_offered_the_one_edit_protocol_beside_edit_that_it_was_trained_on() -> None:
    protocols = {*DIALECTS, "apply_patch"}

    def of(agent: str) -> list[str]:
        return [name for name in offered(Settings(), TOOLS, agent) if name in protocols]

    assert {agent: of(agent) for agent in ("claude-code", "codex", "gemini", "opencode", "")} == {
        "claude-code": ["edit", "text_editor"],
        "codex": ["edit", "apply_patch"],
        "gemini": ["edit", "edit_replace"],
        "opencode": ["edit"],
        "": ["edit"],
    }


def test_the_caller_is_the_agent_that_is_offered_something() -> None:
    daemon = MemoryDaemon()
    told = [tool["name"] for tool in daemon.ask("describe", {"offered": True}, "codex")["tools"]]
    assert "apply_patch" in told
    assert "text_editor" not in told


def test_the_settings_choose_the_tools_and_their_order() -> None:
    settings = load('[mcp]\ntools = ["hashline_edit", "claim", "read_file"]', None)
    assert list(listed(settings, offered=True)) == ["hashline_edit", "claim", "read_file"]
    assert {"hashline_edit", "claim", "rollback", "why"} < {*offered(load('[mcp]\ntools = "all"', None), TOOLS)}


@pytest.mark.parametrize("wrong", ['["edti"]', '["purge"]', '"every"', "3"])
def test_a_tool_that_cannot_be_offered_is_an_error_of_the_settings(wrong: str) -> None:
    with pytest.raises(BadSettings, match=r"line 2: .*mcp\.tools"):
        load(f"[mcp]\ntools = {wrong}", None)


def test_all_that_is_offered_by_default_can_be_and_so_can_each_protocol() -> None:
    assert {*DIALECTS, "apply_patch", *offered(Settings(), TOOLS, "codex")} <= {*offered(ALL, TOOLS)}


def test_every_tool_and_service_has_a_page_which_names_arguments_that_there_are() -> None:
    for name, tool in (TOOLS | {name: service.tool() for name, service in SERVICES.items()}).items():
        schema = json.dumps(flat(tool.params))
        assert page(name).title
        assert page(name).text
        assert not [argument for argument in page(name).arguments if f'"{argument}": {{' not in schema]


def test_a_listing_for_agents_leaves_out_what_a_model_has_no_use_for() -> None:
    brief, whole = listed(offered=True)["edit"], listed()["edit"]
    assert "idempotency_key" in whole["schema"]["properties"]
    assert "idempotency_key" not in brief["schema"]["properties"]
    assert len(brief["description"]) < len(whole["description"])


def test_tools_that_remove_history_or_end_the_daemon_are_never_offered() -> None:
    words = ("purge", "gc", "repair", "shutdown", "retention", "export", "burst")
    assert not [name for name in offered(ALL, TOOLS) if any(word in name for word in words)]


@pytest.mark.parametrize("name", offered(ALL, TOOLS))
def test_what_is_offered_keeps_to_what_clients_can_take(name: str) -> None:
    """Names are cut after 30 characters or so, descriptions after 2 KiB; some pass only ASCII."""
    tool = everything()[name]
    assert re.fullmatch(r"[a-z_]{1,30}", name)
    assert 0 < len(tool["description"]) <= MOST
    assert tool["description"].isascii()
    schema = tool["schema"]
    assert schema["type"] == "object"
    assert len(json.dumps(schema)) < 5000
    undescribed = [prop for prop, below in schema["properties"].items() if not below.get("description")]
    assert not undescribed
    assert json.dumps(schema).isascii()


@pytest.mark.parametrize("name", offered(ALL, TOOLS))
def test_annotations_say_all_four_and_agree_with_the_tool(name: str) -> None:
    told = everything()[name]["annotations"]
    assert set(told) == {"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    assert told["readOnlyHint"] is not TOOLS[name].writes
    assert told["openWorldHint"] is False
    if told["readOnlyHint"]:
        assert (told["destructiveHint"], told["idempotentHint"]) == (False, True)


def test_every_argument_is_shown_or_is_another_name_of_one_that_is() -> None:
    all_tools = TOOLS | {name: service.tool() for name, service in SERVICES.items()}
    for name, tool in everything().items():
        unseen = set(flat(all_tools[name].params)["properties"]) - set(tool["schema"]["properties"])
        assert unseen == set(tool["aliases"]) | ({"path"} if name == "apply_patch" else set()), name


def test_a_description_is_a_shortened_manual_that_refers_to_the_full_one() -> None:
    told = listed()["edit"]["description"]
    assert told.startswith("Change lines that are named by hash anchors.")
    assert "the hash is the authoritative identity" in told
    assert 'manual with {"dialect": "edit"}' in told
    assert "manual with" not in listed()["delete_file"]["description"]


def test_the_variants_of_a_hashline_edit_are_told_as_the_settings_allow_them() -> None:
    edits = listed()["hashline_edit"]["schema"]["properties"]["edits"]["items"]
    assert edits["description"].startswith("One of: {target, new_content}, {first, last, new_content}, {inserted_lines")
    assert "old_text" not in edits["properties"]
    allowing = load("[dialects.hashline_edit]\nallow_replace_text = true", None)
    more = listed(allowing)["hashline_edit"]["schema"]["properties"]["edits"]["items"]
    assert "old_text" in more["properties"]


def test_services_are_described_as_tools_are_and_never_offered() -> None:
    """They are called in the same way; `quire call gc --help` asks for this."""
    tools = TOOLS | {name: service.tool() for name, service in SERVICES.items()}
    told = {tool["name"]: tool for tool in answer(DescribeParams(), tools, ALL)["tools"]}
    assert {*SERVICES} < {*told} == {*TOOLS, *SERVICES}
    assert not [name for name in SERVICES if told[name]["offered"] or not told[name]["description"].isascii()]
    assert {name for name in SERVICES if told[name]["writes"]} == {"gc", "purge", "repair", "shutdown"}
    assert not told["gc"]["annotations"]["readOnlyHint"]
    assert set(told["purge"]["schema"]["properties"]) == {"path", "blob", "matching", "plan", "note"}
    (alone,) = answer(DescribeParams(tool="verify"), tools, ALL)["tools"]
    assert "findings" in alone["reply"]["$defs"]["VerifyReply"]["properties"]


def test_a_tool_that_there_is_not_is_refused_with_the_names_of_those_that_are() -> None:
    reply = MemoryDaemon().ask("describe", {"tool": "edti"})
    assert (reply["ok"], reply["error"]) == (False, "not_found")
    assert "hashline_edit" in reply["message"]


def test_sections_that_do_not_fit_are_left_out_whole() -> None:
    manual = "# `x`: do it\n\nLead.\n\n## One\n\n" + "a " * 50 + "\n\n## Two\n\nshort\n"
    assert summary(manual, "", "x", 120) == (
        'Do it.\n\nLead.\n\n## Two\n\nshort\n\nThe tool manual with {"dialect": "x"} tells more.'
    )
    assert summary(manual, "", "x", 2000).endswith("short")


def test_a_fenced_block_is_never_cut() -> None:
    manual = "# `x`: do it\n\nLead.\n\n```py\na\n\n" + "b\n" * 60 + "```\n\nTail.\n"
    assert "```" not in summary(manual, "", "x", 120)
    assert "Tail." in summary(manual, "", "x", 120)


def test_texts_are_told_in_ascii() -> None:
    assert ascii_text("read → edit — “now” …") == 'read -> edit - "now" ...'
