"""Datagram socket on which the daemons of a family announce new notes. A datagram holds the name of the sender's state
folder. It may be lost, so notes are also read once a minute.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Final

BELL: Final = ".bell"
"""File name suffix of the socket on which a daemon hears of other checkouts' changes."""

MOST_RINGS: Final = 200
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")


class Bell:
    """The datagram socket on which this daemon hears of other checkouts' changes. Main loop only."""

    def __init__(self, path: Path) -> None:
        """Create the socket in place of any old file at `path`. Raises `OSError` if that fails."""
        self._path = path
        path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.setblocking(False)
        self._socket.bind(os.fspath(path))
        path.chmod(0o600)  # of a folder that only its user can enter

    def fileno(self) -> int:
        return self._socket.fileno()

    def rung(self) -> set[str]:
        """Return the names of the state folders whose daemons have announced a new note (list of changed files)."""
        found = set()
        with contextlib.suppress(OSError):
            for _ in range(MOST_RINGS):
                name = self._socket.recv(128).decode("ascii", "replace")
                if _NAME.fullmatch(name) and name.strip("."):
                    found.add(name)
        return found

    def close(self) -> None:
        self._socket.close()
        self._path.unlink(missing_ok=True)


def ring(bells: Iterable[Path], name: str) -> None:
    """Announce a new note (list of changed files) of the state folder `name` to the sockets `bells`. Missing or full
    sockets are skipped.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
        line.setblocking(False)
        for bell in bells:
            with contextlib.suppress(OSError):
                line.sendto(name.encode(), os.fspath(bell))
