"""The example of every command does what it says: played one after the other, on one real checkout with its daemon."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import signal
import subprocess
import sys
import time
from importlib import import_module
from typing import Final

import pytest

import live
from quire_client import connect
from quire_client.__main__ import main
from quire_client.commands import COMMANDS
from quire_client.commands.base import Command

LAST: Final = ("purge", "down", "adopt")
"""Played behind all others, in this order: the checkout is not what it was afterwards."""

SHELL: Final = frozenset("|<>&;$")
"""An example with one of these is for a shell."""

FIRST: Final[dict[str, str]] = {
    "export": "git init -q ../history",
    "import": "quire export jsonl --out site.jsonl && mkdir -p ~/audit/site",
    "redo": "quire undo --writer alice --last 1",
    "hook": """echo '{"hook_event_name": "SessionStart", "session_id": "s2", "cwd": "'"$PWD"'"}' > event.json""",
    "forget": "mkdir ~/projects/old && quire up ~/projects/old && quire down -C ~/projects/old",
    "adopt": "mv ~/projects/site ~/projects/site-renamed",
}
"""What somebody who types the example has done before."""

PRINTS: Final[dict[str, str]] = {
    "blame": "| line 12",
    "call": '"ok": true',
    "cat": "line 12",
    "claims": "exclusive",
    "diff": "+++ b/src/app.py",
    "log": "src/app.py",
    "ls": "app.py",
    "read": "line 12",
    "show": "line 12",
    "undo": "src/app.py",
    "watch": "src/watched.py",
    "who": "ada",
    "why": "src/app.py",
}
"""A part of what the example prints."""


def example(name: str) -> str:
    command: Command = import_module(f"quire_client.commands.{name.replace('-', '_')}").COMMAND
    return command.example


class Checkout:
    """`~/projects/site`, in which somebody called ada types."""

    def __init__(self, home: live.Live) -> None:
        self.top = home.top
        self.root = home.top / "projects" / "site"
        (self.root / "src").mkdir(parents=True)
        self.lines = [f"line {number}" for number in range(60)]
        (self.root / "src" / "app.py").write_text("\n".join(self.lines) + "\n")
        bin = home.top / "bin"
        bin.mkdir()
        (bin / "quire").write_text(f'#!/bin/sh\nexec {sys.executable} -m quire_client "$@"\n')
        (bin / "quire").chmod(0o755)
        os.environ.update(HOME=str(home.top), QUIRE_AGENT="ada", QUIRE_SESSION="s7")
        os.environ["PATH"] = f"{bin}{os.pathsep}{os.environ['PATH']}"

    def alice_edits(self) -> None:
        """Three edits, so that there is somebody's work to be undone."""
        with connect(self.root, agent="alice", session="s1") as client:
            for number in (11, 20, 30):
                client.read_file("src/app.py", hashes=True)
                old, new = f"line {number}", f"by alice, in place of line {number}"
                live.ok(client.call("edit_replace", {"file": "src/app.py", "old_text": old, "new_text": new}))

    def type(self, line: str) -> tuple[int, str]:
        """The status and all that was printed."""
        if line.startswith("quire watch"):
            return self._interrupted(line)
        if SHELL & {*line} or line.startswith("quire mcp") or not line.startswith("quire "):
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", line],
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=30,
            )
            return done.returncode, done.stdout
        printed = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)  # some print bytes
        with contextlib.chdir(self.root), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            words = [os.path.expanduser(word) for word in shlex.split(line)[1:]]
            status = main(words)
        printed.seek(0)
        return status, printed.read()

    def _interrupted(self, line: str) -> tuple[int, str]:
        """Of a command that goes on until it is interrupted: here, when it has told of a file."""
        child = subprocess.Popen(shlex.split(line), cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert child.stdout is not None
        os.set_blocking(child.stdout.fileno(), False)
        printed, number = b"", 0
        until = time.monotonic() + 20
        while b"watched.py" not in printed and time.monotonic() < until:
            number += 1
            (self.root / "src" / "watched.py").write_text(f"{number}\n")
            time.sleep(0.1)
            printed += child.stdout.read() or b""
        child.send_signal(signal.SIGINT)
        with child.stdout:
            return child.wait(10), printed.decode()


def in_order() -> list[str]:
    """`up` makes the journal, `checkpoint` the name that others go back to."""
    first = ["up", "checkpoint"]
    return [*first, *(name for name in COMMANDS if name not in (*first, *LAST)), *LAST]


@pytest.mark.real
def test_the_example_of_every_command_runs(daemon) -> None:  # type: ignore[no-untyped-def]
    checkout = Checkout(daemon())
    wrong = []
    for name in in_order():
        if name in FIRST:
            status, printed = checkout.type(FIRST[name])
            assert status == 0, f"before {name}: {printed}"
        if name == "adopt":
            checkout.root = checkout.root.with_name("site-renamed")
        status, printed = checkout.type(example(name))
        if status != 0 or PRINTS.get(name, "") not in printed:
            wrong.append(f"{example(name)}\n{status}: {printed}")
        if name == "checkpoint":
            checkout.alice_edits()
    assert not wrong, "\n\n".join(wrong)
    assert (checkout.top / "projects" / "as-it-was" / "src" / "app.py").read_text().splitlines() == checkout.lines
