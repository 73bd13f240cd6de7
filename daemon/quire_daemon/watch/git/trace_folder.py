"""Reports of git processes in a folder, for all checkouts of a user, as set up by `quire setup git`.

Each git process writes its trace2 events into its own file (git's api-trace2, a directory as target). A daemon reads
the files of its checkout and removes them at their end; it removes other files when they are old. The file's owner
attests the uid. The pid, from the file's name, is only checked for being alive: like command and labels, it is a claim.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import Final

import msgspec

from quire_daemon.ops import pid_start
from quire_daemon.watch.git.trace2 import MOST_LINE, Command, Commands

MOST_FILES: Final = 512

MOST_READ: Final = 256 * 1024

OLD_NS: Final = 60_000_000_000
"""Nanoseconds after which any daemon removes a file."""

_PID: Final = re.compile(r"-P([0-9a-f]{8})(?:\.\d+)?$")
_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

IsAlive = Callable[[int], bool]


class _Report(msgspec.Struct):
    number: int  # in place of a connection; negative
    pid: int
    read: int = 0  # bytes
    rest: bytes = b""  # an unfinished line
    open: bool = True  # its end may still come
    own: bool = False  # of this checkout


class TraceFolder:
    """Reader of the folder's reports, for one thread; no call blocks."""

    def __init__(self, folder: Path, commands: Commands, is_alive: IsAlive) -> None:
        self._folder, self._commands, self._is_alive = folder, commands, is_alive
        self._reports: dict[str, _Report] = {}
        self._numbers = count(-1, -1)
        self._seen_ns = 0  # time of the folder's last change that was looked at

    def stirs(self) -> bool:
        """True if a file came or went since the last look, or a command runs."""
        try:
            changed = os.stat(self._folder).st_mtime_ns
        except OSError:
            return False
        return changed != self._seen_ns or any(one.open and one.own for one in self._reports.values())

    def look(self, now: Callable[[], int]) -> None:
        try:
            self._seen_ns = os.stat(self._folder).st_mtime_ns
            with os.scandir(self._folder) as found:
                listed = {entry.name for entry in islice(found, MOST_FILES)}
        except OSError:
            listed = set[str]()
        # A listing that was cut says nothing of the reports that it lacks.
        cut = self._reports.keys() - listed if len(listed) == MOST_FILES else ()
        names = sorted(listed.union(name for name in cut if (self._folder / name).exists()))
        for gone in self._reports.keys() - {*names}:
            self._end(gone, now())
        for name in names:
            self._read(name, now)

    def _read(self, name: str, now: Callable[[], int]) -> None:
        report = self._reports.get(name)
        if report is not None and not report.open:
            self._remove_old(name, now())
            return
        try:
            fd = os.open(self._folder / name, _FLAGS)
        except OSError:
            return
        try:
            seen = os.fstat(fd)
            if not stat.S_ISREG(seen.st_mode) or seen.st_uid != os.getuid():
                return
            report = report or self._begin(name, now())
            alive = self._is_alive(report.pid)  # asked first: what a process writes before it ends is read then
            data = os.pread(fd, MOST_READ - report.read, report.read) if report.read < MOST_READ else b""
        finally:
            os.close(fd)
        report.read += len(data)
        going_on = self._tell(report, data, now())
        command = self._commands.of(report.number)
        report.own = command is not None and command.scope is not None
        if not going_on or report.read >= MOST_READ or not (data or alive):
            self._end(name, now())

    def _begin(self, name: str, now_ns: int) -> _Report:
        told = _PID.search(name)
        pid = int(told[1], 16) if told else 0  # a claim: any process of this user can choose the name
        report = self._reports[name] = _Report(next(self._numbers), pid)
        alive = pid if self._is_alive(pid) else 0
        self._commands.connected(
            report.number, Command(os.getuid(), alive, pid_start(alive) if alive else 0, came_ns=now_ns)
        )
        return report

    def _tell(self, report: _Report, data: bytes, now_ns: int) -> bool:
        *lines, report.rest = (report.rest + data).split(b"\n")
        for line in lines:
            if len(line) <= MOST_LINE and not self._commands.said(report.number, line, now_ns):
                return False
        report.rest = report.rest[: MOST_LINE + 1]
        return True

    def _end(self, name: str, now_ns: int) -> None:
        report = self._reports[name]
        if report.open:
            report.open = False
            self._commands.gone(report.number, now_ns)
        if report.own:
            self._remove(name)
        elif not (self._folder / name).exists():
            del self._reports[name]

    def _remove_old(self, name: str, now_ns: int) -> None:
        try:
            changed = os.stat(self._folder / name, follow_symlinks=False).st_mtime_ns
        except OSError:
            return
        if now_ns - changed > OLD_NS:
            self._remove(name)

    def _remove(self, name: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._folder / name)
        self._reports.pop(name, None)

    def close(self) -> None:
        for name in [*self._names_open()]:
            self._commands.gone(self._reports.pop(name).number, 0)

    def _names_open(self) -> Iterator[str]:
        return (name for name, report in self._reports.items() if report.open)


def is_alive(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
