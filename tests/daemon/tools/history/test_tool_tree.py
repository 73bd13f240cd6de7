"""`tree` and `blobs`: everything that there was at a point."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from memory_daemon import MemoryDaemon, lines
from quire_daemon.tools.history import tree
from quire_daemon.tools.history.tree import BLOBS_TOOL, TREE_TOOL
from quire_daemon.tools.read import READ_TOOL
from quire_journal.model.events import FOLDER, LINK, CaptureFailed, CheckpointNamed, OutsideWritten, WorkspaceScanned
from quire_journal.model.ids import blob_id


def listed(reply: dict[str, Any]) -> dict[str, str]:
    """Path → kind."""
    return {entry["path"]: entry["kind"] for entry in reply["entries"]}


def a_tree() -> tuple[MemoryDaemon, dict[str, int]]:
    """A file, a link, an empty folder, one file too large; then changes."""
    daemon = MemoryDaemon()
    made = {"a": daemon.write("src/a", lines("1"), daemon.ann)}
    made["link"] = daemon.note(
        OutsideWritten("l", blob_id(b"src/a"), 5, 0o777, "watched", entry=LINK), blobs=(b"src/a",)
    )
    made["folder"] = daemon.note(OutsideWritten("d", b"", 0, 0o700, "watched", entry=FOLDER))
    made["large"] = daemon.note(CaptureFailed("big", "too_large", 10**9, mode=0o600), WorkspaceScanned("start", 3, 3))
    daemon.note(CheckpointNamed("here", daemon.journal.head), who=daemon.ann)
    made["gone"] = daemon.delete("src/a", daemon.ben)
    return daemon, made


def test_a_tree_is_what_there_was_at_the_point() -> None:
    daemon, made = a_tree()
    reply = daemon.call(TREE_TOOL, daemon.ann, at="here")
    assert listed(reply) == {"src/a": "file", "l": "link", "d": "folder", "big": "file"}
    by_path = {entry["path"]: entry for entry in reply["entries"]}
    assert (by_path["l"]["target"], by_path["d"]["mode"]) == ("src/a", "0700")
    assert (by_path["src/a"]["version"], by_path["src/a"]["sizeBytes"]) == (f"v{made['a']}", 2)
    assert by_path["big"]["uncaptured"] == "too_large"
    assert "src/a" not in listed(daemon.call(TREE_TOOL, daemon.ann))
    assert listed(daemon.call(TREE_TOOL, daemon.ann, at=f"v{made['a']}")) == {"src/a": "file"}


def test_a_folder_that_holds_files_is_told_by_them_alone() -> None:
    daemon, _ = a_tree()
    written = daemon.write("d/e/f", lines("1"), daemon.ann)
    assert listed(daemon.call(TREE_TOOL, daemon.ann, path="d")) == {"d/e/f": "file"}
    assert listed(daemon.call(TREE_TOOL, daemon.ann, path="d", at=f"v{written - 1}")) == {"d": "folder"}
    daemon.delete("d/e/f", daemon.ann)
    assert listed(daemon.call(TREE_TOOL, daemon.ann, path="d")) == {"d": "folder"}


def test_a_tree_says_whether_everything_had_been_looked_at_by_then() -> None:
    daemon, made = a_tree()
    assert not daemon.call(TREE_TOOL, daemon.ann, at=f"v{made['folder']}")["complete"]
    assert daemon.call(TREE_TOOL, daemon.ann)["complete"]


def test_a_tree_of_a_folder_or_glob_is_only_that() -> None:
    daemon, _ = a_tree()
    assert listed(daemon.call(TREE_TOOL, daemon.ann, at="here", path="src")) == {"src/a": "file"}
    assert listed(daemon.call(TREE_TOOL, daemon.ann, at="here", path="b*")) == {"big": "file"}


@pytest.mark.parametrize("cursor", [-1, 0xFFFF_FFFF, (1 << 64) - 1])
def test_a_number_that_no_page_ever_named_is_no_cursor(cursor: int) -> None:
    daemon = MemoryDaemon()
    assert daemon.call(TREE_TOOL, daemon.ann, cursor=cursor)["error"] == "schema_invalid"


def test_a_link_whose_target_is_not_held_any_more_leads_nowhere_that_is_known() -> None:
    daemon = MemoryDaemon()
    assert (daemon.ann.writer, daemon.ben.writer) == (1, 2)  # as records 1 and 2
    daemon.note(OutsideWritten("l", blob_id(b"src/a"), 5, 0o777, "watched", entry=LINK))
    refused = daemon.call(READ_TOOL, daemon.ann, path="l", at="seq:3")
    assert (refused["error"], refused["path"]) == ("uncaptured", "l")


def test_pages_of_a_tree_join_to_one_state(monkeypatch: pytest.MonkeyPatch) -> None:
    daemon, _ = a_tree()
    whole = daemon.call(TREE_TOOL, daemon.ann, at="here")
    monkeypatch.setattr(tree, "PATHS", 2)
    page = daemon.call(TREE_TOOL, daemon.ann, at="here")
    entries = page["entries"]
    while page["next"]:
        daemon.write(f"later{page['next']}", lines("x"), daemon.ben)
        page = daemon.call(TREE_TOOL, daemon.ann, at=page["at"], cursor=page["next"])
        entries += page["entries"]
    assert entries == whole["entries"]


def test_blobs_come_whole_while_they_fit_and_large_ones_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    daemon = MemoryDaemon()
    small, large = b"small", bytes(range(256)) * 4
    daemon.write_all({"s": small, "l": large}, daemon.ann)
    monkeypatch.setattr(tree, "PART_BYTES", 300)
    wanted = [blob_id(small).hex(), blob_id(large).hex()]
    (first,) = daemon.call(BLOBS_TOOL, daemon.ann, sha256=wanted)["blobs"]
    assert base64.b64decode(first["content_base64"]) == small
    found, offset = b"", 0
    while offset is not None:
        (one,) = daemon.call(BLOBS_TOOL, daemon.ann, sha256=wanted[1:], offset=offset)["blobs"]
        found, offset = found + base64.b64decode(one["content_base64"]), one.get("next_offset")
    assert found == large


def test_what_is_not_held_is_said_and_what_is_no_address_refused() -> None:
    daemon = MemoryDaemon()
    (one,) = daemon.call(BLOBS_TOOL, daemon.ann, sha256=["0" * 64])["blobs"]
    assert one["uncaptured"] == "not_held"
    for wrong in ([], ["zz"], ["0" * 63]):
        assert daemon.call(BLOBS_TOOL, daemon.ann, sha256=wrong)["error"] == "schema_invalid"


def test_pages_of_a_glob_join_to_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    daemon = MemoryDaemon()
    for number in range(7):
        daemon.write(f"src/{number}.{'py' if number % 2 else 'md'}", lines("x"), daemon.ann)
    monkeypatch.setattr(tree, "PATHS", 2)
    found: list[str] = []
    cursor: int | None = 0
    while cursor is not None:
        page = daemon.call(TREE_TOOL, daemon.ann, path="src/**/*.md", cursor=cursor)
        assert len(page["entries"]) <= 2
        found += [entry["path"] for entry in page["entries"]]
        cursor = page["next"]
    assert found == [f"src/{number}.md" for number in (0, 2, 4, 6)]
