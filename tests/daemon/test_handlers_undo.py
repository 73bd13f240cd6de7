"""Undo, redo, rollback and restore: what is taken back, what others did and keep, and what is said about it."""

from __future__ import annotations

import pytest
from desk import BEGAN_NS, Desk, lines
from hypothesis import given
from hypothesis import strategies as st
from undoings import START, built_on, desk_with, only_file

from quire_daemon.handlers.undo import REDO_TOOL, RESTORE_TOOL, ROLLBACK_TOOL, UNDO_TOOL
from quire_journal.events import BytesGone, CaptureFailed, CheckpointNamed
from quire_journal.ids import BatchId, WriterId, blob_id
from quire_journal.journal import Entry

# ── the caller's own ─────────────────────────────────────────────────────────


def test_undo_without_a_choice_takes_back_the_callers_last_batch() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    last = desk.write("f.txt", START.replace(b"two", b"TWO").replace(b"five", b"FIVE"), desk.ann)
    reply = desk.call(UNDO_TOOL, desk.ann)
    assert reply["ok"]
    assert reply["batches"] == [last]
    assert reply["path"] == "f.txt"
    assert desk.text("f.txt") == START.replace(b"two", b"TWO")
    assert reply["version"] == f"v{desk.head_of('f.txt')}"
    assert reply["writer_type"] == "undo"


def test_undo_again_goes_further_back_until_nothing_is_left() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.write("f.txt", START.replace(b"two", b"TWO").replace(b"five", b"FIVE"), desk.ann)
    assert desk.call(UNDO_TOOL, desk.ann)["ok"]
    assert desk.call(UNDO_TOOL, desk.ann)["ok"]
    assert desk.text("f.txt") == START
    refused = desk.call(UNDO_TOOL, desk.ann)
    assert (refused["ok"], refused["error"]) == (False, "not_found")


def test_undo_never_takes_the_work_of_another_caller_unasked() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ben)
    assert desk.call(UNDO_TOOL, desk.ann)["error"] == "not_found"
    assert desk.call(UNDO_TOOL, desk.ann, writer="ben")["ok"]
    assert desk.text("f.txt") == START


def test_redo_takes_back_the_last_undo_and_undo_takes_back_the_redo() -> None:
    desk = desk_with()
    changed = START.replace(b"two", b"TWO")
    desk.write("f.txt", changed, desk.ann)
    for _ in range(3):
        assert desk.call(UNDO_TOOL, desk.ann)["ok"]
        assert desk.text("f.txt") == START
        assert desk.call(REDO_TOOL, desk.ann)["ok"]
        assert desk.text("f.txt") == changed
    assert desk.call(REDO_TOOL, desk.ann)["error"] == "not_found"


def test_two_undos_are_redone_in_reverse_order() -> None:
    desk = desk_with()
    desk.write("f.txt", lines("a"), desk.ann)
    desk.write("f.txt", lines("a", "b"), desk.ann)
    desk.call(UNDO_TOOL, desk.ann)
    desk.call(UNDO_TOOL, desk.ann)
    desk.call(REDO_TOOL, desk.ann)
    assert desk.text("f.txt") == lines("a")
    desk.call(REDO_TOOL, desk.ann)
    assert desk.text("f.txt") == lines("a", "b")


def test_last_takes_several_batches_and_their_net_effect() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.write("f.txt", START.replace(b"two", b"TWO!"), desk.ann)
    assert desk.call(UNDO_TOOL, desk.ann, last=2)["ok"]
    assert desk.text("f.txt") == START


def test_a_batch_is_named_by_its_number_or_by_a_version() -> None:
    desk = desk_with()
    batch = desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.write("f.txt", START.replace(b"two", b"TWO").replace(b"five", b"FIVE"), desk.ann)
    assert desk.call(UNDO_TOOL, desk.ben, batch=batch)["ok"]
    assert desk.text("f.txt") == START.replace(b"five", b"FIVE")
    assert desk.call(UNDO_TOOL, desk.ben, batch=f"v{batch}")["error"] == "not_found"
    assert desk.call(UNDO_TOOL, desk.ben, batch=9999)["error"] == "not_found"
    assert desk.call(UNDO_TOOL, desk.ben, batch="yesterday")["error"] == "schema_invalid"


