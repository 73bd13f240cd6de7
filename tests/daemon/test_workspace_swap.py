"""Writing: what changes, what must not, and what happens when the path is not what was planned on."""

from __future__ import annotations

import errno
import mmap
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from checkout import do, file_now, put
from quire_daemon.handlers.base import FileNow, Move, Put, Remove, Write
from quire_daemon.workspace import HeldOpen, Lost, Swapped, Workspace
from quire_daemon.workspace.lingering import AT_ONCE, GRACE_S, MOST
from quire_daemon.workspace.staging import TOGETHER
from quire_journal.refusals import Refused
from quire_journal.text import Text


class Steps:
    """Does something, once, when a named step is passed."""

    def __init__(self) -> None:
        self._planned: dict[str, Callable[[], object]] = {}

    def at(self, step: str, do_this: Callable[[], object]) -> None:
        self._planned[step] = do_this

    def __call__(self, step: str) -> None:
        planned = self._planned.pop(step, None)
        if planned is not None:
            planned()


@pytest.fixture
def steps() -> Steps:
    return Steps()


@pytest.fixture
def workspace(tmp_path: Path, steps: Steps) -> Iterator[Workspace]:
    opened = Workspace(tmp_path, steps=steps)
    yield opened
    opened.close()


def in_tmp(workspace: Workspace) -> list[str]:
    return os.listdir(workspace.root / ".quire/tmp")


def settle(workspace: Workspace) -> None:
    """Let all grace times pass."""
    workspace.sweep(0.0)
    assert workspace.sweep(GRACE_S + 0.1) == []
    assert workspace.lingering() == 0


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
    assert isinstance(result, Swapped)
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
    assert isinstance(result, Swapped)
    assert (workspace.root / "f").read_bytes() == b"new"
    assert result.signature == workspace.look("f").signature
    assert workspace.lingering() == 1
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
    assert isinstance(do(workspace, put(workspace, "f", b"new", over=other)), Swapped)
    time.sleep(0.02)
    unproved = replace(file_now(workspace, "f"), text=Text.of(b"odd"), proof=())
    assert isinstance(do(workspace, put(workspace, "f", b"newer", over=unproved)), Lost)


@pytest.mark.parametrize("staged_before", [False, True])
def test_a_proof_is_worth_nothing_when_the_file_has_changed_since(workspace: Workspace, staged_before: bool) -> None:
    """Though size and name are the same, and it is the same inode."""
    path = workspace.root / "f"
    path.write_bytes(b"old")
    time.sleep(0.02)
    write = put(workspace, "f", b"new")
    staged = workspace.stage(write) if staged_before else None
    path.write_bytes(b"odd")
    assert isinstance(workspace.perform(staged or workspace.stage(write)), Lost)
    assert path.read_bytes() == b"odd"


def test_a_proof_does_not_outlast_a_touch_but_the_bytes_do(workspace: Workspace) -> None:
    """They are compared then, and are what the decision saw."""
    (workspace.root / "f").write_bytes(b"old")
    time.sleep(0.02)
    write = put(workspace, "f", b"new")
    os.utime(workspace.root / "f")
    assert isinstance(do(workspace, write), Swapped)
    assert (workspace.root / "f").read_bytes() == b"new"


@given(data=st.binary(max_size=200), mode=st.integers(0, 0o777).map(lambda bits: bits | 0o600))
def test_bytes_and_modes_arrive_as_they_are(tmp_path_factory: pytest.TempPathFactory, data: bytes, mode: int) -> None:
    """Property: any bytes, any mode."""
    workspace = Workspace(tmp_path_factory.getbasetemp())
    path = workspace.root / "any"
    path.write_bytes(b"before")
    path.chmod(mode)
    try:
        assert isinstance(do(workspace, put(workspace, "any", data)), Swapped)
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
    assert isinstance(do(workspace, put(workspace, "f", b"new")), Swapped)
    after = path.stat()
    assert (after.st_uid, after.st_gid, after.st_mode) == (before.st_uid, before.st_gid, before.st_mode)
    assert os.getxattr(path, "user.quire.test") == b"value"
    staged = workspace.stage(put(workspace, "f", b"newer"))
    path.chmod(0o640)
    assert isinstance(workspace.perform(staged), Swapped)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    decision = put(workspace, "f", b"newest")
    assert isinstance(do(workspace, replace(decision, mode=0o755)), Swapped)
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


