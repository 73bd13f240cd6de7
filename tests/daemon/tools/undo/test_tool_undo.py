"""Undo, redo, rollback and restore: what is taken back, what others did and keep, and what is said about it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from undoings import START, built_on, daemon_with, only_file

from memory_daemon import MemoryDaemon, lines
from quire_daemon.tools.undo.tool import REDO_TOOL, RESTORE_TOOL, ROLLBACK_TOOL, UNDO_TOOL
from quire_journal.model.events import CheckpointNamed, EditRefused

# ── the caller's own ─────────────────────────────────────────────────────────


def test_undo_without_a_choice_takes_back_the_callers_last_batch() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    last = daemon.write("f.txt", START.replace(b"two", b"TWO").replace(b"five", b"FIVE"), daemon.ann)
    reply = daemon.call(UNDO_TOOL, daemon.ann)
    assert reply["ok"]
    assert reply["batches"] == [last]
    assert reply["path"] == "f.txt"
    assert daemon.text("f.txt") == START.replace(b"two", b"TWO")
    assert reply["version"] == f"v{daemon.head_of('f.txt')}"
    assert reply["writer_type"] == "undo"


def test_undo_again_goes_further_back_until_nothing_is_left() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    daemon.write("f.txt", START.replace(b"two", b"TWO").replace(b"five", b"FIVE"), daemon.ann)
    assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
    assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
    assert daemon.text("f.txt") == START
    refused = daemon.call(UNDO_TOOL, daemon.ann)
    assert (refused["ok"], refused["error"]) == (False, "not_found")


def test_undo_never_takes_the_work_of_another_caller_unasked() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ben)
    assert daemon.call(UNDO_TOOL, daemon.ann)["error"] == "not_found"
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="ben")["ok"]
    assert daemon.text("f.txt") == START


def test_redo_takes_back_the_last_undo_and_undo_takes_back_the_redo() -> None:
    daemon = daemon_with()
    changed = START.replace(b"two", b"TWO")
    daemon.write("f.txt", changed, daemon.ann)
    for _ in range(3):
        assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
        assert daemon.text("f.txt") == START
        assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
        assert daemon.text("f.txt") == changed
    assert daemon.call(REDO_TOOL, daemon.ann)["error"] == "not_found"


def test_two_undos_are_redone_in_reverse_order() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", lines("a"), daemon.ann)
    daemon.write("f.txt", lines("a", "b"), daemon.ann)
    daemon.call(UNDO_TOOL, daemon.ann)
    daemon.call(UNDO_TOOL, daemon.ann)
    daemon.call(REDO_TOOL, daemon.ann)
    assert daemon.text("f.txt") == lines("a")
    daemon.call(REDO_TOOL, daemon.ann)
    assert daemon.text("f.txt") == lines("a", "b")


def test_an_undo_after_a_redo_takes_back_what_the_redo_brought_and_not_the_newest_edit() -> None:
    daemon = daemon_with()
    older = daemon.write("f.txt", lines("a"), daemon.ann)
    daemon.write("g.txt", lines("b"), daemon.ann)
    assert daemon.call(UNDO_TOOL, daemon.ann, batch=str(older))["ok"]
    for _ in range(2):
        assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
        assert (daemon.text("f.txt"), daemon.text("g.txt")) == (lines("a"), lines("b"))
        assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
        assert (daemon.text("f.txt"), daemon.text("g.txt")) == (START, lines("b"))
    assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
    assert daemon.text("g.txt") is None


def test_an_undo_after_the_redo_of_several_takes_back_all_of_them() -> None:
    daemon = daemon_with()
    for name in ("a", "b", "c"):
        daemon.write(name, lines(name), daemon.ann)
    assert daemon.call(UNDO_TOOL, daemon.ann, last=2)["ok"]
    assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
    assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
    assert [daemon.text(name) for name in ("a", "b", "c")] == [lines("a"), None, None]


def test_last_takes_several_batches_and_their_net_effect() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    daemon.write("f.txt", START.replace(b"two", b"TWO!"), daemon.ann)
    assert daemon.call(UNDO_TOOL, daemon.ann, last=2)["ok"]
    assert daemon.text("f.txt") == START


def test_a_batch_is_named_by_its_number_or_by_a_version() -> None:
    daemon = daemon_with()
    batch = daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    daemon.write("f.txt", START.replace(b"two", b"TWO").replace(b"five", b"FIVE"), daemon.ann)
    assert daemon.call(UNDO_TOOL, daemon.ben, batch=batch)["ok"]
    assert daemon.text("f.txt") == START.replace(b"five", b"FIVE")
    assert daemon.call(UNDO_TOOL, daemon.ben, batch=f"v{batch}")["error"] == "not_found"
    assert daemon.call(UNDO_TOOL, daemon.ben, batch=9999)["error"] == "not_found"
    assert daemon.call(UNDO_TOOL, daemon.ben, batch="yesterday")["error"] == "schema_invalid"


def test_a_path_narrows_an_undo_to_one_file_of_a_batch() -> None:
    daemon = MemoryDaemon()
    daemon.outside("a", lines("a"))
    daemon.outside("b", lines("b"))
    daemon.write_all({"a": lines("A"), "b": lines("B")}, daemon.ann)
    assert daemon.call(UNDO_TOOL, daemon.ann, path="./a")["ok"]
    assert (daemon.text("a"), daemon.text("b")) == (lines("a"), lines("B"))
    assert daemon.call(UNDO_TOOL, daemon.ann, path="./a")["error"] == "not_found"
    assert daemon.call(UNDO_TOOL, daemon.ann, path="/elsewhere/b")["error"] == "outside_workspace"
    assert daemon.text("b") == lines("B")
    assert daemon.call(UNDO_TOOL, daemon.ann, path="b")["ok"]
    assert daemon.text("b") == lines("b")


def test_undo_of_a_file_with_a_glob_like_name_leaves_files_that_match_the_glob() -> None:
    daemon = MemoryDaemon()
    for name in ("[id].tsx", "i.tsx"):
        daemon.outside(name, lines("a"))
        daemon.write(name, lines("b"), daemon.ann)
    assert daemon.call(UNDO_TOOL, daemon.ann, path="[id].tsx")["ok"]
    assert (daemon.text("[id].tsx"), daemon.text("i.tsx")) == (lines("a"), lines("b"))


def test_points_turns_and_sessions_narrow_the_choice() -> None:
    daemon = daemon_with()
    first = daemon.introduce("ann", "s1", "t1")
    second = daemon.introduce("ann", "s1", "t2")
    text = START.replace(b"one", b"ONE")
    daemon.write("f.txt", text, first)
    after_first = daemon.journal.head
    daemon.write("f.txt", text.replace(b"six", b"SIX"), second)
    assert daemon.call(UNDO_TOOL, daemon.ann, turn="t1", plan=True)["batches"] == [after_first]
    assert daemon.call(UNDO_TOOL, daemon.ann, **{"from": f"seq:{after_first}"}, plan=True)["batches"] == [
        after_first + 1
    ]
    assert daemon.call(UNDO_TOOL, daemon.ann, to=f"seq:{after_first}", plan=True)["batches"] == [after_first]
    assert daemon.call(UNDO_TOOL, daemon.ben, agent_session="s1", plan=True)["batches"] == [
        after_first + 1,
        after_first,
    ]
    assert daemon.call(UNDO_TOOL, daemon.ben, turn="t1")["error"] == "not_found"


def test_undo_of_a_batch_over_several_files_brings_all_back() -> None:
    daemon = MemoryDaemon()
    daemon.outside("a", lines("a"))
    daemon.write_all({"a": lines("A"), "new": lines("n")}, daemon.ann)
    reply = daemon.call(UNDO_TOOL, daemon.ann)
    assert {f["path"]: f["action"] for f in reply["files"]} == {"a": "write", "new": "delete"}
    assert (daemon.text("a"), daemon.text("new")) == (lines("a"), None)
    daemon.call(REDO_TOOL, daemon.ann)
    assert (daemon.text("a"), daemon.text("new")) == (lines("A"), lines("n"))


# ── others' later work ───────────────────────────────────────────────────────


def test_what_others_did_elsewhere_in_the_file_stays_exactly() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two\n", b"TWO\nand more\n"), daemon.ann)
    later = daemon.write("f.txt", START.replace(b"two\n", b"TWO\nand more\n").replace(b"five", b"FIVE"), daemon.ben)
    reply = daemon.call(UNDO_TOOL, daemon.ann)
    assert daemon.text("f.txt") == START.replace(b"five", b"FIVE")
    assert [kept["version"] for kept in only_file(reply)["kept"]] == [f"v{later}"]
    assert only_file(reply)["kept"][0]["writer"]["agent"] == "ben"
    assert only_file(reply)["conflicts"] == []


def test_a_neighbouring_line_of_another_writer_is_independent() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    daemon.write("f.txt", START.replace(b"two", b"TWO").replace(b"three", b"THREE"), daemon.ben)
    daemon.call(UNDO_TOOL, daemon.ann)
    assert daemon.text("f.txt") == START.replace(b"three", b"THREE")


def test_where_others_built_on_the_undone_lines_their_text_stays_and_the_rest_comes_out() -> None:
    daemon = daemon_with()
    _, blocking = built_on(daemon)
    reply = daemon.call(UNDO_TOOL, daemon.ann)
    assert reply["ok"]
    assert daemon.text("f.txt") == START.replace(b"one\n", b"zero\none\n").replace(b"two", b"TWO by ben")
    (conflict,) = only_file(reply)["conflicts"]
    assert (conflict["seq"], conflict["why"], conflict["lines"]) == (blocking, "lines", [{"start": 3, "end": 3}])
    assert conflict["writer"]["agent"] == "ben"


@pytest.mark.parametrize(("before", "after"), [(["FOUR"], []), ([], []), (["four"], ["later"])])
def test_a_line_that_was_put_elsewhere_stays_as_others_left_it(before: list[str], after: list[str]) -> None:
    """Half of it is not undone: it would stand twice, or nowhere, or what Ben removed be there again."""
    daemon = daemon_with(lines("one", "two", "three", "four"))
    daemon.write("f.txt", lines("four", "one", "two", "three"), daemon.ann)
    daemon.write("f.txt", lines("four", "one", "ben's", "two", "three"), daemon.ben)
    built_on = daemon.write("f.txt", lines(*before, "one", "ben's", "two", "three", *after), daemon.ben)
    refused = daemon.call(UNDO_TOOL, daemon.ann)
    assert refused["error"] == "conflict"
    assert {c["seq"] for c in only_file(refused)["conflicts"]} == {built_on}
    assert daemon.text("f.txt") == lines(*before, "one", "ben's", "two", "three", *after)


def test_abort_refuses_any_conflict_and_changes_nothing() -> None:
    daemon = daemon_with()
    anns = START.replace(b"two", b"TWO").replace(b"six", b"SIX")
    daemon.write("f.txt", anns, daemon.ann)
    bens = anns.replace(b"TWO", b"TWO by ben")
    daemon.write("f.txt", bens, daemon.ben)
    head = daemon.journal.head
    refused = daemon.call(UNDO_TOOL, daemon.ann, conflicts="abort")
    assert refused["error"] == "conflict"
    assert "ben" in refused["message"]
    assert only_file(refused)["conflicts"]
    assert (daemon.text("f.txt"), daemon.journal.head) == (bens, head + 1)
    (noted,) = daemon.events(EditRefused)
    assert (noted.tool, noted.code) == ("undo", "conflict")


def test_an_undo_of_which_nothing_can_be_done_is_refused() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    blocking = daemon.write("f.txt", START.replace(b"two", b"TWO by ben"), daemon.ben)
    refused = daemon.call(UNDO_TOOL, daemon.ann)
    assert refused["error"] == "conflict"
    assert f"v{blocking}" in refused["message"]


def test_a_file_that_another_program_removed_and_restored_is_no_conflict() -> None:
    daemon = daemon_with()
    changed = START.replace(b"two", b"TWO")
    daemon.write("f.txt", changed, daemon.ann)
    daemon.outside("f.txt", START)
    daemon.outside("f.txt", changed)
    daemon.call(UNDO_TOOL, daemon.ann)
    assert daemon.text("f.txt") == START


def test_a_change_that_someone_reverted_by_hand_needs_no_undo() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    daemon.outside("f.txt", START)
    refused = daemon.call(UNDO_TOOL, daemon.ann, batch=daemon.journal.head - 1)
    assert refused["error"] == "not_found"


def test_breaks_and_a_missing_last_one_come_back_exactly() -> None:
    start = b"\xef\xbb\xbfone\r\ntwo\nthree"
    daemon = daemon_with(start)
    daemon.write("f.txt", b"one\ntwo\nthree\n", daemon.ann)
    daemon.call(UNDO_TOOL, daemon.ann)
    assert daemon.text("f.txt") == start


def test_lines_appended_by_another_do_not_hinder_the_undo_of_an_unfinished_last_line() -> None:
    daemon = daemon_with(b"one\ntwo")
    daemon.write("f.txt", b"one\nTWO", daemon.ann)
    daemon.write("f.txt", b"one\nTWO\nthree\n", daemon.ben)
    daemon.call(UNDO_TOOL, daemon.ann)
    assert daemon.text("f.txt") == b"one\ntwo\nthree\n"


def test_undo_of_another_writer_can_itself_be_undone() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ben)
    daemon.call(UNDO_TOOL, daemon.ann, writer="ben")
    daemon.write("f.txt", START.replace(b"six", b"SIX"), daemon.ben)
    daemon.call(REDO_TOOL, daemon.ann)
    assert daemon.text("f.txt") == START.replace(b"two", b"TWO").replace(b"six", b"SIX")


def test_outside_work_is_undone_when_it_is_named() -> None:
    daemon = daemon_with()
    daemon.outside("f.txt", START.upper())
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="outside", last=1)["ok"]
    assert daemon.text("f.txt") == START


# ── plans ────────────────────────────────────────────────────────────────────


def test_a_plan_changes_nothing_and_its_token_carries_it_out() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    head = daemon.journal.head
    plan = daemon.call(UNDO_TOOL, daemon.ann, plan=True)
    assert plan["ok"]
    assert (only_file(plan)["action"], only_file(plan)["net_lines"], daemon.journal.head) == ("write", 0, head)
    assert daemon.call(UNDO_TOOL, daemon.ann, token=plan["token"])["ok"]
    assert daemon.text("f.txt") == START


def test_a_token_is_refused_when_something_moved() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    plan = daemon.call(UNDO_TOOL, daemon.ann, plan=True)
    bens = START.replace(b"two", b"TWO").replace(b"six", b"SIX")
    daemon.write("f.txt", bens, daemon.ben)
    assert daemon.call(UNDO_TOOL, daemon.ann, token=plan["token"])["error"] == "plan_stale"
    assert daemon.text("f.txt") == bens


def test_a_token_stands_for_its_batches_whatever_was_done_elsewhere_since() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    plan = daemon.call(UNDO_TOOL, daemon.ann, plan=True)
    daemon.write("other", lines("o"), daemon.ann)
    assert daemon.call(UNDO_TOOL, daemon.ann, token=plan["token"])["ok"]
    assert (daemon.text("f.txt"), daemon.text("other")) == (START, lines("o"))


@pytest.mark.parametrize("token", ["nonsense!", "bm9uc2Vuc2U", "é"])
def test_what_is_not_a_token_is_refused(token: str) -> None:
    assert MemoryDaemon().call(UNDO_TOOL, MemoryDaemon().ann, token=token)["error"] == "schema_invalid"


def test_the_token_of_another_tool_is_refused() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    plan = daemon.call(UNDO_TOOL, daemon.ann, plan=True)
    assert daemon.call(REDO_TOOL, daemon.ann, token=plan["token"])["error"] == "schema_invalid"


def test_a_dry_run_is_a_plan() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    reply = daemon.call(UNDO_TOOL, daemon.ann, dry_run=True)
    assert (reply["dry_run"], reply["valid"]) == (True, True)
    assert daemon.text("f.txt") != START


# ── rollback and restore ─────────────────────────────────────────────────────


def test_rollback_takes_back_what_the_caller_did_after_a_checkpoint_and_keeps_the_rest() -> None:
    daemon = daemon_with()
    daemon.note(CheckpointNamed("before", daemon.journal.head), who=daemon.ann)
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    daemon.write("f.txt", START.replace(b"two", b"TWO").replace(b"six", b"SIX"), daemon.ben)
    daemon.write("new", lines("n"), daemon.ann)
    assert daemon.call(ROLLBACK_TOOL, daemon.ann, to="before")["ok"]
    assert (daemon.text("f.txt"), daemon.text("new")) == (START.replace(b"six", b"SIX"), None)
    assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
    assert daemon.text("new") == lines("n")


@pytest.mark.parametrize("conflicts", ["skip", "abort", "markers"])
def test_rollback_does_not_lead_away_from_the_point_what_is_as_it_was_then(conflicts: str) -> None:
    """Somebody removed a file since, and the caller brought it back: without the caller's work it would go again."""
    daemon = daemon_with()
    daemon.note(CheckpointNamed("before", daemon.journal.head), who=daemon.ann)
    daemon.outside_deletes("f.txt")
    assert daemon.call(RESTORE_TOOL, daemon.ann, path="f.txt", at="before")["ok"]
    reply = daemon.call(ROLLBACK_TOOL, daemon.ann, to="before", conflicts=conflicts)
    assert (reply["error"], daemon.text("f.txt")) == ("not_found", START)
    daemon.write("new", lines("n"), daemon.ann)
    reply = daemon.call(ROLLBACK_TOOL, daemon.ann, to="before", conflicts=conflicts)
    assert {f["path"]: (f["action"], f["skipped"]) for f in reply["files"]} == {
        "f.txt": ("none", "as_then"),
        "new": ("delete", None),
    }
    assert (daemon.text("f.txt"), daemon.text("new")) == (START, None)
    assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
    assert (daemon.text("f.txt"), daemon.text("new")) == (START, lines("n"))


