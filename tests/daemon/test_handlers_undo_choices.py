"""Redo and rollback by choice, conflict markers, what is never deleted, and a model of who wrote which line."""

from __future__ import annotations

from typing import Any

import pytest
from desk import BEGAN_NS, Desk, OnDesk, lines
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cases import every
from quire_daemon.handlers.base import Decision, Tool, World
from quire_daemon.handlers.bursts import BURST_TOOL
from quire_daemon.handlers.choosing import MAX_BATCHES
from quire_daemon.handlers.show import DIFF_TOOL
from quire_daemon.handlers.undo import REDO_TOOL, RESTORE_TOOL, ROLLBACK_TOOL, UNDO_TOOL
from quire_journal.events import (
    FOLDER,
    LINK,
    BatchUndone,
    CheckpointNamed,
    FileWritten,
    OutsideWritten,
    WorkspaceScanned,
)
from quire_journal.ids import BatchId, blob_id
from quire_journal.journal import Entry

START = lines("one", "two", "three", "four", "five", "six")


class Barred(Desk):
    """A desk some of whose files cannot be looked at: `away`, though they lie there; `barred`, by what refused it."""

    def __init__(self) -> None:
        super().__init__()
        self.away: set[str] = set()
        self.barred: dict[str, str] = {}

    def _decided(self, tool: Tool[Any], params: Any, world: World) -> Decision:
        unseen = self.away | self.barred.keys()
        files = {path: now for path, now in world.files.items() if path not in unseen}
        return super()._decided(tool, params, replace(world, files=files, kept_off=self.barred))


def desk_with(text: bytes = START, path: str = "f.txt") -> Desk:
    """A desk with one file that came from outside."""
    desk = Desk()
    desk.outside(path, text)
    return desk


def only_file(reply: dict[str, Any]) -> dict[str, Any]:
    """The one entry of `files`."""
    (entry,) = reply["files"]
    assert isinstance(entry, dict)
    return entry


def three_edits(desk: Desk) -> list[int]:
    """Ann makes three batches on lines far apart."""
    batches, text = [], START
    for line in (b"one", b"three", b"five"):
        text = text.replace(line, line.upper())
        batches.append(desk.write("f.txt", text, desk.ann))
    return batches


# ── redo by choice ───────────────────────────────────────────────────────────


def test_redo_of_a_batch_brings_back_that_one_of_those_that_were_undone_together() -> None:
    desk = desk_with()
    first, second, third = three_edits(desk)
    desk.call(UNDO_TOOL, desk.ann, last=3)
    assert desk.text("f.txt") == START
    assert desk.call(REDO_TOOL, desk.ben, batch=second)["ok"]
    assert desk.text("f.txt") == START.replace(b"three", b"THREE")
    assert desk.call(REDO_TOOL, desk.ben, batch=f"v{third}")["ok"]
    assert desk.text("f.txt") == START.replace(b"three", b"THREE").replace(b"five", b"FIVE")
    assert desk.call(REDO_TOOL, desk.ben, batch=second)["error"] == "not_found"
    assert desk.call(UNDO_TOOL, desk.ann)["batches"] == [third]
    assert desk.call(UNDO_TOOL, desk.ann, batch=first)["error"] == "not_found"
    assert desk.text("f.txt") == START.replace(b"three", b"THREE")
    assert desk.call(REDO_TOOL, desk.ann, writer="ann")["ok"]
    assert desk.text("f.txt") == START.replace(b"one", b"ONE").replace(b"three", b"THREE").replace(b"five", b"FIVE")


def test_redo_of_an_undo_by_its_number_takes_the_whole_of_it_back() -> None:
    desk = desk_with()
    three_edits(desk)
    edited = desk.text("f.txt")
    undo = desk.call(UNDO_TOOL, desk.ann, last=2)["batch"]
    desk.write("other", lines("o"), desk.ann)
    desk.call(UNDO_TOOL, desk.ann)
    assert desk.call(REDO_TOOL, desk.ben, batch=undo)["ok"]
    assert (desk.text("f.txt"), desk.text("other")) == (edited, None)


