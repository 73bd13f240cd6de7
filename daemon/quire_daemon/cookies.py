"""Cookies: files whose events prove that every event before them has been noticed.

The watcher watches their folder, though it is hidden from everybody else; it decides when one is written.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
from typing import Final

COOKIES: Final = ".quire/cookies"
"""Their folder, from the workspace's root."""

_MOST: Final = 1024  # remembered; an older one counts as not seen
_TOKEN: Final = re.compile(r"[0-9a-f]+-[0-9a-f]{16}")
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def new_token() -> str:
    """The name of a cookie that nobody has written yet."""
    return f"{os.getpid():x}-{secrets.token_hex(8)}"


class Cookies:
    """The cookies of the workspace at `root`, and which of them came back. Any thread may call."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._lock = threading.Lock()  # never held across a system call
        self._came: dict[str, bool] = {}  # the newest, by token

    def prepare(self) -> None:
        """Make the folder, and sweep what earlier runs left there. Raises `OSError`."""
        fd = self._open(make=True)
        try:
            for name in os.listdir(fd):
                if _TOKEN.fullmatch(name) and name not in self._came:
                    with contextlib.suppress(OSError):
                        os.unlink(name, dir_fd=fd)
        finally:
            os.close(fd)

    def expect(self, token: str) -> None:
        """It is about to be written."""
        with self._lock:
            while len(self._came) >= _MOST:
                del self._came[next(iter(self._came))]
            self._came[token] = False

    def expected(self) -> list[str]:
        """Those that have not come back."""
        with self._lock:
            return [token for token, came in self._came.items() if not came]

    def came(self, token: str) -> bool:
        """Has it come back?"""
        with self._lock:
            return self._came.get(token, False)

    def write(self, token: str, *, again: bool = False) -> None:
        """Make its file; `again`, also where there is one. Raises `OSError`."""
        folder = self._open()
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | (0 if again else os.O_EXCL)
            os.close(os.open(token, flags, 0o600, dir_fd=folder))  # closing it is an event as well
        finally:
            os.close(folder)

    def take(self, token: str) -> bool:
        """Its event came: remove the file, then say so to whoever asks; False where nobody expects it."""
        with self._lock:
            if self._came.get(token) is not False:
                return False
        self._remove(token)  # before anyone is told, so that whoever is told finds no file
        with self._lock:
            self._came[token] = True
        return True

    def _remove(self, token: str) -> None:
        with contextlib.suppress(OSError):
            folder = self._open()
            try:
                os.unlink(token, dir_fd=folder)
            finally:
                os.close(folder)

    def _open(self, make: bool = False) -> int:
        """A descriptor of the folder; no link on the way is followed. Raises `OSError`."""
        fd = os.open(self._root, _FOLDER & ~os.O_NOFOLLOW)
        for name in COOKIES.split("/"):
            try:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, 0o700, dir_fd=fd)
                below = os.open(name, _FOLDER, dir_fd=fd)
            finally:
                os.close(fd)
            fd = below
        return fd