def test_a_path_narrows_an_undo_to_one_file_of_a_batch() -> None:
    desk = Desk()
    desk.outside("a", lines("a"))
    desk.outside("b", lines("b"))
    desk.write_all({"a": lines("A"), "b": lines("B")}, desk.ann)
    assert desk.call(UNDO_TOOL, desk.ann, path="./a")["ok"]
    assert (desk.text("a"), desk.text("b")) == (lines("a"), lines("B"))
    assert desk.call(UNDO_TOOL, desk.ann, path="./a")["error"] == "not_found"
    assert desk.call(UNDO_TOOL, desk.ann, path="/elsewhere/b")["error"] == "outside_workspace"
    assert desk.text("b") == lines("B")
    assert desk.call(UNDO_TOOL, desk.ann, path="b")["ok"]
    assert desk.text("b") == lines("b")


def test_an_undo_of_a_file_that_is_called_like_a_glob_leaves_what_the_glob_would_match() -> None:
    desk = Desk()
    for name in ("[id].tsx", "i.tsx"):
        desk.outside(name, lines("a"))
        desk.write(name, lines("b"), desk.ann)
    assert desk.call(UNDO_TOOL, desk.ann, path="[id].tsx")["ok"]
    assert (desk.text("[id].tsx"), desk.text("i.tsx")) == (lines("a"), lines("b"))


def test_points_turns_and_sessions_narrow_the_choice() -> None:
    desk = desk_with()
    first = desk.introduce("ann", "s1", "t1")
    second = desk.introduce("ann", "s1", "t2")
    text = START.replace(b"one", b"ONE")
    desk.write("f.txt", text, first)
    after_first = desk.journal.head
    desk.write("f.txt", text.replace(b"six", b"SIX"), second)
    assert desk.call(UNDO_TOOL, desk.ann, turn="t1", plan=True)["batches"] == [after_first]
    assert desk.call(UNDO_TOOL, desk.ann, **{"from": f"seq:{after_first}"}, plan=True)["batches"] == [after_first + 1]
    assert desk.call(UNDO_TOOL, desk.ann, to=f"seq:{after_first}", plan=True)["batches"] == [after_first]
    assert desk.call(UNDO_TOOL, desk.ben, agent_session="s1", plan=True)["batches"] == [after_first + 1, after_first]
    assert desk.call(UNDO_TOOL, desk.ben, turn="t1")["error"] == "not_found"


def test_undo_of_a_batch_over_several_files_brings_all_back() -> None:
    desk = Desk()
    desk.outside("a", lines("a"))
    desk.write_all({"a": lines("A"), "new": lines("n")}, desk.ann)
    reply = desk.call(UNDO_TOOL, desk.ann)
    assert {f["path"]: f["action"] for f in reply["files"]} == {"a": "write", "new": "delete"}
    assert (desk.text("a"), desk.text("new")) == (lines("a"), None)
    desk.call(REDO_TOOL, desk.ann)
    assert (desk.text("a"), desk.text("new")) == (lines("A"), lines("n"))


# ── others' later work ───────────────────────────────────────────────────────


def test_what_others_did_elsewhere_in_the_file_stays_exactly() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two\n", b"TWO\nand more\n"), desk.ann)
    later = desk.write("f.txt", START.replace(b"two\n", b"TWO\nand more\n").replace(b"five", b"FIVE"), desk.ben)
    reply = desk.call(UNDO_TOOL, desk.ann)
    assert desk.text("f.txt") == START.replace(b"five", b"FIVE")
    assert [kept["version"] for kept in only_file(reply)["kept"]] == [f"v{later}"]
    assert only_file(reply)["kept"][0]["writer"]["agent"] == "ben"
    assert only_file(reply)["conflicts"] == []


def test_a_neighbouring_line_of_another_writer_is_independent() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.write("f.txt", START.replace(b"two", b"TWO").replace(b"three", b"THREE"), desk.ben)
    desk.call(UNDO_TOOL, desk.ann)
    assert desk.text("f.txt") == START.replace(b"three", b"THREE")


