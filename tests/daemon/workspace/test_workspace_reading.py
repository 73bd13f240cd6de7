"""Reading whole files, and knowing when a signature proves them."""

from __future__ import annotations

import fcntl
import mmap
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from quire_daemon.workspace import syscalls
from quire_daemon.workspace.read import RACY_NS
from quire_daemon.workspace.types import FileBusy, FileVanished, NotRegular, TooLarge
from quire_daemon.workspace.workspace import Workspace
from quire_journal.model.refusals import Refusal


def test_a_file_is_read_to_its_end(workspace: Workspace) -> None:
    """Empty ones too, and ones larger than one system call moves."""
    for size in (0, 1, 4096, 3_000_001):
        data = os.urandom(size)
        (workspace.root / "f").write_bytes(data)
        image = workspace.read("f", size)
        assert (image.data, image.finished, image.signature.size) == (data, True, size)


def test_a_larger_file_than_allowed_is_not_read(workspace: Workspace) -> None:
    """Its size is told; a sparse file counts as what it reads as."""
    with (workspace.root / "f").open("wb") as sparse:
        sparse.truncate(1 << 40)
    with pytest.raises(TooLarge) as caught:
        workspace.read("f", 1 << 26)
    assert caught.value.size == 1 << 40


@pytest.mark.parametrize("path_fds", [True, False])
def test_what_is_not_a_regular_file_is_not_opened(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, path_fds: bool
) -> None:
    """A FIFO, a socket, a folder, a link, a device: refused at once, and a FIFO's writer is left waiting."""
    monkeypatch.setattr(syscalls, "HAS_PATH_FDS", path_fds)  # macOS has no O_PATH
    root = workspace.root
    os.mkfifo(root / "fifo")
    (root / "folder").mkdir()
    (root / "link").symlink_to("fifo")
    names = ["fifo", "folder", "link", "socket"]
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(os.fspath(root / "socket"))
        if os.geteuid() == 0:
            os.mknod(root / "device", 0o020600, os.makedev(1, 3))
            names.append("device")
        for name in names:
            with pytest.raises(NotRegular):
                workspace.read(name, 10)
    script = f"print('ready', flush=True); open({os.fspath(root / 'fifo')!r}, 'w').write('x')"
    writer = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        deadline = time.monotonic() + 0.3
        while time.monotonic() < deadline and writer.poll() is None:
            with pytest.raises(NotRegular):
                workspace.read("fifo", 10)
            time.sleep(0.005)  # for it to go on, if it can
        assert writer.poll() is None, "the writer's open() went on: somebody opened the FIFO for reading"
    finally:
        writer.kill()
        writer.communicate()


def test_a_missing_file_and_a_missing_folder_are_one_answer(workspace: Workspace) -> None:
    """Vanished."""
    (workspace.root / "file").write_bytes(b"")
    for path in ("none", "none/none", "file/none"):
        with pytest.raises(FileVanished):
            workspace.read(path, 10)


def test_a_file_that_is_held_open_for_writing_is_not_taken_for_whole(workspace: Workspace) -> None:
    """It is somebody's half save; whoever wants it all the same is told so."""
    path = workspace.root / "f"
    path.write_bytes(b"half")
    with path.open("r+b"):
        with pytest.raises(FileBusy):
            workspace.read("f", 10)
        image = workspace.read("f", 10, unfinished_ok=True)
        assert (image.data, image.finished, image.settled) == (b"half", False, False)
        assert not workspace.verify_unchanged("f", image.signature)
    assert workspace.read("f", 10).finished


def test_a_file_that_is_mapped_writable_is_not_taken_for_whole(workspace: Workspace) -> None:
    """Stores into it leave no trace in any stamp."""
    path = workspace.root / "f"
    path.write_bytes(b"mapped")
    with path.open("r+b") as opened:
        mapped = mmap.mmap(opened.fileno(), 6)
    with mapped, pytest.raises(FileBusy):
        workspace.read("f", 10)
    assert workspace.read("f", 10).finished


def test_a_write_lease_of_another_program_is_respected(workspace: Workspace) -> None:
    """Opening would wait for it; a read, finished or not, says so at once."""
    path = workspace.root / "f"
    path.write_bytes(b"x")
    if not workspace.protection.lease:
        pytest.skip("no leases here")
    with path.open("r+b") as holder:
        fcntl.fcntl(holder.fileno(), fcntl.F_SETSIG, signal.SIGURG)  # the default would end this process
        fcntl.fcntl(holder.fileno(), fcntl.F_SETLEASE, fcntl.F_WRLCK)
        for unfinished_ok in (False, True):
            with pytest.raises(FileBusy):
                workspace.read("f", 10, unfinished_ok=unfinished_ok)
        assert not workspace.verify_unchanged("f", workspace.look("f").signature)  # type: ignore[arg-type]
    assert workspace.read("f", 10).data == b"x"


def test_readers_do_not_disturb_each_other(workspace: Workspace) -> None:
    """Another lease, another open for reading, and a lock."""
    path = workspace.root / "f"
    path.write_bytes(b"x")
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert workspace.read("f", 10).finished


def test_a_settled_signature_proves_the_bytes(workspace: Workspace) -> None:
    """Any way of changing them moves it."""
    if not workspace.protection.stamps:
        pytest.skip("this file system does not stamp stores into a mapping")
    path = workspace.root / "f"
    for change in (_write_in_place, _write_and_restore_mtime, _replace, _store_by_mapping, _store_after_reading):
        path.write_bytes(b"before")
        if not workspace.protection.fine_stamps:
            time.sleep(2 * RACY_NS / 1e9)
        image = workspace.read("f", 10)
        assert image.settled
        assert workspace.verify_unchanged("f", image.signature)
        change(path)
        assert path.read_bytes() == b"after!"
        assert not workspace.verify_unchanged("f", image.signature), change.__name__