def test_restore_puts_back_the_bytes_of_a_point_and_says_what_it_takes_back() -> None:
    daemon = daemon_with()
    first = daemon.head_of("f.txt")
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    daemon.write("f.txt", lines("all new"), daemon.ben)
    reply = daemon.call(RESTORE_TOOL, daemon.ann, path="f.txt", at=f"v{first}")
    assert daemon.text("f.txt") == START
    assert [t["writer"]["agent"] for t in only_file(reply)["takes_back"]] == ["ann", "ben"]
    assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
    assert daemon.text("f.txt") == lines("all new")


def test_restore_brings_back_a_deleted_folder_and_leaves_what_was_made_later() -> None:
    daemon = daemon_with(path="d/f.txt")
    point = f"seq:{daemon.journal.head}"
    daemon.delete("d/f.txt", daemon.ann)
    daemon.write("d/later", lines("l"), daemon.ben)
    assert daemon.call(RESTORE_TOOL, daemon.ann, path="d", at=point)["ok"]
    assert (daemon.text("d/f.txt"), daemon.text("d/later")) == (START, lines("l"))


def test_restore_of_what_was_not_there_is_not_found_and_of_what_is_there_changes_nothing() -> None:
    daemon = daemon_with()
    daemon.write("new", lines("n"), daemon.ann)
    point = f"v{daemon.head_of('f.txt')}"
    assert daemon.call(RESTORE_TOOL, daemon.ann, path="new", at=point)["error"] == "not_found"
    unknown = daemon.call(RESTORE_TOOL, daemon.ann, path="nowhere", at=point)
    assert (unknown["error"], unknown["message"]) == ("not_found", "The journal knows no file nowhere.")
    assert daemon.call(RESTORE_TOOL, daemon.ann, path="f.txt", at=point)["unchanged"]
    assert daemon.call(RESTORE_TOOL, daemon.ann, path="f.txt")["error"] == "schema_invalid"
    assert daemon.call(RESTORE_TOOL, daemon.ann, at=point)["error"] == "schema_invalid"


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
    daemon = daemon_with(text_of([[f"free {i}"] for i in range(SLOTS)]))
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
        daemon.write("f.txt", text_of(both), daemon.ann if is_ann else daemon.ben)
    reply = daemon.call(UNDO_TOOL, daemon.ann, writer="ann")
    assert daemon.text("f.txt") == text_of(bens)
    assert reply["ok"] == (text_of(both) != text_of(bens))
    if reply["ok"]:
        assert not only_file(reply)["conflicts"]
        assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
        assert daemon.text("f.txt") == text_of(both)