def test_a_hard_link_is_written_in_place(workspace: Workspace) -> None:
    """All its names are inside, so all of them show the new bytes; longer, shorter, and back."""
    root = workspace.root
    (root / "one").write_bytes(b"old")
    os.link(root / "one", root / "two")
    inode = (root / "one").stat().st_ino
    for data in (b"much longer than before", b"s", b""):
        result = do(workspace, put(workspace, "one", data))
        assert isinstance(result, Swapped)
        assert (result.in_place, result.hard_link_broken) == (True, False)
        assert (root / "two").read_bytes() == data
        assert (root / "one").stat().st_ino == inode
        assert result.signature == workspace.look("one").signature
    assert in_tmp(workspace) == []


def test_a_hard_link_to_the_outside_is_not_written_through(tmp_path: Path) -> None:
    """A package store's file stays as it is; the link is broken, and that is said."""
    root = tmp_path / "checkout"
    root.mkdir()
    (tmp_path / "store").write_bytes(b"shared by many projects")
    os.link(tmp_path / "store", root / "f")
    workspace = Workspace(root)
    result = do(workspace, put(workspace, "f", b"mine"))
    assert isinstance(result, Swapped)
    assert result.hard_link_broken
    assert (tmp_path / "store").read_bytes() == b"shared by many projects"
    (tmp_path / "store").write_bytes(b"a change that is nobody's late save")
    settle(workspace)
    workspace.close()


def test_a_file_in_place_is_not_written_while_anybody_has_it_open(workspace: Workspace) -> None:
    """A reader would see half of it."""
    (workspace.root / "one").write_bytes(b"old")
    os.link(workspace.root / "one", workspace.root / "two")
    staged = workspace.stage(put(workspace, "one", b"new"))
    with (workspace.root / "two").open("rb") as reader:
        if workspace.protection.lease:
            with pytest.raises(HeldOpen):
                workspace.perform(staged)
        assert reader.read() == b"old"
    assert isinstance(workspace.perform(staged), Swapped)
    assert (workspace.root / "two").read_bytes() == b"new"


def test_a_link_stays_when_its_target_is_edited(workspace: Workspace) -> None:
    """The swap is on the target."""
    (workspace.root / "real").write_bytes(b"old")
    (workspace.root / "link").symlink_to("real")
    assert do(workspace, put(workspace, "link", b"new", over=FileNow("link", "file"))) == Lost("not_a_file")
    assert isinstance(do(workspace, put(workspace, "real", b"new")), Swapped)
    assert os.readlink(workspace.root / "link") == "real"
    assert (workspace.root / "link").read_bytes() == b"new"


def test_a_file_is_removed(workspace: Workspace) -> None:
    """And a link can be: itself, not what it points to."""
    (workspace.root / "f").write_bytes(b"old")
    (workspace.root / "link").symlink_to("f")
    assert do(workspace, Remove(1, "link", file_now(workspace, "link"))) == Swapped(None)
    assert do(workspace, Remove(2, "f", file_now(workspace, "f"))) == Swapped(None)
    assert workspace.look("f").kind == workspace.look("link").kind == "missing"
    settle(workspace)
    assert in_tmp(workspace) == []


def test_a_file_is_moved(workspace: Workspace) -> None:
    """Into folders that are made for it; the inode stays."""
    (workspace.root / "f").write_bytes(b"old")
    inode = (workspace.root / "f").stat().st_ino
    result = do(workspace, Move(1, "f", "a/b/g", file_now(workspace, "f")))
    assert isinstance(result, Swapped)
    assert result.signature == workspace.look("a/b/g").signature
    assert (workspace.root / "a/b/g").stat().st_ino == inode
    assert workspace.look("f").kind == "missing"


# --- what was planned on is not there -------------------------------------------------------------------------------


