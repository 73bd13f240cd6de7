"""What the tests of several files here do, and look at."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from live import ok


class Calls(Protocol):
    """A client of a real daemon, or a caller of one in memory."""

    def call(self, tool: str, args: dict[str, Any]) -> dict[str, Any]:
        """The reply of `tool`."""


def write(caller: Calls, path: str, content: str) -> dict[str, Any]:
    """The caller reads the file, if there is one, and writes it whole."""
    now = caller.call("read_file", {"path": path})
    gate = {"base": now["version"]} if now["ok"] else {}
    return ok(caller.call("write_file", {"path": path, "content": content, **gate}))


def lying_in(folder: Path) -> dict[str, bytes]:
    """The bytes of every file, without those of git and of the daemon."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not {".git", ".quire"} & set(path.parts)
    }


@contextlib.contextmanager
def without_git_and_home() -> Iterator[None]:
    """A daemon that is started meanwhile finds no git, no home and nobody's name."""
    hidden = {name: os.environ.pop(name) for name in ("PATH", "HOME", "USER", "LOGNAME") if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(hidden)
