"""`checkpoint`: names for points, and what they cannot bring back."""

from __future__ import annotations

import pytest
from desk import Desk, lines

from quire_daemon.handlers.checkpoints import CHECKPOINT_TOOL
from quire_daemon.handlers.undo import RESTORE_TOOL
from quire_journal.events import CaptureFailed, CheckpointNamed, FileWritten, WritesAbandoned
from quire_journal.ids import blob_id


def test_a_checkpoint_is_made_listed_shown_and_dropped() -> None:
    desk = Desk()
    desk.write("f.txt", lines("x"), desk.ann)
    head = desk.journal.head
    made = desk.call(CHECKPOINT_TOOL, desk.ann, name="here", note="before the merge")
    assert (made["ok"], made["seq"]) == (True, head)
    (listed,) = desk.call(CHECKPOINT_TOOL, desk.ben, action="list")["checkpoints"]
    assert (listed["name"], listed["seq"], listed["writer"]["agent"]) == ("here", head, "ann")
    shown = desk.call(CHECKPOINT_TOOL, desk.ben, action="show", name="here")
    assert (shown["seq"], shown["note"]) == (head, "before the merge")
    assert desk.call(CHECKPOINT_TOOL, desk.ben, action="drop", name="here")["ok"]
    assert desk.call(CHECKPOINT_TOOL, desk.ben, action="list")["checkpoints"] == []
    assert desk.call(CHECKPOINT_TOOL, desk.ben, action="drop", name="here")["error"] == "not_found"


def test_a_name_is_moved_only_when_that_is_asked_for() -> None:
    desk = Desk()
    desk.call(CHECKPOINT_TOOL, desk.ann, name="here")
    desk.write("f.txt", lines("x"), desk.ann)
    refused = desk.call(CHECKPOINT_TOOL, desk.ann, name="here")
    assert refused["error"] == "already_exists"
    assert desk.call(CHECKPOINT_TOOL, desk.ann, name="here", at="seq:1", move=True)["seq"] == 1
    assert desk.call(CHECKPOINT_TOOL, desk.ann, action="show", name="here")["seq"] == 1


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
    desk = Desk()
    assert desk.call(CHECKPOINT_TOOL, desk.ann, name=name)["error"] == "schema_invalid"


def test_a_note_is_bounded_and_has_no_control_characters() -> None:
    desk = Desk()
    assert desk.call(CHECKPOINT_TOOL, desk.ann, name="long", note="x" * 1001)["error"] == "schema_invalid"
    assert desk.call(CHECKPOINT_TOOL, desk.ann, name="bell", note="a\x07b\x1b[1m")["note"] == "ab[1m"


def test_names_that_only_look_odd_are_fine_and_are_points() -> None:
    desk = Desk()
    desk.write("f.txt", lines("x"), desk.ann)
    for name in ("12", "v12b", "before lunch", "release/1.2", "größer", "c12"):
        assert desk.call(CHECKPOINT_TOOL, desk.ann, name=name)["ok"]
        assert desk.call(RESTORE_TOOL, desk.ann, path="f.txt", at=name)["ok"]


# ── what is not in it ────────────────────────────────────────────────────────


def test_a_checkpoint_says_how_much_was_not_captured_and_show_says_what_at_its_point() -> None:
    desk = Desk()
    desk.note(CaptureFailed("big.bin", "too_large", 1 << 40))
    desk.note(CaptureFailed("disk.img", "too_large", 1 << 40))
    made = desk.call(CHECKPOINT_TOOL, desk.ann, name="here")
    assert made["not_captured"]["count"] == 2
    assert made["not_captured"]["files"] == [
        {"path": "big.bin", "why": "too_large"},
        {"path": "disk.img", "why": "too_large"},
    ]
    assert "2 files are not captured" in made["message"]
    desk.outside("big.bin", lines("small"))
    desk.note(CaptureFailed(".env", "secret"))
    assert desk.call(CHECKPOINT_TOOL, desk.ann, name="later")["not_captured"]["count"] == 2
    shown = desk.call(CHECKPOINT_TOOL, desk.ann, action="show", name="here")["not_captured"]
    assert (shown["count"], [f["path"] for f in shown["files"]]) == (2, ["big.bin", "disk.img"])
    shown = desk.call(CHECKPOINT_TOOL, desk.ann, action="show", name="later")["not_captured"]
    assert [f["path"] for f in shown["files"]] == ["disk.img", ".env"]
    listed = desk.call(CHECKPOINT_TOOL, desk.ann, action="list")["checkpoints"]
    assert [c["not_captured"]["count"] for c in listed] == [2, 2]


