"""A journal that is moved away while its daemon runs, and put back: what was refused meanwhile is never made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from live import Live, eventually, ok, refused
from quire_client import Client

pytestmark = [pytest.mark.real, pytest.mark.timeout(60)]

CALLS: dict[str, Callable[[Client], dict[str, Any]]] = {
    "write": lambda client: client.call("edit_replace", {"path": "a.txt", "old_text": "one", "new_text": "REFUSED"}),
    "make": lambda client: client.call("write_file", {"path": "new.txt", "content": "REFUSED\n"}),
    "delete": lambda client: client.call("delete_file", {"path": "a.txt"}),
    "move": lambda client: client.call("move_file", {"path": "a.txt", "to": "b.txt"}),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_was_refused_as_the_journal_was_moved_away_is_not_made_when_it_is_put_back(name: str, at: Live) -> None:
    """The record had been committed to the journal that was elsewhere, and the start that found it again made it."""
    before = {"a.txt": at.write("a.txt", "one\ntwo\n")}
    with at.connect() as client:
        ok(client.call("read_file", {"path": "a.txt"}))
        pid = at.daemon_pid()
        journal, elsewhere = at.state_dir / "journal", at.state_dir / "elsewhere"
        journal.rename(elsewhere)
        reply = refused(CALLS[name](client), "journal_damaged", "unknown")  # it may have ended before this call came
        assert reply["outcome"] == ("not_applied" if reply["error"] == "journal_damaged" else "unknown")
    eventually("the daemon has ended", lambda: at.died(pid))
    elsewhere.rename(journal)
    with at.connect() as client:
        ok(client.call("since", {}))
        assert ok(client.call("op_status", {"op": reply["op"]}))["outcome"] == "not_applied"
    assert {path.name: path.read_bytes() for path in at.root.glob("*.txt")} == before
