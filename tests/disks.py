"""File systems and trees that a test needs of its own: small ones, mounted ones, and ones that are too deep."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def mounted(at: Path, *what: str | Path) -> Iterator[None]:
    """A block in which `mount WHAT AT` has been done; skips where that is not permitted."""
    done = subprocess.run(["mount", *what, at], check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", at], check=True)


@contextmanager
def small_disk(at: Path, megabytes: int) -> Iterator[Path]:
    """A file system of so many megabytes at `at`, which is made for it."""
    at.mkdir()
    with mounted(at, "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "tmpfs"):
        yield at


def fill(path: Path) -> None:
    """Write into a file until its disk takes nothing more."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def deep(at: Path, name: str, levels: int) -> None:
    """Folders of one name, each in the one before: deeper than any path may be long, if need be."""
    folder = os.open(at, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=folder)
        below = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)
