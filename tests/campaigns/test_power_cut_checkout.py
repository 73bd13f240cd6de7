"""Power cuts: what the disk was given by then is all that there is, and every acknowledged edit is in it.

The disk is a file, mounted as one. A cut takes a copy of that file while the daemon stands still: what the kernel holds
in memory for it and has not written yet is not in the copy, as after a real cut. The copy is mounted in its place, and
a daemon started on it. The machine plays on: what the daemon wrote down of this start of it, as a rule not on the disk
yet, is taken away, for another start would not believe it. A disk that has taken something in and forgets it
nevertheless is not played.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import live
from live import Live, eventually, verified

sys.path.insert(0, str(Path(__file__).parent))
from counting import FILES, Writer, scratch, slots

DISK_BYTES: Final = 96 << 20


def run(*command: str | os.PathLike[str]) -> str:
    """What the command says; it must succeed."""
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def unmounted(at: Path) -> bool:
    """Is the file system at `at` unmounted now? Not while a process that is ending has anything open in it."""
    return subprocess.run(["umount", at], capture_output=True, timeout=60, check=False).returncode == 0


@contextlib.contextmanager
def mounted(disk: Path, at: Path) -> Iterator[None]:
    """The file `disk` as a file system at `at`.

    Not read and written past the kernel's memory of that file: what is copied of it there would be of an earlier time.
    """
    device = run("losetup", "--direct-io=off", "--find", "--show", disk)
    try:
        run("mount", device, at)
        try:
            yield
        finally:
            eventually("nobody has anything open there", lambda: not os.path.ismount(at) or unmounted(at))
    finally:
        run("losetup", "--detach", device)


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """An empty disk, where this process may mount one."""
    if os.geteuid() != 0 or not shutil.which("losetup") or not shutil.which("mkfs.ext4"):
        pytest.skip("needs root, losetup and mkfs.ext4, to mount a disk that loses power")
    made = tmp_path / "disk"
    with open(made, "wb") as file:
        file.truncate(DISK_BYTES)
    run("mkfs.ext4", "-q", "-F", made)
    (tmp_path / "at").mkdir()
    try:
        with mounted(made, tmp_path / "at"):
            pass
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no disk can be mounted here: {error.stderr.strip()}")
    return made


def copied_at_one_moment(disk: Path, left: Path) -> None:
    """A copy of one moment: the kernel may write to it meanwhile, and a cut leaves no parts of two times."""
    while True:
        shutil.copyfile(disk, left)
        if filecmp.cmp(disk, left, shallow=False):
            return


def until_cut(at: Live, disk: Path, writers: list[Writer], chance: random.Random) -> Path:
    """Edit for a while; the disk as a power cut at a random moment leaves it."""
    at.connect("boss").close()  # starts the daemon, which recovers
    stop = threading.Event()
    threads = [threading.Thread(target=writer.run, args=[stop]) for writer in writers]
    for thread in threads:
        thread.start()
    told = sum(len(writer.versions) for writer in writers) + chance.randint(4, 30)
    eventually("enough is acknowledged", lambda: sum(len(writer.versions) for writer in writers) >= told)
    time.sleep(chance.uniform(0, 0.02))
    live.stop(at.daemon_pid())
    left = disk.with_name("left")
    copied_at_one_moment(disk, left)
    stop.set()
    at.kill()
    for thread in threads:
        thread.join()
    return left


@pytest.mark.real
@pytest.mark.timeout(live.length(60, 3600))
def test_power_cuts_lose_no_acknowledged_edit(disk: Path) -> None:
    chance, top = random.Random(live.SEED), disk.parent / "at"
    writers: list[Writer] = []
    for cut in range(live.length(2, 150)):
        with mounted(disk, top), contextlib.closing(Live(top / "checkout", top / "state")) as at:
            if not writers:
                scratch(at)
                writers = [Writer(at, "ada", live.SEED), Writer(at, "bob", live.SEED + 1)]
            for writer in writers:
                writer.at = at
                writer.seed += 2
            left = until_cut(at, disk, writers, chance)
        os.replace(left, disk)
        with mounted(disk, top), contextlib.closing(Live(top / "checkout", top / "state")) as at:
            # It tells of this start of the machine: another one would not believe it.
            (at.state_dir / "journal" / "boot").unlink(missing_ok=True)
            boss = at.connect("boss")
            where = f"after cut {cut}, seed {live.SEED}"
            for writer in writers:
                assert not writer.faults, (where, writer.faults)
                writer.at = at
                writer.settle(boss)
                writer.check_history(boss)
            for path in FILES:
                slots(at.read(path))
            verified(boss)