def test_redo_narrows_by_turn_session_points_last_and_path() -> None:
    desk = Desk()
    desk.outside("a", lines("a"))
    desk.outside("b", lines("b"))
    turn = desk.introduce("ann", "s1", "t1")
    first = desk.write("a", lines("A"), turn)
    second = desk.write("b", lines("B"), desk.ann)
    desk.call(UNDO_TOOL, desk.ann, last=2)

    def chosen(**args: Any) -> dict[str, str]:
        plan = desk.call(REDO_TOOL, desk.ann, plan=True, **args)
        return {f["path"]: f["action"] for f in plan.get("files", ())}

    assert chosen(turn="t1") == {"a": "write"}
    assert chosen(agent_session="s1") == {"a": "write", "b": "write"}
    assert chosen(agent_session="s1", last=1) == {"b": "write"}
    assert chosen(writer="ann", path="a") == {"a": "write"}
    assert chosen(**{"from": f"seq:{first}"}) == {"b": "write"}
    assert chosen(writer="*", to=f"v{first}") == {"a": "write"}
    assert chosen() == {"a": "write", "b": "write"}
    assert chosen(path="b") == {"b": "write"}
    assert chosen(writer="ben") == {}
    assert desk.call(REDO_TOOL, desk.ann, batch=second, plan=True)["ok"]


def test_redo_of_several_undos_at_once() -> None:
    desk = desk_with()
    three_edits(desk)
    edited = desk.text("f.txt")
    for _ in range(3):
        desk.call(UNDO_TOOL, desk.ann)
    assert desk.call(REDO_TOOL, desk.ann, last=3)["ok"]
    assert desk.text("f.txt") == edited


def test_an_undo_in_one_path_leaves_the_batch_to_be_undone_in_others() -> None:
    desk = Desk()
    desk.outside("a", lines("a"))
    desk.outside("b", lines("b"))
    batch = desk.write_all({"a": lines("A"), "b": lines("B")}, desk.ann)
    later = desk.write("a", lines("A", "more"), desk.ann)
    desk.call(UNDO_TOOL, desk.ann, paths=["a"], last=2)
    assert (desk.text("a"), desk.text("b")) == (lines("a"), lines("B"))
    assert desk.call(REDO_TOOL, desk.ann, batch=later)["ok"]
    assert (desk.text("a"), desk.text("b")) == (lines("a", "more"), lines("B"))
    assert desk.call(REDO_TOOL, desk.ann, batch=batch)["ok"]
    assert (desk.text("a"), desk.text("b")) == (lines("A", "more"), lines("B"))
    assert desk.call(UNDO_TOOL, desk.ann, batch=batch)["ok"]
    assert (desk.text("a"), desk.text("b")) == (lines("a", "more"), lines("b"))


def test_what_was_undone_with_others_in_some_files_comes_back_in_those_only() -> None:
    desk = Desk()
    for path in "abc":
        desk.outside(path, lines(path, "-", "-"))
    first = desk.write_all({path: lines(path.upper(), "-", "-") for path in "abc"}, desk.ann)
    second = desk.write_all({path: lines(path.upper(), "-", "2") for path in "ab"}, desk.ann)
    desk.call(UNDO_TOOL, desk.ann, path="a", last=2)
    assert desk.call(UNDO_TOOL, desk.ann, writer="ann", path="b")["batches"] == [second, first]
    assert [desk.text(path) for path in "abc"] == [lines("a", "-", "-"), lines("b", "-", "-"), lines("C", "-", "-")]
    refused = desk.call(REDO_TOOL, desk.ann, batch=second)
    assert refused["suggested_action"] == "narrow_the_choice"
    assert desk.call(REDO_TOOL, desk.ann, writer="ann", path="b", last=1)["ok"]
    assert [desk.text(path) for path in "abc"] == [lines("a", "-", "-"), lines("b", "-", "2"), lines("C", "-", "-")]
    assert desk.call(REDO_TOOL, desk.ann, writer="ann", path="b")["ok"]
    assert [desk.text(path) for path in "abc"] == [lines("a", "-", "-"), lines("B", "-", "2"), lines("C", "-", "-")]
    assert desk.call(UNDO_TOOL, desk.ann, writer="ann")["ok"]
    assert [desk.text(path) for path in "abc"] == [lines(path, "-", "-") for path in "abc"]


