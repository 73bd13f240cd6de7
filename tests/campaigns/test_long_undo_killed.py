"""kill -9 while an undo of many files is written in slices, and others edit between them."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

import live
from live import Live, caught_up, eventually, ok, verified
from quire_daemon.engine.perform import MANY

pytestmark = [pytest.mark.real, pytest.mark.timeout(live.length(60, 600))]

FILES = [f"part{n // 20}/f{n}.txt" for n in range(MANY + 16)]

LAST_PORTION = 3
"""Of the records of an undo of so many files."""

KILLS = [
    ("after_write", MANY // 2),
    ("after_portion", 1),
    ("after_portion", 2),
    ("after_portion", LAST_PORTION),
    ("stage.named", MANY),
    ("stage.written", MANY // 2),
    ("after_stage", 1),
    ("perform.exchanged", MANY),
    ("perform.base_held", 3),
]
"""Where, and at which passing. Edits beside pass these steps, too, so it may be before the undo has begun."""

TRIES = 20
"""Undos at most until a save comes between the decision of one and its last swap."""


def edited_beside(at: Live, stop: threading.Event, told: list[dict[str, Any]]) -> None:
    """Count a file up until told to stop, or until the daemon dies; what was told of each edit."""
    with at.connect("bob", timeout_s=20) as bob:
        while not stop.is_set():
            change = {"old_text": f"edit {len(told)} ", "new_text": f"edit {len(told) + 1} "}
            told.append(bob.call("edit_replace", {"file": "beside.txt", **change}))
            if told[-1].get("outcome") == "unknown":
                return
            ok(told[-1])


@pytest.mark.parametrize(("step", "passing"), KILLS if live.LONG else KILLS[:2])
def test_a_kill_within_a_long_undo_leaves_all_of_it_done_and_every_edit_beside_it(
    daemon, step: str, passing: int
) -> None:
    at = daemon()
    for name in FILES:
        at.write(name, "before\n")
    at.write("beside.txt", "edit 0 \n")
    with at.connect("ada") as ada:
        eventually("the first capture", lambda: ok(ada.call("status", {}))["capture"]["finished"])
        for name in FILES:
            ok(ada.call("edit_replace", {"file": name, "old_text": "before", "new_text": "after"}))
    at.kill()
    with at.fault(step, passing), at.connect("ada", timeout_s=20) as ada:
        ok(ada.call("read_file", {"path": "beside.txt"}))
        stop, told = threading.Event(), list[dict[str, Any]]()
        other = threading.Thread(target=edited_beside, args=(at, stop, told))
        other.start()
        reply = ada.call("undo", {"last": len(FILES)})
        stop.set()
        other.join()
    at.kill()  # bob may have started the next one before he was told to stop
    with at.connect("boss") as boss:
        assert reply["outcome"] == "unknown", reply
        applied = ok(boss.call("op_status", {"op": reply["op"]}))["outcome"] == "applied"
        assert {at.read(name) for name in FILES} == {b"before\n" if applied else b"after\n"}
        assert applied or step != "after_portion" or passing < LAST_PORTION
        done = [n for n, one in enumerate(told, 1) if one.get("ok")]
        for number, one in enumerate(told, 1):
            if one.get("outcome") == "unknown" and "op" in one:
                said = ok(boss.call("op_status", {"op": one["op"]}))["outcome"]
                done += [number] if said == "applied" else []
        assert at.read("beside.txt") == b"edit %d \n" % max(done, default=0)
        verified(boss)
        eventually("nothing is left of it", lambda: not [*(at.root / ".quire/tmp").iterdir()])


@pytest.mark.skipif(not live.LONG, reason="tests/daemon/engine/test_writing_in_slices.py has it without a process")
@pytest.mark.parametrize("passing", [1, 2])
def test_a_kill_while_the_log_is_told_that_it_was_taken_back_leaves_none_of_it(daemon, passing: int) -> None:
    at = daemon()
    for name in FILES:
        at.write(name, "before\n")
    with at.connect("ada") as ada:
        eventually("the first capture", lambda: ok(ada.call("status", {}))["capture"]["finished"])
        for name in FILES:
            ok(ada.call("edit_replace", {"file": name, "old_text": "before", "new_text": "after"}))
    at.kill()
    with at.fault("after_abandon", passing), at.connect("ada", timeout_s=20) as ada:
        ok(ada.call("read_file", {"path": FILES[0]}))
        stop, undoing = threading.Event(), threading.Event()

        def save() -> None:
            """Save while the files of the undo are staged. A save before its decision has it decided anew."""
            saves = 0
            while not stop.wait(0.0002):
                if undoing.is_set() and os.listdir(at.root / ".quire/tmp"):
                    saves += 1
                    at.write(FILES[-1], f"saved {saves}\n\n\n\nafter\n")

        saving = threading.Thread(target=save)
        saving.start()
        for _ in range(TRIES):
            undoing.set()
            reply = ada.call("undo", {"last": len(FILES)})
            undoing.clear()
            if reply["outcome"] == "unknown":
                break
            ok(ada.call("redo", {}))  # the last file was swapped before the first save
        stop.set()
        saving.join()
    at.kill()
    with at.connect("boss") as boss:
        assert reply["outcome"] == "unknown", reply
        assert ok(boss.call("op_status", {"op": reply["op"]}))["outcome"] == "not_applied"
        assert {at.read(name) for name in FILES[:-1]} == {b"after\n"}
        assert at.read(FILES[-1]).endswith(b"\n\n\nafter\n")
        caught_up(boss)
        verified(boss)