def test_nothing_is_created_over_what_exists(workspace: Workspace) -> None:
    """A file, a folder, a link to nothing; the folders that were made for it go again."""
    missing = FileNow("x", "missing")
    for make in (Path.touch, Path.mkdir, lambda path: path.symlink_to("nowhere")):
        path = workspace.root / "x"
        make(path)
        assert do(workspace, put(workspace, "x", b"new", over=missing)) == Lost("exists")
        path.rmdir() if path.is_dir() else path.unlink()
    (workspace.root / "f").write_bytes(b"")
    (workspace.root / "g").write_bytes(b"")
    assert do(workspace, Move(1, "f", "g", file_now(workspace, "f"))) == Lost("exists")
    assert in_tmp(workspace) == []


def test_folders_made_in_vain_are_removed(workspace: Workspace, steps: Steps) -> None:
    """Unless somebody uses them."""
    write = put(workspace, "a/b/c", b"new")
    steps.at("perform.folders_made", lambda: (workspace.root / "a/b/c").write_bytes(b"theirs"))
    assert do(workspace, write) == Lost("exists")
    assert (workspace.root / "a/b/c").read_bytes() == b"theirs"
    staged = workspace.stage(Move(1, "a/b/c", "d/e/f", file_now(workspace, "a/b/c")))
    steps.at("perform.folders_made", (workspace.root / "a/b/c").unlink)
    assert workspace.perform(staged) == Lost("missing")
    assert not (workspace.root / "d").exists()


@pytest.mark.parametrize("kind", ["put", "remove", "move"])
def test_a_changed_base_is_noticed_before_anything_happens(workspace: Workspace, kind: str) -> None:
    """Other bytes, other inode with the same bytes, gone, or another kind of thing."""
    path = workspace.root / "f"

    def attempt(change: Callable[[], object]) -> Swapped | Lost:
        path.write_bytes(b"old")
        over = file_now(workspace, "f")
        writes = {"put": put(workspace, "f", b"new"), "remove": Remove(1, "f", over), "move": Move(1, "f", "g", over)}
        staged = workspace.stage(writes[kind])
        change()
        return workspace.perform(staged)

    assert attempt(lambda: path.write_bytes(b"odd")) == Lost("changed")
    assert path.read_bytes() == b"odd"
    other = workspace.root / "other"
    other.write_bytes(b"old")
    assert attempt(lambda: os.replace(other, path)) == Lost("changed")
    assert attempt(path.unlink) == Lost("missing")
    assert attempt(lambda: (path.unlink(), path.mkdir())) == Lost("not_a_file")
    path.rmdir()
    assert not (workspace.root / "g").exists()
    assert in_tmp(workspace) == []


def test_equal_bytes_by_another_hand_are_the_same_base(workspace: Workspace) -> None:
    """A save without a change, in place: the inode and the bytes are what the decision saw."""
    (workspace.root / "f").write_bytes(b"old")
    staged = workspace.stage(put(workspace, "f", b"new"))
    (workspace.root / "f").write_bytes(b"old")
    assert isinstance(workspace.perform(staged), Swapped)


def test_a_file_that_is_held_open_is_left_alone(workspace: Workspace) -> None:
    """At once, without waiting; the staged write can be performed later, or be abandoned."""
    path = workspace.root / "f"
    path.write_bytes(b"old")
    staged = workspace.stage(put(workspace, "f", b"new"))
    other = workspace.stage(put(workspace, "f", b"other"))
    with path.open("r+b"):
        for _ in range(3):
            with pytest.raises(HeldOpen):
                workspace.perform(staged)
    with path.open("r+b") as opened, mmap.mmap(opened.fileno(), 3):
        opened.close()
        with pytest.raises(HeldOpen):
            workspace.perform(staged)
    assert isinstance(workspace.perform(staged), Swapped)
    workspace.abandon(other)
    workspace.abandon(staged)
    settle(workspace)
    assert in_tmp(workspace) == []
    assert path.read_bytes() == b"new"


