"""Reader of the settings files of workspace and user, which detects their changes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from quire_daemon.config.errors import BadSettings
from quire_daemon.config.settings import Settings, load
from quire_journal.workspaces import settings_files

MOST_BYTES: Final = 1 << 20
_Stamp = tuple[int, int, int, int] | None  # dev, inode, size, ctime_ns; None where there is no file


class SettingsFiles:
    def __init__(self, root: Path) -> None:
        self.paths = settings_files(root)
        self._stamps: list[_Stamp] = []

    def read(self) -> Settings:
        """Read both files. Raises `BadSettings`, with the full path, if one is invalid or unreadable."""
        self._stamps = [_stamp(path) for path in self.paths]  # before the bytes, so that a change in between is seen
        workspace, user = self.paths
        return load(_text(workspace), _text(user), os.fspath(workspace), os.fspath(user))

    def changed(self) -> bool:
        return self._stamps != [_stamp(path) for path in self.paths]


def _stamp(path: Path) -> _Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns


def _text(path: Path) -> str | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # O_NONBLOCK: a FIFO must not block
        try:
            found = os.read(fd, MOST_BYTES + 1)
        finally:
            os.close(fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadSettings(f"{path}: it cannot be read: {error.strerror}") from None
    if len(found) > MOST_BYTES:
        raise BadSettings(f"{path}: it has more than {MOST_BYTES} bytes, which no settings need")
    try:
        return found.decode()
    except UnicodeDecodeError as error:
        line = found.count(b"\n", 0, error.start) + 1
        raise BadSettings(f"{path}: line {line}: not UTF-8, as TOML must be") from None
