"""Processes that a test makes up: a folder as `/proc` is one."""

from __future__ import annotations

import shutil
from pathlib import Path

from quire_daemon.core.traced_writer import Ancestor, TracedWriter


def told(
    proc: Path,
    pid: int,
    parent: int,
    start: int,
    name: str = "sh",
    exe: str = "/bin/sh",
    leads: int = 0,
    words: str = "",
) -> None:
    """A process as the kernel tells of one; `leads`: the terminal of the session that it leads."""
    folder = proc / str(pid)
    shutil.rmtree(folder, ignore_errors=True)  # a pid that is used again
    folder.mkdir()
    (folder / "stat").write_text(f"{pid} ({name}) S {parent} 1 {pid if leads else 1} {leads} {'0 ' * 14}{start} 0 0\n")
    (folder / "cmdline").write_text(words.replace(" ", "\0"))
    if exe:
        (folder / "exe").symlink_to(exe)


def counted(proc: Path, pid: int, written: int, children: str = "") -> None:
    """What a process and the children that it waited for have written, in bytes, and its living children."""
    (proc / str(pid) / "io").write_text(f"rchar: 9\nwchar: {written}\nread_bytes: 9\nwrite_bytes: 0\n")
    thread = proc / str(pid) / "task" / str(pid)
    thread.mkdir(parents=True, exist_ok=True)
    (thread / "children").write_text(children)


class Kernel:
    """Tells of one writer of any file."""

    state = "fanotify"
    reads = True
    looks_to_start = 0  # so often it says that it still starts
    line: tuple[Ancestor, ...] = ()

    def writers_of(self, path: str) -> tuple[TracedWriter, ...] | None:
        del path
        return (TracedWriter(self.line, self.line[0].start / 100, 1e6, 1e6),) if self.line else None

    def looked(self, path: str, at_s: float) -> None:
        """It is the same writer later on."""

    def ask(self, paths: list[str]) -> None:
        """It is there."""

    def starts(self) -> bool:
        self.looks_to_start = max(0, self.looks_to_start - 1)
        return self.looks_to_start > 0

    begin = look = close = lambda self: None