def test_where_others_built_on_the_undone_lines_their_text_stays_and_the_rest_comes_out() -> None:
    desk = desk_with()
    _, blocking = built_on(desk)
    reply = desk.call(UNDO_TOOL, desk.ann)
    assert reply["ok"]
    assert desk.text("f.txt") == START.replace(b"one\n", b"zero\none\n").replace(b"two", b"TWO by ben")
    (conflict,) = only_file(reply)["conflicts"]
    assert (conflict["seq"], conflict["why"], conflict["lines"]) == (blocking, "lines", [{"start": 3, "end": 3}])
    assert conflict["writer"]["agent"] == "ben"


@pytest.mark.parametrize(("before", "after"), [(["FOUR"], []), ([], []), (["four"], ["later"])])
def test_a_line_that_was_put_elsewhere_stays_as_others_left_it(before: list[str], after: list[str]) -> None:
    """Half of it is not undone: it would stand twice, or nowhere, or what Ben removed be there again."""
    desk = desk_with(lines("one", "two", "three", "four"))
    desk.write("f.txt", lines("four", "one", "two", "three"), desk.ann)
    desk.write("f.txt", lines("four", "one", "ben's", "two", "three"), desk.ben)
    built_on = desk.write("f.txt", lines(*before, "one", "ben's", "two", "three", *after), desk.ben)
    refused = desk.call(UNDO_TOOL, desk.ann)
    assert refused["error"] == "conflict"
    assert {c["seq"] for c in only_file(refused)["conflicts"]} == {built_on}
    assert desk.text("f.txt") == lines(*before, "one", "ben's", "two", "three", *after)


def test_abort_refuses_any_conflict_and_changes_nothing() -> None:
    desk = desk_with()
    anns = START.replace(b"two", b"TWO").replace(b"six", b"SIX")
    desk.write("f.txt", anns, desk.ann)
    bens = anns.replace(b"TWO", b"TWO by ben")
    desk.write("f.txt", bens, desk.ben)
    head = desk.journal.head
    refused = desk.call(UNDO_TOOL, desk.ann, conflicts="abort")
    assert refused["error"] == "conflict"
    assert "ben" in refused["message"]
    assert only_file(refused)["conflicts"]
    assert (desk.text("f.txt"), desk.journal.head) == (bens, head)


def test_an_undo_of_which_nothing_can_be_done_is_refused() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    blocking = desk.write("f.txt", START.replace(b"two", b"TWO by ben"), desk.ben)
    refused = desk.call(UNDO_TOOL, desk.ann)
    assert refused["error"] == "conflict"
    assert f"v{blocking}" in refused["message"]


def test_what_another_program_took_away_and_brought_back_is_not_in_the_way() -> None:
    desk = desk_with()
    changed = START.replace(b"two", b"TWO")
    desk.write("f.txt", changed, desk.ann)
    desk.outside("f.txt", START)
    desk.outside("f.txt", changed)
    desk.call(UNDO_TOOL, desk.ann)
    assert desk.text("f.txt") == START


def test_a_change_that_someone_reverted_by_hand_needs_no_undo() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.outside("f.txt", START)
    refused = desk.call(UNDO_TOOL, desk.ann, batch=desk.journal.head - 1)
    assert refused["error"] == "not_found"


def test_breaks_and_a_missing_last_one_come_back_exactly() -> None:
    start = b"\xef\xbb\xbfone\r\ntwo\nthree"
    desk = desk_with(start)
    desk.write("f.txt", b"one\ntwo\nthree\n", desk.ann)
    desk.call(UNDO_TOOL, desk.ann)
    assert desk.text("f.txt") == start


def test_lines_appended_by_another_do_not_hinder_the_undo_of_an_unfinished_last_line() -> None:
    desk = desk_with(b"one\ntwo")
    desk.write("f.txt", b"one\nTWO", desk.ann)
    desk.write("f.txt", b"one\nTWO\nthree\n", desk.ben)
    desk.call(UNDO_TOOL, desk.ann)
    assert desk.text("f.txt") == b"one\ntwo\nthree\n"


def test_undo_of_another_writer_can_itself_be_undone() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ben)
    desk.call(UNDO_TOOL, desk.ann, writer="ben")
    desk.write("f.txt", START.replace(b"six", b"SIX"), desk.ben)
    desk.call(REDO_TOOL, desk.ann)
    assert desk.text("f.txt") == START.replace(b"two", b"TWO").replace(b"six", b"SIX")


