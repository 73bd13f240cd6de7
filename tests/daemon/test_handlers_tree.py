"""`tree` and `blobs`: everything that there was at a point."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from desk import Desk, lines

from quire_daemon.handlers import tree
from quire_daemon.handlers.read import READ_TOOL
from quire_daemon.handlers.tree import BLOBS_TOOL, TREE_TOOL
from quire_journal.events import FOLDER, LINK, CaptureFailed, CheckpointNamed, OutsideWritten, WorkspaceScanned
from quire_journal.ids import blob_id


def listed(reply: dict[str, Any]) -> dict[str, str]:
    """Path → kind."""
    return {entry["path"]: entry["kind"] for entry in reply["entries"]}


def a_tree() -> tuple[Desk, dict[str, int]]:
    """A file, a link, an empty folder, one file too large; then changes."""
    desk = Desk()
    made = {"a": desk.write("src/a", lines("1"), desk.ann)}
    made["link"] = desk.note(OutsideWritten("l", blob_id(b"src/a"), 5, 0o777, "watched", entry=LINK), blobs=(b"src/a",))
    made["folder"] = desk.note(OutsideWritten("d", b"", 0, 0o700, "watched", entry=FOLDER))
    made["large"] = desk.note(CaptureFailed("big", "too_large", 10**9, mode=0o600), WorkspaceScanned("start", 3, 3))
    desk.note(CheckpointNamed("here", desk.journal.head), who=desk.ann)
    made["gone"] = desk.delete("src/a", desk.ben)
    return desk, made


def test_a_tree_is_what_there_was_at_the_point() -> None:
    desk, made = a_tree()
    reply = desk.call(TREE_TOOL, desk.ann, at="here")
    assert listed(reply) == {"src/a": "file", "l": "link", "d": "folder", "big": "file"}
    by_path = {entry["path"]: entry for entry in reply["entries"]}
    assert (by_path["l"]["target"], by_path["d"]["mode"]) == ("src/a", "0700")
    assert (by_path["src/a"]["version"], by_path["src/a"]["sizeBytes"]) == (f"v{made['a']}", 2)
    assert by_path["big"]["uncaptured"] == "too_large"
    assert "src/a" not in listed(desk.call(TREE_TOOL, desk.ann))
    assert listed(desk.call(TREE_TOOL, desk.ann, at=f"v{made['a']}")) == {"src/a": "file"}


def test_a_tree_says_whether_everything_had_been_looked_at_by_then() -> None:
    desk, made = a_tree()
    assert not desk.call(TREE_TOOL, desk.ann, at=f"v{made['folder']}")["complete"]
    assert desk.call(TREE_TOOL, desk.ann)["complete"]


def test_a_tree_of_a_folder_or_glob_is_only_that() -> None:
    desk, _ = a_tree()
    assert listed(desk.call(TREE_TOOL, desk.ann, at="here", path="src")) == {"src/a": "file"}
    assert listed(desk.call(TREE_TOOL, desk.ann, at="here", path="b*")) == {"big": "file"}


@pytest.mark.parametrize("cursor", [-1, 0xFFFF_FFFF, (1 << 64) - 1])
def test_a_number_that_no_page_ever_named_is_no_cursor(cursor: int) -> None:
    desk = Desk()
    assert desk.call(TREE_TOOL, desk.ann, cursor=cursor)["error"] == "schema_invalid"


def test_a_link_whose_target_is_not_held_any_more_leads_nowhere_that_is_known() -> None:
    desk = Desk()
    desk.note(OutsideWritten("l", blob_id(b"src/a"), 5, 0o777, "watched", entry=LINK))
    refused = desk.call(READ_TOOL, desk.ann, path="l", at="seq:3")
    assert (refused["error"], refused["path"]) == ("uncaptured", "l")


def test_pages_of_a_tree_join_to_one_state(monkeypatch: pytest.MonkeyPatch) -> None:
    desk, _ = a_tree()
    whole = desk.call(TREE_TOOL, desk.ann, at="here")
    monkeypatch.setattr(tree, "PATHS", 2)
    page = desk.call(TREE_TOOL, desk.ann, at="here")
    entries = page["entries"]
    while page["next"]:
        desk.write(f"later{page['next']}", lines("x"), desk.ben)
        page = desk.call(TREE_TOOL, desk.ann, at=page["at"], cursor=page["next"])
        entries += page["entries"]
    assert entries == whole["entries"]


def test_blobs_come_whole_while_they_fit_and_large_ones_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()
    small, large = b"small", bytes(range(256)) * 4
    desk.write_all({"s": small, "l": large}, desk.ann)
    monkeypatch.setattr(tree, "PART_BYTES", 300)
    wanted = [blob_id(small).hex(), blob_id(large).hex()]
    (first,) = desk.call(BLOBS_TOOL, desk.ann, sha256=wanted)["blobs"]
    assert base64.b64decode(first["content_base64"]) == small
    found, offset = b"", 0
    while offset is not None:
        (one,) = desk.call(BLOBS_TOOL, desk.ann, sha256=wanted[1:], offset=offset)["blobs"]
        found, offset = found + base64.b64decode(one["content_base64"]), one.get("next_offset")
    assert found == large


def test_what_is_not_held_is_said_and_what_is_no_address_refused() -> None:
    desk = Desk()
    (one,) = desk.call(BLOBS_TOOL, desk.ann, sha256=["0" * 64])["blobs"]
    assert one["uncaptured"] == "not_held"
    for wrong in ([], ["zz"], ["0" * 63]):
        assert desk.call(BLOBS_TOOL, desk.ann, sha256=wrong)["error"] == "schema_invalid"


def test_pages_of_a_glob_join_to_what_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()
    for number in range(7):
        desk.write(f"src/{number}.{'py' if number % 2 else 'md'}", lines("x"), desk.ann)
    monkeypatch.setattr(tree, "PATHS", 2)
    found: list[str] = []
    cursor: int | None = 0
    while cursor is not None:
        page = desk.call(TREE_TOOL, desk.ann, path="src/**/*.md", cursor=cursor)
        assert len(page["entries"]) <= 2
        found += [entry["path"] for entry in page["entries"]]
        cursor = page["next"]
    assert found == [f"src/{number}.md" for number in (0, 2, 4, 6)]
