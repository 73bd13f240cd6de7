"""Cookies: files whose event proves that every earlier event has been read."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
from typing import Final

from quire_daemon.workspace import COOKIES, own_folder

_MOST: Final = 1024  # remembered; an older cookie counts as not seen
_TOKEN: Final = re.compile(r"[0-9a-f]+-[0-9a-f]{16}")


def new_token() -> str:
    return f"{os.getpid():x}-{secrets.token_hex(8)}"


class Cookies:
    def __init__(self, root: str) -> None:
        self._root = root
        self._lock = threading.Lock()  # over `_came`; never held across a system call
        self._came: dict[str, bool] = {}  # the newest, by token
        self._writing = threading.Lock()  # over the folder
        self._folder = -1  # the folder, open; -1: not prepared

    def prepare(self) -> None:
        """Create the folder and remove cookies of earlier runs. Raises `OSError`."""
        with self._writing:
            self._close()
            self._folder = own_folder(self._root, COOKIES)
            for name in os.listdir(self._folder):
                if _TOKEN.fullmatch(name):
                    with contextlib.suppress(OSError):
                        os.unlink(name, dir_fd=self._folder)

    def close(self) -> None:
        with self._writing:
            self._close()

    def _close(self) -> None:
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1

    def expect(self, token: str) -> None:
        with self._lock:
            while len(self._came) >= _MOST:
                del self._came[next(iter(self._came))]
            self._came[token] = False

    def expected(self) -> list[str]:
        with self._lock:
            return [token for token, came in self._came.items() if not came]

    def came(self, token: str) -> bool:
        with self._lock:
            return self._came.get(token, False)

    def write(self, token: str) -> None:
        """Create and remove the file named `token`, which causes an event. Raises `OSError`; `FileNotFoundError` if
        `prepare` must be called first.
        """
        with self._writing:
            if not self._stands():
                raise FileNotFoundError(COOKIES)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(token, flags, 0o600, dir_fd=self._folder))
            os.unlink(token, dir_fd=self._folder)

    def _stands(self) -> bool:
        if self._folder < 0:
            return False
        try:
            return os.path.samestat(os.lstat(f"{self._root}/{COOKIES}"), os.fstat(self._folder))
        except OSError:
            return False

    def take(self, token: str) -> bool:
        """Record that the event of `token` came; return False if no such event is expected."""
        with self._lock:
            if self._came.get(token) is not False:
                return False
            self._came[token] = True
        return True
