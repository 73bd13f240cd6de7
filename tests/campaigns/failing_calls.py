"""System calls that fail at a daemon or a command while it works: strace(1) has the n-th call of a kind fail."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pytest

import quire_client
from live import Live, eventually

FAILURES: Final[dict[str, tuple[str, ...]]] = {
    "newfstatat": ("EIO", "ENOMEM", "EACCES"),
    "statx": ("EIO", "EACCES"),
    "openat": ("EIO", "EMFILE", "ENFILE", "ENOMEM", "EACCES"),
    "openat2": ("EIO", "EMFILE", "ENOMEM", "EACCES"),
    "renameat": ("EIO", "ENOSPC"),
    "renameat2": ("EIO", "ENOSPC", "EACCES"),
    "rename": ("EIO", "ENOSPC"),
    "link": ("EIO", "ENOSPC"),
    "linkat": ("EIO", "ENOSPC", "EACCES"),
    "unlink": ("EIO",),
    "unlinkat": ("EIO", "EACCES"),
    "mkdir": ("EIO", "ENOSPC"),
    "mkdirat": ("EIO", "ENOSPC"),
    "rmdir": ("EIO",),
    "fsync": ("EIO", "ENOSPC", "EDQUOT"),
    "fdatasync": ("EIO", "ENOSPC"),
    "syncfs": ("EIO",),
    "msync": ("EIO",),
    "pwrite64": ("EIO", "ENOSPC", "EDQUOT"),
    "pwritev": ("EIO", "ENOSPC"),
    "writev": ("EIO", "ENOSPC"),
    "write": ("EIO", "ENOSPC"),
    "pread64": ("EIO",),
    "read": ("EIO",),
    "getdents64": ("EIO",),
    "ftruncate": ("EIO", "ENOSPC"),
    "fallocate": ("ENOSPC", "EIO"),
    "fcntl": ("EIO", "ENOLCK"),
    "flock": ("EIO",),
    "fchmod": ("EIO", "EPERM"),
    "fchmodat": ("EIO", "EPERM"),
    "fchown": ("EIO",),
    "flistxattr": ("EIO",),
    "listxattr": ("EIO",),
    "getxattr": ("EIO",),
    "fsetxattr": ("EIO", "ENOSPC"),
    "statfs": ("EIO",),
    "close": ("EIO",),
    "mmap": ("ENOMEM",),
    "sendfile": ("EIO",),
    "copy_file_range": ("EIO",),
    "clone3": ("EAGAIN",),
}
"""Calls, and how each may fail. What wakes threads and carries messages is left out: without it there is no process."""

_LINE: Final = re.compile(r"(\d+) +(\w+)\((.*)")
_BELL: Final = re.compile(r'\d+, "(\\1\\0|\\0)')


class Fault(NamedTuple):
    """One call that is to fail."""

    call: str
    error: str
    when: int  # the n-th of its kind, of any thread

    @property
    def words(self) -> tuple[str, ...]:
        """What strace is told."""
        return "-e", f"trace={self.call}", "-e", f"inject={self.call}:error={self.error}:when={self.when}"


def strace() -> str:
    """The program; skips where it is missing, or may trace nothing."""
    found = shutil.which("strace")
    if not found:
        pytest.skip("strace is not installed")
    tried = subprocess.run([found, "-o", os.devnull, "true"], check=False, capture_output=True)
    if tried.returncode:
        pytest.skip("strace may trace no process here")
    return found


ALL: Final = ("-e", f"trace={','.join(f'?{name}' for name in FAILURES)}")


@contextlib.contextmanager
def attached(pid: int, words: Sequence[str], out: Path) -> Iterator[None]:
    """A block in which the process, all its threads and its children are traced."""
    tracer = subprocess.Popen([strace(), "-f", "-qq", "-p", str(pid), "-o", out, *words], stderr=subprocess.DEVNULL)
    tasks = Path(f"/proc/{pid}/task")

    def traced() -> bool:
        return tracer.poll() is not None or all(
            f"TracerPid:\t{tracer.pid}\n" in (task / "status").read_text() for task in tasks.iterdir()
        )

    try:
        eventually("the daemon is traced", traced)
        yield
    finally:
        if tracer.poll() is None:
            tracer.send_signal(signal.SIGINT)
        if not ended(tracer, 5):
            tracer.kill()  # it waits for a thread that waits; the kernel lets go of all of them
            tracer.wait()


def faults_met(out: Path) -> int:
    """How many calls failed."""
    return out.read_text(errors="replace").count("(INJECTED)") if out.exists() else 0


def met(out: Path) -> str:
    """The first call that failed, as strace tells it."""
    told = (line for line in out.read_text(errors="replace").splitlines() if "(INJECTED)" in line)
    return next(told, "")[:160]


def calls(out: Path, begin: str = "") -> list[tuple[str, int]]:
    """(kind, n) of each call that may fail, of each thread; from the first on that names `begin`."""
    found: list[tuple[str, int]] = []
    counts: Counter[tuple[str, str]] = Counter()
    begun = not begin
    for line in out.read_text(errors="replace").splitlines():
        told = _LINE.match(line)
        if told is None or told[2] not in FAILURES:
            continue
        counts[told[1], told[2]] += 1
        begun = begun or begin in told[3]
        if begun and not (told[2] in ("read", "write") and _BELL.match(told[3])):  # by which threads wake each other
            found.append((told[2], counts[told[1], told[2]]))
    return found


def drawn(chance: random.Random, among: Sequence[tuple[str, int]]) -> Fault:
    """A fault at one of these calls: each kind as likely as any other, as those that matter are few."""
    kinds = sorted({call for call, _ in among})
    call = chance.choice(kinds)
    when = chance.choice([n for kind, n in among if kind == call])
    return Fault(call, chance.choice(FAILURES[call]), when)


def count(operation: str, fault: Fault, untrue: Sequence[str]) -> None:
    """This fault was met. Where somebody asks for it (`QUIRE_COUNTS`), a file is told at once, in a line of JSON."""
    if kept := os.environ.get("QUIRE_COUNTS"):
        with open(kept, "a", encoding="utf-8") as file:
            file.write(json.dumps([operation, *fault, *untrue]) + "\n")


def connected(at: Live, *who: str, timeout_s: float = 60.0) -> quire_client.Client:
    """A client of a daemon that is started if need be, however busy the machine is."""
    for _ in range(4):
        with contextlib.suppress(quire_client.NoDaemon):
            return at.connect(*who, timeout_s=timeout_s)
    return at.connect(*who, timeout_s=timeout_s)


def ended(process: subprocess.Popen[bytes], within_s: float) -> bool:
    """Has it ended by then?"""
    until = time.monotonic() + within_s
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    return process.poll() is not None