def test_the_record_of_an_undo_says_what_it_was_narrowed_to() -> None:
    desk = Desk()
    batch = desk.write_all({"a": lines("A"), "b": lines("B")}, desk.ann)
    desk.call(UNDO_TOOL, desk.ann, path="a")
    with desk.history() as history:
        record = history.record(history.head())
        assert record is not None
        assert record.event() == BatchUndone((batch,), "undo", ("a",))


def test_more_batches_than_one_call_takes_are_refused_and_never_cut_silently() -> None:
    desk = Desk()
    head = desk.journal.head
    events = [FileWritten(f"f{n}", blob_id(b"x"), 1, 0o644) for n in range(MAX_BATCHES + 1)]
    desk.journal.append(
        [Entry(event, desk.ann.writer, BEGAN_NS, BatchId(head + n)) for n, event in enumerate(events, 1)],
        [(b"x", None)],
    )
    desk.files.update({f"f{n}": OnDesk(b"x") for n in range(MAX_BATCHES + 1)})
    assert desk.call(UNDO_TOOL, desk.ben, writer="ann", plan=True)["suggested_action"] == "narrow_the_choice"
    assert len(desk.call(UNDO_TOOL, desk.ben, writer="ann", last=2, plan=True)["files"]) == 2
    for last in (0, -1, MAX_BATCHES + 1):
        assert desk.call(UNDO_TOOL, desk.ben, writer="ann", last=last)["error"] == "schema_invalid"


def test_undo_goes_on_with_the_batch_before_after_many_that_are_undone() -> None:
    desk = desk_with()
    first = desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    for n in range(60):
        desk.write("g.txt", lines(f"{n}"), desk.ann)
    desk.call(UNDO_TOOL, desk.ann, last=60)
    assert desk.call(UNDO_TOOL, desk.ann)["batches"] == [first]


# ── rollback ─────────────────────────────────────────────────────────────────


def test_rollback_is_about_ones_own_work_or_that_of_whoever_is_named() -> None:
    desk = desk_with()
    desk.note(CheckpointNamed("before", desk.journal.head), who=desk.ann)
    text = START.replace(b"one", b"ONE")
    desk.write("f.txt", text, desk.ann)
    desk.write("f.txt", text := text.replace(b"three", b"THREE"), desk.ben)
    desk.outside("f.txt", text.replace(b"six", b"SIX"))
    refused = desk.call(ROLLBACK_TOOL, desk.introduce("eve", "s3"), to="before")
    assert refused["error"] == "not_found"
    assert "`writer` names another's" in refused["message"]
    assert desk.call(ROLLBACK_TOOL, desk.ann, to="before", only="ben")["ok"]
    assert desk.text("f.txt") == START.replace(b"one", b"ONE").replace(b"six", b"SIX")
    plan = desk.call(ROLLBACK_TOOL, desk.ann, to="before", only="*", plan=True)
    assert desk.call(ROLLBACK_TOOL, desk.ann, token=plan["token"])["ok"]
    assert desk.text("f.txt") == START
    assert desk.call(ROLLBACK_TOOL, desk.ann)["argument"] == "to"
    assert desk.call(ROLLBACK_TOOL, desk.ann, to="before", only="ann", writer="ben")["argument"] == "only"


def test_rollback_to_one_point_again_and_again_changes_nothing_more() -> None:
    desk = desk_with()
    point = f"seq:{desk.journal.head}"
    desk.write("f.txt", START.replace(b"one", b"ONE"), desk.ann)
    assert desk.call(ROLLBACK_TOOL, desk.ann, to=point)["ok"]
    for _ in range(2):
        assert desk.call(ROLLBACK_TOOL, desk.ann, to=point)["error"] == "not_found"
        assert desk.text("f.txt") == START