texts = st.lists(st.sampled_from(["a", "b", "c", "", "}"]), max_size=6).map(lambda said: lines(*said))


@given(st.lists(st.tuples(st.booleans(), texts), max_size=6), st.integers(1, 3))
def test_any_undo_ends_in_a_state_that_a_redo_or_a_refusal_explains(
    script: list[tuple[bool, bytes]], last: int
) -> None:
    """Whatever two writers did to each other's lines: a refusal changes nothing, a success agrees with its plan."""
    daemon = daemon_with(lines("a", "b", "c"))
    for is_ann, text in script:
        if text != daemon.text("f.txt"):
            daemon.write("f.txt", text, daemon.ann if is_ann else daemon.ben)
    before, head = daemon.text("f.txt"), daemon.journal.head
    plan = daemon.call(UNDO_TOOL, daemon.ann, last=last, plan=True)
    assert (daemon.text("f.txt"), daemon.journal.head) == (before, head)
    if not plan["ok"]:
        assert daemon.call(UNDO_TOOL, daemon.ann, last=last)["error"] == plan["error"]
        assert daemon.text("f.txt") == before
        return
    done = daemon.call(UNDO_TOOL, daemon.ann, token=plan["token"])
    if not plan["valid"]:
        assert done["error"] == "conflict"
        assert daemon.text("f.txt") == before
        return
    assert done["ok"]
    assert only_file(done)["action"] == only_file(plan)["action"]
    assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
    assert daemon.text("f.txt") == before
