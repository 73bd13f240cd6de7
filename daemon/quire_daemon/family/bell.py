"""The bell of a daemon: a datagram socket on which the others of its family say that their notes are new.

A datagram names the sender's state folder. It is sent without waiting, and may get lost: notes are looked at every
minute as well.
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
"""Suffix of the socket, beside that for callers."""

MOST_RINGS: Final = 200
"""Datagrams that are read at once."""

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")


class Bell:
    """The socket, owned by the loop."""

    def __init__(self, path: Path) -> None:
        """Raises OSError. The caller holds the workspace's lock, so an existing file is stale."""
        self._path = path
        path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.setblocking(False)
        self._socket.bind(os.fspath(path))
        path.chmod(0o600)  # of a folder that only its user can enter

    def fileno(self) -> int:
        return self._socket.fileno()

    def rung(self) -> set[str]:
        """The names of the state folders that have rung since."""
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
    """Ring; a bell that is gone, or full, is passed over."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
        line.setblocking(False)
        for bell in bells:
            with contextlib.suppress(OSError):
                line.sendto(name.encode(), os.fspath(bell))
