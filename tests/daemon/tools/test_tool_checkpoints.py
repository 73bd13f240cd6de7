"""`checkpoint`: names for points, and what they cannot bring back."""

from __future__ import annotations

import pytest

from memory_daemon import MemoryDaemon, lines
from quire_daemon.tools.checkpoints import CHECKPOINT_TOOL
from quire_daemon.tools.undo.tool import RESTORE_TOOL
from quire_journal.model.events import CaptureFailed, CheckpointNamed, FileWritten, WritesAbandoned
from quire_journal.model.ids import blob_id


def test_a_checkpoint_is_made_listed_shown_and_dropped() -> None:
    daemon = MemoryDaemon()
    daemon.write("f.txt", lines("x"), daemon.ann)
    head = daemon.journal.head
    made = daemon.call(CHECKPOINT_TOOL, daemon.ann, name="here", note="before the merge")
    assert (made["ok"], made["seq"]) == (True, head)
    (listed,) = daemon.call(CHECKPOINT_TOOL, daemon.ben, action="list")["checkpoints"]
    assert (listed["name"], listed["seq"], listed["writer"]["agent"]) == ("here", head, "ann")
    shown = daemon.call(CHECKPOINT_TOOL, daemon.ben, action="show", name="here")
    assert (shown["seq"], shown["note"]) == (head, "before the merge")
    assert daemon.call(CHECKPOINT_TOOL, daemon.ben, action="drop", name="here")["ok"]
    assert daemon.call(CHECKPOINT_TOOL, daemon.ben, action="list")["checkpoints"] == []
    assert daemon.call(CHECKPOINT_TOOL, daemon.ben, action="drop", name="here")["error"] == "not_found"


def test_a_name_is_moved_only_when_that_is_asked_for() -> None:
    daemon = MemoryDaemon()
    daemon.call(CHECKPOINT_TOOL, daemon.ann, name="here")
    daemon.write("f.txt", lines("x"), daemon.ann)
    refused = daemon.call(CHECKPOINT_TOOL, daemon.ann, name="here")
    assert refused["error"] == "already_exists"
    assert daemon.call(CHECKPOINT_TOOL, daemon.ann, name="here", at="seq:1", move=True)["seq"] == 1
    assert daemon.call(CHECKPOINT_TOOL, daemon.ann, action="show", name="here")["seq"] == 1


@pytest.mark.parametrize(
    "name",
    [
        "",
        "v12",
        "seq:1",
        "seq:soon",
        "2026-01-31T12:00:00Z",
        "2026-01-31",
        "today",
        "90m",
        "c12.18bf",
        "a..b",
        "..",
        "a@b",
        "-f",
        "a\nb",
        "a\x1b[1m",
        "a\u202eb",
        " a",
        "x" * 201,
    ],
)
def test_a_name_that_means_another_point_is_refused(name: str) -> None:
    daemon = MemoryDaemon()
    assert daemon.call(CHECKPOINT_TOOL, daemon.ann, name=name)["error"] == "schema_invalid"


def test_a_note_is_bounded_and_has_no_control_characters() -> None:
    daemon = MemoryDaemon()
    assert daemon.call(CHECKPOINT_TOOL, daemon.ann, name="long", note="x" * 1001)["error"] == "schema_invalid"
    assert daemon.call(CHECKPOINT_TOOL, daemon.ann, name="bell", note="a\x07b\x1b[1m")["note"] == "ab[1m"


def test_names_that_only_look_odd_are_fine_and_are_points() -> None:
    daemon = MemoryDaemon()
    daemon.write("f.txt", lines("x"), daemon.ann)
    for name in ("12", "v12b", "before lunch", "release/1.2", "größer", "c12"):
        assert daemon.call(CHECKPOINT_TOOL, daemon.ann, name=name)["ok"]
        assert daemon.call(RESTORE_TOOL, daemon.ann, path="f.txt", at=name)["ok"]


# ── what is not in it ────────────────────────────────────────────────────────


