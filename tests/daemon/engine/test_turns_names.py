"""Turns of a daemon: what is said of the names that callers give."""

from __future__ import annotations

from typing import Any

import pytest
from daemon_turns import Daemon, read

TO_LINK: dict[str, dict[str, Any]] = {
    "move_file": {"path": "a", "to": "link"},
    "hashline_edit": {"path": "a", "rename": "link"},
    "apply_patch": {"patch": "*** Begin Patch\n*** Add File: link\n+new\n*** End Patch"},
}

OF_LINK: dict[str, dict[str, Any]] = {
    "write_file": {"content": "new"},
    "delete_file": {},
    "move_file": {"to": "b"},
    "insert_lines": {"line_number": 0, "text": "new"},
}


def test_a_link_that_leads_nowhere_is_what_is_there(daemon: Daemon) -> None:
    """It was told as forbidden, also where a file was to get its name."""
    (daemon.root / "a").write_text("one\n")
    (daemon.root / "link").symlink_to("nowhere")
    assert daemon.turn(ann=read("a"))["ann"]["ok"]
    for tool, arguments in TO_LINK.items():
        refused = daemon.turn(ann=(tool, arguments))["ann"]
        assert (refused["error"], "link" in refused["message"]) == ("already_exists", True), refused
    for tool, arguments in OF_LINK.items():
        refused = daemon.turn(ann=(tool, {"path": "link", **arguments}))["ann"]
        assert (refused["error"], refused["path"]) == ("not_a_file", "link"), refused
    assert sorted(path.name for path in daemon.root.iterdir() if path.name != ".quire") == ["a", "link"]


@pytest.mark.parametrize(
    ("tool", "arguments", "argument"),
    [
        ("write_file", {"path": "a\0", "content": ""}, "path"),
        ("move_file", {"path": "a", "to": "a\0"}, "to"),
        ("hashline_edit", {"path": "a", "rename": "a\0"}, "rename"),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Delete File: a\0\n*** End Patch"}, "patch"),
        ("diff", {"from": "seq:1", "paths": ["/a\0"]}, "paths"),
    ],
)
def test_the_argument_is_named_that_can_be_the_name_of_nothing(
    daemon: Daemon, tool: str, arguments: dict[str, Any], argument: str
) -> None:
    (daemon.root / "a").write_text("one\n")
    refused = daemon.turn(ann=(tool, arguments))["ann"]
    assert (refused["error"], refused["argument"]) == ("schema_invalid", argument), refused
    assert f"`{argument}` holds a NUL" in refused["message"]
