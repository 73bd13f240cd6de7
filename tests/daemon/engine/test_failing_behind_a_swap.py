"""A disk that fails behind the step that changed a path: what landed stands, or is taken back, and is told as it is."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from daemon_turns import Daemon, incoming, read

from quire_daemon.commit.recorder import Recorder
from quire_daemon.ops.daemon_log import Log
from quire_daemon.startup.recovery import recover
from quire_daemon.startup.recovery_context import RecoveryContext
from quire_daemon.workspace.workspace import Workspace
from quire_journal.journal import Journal
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import TABLES, JournalGone, JournalUnseen, StoreFailure

LIMIT = 1 << 20
PATCH = """*** Begin Patch
*** Update File: a
-one
+ONE
*** Update File: b
-two
+TWO
*** End Patch"""

EDIT = ("edit_replace", {"path": "a", "old_text": "one", "new_text": "ONE"})
MAKE = ("write_file", {"path": "folder/new", "content": "made\n"})
DELETE = ("delete_file", {"path": "a"})
MOVE = ("move_file", {"path": "a", "to": "moved"})
MANY = ("apply_patch", {"patch": PATCH})


class Failing:
    """Steps at which the disk fails, each once: at the n-th passing."""

    def __init__(self, **steps: int) -> None:
        self._left = {name.replace("_", ".", 1): passing for name, passing in steps.items()}

    def __call__(self, step: str) -> None:
        if step in self._left:
            self._left[step] -= 1
            if self._left[step] == 0:
                raise OSError(errno.EIO, "Input/output error")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    it = Daemon(tmp_path)
    for name, text in (("a", "one\n"), ("b", "two\n")):
        (it.root / name).write_text(text)
        assert it.turn(ann=read(name))["ann"]["ok"]
    it.app.commit_noted()
    yield it
    it.app.close()


def disk(at: Daemon) -> dict[str, str]:
    """Every file of the checkout."""
    files = (path for path in at.root.rglob("*") if path.is_file() and ".quire" not in path.parts)
    return {str(path.relative_to(at.root)): path.read_text() for path in sorted(files)}


BEFORE = {"a": "one\n", "b": "two\n"}
AFTER: dict[str, dict[str, str]] = {
    "edit": {**BEFORE, "a": "ONE\n"},
    "make": {**BEFORE, "folder/new": "made\n"},
    "delete": {"b": "two\n"},
    "move": {"b": "two\n", "moved": "one\n"},
    "many": {"a": "ONE\n", "b": "TWO\n"},
}
CALLS = {"edit": EDIT, "make": MAKE, "delete": DELETE, "move": MOVE, "many": MANY}


def called(at: Daemon, name: str, op: bytes = b"op") -> dict[str, Any]:
    """The reply to the call, which is made as the operation `op`."""
    at.server.replies.clear()
    at.app.turn([incoming("ann", *CALLS[name], op)])
    return at.server.replies[b"ann"]


def op_status(at: Daemon, op: bytes = b"op") -> dict[str, Any]:
    return at.turn(bob=("op_status", {"op": op.hex()}))["bob"]


def started_again(at: Daemon) -> str:
    """What the log says of the operation after a start on what is there now."""
    workspace, store = Workspace(at.root), MemoryStore()
    with at.store.reading() as r, store.writing() as w:
        for table in TABLES:
            w.put_all(table, [*r.scan(table)])
    recorder = Recorder(Journal.open(store, at.clock.now_ns()), at.clock)
    recover(RecoveryContext(recorder, workspace, Log(), LIMIT))
    workspace.close()
    with recorder.history() as history:
        batch = history.op(b"op")
        return "unknown to it" if batch is None else history.batch_state(batch)


ONCE = [
    ("edit", {"perform_exchanged": 1}),
    ("edit", {"perform_verified": 1}),
    ("delete", {"perform_removed": 1}),
    ("move", {"perform_moved": 1}),
    ("many", {"perform_exchanged": 1}),
    ("many", {"perform_exchanged": 2}),
    ("many", {"after_write": 2}),
]


@pytest.mark.parametrize(("name", "steps"), ONCE)
def test_a_write_behind_which_the_disk_fails_is_taken_back_and_told_so(
    name: str, steps: dict[str, int], daemon: Daemon
) -> None:
    """Its bytes stayed on disk, and the log and `op_status` said that it was not made."""
    daemon.at_step = Failing(**steps) if "after_write" not in steps else at_after_write(steps["after_write"])
    reply = called(daemon, name)
    daemon.at_step = lambda step: None
    assert (reply["ok"], reply["error"], reply["outcome"]) == (False, "fault", "not_applied"), reply
    assert disk(daemon) == BEFORE
    assert op_status(daemon)["outcome"] == "not_applied"
    assert not daemon.app.stopping
    assert called(daemon, name)["ok"]
    assert disk(daemon) == AFTER[name]
    assert op_status(daemon)["outcome"] == "applied"


def at_after_write(passing: int) -> Callable[[str], None]:
    failing = Failing(after_write=passing)
    return lambda step: failing("after.write" if step == "after_write" else step)


@pytest.mark.parametrize(
    ("name", "steps"), [("make", {"perform_created": 1}), ("edit", {"discard_unlinked": 1}), ("many", {"none": 1})]
)
def test_what_fails_behind_a_write_that_stands_takes_nothing_back(
    name: str, steps: dict[str, int], daemon: Daemon
) -> None:
    daemon.at_step = Failing(**steps)
    assert called(daemon, name)["outcome"] == "applied"
    assert disk(daemon) == AFTER[name]
    assert op_status(daemon)["outcome"] == "applied"


TWICE = [
    ("edit", {"perform_exchanged": 1, "perform_conflict": 1}),
    ("delete", {"perform_removed": 1, "perform_conflict": 1}),
    ("move", {"perform_moved": 1, "perform_conflict": 1}),
    ("many", {"perform_exchanged": 2, "perform_conflict": 1}),
]


@pytest.mark.parametrize(("name", "steps"), TWICE)
def test_what_cannot_be_taken_back_either_is_left_to_the_next_start_which_settles_it(
    name: str, steps: dict[str, int], daemon: Daemon
) -> None:
    """It was told as not made. The daemon ends, as nobody knows what stands there."""
    daemon.at_step = Failing(**steps)
    reply = called(daemon, name)
    assert (reply["ok"], reply["outcome"], reply["op"]) == (False, "unknown", b"op".hex()), reply
    assert daemon.app.stopping
    assert op_status(daemon)["outcome"] == "unknown"
    again = called(daemon, name)
    assert (again["ok"], again["error"], again["outcome"]) == (False, "busy", "unknown")
    assert daemon.turn(eve=("write_file", {"path": "c", "content": "beside\n"}))["eve"]["ok"]
    daemon.app.commit_noted()
    assert op_status(daemon)["outcome"] == "unknown"  # what has landed since is no proof of it
    assert started_again(daemon) == "applied"
    assert disk(daemon) == {**AFTER[name], "c": "beside\n"}


def test_of_several_writes_the_one_that_cannot_be_taken_back_goes_on_standing_in_the_log(daemon: Daemon) -> None:
    """The file has been opened by a program that writes, when the second write fails."""
    steps = at_after_write(2)
    held: list[Any] = []

    def step(name: str) -> None:
        if name == "after_write" and not held:
            held.append((daemon.root / "a").open("r+b"))
        steps(name)

    daemon.at_step = step
    reply = called(daemon, "many")
    held[0].close()
    assert (reply["ok"], reply["outcome"]) == (False, "unknown")
    assert "except in a:" in reply["message"]
    assert disk(daemon) == {"a": "ONE\n", "b": "two\n"}
    told = op_status(daemon)
    assert (told["outcome"], told["taken_back"]) == ("applied", ["b"])
    again = called(daemon, "many")
    assert (again["repeated"], again["path"], again["taken_back"]) == (True, "a", ["b"])
    assert started_again(daemon) == "applied"
    assert disk(daemon) == {"a": "ONE\n", "b": "two\n"}


def test_what_was_taken_back_while_the_journal_takes_nothing_is_not_called_applied_because_others_landed(
    daemon: Daemon,
) -> None:
    """Two calls of one turn: the first is taken back, which the journal cannot be told, and the second lands."""

    def full() -> None:
        raise StoreFailure("the disk is full", disk_full=True)

    def step(name: str) -> None:
        if name == "perform.exchanged" and daemon.store.fault is None:
            daemon.store.fault = full
            raise OSError(errno.EIO, "Input/output error")

    daemon.at_step = step
    other = ("edit_replace", {"path": "b", "old_text": "two", "new_text": "TWO"})
    daemon.app.turn([incoming("ann", *EDIT, b"op"), incoming("bob", *other, b"other")])
    assert [daemon.server.replies[name]["outcome"] for name in (b"ann", b"bob")] == ["unknown", "applied"]
    assert [op_status(daemon, op)["outcome"] for op in (b"op", b"other")] == ["unknown", "applied"]
    daemon.store.fault = None
    daemon.app.commit_noted()
    assert [op_status(daemon, op)["outcome"] for op in (b"op", b"other")] == ["not_applied", "applied"]
    assert disk(daemon) == {"a": "one\n", "b": "TWO\n"}


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (JournalGone("the journal was removed"), "not_applied"),
        (JournalGone("the journal was removed", unsure=True), "unknown"),
        (JournalUnseen("the journal could not be looked at after a commit"), "unknown"),
        (StoreFailure("could not begin to write"), "not_applied"),
        (StoreFailure("could not sync", for_good=True), "unknown"),
        (StoreFailure("the disk is full, and the next start may make it", disk_full=True, for_good=True), "unknown"),
        (StoreFailure("nothing is written since a commit failed", for_good=True, unsure=False), "not_applied"),
    ],
)
def test_only_what_a_start_can_never_find_is_told_as_not_made(
    error: StoreFailure, outcome: str, daemon: Daemon
) -> None:
    """Whatever failed behind a commit that was made counted as a journal that is gone."""

    def fails() -> None:
        raise error

    daemon.store.fault = fails
    assert called(daemon, "edit")["outcome"] == outcome
    assert disk(daemon) == BEFORE
    assert daemon.app.stopping == isinstance(error, JournalGone | JournalUnseen)
    daemon.store.fault = None
    assert op_status(daemon)["outcome"] == outcome  # it is not in the log that is seen here; another may show