def test_a_save_by_rename_between_check_and_swap_wins(workspace: Workspace, steps: Steps) -> None:
    """It came out of the exchange, and is put back; nothing of it needs keeping."""
    path = workspace.root / "f"
    path.write_bytes(b"old")
    theirs = workspace.root / "theirs"
    theirs.write_bytes(b"theirs")
    inode = theirs.stat().st_ino
    steps.at("perform.base_held", lambda: os.replace(theirs, path))
    assert do(workspace, put(workspace, "f", b"new")) == Lost("changed")
    assert (path.read_bytes(), path.stat().st_ino) == (b"theirs", inode)
    settle(workspace)
    assert in_tmp(workspace) == []


def test_two_saves_within_one_swap_are_both_kept(workspace: Workspace, steps: Steps) -> None:
    """The first came out of our exchange, the second replaced our version at the path: it stays, the first is told."""
    path = workspace.root / "f"
    path.write_bytes(b"old")
    first, second = workspace.root / "first", workspace.root / "second"
    first.write_bytes(b"first")
    second.write_bytes(b"second")
    steps.at("perform.base_held", lambda: os.replace(first, path))
    steps.at("perform.exchanged", lambda: os.replace(second, path))
    result = do(workspace, put(workspace, "f", b"new"))
    assert isinstance(result, Lost)
    assert [(kept.path, kept.data) for kept in result.kept] == [("f", b"first")]
    assert path.read_bytes() == b"second"
    assert in_tmp(workspace) == [result.kept[0].name]
    workspace.discard(result.kept)
    settle(workspace)
    assert in_tmp(workspace) == []


def test_a_deletion_within_the_swap_stands(workspace: Workspace, steps: Steps) -> None:
    """What it did not mean to delete is kept."""
    path = workspace.root / "f"
    path.write_bytes(b"old")
    theirs = workspace.root / "theirs"
    theirs.write_bytes(b"theirs")
    steps.at("perform.base_held", lambda: os.replace(theirs, path))
    steps.at("perform.exchanged", path.unlink)
    result = do(workspace, put(workspace, "f", b"new"))
    assert isinstance(result, Lost)
    assert (result.why, [kept.data for kept in result.kept]) == ("missing", [b"theirs"])
    assert not path.exists()


def test_a_folder_that_takes_the_place_of_the_file_is_put_back(workspace: Workspace, steps: Steps) -> None:
    """An exchange moves whole folders."""
    path = workspace.root / "f"
    path.write_bytes(b"old")

    def become_a_folder() -> None:
        path.unlink()
        path.mkdir()
        (path / "inside").write_bytes(b"x")

    steps.at("perform.base_held", become_a_folder)
    assert do(workspace, put(workspace, "f", b"new")) == Lost("changed")
    assert (path / "inside").read_bytes() == b"x"
    steps.at("perform.base_held", lambda: (path / "inside").unlink())


@pytest.mark.parametrize("kind", ["remove", "move"])
def test_a_save_between_check_and_removal_wins(workspace: Workspace, steps: Steps, kind: str) -> None:
    """And if there is a third by then, the second is kept."""
    path = workspace.root / "f"
    for third in (False, True):
        path.write_bytes(b"old")
        first, second = workspace.root / "first", workspace.root / "second"
        first.write_bytes(b"first")
        second.write_bytes(b"second")
        over = file_now(workspace, "f")
        steps.at("perform.base_held", lambda: os.replace(first, path))  # noqa: B023
        if third:
            steps.at("perform.conflict", lambda: os.replace(second, path))  # noqa: B023
        result = do(workspace, Remove(1, "f", over) if kind == "remove" else Move(1, "f", "g", over))
        assert isinstance(result, Lost)
        assert [kept.data for kept in result.kept] == ([b"first"] if third else [])
        assert path.read_bytes() == (b"second" if third else b"first")
        assert not (workspace.root / "g").exists()
        workspace.discard(result.kept)
    settle(workspace)
    assert in_tmp(workspace) == []


WRITE_LATE = "import sys; f = open(sys.argv[1], 'r+b'); f.write(b'late'); f.close()"


