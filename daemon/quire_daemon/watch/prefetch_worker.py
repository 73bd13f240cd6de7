"""A process that reads files ahead of the loop: `python -m quire_daemon.watch.prefetch_worker`; `Reader` is the
daemon's side of it.

Reading, hashing and packing a file of some kilobytes is mostly the interpreter's work, and one process has one
interpreter: on threads it takes from the loop what it should save it. So a large first capture has processes for it.

Messages are msgpack: a `Task`, then paths (bytes, as the system has them), each list answered by as many
`PrefetchedFile`, None where the loop has to look itself. The process ends when its input does.
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
    Signature,
    TooLarge,
)
from quire_journal.maintenance import secret_scan
from quire_journal.model import BlobId, Refusal
from quire_journal.storage.blobs import Frame, codec

READERS: Final = 2
"""Processes that read: to read a file takes longer than to note it, and the loop waits for the disk meanwhile."""


class Task(msgspec.Struct, frozen=True):
    """What is read, and how."""

    root: str
    protection: Protection
    max_bytes: int  # of a file; larger ones are left to the loop
    scan_secrets: bool  # leave texts that hold a secret to the loop


class PrefetchedFile(msgspec.Struct, frozen=True, array_like=True):
    """`ReadAhead` without the path."""

    signature: Signature
    settled: bool
    blob: bytes
    size: int
    kind: int
    body: bytes
    taken_ns: int


def read_one(read: Callable[[str, int], Image], path: str, task: Task, taken_ns: int) -> PrefetchedFile | None:
    """A plain file that nobody is writing, as one whole; None for all else. `read` is `Workspace.read`, or like it."""
    try:
        image = read(path, task.max_bytes)
    except (FileBusy, FileVanished, NotRegular, TooLarge, OSError, Refusal):
        return None  # the loop will find the same, and knows what follows
    if task.scan_secrets and secret_scan.find(image.data):
        return None
    frame = codec.compress(image.data)
    return PrefetchedFile(image.signature, image.settled, frame.blob, frame.size, frame.kind, frame.body, taken_ns)


def ahead(path: str, one: PrefetchedFile | None) -> ReadAhead | None:
    """What was found at `path`."""
    if one is None:
        return None
    frame = Frame(BlobId(one.blob), one.size, one.kind, one.body)
    return ReadAhead(path, one.signature, one.settled, frame, one.taken_ns)


class Reader:
    """A process that reads, from any thread. It is started by the first read and ended by `close`."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._child: PipedProcess | None = None
        self._turn = threading.Lock()
        self._closed = False

    def read(self, paths: Sequence[str]) -> list[ReadAhead | None]:
        """What stands at these paths. Raises `OSError` or `EOFError` where there is no process to ask (any more)."""
        with self._turn:
            if self._closed:
                raise EOFError
            child = self._child = self._child or self._start()
            _send(child.stdin, [os.fsencode(path) for path in paths])
            told = _receive(child.stdout, list[PrefetchedFile | None])
        return [ahead(path, one) for path, one in zip(paths, told, strict=True)]

    def _start(self) -> PipedProcess:
        child = PipedProcess(program("watch.prefetch_worker"), errors=subprocess.DEVNULL)
        _send(child.stdin, self._task)
        return child

    def close(self) -> None:
        """End the process. Idempotent; waits for a read that is going on."""
        with self._turn:
            self._closed = True
            child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.communicate()


class Readers:
    """Some readers; each list of paths is for one that is free. From any thread."""

    def __init__(self, task: Task, count: int = READERS) -> None:
        self._all = [Reader(task) for _ in range(count)]
        self._free: queue.SimpleQueue[Reader] = queue.SimpleQueue()
        for reader in self._all:
            self._free.put(reader)

    def read(self, paths: Sequence[str]) -> list[ReadAhead | None]:
        """What stands at these paths; as `Reader.read` does it."""
        reader = self._free.get()
        try:
            return reader.read(paths)
        finally:
            self._free.put(reader)

    def close(self) -> None:
        """End all of them. Idempotent; waits for the reads that are going on."""
        for reader in self._all:
            reader.close()


def _send(pipe: IO[bytes], message: Any) -> None:
    pipe.write(framed(msgspec.msgpack.encode(message)))
    pipe.flush()


def _receive(pipe: IO[bytes], kind: Any) -> Any:
    """The next message. Raises `EOFError` when there is none."""
    return msgspec.msgpack.decode(received(pipe), type=kind)


def serve(asked: IO[bytes], told: IO[bytes]) -> None:
    """Answer until there are no more questions. Raises `OSError` for a workspace that cannot be opened."""
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
    """Answer until the input ends, as it does when the daemon does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the daemon, which ends this process
    with contextlib.suppress(EOFError, BrokenPipeError):
        serve(sys.stdin.buffer, sys.stdout.buffer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
