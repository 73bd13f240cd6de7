"""kill -9 at random moments and at every numbered step: what was acknowledged is there, and nothing is torn.

What is edited at random moments are the files of `counting`.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import stat
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import live
import quire_client
from live import Live, caught_up, eventually, ok, replacing, verified
from quire_daemon.engine import perform
from quire_daemon.workspace import swap
from quire_journal.text.line_hash import line_id

sys.path.insert(0, str(Path(__file__).parent))
from counting import FILES, FILLING, Writer, scratch, slot_line, slots

pytestmark = [pytest.mark.real, pytest.mark.timeout(live.length(60, 3600))]


def no_leftovers(at: Live) -> None:
    """The temporary files of dead runs go; what was displaced is watched for a moment before it does."""
    eventually("there are no temporary files", lambda: not list((at.root / ".quire" / "tmp").glob("*")))


def test_random_kills_lose_no_acknowledged_edit(daemon) -> None:
    """Each round: some edits are acknowledged, and a random moment later the daemon is killed. Short: two rounds."""
    at = daemon()
    scratch(at)
    writers = [Writer(at, "ada", live.SEED), Writer(at, "bob", live.SEED + 1)]
    chance = random.Random(live.SEED)
    for round_number in range(live.length(2, 200)):
        at.connect("boss").close()  # starts the daemon, which recovers
        stop = threading.Event()
        threads = [threading.Thread(target=writer.run, args=[stop]) for writer in writers]
        for thread in threads:
            thread.start()
        told = sum(len(writer.versions) for writer in writers) + chance.randint(4, live.length(8, 40))
        eventually(
            "enough edits are acknowledged",
            lambda told=told, threads=threads: (
                sum(len(writer.versions) for writer in writers) >= told
                or not any(thread.is_alive() for thread in threads)
            ),
        )
        time.sleep(chance.uniform(0, 0.02))
        stop.set()
        at.kill()
        for thread in threads:
            thread.join()
        boss = at.connect("boss")
        where = f"after kill {round_number}, seed {live.SEED}"
        for writer in writers:
            assert not writer.faults, (where, writer.faults)
            writer.settle(boss)
            writer.seed += 2
        for path in FILES:
            slots(at.read(path))
        if round_number % 10 == 5:
            verified(boss)
        boss.close()
    boss = at.connect("boss")
    verified(boss)
    for writer in writers:
        writer.check_history(boss)
    assert sum(len(writer.versions) for writer in writers) >= 4 * live.length(2, 200), "the campaign edited too little"
    no_leftovers(at)


def linked_scratch(at: Live, folder: str) -> None:
    """The files of one workload: two with slots, one of them with a second name; three to move, rename and delete."""
    content = f"begin\n{slot_line('ada', 0)}\n{FILLING}{slot_line('bob', 0)}\nend\n"
    for name in ("edited", "left", "moving", "renaming", "deleted"):
        at.write(f"{folder}/{name}.txt", content)
    (at.root / folder / "right.txt").hardlink_to(at.root / folder / "left.txt")


def workload(at: Live, folder: str, told: list[tuple[str, dict[str, Any]]]) -> None:
    """One of each kind of write, and what was told of it; ends early when the daemon dies."""
    client = at.connect("ada", timeout_s=20)
    try:
        before = made_and_removed(at.root / folder / "kept", client)
        edited = ok(client.call("read_file", {"path": f"{folder}/edited.txt", "hashes": True}))
        left = ok(client.call("read_file", {"path": f"{folder}/left.txt", "hashes": True}))
        for step, tool, args in (
            ("edited", "edit", replacing(edited, "slot ada", slot_line("ada", 1))),
            ("linked", "edit", replacing(left, "slot ada", slot_line("ada", 1))),
            ("born", "write_file", {"path": f"{folder}/new/born.txt", "content": "born\n"}),
            ("moved", "move_file", {"path": f"{folder}/moving.txt", "to": f"{folder}/moved.txt"}),
            ("renamed", "hashline_edit", renaming(folder)),
            ("restored", "restore", {"path": f"{folder}/kept", "at": f"seq:{before}"}),
            ("deleted", "delete_file", {"path": f"{folder}/deleted.txt"}),
            ("undone", "undo", {}),
        ):
            reply = client.call(tool, args)
            told.append((step, reply))
            if reply.get("outcome") == "unknown":
                return
        time.sleep(0.1)  # some steps come when the loop is idle again
    finally:
        client.close()


def made_and_removed(kept: Path, client: Any) -> str:
    """A link, an empty folder, and a file where an empty folder is now, which are there no more; the record before
    their end.
    """
    (kept / "empty").mkdir(parents=True)
    (kept / "empty").chmod(0o751)
    (kept / "link").symlink_to("empty")
    (kept / "file").write_text("file\n")
    before = caught_up(client)[1:].partition(".")[0]
    shutil.rmtree(kept)
    (kept / "file").mkdir(parents=True)
    caught_up(client)
    return before


def renaming(folder: str) -> dict[str, Any]:
    """Arguments of an edit that also renames: two writes, of which the second removes the old name."""
    edits = [{"target": f"2#{line_id(slot_line('ada', 0).encode())}", "new_content": [slot_line("ada", 1)]}]
    return {"path": f"{folder}/renaming.txt", "edits": edits, "rename": f"{folder}/new/name/renamed.txt"}


def found(at: Live, folder: str) -> dict[str, Any]:
    """What the workload changes, as the disk has it."""
    top = at.root / folder
    assert slots((top / "right.txt").read_bytes()) == {"ada": 0, "bob": 0}, "the other name keeps the old bytes"
    renamed = top / "new/name/renamed.txt"
    if renamed.exists():
        assert slots(renamed.read_bytes()) == {"ada": 1, "bob": 0}
    return {
        "edited": slots((top / "edited.txt").read_bytes()) == {"ada": 1, "bob": 0},
        "linked": slots((top / "left.txt").read_bytes()) == {"ada": 1, "bob": 0},
        "born": (top / "new/born.txt").exists() and (top / "new/born.txt").read_bytes() == b"born\n",
        "moved": ((top / "moving.txt").exists(), (top / "moved.txt").exists()),
        "renamed": ((top / "renaming.txt").exists(), renamed.exists()),
        "restored": restored(top / "kept"),
        "deleted": not (top / "deleted.txt").exists(),
    }


def restored(kept: Path) -> bool:
    """Have the link, the empty folder and the file come back? All or none, and as they were."""
    link, empty, file = kept / "link", kept / "empty", kept / "file"
    assert link.is_symlink() == empty.exists() == file.is_file(), sorted(kept.rglob("*"))
    if not link.is_symlink():
        assert file.is_dir() or not kept.exists(), "the folder has gone, and nothing has come"
        return False
    return (os.readlink(link), stat.S_IMODE(empty.stat().st_mode), file.read_text()) == ("empty", 0o751, "file\n")


def promised(boss: Any, told: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """The same by what the caller was told, and by what `op_status` says of the step that was cut off."""
    done = dict.fromkeys(("edited", "linked", "born", "moved", "renamed", "restored", "deleted", "undone"), False)
    for step, reply in told:
        if reply.get("outcome") == "unknown":
            said = ok(boss.call("op_status", {"op": reply["op"]}))["outcome"]
            assert said in ("applied", "not_applied"), said
            done[step] = said == "applied"
        else:
            done[step] = bool(ok(reply))
    undone = done.pop("undone")
    places = {step: (not done[step], done[step]) for step in ("moved", "renamed")}
    return {**done, **places, "deleted": done["deleted"] and not undone}


IN_A_RACE = {"perform.conflict", "perform.put_back", "discard.unlinked", "revert.base_held", "after_abandon"}
"""Steps that come when an outside program is faster (`test_outside_race.py` kills there), or in the recovery."""

OF_MANY = {"after_portion"}
"""Steps that come when many files are undone (`test_long_undo_killed.py`)."""

OF_A_FOLD = ("before_fold", "after_fold", "before_publish", "after_publish")
"""Steps that come behind the answers, of a start's first turns, too."""

