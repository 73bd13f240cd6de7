"""`quire top` on a terminal: it shows what happens while it runs, outlives the daemon, and leaves on `q`."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import live

pytestmark = pytest.mark.real


class Terminal:
    """A terminal of 30 rows in which `quire top` runs."""

    def __init__(self, home: live.Live, kind: str) -> None:
        self.above, below = pty.openpty()
        fcntl.ioctl(below, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        words = [sys.executable, "-m", "quire_client", "top", "--every", "0.2", "-C", str(home.root)]
        environ = {**os.environ, "TERM": kind}
        self.child = subprocess.Popen(
            [*words, "--state-dir", str(home.state_dir)], stdin=below, stdout=below, stderr=below, env=environ
        )
        self.below = below
        self.seen = ""

    def shows(self, what: str) -> None:
        """Wait until it has shown `what`, since the last time that somebody waited."""
        until = time.monotonic() + 20
        while what not in self.seen:
            assert time.monotonic() < until, f"{what!r} is not in {self.seen!r}"
            if select.select([self.above], [], [], 0.2)[0]:
                self.seen += os.read(self.above, 65536).decode(errors="replace")
        self.seen = ""

    def echoes(self) -> bool:
        """Does the terminal show what is typed, as shells want it?"""
        return bool(termios.tcgetattr(self.below)[3] & termios.ECHO)


@contextmanager
def top(home: live.Live, kind: str) -> Iterator[Terminal]:
    terminal = Terminal(home, kind)
    try:
        yield terminal
    finally:
        terminal.child.kill()
        terminal.child.wait()
        os.close(terminal.below)
        os.close(terminal.above)


def test_it_shows_what_happens_waits_for_a_daemon_that_ended_and_leaves_on_q(daemon) -> None:
    home = daemon()
    home.write("first.py", "1\n")
    home.connect()
    with top(home, "xterm") as terminal:
        terminal.shows("first.py")
        home.write("second.py", "2\n")
        terminal.shows("second.py")
        os.kill(home.daemon_pid(), signal.SIGKILL)
        terminal.shows("Waiting for a daemon.")
        home.connect()
        terminal.shows("second.py")
        assert not terminal.echoes()
        os.write(terminal.above, b"q")
        assert terminal.child.wait(30) == 0
        assert terminal.echoes()


def test_on_a_terminal_that_cannot_be_drawn_on_it_prints_one_picture_below_the_other(daemon) -> None:
    home = daemon()
    home.write("first.py", "1\n")
    home.connect()
    with top(home, "dumb") as terminal:
        terminal.shows("first.py")
        home.write("second.py", "2\n")
        terminal.shows("second.py")
        assert "\x1b" not in terminal.seen
        os.write(terminal.above, b"q")
        assert terminal.child.wait(30) == 0
