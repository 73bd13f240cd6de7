"""Identity: the description in a state folder, and the matching id in the workspace. Imports only
the standard library.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from quire_journal.storage import sync_path
from quire_journal.workspaces.layout import Place, WorkspaceRefused, at_once, make_private_folder, state_home
from quire_journal.workspaces.mount_id import mount_of

_ID: Final = r"[0-9a-f]{32}"


class Identity(NamedTuple):
    """Contents of `workspace.json`."""

    id: str  # 32 hex digits, made once
    root: str  # real path of the workspace
    created: str  # RFC 3339, UTC


def read_identity(place: Place) -> Identity | None:
    """Return the identity in the state folder; None if there is none. Raises WorkspaceRefused if unreadable."""
    try:
        with open(place.identity_file, "rb", opener=at_once) as file:
            fields = json.loads(file.read())
        return Identity(str(fields["id"]), str(fields["root"]), str(fields["created"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise WorkspaceRefused(f"{place.identity_file} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise WorkspaceRefused(
            f"{place.identity_file} is damaged: it is not the description of a workspace."
        ) from error


def workspace_id(root: Path) -> str | None:
    """Return the id in `.quire/workspace-id`; None if missing or malformed. Links are not followed."""
    try:
        with _quire_folder(root) as folder:
            fd = os.open("workspace-id", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            with os.fdopen(fd, "rb") as file:
                found = file.read(64).decode("ascii", "replace").strip()
    except OSError:
        return None
    return found if re.fullmatch(_ID, found) else None


def drop_workspace_id(root: Path, wanted: str) -> None:
    """Remove the id `wanted` from a workspace, and `.quire` if that leaves it empty."""
    if workspace_id(root) != wanted:
        return
    with contextlib.suppress(OSError), _quire_folder(root) as folder:
        for name in ("workspace-id", ".gitignore"):
            with contextlib.suppress(FileNotFoundError):  # already removed
                os.unlink(name, dir_fd=folder)
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):  # a file, or a folder that is not empty
                os.rmdir(name, dir_fd=folder)
    with contextlib.suppress(OSError):
        os.rmdir(root / ".quire")


def identity_for(place: Place) -> Identity:
    """Return the identity in the state folder, or a new one for `settle`. Raises WorkspaceRefused if unreadable."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return read_identity(place) or Identity(os.urandom(16).hex(), os.fspath(place.root), created)


def settle(place: Place, identity: Identity | None = None) -> Identity:
    """Write the identity (default: that of `identity_for`) to the state folder, and its id to the workspace if that is
    writable. Returns the identity. The caller holds the daemon's lock. Raises WorkspaceRefused.
    """
    make_private_folder(place.state)
    identity = identity or identity_for(place)
    if read_identity(place) is None:
        write_identity(place.state, identity)
    if workspace_id(place.root) != identity.id:
        _write_workspace_id(place.root, identity.id)
    return identity


def known_journals() -> Iterator[tuple[Path, Identity]]:
    """Yield (state folder, identity) of every journal in the state home, except damaged identities."""
    try:
        names = sorted(os.listdir(state_home()))
    except OSError:
        return
    for name in names:
        state = state_home() / name
        with contextlib.suppress(WorkspaceRefused):
            identity = read_identity(Place(state, state))
            if identity is not None:
                yield Path(os.path.realpath(state)), identity


def write_identity(state: Path, identity: Identity) -> None:
    """Replace `workspace.json` atomically, synced, as an incomplete file would hide the journal."""
    new = state / "workspace.json.new"
    with open(new, "w", encoding="ascii", opener=_private) as file:
        json.dump(identity._asdict(), file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, state / "workspace.json")
    sync_path(state)


def _write_workspace_id(root: Path, wanted: str) -> None:
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(root / ".quire", 0o700)
        with _quire_folder(root) as folder:
            # The folder ignores itself, so that no `git add -A` adds it.
            _replace_file(folder, ".gitignore", b"*\n")
            _replace_file(folder, "workspace-id", wanted.encode() + b"\n")
    except OSError as error:
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            return  # read-only: the journal is found by its path
        raise WorkspaceRefused(f"{root / '.quire'} cannot be used: {error.strerror}.") from error


@contextlib.contextmanager
def _quire_folder(root: Path) -> Iterator[int]:
    """Open `.quire` as a descriptor. Raises OSError, also for a link or a mount in its place."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    above = os.open(root, flags)
    try:
        fd = os.open(".quire", flags | os.O_NOFOLLOW, dir_fd=above)
        try:
            if mount_of(fd) != mount_of(above):
                raise OSError(errno.EXDEV, "something is mounted there")
            yield fd
        finally:
            os.close(fd)
    finally:
        os.close(above)


def _replace_file(folder: int, name: str, content: bytes) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{name}.new", dir_fd=folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(f"{name}.new", flags, 0o600, dir_fd=folder)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
    os.replace(f"{name}.new", name, src_dir_fd=folder, dst_dir_fd=folder)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