def test_a_save_into_the_displaced_file_is_told(workspace: Workspace, steps: Steps) -> None:
    """A program resolved the path before the swap and opens after: it is let go at the next sweep, and heard."""
    if not workspace.protection.lease:
        pytest.skip("no leases here")
    path = workspace.root / "f"
    path.write_bytes(b"old!")
    staged = workspace.stage(put(workspace, "f", b"new"))
    workspace.perform(staged)
    displaced = workspace.root / ".quire/tmp" / staged.name
    writer = subprocess.Popen([sys.executable, "-c", WRITE_LATE, os.fspath(displaced)])
    late = []
    while writer.poll() is None or not late:
        late.extend(workspace.sweep(1.0))
    assert [(one.path, one.data) for one in late] == [("f", b"late")]
    assert path.read_bytes() == b"new"
    assert in_tmp(workspace) == [staged.name]
    workspace.discard(late)
    assert in_tmp(workspace) == []
    assert workspace.lingering() == 0


def test_what_a_large_write_displaced_is_let_go_in_several_sweeps(workspace: Workspace) -> None:
    fds = len(os.listdir("/proc/self/fd"))
    writes = []
    for number in range(MOST + AT_ONCE + 50):
        path = f"{number}.txt"
        (workspace.root / path).write_bytes(b"before\n")
        writes.append(put(workspace, path, b"after\n"))
    staged = workspace.stage_all(writes)
    for one in staged:
        assert isinstance(workspace.perform(one, pinned=True), Swapped)
    workspace.release(staged)
    assert workspace.crowded()
    left = []
    for _ in range(3):
        workspace.sweep(0.0)
        left.append((workspace.lingering(), workspace.crowded()))
    assert left == [(MOST + 50, True), (MOST, False), (MOST, False)]
    assert len(in_tmp(workspace)) == MOST
    workspace.sweep(GRACE_S + 1)
    assert (workspace.lingering(), in_tmp(workspace)) == (0, [])
    assert len(os.listdir("/proc/self/fd")) == fds


def test_a_sweep_that_can_let_nothing_go_is_not_followed_by_another_at_once(workspace: Workspace) -> None:
    """Each looks at all of them: of some hundred that others held open the loop took all of a processor."""
    writes = []
    for number in range(MOST + AT_ONCE + 50):
        path = f"{number}.txt"
        (workspace.root / path).write_bytes(b"before\n")
        writes.append(put(workspace, path, b"after\n"))
    staged = workspace.stage_all(writes)
    for one in staged:
        assert isinstance(workspace.perform(one, pinned=True), Swapped)
    assert workspace.crowded()
    workspace.sweep(0.0)
    assert (workspace.lingering(), workspace.crowded()) == (MOST + AT_ONCE + 50, False)
    workspace.release(staged[-60:])  # those that came first stay, and hold up no others
    workspace.sweep(0.0)
    assert (workspace.lingering(), workspace.crowded()) == (MOST + AT_ONCE - 10, True)
    workspace.sweep(0.0)
    assert not workspace.crowded()
    workspace.release(staged)
    settle(workspace)


def test_lingering_is_bounded(workspace: Workspace) -> None:
    """Each costs a descriptor; the oldest go first."""
    (workspace.root / "f").write_bytes(b"")
    for turn in range(MOST + 20):
        do(workspace, put(workspace, "f", b"%d" % turn))
        workspace.sweep(0.0)
        assert workspace.lingering() <= MOST
    settle(workspace)
    assert in_tmp(workspace) == []


# --- batches ----------------------------------------------------------------------------------------------------


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
        assert isinstance(workspace.perform(step, pinned=True), Swapped)
    workspace.sweep(0.0)
    workspace.sweep(100.0)
    for step in reversed(staged):
        assert isinstance(workspace.revert(step), Swapped)
    for name, inode in before.items():
        assert (root / name).read_bytes() == name.encode()
        assert (root / name).stat().st_ino == inode
    assert not (root / "deep").exists()
    workspace.sweep(200.0)
    workspace.sweep(300.0)
    assert (workspace.lingering(), in_tmp(workspace)) == (0, [])


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
        assert isinstance(watched.perform(step, pinned=True), Swapped)
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
    with pytest.raises(Refused, match="too long"):
        workspace.stage_all([*writes, Put(1, "x" * 300 + "/f", b"new", 0o644, FileNow("f", "missing"))])
    assert (in_tmp(workspace), len(os.listdir("/proc/self/fd"))) == ([], before)


