"""Turns of a daemon while it thinks long: others are answered in each, and the answer is as it is at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from daemon_turns import Daemon, incoming, read, write

from quire_daemon.commit.record_chunks import PORTION
from quire_daemon.engine.long_decisions import MOST_THOUGHTS, SLICE_S
from quire_daemon.engine.perform import MANY
from quire_journal.integrity.checker import check
from quire_journal.model.events import BatchUndone, WritesAbandoned
from quire_journal.storage.port import StoreFailure
from shapes import checked

TURNS = 5000

Reply = dict[str, Any]


def edited(daemon: Daemon, files: int) -> list[str]:
    """So many files, in each of which ann has changed a line in one request."""
    names = [f"f{n}" for n in range(files)]
    for name in names:
        (daemon.root / name).write_text(f"first\n\n\n\nbefore {name}\n\n\n\nlast\n")
    patch = "".join(f"*** Update File: {name}\n-before {name}\n+after {name}\n" for name in names)
    assert daemon.turn(ann=("apply_patch", {"patch": f"*** Begin Patch\n{patch}*** End Patch\n"}))["ann"]["ok"]
    return names


def slowly(daemon: Daemon) -> None:
    """From now on each look at the clock takes longer than a slice, so that a turn does as little as it can."""
    daemon.clock.ticks_s = 2 * SLICE_S


def asked(daemon: Daemon, tool: str, meanwhile: Callable[[int], None] = lambda turn: None, **args: Any) -> Reply:
    """The reply to ann; `meanwhile` is done after each turn in which she has none."""
    daemon.server.replies.clear()
    daemon.app.turn([incoming("ann", tool, args, b"ann's undo")])
    for turn in range(TURNS):
        if b"ann" in daemon.server.replies:
            return checked(tool, daemon.server.replies[b"ann"])
        meanwhile(turn)
        if b"ann" not in daemon.server.replies:
            daemon.wait()
            daemon.app.turn([])
    raise AssertionError(f"not answered in {TURNS} turns")


def at_once(daemon: Daemon, caller: str, call: tuple[str, dict[str, Any]]) -> Reply:
    """The reply to a caller in the turn in which its call comes."""
    daemon.server.replies.pop(caller.encode(), None)
    daemon.app.turn([incoming(caller, *call)])
    assert caller.encode() in daemon.server.replies, "it has to wait for another turn"
    return daemon.server.replies[caller.encode()]


def test_while_a_plan_is_thought_about_others_are_answered_in_the_turn_in_which_they_ask(daemon: Daemon) -> None:
    edited(daemon, 3)
    assert daemon.turn(ben=write("beside"))["ben"]["ok"]
    plan = daemon.turn(ann=("undo", {"plan": True}))["ann"]
    served: list[int] = []

    def ask(turn: int) -> None:
        assert at_once(daemon, f"reader{turn % 7}", read("beside"))["ok"]
        served.append(turn)

    slowly(daemon)
    thought = asked(daemon, "undo", ask, plan=True)
    assert len(served) > 10
    assert (thought["files"], thought["token"]) == (plan["files"], plan["token"])


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("log", {"patch": True}),
        ("blame", {"path": "f0"}),
        ("show", {"version": "f0", "path": "f0"}),
        ("diff", {"from": "seq:1"}),
        ("undo", {"dry_run": True}),
    ],
)
def test_a_question_that_takes_long_has_the_answer_that_it_has_at_once(
    daemon: Daemon, tool: str, args: dict[str, Any]
) -> None:
    edited(daemon, 2)
    if tool == "show":
        args = {"version": daemon.turn(ann=read("f0"))["ann"]["version"]}
    soon = daemon.turn(ann=(tool, args))["ann"]
    turns: list[int] = []
    slowly(daemon)
    late = asked(daemon, tool, turns.append, **args)
    assert turns
    for reply in (soon, late):
        for name in ("op", "warnings", "seq", "cursor"):
            reply.pop(name, None)
    assert late == soon


@pytest.mark.parametrize("files", [2, MANY + 2 * PORTION])
def test_an_undo_that_was_thought_about_names_the_records_that_it_made(daemon: Daemon, files: int) -> None:
    names = edited(daemon, files)
    slowly(daemon)

    def edit(turn: int) -> None:
        if turn % 5 == 0:
            assert at_once(daemon, "ben", ("write_file", {"path": f"beside{turn}", "content": "x\n"}))["ok"]

    reply = asked(daemon, "undo", edit, idempotency_key="k")
    daemon.clock.ticks_s = 0.0
    assert reply["ok"], reply
    assert {daemon.text(name) for name in names} == {f"first\n\n\n\nbefore {n}\n\n\n\nlast\n" for n in names}
    with daemon.app.recorder.history() as history:
        heads = {name: history.file(name) for name in names}
        mark = history.undoing(reply["batch"])
        made = {record.seq: record.batch for record in history.records() if record.op == b"ann's undo"}
    assert mark is not None
    assert made == {reply["batch"]: reply["batch"]}
    assert {f["path"]: f["version"] for f in reply["files"]} == {n: f"v{h.seq}" for n, h in heads.items() if h}
    assert {h.batch for h in heads.values() if h} == {reply["batch"]}
    again = daemon.turn(ann=("undo", {"idempotency_key": "k"}))["ann"]
    assert (again["batch"], again["files"]) == (reply["batch"], reply["files"])
    assert list(check(daemon.store)) == []
    assert daemon.turn(ann=("redo", {}))["ann"]["ok"]
    assert {daemon.text(name) for name in names} == {f"first\n\n\n\nafter {n}\n\n\n\nlast\n" for n in names}


def test_what_others_do_elsewhere_does_not_keep_an_undo_from_its_end(daemon: Daemon) -> None:
    """Also one that everybody's work could join: it is about what there was when it began to think."""
    edited(daemon, 2)
    slowly(daemon)

    def edit(turn: int) -> None:
        assert at_once(daemon, "ben", ("write_file", {"path": f"beside{turn}", "content": "x\n"}))["ok"]

    reply = asked(daemon, "undo", edit, writer="*")
    assert reply["ok"], reply
    assert {"f0", "f1"} <= {file["path"] for file in reply["files"]}


