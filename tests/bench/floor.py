"""What this machine asks of everybody: a round trip, a synced commit, a file that is synced and exchanged.

Nobody who answers an edit only when it survives a power cut can leave one of them out, so their sum is the floor that
an edit is measured against. Each is measured between the edits, not before or after: these machines are noisy.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import lmdb
import zmq

_EXCHANGE = 2
_renameat2 = ctypes.CDLL(None, use_errno=True).renameat2

_ECHO = """
import os, sys, zmq
router = zmq.Context().socket(zmq.ROUTER)
router.bind(sys.argv[1])
while True:
    sender, size = router.recv_multipart()
    router.send_multipart([sender, bytes(int.from_bytes(size[:4], "big"))])
"""

_BATCHES = """
import os, sys, lmdb, zmq
router = zmq.Context().socket(zmq.ROUTER)
router.bind(sys.argv[1])
os.chdir(sys.argv[2])
store = lmdb.open("journal", map_size=1 << 34, max_dbs=4)
table = store.open_db(b"records")
number = 0
while True:
    batch = [router.recv_multipart()]
    while router.poll(0):
        batch.append(router.recv_multipart())
    with store.begin(write=True, db=table) as transaction:
        for _ in batch:
            number += 1
            for part in range(6):
                transaction.put((number * 8 + part).to_bytes(8, "big"), os.urandom(150))
    for sender, edit in batch:
        size, name, data = int.from_bytes(edit[:4], "big"), edit[4:36].decode().strip(), edit[36:]
        fd = os.open(name + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(fd, data)
        os.fsync(fd)
        os.close(fd)
        os.rename(name + ".tmp", name)
        router.send_multipart([sender, bytes(size)])
"""


def file_system(folder: Path) -> str:
    """Which one a folder is on, and of ext4 whether it keeps a journal: that is no mount option that one could read."""
    device = os.stat(folder).st_dev
    at = f"{os.major(device)}:{os.minor(device)}"
    for mount in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = mount.split()
        if fields[2] == at:
            kind = fields[fields.index("-") + 1]
            if kind != "ext4":
                return kind
            disk = Path(f"/sys/dev/block/{at}").resolve().name
            return f"ext4 with{'' if any(Path('/proc/fs/jbd2').glob(f'{disk}-*')) else 'out'} a journal"
    return "a disk of its own kind"


def timed(act: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    begun = time.perf_counter()
    act()
    return (time.perf_counter() - begun) * 1000


@contextlib.contextmanager
def echo(request_bytes: int) -> Iterator[Callable[[int], None]]:
    """Round trips over ipc to a process that does nothing else; call it with the bytes of the reply."""
    with tempfile.TemporaryDirectory(prefix="quire-bench-") as folder:
        door = f"ipc://{folder}/echo.sock"
        server = subprocess.Popen([sys.executable, "-c", _ECHO, door])
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        try:
            dealer = context.socket(zmq.DEALER)
            dealer.connect(door)
            padding = bytes(max(request_bytes - 4, 0))

            def once(reply_bytes: int) -> None:
                dealer.send(reply_bytes.to_bytes(4, "big") + padding)
                dealer.recv()

            yield once
        finally:
            context.destroy(linger=0)
            server.kill()
            server.wait()


@contextlib.contextmanager
def commits() -> Iterator[Callable[[], None]]:
    """Synced transactions: a record, a small blob, and the few keys of the views that an edit moves."""
    with tempfile.TemporaryDirectory(prefix="quire-bench-") as folder:
        store = lmdb.open(folder, map_size=1 << 34, max_dbs=4, writemap=False)
        table = store.open_db(b"records")
        number = 0

        def once() -> None:
            nonlocal number
            number += 1
            with store.begin(write=True, db=table) as transaction:
                for part in range(6):
                    transaction.put((number * 8 + part).to_bytes(8, "big"), os.urandom(150))

        try:
            yield once
        finally:
            store.close()


@contextlib.contextmanager
def exchanges(data: bytes) -> Iterator[Callable[[], None]]:
    """A temporary file, written, fsynced, and exchanged with the one that has the name."""
    with tempfile.TemporaryDirectory(prefix="quire-bench-") as folder:
        path, beside = Path(folder) / "floor.txt", Path(folder) / "floor.tmp"
        path.write_bytes(data)

        def once() -> None:
            fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.write(fd, data)
            os.fsync(fd)
            os.close(fd)
            if _renameat2(-100, os.fsencode(path), -100, os.fsencode(beside), _EXCHANGE):
                raise OSError(ctypes.get_errno(), "renameat2")
            os.unlink(beside)

        yield once


@contextlib.contextmanager
def durable_edits(data: bytes) -> Iterator[Callable[[], None]]:
    """The floor of an edit of a file with `data`: the three of them, one after the other."""
    with echo(400) as trip, commits() as commit, exchanges(data) as exchange:

        def once() -> None:
            trip(1500)
            commit()
            exchange()

        yield once


@contextlib.contextmanager
def batched_edits(data: bytes) -> Iterator[Callable[[int], Callable[[], None]]]:
    """The floor of edits that come together: for each batch one synced commit, for each edit a file synced and renamed.

    Called with a number it gives the edits of one more client, each of the client's own file with `data`.
    """
    with tempfile.TemporaryDirectory(prefix="quire-bench-") as folder:
        door = f"ipc://{folder}/floor.sock"
        server = subprocess.Popen([sys.executable, "-c", _BATCHES, door, folder])
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()

        def client(number: int) -> Callable[[], None]:
            dealer = context.socket(zmq.DEALER)
            dealer.connect(door)
            edit = (1500).to_bytes(4, "big") + f"file{number}.txt".ljust(32).encode() + data

            def once() -> None:
                dealer.send(edit)
                dealer.recv()

            return once

        try:
            yield client
        finally:
            context.destroy(linger=0)
            server.kill()
            server.wait()
