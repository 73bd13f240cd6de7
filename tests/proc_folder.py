"""Processes that a test makes up: a folder as `/proc` is one."""

from __future__ import annotations

from pathlib import Path


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
    folder.mkdir()
    (folder / "stat").write_text(f"{pid} ({name}) S {parent} 1 {pid if leads else 1} {leads} {'0 ' * 14}{start} 0 0\n")
    (folder / "cmdline").write_text(words.replace(" ", "\0"))
    if exe:
        (folder / "exe").symlink_to(exe)
