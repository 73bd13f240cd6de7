"""The listing of the tools costs an agent characters in each of its requests: there is a limit for all of it."""

from __future__ import annotations

import json

import pytest

from quire_client.mcp import tool_list
from quire_daemon.config.settings import Settings
from quire_daemon.tools.admin.describe import TRAINED, DescribeParams, answer
from quire_daemon.tools.table import TOOLS

MOST_LISTED = 16_000


@pytest.mark.parametrize("with_handle", [False, True], ids=["alone", "among others"])
@pytest.mark.parametrize("agent", [*TRAINED, ""])
def test_the_whole_listing_of_at_most_twelve_tools_is_short(agent: str, with_handle: bool) -> None:
    entries = answer(DescribeParams(offered=True), TOOLS, Settings(), agent)["tools"]
    listed = [tool_list.tool(entry, with_handle=with_handle) for entry in entries]
    assert len(listed) <= 12
    assert len(json.dumps(listed, separators=(",", ":"))) <= MOST_LISTED


def test_agents_are_offered_stories_by_the_log() -> None:
    entries = answer(DescribeParams(offered=True), TOOLS, Settings())["tools"]
    (log,) = [tool_list.tool(entry) for entry in entries if entry["name"] == "log"]
    assert log["inputSchema"]["properties"]["stories"]["type"] == "boolean"
    assert "stories: true" in log["description"]