def test_outside_work_is_undone_when_it_is_named() -> None:
    desk = desk_with()
    desk.outside("f.txt", START.upper())
    assert desk.call(UNDO_TOOL, desk.ann, writer="outside", last=1)["ok"]
    assert desk.text("f.txt") == START


# ── files that come, go, and move ────────────────────────────────────────────


def test_a_creation_is_removed_while_its_bytes_are_unchanged() -> None:
    desk = Desk()
    desk.write("new", lines("n"), desk.ann)
    reply = desk.call(UNDO_TOOL, desk.ann)
    assert only_file(reply)["action"] == "delete"
    assert desk.text("new") is None


def test_a_creation_that_others_changed_stays() -> None:
    desk = Desk()
    desk.write("new", lines("n"), desk.ann)
    later = desk.write("new", lines("n", "more"), desk.ben)
    refused = desk.call(UNDO_TOOL, desk.ann)
    assert refused["error"] == "conflict"
    assert [c["seq"] for c in only_file(refused)["conflicts"]] == [later]
    assert desk.text("new") == lines("n", "more")


def test_a_deletion_is_taken_back_where_nothing_stands() -> None:
    desk = desk_with()
    desk.delete("f.txt", desk.ann)
    assert only_file(desk.call(UNDO_TOOL, desk.ann))["action"] == "create"
    assert desk.text("f.txt") == START


def test_a_deletion_is_not_taken_back_over_something_new() -> None:
    desk = desk_with()
    desk.delete("f.txt", desk.ann)
    desk.outside("f.txt", lines("other"))
    refused = desk.call(UNDO_TOOL, desk.ann)
    assert refused["error"] == "conflict"
    assert [c["why"] for c in only_file(refused)["conflicts"]] == ["occupied"]
    assert desk.text("f.txt") == lines("other")


def test_an_edit_of_a_file_that_others_deleted_is_a_conflict() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.outside_deletes("f.txt")
    assert desk.call(UNDO_TOOL, desk.ann)["error"] == "conflict"
    assert desk.text("f.txt") is None


def test_a_move_is_moved_back_with_what_others_wrote_there() -> None:
    desk = desk_with()
    desk.move("f.txt", "g.txt", desk.ann)
    desk.write("g.txt", START.replace(b"six", b"SIX"), desk.ben)
    reply = desk.call(UNDO_TOOL, desk.ann)
    assert (only_file(reply)["action"], only_file(reply)["to"]) == ("move", "f.txt")
    assert (desk.text("f.txt"), desk.text("g.txt")) == (START.replace(b"six", b"SIX"), None)


def test_a_move_is_not_moved_back_over_something_new() -> None:
    desk = desk_with()
    desk.move("f.txt", "g.txt", desk.ann)
    standing = desk.write("f.txt", lines("new"), desk.ben)
    refused = desk.call(UNDO_TOOL, desk.ann)
    assert refused["error"] == "conflict"
    assert [c["seq"] for c in only_file(refused)["conflicts"]] == [standing]
    assert (desk.text("f.txt"), desk.text("g.txt")) == (lines("new"), START)


def test_an_edit_is_undone_where_others_moved_the_file() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.move("f.txt", "g.txt", desk.ben)
    assert desk.call(UNDO_TOOL, desk.ann)["ok"]
    assert (desk.text("f.txt"), desk.text("g.txt")) == (None, START)
    assert desk.call(UNDO_TOOL, desk.ann)["error"] == "not_found"


def test_an_edit_and_a_move_come_back_together_and_go_again() -> None:
    """In one record, as an edit that renames is one."""
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.move("f.txt", "g.txt", desk.ann)
    undone = desk.call(UNDO_TOOL, desk.ann, last=2)
    with desk.history() as history:
        kinds = [record.kind for record in history.batch(undone["batch"])]
    assert kinds == ["file_moved", "read_served", "batch_undone"]
    assert (desk.text("f.txt"), desk.text("g.txt")) == (START, None)
    assert desk.call(REDO_TOOL, desk.ann)["ok"]
    assert (desk.text("f.txt"), desk.text("g.txt")) == (None, START.replace(b"two", b"TWO"))


