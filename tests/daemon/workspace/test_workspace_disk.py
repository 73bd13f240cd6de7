"""Writing to a disk that says no, or that lacks what a swap is made with."""

from __future__ import annotations

import errno
import gc
import os
import shutil
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace
from swapping import Steps, in_tmp, settle

import rights
from checkout import do, file_now, put
from disks import mounted, small_disk
from quire_daemon.config.settings import Policy
from quire_daemon.core.decision import FileNow, Move, Put, Remove
from quire_daemon.workspace.mkdirs import own_folder
from quire_daemon.workspace.types import SwapDone, SwapLost
from quire_daemon.workspace.workspace import Workspace
from quire_journal.model.refusals import Refusal
from quire_journal.text.text import Text

# --- the disk says no -------------------------------------------------------------------------------------------------


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
        except Refusal as refused:
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


def test_a_move_to_another_mount_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    elsewhere = pytest.raises(Refusal, match="src is on another file system or mount")
    with small_disk(tmp_path / "src", 1), elsewhere as refused:
        do(Workspace(tmp_path), Move(1, "a", "src/a", file_now(Workspace(tmp_path), "a")))
    assert refused.value.code == "permission_denied"
    assert (tmp_path / "a").read_bytes() == b"a"


def test_a_file_at_which_another_is_mounted_is_not_replaced_moved_or_removed(tmp_path: Path) -> None:
    """As containers have their settings. It was told as something unexpected."""
    at, other = tmp_path / "a", tmp_path / "other"
    for file in (at, other):
        file.write_bytes(b"old")
    with closing(Workspace(tmp_path)) as workspace:
        over, new = file_now(workspace, "a"), put(workspace, "a", b"new")
        with mounted(at, "--bind", other):
            for write in (new, Remove(2, "a", over), Move(3, "a", "b", over)):
                with pytest.raises(Refusal, match="a is on another file system or mount") as refused:
                    do(workspace, write)
            assert refused.value.code == "permission_denied"
        assert in_tmp(workspace) == []
    assert (at.read_bytes(), other.read_bytes()) == (b"old", b"old")


def test_a_write_whose_temporary_folder_is_removed_meanwhile_is_refused_and_to_be_made_again(
    tmp_path: Path, steps: Steps
) -> None:
    """As `git clean -x` does. It was told as something unexpected."""
    (tmp_path / "f").write_bytes(b"old")
    with closing(Workspace(tmp_path, steps=steps)) as workspace:
        write = put(workspace, "f", b"new")
        steps.at("stage.synced", lambda: shutil.rmtree(tmp_path / ".quire"))
        with pytest.raises(Refusal, match=r"f was not written: \.quire was removed") as refused:
            workspace.stage(write)
    assert (refused.value.code, (tmp_path / "f").read_bytes()) == ("busy", b"old")


@pytest.mark.parametrize(
    ("write", "step"),
    [
        ("create", "stage.named"),
        ("create in a folder", "perform.folders_made"),
        ("swap", "stage.named"),
        ("swap", "perform.base_held"),
        ("in place", "stage.named"),
        ("remove", "perform.base_held"),
    ],
)
def test_a_write_whose_temporary_file_is_removed_before_it_is_swapped_is_refused_and_to_be_made_again(
    tmp_path: Path, steps: Steps, write: str, step: str
) -> None:
    (tmp_path / "f").write_bytes(b"old")
    if write == "in place":
        (tmp_path / "g").hardlink_to(tmp_path / "f")
    before = sorted(tmp_path.iterdir())
    with closing(Workspace(tmp_path, steps=steps)) as workspace:
        path = {"create": "new", "create in a folder": "folder/new"}.get(write, "f")
        one = Remove(1, path, file_now(workspace, path)) if write == "remove" else put(workspace, path, b"new")
        steps.at(step, lambda: shutil.rmtree(tmp_path / ".quire"))
        if write == "swap" and step == "perform.base_held":  # decided again, it is refused
            assert do(workspace, one) == SwapLost("missing")
        else:
            with pytest.raises(Refusal, match=r"was removed from \.quire/tmp") as refused:
                do(workspace, one)
            assert refused.value.code == "busy"
    assert (tmp_path / "f").read_bytes() == b"old"
    assert sorted(tmp_path.iterdir()) == before


def test_a_new_file_whose_folder_goes_before_it_is_there_is_decided_again(workspace: Workspace, steps: Steps) -> None:
    """It was told as something unexpected."""
    write = put(workspace, "folder/new", b"new")
    steps.at("perform.folders_made", lambda: (workspace.root / "folder").rmdir())
    assert do(workspace, write) == SwapLost("missing")
    assert in_tmp(workspace) == []