GROUPS: dict[str, list[str]] = {}
for _step in dict.fromkeys((*perform.STEPS, *swap.STEPS)):
    if _step not in {*IN_A_RACE, *OF_MANY, *OF_A_FOLD}:
        GROUPS.setdefault(_step.rpartition(".")[0] or "loop", []).append(_step)
if not live.LONG:  # the workspace's own steps are met one by one, without a daemon, in tests/crash
    GROUPS = {"some": ["after_commit", "after_write", "before_reply", "perform.exchanged"]}


@dataclass
class Crash:
    """One workload that a daemon was made to die in, and what the caller was told."""

    step: str
    passing: int
    told: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    @property
    def folder(self) -> str:
        """Where its files are."""
        return f"{self.step}-{self.passing}"

    def check(self, at: Live, boss: Any, last: bool = True) -> None:
        """The disk, the journal and the caller agree. Short: the journal is checked after the last; damage stays."""
        assert promised(boss, self.told) == found(at, self.folder), self
        if last or live.LONG:
            verified(boss)


def started_with_fault(at: Live, step: str, passing: int) -> bool:
    """Start a daemon that will kill itself. False when it did so at once, in its recovery: that is made up for then."""
    try:
        with at.fault(step, passing):
            at.connect("boss").close()
    except quire_client.NoDaemon:
        at.connect("boss").close()
        at.kill()
        return False
    return True


