"""Points in time, as arguments of any tool."""

from __future__ import annotations

from typing import Any

import pytest
from undoings import daemon_with

from quire_daemon.tools.table import TOOLS

SOMEWHERE: dict[str, Any] = {"path": "f.txt"}


@pytest.mark.parametrize(
    ("tool", "argument", "beside"),
    [
        ("log", "since", {}),
        ("log", "until", {}),
        ("since", "cursor", {}),
        ("show", "version", {}),
        ("diff", "from", {}),
        ("diff", "to", {"from": "seq:1"}),
        ("tree", "at", {}),
        ("read_file", "at", SOMEWHERE),
        ("blame", "at", SOMEWHERE),
        ("why", "at", SOMEWHERE | {"line": 1}),
        ("undo", "from", {}),
        ("undo", "to", {}),
        ("rollback", "to", {}),
        ("restore", "at", SOMEWHERE),
        ("checkpoint", "at", {"action": "create", "name": "here"}),
    ],
)
def test_what_is_not_a_point_is_told_with_the_argument_that_had_it(
    tool: str, argument: str, beside: dict[str, Any]
) -> None:
    """Of two of one call nobody could tell which."""
    daemon = daemon_with()
    refused = daemon.call(TOOLS[tool], daemon.ann, **beside, **{argument: "seq:x"})
    assert (refused["error"], refused.get("argument")) == ("schema_invalid", argument), refused
