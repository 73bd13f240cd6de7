"""Replies of a real daemon are what is stated of them, also what only the app and its services tell."""

from __future__ import annotations

from typing import Any

import pytest

from live import Live, caught_up
from quire_daemon.maintenance.table import SERVICES
from quire_daemon.tools.table import TOOLS
from shapes import held

pytestmark = [pytest.mark.real, pytest.mark.timeout(60)]

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("write_file", {"path": "a.txt", "content": "one\ntwo\n"}),
    ("write_file", {"path": "b.txt", "content": "one\n"}),
    ("read_file", {"path": "a.txt", "hashes": True}),
    ("edit", {"path": "a.txt", "operations": []}),
    ("edit_replace", {"path": "a.txt", "old_text": "two", "new_text": "2"}),
    ("regex_replace", {"path": "a.txt", "pattern": "o", "replacement": "0"}),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Add File: c.txt\n+c\n*** Delete File: b.txt\n*** End Patch\n"}),
    ("undo", {}),
    ("redo", {"plan": True}),
    ("checkpoint", {"action": "create", "name": "here"}),
    ("burst", {"action": "begin", "label": "x"}),
    ("burst", {"action": "end"}),
    ("claim", {"path": "a.txt"}),
    ("claims", {}),
    ("release", {"all": True}),
    ("log", {}),
    ("since", {}),
    ("tree", {}),
    ("who", {}),
    ("status", {}),
    ("describe", {}),
    ("describe", {"tool": "gc"}),
    ("doctor", {}),
    ("verify", {}),
    ("prove", {"at": "seq:1"}),
    ("outbox", {}),
    ("hub", {"hosts": []}),
    ("gc", {"dry_run": True}),
    ("purge", {"path": "a.txt", "plan": True}),
    ("repair", {}),
    ("export", {"format": "events"}),
    ("shutdown", {}),
)


def test_replies_of_a_real_daemon_have_the_shapes_that_are_stated() -> None:
    live = Live()
    try:
        with live.connect("ada") as client:
            caught_up(client)
            for tool, arguments in CALLS:
                reply = client.call(tool, arguments)
                assert reply["ok"] is (tool != "edit"), (tool, reply)
                held(tool, reply)
    finally:
        live.close()
    assert {*SERVICES} <= {tool for tool, _ in CALLS} <= {*TOOLS, *SERVICES}