def test_a_long_list_of_what_is_not_captured_is_cut_and_counted() -> None:
    desk = Desk()
    desk.note(*(CaptureFailed(f"big{n}", "too_large") for n in range(30)))
    made = desk.call(CHECKPOINT_TOOL, desk.ann, name="here")["not_captured"]
    assert (made["count"], len(made["files"]), made["more"]) == (30, 20, 10)
    shown = desk.call(CHECKPOINT_TOOL, desk.ann, action="show", name="here", limit=25)["not_captured"]
    assert (len(shown["files"]), shown["more"]) == (25, 5)


def test_an_abandoned_write_over_an_uncaptured_file_leaves_it_uncaptured() -> None:
    desk = Desk()
    desk.note(CaptureFailed("big", "too_large"))
    lost = desk.note(FileWritten("big", blob_id(b"x"), 1, 0o644), who=desk.ann, blobs=(b"x",))
    assert desk.call(CHECKPOINT_TOOL, desk.ann, name="written")["not_captured"]["count"] == 0
    desk.note(WritesAbandoned((lost,), "raced"), who=desk.ann)
    assert desk.call(CHECKPOINT_TOOL, desk.ann, name="back")["not_captured"]["count"] == 1


def test_a_checkpoint_that_was_named_while_the_watcher_was_blind_says_so_for_good() -> None:
    desk = Desk()
    desk.health = {"coverage": {"state": "degraded", "reasons": ["the queue overflowed"]}}
    made = desk.call(CHECKPOINT_TOOL, desk.ann, name="here")
    assert "the queue overflowed" in made["message"]
    desk.health = {"coverage": {"state": "full", "reasons": []}}
    for action in ("show", "diff"):
        shown = desk.call(CHECKPOINT_TOOL, desk.ann, action=action, name="here")
        assert shown["not_captured"]["blind"] == "the queue overflowed"
    assert desk.call(CHECKPOINT_TOOL, desk.ann, name="later")["not_captured"]["blind"] is None


def test_naming_a_point_writes_one_record_whatever_the_tree() -> None:
    desk = Desk()
    desk.write_all({f"f{n}": lines("x") for n in range(50)}, desk.ann)
    head = desk.journal.head
    desk.call(CHECKPOINT_TOOL, desk.ann, name="here")
    assert desk.journal.head == head + 1
    with desk.history() as history:
        record = history.record(head + 1)
        assert record is not None
        assert record.event() == CheckpointNamed("here", head)


# ── diff ─────────────────────────────────────────────────────────────────────


def test_a_checkpoint_is_compared_with_now_or_with_another_point() -> None:
    desk = Desk()
    desk.write("f.txt", lines("one"), desk.ann)
    desk.call(CHECKPOINT_TOOL, desk.ann, name="first")
    desk.write("f.txt", lines("two"), desk.ben)
    desk.call(CHECKPOINT_TOOL, desk.ann, name="second")
    desk.write("g.txt", lines("new"), desk.ben)
    now = desk.call(CHECKPOINT_TOOL, desk.ann, action="diff", name="first")
    assert {f["path"]: f["status"] for f in now["files"]} == {"f.txt": "changed", "g.txt": "added"}
    assert "-one\n+two" in now["patch"]
    between = desk.call(CHECKPOINT_TOOL, desk.ann, action="diff", name="first", to="second")
    assert [f["path"] for f in between["files"]] == ["f.txt"]
    only = desk.call(CHECKPOINT_TOOL, desk.ann, action="diff", name="first", paths=["g.txt"])
    assert [f["path"] for f in only["files"]] == ["g.txt"]
    assert desk.call(CHECKPOINT_TOOL, desk.ann, action="diff", name="nowhere")["error"] == "not_found"
