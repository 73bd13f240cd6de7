"""`quire ui` on a terminal: it shows what happens while it runs, outlives the daemon, takes back, and leaves on `q`."""

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
    """A terminal of 24 rows in which the screen runs."""

    def __init__(self, home: live.Live, command: str, program: tuple[str, ...]) -> None:
        self.above, below = pty.openpty()
        fcntl.ioctl(below, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        words = [sys.executable, *program, command, "-C", str(home.root)]
        environ = {**os.environ, "TERM": "xterm-256color"}
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

    def types(self, keys: str) -> None:
        os.write(self.above, keys.encode())

    def echoes(self) -> bool:
        """Does the terminal show what is typed, as shells want it?"""
        return bool(termios.tcgetattr(self.below)[3] & termios.ECHO)


@contextmanager
def screen(home: live.Live, command: str, *program: str) -> Iterator[Terminal]:
    terminal = Terminal(home, command, program or ("-m", "quire_client"))
    try:
        yield terminal
    finally:
        terminal.child.kill()
        terminal.child.wait()
        os.close(terminal.below)
        os.close(terminal.above)


def test_it_follows_what_happens_takes_back_waits_for_a_daemon_that_ended_and_leaves_on_q(daemon) -> None:
    home = daemon()
    home.write("first.py", "1\n")
    home.connect()
    with screen(home, "ui") as terminal:
        terminal.shows("first capture")
        home.write("second.py", "2\n")
        terminal.shows("second.py")
        terminal.types("u")
        terminal.shows("Take it back?")
        terminal.types("y")
        terminal.shows("undo of")
        assert not (home.root / "second.py").exists()
        terminal.types("r")
        terminal.shows("redo of")
        assert (home.root / "second.py").read_text() == "2\n"
        os.kill(home.daemon_pid(), signal.SIGKILL)
        terminal.shows("No daemon; waiting for one.")
        home.write("third.py", "3\n")
        home.connect()
        terminal.shows("third.py")
        assert not terminal.echoes()
        terminal.types("q")
        assert terminal.child.wait(30) == 0
        assert terminal.echoes()


def test_top_begins_with_who_works_now(daemon) -> None:
    home = daemon()
    home.write("first.py", "1\n")
    home.connect()
    with screen(home, "top") as terminal:
        terminal.shows("Who works now")
        terminal.types("q")
        assert terminal.child.wait(30) == 0


WITHOUT_TEXTUAL = "import sys; sys.modules['textual'] = None; from quire_client.__main__ import main; sys.exit(main())"


@pytest.mark.parametrize(("command", "status"), [("ui", 2), ("top", 0)])
def test_without_textual_it_says_how_to_install_it_and_top_is_printed_once(daemon, command: str, status: int) -> None:
    home = daemon()
    home.write("first.py", "1\n")
    home.connect()
    with screen(home, command, "-c", WITHOUT_TEXTUAL) as terminal:
        terminal.shows("(the extra `ui`)" if command == "ui" else "Who works now")
        assert terminal.child.wait(30) == status