def test_rollback_takes_back_what_was_undone_and_redone_since_the_point() -> None:
    desk = desk_with()
    first, second, _ = three_edits(desk)
    desk.call(UNDO_TOOL, desk.ann, batch=first)
    then, point = desk.text("f.txt"), f"seq:{desk.journal.head}"
    desk.call(UNDO_TOOL, desk.ann, batch=second)
    desk.call(REDO_TOOL, desk.ann, batch=first)
    desk.write("f.txt", (desk.text("f.txt") or b"").replace(b"six", b"SIX"), desk.ann)
    desk.call(UNDO_TOOL, desk.ann)
    assert desk.call(ROLLBACK_TOOL, desk.ann, to=point)["ok"]
    assert desk.text("f.txt") == then
    assert desk.call(UNDO_TOOL, desk.ann)["ok"]
    assert desk.text("f.txt") == START.replace(b"one", b"ONE").replace(b"five", b"FIVE")


def test_rollback_in_some_paths_leaves_the_others() -> None:
    desk = desk_with()
    head = desk.journal.head
    for path in ("src/a", "src/b", "doc/c", "top"):
        desk.write(path, lines(path), desk.ann)
    assert desk.call(ROLLBACK_TOOL, desk.ann, to=f"seq:{head}", paths=["src", "*.txt"], path="top")["ok"]
    assert sorted(desk.files) == ["doc/c", "f.txt"]


# ── conflict markers ─────────────────────────────────────────────────────────


def test_markers_write_both_sides_where_others_built_on_the_undone_lines() -> None:
    desk = desk_with()
    anns = START.replace(b"two", b"TWO").replace(b"six", b"SIX")
    desk.write("f.txt", anns, desk.ann)
    desk.write("f.txt", anns.replace(b"one\n", b"zero\none\n"), desk.ben)
    blocking = desk.write("f.txt", anns.replace(b"one\n", b"zero\none\n").replace(b"TWO", b"TWO by ben"), desk.ben)
    plan = desk.call(UNDO_TOOL, desk.ann, conflicts="markers", plan=True)
    assert only_file(plan)["marked"] == 1
    reply = desk.call(UNDO_TOOL, desk.ann, token=plan["token"])
    assert "1 place with both sides" in reply["message"]
    assert desk.text("f.txt") == lines(
        "zero",
        "one",
        "<<<<<<< undone by ann/s1",
        "two",
        "=======",
        "TWO by ben",
        f">>>>>>> ben/s2 v{blocking}",
        "three",
        "four",
        "five",
        "six",
    )
    assert [c["seq"] for c in only_file(reply)["conflicts"]] == [blocking]
    assert desk.call(REDO_TOOL, desk.ann)["ok"]
    assert desk.text("f.txt") == anns.replace(b"one\n", b"zero\none\n").replace(b"TWO", b"TWO by ben")


def test_markers_alone_are_enough_to_do_where_skipping_would_do_nothing() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.outside("f.txt", START.replace(b"two", b"TWO!"))
    assert desk.call(UNDO_TOOL, desk.ann)["error"] == "conflict"
    assert desk.call(UNDO_TOOL, desk.ann, conflicts="markers")["ok"]
    marked = desk.text("f.txt") or b""
    assert b"<<<<<<< undone by ann/s1\ntwo\n=======\nTWO!\n>>>>>>> outside v" in marked


def test_markers_stand_where_the_disputed_lines_are_gone_and_keep_breaks() -> None:
    start = b"one\r\ntwo\r\nthree"
    desk = desk_with(start)
    desk.write("f.txt", b"one\r\nTWO\r\nthree", desk.ann)
    blocking = desk.write("f.txt", b"one\r\nthree", desk.ben)
    desk.write("f.txt", b"zero\r\none\r\nthree", desk.ben)
    assert desk.call(UNDO_TOOL, desk.ann, conflicts="markers")["ok"]
    head = b"zero\r\none\r\n<<<<<<< undone by ann/s1\r\ntwo\r\n=======\r\n"
    assert desk.text("f.txt") == head + f">>>>>>> ben/s2 v{blocking}\r\nthree".encode()


