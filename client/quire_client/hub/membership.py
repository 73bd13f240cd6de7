"""Files of team membership in a checkout's state folder: the team's address, and the lock of the process that ships."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from quire_journal.workspaces import hold_lock, hub_file

SHIPPER: Final = "ship.lock"
LOG: Final = "ship.log"


def joined(state: Path) -> str:
    """Return the address of the team; "" if the checkout has joined none."""
    try:
        return hub_file(state).read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""


def join(state: Path, address: str) -> None:
    new = hub_file(state).with_suffix(".new")
    mode = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(new, mode, 0o600)  # may hold a password
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(f"{address}\n")
    os.replace(new, hub_file(state))


def leave(state: Path) -> None:
    hub_file(state).unlink(missing_ok=True)


@contextmanager
def shipping(state: Path) -> Iterator[bool]:
    """Context manager: become the shipper of this journal. Yields True, or False if another process is the shipper."""
    with hold_lock(state / SHIPPER) as lock:
        if lock is not None:
            os.ftruncate(lock.fd, 0)
            os.pwrite(lock.fd, f"{os.getpid()}\n".encode(), 0)
        yield lock is not None


def shipper(state: Path) -> int:
    """Return the pid of this journal's shipper; 0 if none runs."""
    with hold_lock(state / SHIPPER) as lock:
        if lock is not None:
            return 0
    try:
        return int((state / SHIPPER).read_text("ascii"))
    except (OSError, ValueError):
        return 0


def start_shipper(root: Path, state: Path) -> None:
    """Start `quire ship` in the background; it outlives this process, and writes its messages to `ship.log`."""
    log = os.open(state / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        subprocess.Popen(
            [sys.executable, "-m", "quire_client", "ship", "-C", os.fspath(root), "--state-dir", os.fspath(state)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            start_new_session=True,
        )
    finally:
        os.close(log)


def stop_shipper(state: Path) -> bool:
    """Ask the shipper to end; return False if none runs."""
    pid = shipper(state)
    if pid:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)  # SIGINT is ignored in what a shell started in the background
    return pid > 0