def test_permission_bits_come_back_without_touching_bytes_of_others() -> None:
    desk = desk_with()
    desk.chmod("f.txt", 0o755, desk.ann)
    desk.write("f.txt", START.replace(b"six", b"SIX"), desk.ben, mode=0o755)
    assert only_file(desk.call(UNDO_TOOL, desk.ann))["action"] == "mode"
    assert desk.files["f.txt"].mode == 0o644
    assert desk.text("f.txt") == START.replace(b"six", b"SIX")


def test_a_binary_file_comes_back_whole_or_not_at_all() -> None:
    desk = desk_with(b"\0one")
    desk.write("f.txt", b"\0two", desk.ann)
    assert desk.call(UNDO_TOOL, desk.ann)["ok"]
    assert desk.text("f.txt") == b"\0one"
    desk.call(REDO_TOOL, desk.ann)
    desk.outside("f.txt", b"\0three")
    assert desk.call(UNDO_TOOL, desk.ann)["error"] == "conflict"


def test_bytes_that_were_never_captured_cannot_come_back_and_that_is_said() -> None:
    desk = Desk()
    desk.note(CaptureFailed("big", "too_large", 1 << 40, mode=0o644))
    desk.write("big", lines("small now"), desk.ann)
    refused = desk.call(UNDO_TOOL, desk.ann)
    assert refused["error"] == "uncaptured"
    assert only_file(refused)["skipped"] == "uncaptured"


def test_an_undo_does_not_overwrite_bytes_that_are_not_in_the_journal() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.note(CaptureFailed("f.txt", "too_large", 1 << 40, mode=0o644))
    assert desk.call(UNDO_TOOL, desk.ann)["error"] == "uncaptured"
    assert desk.call(RESTORE_TOOL, desk.ann, path="f.txt", at="v3")["error"] == "uncaptured"


def test_a_restore_or_an_undo_to_dropped_bytes_names_the_file_what_became_of_them_and_what_to_do() -> None:
    desk = desk_with()
    desk.outside("g.txt", lines("kept"))
    then = desk.journal.head
    desk.write_all({"f.txt": lines("new"), "g.txt": lines("new")}, desk.ann)
    old = blob_id(START)
    gone = Entry(BytesGone((old,), "dropped", ("f.txt",)), WriterId(0), BEGAN_NS, BatchId(desk.journal.head + 1))
    desk.journal.append([gone], dropped=[old])

    refused = desk.call(RESTORE_TOOL, desk.ann, path="f.txt", at=f"seq:{then}")
    assert refused["error"] == "uncaptured"
    assert "f.txt (its bytes were dropped by retention on 2" in refused["message"]
    assert "`quire log f.txt`" in refused["message"]
    assert "dropped by retention on 2" in only_file(refused)["why"]

    done = desk.call(RESTORE_TOOL, desk.ann, path=".", at=f"seq:{then}")
    assert desk.text("g.txt") == lines("kept")
    assert "Restored 1 file; 1 file left alone, for bytes that the journal does not hold: f.txt (" in done["message"]

    refused = desk.call(UNDO_TOOL, desk.ann, path="f.txt")
    assert refused["error"] == "uncaptured"
    assert "f.txt (its bytes were dropped by retention on 2" in refused["message"]
    assert "allow_uncaptured" not in refused["message"]


# ── plans ────────────────────────────────────────────────────────────────────


def test_a_plan_changes_nothing_and_its_token_carries_it_out() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    head = desk.journal.head
    plan = desk.call(UNDO_TOOL, desk.ann, plan=True)
    assert plan["ok"]
    assert (only_file(plan)["action"], only_file(plan)["net_lines"], desk.journal.head) == ("write", 0, head)
    assert desk.call(UNDO_TOOL, desk.ann, token=plan["token"])["ok"]
    assert desk.text("f.txt") == START


def test_a_token_is_refused_when_something_moved() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    plan = desk.call(UNDO_TOOL, desk.ann, plan=True)
    bens = START.replace(b"two", b"TWO").replace(b"six", b"SIX")
    desk.write("f.txt", bens, desk.ben)
    assert desk.call(UNDO_TOOL, desk.ann, token=plan["token"])["error"] == "plan_stale"
    assert desk.text("f.txt") == bens


