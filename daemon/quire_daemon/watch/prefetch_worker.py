"""Process that reads files for the main loop (threads would slow it down): `python -m
quire_daemon.watch.prefetch_worker`; `Reader` is the daemon's side.

Messages are msgpack: a `Task`, then lists of paths (bytes, as the system has them), each answered by a list of
`ReadAhead`, with None for a file that the main loop must look at itself. The process ends with its input.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import IO, Any, Final

import msgspec
from msgspec.structs import replace

from quire_daemon.clock import SystemClock
from quire_daemon.watch.prefetch import ReadAhead
from quire_daemon.workers import PipedProcess, framed, program, received
from quire_daemon.workspace import (
    Beneath,
    FileBusy,
    FileReader,
    FileVanished,
    Image,
    NotRegular,
    Protection,
    TooLarge,
)
from quire_journal.maintenance import secret_scan
from quire_journal.model import Refusal
from quire_journal.storage.blobs import codec

READERS: Final = 2
"""Number of processes: reading takes longer than recording."""


class Task(msgspec.Struct, frozen=True):
    root: str
    protection: Protection
    max_bytes: int  # of a file; larger ones are left to the loop
    scan_secrets: bool  # leave texts that hold a secret to the loop


def read_one(read: Callable[[str, int], Image], path: str, task: Task, taken_ns: int) -> ReadAhead | None:
    """Read a plain file that no program is writing; `path` stays empty in the result. None for any other file, and for
    one with a secret.
    """
    try:
        image = read(path, task.max_bytes)
    except (FileBusy, FileVanished, NotRegular, TooLarge, OSError, Refusal):
        return None  # the loop meets the same, and handles it
    if task.scan_secrets and secret_scan.find(image.data):
        return None
    return ReadAhead("", image.signature, image.settled, codec.compress(image.data), taken_ns)


def named(paths: Sequence[str], found: Sequence[ReadAhead | None]) -> list[ReadAhead | None]:
    return [one and replace(one, path=path) for path, one in zip(paths, found, strict=True)]


class Reader:
    """A reading process, for any thread, started by the first `read`."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._child: PipedProcess | None = None
        self._turn = threading.Lock()
        self._closed = False

    def read(self, paths: Sequence[str]) -> list[ReadAhead | None]:
        """Read these files; None for a file that the main loop must look at itself. Raises `OSError` or `EOFError` if
        the process has ended or the reader is closed.
        """
        with self._turn:
            if self._closed:
                raise EOFError
            child = self._child = self._child or self._start()
            _send(child.stdin, [os.fsencode(path) for path in paths])
            return named(paths, _receive(child.stdout, list[ReadAhead | None]))

    def _start(self) -> PipedProcess:
        child = PipedProcess(program("watch.prefetch_worker"), errors=subprocess.DEVNULL)
        _send(child.stdin, self._task)
        return child

    def close(self) -> None:
        """End the process, after a running read. Idempotent."""
        with self._turn:
            self._closed = True
            child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.communicate()


class Readers:
    """Pool of readers, for any thread."""

    def __init__(self, task: Task, count: int = READERS) -> None:
        self._all = [Reader(task) for _ in range(count)]
        self._free: queue.SimpleQueue[Reader] = queue.SimpleQueue()
        for reader in self._all:
            self._free.put(reader)

    def read(self, paths: Sequence[str]) -> list[ReadAhead | None]:
        """Read these files in a free process, as `Reader.read`."""
        reader = self._free.get()
        try:
            return reader.read(paths)
        finally:
            self._free.put(reader)

    def close(self) -> None:
        """End all readers, after running reads. Idempotent."""
        for reader in self._all:
            reader.close()


def _send(pipe: IO[bytes], message: Any) -> None:
    pipe.write(framed(msgspec.msgpack.encode(message)))
    pipe.flush()


def _receive(pipe: IO[bytes], kind: Any) -> Any:
    return msgspec.msgpack.decode(received(pipe), type=kind)


def serve(asked: IO[bytes], told: IO[bytes]) -> None:
    """Answer requests until the input ends. Raises `OSError` if the workspace cannot be opened."""
    task = _receive(asked, Task)
    root = os.open(task.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    now_ns = SystemClock().now_ns
    reading = FileReader(Beneath(root, task.protection.openat2), task.protection, now_ns)

    def read(path: str, limit: int) -> Image:
        return reading.read(path, limit, unfinished_ok=False)

    while True:
        paths = [os.fsdecode(path) for path in _receive(asked, list[bytes])]
        _send(told, [read_one(read, path, task, now_ns()) for path in paths])


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the daemon, which ends this process
    with contextlib.suppress(EOFError, BrokenPipeError):
        serve(sys.stdin.buffer, sys.stdout.buffer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
