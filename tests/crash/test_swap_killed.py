"""Killed at each step of a write: no bytes are gone, the path is whole, and the next start finds what is left."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import live
from quire_daemon.workspace import STEPS, Kept, Workspace

sys.path.insert(0, str(Path(__file__).parent))
import one_write
from one_write import NEW, OLD, SECOND, THEIRS

PASSED = {
    "edit": ("stage.written stage.synced stage.named perform.base_held perform.exchanged perform.verified"),
    "create": "stage.written stage.synced stage.named perform.folders_made perform.created",
    "remove": "perform.base_held perform.removed",
    "move": "perform.base_held perform.folders_made perform.moved",
    "in_place": "stage.named in_place.marked in_place.half in_place.written in_place.synced",
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
    left: list[Kept]

    @property
    def everything(self) -> set[bytes]:
        return {kept.data for kept in self.left} | ({self.path} if self.path is not None else set())


def kill_at(root: Path, story: str, step: str) -> Workspace:
    """Run the story up to the step; the workspace as the next run opens it."""
    (root / "f").write_bytes(OLD)
    env = {**os.environ, "PYTHONPATH": os.fspath(Path(live.__file__).parent)}
    command = [sys.executable, one_write.__file__, os.fspath(root), story, step]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == -9, f"{step} was not reached: {done.stderr}"
    return Workspace(root)


def read_if_there(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


@pytest.mark.parametrize(("story", "step"), CASES, ids=[f"{story}-{step}" for story, step in CASES])
def test_a_kill_leaves_everything_to_be_found(tmp_path: Path, story: str, step: str) -> None:
    workspace = kill_at(tmp_path, story, step)
    after = After(read_if_there(tmp_path / "f"), workspace.leftovers())
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


def check_in_place(root: Path, after: After, step: str) -> None:
    """A mixture only where the mark says so, and then the new bytes are beside it."""
    assert read_if_there(root / "f2") == after.path
    marked = [kept for kept in after.left if kept.in_place]
    if after.path not in (OLD, NEW):
        assert [kept.data for kept in marked] == [NEW]
    assert bool(marked) == step.startswith("in_place.")


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
    "in_place": check_in_place,
    "race": check_race,
    "race_of_three": check_race_of_three,
    "raced_removal": check_race,
    "swap_back": check_swap_back,
}


def test_every_step_has_a_story() -> None:
    """A new step needs a kill."""
    assert {step for _, step in CASES} == set(STEPS)
    assert set(PASSED) == set(CHECKS) == set(one_write.STORIES)