@pytest.mark.parametrize("group", GROUPS)
def test_a_kill_at_each_step_of_the_write_path_leaves_what_was_told(daemon, group: str) -> None:
    """One journal through all of these crashes; each start recovers from the one before, and may itself be killed.

    Short: the first passing of each step by a call. Long: every passing, until the workload is through.
    """
    at = daemon()
    at.write("begun.txt", "begun\n")
    before: Crash | None = None
    for step in GROUPS[group]:
        deaths = 0
        for passing in range(1, 100):
            crash = Crash(step, passing)
            linked_scratch(at, crash.folder)
            if not started_with_fault(at, step, passing) and not started_with_fault(at, step, passing):
                continue  # every start passes it
            with at.connect("boss") as boss:
                if before:
                    before.check(at, boss, last=False)
            before = crash
            doomed = at.daemon_pid()
            workload(at, crash.folder, crash.told)
            met = at.died(doomed)
            deaths += met
            at.kill()  # the one that still carries the fault, or one that the client has started since
            if not met or not live.LONG:
                break
        assert deaths, f"no call of the workload passed {step!r}"
    with at.connect("boss") as boss:
        assert before
        before.check(at, boss)
    no_leftovers(at)


@pytest.mark.parametrize("step", OF_A_FOLD)
def test_a_kill_at_a_fold_loses_nothing_that_was_answered_before(daemon, step: str) -> None:
    at = daemon()
    scratch(at)
    writers = [Writer(at, "ada", live.SEED), Writer(at, "bob", live.SEED + 1)]
    deaths = 0
    for passing in live.length((9,), (1, 2, 3, 5, 8, 13, 21, 34, 55)):
        with at.fault(step, passing), contextlib.suppress(quire_client.NoDaemon):
            at.connect("boss").close()
        doomed = at.daemon_pid()
        stop = threading.Event()
        threads = [threading.Thread(target=writer.run, args=[stop]) for writer in writers]
        for thread in threads:
            thread.start()
        deaths += at.died(doomed, 15.0)
        stop.set()
        for thread in threads:
            thread.join()
        at.kill()
        with at.connect("boss") as boss:
            for writer in writers:
                assert not writer.faults, (step, passing, writer.faults)
                writer.settle(boss)
                writer.check_history(boss)
                writer.seed += 2
            verified(boss)
        at.kill()
    assert deaths
    assert sum(len(writer.versions) for writer in writers)


@pytest.mark.wide
@pytest.mark.parametrize("passing", [1, 2] if live.LONG else [1])
def test_a_kill_between_the_two_writes_of_an_edit_that_renames_leaves_what_was_told(daemon, passing: int) -> None:
    at = daemon()
    crash = Crash("after_write", passing)
    linked_scratch(at, crash.folder)
    with at.fault(crash.step, passing):
        client = at.connect("ada", timeout_s=20)
    reply = client.call("hashline_edit", renaming(crash.folder))
    assert reply["outcome"] == "unknown"
    crash.told.append(("renamed", reply))
    eventually("the daemon has died", lambda: not at.pids())
    assert (at.root / crash.folder / "new/name/renamed.txt").exists()
    assert (at.root / crash.folder / "renaming.txt").exists() == (passing == 1)
    with at.connect("boss") as boss:
        crash.check(at, boss)
        assert ok(boss.call("op_status", {"op": reply["op"]}))["outcome"] == "applied"
    no_leftovers(at)


RECOVERING = [("perform.exchanged", "discard.unlinked")] + [
    ("after_commit", step)
    for step in swap.STEPS
    if step.startswith("stage.") or step in ("perform.base_held", "perform.exchanged", "perform.verified")
]
"""Where the daemon dies, and where the next one dies while it recovers."""


def test_a_kill_in_the_middle_of_the_recovery_is_recovered_from(daemon) -> None:
    """Running the recovery twice is the same as running it once."""
    at = daemon()
    at.write("begun.txt", "begun\n")
    for first, second in RECOVERING if live.LONG else RECOVERING[::5]:
        crash = Crash(first, RECOVERING.index((first, second)))
        linked_scratch(at, crash.folder)
        with at.fault(first):
            workload(at, crash.folder, crash.told)
        eventually("the daemon has died", lambda: not at.pids())
        with at.fault(second), pytest.raises(quire_client.NoDaemon):
            at.connect("boss")
        eventually(f"the next one has died at {second}", lambda: not at.pids())
        with at.connect("boss") as boss:
            crash.check(at, boss)
        at.kill()
