"""Writing: what changes, and what must not."""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace
from swapping import in_tmp, settle

from checkout import do, file_now, put
from disks import mounted
from quire_daemon.core.decision import FileNow, Move, Remove
from quire_daemon.workspace.types import SwapDone, SwapLost
from quire_daemon.workspace.workspace import Workspace
from quire_journal.text.text import Text


def test_a_new_file_is_made_with_its_folders(workspace: Workspace) -> None:
    """With the mode that was asked for, whatever the daemon's umask; nothing stays behind."""
    before = os.umask(0o077)
    try:
        (workspace.root / "a").mkdir(mode=0o755)
        (workspace.root / "a").chmod(0o755)
        result = do(workspace, put(workspace, "a/b/c/new.txt", b"x\r\n"))
    finally:
        os.umask(before)
    path = workspace.root / "a/b/c/new.txt"
    assert isinstance(result, SwapDone)
    assert path.read_bytes() == b"x\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert stat.S_IMODE((workspace.root / "a/b/c").stat().st_mode) == 0o755
    assert path.stat().st_nlink == 1
    assert in_tmp(workspace) == []
    assert result.signature is not None
    assert workspace.verify_unchanged("a/b/c/new.txt", result.signature) is result.settled


def test_a_file_is_replaced_and_the_old_one_goes_after_a_while(workspace: Workspace) -> None:
    """The new signature is the truth about the new bytes."""
    (workspace.root / "f").write_bytes(b"old")
    result = do(workspace, put(workspace, "f", b"new"))
    assert isinstance(result, SwapDone)
    assert (workspace.root / "f").read_bytes() == b"new"
    assert result.signature == workspace.look("f").signature
    assert workspace.displaced_files() == 1
    settle(workspace)
    assert in_tmp(workspace) == []


def test_bytes_that_a_look_has_proved_are_not_read_again(workspace: Workspace) -> None:
    """The inode's signature stands for them; a decision that claims to have seen others shows it."""
    (workspace.root / "f").write_bytes(b"old")
    time.sleep(0.02)  # a stamp that no later change can share
    seen = file_now(workspace, "f")
    if not seen.proof:
        pytest.skip("no signature proves anything on this file system")
    other = replace(seen, text=Text.of(b"odd"))
    assert isinstance(do(workspace, put(workspace, "f", b"new", over=other)), SwapDone)
    time.sleep(0.02)
    unproved = replace(file_now(workspace, "f"), text=Text.of(b"odd"), proof=())
    assert isinstance(do(workspace, put(workspace, "f", b"newer", over=unproved)), SwapLost)


@pytest.mark.parametrize("staged_before", [False, True])
def test_a_proof_is_worth_nothing_when_the_file_has_changed_since(workspace: Workspace, staged_before: bool) -> None:
    """Though size and name are the same, and it is the same inode."""
    path = workspace.root / "f"
    path.write_bytes(b"old")
    time.sleep(0.02)
    write = put(workspace, "f", b"new")
    staged = workspace.stage(write) if staged_before else None
    path.write_bytes(b"odd")
    assert isinstance(workspace.perform(staged or workspace.stage(write)), SwapLost)
    assert path.read_bytes() == b"odd"


def test_a_proof_does_not_outlast_a_touch_but_the_bytes_do(workspace: Workspace) -> None:
    """They are compared then, and are what the decision saw."""
    (workspace.root / "f").write_bytes(b"old")
    time.sleep(0.02)
    write = put(workspace, "f", b"new")
    os.utime(workspace.root / "f")
    assert isinstance(do(workspace, write), SwapDone)
    assert (workspace.root / "f").read_bytes() == b"new"


@given(data=st.binary(max_size=200), mode=st.integers(0, 0o777).map(lambda bits: bits | 0o600))
def test_bytes_and_modes_arrive_as_they_are(tmp_path_factory: pytest.TempPathFactory, data: bytes, mode: int) -> None:
    """Property: any bytes, any mode."""
    workspace = Workspace(tmp_path_factory.getbasetemp())
    path = workspace.root / "any"
    path.write_bytes(b"before")
    path.chmod(mode)
    try:
        assert isinstance(do(workspace, put(workspace, "any", data)), SwapDone)
    finally:
        workspace.close()
    assert path.read_bytes() == data
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_owner_mode_attributes_and_acl_survive(workspace: Workspace) -> None:
    """And a chmod by somebody else between decision and swap is not undone; one that was asked for is done."""
    path = workspace.root / "f"
    path.write_bytes(b"old")
    path.chmod(0o6755)
    _set_attributes(path)
    if os.geteuid() == 0:
        os.chown(path, 12345, 23456)
        path.chmod(0o6755)
    before = path.stat()
    assert isinstance(do(workspace, put(workspace, "f", b"new")), SwapDone)
    after = path.stat()
    assert (after.st_uid, after.st_gid, after.st_mode) == (before.st_uid, before.st_gid, before.st_mode)
    assert os.getxattr(path, "user.quire.test") == b"value"
    staged = workspace.stage(put(workspace, "f", b"newer"))
    path.chmod(0o640)
    assert isinstance(workspace.perform(staged), SwapDone)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    decision = put(workspace, "f", b"newest")
    assert isinstance(do(workspace, replace(decision, mode=0o755)), SwapDone)
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


