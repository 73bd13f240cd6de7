"""The time before the journal: of what there was then it says that it knows nothing, not that it was not there."""

from __future__ import annotations

from typing import Any

from memory_daemon import MemoryDaemon, lines
from quire_daemon.tools.history.diff import DIFF_TOOL
from quire_daemon.tools.read import READ_TOOL
from quire_daemon.tools.undo.tool import RESTORE_TOOL
from quire_journal.model.events import WorkspaceScanned

BEFORE = "2020-01-01T00:00:00Z"


def a_daemon() -> tuple[MemoryDaemon, int]:
    """A file that was there when the journal began, a version of it from later, and the record in between."""
    daemon = MemoryDaemon()
    daemon.outside("src/a", b"1\n2\n")
    scanned = daemon.note(WorkspaceScanned("start", 1, 1))
    daemon.write("src/a", lines("1", "zwei"), daemon.ann)
    return daemon, scanned


def warned(reply: dict[str, Any]) -> list[str]:
    return [warning["type"] for warning in reply.get("warnings", ())]


def test_a_diff_from_before_the_journal_says_that_what_it_shows_as_new_may_be_old() -> None:
    daemon, scanned = a_daemon()
    for ends in ({"from": BEFORE}, {"from": "seq:0", "to": f"seq:{scanned}"}, {"from": f"seq:{scanned}", "to": BEFORE}):
        reply = daemon.call(DIFF_TOOL, daemon.ann, **ends)
        assert warned(reply) == ["before_the_journal"], ends
        assert "The journal begins at 20" in reply["warnings"][0]["message"]


def test_a_diff_of_what_is_known_on_both_sides_warns_of_nothing() -> None:
    daemon, scanned = a_daemon()
    daemon.write("src/new", lines("x"), daemon.ann)
    for ends in (
        {"from": f"seq:{scanned}"},
        {"from": f"seq:{scanned - 1}", "path": "src/a"},
        {"from": BEFORE, "to": "seq:0"},
    ):
        assert not warned(daemon.call(DIFF_TOOL, daemon.ann, **ends)), ends


def test_a_file_is_not_said_to_have_been_missing_before_the_journal() -> None:
    daemon, scanned = a_daemon()
    read = daemon.call(READ_TOOL, daemon.ann, path="src/a", at=BEFORE)
    assert (read["error"], "did not exist" in read["message"]) == ("not_found", False)
    assert "begins at" in read["message"]
    for path in ("src/a", "src"):
        restored = daemon.call(RESTORE_TOOL, daemon.ann, path=path, at=BEFORE)
        assert restored["error"] == "not_found"
        assert "begins at" in restored["message"]
    daemon.write("src/new", lines("x"), daemon.ann)
    assert "did not exist" in daemon.call(READ_TOOL, daemon.ann, path="src/new", at=f"seq:{scanned}")["message"]
