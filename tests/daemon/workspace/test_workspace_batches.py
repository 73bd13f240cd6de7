"""Writes that belong together: staged together, swapped back together, let go together."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace
from swapping import Steps, in_tmp, settle

from checkout import file_now, put
from quire_daemon.core.decision import FileNow, Move, Put, Remove, Write
from quire_daemon.workspace.stage import TOGETHER
from quire_daemon.workspace.types import SwapDone, SwapLost
from quire_daemon.workspace.workspace import Workspace
from quire_journal.model.refusals import Refusal


def test_a_batch_is_swapped_back(workspace: Workspace) -> None:
    """Every kind of write, in reverse, to the very inodes."""
    root = workspace.root
    for name in ("edited", "gone", "moved", "linked"):
        (root / name).write_bytes(name.encode())
    os.link(root / "linked", root / "linked2")
    before = {name: (root / name).stat().st_ino for name in ("edited", "gone", "moved", "linked")}
    writes = [
        put(workspace, "edited", b"new"),
        put(workspace, "deep/er/made", b"new"),
        put(workspace, "linked", b"new"),
        Remove(1, "gone", file_now(workspace, "gone")),
        Move(1, "moved", "deep/to", file_now(workspace, "moved")),
    ]
    staged = [workspace.stage(write) for write in writes]
    for step in staged:
        assert isinstance(workspace.perform(step, pinned=True), SwapDone)
    workspace.sweep(0.0)
    workspace.sweep(100.0)
    for step in reversed(staged):
        assert isinstance(workspace.revert(step), SwapDone)
    for name, inode in before.items():
        assert (root / name).read_bytes() == name.encode()
        assert (root / name).stat().st_ino == inode
    assert not (root / "deep").exists()
    workspace.sweep(200.0)
    workspace.sweep(300.0)
    assert (workspace.displaced_files(), in_tmp(workspace)) == (0, [])


@pytest.mark.parametrize("protection", ["as_found", "sync_many", "tmpfile"])
def test_many_writes_are_staged_together(tmp_path: Path, protection: str) -> None:
    """However they are synced; none has its name, by which a start knows what is complete, before all are synced."""
    probed = Workspace(tmp_path)
    given = probed.protection if protection == "as_found" else replace(probed.protection, **{protection: False})
    probed.close()
    named: list[list[str]] = []
    one: list[Workspace] = []
    watched = Workspace(
        tmp_path, protection=given, steps=lambda name: named.append(in_tmp(one[0])) if name == "stage.synced" else None
    )
    one.append(watched)
    names = [f"f{n}" for n in range(TOGETHER + 2)]
    for name in names[2:]:
        (tmp_path / name).write_bytes(b"old")
    (tmp_path / "gone").write_bytes(b"old")
    writes = [put(watched, name, b"new " + name.encode()) for name in names]
    staged = watched.stage_all([*writes, Remove(1, "gone", file_now(watched, "gone"))])
    assert [name for name in named[0] if name.endswith(".new")] == []
    assert len(in_tmp(watched)) == len(names)
    for step in staged:
        assert isinstance(watched.perform(step, pinned=True), SwapDone)
    assert {name: (tmp_path / name).read_bytes() for name in names} == {name: b"new " + name.encode() for name in names}
    assert not (tmp_path / "gone").exists()
    watched.release(staged)
    settle(watched)
    assert in_tmp(watched) == []
    watched.close()


def test_of_many_writes_all_are_staged_or_none(workspace: Workspace) -> None:
    """One of them cannot be: nothing of the others stays."""
    for n in range(TOGETHER):
        (workspace.root / f"f{n}").write_bytes(b"old")
    writes: list[Write] = [put(workspace, f"f{n}", b"new") for n in range(TOGETHER)]
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(Refusal, match="too long"):
        workspace.stage_all([*writes, Put(1, "x" * 300 + "/f", b"new", 0o644, FileNow("f", "missing"))])
    assert (in_tmp(workspace), len(os.listdir("/proc/self/fd"))) == ([], before)


def test_a_batch_that_is_complete_is_let_go(workspace: Workspace) -> None:
    """Pinned files wait for `release`."""
    (workspace.root / "f").write_bytes(b"old")
    staged = workspace.stage(put(workspace, "f", b"new"))
    workspace.perform(staged, pinned=True)
    workspace.sweep(0.0)
    workspace.sweep(100.0)
    assert workspace.displaced_files() == 1
    workspace.release([staged])
    workspace.sweep(100.0)
    assert (workspace.displaced_files(), in_tmp(workspace)) == (0, [])


def test_what_somebody_changed_since_is_not_swapped_back(workspace: Workspace) -> None:
    """Their bytes are newer than ours and our base."""
    root = workspace.root
    (root / "f").write_bytes(b"old")
    (root / "g").write_bytes(b"old")
    edited = workspace.stage(put(workspace, "f", b"new"))
    made = workspace.stage(put(workspace, "made", b"new"))
    removed = workspace.stage(Remove(1, "g", file_now(workspace, "g")))
    for step in (edited, made, removed):
        workspace.perform(step, pinned=True)
    (root / "f").write_bytes(b"theirs")
    (root / "made").unlink()
    (root / "g").write_bytes(b"theirs")
    assert workspace.revert(edited) == SwapLost("changed")
    assert workspace.revert(made) == SwapLost("missing")
    assert workspace.revert(removed) == SwapLost("exists")
    assert (root / "f").read_bytes() == (root / "g").read_bytes() == b"theirs"


def test_a_save_between_check_and_swap_back_wins(workspace: Workspace, steps: Steps) -> None:
    """The way back is a swap like the way there."""
    path, theirs = workspace.root / "f", workspace.root / "theirs"
    path.write_bytes(b"old")
    staged = workspace.stage(put(workspace, "f", b"new"))
    workspace.perform(staged, pinned=True)
    theirs.write_bytes(b"theirs")
    steps.at("perform.exchanged", lambda: None)
    steps.at("revert.base_held", lambda: os.replace(theirs, path))
    assert workspace.revert(staged) == SwapLost("changed")
    assert path.read_bytes() == b"theirs"
