"""Redo and rollback by choice, and a model of who wrote which line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from undoings import START, daemon_with

from memory_daemon import BEGAN_NS, MemoryDaemon, lines
from quire_daemon.core.decision import Tool
from quire_daemon.tools.bursts import BURST_TOOL
from quire_daemon.tools.history.diff import DIFF_TOOL
from quire_daemon.tools.undo.params import MAX_BATCHES
from quire_daemon.tools.undo.tool import REDO_TOOL, RESTORE_TOOL, ROLLBACK_TOOL, UNDO_TOOL
from quire_journal.journal import NewRecord
from quire_journal.model.events import (
    BatchUndone,
    CheckpointNamed,
    FileWritten,
    GitRan,
    OutsideWritten,
    WorkspaceScanned,
)
from quire_journal.model.ids import BatchId, blob_id


def three_edits(daemon: MemoryDaemon) -> list[int]:
    """Ann makes three batches on lines far apart."""
    batches, text = [], START
    for line in (b"one", b"three", b"five"):
        text = text.replace(line, line.upper())
        batches.append(daemon.write("f.txt", text, daemon.ann))
    return batches


# ── redo by choice ───────────────────────────────────────────────────────────


def test_redo_of_a_batch_brings_back_that_one_of_those_that_were_undone_together() -> None:
    daemon = daemon_with()
    first, second, third = three_edits(daemon)
    daemon.call(UNDO_TOOL, daemon.ann, last=3)
    assert daemon.text("f.txt") == START
    assert daemon.call(REDO_TOOL, daemon.ben, batch=second)["ok"]
    assert daemon.text("f.txt") == START.replace(b"three", b"THREE")
    assert daemon.call(REDO_TOOL, daemon.ben, batch=f"v{third}")["ok"]
    assert daemon.text("f.txt") == START.replace(b"three", b"THREE").replace(b"five", b"FIVE")
    assert daemon.call(REDO_TOOL, daemon.ben, batch=second)["error"] == "not_found"
    assert daemon.call(UNDO_TOOL, daemon.ann)["batches"] == [third]
    assert daemon.call(UNDO_TOOL, daemon.ann, batch=first)["error"] == "not_found"
    assert daemon.text("f.txt") == START.replace(b"three", b"THREE")
    assert daemon.call(REDO_TOOL, daemon.ann, writer="ann")["ok"]
    assert daemon.text("f.txt") == START.replace(b"one", b"ONE").replace(b"three", b"THREE").replace(b"five", b"FIVE")


def test_redo_of_an_undo_by_its_number_takes_the_whole_of_it_back() -> None:
    daemon = daemon_with()
    three_edits(daemon)
    edited = daemon.text("f.txt")
    undo = daemon.call(UNDO_TOOL, daemon.ann, last=2)["batch"]
    daemon.write("other", lines("o"), daemon.ann)
    daemon.call(UNDO_TOOL, daemon.ann)
    assert daemon.call(REDO_TOOL, daemon.ben, batch=undo)["ok"]
    assert (daemon.text("f.txt"), daemon.text("other")) == (edited, None)


def test_redo_narrows_by_turn_session_points_last_and_path() -> None:
    daemon = MemoryDaemon()
    daemon.outside("a", lines("a"))
    daemon.outside("b", lines("b"))
    turn = daemon.introduce("ann", "s1", "t1")
    first = daemon.write("a", lines("A"), turn)
    second = daemon.write("b", lines("B"), daemon.ann)
    daemon.call(UNDO_TOOL, daemon.ann, last=2)

    def chosen(**args: Any) -> dict[str, str]:
        plan = daemon.call(REDO_TOOL, daemon.ann, plan=True, **args)
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
    assert daemon.call(REDO_TOOL, daemon.ann, batch=second, plan=True)["ok"]


def test_redo_of_several_undos_at_once() -> None:
    daemon = daemon_with()
    three_edits(daemon)
    edited = daemon.text("f.txt")
    for _ in range(3):
        daemon.call(UNDO_TOOL, daemon.ann)
    assert daemon.call(REDO_TOOL, daemon.ann, last=3)["ok"]
    assert daemon.text("f.txt") == edited


def test_an_undo_in_one_path_leaves_the_batch_to_be_undone_in_others() -> None:
    daemon = MemoryDaemon()
    daemon.outside("a", lines("a"))
    daemon.outside("b", lines("b"))
    batch = daemon.write_all({"a": lines("A"), "b": lines("B")}, daemon.ann)
    later = daemon.write("a", lines("A", "more"), daemon.ann)
    daemon.call(UNDO_TOOL, daemon.ann, paths=["a"], last=2)
    assert (daemon.text("a"), daemon.text("b")) == (lines("a"), lines("B"))
    assert daemon.call(REDO_TOOL, daemon.ann, batch=later)["ok"]
    assert (daemon.text("a"), daemon.text("b")) == (lines("a", "more"), lines("B"))
    assert daemon.call(REDO_TOOL, daemon.ann, batch=batch)["ok"]
    assert (daemon.text("a"), daemon.text("b")) == (lines("A", "more"), lines("B"))
    assert daemon.call(UNDO_TOOL, daemon.ann, batch=batch)["ok"]
    assert (daemon.text("a"), daemon.text("b")) == (lines("a", "more"), lines("b"))


def test_what_was_undone_with_others_in_some_files_comes_back_in_those_only() -> None:
    daemon = MemoryDaemon()
    for path in "abc":
        daemon.outside(path, lines(path, "-", "-"))
    first = daemon.write_all({path: lines(path.upper(), "-", "-") for path in "abc"}, daemon.ann)
    second = daemon.write_all({path: lines(path.upper(), "-", "2") for path in "ab"}, daemon.ann)
    daemon.call(UNDO_TOOL, daemon.ann, path="a", last=2)
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="ann", path="b")["batches"] == [second, first]
    assert [daemon.text(path) for path in "abc"] == [lines("a", "-", "-"), lines("b", "-", "-"), lines("C", "-", "-")]
    refused = daemon.call(REDO_TOOL, daemon.ann, batch=second)
    assert refused["suggested_action"] == "narrow_the_choice"
    assert daemon.call(REDO_TOOL, daemon.ann, writer="ann", path="b", last=1)["ok"]
    assert [daemon.text(path) for path in "abc"] == [lines("a", "-", "-"), lines("b", "-", "2"), lines("C", "-", "-")]
    assert daemon.call(REDO_TOOL, daemon.ann, writer="ann", path="b")["ok"]
    assert [daemon.text(path) for path in "abc"] == [lines("a", "-", "-"), lines("B", "-", "2"), lines("C", "-", "-")]
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="ann")["ok"]
    assert [daemon.text(path) for path in "abc"] == [lines(path, "-", "-") for path in "abc"]


def test_the_record_of_an_undo_says_what_it_was_narrowed_to() -> None:
    daemon = MemoryDaemon()
    batch = daemon.write_all({"a": lines("A"), "b": lines("B")}, daemon.ann)
    daemon.call(UNDO_TOOL, daemon.ann, path="a")
    with daemon.history() as history:
        record = history.record(history.head())
        assert record is not None
        assert record.event() == BatchUndone((batch,), "undo", ("a",))


def test_more_batches_than_one_call_takes_are_refused_and_never_cut_silently() -> None:
    daemon = MemoryDaemon()
    assert (daemon.ann.writer, daemon.ben.writer) == (1, 2)  # as records 1 and 2
    head = daemon.journal.head
    events = [FileWritten(f"f{n}", blob_id(b"x"), 1, 0o644) for n in range(MAX_BATCHES + 1)]
    daemon.journal.append(
        [NewRecord(event, daemon.ann.writer, BEGAN_NS, BatchId(head + n)) for n, event in enumerate(events, 1)],
        [(b"x", None)],
    )
    daemon.files.update({f"f{n}": b"x" for n in range(MAX_BATCHES + 1)})
    assert daemon.call(UNDO_TOOL, daemon.ben, writer="ann", plan=True)["suggested_action"] == "narrow_the_choice"
    assert len(daemon.call(UNDO_TOOL, daemon.ben, writer="ann", last=2, plan=True)["files"]) == 2
    for last in (0, -1, MAX_BATCHES + 1):
        assert daemon.call(UNDO_TOOL, daemon.ben, writer="ann", last=last)["error"] == "schema_invalid"


def test_undo_skips_many_undone_batches_to_the_newest_one_in_force() -> None:
    daemon = daemon_with()
    first = daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    for n in range(60):
        daemon.write("g.txt", lines(f"{n}"), daemon.ann)
    daemon.call(UNDO_TOOL, daemon.ann, last=60)
    assert daemon.call(UNDO_TOOL, daemon.ann)["batches"] == [first]


# ── rollback ─────────────────────────────────────────────────────────────────


def test_rollback_is_about_ones_own_work_or_that_of_whoever_is_named() -> None:
    daemon = daemon_with()
    daemon.note(CheckpointNamed("before", daemon.journal.head), who=daemon.ann)
    text = START.replace(b"one", b"ONE")
    daemon.write("f.txt", text, daemon.ann)
    daemon.write("f.txt", text := text.replace(b"three", b"THREE"), daemon.ben)
    daemon.outside("f.txt", text.replace(b"six", b"SIX"))
    refused = daemon.call(ROLLBACK_TOOL, daemon.introduce("eve", "s3"), to="before")
    assert refused["error"] == "not_found"
    assert "`writer` names another's" in refused["message"]
    assert daemon.call(ROLLBACK_TOOL, daemon.ann, to="before", only="ben")["ok"]
    assert daemon.text("f.txt") == START.replace(b"one", b"ONE").replace(b"six", b"SIX")
    plan = daemon.call(ROLLBACK_TOOL, daemon.ann, to="before", only="*", plan=True)
    assert daemon.call(ROLLBACK_TOOL, daemon.ann, token=plan["token"])["ok"]
    assert daemon.text("f.txt") == START
    assert daemon.call(ROLLBACK_TOOL, daemon.ann)["argument"] == "to"
    assert daemon.call(ROLLBACK_TOOL, daemon.ann, to="before", only="ann", writer="ben")["argument"] == "only"


def test_rollback_to_one_point_again_and_again_changes_nothing_more() -> None:
    daemon = daemon_with()
    point = f"seq:{daemon.journal.head}"
    daemon.write("f.txt", START.replace(b"one", b"ONE"), daemon.ann)
    assert daemon.call(ROLLBACK_TOOL, daemon.ann, to=point)["ok"]
    for _ in range(2):
        assert daemon.call(ROLLBACK_TOOL, daemon.ann, to=point)["error"] == "not_found"
        assert daemon.text("f.txt") == START


def test_rollback_takes_back_what_was_undone_and_redone_since_the_point() -> None:
    daemon = daemon_with()
    first, second, _ = three_edits(daemon)
    daemon.call(UNDO_TOOL, daemon.ann, batch=first)
    then, point = daemon.text("f.txt"), f"seq:{daemon.journal.head}"
    daemon.call(UNDO_TOOL, daemon.ann, batch=second)
    daemon.call(REDO_TOOL, daemon.ann, batch=first)
    daemon.write("f.txt", (daemon.text("f.txt") or b"").replace(b"six", b"SIX"), daemon.ann)
    daemon.call(UNDO_TOOL, daemon.ann)
    assert daemon.call(ROLLBACK_TOOL, daemon.ann, to=point)["ok"]
    assert daemon.text("f.txt") == then
    assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
    assert daemon.text("f.txt") == START.replace(b"one", b"ONE").replace(b"five", b"FIVE")


def test_rollback_in_some_paths_leaves_the_others() -> None:
    daemon = daemon_with()
    head = daemon.journal.head
    for path in ("src/a", "src/b", "doc/c", "top"):
        daemon.write(path, lines(path), daemon.ann)
    assert daemon.call(ROLLBACK_TOOL, daemon.ann, to=f"seq:{head}", paths=["src", "*.txt"], path="top")["ok"]
    assert sorted(daemon.files) == ["doc/c", "f.txt"]


def test_abort_is_remembered_by_the_plan() -> None:
    daemon = daemon_with()
    daemon.write("f.txt", anns := START.replace(b"two", b"TWO").replace(b"six", b"SIX"), daemon.ann)
    daemon.write("f.txt", anns.replace(b"TWO", b"TWO!"), daemon.ben)
    plan = daemon.call(UNDO_TOOL, daemon.ann, conflicts="abort", plan=True)
    assert not plan["valid"]
    assert daemon.call(UNDO_TOOL, daemon.ann, token=plan["token"])["error"] == "conflict"


def test_a_plan_of_which_nothing_can_be_done_tells_what_is_in_the_way() -> None:
    """It was refused, with the advice to make a plan."""
    daemon = daemon_with()
    daemon.write("f.txt", anns := START.replace(b"two", b"TWO"), daemon.ann)
    daemon.write("f.txt", anns.replace(b"TWO", b"TWO!"), daemon.ben)
    assert daemon.call(UNDO_TOOL, daemon.ann)["suggested_action"] == "plan"
    assert daemon.call(UNDO_TOOL, daemon.ann, dry_run=True)["error"] == "conflict"
    plan = daemon.call(UNDO_TOOL, daemon.ann, plan=True)
    assert plan["ok"]
    assert not plan["valid"]
    assert [conflict["writer"]["agent"] for conflict in plan["files"][0]["conflicts"]] == ["ben"]
    assert plan["message"].startswith(
        "Plan: 0 files to change, 1 conflict. It would be refused: f.txt: ben/s2 built on it"
    )
    assert daemon.call(UNDO_TOOL, daemon.ann, token=plan["token"])["error"] == "conflict"


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
    daemon = MemoryDaemon()
    slots = 12
    text: dict[int, list[tuple[str, str, bool]]] = {n: [] for n in range(slots)}  # slot → (line, writer, in a burst)

    def render(keep: bool = True) -> bytes:
        kept = (
            [f"fixed {n}", *(line for line, by, burst in text[n] if keep or not gone(by, burst))] for n in range(slots)
        )
        return lines(*(line for slot in kept for line in slot))

    def gone(by: str, burst: bool) -> bool:
        return burst and by == "ann" if whose == "burst" else by == whose

    daemon.outside("f.txt", render())
    first = daemon.journal.head
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
            bursts.append(daemon.call(BURST_TOOL, daemon.ann, action="begin")["burst"])
        if by == "outside":
            daemon.outside("f.txt", render())
        else:
            daemon.write("f.txt", render(), daemon.ann if by == "ann" else daemon.ben)
        if group == 3:
            daemon.call(BURST_TOOL, daemon.ann, action="end")
    before = daemon.text("f.txt")
    if whose == "burst":
        replies = [daemon.call(UNDO_TOOL, daemon.ben, burst=number) for number in bursts[::-1]]
    else:
        replies = [daemon.call(UNDO_TOOL, daemon.ben, writer=whose, **{"from": f"seq:{first}"})]
    assert daemon.text("f.txt") == render(keep=False)
    for reply in replies:
        assert reply["ok"] or reply["error"] == "not_found"
        assert not any(f["conflicts"] for f in reply.get("files", ()))
    while daemon.call(REDO_TOOL, daemon.ben)["ok"]:
        pass
    assert daemon.text("f.txt") == before


@pytest.mark.parametrize(
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
    daemon = MemoryDaemon()
    daemon.write("a", b"one\n", daemon.ann)
    daemon.write("b", b"one\n", daemon.ann)
    refused = daemon.call(tool, daemon.ann, paths=["a", ""], **args)
    assert (refused["error"], refused["argument"]) == ("schema_invalid", "paths")


@pytest.mark.parametrize("tool", [UNDO_TOOL, REDO_TOOL, ROLLBACK_TOOL, RESTORE_TOOL])
def test_an_empty_token_is_no_plan_and_undoes_nothing(tool: Tool[Any]) -> None:
    """A script that has lost the token of its plan does not mean whatever came last."""
    daemon = MemoryDaemon()
    daemon.write("f", lines("one"), daemon.ann)
    daemon.write("f", lines("two"), daemon.ann)
    refused = daemon.call(tool, daemon.ann, token="")
    assert (refused["error"], refused["argument"]) == ("schema_invalid", "token")
    assert daemon.text("f") == lines("two")


# ── what no choice can be made of ────────────────────────────────────────────


@pytest.mark.parametrize(
    ("tool", "args", "argument", "said"),
    [
        (ROLLBACK_TOOL, {}, "to", "to: is missing; name the point to go back to."),
        (ROLLBACK_TOOL, {"to": "seq:1", "writer": "ann", "only": "ben"}, "only", "only: means the same as `writer`"),
        (RESTORE_TOOL, {"path": "f.txt"}, "at", "at: is missing; name the point to go back to."),
        (RESTORE_TOOL, {"at": "seq:1"}, "path", "path: is missing; name what to restore, `.` for everything."),
        (UNDO_TOOL, {"last": 0}, "last", f"last: must be from 1 to {MAX_BATCHES}, not 0."),
        (
            UNDO_TOOL,
            {"last": MAX_BATCHES + 1},
            "last",
            f"last: must be from 1 to {MAX_BATCHES}, not {MAX_BATCHES + 1}.",
        ),
        (REDO_TOOL, {"last": 0}, "last", f"last: must be from 1 to {MAX_BATCHES}, not 0."),
        (UNDO_TOOL, {"batch": "nonsense"}, "batch", "batch: 'nonsense' is neither a number nor a version."),
        (UNDO_TOOL, {"batch": "²"}, "batch", "batch: '²' is neither a number nor a version."),
    ],
)
def test_a_choice_that_cannot_be_made_names_the_argument(
    tool: Tool[Any], args: dict[str, Any], argument: str, said: str
) -> None:
    daemon = daemon_with()
    daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    reply = daemon.call(tool, daemon.ann, **args)
    assert (reply["error"], reply["argument"]) == ("schema_invalid", argument)
    assert reply["message"].startswith(said)
    assert daemon.text("f.txt") == START.replace(b"two", b"TWO")


def test_a_choice_that_finds_nothing_says_of_what() -> None:
    daemon = daemon_with()
    batch = daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
    own = " It was about your own work; `writer` names another's, `*` everyone's."
    for who, tool, args, said in (
        (daemon.ben, UNDO_TOOL, {}, "There is nothing of yours to undo."),
        (daemon.ben, UNDO_TOOL, {"path": "f.txt"}, "There is nothing of yours to undo in f.txt."),
        (
            daemon.ben,
            UNDO_TOOL,
            {"from": "seq:1"},
            "No change that is in force fits the choice: there is nothing to take",
        ),
        (daemon.ann, REDO_TOOL, {}, "There is no undo of yours to take back."),
        (
            daemon.ann,
            REDO_TOOL,
            {"writer": "ann"},
            "Nothing that was undone fits the choice: there is nothing to redo.",
        ),
        (daemon.ann, REDO_TOOL, {"batch": batch}, f"Batch {batch} is in force: there is nothing to redo."),
        (daemon.ann, UNDO_TOOL, {"batch": 99}, "There is no batch 99."),
        (daemon.ann, UNDO_TOOL, {"batch": batch, "writer": "ben"}, f"Batch {batch} is none of those that the other"),
        (daemon.ann, UNDO_TOOL, {"batch": batch, "to": f"seq:{batch - 1}"}, f"Batch {batch} is none of those that the"),
    ):
        reply = daemon.call(tool, who, **args)
        assert (reply["error"], reply["message"].startswith(said)) == ("not_found", True), reply
        assert reply["message"].endswith(own) == ("from" in args), reply
        assert reply.get("batch", batch) == args.get("batch", batch)
    assert daemon.text("f.txt") == START.replace(b"two", b"TWO")


def test_a_batch_is_named_by_its_number_in_digits_or_by_a_version_too() -> None:
    for name in (str, "v{}".format, int):
        daemon = daemon_with()
        batch = daemon.write("f.txt", START.replace(b"two", b"TWO"), daemon.ann)
        assert daemon.call(UNDO_TOOL, daemon.ben, batch=name(batch))["ok"]
        assert daemon.text("f.txt") == START


def test_several_batches_are_undone_as_one_and_come_back_as_one() -> None:
    daemon = MemoryDaemon()
    daemon.write("a.txt", lines("1"), daemon.ann)
    first = daemon.write("a.txt", lines("2"), daemon.ann)
    daemon.write("b.txt", lines("1"), daemon.ann)
    second = daemon.write("b.txt", lines("2"), daemon.ann)
    done = daemon.ask("undo", {"batch": [first, f"v{second}"]})
    assert done["batches"] == [second, first]
    assert (daemon.text("a.txt"), daemon.text("b.txt")) == (lines("1"), lines("1"))
    assert daemon.ask("redo", {"batch": [first, second]})["ok"]
    assert (daemon.text("a.txt"), daemon.text("b.txt")) == (lines("2"), lines("2"))


def test_several_bursts_are_undone_as_one() -> None:
    daemon = MemoryDaemon()
    bursts = []
    for number in range(3):
        burst = daemon.ask("burst", {"action": "begin"})["burst"]
        assert daemon.ask("write_file", {"path": f"{number}.txt", "content": "x\n"})["ok"]
        daemon.ask("burst", {"action": "end"})
        bursts.append(burst)
    assert daemon.ask("undo", {"burst": bursts[:2]})["ok"]
    assert [daemon.text(f"{number}.txt") for number in range(3)] == [None, None, b"x\n"]


def test_a_bare_undo_takes_back_the_own_redo_of_what_another_did() -> None:
    """And nothing older: undo, redo and undo end where the first undo was, however often."""
    daemon = daemon_with()
    daemon.write("own.txt", lines("ann's"), daemon.ann)
    daemon.write("f.txt", START.replace(b"one", b"ONE"), daemon.ben)
    assert daemon.call(UNDO_TOOL, daemon.ann, writer="ben")["ok"]
    for _ in range(3):
        assert daemon.call(REDO_TOOL, daemon.ann)["ok"]
        assert daemon.text("f.txt") == START.replace(b"one", b"ONE")
        assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
        assert daemon.text("f.txt") == START
    assert daemon.text("own.txt") == lines("ann's")
    assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
    assert daemon.text("own.txt") is None, "what is older goes then"


def test_what_the_last_git_command_did_to_the_tree_goes_back_and_a_save_beside_it_stays() -> None:
    daemon = daemon_with()
    saved = START.replace(b"five", b"FIVE")

    def by_git(path: str, data: bytes, hint: str) -> None:
        base = daemon.head_of(path) if daemon.text(path) is not None else 0
        event = OutsideWritten(path, blob_id(data), len(data), 0o644, "watched", base, hint=hint)
        daemon.note(event, blobs=(data,))
        daemon.files[path] = data

    by_git("f.txt", START.replace(b"two", b"TWO"), "git: reset: moving to HEAD~1 (HEAD main 2 -> main 1)")
    daemon.outside("g.txt", saved)
    daemon.note(GitRan("reset: moving to HEAD~1", ended_ns=daemon.clock.now_ns(), evidence="head"))
    daemon.after(10)
    daemon.note(GitRan("merge side: Fast-forward", ended_ns=daemon.clock.now_ns(), evidence="head"))
    plan = daemon.call(UNDO_TOOL, daemon.ann, git="last", plan=True)
    assert (plan["git"], plan["git_later"]) == ("reset: moving to HEAD~1", "merge side: Fast-forward")
    reply = daemon.call(UNDO_TOOL, daemon.ann, git="last")
    assert reply["ok"], reply
    assert (daemon.text("f.txt"), daemon.text("g.txt")) == (START, saved)
    assert daemon.call(UNDO_TOOL, daemon.ann, git="last")["error"] == "not_found"


def test_untracked_files_that_a_stash_brings_back_go_again_with_the_others() -> None:
    daemon = daemon_with()
    daemon.note(WorkspaceScanned("start", 1, 1))  # what is new from now on was not there before
    daemon.outside("new.txt", b"untracked\n")
    daemon.now_ns -= 950_000_000
    changed = START.replace(b"two", b"TWO")
    base = daemon.head_of("f.txt")
    hint = "git: index.lock was held"
    event = OutsideWritten("f.txt", blob_id(changed), len(changed), 0o644, "watched", base, hint=hint)
    daemon.note(event, blobs=(changed,))
    daemon.files["f.txt"] = changed
    daemon.note(GitRan("stash pop -q", ended_ns=daemon.clock.now_ns(), evidence="head"))
    reply = daemon.call(UNDO_TOOL, daemon.ann, git="last")
    assert reply["ok"], reply
    assert (daemon.text("f.txt"), daemon.text("new.txt")) == (START, None)


def test_who_has_only_taken_back_is_told_of_redo() -> None:
    daemon = daemon_with(START)
    daemon.write("f.txt", START + b"ann's\n", daemon.ann)
    assert daemon.call(UNDO_TOOL, daemon.ben, writer="ann")["ok"]
    assert "`redo` takes it back" in daemon.call(UNDO_TOOL, daemon.ben)["message"]