def test_a_token_stands_for_its_batches_whatever_was_done_elsewhere_since() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    plan = desk.call(UNDO_TOOL, desk.ann, plan=True)
    desk.write("other", lines("o"), desk.ann)
    assert desk.call(UNDO_TOOL, desk.ann, token=plan["token"])["ok"]
    assert (desk.text("f.txt"), desk.text("other")) == (START, lines("o"))


@pytest.mark.parametrize("token", ["nonsense!", "bm9uc2Vuc2U", "é"])
def test_what_is_not_a_token_is_refused(token: str) -> None:
    assert Desk().call(UNDO_TOOL, Desk().ann, token=token)["error"] == "schema_invalid"


def test_the_token_of_another_tool_is_refused() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    plan = desk.call(UNDO_TOOL, desk.ann, plan=True)
    assert desk.call(REDO_TOOL, desk.ann, token=plan["token"])["error"] == "schema_invalid"


def test_a_dry_run_is_a_plan() -> None:
    desk = desk_with()
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    reply = desk.call(UNDO_TOOL, desk.ann, dry_run=True)
    assert (reply["dry_run"], reply["valid"]) == (True, True)
    assert desk.text("f.txt") != START


# ── rollback and restore ─────────────────────────────────────────────────────


def test_rollback_takes_back_what_the_caller_did_after_a_checkpoint_and_keeps_the_rest() -> None:
    desk = desk_with()
    desk.note(CheckpointNamed("before", desk.journal.head), who=desk.ann)
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.write("f.txt", START.replace(b"two", b"TWO").replace(b"six", b"SIX"), desk.ben)
    desk.write("new", lines("n"), desk.ann)
    assert desk.call(ROLLBACK_TOOL, desk.ann, to="before")["ok"]
    assert (desk.text("f.txt"), desk.text("new")) == (START.replace(b"six", b"SIX"), None)
    assert desk.call(UNDO_TOOL, desk.ann)["ok"]
    assert desk.text("new") == lines("n")


@pytest.mark.parametrize("conflicts", ["skip", "abort", "markers"])
def test_rollback_does_not_lead_away_from_the_point_what_is_as_it_was_then(conflicts: str) -> None:
    """Somebody removed a file since, and the caller brought it back: without the caller's work it would go again."""
    desk = desk_with()
    desk.note(CheckpointNamed("before", desk.journal.head), who=desk.ann)
    desk.outside_deletes("f.txt")
    assert desk.call(RESTORE_TOOL, desk.ann, path="f.txt", at="before")["ok"]
    reply = desk.call(ROLLBACK_TOOL, desk.ann, to="before", conflicts=conflicts)
    assert (reply["error"], desk.text("f.txt")) == ("not_found", START)
    desk.write("new", lines("n"), desk.ann)
    reply = desk.call(ROLLBACK_TOOL, desk.ann, to="before", conflicts=conflicts)
    assert {f["path"]: (f["action"], f["skipped"]) for f in reply["files"]} == {
        "f.txt": ("none", "as_then"),
        "new": ("delete", None),
    }
    assert (desk.text("f.txt"), desk.text("new")) == (START, None)
    assert desk.call(UNDO_TOOL, desk.ann)["ok"]
    assert (desk.text("f.txt"), desk.text("new")) == (START, lines("n"))


def test_restore_puts_back_the_bytes_of_a_point_and_says_what_it_takes_back() -> None:
    desk = desk_with()
    first = desk.head_of("f.txt")
    desk.write("f.txt", START.replace(b"two", b"TWO"), desk.ann)
    desk.write("f.txt", lines("all new"), desk.ben)
    reply = desk.call(RESTORE_TOOL, desk.ann, path="f.txt", at=f"v{first}")
    assert desk.text("f.txt") == START
    assert [t["writer"]["agent"] for t in only_file(reply)["takes_back"]] == ["ann", "ben"]
    assert desk.call(UNDO_TOOL, desk.ann)["ok"]
    assert desk.text("f.txt") == lines("all new")


def test_restore_brings_back_a_deleted_folder_and_leaves_what_was_made_later() -> None:
    desk = desk_with(path="d/f.txt")
    point = f"seq:{desk.journal.head}"
    desk.delete("d/f.txt", desk.ann)
    desk.write("d/later", lines("l"), desk.ben)
    assert desk.call(RESTORE_TOOL, desk.ann, path="d", at=point)["ok"]
    assert (desk.text("d/f.txt"), desk.text("d/later")) == (START, lines("l"))