def test_markers_cannot_settle_what_is_about_the_whole_file() -> None:
    desk = desk_with(b"\0one")
    desk.write("f.txt", b"\0two", desk.ann)
    desk.outside("f.txt", b"\0three")
    refused = desk.call(UNDO_TOOL, desk.ann, conflicts="markers")
    assert (refused["error"], only_file(refused)["marked"]) == ("conflict", 0)


def test_a_name_in_a_marker_is_one_short_line() -> None:
    desk = desk_with()
    eve = desk.introduce("eve\nexec rm\x1b" + "x" * 300, "s9")
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.write("f.txt", START.replace(b"two", b"TWO!"), eve)
    assert desk.call(UNDO_TOOL, eve, writer="ann", conflicts="markers")["ok"]
    marked = (desk.text("f.txt") or b"").split(b"\n")
    assert len(marked) == 11
    assert max(map(len, marked)) < 90


def test_abort_is_remembered_by_the_plan() -> None:
    desk = desk_with()
    desk.write("f.txt", anns := START.replace(b"two", b"TWO").replace(b"six", b"SIX"), desk.ann)
    desk.write("f.txt", anns.replace(b"TWO", b"TWO!"), desk.ben)
    assert desk.call(UNDO_TOOL, desk.ann, conflicts="abort", plan=True)["error"] == "conflict"


# ── what is never deleted ────────────────────────────────────────────────────


def test_a_plan_tells_whose_later_lines_are_kept_also_those_of_other_programs() -> None:
    desk = desk_with()
    desk.write("f.txt", text := START.replace(b"one", b"ONE"), desk.ann)
    desk.outside("f.txt", text.replace(b"six", b"SIX"))
    plan = desk.call(UNDO_TOOL, desk.ann, plan=True)
    assert [kept["writer"]["id"] for kept in only_file(plan)["kept"]] == ["outside"]


@every("evidence", ["captured", "scanned", "read"])
def test_a_file_that_was_only_found_is_not_deleted_as_if_it_had_been_made(evidence: str) -> None:
    desk = Desk()
    desk.note(WorkspaceScanned("start", 0, 0))
    data = lines("the user's own")
    desk.note(OutsideWritten("own", blob_id(data), len(data), 0o644, evidence), blobs=(data,))
    desk.files["own"] = OnDesk(data)
    for args in ({"writer": "outside"}, {"writer": "*"}, {"writer": "*", "from": "seq:1"}):
        refused = desk.call(UNDO_TOOL, desk.ann, **args)
        assert (refused["error"], only_file(refused)["skipped"]) == ("conflict", "creation_not_seen")
        assert refused["suggested_action"] == "narrow_the_choice", "nobody built on it: markers would not help"
    assert desk.text("own") == data


def found_then_edited() -> Desk:
    """A file that the journal learned of after its first whole look at the tree, and that Ann edited then."""
    desk = Desk()
    desk.note(WorkspaceScanned("start", 0, 0))
    desk.note(OutsideWritten("own", blob_id(START), len(START), 0o644, "read"), blobs=(START,))
    desk.files["own"] = OnDesk(START)
    desk.write("own", START.replace(b"two", b"TWO"), desk.ann)
    return desk


def test_of_a_file_that_was_only_found_the_later_changes_come_out_and_that_it_stays_is_told() -> None:
    desk = found_then_edited()
    reply = desk.call(UNDO_TOOL, desk.ann, writer="*")
    assert desk.text("own") == START
    assert only_file(reply)["conflicts"] == []
    assert only_file(reply)["first_seen"]["writer"]["id"] == "outside"
    assert "1 file stays as first looked at" in reply["message"]
    assert "others built" not in reply["message"]
    assert len(reply["stayed"]) == 1


def test_a_file_that_was_only_found_comes_back_when_its_deletion_is_undone_with_everything() -> None:
    desk = found_then_edited()
    desk.delete("own", desk.ann)
    assert desk.call(UNDO_TOOL, desk.ann, writer="*")["ok"]
    assert desk.text("own") == START