def _write_in_place(path: Path) -> None:
    with path.open("r+b") as opened:
        opened.write(b"after!")


def _write_and_restore_mtime(path: Path) -> None:
    seen = path.stat()
    _write_in_place(path)
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def _replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"after!")
    os.replace(other, path)


def _store_by_mapping(path: Path) -> None:
    with path.open("r+b") as opened, mmap.mmap(opened.fileno(), 6) as mapped:
        mapped[:] = b"after!"


def _store_after_reading(path: Path) -> None:
    with path.open("r+b") as opened, mmap.mmap(opened.fileno(), 6) as mapped:
        assert mapped[:] == b"before"
        mapped[:] = b"after!"


def test_where_stamps_say_nothing_no_signature_is_trusted() -> None:
    """tmpfs maps a page that was read writable at once: a store leaves no stamp."""
    shm = Path("/dev/shm")
    if not shm.is_dir() or not os.access(shm, os.W_OK):
        pytest.skip("no tmpfs")
    root = shm / f"quire-test-{os.getpid()}"
    root.mkdir()
    workspace = Workspace(root)
    try:
        (root / "f").write_bytes(b"before")
        image = workspace.read("f", 10)
        _store_after_reading(root / "f")
        assert not image.settled or not workspace.verify_unchanged("f", image.signature)
    finally:
        workspace.close()
        for name in (".quire/.gitignore", "f"):
            (root / name).unlink()
        for folder in (".quire/tmp", ".quire/cookies", ".quire", "."):
            (root / folder).rmdir()


def test_coarse_stamps_are_trusted_when_they_are_old(tmp_path: Path) -> None:
    """A change within the same tick would have the same stamp."""
    probed = Workspace(tmp_path)
    now = time.time_ns()
    protection = replace(probed.protection, stamps=True, fine_stamps=False)
    coarse = Workspace(tmp_path, protection=protection, wall_ns=lambda: now)
    (tmp_path / "f").write_bytes(b"")
    now = (tmp_path / "f").stat().st_ctime_ns + RACY_NS - 1
    assert not coarse.read("f", 1).settled
    now += 1
    assert coarse.read("f", 1).settled
    probed.close()
    coarse.close()


def test_without_leases_a_fresh_file_has_to_settle(tmp_path: Path) -> None:
    """The quiet time stands in for the lease; a clock that was set back does not make a file unreadable."""
    probed = Workspace(tmp_path)
    now = time.time_ns()
    without = Workspace(tmp_path, protection=replace(probed.protection, lease=False), wall_ns=lambda: now)
    (tmp_path / "f").write_bytes(b"x")
    now = (tmp_path / "f").stat().st_ctime_ns + RACY_NS // 2
    with pytest.raises(FileBusy):
        without.read("f", 10)
    for at in (now + RACY_NS, now - 3_600_000_000_000):
        now = at
        assert without.read("f", 10).data == b"x"
    probed.close()
    without.close()


def test_a_broken_lease_does_not_kill_and_does_not_delay(workspace: Workspace) -> None:
    """The usual signal for it ends the process; and a writer that comes during a read waits for that read only."""
    path = workspace.root / "f"
    path.write_bytes(b"x" * 1_000_000)
    waits: list[float] = []
    stop = threading.Event()
    script = f"""
import time, sys
waits = []
for _ in range(300):
    before = time.perf_counter()
    with open({os.fspath(path)!r}, "r+b") as f: f.write(b"y")
    waits.append(time.perf_counter() - before)
print(max(waits))
"""

    def read_on() -> None:
        while not stop.is_set():
            try:
                workspace.read("f", 1 << 20)
            except FileBusy:
                continue

    reader = threading.Thread(target=read_on)
    reader.start()
    try:
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
        waits.append(float(run.stdout))
    finally:
        stop.set()
        reader.join()
    assert waits[0] < 1.0


def test_a_closed_folder_is_a_refusal(tmp_path: Path) -> None:
    """Another user's folder: not a fault, and not "missing"."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents:
        if folder.stat().st_uid == 0 and not folder.stat().st_mode & 1 and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "f").write_bytes(b"")
    child = os.fork()
    if child == 0:
        status = 3  # nothing may go on in here as if it were the tests
        try:
            status = _reads_as_nobody(tmp_path)
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _reads_as_nobody(root: Path) -> int:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    workspace = Workspace(root)
    try:
        workspace.read("closed/f", 10)
    except Refusal as refused:
        return 0 if refused.code == "permission_denied" else 2
    return 1


HIDING = """
import subprocess, sys
def hide():
    subprocess.run(["mount", "-t", "tmpfs", "none", "/proc"], check=True)
if sys.argv[2] == "before":
    hide()
from pathlib import Path
from quire_daemon.workspace.workspace import Workspace
workspace = Workspace(Path(sys.argv[1]))
if sys.argv[2] == "later":
    hide()
try:
    print(workspace.read("f", 100).data.decode(), end="")
except OSError as error:
    print(error.strerror, end="")
"""


@pytest.mark.parametrize(("when", "said"), [("before", "text"), ("later", "there is no /proc any more")])
def test_a_file_is_not_gone_because_the_system_hides_its_processes(tmp_path: Path, when: str, said: str) -> None:
    """Every file was taken for missing, and all that was known for deleted."""
    (tmp_path / "f").write_text("text")
    command = ["unshare", "--mount", sys.executable, "-c", HIDING, tmp_path, when]
    if os.geteuid() != 0:
        pytest.skip("only root can hide /proc from a process of its own")
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    if ran.returncode and "unshare" in ran.stderr:
        pytest.skip("this root cannot")
    assert ran.stdout.startswith(said), ran.stderr
