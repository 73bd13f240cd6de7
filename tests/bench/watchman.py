"""watchman beside Quire, where it is installed: what only tells names, beside what keeps the bytes, too.

It runs with a socket, a state file and a log of its own, so that a watchman that somebody uses is not touched, and is
spoken to as its clients do: lines of JSON over the socket.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

INSTALL: Final = "watchman is not installed (Debian: apt install watchman)"


class Connection:
    """One client's."""

    def __init__(self, door: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(door))
        self._socket.settimeout(60.0)
        self._stream = self._socket.makefile("rwb")

    def ask(self, *words: object) -> dict[str, Any]:
        """The answer to a command. Raises `RuntimeError` for an error."""
        self._stream.write(json.dumps(words).encode() + b"\n")
        self._stream.flush()
        told = self.told()
        if "error" in told:
            raise RuntimeError(f"watchman: {told['error']}")
        return told

    def told(self) -> dict[str, Any]:
        """The next thing that it says: an answer, or what is told of a subscription."""
        told: dict[str, Any] = json.loads(self._stream.readline())
        return told

    def close(self) -> None:
        """Hang up."""
        self._stream.close()
        self._socket.close()


class Watchman:
    """A watchman of our own."""

    def __init__(self, door: Path) -> None:
        self._door = door
        self._connections: list[Connection] = []

    def connect(self) -> Connection:
        """A connection, closed with the rest."""
        made = Connection(self._door)
        self._connections.append(made)
        return made

    def close(self) -> None:
        """Hang up on all connections."""
        for one in self._connections:
            one.close()

    def crawl(self, root: Path) -> int:
        """Watch a folder that it does not know, until it can say which files there are; how many."""
        asked = self.connect()
        asked.ask("watch", str(root))
        wanted = {"expression": ["type", "f"], "fields": ["name"], "sync_timeout": 60_000}
        listed = asked.ask("query", str(root), wanted)
        return len(listed["files"])


@contextlib.contextmanager
def watching() -> Iterator[Watchman | None]:
    """A watchman that runs until the block ends; None where none is installed."""
    program = shutil.which("watchman")
    if program is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="quire-bench-") as name:
        folder = Path(name)
        own = [f"--{what}={folder / what}" for what in ("sockname", "statefile", "logfile", "pidfile")]
        process = subprocess.Popen([program, "--foreground", *own], stderr=subprocess.DEVNULL)
        running = Watchman(folder / "sockname")
        try:
            until = time.monotonic() + 15
            while not (folder / "sockname").exists():
                if process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"watchman did not start: {_tail(folder / 'logfile')}")
                time.sleep(0.02)
            yield running
        finally:
            running.close()
            process.terminate()
            process.wait()


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-300:] if log.exists() else "it wrote no log"
