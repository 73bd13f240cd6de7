"""Process that reads fanotify: `python -m quire_daemon.watch.fanotify.worker FD PARENT ROOT`.

It has real-time priority if allowed, because a writer may exit after 0.1 ms. A thread would wait longer than that for
the loop.

Messages are JSON in the form of `pipe`. First `{"off": REASON, "since": S}`, with an empty reason if events are read.
`{"ask": N, "paths": [[PATH, SINCE], …]}` is answered by `{"answer": N, "writes": […]}`: for each path null, or a list
of `[NAME, LINE, BEGAN, FIRST, LAST]`, with LINE null if the process ended unread. The answer includes all events before
the question. `{"folders": […]}` asks which of these folders are ignored; `{"ignored": […]}` names the outermost ignored
ones.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import select
import signal
import socket
import stat
import sys
import time
from contextlib import suppress
from typing import Any, Final

from quire_daemon.ops import ProcessTree
from quire_daemon.watch.fanotify.event_reader import EventReader, Folders, Line, Processes
from quire_daemon.watch.fanotify.kernel import Fanotify
from quire_daemon.watch.fanotify.write_table import WriteTable
from quire_daemon.workers import LENGTH, die_with, framed

BUSY_S: Final = 0.005
"""Seconds of continuous work after which real-time priority is dropped until all events are read."""

SHARE: Final = 0.25
"""Largest share of a processor, apart from `CREDIT_S`. Beyond it, reads are `GATHER_S` apart and may miss short-lived
writers.
"""

CREDIT_S: Final = 0.1
GATHER_S: Final = 0.002
MOST_ASKED: Final = 200

_TICKS: Final[int] = os.sysconf("SC_CLK_TCK")


def main(argv: list[str]) -> None:
    wire, parent, root = socket.socket(fileno=int(argv[0])), int(argv[1]), os.fsencode(argv[2])
    die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the daemon
    try:
        kernel = Fanotify(root)
    except OSError as error:
        _send(wire, {"off": why_not(error)})
        return
    since_s = time.monotonic()
    worker = FanotifyWorker(kernel, wire, (parent, os.getpid()), since_s)
    with suppress(EOFError, OSError):
        worker.warm_up()
        _send(wire, {"off": "", "since": since_s})
        worker.run()


def why_not(error: OSError) -> str:
    if error.errno == errno.EPERM:
        return "needs CAP_SYS_ADMIN"
    if error.errno in (errno.ENOSYS, errno.EINVAL):
        return "needs Linux 6.0 with fanotify"
    if error.errno in (errno.EOPNOTSUPP, errno.ENODEV, errno.EXDEV, errno.ESTALE):
        return "the file system of the checkout does not support it"
    return error.strerror or str(error)


class FanotifyWorker:
    def __init__(self, kernel: Fanotify, wire: socket.socket, own: tuple[int, ...], since_s: float) -> None:
        self._kernel, self._wire = kernel, wire
        self._table: WriteTable[Line] = WriteTable()
        self._folders = Folders(kernel)
        self._processes = Processes(ProcessTree().ancestors, _name_of)
        self._reader = EventReader(self._folders, self._processes, self._table, own)
        self._table.lose(since_s)  # earlier events are unknown
        self._asking = False  # a question about folders is open
        self._urgency = _Urgency()

    def warm_up(self) -> None:
        """Read a process once, as the first time is slow, and the first writer may exit meanwhile."""
        self._urgency.rise()
        for pid in (os.getpid(), os.getppid()):
            self._processes.line(pid, time.monotonic())
            _name_of(pid)

    def run(self) -> None:
        """Serve without end. Raises `EOFError` or `OSError` when the daemon has ended."""
        ready = select.poll()
        ready.register(self._kernel.fd, select.POLLIN)
        ready.register(self._wire, select.POLLIN)
        credit_s, paused_s = CREDIT_S, time.monotonic()
        while True:
            self._urgency.rise()
            told = {fd for fd, _ in ready.poll()}
            begun_s = time.monotonic()
            credit_s = min(CREDIT_S, credit_s + (begun_s - paused_s) * SHARE)
            if self._kernel.fd in told:
                self._read(begun_s)
            if self._wire.fileno() in told:
                self._hear(_received(self._wire))
            self._ask_about_folders()
            paused_s = time.monotonic()
            credit_s -= paused_s - begun_s
            if credit_s < 0:
                time.sleep(GATHER_S)

    def _read(self, since_s: float) -> None:
        while events := self._kernel.read():
            now_s = time.monotonic()
            self._reader.take(events, now_s)
            if now_s - since_s > BUSY_S:
                self._urgency.fall()

    def _hear(self, message: dict[str, Any]) -> None:
        if "ignored" in message:
            self._asking = False
            self._folders.ignore(os.fsencode(path) for path in message["ignored"])
        elif "ask" in message:
            self._read(time.monotonic())
            told = [self._writes(*asked) for asked in message["paths"]]
            _send(self._wire, {"answer": message["ask"], "writes": told})

    def _writes(self, path: str, since_s: float) -> list[Any] | None:
        found = self._table.writes(path, since_s, time.monotonic())
        if found is None or self._has_several_names(path):
            return None
        asleep_s = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
        return [
            [name, line, line[0].start / _TICKS - asleep_s if line else 0.0, first_s, last_s]
            for name, line, first_s, last_s in found
        ]

    def _has_several_names(self, path: str) -> bool:
        try:
            there = os.stat(os.fsencode(path), dir_fd=self._kernel.root_fd, follow_symlinks=False)
        except OSError:
            return False
        return there.st_nlink > 1 and not stat.S_ISDIR(there.st_mode)

    def _ask_about_folders(self) -> None:
        if self._folders.unasked and not self._asking:
            self._asking = True
            asked = [self._folders.unasked.pop() for _ in range(min(MOST_ASKED, len(self._folders.unasked)))]
            _send(self._wire, {"folders": [os.fsdecode(path) for path in asked]})


class _Urgency:
    """Real-time priority if allowed, else a better nice value."""

    def __init__(self) -> None:
        self._raised = False
        self._may = True
        # microseconds without a pause, in case of a hang
        resource.setrlimit(resource.RLIMIT_RTTIME, (200_000, 400_000))
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, -10)

    def rise(self) -> None:
        if not self._raised and self._may:
            try:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
                self._raised = True
            except OSError:
                self._may = False

    def fall(self) -> None:
        if self._raised:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            self._raised = False


def _name_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", "rb", buffering=0) as file:
            return file.read(64).decode("utf-8", "replace").removesuffix("\n")
    except OSError:
        return ""


def _send(wire: socket.socket, message: dict[str, Any]) -> None:
    wire.sendall(framed(json.dumps(message).encode()))


def _received(wire: socket.socket) -> dict[str, Any]:
    head = wire.recv(LENGTH.size, socket.MSG_WAITALL)
    message = wire.recv(LENGTH.unpack(head)[0], socket.MSG_WAITALL) if len(head) == LENGTH.size else b""
    if not message:
        raise EOFError
    found: dict[str, Any] = json.loads(message)
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