@every("conflicts", ["skip", "markers", "abort"])
def test_how_a_file_was_first_found_is_nobodys_conflict(conflicts: str) -> None:
    desk = found_then_edited()
    plan = desk.call(UNDO_TOOL, desk.ann, writer="*", conflicts=conflicts, plan=True)
    assert plan["message"] == "Plan: 1 file to change, 1 file stays as first looked at."
    assert only_file(plan)["conflicts"] == []
    assert only_file(plan)["first_seen"]["why"].startswith("it was there when it was first looked at")
    assert desk.call(UNDO_TOOL, desk.ann, token=plan["token"])["ok"]
    assert desk.text("own") == START


def test_a_file_that_is_as_it_was_first_found_does_not_keep_others_from_being_undone() -> None:
    desk = found_then_edited()
    desk.note(OutsideWritten("other", blob_id(START), len(START), 0o644, "read"))
    desk.files["other"] = OnDesk(START)
    reply = desk.call(UNDO_TOOL, desk.ann, writer="*", conflicts="abort")
    assert {f["path"]: f["skipped"] for f in reply["files"]} == {"own": None, "other": "creation_not_seen"}
    assert (desk.text("own"), desk.text("other")) == (START, START)


def test_abort_names_who_built_on_it_and_not_how_the_file_was_found() -> None:
    desk = found_then_edited()
    desk.write("own", START.replace(b"two", b"TWO!"), desk.ben)
    refused = desk.call(UNDO_TOOL, desk.ann, writer="ann", conflicts="abort")
    assert refused["error"] == "conflict"
    assert "ben/s2 built on it" in refused["message"]


@pytest.mark.parametrize(("links", "skipped"), [(2, "linked"), (3, None)])
def test_a_file_with_two_names_is_undone_once_unless_it_has_another_elsewhere(links: int, skipped: str | None) -> None:
    desk = Desk()
    for path in ("a", "b"):
        desk.outside(path, START)
    since = desk.write("a", b"new\n", desk.ann)
    desk.outside("b", b"new\n")
    desk.files |= dict.fromkeys(("a", "b"), OnDesk(b"new\n", links=links))
    asked: dict[str, Any] = {"writer": "*", "from": f"v{since - 1}", "conflicts": "abort", "plan": True}
    reply = desk.call(UNDO_TOOL, desk.ann, **asked)
    assert {f["path"]: f["skipped"] for f in reply["files"]} == {"a": None, "b": skipped}, reply


def test_a_file_that_cannot_be_looked_at_now_is_busy_and_worth_another_try() -> None:
    desk = Barred()
    desk.outside("f.txt", START)
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.away.add("f.txt")
    refused = desk.call(UNDO_TOOL, desk.ann)
    assert (refused["error"], only_file(refused)["skipped"]) == ("busy", "changed_meanwhile")
    assert refused["retry_after_ms"] > 0
    desk.away.clear()
    assert desk.call(UNDO_TOOL, desk.ann)["ok"]


def test_a_batch_whose_only_file_is_skipped_stays_in_force() -> None:
    desk = Barred()
    for path in ("f.txt", "g.txt"):
        desk.outside(path, START)
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    skipped = desk.write("g.txt", START.replace(b"one", b"ONE"), desk.ann)
    desk.away.add("g.txt")
    assert desk.call(UNDO_TOOL, desk.ann, last=2)["stayed"] == [skipped]
    desk.away.clear()
    assert desk.call(UNDO_TOOL, desk.ann)["batches"] == [skipped]
    assert desk.text("g.txt") == START


@every("path", ["barred.key", "deep/.git/config", ".quire.toml", "deep/.quireignore"])
def test_a_protected_file_is_called_protected_whether_it_is_there_or_not(path: str) -> None:
    desk = Barred()
    desk.outside(path, START)
    desk.outside(path, lines("later"))
    desk.barred[path] = "permission_denied"
    refused = desk.call(UNDO_TOOL, desk.ann, writer="outside", last=1)
    assert (refused["error"], only_file(refused)["skipped"]) == ("conflict", "protected")
    desk.outside_deletes(path)
    refused = desk.call(UNDO_TOOL, desk.ann, writer="outside", last=1)
    assert (refused["error"], only_file(refused)["skipped"]) == ("conflict", "protected")