def test_what_others_do_to_its_files_meanwhile_is_thought_about_too(daemon: Daemon) -> None:
    edited(daemon, 2)
    slowly(daemon)

    def edit(turn: int) -> None:
        if turn == 10:
            change = {"file": "f0", "old_text": "first", "new_text": "ben's"}
            assert at_once(daemon, "ben", ("edit_replace", change))["ok"]

    assert asked(daemon, "undo", edit)["ok"]
    assert daemon.text("f0") == "ben's\n\n\n\nbefore f0\n\n\n\nlast\n"


def test_an_undo_whose_file_never_rests_is_decided_in_one_piece_after_some_thoughts(daemon: Daemon) -> None:
    edited(daemon, 1)
    slowly(daemon)
    met: list[object] = []

    def edit(turn: int) -> None:
        """Once for each thought, while it goes on."""
        (call,) = daemon.app.waiting
        if call.thought is not None and call.thought not in met:
            met.append(call.thought)
            change = {"file": "f0", "old_text": "first", "new_text": "first" + "!" * len(met)}
            assert at_once(daemon, "ben", ("edit_replace", change))["ok"]

    reply = asked(daemon, "undo", edit)
    assert reply["ok"], reply
    assert len(met) == MOST_THOUGHTS


def test_an_undo_whose_file_another_program_saves_in_every_turn_is_decided_in_one_piece(daemon: Daemon) -> None:
    """Each thought lasted longer than the file rested, and as many races were lost as a call may lose."""
    edited(daemon, 1)
    slowly(daemon)
    saves: list[int] = []

    def save(turn: int) -> None:
        saves.append(turn)
        (daemon.root / "f0").write_text(f"saved {turn}\n\n\n\nafter f0\n\n\n\nlast\n")

    reply = asked(daemon, "undo", save)
    assert reply["ok"], reply
    assert daemon.text("f0") == f"saved {saves[-1]}\n\n\n\nbefore f0\n\n\n\nlast\n"