def test_a_checkpoint_says_how_much_was_not_captured_and_show_says_what_at_its_point() -> None:
    daemon = MemoryDaemon()
    daemon.note(CaptureFailed("big.bin", "too_large", 1 << 40))
    daemon.note(CaptureFailed("disk.img", "too_large", 1 << 40))
    made = daemon.call(CHECKPOINT_TOOL, daemon.ann, name="here")
    assert made["not_captured"]["count"] == 2
    assert made["not_captured"]["files"] == [
        {"path": "big.bin", "why": "too_large"},
        {"path": "disk.img", "why": "too_large"},
    ]
    assert "2 files are not captured" in made["message"]
    daemon.outside("big.bin", lines("small"))
    daemon.note(CaptureFailed(".env", "secret"))
    assert daemon.call(CHECKPOINT_TOOL, daemon.ann, name="later")["not_captured"]["count"] == 2
    shown = daemon.call(CHECKPOINT_TOOL, daemon.ann, action="show", name="here")["not_captured"]
    assert (shown["count"], [f["path"] for f in shown["files"]]) == (2, ["big.bin", "disk.img"])
    shown = daemon.call(CHECKPOINT_TOOL, daemon.ann, action="show", name="later")["not_captured"]
    assert [f["path"] for f in shown["files"]] == ["disk.img", ".env"]
    listed = daemon.call(CHECKPOINT_TOOL, daemon.ann, action="list")["checkpoints"]
    assert [c["not_captured"]["count"] for c in listed] == [2, 2]


def test_a_long_list_of_what_is_not_captured_is_cut_and_counted() -> None:
    daemon = MemoryDaemon()
    daemon.note(*(CaptureFailed(f"big{n}", "too_large") for n in range(30)))
    made = daemon.call(CHECKPOINT_TOOL, daemon.ann, name="here")["not_captured"]
    assert (made["count"], len(made["files"]), made["more"]) == (30, 20, 10)
    shown = daemon.call(CHECKPOINT_TOOL, daemon.ann, action="show", name="here", limit=25)["not_captured"]
    assert (len(shown["files"]), shown["more"]) == (25, 5)


def test_an_abandoned_write_over_an_uncaptured_file_leaves_it_uncaptured() -> None:
    daemon = MemoryDaemon()
    daemon.note(CaptureFailed("big", "too_large"))
    lost = daemon.note(FileWritten("big", blob_id(b"x"), 1, 0o644), who=daemon.ann, blobs=(b"x",))
    assert daemon.call(CHECKPOINT_TOOL, daemon.ann, name="written")["not_captured"]["count"] == 0
    daemon.note(WritesAbandoned((lost,), "raced"), who=daemon.ann)
    assert daemon.call(CHECKPOINT_TOOL, daemon.ann, name="back")["not_captured"]["count"] == 1


def test_a_checkpoint_that_was_named_while_the_watcher_was_blind_says_so_for_good() -> None:
    daemon = MemoryDaemon()
    daemon.watcher.blind = ("the queue overflowed",)
    made = daemon.call(CHECKPOINT_TOOL, daemon.ann, name="here")
    assert "the queue overflowed" in made["message"]
    daemon.watcher.blind = ()
    for action in ("show", "diff"):
        shown = daemon.call(CHECKPOINT_TOOL, daemon.ann, action=action, name="here")
        assert shown["not_captured"]["blind"] == "the queue overflowed"
    assert daemon.call(CHECKPOINT_TOOL, daemon.ann, name="later")["not_captured"]["blind"] is None


def test_naming_a_point_writes_one_record_whatever_the_tree() -> None:
    daemon = MemoryDaemon()
    daemon.write_all({f"f{n}": lines("x") for n in range(50)}, daemon.ann)
    head = daemon.journal.head
    daemon.call(CHECKPOINT_TOOL, daemon.ann, name="here")
    assert daemon.journal.head == head + 1
    with daemon.history() as history:
        record = history.record(head + 1)
        assert record is not None
        assert record.event() == CheckpointNamed("here", head)


# ── diff ─────────────────────────────────────────────────────────────────────


def test_a_checkpoint_is_compared_with_now_or_with_another_point() -> None:
    daemon = MemoryDaemon()
    daemon.write("f.txt", lines("one"), daemon.ann)
    daemon.call(CHECKPOINT_TOOL, daemon.ann, name="first")
    daemon.write("f.txt", lines("two"), daemon.ben)
    daemon.call(CHECKPOINT_TOOL, daemon.ann, name="second")
    daemon.write("g.txt", lines("new"), daemon.ben)
    now = daemon.call(CHECKPOINT_TOOL, daemon.ann, action="diff", name="first")
    assert {f["path"]: f["status"] for f in now["files"]} == {"f.txt": "changed", "g.txt": "added"}
    assert "-one\n+two" in now["patch"]
    between = daemon.call(CHECKPOINT_TOOL, daemon.ann, action="diff", name="first", to="second")
    assert [f["path"] for f in between["files"]] == ["f.txt"]
    only = daemon.call(CHECKPOINT_TOOL, daemon.ann, action="diff", name="first", paths=["g.txt"])
    assert [f["path"] for f in only["files"]] == ["g.txt"]
    assert daemon.call(CHECKPOINT_TOOL, daemon.ann, action="diff", name="nowhere")["error"] == "not_found"
