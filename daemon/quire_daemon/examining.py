"""Asking the process that reads journals which may be damaged (`examiner`): it can die of one, the daemon cannot."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Final

import msgspec

from quire_daemon.examiner import PAGES, Task

Told = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, of how much."""

MOST_FINDINGS: Final = 1000
"""That are kept; further ones are counted."""


class Examined(msgspec.Struct):
    """What the process said."""

    findings: list[tuple[str, str]] = msgspec.field(default_factory=list)  # sentence, table
    count: int = 0
    end: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def sentences(self) -> list[str]:
        """The findings, without their tables."""
        return [sentence for sentence, _ in self.findings]

    def find(self, sentence: str, table: str) -> None:
        """One more."""
        self.count += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append((sentence, table))


def examine(task: Task, told: Told | None = None) -> Examined:
    """Have `task` done, and wait for the end of it. A process that dies of it is a finding, not an error.

    Raises `OSError` when no process can be started.
    """
    examined = Examined()
    # From nowhere in particular: `-m` puts the current folder first, and no module of a workspace is to be found there.
    command = [sys.executable, "-m", "quire_daemon.examiner", str(os.getpid())]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd="/", text=True, **pipes) as child:  # type: ignore[call-overload]
        child.stdin.write(msgspec.json.encode(task).decode())
        child.stdin.close()
        for line in child.stdout:
            _take(examined, line, told)
        words = child.stderr.read()
    if child.returncode:
        examined.find(f"The process that read the journal {_fate(child.returncode, words)}.", PAGES)
    return examined


def _take(examined: Examined, line: str, told: Told | None) -> None:
    kind, *rest = json.loads(line)
    if kind == "finding":
        examined.find(*rest)
    elif kind == "end":
        examined.end = rest[0]
    elif told is not None:
        told(*rest)


def _fate(status: int, words: str) -> str:
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    last = (words.strip().splitlines() or [f"status {status}"])[-1]
    return f"failed ({last})"
