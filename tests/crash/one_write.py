"""Writes in processes of their own, each of which kills itself at a named step.

    echo 'ROOT\tSTORY\tSTEP' | python one_write.py

Each line is told in a child, and answered with a line that says how the child ended, as `subprocess` says it: -9 when
it killed itself, 0 when the step was never reached. The stories are the keys of `STORIES`; each brings about the
situation in which its steps are passed.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from checkout import file_now, put
from quire_daemon.core.decision import Clear, Make, Move, Remove, Write
from quire_daemon.workspace.types import SwapLost
from quire_daemon.workspace.workspace import Workspace
from quire_journal.model.events import FOLDER, LINK

OLD = b"old bytes\n" * 500
NEW = b"new bytes, more of them\n" * 500
THEIRS = b"saved by somebody else\n"
SECOND = b"and once more\n"


class Fuse:
    """Kills the process at one step, and plays somebody else at others."""

    def __init__(self, step: str) -> None:
        self.step = step
        self.others: dict[str, Callable[[], object]] = {}

    def __call__(self, step: str) -> None:
        if step == self.step:
            os.kill(os.getpid(), signal.SIGKILL)
        other = self.others.pop(step, None)
        if other is not None:
            other()


def write(workspace: Workspace, planned: Write) -> None:
    """Stage, perform, and hand in what came of it."""
    result = workspace.perform(workspace.stage(planned))
    if isinstance(result, SwapLost):
        workspace.discard(result.kept)


def replaced(root: Path, data: bytes, name: str) -> Callable[[], None]:
    """Somebody saves `f` by rename."""
    (root / name).write_bytes(data)
    return lambda: os.replace(root / name, root / "f")


def edit(workspace: Workspace, fuse: Fuse) -> None:
    write(workspace, put(workspace, "f", NEW, seq=7))


def create(workspace: Workspace, fuse: Fuse) -> None:
    write(workspace, put(workspace, "a/b/made", NEW, seq=7))


def remove(workspace: Workspace, fuse: Fuse) -> None:
    write(workspace, Remove(7, "f", file_now(workspace, "f")))


def move(workspace: Workspace, fuse: Fuse) -> None:
    write(workspace, Move(7, "f", "a/moved", file_now(workspace, "f")))


def edit_and_rename(workspace: Workspace, fuse: Fuse) -> None:
    """Two writes of one promise: the new file, then the end of the old one."""
    steps = (put(workspace, "a/renamed", NEW, seq=7), Remove(7, "f", file_now(workspace, "f")))
    staged = [workspace.stage(step) for step in steps]
    for step in staged:
        workspace.perform(step, pinned=True)
    workspace.release(staged)


def make_link(workspace: Workspace, fuse: Fuse) -> None:
    """As a restore does, where nothing is."""
    write(workspace, Make(7, "a/link", LINK, b"../f", 0o777, file_now(workspace, "a/link")))


def make_folder(workspace: Workspace, fuse: Fuse) -> None:
    write(workspace, Make(7, "a/folder", FOLDER, b"", 0o751, file_now(workspace, "a/folder")))


def clear(workspace: Workspace, fuse: Fuse) -> None:
    """As an undo does, where a file is to be."""
    (workspace.root / "empty").mkdir()
    write(workspace, Clear(7, "empty", file_now(workspace, "empty")))


def race(workspace: Workspace, fuse: Fuse) -> None:
    """Somebody saves between our check and our exchange."""
    fuse.others["perform.base_held"] = replaced(workspace.root, THEIRS, "theirs")
    edit(workspace, fuse)


def race_of_three(workspace: Workspace, fuse: Fuse) -> None:
    """And somebody again, over our version."""
    fuse.others["perform.exchanged"] = replaced(workspace.root, SECOND, "second")
    race(workspace, fuse)


def raced_removal(workspace: Workspace, fuse: Fuse) -> None:
    fuse.others["perform.base_held"] = replaced(workspace.root, THEIRS, "theirs")
    remove(workspace, fuse)


def swap_back(workspace: Workspace, fuse: Fuse) -> None:
    """A batch that fails."""
    staged = workspace.stage(put(workspace, "f", NEW, seq=7))
    step, fuse.step = fuse.step, ""
    workspace.perform(staged, pinned=True)
    fuse.step = step
    workspace.revert(staged)


STORIES = {
    story.__name__: story
    for story in (
        edit,
        create,
        remove,
        move,
        edit_and_rename,
        make_link,
        make_folder,
        clear,
        race,
        race_of_three,
        raced_removal,
        swap_back,
    )
}


def tell(root: str, story: str, step: str) -> None:
    """Tell the story up to the step."""
    fuse = Fuse(step)
    workspace = Workspace(Path(root), steps=fuse)
    STORIES[story](workspace, fuse)
    workspace.close()


def main() -> None:
    """One child for each line: this process has one thread and nothing open, so each begins as a new one would."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                tell(*line.rstrip("\n").split("\t"))
                status = 0
            except Exception:  # noqa: BLE001  the status says that there was one
                traceback.print_exc()
            finally:
                os._exit(status)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