def test_a_full_disk_is_refused(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """At any write of the temporary file."""
    (workspace.root / "f").write_bytes(b"old")
    write = put(workspace, "f", b"new" * 1000)

    def full(fd: int, data: bytes, at: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(Refusal) as caught:
        workspace.stage(write)
    assert caught.value.code == "disk_full"
    assert in_tmp(workspace) == []
    assert (workspace.root / "f").read_bytes() == b"old"


@pytest.mark.parametrize("openat2", [True, False])
@pytest.mark.parametrize("bind", [True, False])
def test_nothing_is_read_or_written_behind_a_mount(tmp_path: Path, openat2: bool, bind: bool) -> None:
    """Also where it shows a folder of the checkout itself, as git's hooks under another name."""
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "hooks").mkdir()
    (root / "hooks/a").write_bytes(b"old")
    probed = Workspace(root)
    probed.close()
    if openat2 and not probed.protection.openat2:
        pytest.skip("no openat2 here")
    protection = replace(probed.protection, openat2=openat2)
    what: tuple[str | Path, ...] = ("--bind", root / "hooks") if bind else ("-t", "tmpfs", "tmpfs")
    with mounted(root / "sub", *what), closing(Workspace(root, protection=protection)) as workspace:
        (root / "sub/a").write_bytes(b"old")
        missing = FileNow("sub/new", "missing")
        for act in (
            lambda: workspace.look("sub"),
            lambda: workspace.look("sub/a"),
            lambda: workspace.read("sub/a", 10),
            lambda: workspace.place("sub/a", writing=True, policy=Policy()),
            lambda: do(workspace, Put(1, "sub/new", b"new", 0o644, missing)),
            lambda: do(workspace, Put(1, "sub/deep/new", b"new", 0o644, FileNow("sub/deep/new", "missing"))),
            lambda: do(workspace, Put(1, "sub/a", b"new", 0o644, FileNow("sub/a", "file", Text.of(b"old")))),
            lambda: do(workspace, Remove(1, "sub/a", FileNow("sub/a", "file", Text.of(b"old")))),
        ):
            with pytest.raises(Refusal, match="another file system or mount") as refused:
                act()
            assert refused.value.code == "permission_denied"
        assert (root / "sub/a").read_bytes() == b"old"
        assert not (root / "sub/new").exists()


def test_no_folder_of_ours_is_one_that_is_mounted_there(tmp_path: Path) -> None:
    """Cookies and requests would be written into it."""
    (tmp_path / "root/.quire/spool").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    elsewhere = mounted(tmp_path / "root/.quire/spool", "--bind", tmp_path / "other")
    with elsewhere, pytest.raises(OSError, match="cross-device"):
        own_folder(tmp_path / "root", ".quire/spool")
    os.close(own_folder(tmp_path / "root", ".quire/spool"))


# --- fallbacks --------------------------------------------------------------------------------------------------------


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
    assert isinstance(do(workspace, put(workspace, "f", b"one")), SwapDone)
    assert isinstance(do(workspace, put(workspace, "f", b"two")), SwapDone)
    assert path.read_bytes() == b"two"
    theirs.write_bytes(b"theirs")
    steps.at("perform.base_held", lambda: os.replace(theirs, path))
    assert isinstance(do(workspace, put(workspace, "f", b"three")), SwapLost)
    assert path.read_bytes() == b"theirs"
    steps.at("perform.base_held", lambda: path.write_bytes(b"in place") if missing == "lease" else None)
    result = do(workspace, put(workspace, "f", b"four"))
    assert path.read_bytes() == (b"in place" if missing == "lease" else b"four")
    assert isinstance(result, SwapLost if missing == "lease" else SwapDone)
    assert isinstance(do(workspace, Remove(1, "f", file_now(workspace, "f"))), SwapDone)
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
    left = alive.leftovers(1 << 20)
    assert [(kept.data, kept.seq, kept.path) for kept in left] == [(b"new", 77, "")]
    alive.discard(left)
    assert in_tmp(alive) == []
    assert dead.leftovers(1 << 20) == []
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
    while gc.collect():
        pass  # daemons in memory of earlier tests have descriptors until they are collected
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


def test_a_checkout_whose_own_folder_is_another_users_can_be_read(tmp_path: Path) -> None:
    """Whoever has Quire in a checkout keeps others out of `.quire`; for them no daemon started there."""
    (tmp_path / "a").write_bytes(b"text")
    (tmp_path / ".quire").mkdir(0)

    def say() -> None:
        workspace = Workspace(tmp_path, wall_ns=lambda: 2**62)  # without leases a file of this moment is not read
        print(workspace.read_only, workspace.read("a", 10).data)
        workspace.close()

    try:
        assert rights.printed(rights.be_anybody, say) == "Permission denied b'text'\n"
    finally:
        (tmp_path / ".quire").chmod(0o755)