def test_a_batch_that_is_complete_is_let_go(workspace: Workspace) -> None:
    """Pinned files wait for `release`."""
    (workspace.root / "f").write_bytes(b"old")
    staged = workspace.stage(put(workspace, "f", b"new"))
    workspace.perform(staged, pinned=True)
    workspace.sweep(0.0)
    workspace.sweep(100.0)
    assert workspace.lingering() == 1
    workspace.release([staged])
    workspace.sweep(100.0)
    assert (workspace.lingering(), in_tmp(workspace)) == (0, [])


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
    assert workspace.revert(edited) == Lost("changed")
    assert workspace.revert(made) == Lost("missing")
    assert workspace.revert(removed) == Lost("exists")
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
    assert workspace.revert(staged) == Lost("changed")
    assert path.read_bytes() == b"theirs"


# --- the disk says no ------------------------------------------------------------------------------------------------


def as_nobody(root: Path, write: Callable[[Workspace], object]) -> str:
    """The code of the refusal that an unprivileged user gets, in a child process; "done" for none."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")
    for folder in (root, *root.parents):
        if not folder.stat().st_mode & 1:
            folder.chmod(folder.stat().st_mode | 0o011)
    read, written = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        try:
            write(Workspace(root))
            answer = "done"
        except Refused as refused:
            answer = refused.code
        except BaseException as error:  # noqa: BLE001
            answer = repr(error)
        os.write(written, answer.encode())
        os._exit(0)
    os.waitpid(child, 0)
    answer = os.read(read, 1000).decode()
    os.close(read)
    os.close(written)
    return answer


def test_what_the_disk_forbids_is_refused(tmp_path: Path) -> None:
    """A read-only file, a read-only folder, another's file in our folder; nothing is changed and nothing left."""
    tmp_path.chmod(0o777)
    ours = {"mine": 0o644, "readonly": 0o444}
    for name, mode in ours.items():
        (tmp_path / name).write_bytes(b"old")
        (tmp_path / name).chmod(mode)
        os.chown(tmp_path / name, 65534, 65534)
    (tmp_path / "theirs").write_bytes(b"old")
    (tmp_path / "theirs").chmod(0o666)
    (tmp_path / "folder").mkdir(mode=0o755)
    (tmp_path / "folder/f").write_bytes(b"old")
    os.chown(tmp_path / "folder/f", 65534, 65534)
    os.utime(tmp_path / "theirs", (0, 0))
    answers = {
        path: as_nobody(tmp_path, lambda w, path=path: do(w, put(w, path, b"new", over=_unread(path))))  # type: ignore[misc]
        for path in ("mine", "readonly", "theirs", "folder/f")
    }
    assert answers == {
        "mine": "done",
        "readonly": "permission_denied",
        "theirs": "permission_denied",
        "folder/f": "permission_denied",
    }
    assert as_nobody(tmp_path, lambda w: do(w, put(w, "folder/new", b""))) == "permission_denied"
    assert as_nobody(tmp_path, lambda w: do(w, Remove(1, "folder/f", _unread("folder/f")))) == "permission_denied"
    assert (tmp_path / "mine").read_bytes() == b"new"
    assert [(tmp_path / name).read_bytes() for name in ("readonly", "theirs", "folder/f")] == [b"old"] * 3
    left = os.listdir(tmp_path / ".quire/tmp")
    assert len(left) <= 1  # what "mine" displaced; that process ended without `close`


def _unread(path: str) -> FileNow:
    return FileNow(path, "file", None, mode=0o644, size=3)


