"""Empty files in `.quire/tmp`, made ahead for a request of many writes by a process of its own (`making_blanks`).

To make an inode is what a new file costs most. An ext4 without a journal passes over each one that was removed in the
last minutes: 6 µs where there were none, and 250 µs to some ms after a burst of edits, which has displaced and removed
as many. While a request is still being decided, the system does that on another core. On a thread of the daemon it
cost more than it saved: the loop has to get the interpreter back after each file.

What is not there when the first is taken is made where it is needed; what nobody took is removed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Final

from quire_daemon.workspace import making_blanks
from quire_daemon.workspace.making_blanks import blank_name

FROM: Final = 256
"""So many new files are worth a process: it takes as long to begin as some hundred take to make, on a fast disk."""

KEEP_S: Final = 5.0
"""For so long they wait for who asked for them: a large decision takes seconds on a busy machine."""


class Blanks:
    """Empty files that are at hand. For the loop's thread; `take` is for any."""

    def __init__(self, folder: str, token: str) -> None:
        """`folder`: the path of `.quire/tmp`. `token`: part of every name of this run."""
        self._folder, self._token = folder, token
        self.tmp = -1  # the same folder, open; without it there are none
        self._process: subprocess.Popen[bytes] | None = None
        self._round = 0
        self._next = self._count = 0  # of those that are made, or being made: the number of the next, and how many
        self._over = True  # no more are to be had
        self._turn = threading.Lock()  # of these three
        self._since: float | None = None  # monotonic seconds of the first sweep that saw them

    @property
    def _prefix(self) -> str:
        return f"0.{self._token}.blank{self._round}"

    def expect(self, files: int) -> None:
        """About so many new files are going to be wanted soon."""
        if files < FROM or self._next < self._count or self.tmp < 0:
            return
        self._reap()
        self._round += 1
        seen = os.fstat(self.tmp)
        made = [self._folder, str(seen.st_dev), str(seen.st_ino), self._prefix, str(files), str(os.getpid())]
        command = [sys.executable, "-I", "-S", making_blanks.__file__, *made]
        try:
            self._process = subprocess.Popen(
                command, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        except OSError:  # no room for one more process
            return
        self._next, self._count, self._since, self._over = 0, files, None, False

    def take(self) -> tuple[int, str] | None:
        """One of them, open to be written, and its name; None where none is there yet, or any more."""
        if self._over:
            return None
        with self._turn:
            if self._next >= self._count:
                self._over = True
                return None
            if not self._next and self._process is not None:
                self._process.kill()  # what it makes from now on would have the folder locked, and us wait for it
            name = blank_name(self._prefix, self._next)
            try:
                fd = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.tmp)
            except OSError:
                self._over = True
                return None
            self._next += 1
        return fd, name

    def sweep(self, mono_s: float) -> Sequence[str]:
        """The names of those that nobody took for too long; they are the caller's to unlink."""
        if self._process is not None and self._process.poll() is not None:
            self._process = None
        if self._next >= self._count:
            return ()
        if self._since is None:
            self._since = mono_s
        if mono_s - self._since <= KEEP_S:
            return ()
        if self._process is not None:
            self._process.kill()  # not waited for: the next sweep finds that it has ended
            return ()
        return self.drop()

    def drop(self) -> Sequence[str]:
        """The names of all that nobody took; they are the caller's to unlink. No more come."""
        self._reap()
        with self._turn:
            names = [blank_name(self._prefix, number) for number in range(self._next, self._count)]
            self._next, self._count, self._over = 0, 0, True
        return names

    def _reap(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