def _set_attributes(path: Path) -> None:
    try:
        os.setxattr(path, "user.quire.test", b"value")
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        pytest.skip("no extended attributes here")


ACL = bytes.fromhex("0200000001000700ffffffff02000600e803000004000500ffffffff10000700ffffffff20000000ffffffff")
"""u::rwx u:1000:rw- g::r-x m::rwx o::---"""


def test_an_acl_survives_and_a_default_one_is_inherited(workspace: Workspace) -> None:
    """A temporary file in another folder would not get the folder's."""
    root = workspace.root
    (root / "f").write_bytes(b"old")
    (root / "d").mkdir()
    try:
        os.setxattr(root / "f", "system.posix_acl_access", ACL)
        os.setxattr(root / "d", "system.posix_acl_default", ACL)
    except OSError:
        pytest.skip("no ACLs here")
    (root / "d/reference").write_bytes(b"")
    do(workspace, put(workspace, "f", b"new"))
    assert os.getxattr(root / "f", "system.posix_acl_access") == ACL
    (root / "d").chmod(0o2775)
    before = os.umask(0)
    (root / "d/reference2").touch(mode=0o644)
    os.umask(before)
    do(workspace, put(workspace, "d/new", b""))
    for name in ("system.posix_acl_access",):
        assert os.getxattr(root / "d/new", name) == os.getxattr(root / "d/reference2", name)
    assert (root / "d/new").stat().st_mode == (root / "d/reference2").stat().st_mode


def test_a_file_with_several_names_is_swapped_and_its_other_names_keep_the_old_bytes(workspace: Workspace) -> None:
    """Also where all its names are in the checkout: a bind mount counts one of them twice."""
    root = workspace.root
    (root / "one").write_bytes(b"old")
    os.link(root / "one", root / "two")
    result = do(workspace, put(workspace, "one", b"new"))
    assert isinstance(result, SwapDone)
    assert result.hard_link_broken
    assert ((root / "one").read_bytes(), (root / "two").read_bytes()) == (b"new", b"old")
    again = do(workspace, put(workspace, "one", b"newer"))
    assert isinstance(again, SwapDone)
    assert not again.hard_link_broken
    settle(workspace)
    assert in_tmp(workspace) == []


def test_a_name_that_a_bind_mount_shows_twice_does_not_let_a_write_through_to_the_outside(tmp_path: Path) -> None:
    """All names were found inside, as it seemed, and the file was written in place."""
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "b").mkdir()
    (tmp_path / "store").write_bytes(b"old")
    os.link(tmp_path / "store", root / "a/f")
    with mounted(root / "b", "--bind", root / "a"), closing(Workspace(root)) as workspace:
        result = do(workspace, put(workspace, "a/f", b"new"))
        assert isinstance(result, SwapDone)
        assert result.hard_link_broken
    assert ((tmp_path / "store").read_bytes(), (root / "a/f").read_bytes()) == (b"old", b"new")


def test_a_hard_link_to_the_outside_is_not_written_through(tmp_path: Path) -> None:
    """A package store's file stays as it is; the link is broken, and that is said."""
    root = tmp_path / "checkout"
    root.mkdir()
    (tmp_path / "store").write_bytes(b"shared by many projects")
    os.link(tmp_path / "store", root / "f")
    workspace = Workspace(root)
    result = do(workspace, put(workspace, "f", b"mine"))
    assert isinstance(result, SwapDone)
    assert result.hard_link_broken
    assert (tmp_path / "store").read_bytes() == b"shared by many projects"
    (tmp_path / "store").write_bytes(b"a change that is nobody's late save")
    settle(workspace)
    workspace.close()


def test_a_link_stays_when_its_target_is_edited(workspace: Workspace) -> None:
    """The swap is on the target."""
    (workspace.root / "real").write_bytes(b"old")
    (workspace.root / "link").symlink_to("real")
    assert do(workspace, put(workspace, "link", b"new", over=FileNow("link", "file"))) == SwapLost("not_a_file")
    assert isinstance(do(workspace, put(workspace, "real", b"new")), SwapDone)
    assert os.readlink(workspace.root / "link") == "real"
    assert (workspace.root / "link").read_bytes() == b"new"


def test_a_file_is_removed(workspace: Workspace) -> None:
    """And a link can be: itself, not what it points to."""
    (workspace.root / "f").write_bytes(b"old")
    (workspace.root / "link").symlink_to("f")
    assert do(workspace, Remove(1, "link", file_now(workspace, "link"))) == SwapDone(None)
    assert do(workspace, Remove(2, "f", file_now(workspace, "f"))) == SwapDone(None)
    assert workspace.look("f").kind == workspace.look("link").kind == "missing"
    settle(workspace)
    assert in_tmp(workspace) == []


def test_a_file_is_moved(workspace: Workspace) -> None:
    """Into folders that are made for it; the inode stays."""
    (workspace.root / "f").write_bytes(b"old")
    inode = (workspace.root / "f").stat().st_ino
    result = do(workspace, Move(1, "f", "a/b/g", file_now(workspace, "f")))
    assert isinstance(result, SwapDone)
    assert result.signature == workspace.look("a/b/g").signature
    assert (workspace.root / "a/b/g").stat().st_ino == inode
    assert workspace.look("f").kind == "missing"