def test_a_full_disk_is_refused(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """At any write of the temporary file."""
    (workspace.root / "f").write_bytes(b"old")
    write = put(workspace, "f", b"new" * 1000)

    def full(fd: int, data: bytes, at: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(Refused) as caught:
        workspace.stage(write)
    assert caught.value.code == "disk_full"
    assert in_tmp(workspace) == []
    assert (workspace.root / "f").read_bytes() == b"old"


def test_a_full_disk_in_the_middle_of_a_write_in_place_is_undone(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is as it was, under all its names."""
    (workspace.root / "one").write_bytes(b"old")
    os.link(workspace.root / "one", workspace.root / "two")
    staged = workspace.stage(put(workspace, "one", b"new" * 1000))

    def full(fd: int, at: int, size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(Refused) as caught:
        workspace.perform(staged)
    assert caught.value.code == "disk_full"
    assert (workspace.root / "two").read_bytes() == b"old"
    assert in_tmp(workspace) == []


# --- fallbacks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["exchange", "tmpfile", "lease", "openat2"])
def test_every_fallback_writes_removes_and_notices(tmp_path: Path, missing: str) -> None:
    """Where the kernel lacks a call, the same answers come another way."""
    probed = Workspace(tmp_path)
    probed.close()
    steps = Steps()
    protection = replace(probed.protection, **{missing: False})
    far = 2**62  # so that without leases every file is old enough
    workspace = Workspace(tmp_path, steps=steps, protection=protection, wall_ns=lambda: far)
    path, theirs = tmp_path / "f", tmp_path / "theirs"
    assert isinstance(do(workspace, put(workspace, "f", b"one")), Swapped)
    assert isinstance(do(workspace, put(workspace, "f", b"two")), Swapped)
    assert path.read_bytes() == b"two"
    theirs.write_bytes(b"theirs")
    steps.at("perform.base_held", lambda: os.replace(theirs, path))
    assert isinstance(do(workspace, put(workspace, "f", b"three")), Lost)
    assert path.read_bytes() == b"theirs"
    steps.at("perform.base_held", lambda: path.write_bytes(b"in place") if missing == "lease" else None)
    result = do(workspace, put(workspace, "f", b"four"))
    assert path.read_bytes() == (b"in place" if missing == "lease" else b"four")
    assert isinstance(result, Lost if missing == "lease" else Swapped)
    assert isinstance(do(workspace, Remove(1, "f", file_now(workspace, "f"))), Swapped)
    settle(workspace)
    assert in_tmp(workspace) == []
    workspace.close()


def test_the_files_of_a_dead_run_are_handed_out_once(tmp_path: Path) -> None:
    """With the seq that leads to their intent; what was never complete is only removed."""
    dead = Workspace(tmp_path)
    (tmp_path / "f").write_bytes(b"old")
    dead.stage(put(dead, "f", b"new", seq=77))
    (tmp_path / ".quire/tmp/5.dead.1.part").write_bytes(b"hal")
    alive = Workspace(tmp_path)
    left = alive.leftovers()
    assert [(kept.data, kept.seq, kept.path, kept.in_place) for kept in left] == [(b"new", 77, "", False)]
    alive.discard(left)
    assert in_tmp(alive) == []
    assert dead.leftovers() == []
    dead.close()
    alive.close()


def test_the_state_folder_ignores_itself(workspace: Workspace) -> None:
    """Git never shows it; a second opening changes nothing."""
    assert (workspace.root / ".quire/.gitignore").read_bytes() == b"*\n"
    again = Workspace(workspace.root)
    again.close()
    assert stat.S_IMODE((workspace.root / ".quire/tmp").stat().st_mode) == 0o700


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    """After writes, lost races, refusals and reads."""
    fds = Path("/proc/self/fd")
    if not fds.is_dir():
        pytest.skip("no /proc")
    before = len(list(fds.iterdir()))
    steps = Steps()
    workspace = Workspace(tmp_path, steps=steps)
    (tmp_path / "f").write_bytes(b"old")
    for change in (lambda: None, lambda: (tmp_path / "f").write_bytes(b"x"), (tmp_path / "f").unlink):
        (tmp_path / "f").write_bytes(b"old")
        staged = workspace.stage(put(workspace, "f", b"new"))
        change()
        workspace.perform(staged)
    workspace.close()
    workspace.close()
    assert len(list(fds.iterdir())) == before