def test_restore_of_what_was_not_there_is_not_found_and_of_what_is_there_changes_nothing() -> None:
    desk = desk_with()
    desk.write("new", lines("n"), desk.ann)
    point = f"v{desk.head_of('f.txt')}"
    assert desk.call(RESTORE_TOOL, desk.ann, path="new", at=point)["error"] == "not_found"
    unknown = desk.call(RESTORE_TOOL, desk.ann, path="nowhere", at=point)
    assert (unknown["error"], unknown["message"]) == ("not_found", "The journal knows no file nowhere.")
    assert desk.call(RESTORE_TOOL, desk.ann, path="f.txt", at=point)["unchanged"]
    assert desk.call(RESTORE_TOOL, desk.ann, path="f.txt")["error"] == "schema_invalid"
    assert desk.call(RESTORE_TOOL, desk.ann, at=point)["error"] == "schema_invalid"


# ── properties ───────────────────────────────────────────────────────────────

SLOTS = 8
edits = st.lists(st.tuples(st.booleans(), st.integers(0, SLOTS - 1), st.sampled_from(["change", "grow", "drop"])))


def text_of(slots: list[list[str]]) -> bytes:
    """A file of fixed lines, with a slot of free lines behind each."""
    return lines(*(line for i, slot in enumerate(slots) for line in [f"fixed {i}", *slot]))


@given(edits)
def test_undo_of_one_writer_leaves_exactly_the_others_work_where_they_are_independent(
    script: list[tuple[bool, int, str]],
) -> None:
    """Ann works on the even slots, Ben on the odd ones, in any order; then everything of Ann's goes."""
    desk = desk_with(text_of([[f"free {i}"] for i in range(SLOTS)]))
    both = [[f"free {i}"] for i in range(SLOTS)]
    bens = [[f"free {i}"] for i in range(SLOTS)]
    anns = 0
    for n, (is_ann, slot, what) in enumerate(script):
        own = slot // 2 * 2 + (0 if is_ann else 1)
        made = {"change": [f"changed {n}"], "grow": [*both[own], f"grown {n}"], "drop": []}[what]
        if made == both[own]:
            continue
        both[own] = made
        if not is_ann:
            bens[own] = made
        anns += is_ann
        desk.write("f.txt", text_of(both), desk.ann if is_ann else desk.ben)
    reply = desk.call(UNDO_TOOL, desk.ann, writer="ann")
    assert desk.text("f.txt") == text_of(bens)
    assert reply["ok"] == (text_of(both) != text_of(bens))
    if reply["ok"]:
        assert not only_file(reply)["conflicts"]
        assert desk.call(REDO_TOOL, desk.ann)["ok"]
        assert desk.text("f.txt") == text_of(both)


texts = st.lists(st.sampled_from(["a", "b", "c", "", "}"]), max_size=6).map(lambda said: lines(*said))


@given(st.lists(st.tuples(st.booleans(), texts), max_size=6), st.integers(1, 3))
def test_any_undo_ends_in_a_state_that_a_redo_or_a_refusal_explains(
    script: list[tuple[bool, bytes]], last: int
) -> None:
    """Whatever two writers did to each other's lines: a refusal changes nothing, a success agrees with its plan."""
    desk = desk_with(lines("a", "b", "c"))
    for is_ann, text in script:
        if text != desk.text("f.txt"):
            desk.write("f.txt", text, desk.ann if is_ann else desk.ben)
    before, head = desk.text("f.txt"), desk.journal.head
    plan = desk.call(UNDO_TOOL, desk.ann, last=last, plan=True)
    assert (desk.text("f.txt"), desk.journal.head) == (before, head)
    if not plan["ok"]:
        assert desk.call(UNDO_TOOL, desk.ann, last=last)["error"] == plan["error"]
        assert desk.text("f.txt") == before
        return
    done = desk.call(UNDO_TOOL, desk.ann, token=plan["token"])
    if not plan["valid"]:
        assert done["error"] == "conflict"
        assert desk.text("f.txt") == before
        return
    assert done["ok"]
    assert only_file(done)["action"] == only_file(plan)["action"]
    assert desk.call(REDO_TOOL, desk.ann)["ok"]
    assert desk.text("f.txt") == before
