"""Plans and writes changes to configuration files. A file that has changed since the plan is not written.

All changes are computed before the first is written. Symlinks are followed, and the files' modes do not change.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from quire_client.setup.agents import File
from quire_client.setup.errors import MalformedConfig
from quire_journal.model import Refusal

_MADE: Final = "user.quire.made"


class Change(NamedTuple):
    """A file's bytes before and after; None means that the file does not exist."""

    path: Path
    before: bytes | None
    after: bytes | None
    mode: int = 0o644  # of a new file, before the umask

    @property
    def action(self) -> str:
        if self.before == self.after:
            return "unchanged"
        return "create" if self.before is None else "remove" if self.after is None else "change"

    def diff(self) -> str:
        old, new = ((data or b"").decode("utf-8", "replace").splitlines(keepends=True) for data in self[1:3])
        name, was, will_be = str(self.path), self.before is not None, self.after is not None
        lines = difflib.unified_diff(old, new, name if was else "/dev/null", name if will_be else "/dev/null")
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def planned(files: Sequence[File], puts: bool) -> list[Change]:
    """Return the change of each file when Quire's entries are added (`puts` True) or removed (False). Raises Refusal if
    a file is unreadable or malformed.
    """
    return [_planned(file, puts) for file in files]


def _planned(file: File, puts: bool) -> Change:
    path, before = file.path, _read(file.path)
    try:
        text = None if before is None else before.decode("utf-8")
        after = file.put(text) if puts else text if text is None else file.take(text)
    except UnicodeDecodeError:
        raise _unreadable(path, "it is not UTF-8") from None
    except MalformedConfig as error:
        raise _unreadable(path, str(error)) from None
    if after == text:
        return Change(path, before, before)
    if before is not None and not path.stat().st_mode & 0o222:  # a rename would replace a read-only file
        raise _unreadable(path, "it is write-protected")
    return Change(path, before, None if after is None else after.encode(), file.mode)


def _read(path: Path) -> bytes | None:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a link to /dev/null, or a pipe
            raise _unreadable(path, "it is not a regular file")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, (error.strerror or str(error)).lower()) from None


def _unreadable(path: Path, why: str) -> Refusal:
    message = f"{path} cannot be changed: {why}. It was left as it is, and so was everything else."
    return Refusal("config_unusable", message, "repair_file", path=str(path))


def write(changes: Sequence[Change]) -> None:
    """Write the changes. Raises Refusal, which names the file, if one cannot be written or has changed since the
    plan.
    """
    for change in changes:
        if change.action != "unchanged":
            _write(change)


def _write(change: Change) -> None:
    path = Path(os.path.realpath(change.path))
    try:
        if change.after is None:
            _require_unchanged(change)
            path.unlink()
            _remove_made(path.parent)
            return
        _make(path.parent)
        temporary = path.with_name(f".{path.name}.tmp.{secrets.token_hex(4)}")  # the daemon ignores files of this name
        try:
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, change.mode), "wb") as file:
                if change.before is not None:
                    os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
                file.write(change.after)
                file.flush()
                os.fsync(file.fileno())
            if change.before is None:
                os.link(temporary, path)  # fails if the file exists
            else:
                _require_unchanged(change)
                os.replace(temporary, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()
    except FileExistsError:
        raise _moved_on(change.path) from None
    except OSError as error:
        message = f"{change.path} could not be written: {error.strerror or error}."
        raise Refusal("permission_denied", message, "check_permissions", path=str(change.path)) from error


def _make(folder: Path) -> None:
    if folder.is_dir():
        return
    _make(folder.parent)
    try:
        folder.mkdir()
    except FileExistsError:
        return  # another process has created it
    with contextlib.suppress(OSError, AttributeError):  # without such marks the folder is not removed
        os.setxattr(folder, _MADE, b"setup", follow_symlinks=False)


def _remove_made(folder: Path) -> None:
    with contextlib.suppress(OSError, AttributeError):
        while os.getxattr(folder, _MADE, follow_symlinks=False):
            folder.rmdir()
            folder = folder.parent


def _require_unchanged(change: Change) -> None:
    if _read(change.path) != change.before:
        raise _moved_on(change.path)


def _moved_on(path: Path) -> Refusal:
    message = f"Another program changed {path} meanwhile; it was left as that program wrote it. Try again."
    return Refusal("config_changed", message, "retry", path=str(path))