def test_a_file_below_what_is_a_file_now_is_not_made() -> None:
    desk = desk_with()
    desk.write("folder/b", START, desk.ann)
    desk.delete("folder/b", desk.ann)
    desk.outside("folder", lines("a file now"))
    refused = desk.call(UNDO_TOOL, desk.ann)
    assert (refused["error"], only_file(refused)["skipped"]) == ("conflict", "occupied")
    assert only_file(refused)["conflicts"][0]["writer"]["id"] == "outside"


def test_a_file_is_made_below_a_file_that_goes_with_the_same_undo() -> None:
    desk = desk_with()
    desk.outside("folder/b", START)
    desk.delete("folder/b", desk.ann)
    desk.write("folder", lines("a file now"), desk.ann)
    plan = desk.call(UNDO_TOOL, desk.ann, last=2, plan=True)
    assert {f["path"]: (f["action"], f["skipped"]) for f in plan["files"]} == {
        "folder": ("delete", None),
        "folder/b": ("create", None),
    }


def test_a_restored_link_that_is_what_it_was_is_unchanged() -> None:
    desk = Desk()
    at = desk.note(OutsideWritten("link", blob_id(b"to"), 2, 0o777, "watched", entry=LINK), blobs=(b"to",))
    reply = desk.call(RESTORE_TOOL, desk.ann, at=f"seq:{at}", path="link")
    assert (reply["ok"], reply["unchanged"], only_file(reply)["skipped"]) == (True, True, None)


def test_a_folder_that_was_empty_before_the_point_is_no_part_of_a_restore_of_what_is_in_it() -> None:
    desk = Desk()
    desk.note(OutsideWritten("d", b"", 0, 0o700, "watched", entry=FOLDER))
    desk.outside("d/f", START)
    at = f"seq:{desk.journal.head}"
    desk.outside("d/f", lines("later"))
    reply = desk.call(RESTORE_TOOL, desk.ann, at=at, path="d")
    assert [(f["path"], f["action"]) for f in reply["files"]] == [("d/f", "write")]
    assert desk.text("d/f") == START


def test_a_file_that_was_seen_before_the_first_whole_look_at_the_tree_is_not_deleted() -> None:
    desk = desk_with()
    desk.note(WorkspaceScanned("start", 1, 1))
    assert desk.call(UNDO_TOOL, desk.ann, writer="outside")["error"] == "conflict"
    desk.outside("made later", lines("m"))
    desk.outside_deletes("f.txt")
    desk.outside("f.txt", lines("anew"))
    reply = desk.call(UNDO_TOOL, desk.ann, writer="outside", last=1)
    assert only_file(reply)["action"] == "delete"
    assert desk.call(UNDO_TOOL, desk.ann, writer="outside", path="made later")["ok"]
    assert sorted(desk.files) == []
    assert desk.call(REDO_TOOL, desk.ann, last=2)["ok"]
    assert sorted(desk.files) == ["f.txt", "made later"]


def test_outside_work_is_never_undone_unless_it_is_named() -> None:
    desk = desk_with()
    desk.note(WorkspaceScanned("start", 1, 1))
    point = f"seq:{desk.journal.head}"
    desk.outside("f.txt", START.upper())
    desk.outside("new", lines("n"))
    for args in ({}, {"from": point}, {"path": "new"}, {"last": 5}):
        assert desk.call(UNDO_TOOL, desk.ann, **args)["error"] == "not_found"
    assert desk.call(ROLLBACK_TOOL, desk.ann, to=point)["error"] == "not_found"


def test_a_file_that_was_made_and_then_moved_away_and_replaced_loses_only_what_was_made() -> None:
    desk = Desk()
    batch = desk.write("new", lines("n"), desk.ann)
    desk.move("new", "kept", desk.ben)
    desk.write("new", lines("ben's"), desk.ben)
    reply = desk.call(UNDO_TOOL, desk.ann, batch=batch)
    assert [f["path"] for f in reply["files"] if f["action"] == "delete"] == ["kept"]
    assert desk.text("new") == lines("ben's")


# ── an independent model ─────────────────────────────────────────────────────

