"""Killed at each step of a write: no bytes are gone, the path is whole, and the next start finds what is left."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import live
from quire_daemon.clock import SystemClock
from quire_daemon.commit.recorder import Recorder
from quire_daemon.ops.daemon_log import Log
from quire_daemon.startup.recovery import recover
from quire_daemon.startup.recovery_context import RecoveryContext
from quire_daemon.workspace.swap import STEPS
from quire_daemon.workspace.types import DisplacedBytes
from quire_daemon.workspace.workspace import Workspace
from quire_journal.journal import Journal
from quire_journal.model.events import FOLDER, LINK, FileMoved, FileWritten, OutsideDeleted, OutsideWritten
from quire_journal.model.ids import WriterId, blob_id
from quire_journal.storage.memory import MemoryStore

sys.path.insert(0, str(Path(__file__).parent))
import one_write
from one_write import NEW, OLD, SECOND, THEIRS

PASSED = {
    "edit": ("stage.written stage.synced stage.named perform.base_held perform.exchanged perform.verified"),
    "create": "stage.written stage.synced stage.named perform.folders_made perform.created",
    "remove": "perform.base_held perform.removed",
    "move": "perform.base_held perform.folders_made perform.moved",
    "edit_and_rename": "stage.synced perform.created perform.base_held perform.removed",
    "make_link": "perform.folders_made perform.made",
    "make_folder": "perform.folders_made perform.made",
    "clear": "perform.cleared",
    "race": "perform.exchanged perform.conflict perform.put_back",
    "race_of_three": "perform.conflict perform.put_back discard.unlinked",
    "raced_removal": "perform.removed perform.conflict perform.put_back",
    "swap_back": "revert.base_held perform.exchanged perform.verified",
}
"""The steps of each story of `one_write.py`."""

CASES = [(story, step) for story, steps in PASSED.items() for step in steps.split()]


@dataclass
class After:
    """What is there when the process is dead."""

    path: bytes | None
    left: list[DisplacedBytes]

    @property
    def everything(self) -> set[bytes]:
        return {kept.data for kept in self.left} | ({self.path} if self.path is not None else set())


@pytest.fixture(scope="module")
def teller() -> Iterator[subprocess.Popen[str]]:
    """`one_write.py`, which has a child of its own for each story: an interpreter for each would be slow to start."""
    env = {**os.environ, "PYTHONPATH": os.fspath(Path(live.__file__).parent)}
    command = [sys.executable, one_write.__file__]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.communicate(timeout=30)
    assert process.returncode == 0


def kill_at(teller: subprocess.Popen[str], root: Path, story: str, step: str) -> Workspace:
    """Run the story up to the step; the workspace as the next run opens it."""
    (root / "f").write_bytes(OLD)
    assert teller.stdin is not None
    assert teller.stdout is not None
    teller.stdin.write(f"{root}\t{story}\t{step}\n")
    teller.stdin.flush()
    assert int(teller.stdout.readline()) == -9, f"{step} was not reached"
    return Workspace(root)


def read_if_there(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


@pytest.mark.parametrize(("story", "step"), CASES, ids=[f"{story}-{step}" for story, step in CASES])
def test_a_kill_leaves_everything_to_be_found(
    teller: subprocess.Popen[str], tmp_path: Path, story: str, step: str
) -> None:
    workspace = kill_at(teller, tmp_path, story, step)
    after = After(read_if_there(tmp_path / "f"), workspace.leftovers(1 << 20))
    assert all(kept.seq == 7 for kept in after.left)
    CHECKS[story](tmp_path, after, step)
    workspace.discard(after.left)
    assert os.listdir(tmp_path / ".quire/tmp") == []
    workspace.close()


def check_edit(root: Path, after: After, step: str) -> None:
    """Old or new at the path, whole, and the other one (once it has a name) beside it."""
    assert after.path in (OLD, NEW)
    assert OLD in after.everything
    assert (after.path == NEW) == step.startswith(("perform.exch", "perform.ver"))


def check_create(root: Path, after: After, step: str) -> None:
    made = read_if_there(root / "a/b/made")
    assert made == (NEW if step == "perform.created" else None)
    assert made == NEW or NEW in after.everything or step.startswith("stage.")


def check_remove(root: Path, after: After, step: str) -> None:
    assert OLD in after.everything
    assert (after.path is None) == (step == "perform.removed")


def check_move(root: Path, after: After, step: str) -> None:
    moved = read_if_there(root / "a/moved")
    assert (after.path, moved) == ((None, OLD) if step == "perform.moved" else (OLD, None))


def check_edit_and_rename(root: Path, after: After, step: str) -> None:
    """The old bytes stay until the new file is there; and the next start finishes what was promised."""
    renamed = read_if_there(root / "a/renamed")
    assert OLD in after.everything
    assert renamed == (None if step == "stage.synced" else NEW)
    assert (after.path is None) == (step == "perform.removed")
    recover_rename(root)
    assert (read_if_there(root / "f"), read_if_there(root / "a/renamed")) == (None, NEW)


def recover_rename(root: Path) -> None:
    """The next start, with a journal in which record 7 is the promise."""
    clock = SystemClock()
    recorder = Recorder(Journal.open(MemoryStore(), clock.now_ns()), clock)
    recorder.note_blob(OLD, "f")
    base = recorder.note(OutsideWritten("f", blob_id(OLD), len(OLD), 0o644, "captured"))
    while recorder.next_seq < 7:
        recorder.note(OutsideDeleted("another", "captured"))
    recorder.note_blob(NEW, "f")
    recorder.note(FileMoved("f", "a/renamed", blob_id(NEW), len(NEW), 0o644, base), WriterId(1))
    recorder.commit()
    workspace = Workspace(root)
    recover(RecoveryContext(recorder, workspace, Log(), 1 << 20))
    workspace.close()


def check_make_link(root: Path, after: After, step: str) -> None:
    link = root / "a/link"
    assert link.is_symlink() == (step == "perform.made")
    recover_making(root, "a/link", LINK, b"../f", 0o777)
    assert os.readlink(link) == "../f"


def check_make_folder(root: Path, after: After, step: str) -> None:
    folder = root / "a/folder"
    assert folder.exists() == (step == "perform.made")
    recover_making(root, "a/folder", FOLDER, b"", 0o751)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o751


def recover_making(root: Path, path: str, entry: int, target: bytes, mode: int) -> None:
    """The next start, and one more, with a journal that promises a link or a folder."""
    clock = SystemClock()
    recorder = Recorder(Journal.open(MemoryStore(), clock.now_ns()), clock)
    if target:
        recorder.note_blob(target, path)
    blob = blob_id(target) if target else b""
    recorder.note(FileWritten(path, blob, len(target), mode, 0, entry=entry), WriterId(1))
    recorder.commit()
    for _ in range(2):
        workspace = Workspace(root)
        recover(RecoveryContext(recorder, workspace, Log(), 1 << 20))
        workspace.close()


def check_clear(root: Path, after: After, step: str) -> None:
    assert not (root / "empty").exists()


def check_race(root: Path, after: After, step: str) -> None:
    """What somebody saved is there, at the path or beside it; put back, it is at the path."""
    assert THEIRS in after.everything
    if step == "perform.put_back":
        assert after.path == THEIRS


def check_race_of_three(root: Path, after: After, step: str) -> None:
    assert SECOND in after.everything
    if step == "discard.unlinked":  # by then the journal has the first
        assert after.path == SECOND
    else:
        assert THEIRS in after.everything


def check_swap_back(root: Path, after: After, step: str) -> None:
    assert {OLD, NEW} == after.everything
    assert (after.path == NEW) == (step == "revert.base_held")


CHECKS = {
    "edit": check_edit,
    "create": check_create,
    "remove": check_remove,
    "move": check_move,
    "edit_and_rename": check_edit_and_rename,
    "make_link": check_make_link,
    "make_folder": check_make_folder,
    "clear": check_clear,
    "race": check_race,
    "race_of_three": check_race_of_three,
    "raced_removal": check_race,
    "swap_back": check_swap_back,
}


def test_every_step_has_a_story() -> None:
    """A new step needs a kill."""
    assert {step for _, step in CASES} == set(STEPS)
    assert set(PASSED) == set(CHECKS) == set(one_write.STORIES)
