"""A read of bytes that the journal does not hold gives its caller a base: it is known by its hash."""

from __future__ import annotations

from typing import Any

import pytest
from hashlines import put

from memory_daemon import MemoryDaemon
from quire_daemon.tools.table import TOOLS
from quire_journal.model.events import CaptureFailed
from quire_journal.model.ids import blob_id

THREE = b"A=1\nB=2\nC=3\n"
LONGER = b"NEW=0\nA=1\nB=2\nC=3\n"

BY_PLACE: list[tuple[str, dict[str, Any], str]] = [
    ("insert_lines", {"file": ".env", "line_number": 2, "text": "X=9"}, "stale_base"),
    ("replace_lines", {"file": ".env", "start_line": 2, "end_line": 2, "new_text": "X=9"}, "stale_base"),
    ("delete_file", {"path": ".env"}, "stale_base"),
    ("move_file", {"path": ".env", "to": "env.old"}, "stale_base"),
]
BY_TEXT: list[tuple[str, dict[str, Any]]] = [
    ("edit_replace", {"file": ".env", "old_text": "B=2", "new_text": "B=9"}),
    ("multi_edit", {"file": ".env", "edits": [{"old_text": "B=2", "new_text": "B=9"}]}),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Update File: .env\n@@\n A=1\n-B=2\n+B=9\n C=3\n*** End Patch\n"}),
]


def lies(daemon: MemoryDaemon, data: bytes) -> None:
    """Another program writes the secret file: the journal gets its hash."""
    daemon.files[".env"] = data
    daemon.note(CaptureFailed(".env", "secret", len(data), blob_id(data), 0o644))


def call(daemon: MemoryDaemon, tool: str, args: dict[str, Any], **more: Any) -> dict[str, Any]:
    allowed = {} if tool == "move_file" else {"allow_uncaptured": True}
    return daemon.call(TOOLS[tool], daemon.ann, **args, **allowed, **more)


def read_then_changed() -> MemoryDaemon:
    daemon = MemoryDaemon()
    lies(daemon, THREE)
    assert daemon.call(TOOLS["read_file"], daemon.ann, path=".env")["ok"]
    lies(daemon, LONGER)
    return daemon


@pytest.mark.parametrize(("tool", "args", "code"), BY_PLACE)
@pytest.mark.parametrize("on_stale", ["reject", "rebase"])
def test_a_call_by_place_on_an_older_read_is_stale(tool: str, args: dict[str, Any], code: str, on_stale: str) -> None:
    daemon = read_then_changed()
    reply = call(daemon, tool, args, on_stale=on_stale)
    assert (reply["ok"], reply["error"], daemon.text(".env")) == (False, code, LONGER)
    assert reply["changes"][-1]["writer"]["type"] == "outside"


@pytest.mark.parametrize(("tool", "args"), BY_TEXT)
def test_a_call_that_brings_its_text_is_judged_on_the_file_as_it_is(tool: str, args: dict[str, Any]) -> None:
    daemon = read_then_changed()
    reply = call(daemon, tool, args)
    assert reply["ok"], reply
    assert daemon.text(".env") == b"NEW=0\nA=1\nB=9\nC=3\n"


@pytest.mark.parametrize(("tool", "args"), BY_TEXT[:2])
def test_a_text_is_not_rebased_from_bytes_that_nobody_has(tool: str, args: dict[str, Any]) -> None:
    daemon = read_then_changed()
    assert not call(daemon, tool, args, on_stale="rebase")["ok"]
    assert daemon.text(".env") == LONGER


@pytest.mark.parametrize(("tool", "args", "code"), BY_PLACE[:3])
def test_who_read_it_as_it_is_goes_on_without_a_warning(tool: str, args: dict[str, Any], code: str) -> None:
    daemon = MemoryDaemon()
    lies(daemon, THREE)
    daemon.call(TOOLS["read_file"], daemon.ann, path=".env")
    reply = call(daemon, tool, args)
    assert reply["ok"], code
    assert "never_read" not in [warning["type"] for warning in reply["warnings"]]


def test_the_lines_of_it_that_a_refusal_shows_count_as_shown() -> None:
    daemon = MemoryDaemon()
    lies(daemon, THREE)
    edit = put("2#zz", "B=9")
    assert call(daemon, "hashline_edit", {"path": ".env", "edits": [edit]})["error"] == "hash_mismatch"
    lies(daemon, LONGER)
    assert call(daemon, *BY_PLACE[0][:2])["error"] == "stale_base"


def test_a_view_in_the_editor_is_a_read() -> None:
    daemon = MemoryDaemon()
    lies(daemon, THREE)
    assert call(daemon, "text_editor", {"command": "view", "path": ".env"})["uncaptured"] == "secret"
    lies(daemon, LONGER)
    assert not call(daemon, "text_editor", {"command": "insert", "path": ".env", "insert_line": 2, "new_str": "x"})[
        "ok"
    ]