WRITERS = ("ann", "ben", "outside")
writing = st.lists(
    st.tuples(
        st.sampled_from(WRITERS),
        st.sampled_from(["insert", "insert", "change", "remove"]),
        st.integers(0, 99),
        st.booleans(),  # within a burst of Ann's
    ),
    max_size=14,
)


@given(writing, st.sampled_from(["ann", "ben", "outside", "burst"]))
def test_without_one_writer_or_burst_exactly_the_others_lines_are_there(
    script: list[tuple[str, str, int, bool]], whose: str
) -> None:
    """Every line is unique and only its own writer touches it again; fixed lines stand between, so all is independent.

    The model is a list of lines, each with who put it there; what is undone is filtered out of it.
    """
    desk = Desk()
    slots = 12
    text: dict[int, list[tuple[str, str, bool]]] = {n: [] for n in range(slots)}  # slot → (line, writer, in a burst)

    def render(keep: bool = True) -> bytes:
        kept = (
            [f"fixed {n}", *(line for line, by, burst in text[n] if keep or not gone(by, burst))] for n in range(slots)
        )
        return lines(*(line for slot in kept for line in slot))

    def gone(by: str, burst: bool) -> bool:
        return burst and by == "ann" if whose == "burst" else by == whose

    desk.outside("f.txt", render())
    first = desk.journal.head
    bursts = []
    for n, (by, what, place, in_burst) in enumerate(script):
        # A slot belongs to one writer, and to its work within bursts or outside them.
        group = 3 if by == "ann" and in_burst else WRITERS.index(by)
        slot = place % (slots // 4) * 4 + group
        if what == "insert" or not text[slot]:
            text[slot].append((f"{by} {n}", by, in_burst))
        elif what == "change":
            text[slot][place % len(text[slot])] = (f"{by} {n}", by, in_burst)
        else:
            del text[slot][place % len(text[slot])]
        if group == 3:
            bursts.append(desk.call(BURST_TOOL, desk.ann, action="begin")["burst"])
        if by == "outside":
            desk.outside("f.txt", render())
        else:
            desk.write("f.txt", render(), desk.ann if by == "ann" else desk.ben)
        if group == 3:
            desk.call(BURST_TOOL, desk.ann, action="end")
    before = desk.text("f.txt")
    if whose == "burst":
        replies = [desk.call(UNDO_TOOL, desk.ben, burst=number) for number in bursts[::-1]]
    else:
        replies = [desk.call(UNDO_TOOL, desk.ben, writer=whose, **{"from": f"seq:{first}"})]
    assert desk.text("f.txt") == render(keep=False)
    for reply in replies:
        assert reply["ok"] or reply["error"] == "not_found"
        assert not any(f["conflicts"] for f in reply.get("files", ()))
    while desk.call(REDO_TOOL, desk.ben)["ok"]:
        pass
    assert desk.text("f.txt") == before


@every(
    ("tool", "args"),
    [
        (UNDO_TOOL, {}),
        (REDO_TOOL, {}),
        (ROLLBACK_TOOL, {"to": "seq:1"}),
        (RESTORE_TOOL, {"at": "seq:3"}),
        (DIFF_TOOL, {"from": "seq:1"}),
    ],
)
def test_an_empty_name_among_the_paths_does_not_stand_for_everything(tool: Tool[Any], args: dict[str, str]) -> None:
    desk = Desk()
    desk.write("a", b"one\n", desk.ann)
    desk.write("b", b"one\n", desk.ann)
    refused = desk.call(tool, desk.ann, paths=["a", ""], **args)
    assert (refused["error"], refused["argument"]) == ("schema_invalid", "paths")


@every("tool", [UNDO_TOOL, REDO_TOOL, ROLLBACK_TOOL, RESTORE_TOOL])
def test_an_empty_token_is_no_plan_and_undoes_nothing(tool: Tool[Any]) -> None:
    """A script that has lost the token of its plan does not mean whatever came last."""
    desk = Desk()
    desk.write("f", lines("one"), desk.ann)
    desk.write("f", lines("two"), desk.ann)
    refused = desk.call(tool, desk.ann, token="")
    assert (refused["error"], refused["argument"]) == ("schema_invalid", "token")
    assert desk.text("f") == lines("two")