def test_an_undo_for_which_its_file_was_looked_at_before_it_thought_again_looks_once_more(daemon: Daemon) -> None:
    """The look finds a save, so the undo thinks again; before it does, the watcher tells of another save."""
    edited(daemon, 1)
    slowly(daemon)
    known: list[dict[str, Any]] = []

    def save(text: str) -> None:
        (daemon.root / "f0").write_text(f"{text}\n\n\n\nafter f0\n\n\n\nlast\n")

    def keep_saving(turn: int) -> None:
        (call,) = daemon.app.waiting
        if turn == 0:
            save("found by the look")
        elif call.thought is None and call.looks is not None and call.looks.files and not known:
            known.append(dict(call.looks.files))
            save("told of by the watcher")
            daemon.seen("f0")

    reply = asked(daemon, "undo", keep_saving)
    assert known
    assert [(file["action"], file["skipped"]) for file in reply["files"]] == [("write", None)]
    assert daemon.text("f0") == "told of by the watcher\n\n\n\nbefore f0\n\n\n\nlast\n"


def test_a_thought_ends_with_the_time_of_its_caller(daemon: Daemon) -> None:
    edited(daemon, 1)
    slowly(daemon)
    daemon.server.replies.clear()
    daemon.app.turn([incoming("ann", "undo", {"plan": True})])
    assert daemon.app.long_decisions.patience_s() == 0.0
    (call,) = daemon.app.waiting
    call.deadline_ns, call.retry_s = 1, 0.0
    daemon.app.turn([])
    assert daemon.server.replies[b"ann"]["error"] == "expired"
    assert daemon.app.long_decisions.patience_s() is None


@pytest.mark.parametrize(("tool", "args"), [("undo", {}), ("log", {"patch": True})])
def test_who_waits_for_a_thought_when_the_daemon_stops_is_told(daemon: Daemon, tool: str, args: dict[str, Any]) -> None:
    edited(daemon, 1)
    slowly(daemon)
    daemon.server.replies.clear()
    daemon.app.turn([incoming("ann", tool, args)])
    for _ in range(100):
        if daemon.app.long_decisions.patience_s() is not None:
            break
        daemon.app.turn([])
    daemon.app.waiting.end()
    assert daemon.server.replies[b"ann"]["error"] == "busy"
    assert daemon.text("f0") == "first\n\n\n\nafter f0\n\n\n\nlast\n"


def test_records_of_many_writes_are_noted_in_portions_between_which_others_write(daemon: Daemon) -> None:
    edited(daemon, MANY + 2 * PORTION)
    slowly(daemon)
    noted: list[int] = []

    def edit(turn: int) -> None:
        before = daemon.app.recorder.journal.head
        if daemon.app.performer.patience_s() is not None:
            assert at_once(daemon, "ben", ("write_file", {"path": f"beside{turn}", "content": "x\n"}))["ok"]
            noted.append(daemon.app.recorder.journal.head - before)

    assert asked(daemon, "undo", edit)["ok"]
    assert max(noted) <= PORTION + 4  # ben's own beside it
    assert len([n for n in noted if n > PORTION // 2]) >= 2


def test_an_undo_of_which_the_log_takes_only_a_part_is_not_made_and_the_log_says_so(daemon: Daemon) -> None:
    names = edited(daemon, MANY + 3 * PORTION)
    before = daemon.app.recorder.journal.head
    slowly(daemon)

    def full(turn: int) -> None:
        def refuse() -> None:
            if daemon.app.performer.patience_s() is not None and daemon.app.recorder.journal.head > before + PORTION:
                raise StoreFailure("no space left", disk_full=True)

        daemon.store.fault = refuse

    reply = asked(daemon, "undo", full)
    daemon.store.fault = None
    assert (reply["ok"], reply["outcome"]) == (False, "not_applied")
    assert {daemon.text(name) for name in names} == {f"first\n\n\n\nafter {n}\n\n\n\nlast\n" for n in names}
    daemon.clock.ticks_s = 0.0
    assert daemon.turn(ann=read(names[0]))["ann"]["ok"]
    with daemon.app.recorder.history() as history:
        events = [record.event() for record in history.records(after=before)]
        heads = {head.type for head in map(history.file, names) if head}
    assert any(isinstance(event, WritesAbandoned) for event in events)
    assert not any(isinstance(event, BatchUndone) for event in events)
    assert "undo" not in heads
    assert daemon.turn(ann=("undo", {}))["ann"]["ok"]
    assert list(check(daemon.store)) == []
