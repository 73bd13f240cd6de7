"""New files without a name, and the parts of the disk that they are made in."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkout import put
from quire_daemon.workspace import syscalls
from quire_daemon.workspace.capabilities import passes_over_removed
from quire_daemon.workspace.inode_spread import FOLDERS, PARTS, SPREAD_FROM, Blanks
from quire_daemon.workspace.types import SwapDone
from quire_daemon.workspace.workspace import Workspace
from quire_journal.model.refusals import Refusal

pytestmark = pytest.mark.skipif(not syscalls.O_TMPFILE, reason="no files without a name here")

FROM = 3


class _Disk:
    """A folder whose disk passes over inodes, or not; what is opened there is closed in the end."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "tmp").mkdir()
        self.passes_over = True
        self.refuses = False
        self.tmp = os.open(root / "tmp", os.O_RDONLY)
        self.blanks = Blanks(self.tmp, self._make, lambda _: self.passes_over, FROM)

    def _make(self, path: str) -> int:
        if self.refuses and path.endswith("/1"):
            raise Refusal("permission_denied", "It is a file.")
        (self.root / path).mkdir(parents=True, exist_ok=True)
        return os.open(self.root / path, os.O_RDONLY)

    def made_in(self, files: int) -> list[str]:
        """The folders in which so many were made, below the root."""
        return [self._one().removeprefix(f"{self.root}/") for _ in range(files)]

    def _one(self) -> str:
        fd = self.blanks.open()
        try:
            assert (os.fstat(fd).st_size, stat.S_IMODE(os.fstat(fd).st_mode), os.fstat(fd).st_nlink) == (0, 0o600, 0)
            return os.path.dirname(os.readlink(f"/proc/self/fd/{fd}"))
        finally:
            os.close(fd)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[_Disk]:
    disk = _Disk(tmp_path)
    yield disk
    disk.blanks.close()
    os.close(disk.tmp)


def _spreads(folder: Path) -> bool:
    fd = os.open(folder, os.O_RDONLY)
    try:
        syscalls.spread_folders(fd)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def test_a_few_are_made_where_they_get_their_names(disk: _Disk) -> None:
    """Folders elsewhere would take longer than they save."""
    assert disk.made_in(FROM - 1) == ["tmp"] * (FROM - 1)
    assert os.listdir(disk.root) == ["tmp"]


def test_more_are_made_in_turns_in_parts_of_the_disk(disk: _Disk) -> None:
    if not _spreads(disk.root):
        pytest.skip("this file system cannot spread folders")
    disk.made_in(FROM - 1)
    assert disk.made_in(PARTS + 1) == [f"{FOLDERS}/{part % PARTS}" for part in range(PARTS + 1)]


def test_where_inodes_are_given_away_at_once_all_are_made_in_one_place(disk: _Disk) -> None:
    disk.passes_over = False
    assert disk.made_in(2 * FROM) == ["tmp"] * 2 * FROM
    assert os.listdir(disk.root) == ["tmp"]


def test_what_cannot_be_spread_is_made_in_one_place(disk: _Disk) -> None:
    """Say somebody's file has the name of such a folder."""
    disk.refuses = True
    assert disk.made_in(2 * FROM) == ["tmp"] * 2 * FROM


def test_a_folder_that_somebody_removed_is_done_without(disk: _Disk) -> None:
    disk.made_in(FROM)
    shutil.rmtree(disk.root / FOLDERS, ignore_errors=True)
    assert disk.made_in(PARTS) == ["tmp"] * PARTS


def test_what_is_held_of_the_folders_is_given_back(disk: _Disk) -> None:
    before = len(os.listdir("/proc/self/fd"))
    disk.made_in(FROM)
    disk.blanks.close()
    disk.blanks.close()
    assert len(os.listdir("/proc/self/fd")) == before
    assert disk.made_in(1) == ["tmp"]


def test_a_workspace_writes_as_before_when_they_are_made_elsewhere(tmp_path: Path) -> None:
    """Whether they are is up to the disk."""
    workspace = Workspace(tmp_path)
    names = [f"f{n}" for n in range(SPREAD_FROM + PARTS)]
    for staged in workspace.stage_all([put(workspace, name, name.encode()) for name in names]):
        assert isinstance(workspace.perform(staged), SwapDone)
    assert [(tmp_path / name).read_text() for name in names] == names
    fd = os.open(tmp_path, os.O_RDONLY)
    spread = passes_over_removed(fd) and _spreads(tmp_path)
    os.close(fd)
    workspace.close()
    found = [*(tmp_path / FOLDERS).rglob("*")]
    assert sorted(path.name for path in found) == sorted(map(str, range(PARTS if spread else 0)))
