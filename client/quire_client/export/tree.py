"""Fetches the tree at a point from the daemon, and writes it into a new folder.

A journal is not trusted: paths that lead out of the folder or into git's configuration and hooks are skipped, symlinks
are never followed, nothing is overwritten, and bytes must match their sha256. The complete tree is renamed to its final
name.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

import msgspec

from quire_journal.model import disk_path, is_reserved, is_within, leads_inside, repositories, shown_path
from quire_journal.workspaces import mount_of

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
RESERVED: Final = "reserved_name"
"""Reason for skipping an entry that belongs to git or Quire, or to a bare repository."""

_AT_ONCE: Final = 200


class Asks(Protocol):
    def call(self, tool: str, args: Mapping[str, Any] | None = None) -> dict[str, Any]: ...


class ExportStop(Exception):
    """A tool was refused, or the daemon ended. `reply` is the tool's reply."""

    def __init__(self, reply: dict[str, Any]) -> None:
        super().__init__(str(reply.get("message", "")))
        self.reply = reply


class Unwritable(Exception):
    """The tree cannot be written to the target folder; the text is a sentence with the reason."""


class DiskRefuses(Unwritable):
    """The disk is full, or the operating system refused a write."""


class Tree(msgspec.Struct):
    """Files and folders at a point of the history, as entries of the daemon's tool `tree`."""

    at: str
    time: str | None
    complete: bool  # the whole tree had been scanned by then
    entries: list[dict[str, Any]] = []
    gaps: list[dict[str, Any]] = []  # lost records, which leave the tree uncertain
    warnings: list[dict[str, Any]] = []  # distinct warnings of all pages

    @property
    def told_beside(self) -> dict[str, Any]:
        said = {"gaps": self.gaps, "warnings": self.warnings}
        return {name: listed for name, listed in said.items() if listed}

    @property
    def uncaptured(self) -> list[dict[str, Any]]:
        return [entry for entry in self.entries if entry.get("uncaptured")]

    def take(self, page: Mapping[str, Any]) -> None:
        self.entries += page["entries"]
        self.warnings += (one for one in page.get("warnings") or () if one not in self.warnings)


def fetch(client: Asks, at: str = "", path: str = "") -> Tree:
    """Fetch the tree at the point `at` ("" for now), sorted by path. Raises ExportStop if the tool is refused."""
    asked: dict[str, Any] = {name: value for name, value in (("at", at), ("path", path)) if value}
    page = _ok(client.call("tree", asked))
    tree = Tree(page["at"], page.get("time"), bool(page.get("complete")), gaps=page.get("gaps", []))
    tree.take(page)
    while page.get("next"):
        page = _ok(client.call("tree", {**asked, "at": tree.at, "cursor": page["next"]}))
        tree.take(page)
    tree.entries.sort(key=lambda entry: str(entry["path"]))
    return tree


def bytes_of(client: Asks, addresses: Sequence[str]) -> Iterator[tuple[str, bytes | None]]:
    """Yield (sha256, bytes) for each sha256 in `addresses`, in order; the bytes are None if the journal does not hold
    them. Raises ExportStop if the tool is refused, and Unwritable if bytes do not match their sha256.
    """
    left = list(dict.fromkeys(addresses))
    while left:
        reply = _ok(client.call("blobs", {"sha256": left[:_AT_ONCE]}))
        if not reply["blobs"]:
            raise Unwritable(f"no bytes came for {left[0]}; run `quire doctor`.")
        for one in reply["blobs"]:
            data = _whole(client, one)
            if data is not None and hashlib.sha256(data).hexdigest() != one["sha256"]:
                raise Unwritable(f"the bytes that came for {one['sha256']} are others; run `quire verify`.")
            yield one["sha256"], data
        left = left[len(reply["blobs"]) :]


def _whole(client: Asks, one: dict[str, Any]) -> bytes | None:
    if one.get("uncaptured"):
        return None
    parts = [base64.b64decode(one["content_base64"])]
    while one.get("next_offset"):
        one = _ok(client.call("blobs", {"sha256": [one["sha256"]], "offset": one["next_offset"]}))["blobs"][0]
        parts.append(base64.b64decode(one["content_base64"]))
    return b"".join(parts)


def _ok(reply: dict[str, Any]) -> dict[str, Any]:
    if not reply.get("ok"):
        raise ExportStop(reply)
    return reply


# ── writing it ───────────────────────────────────────────────────────────────


def export(client: Asks, tree: Tree, target: Path, kept: KeptFiles | None = None) -> list[dict[str, Any]]:
    """Write `tree` into the new or empty folder `target`; return the skipped entries, each with its reason. `kept`
    caches file contents between exports. Raises ExportStop if a tool is refused, and Unwritable if the folder cannot be
    written; the partial tree is then removed.
    """
    target = Path(os.path.abspath(target))
    try:
        _require_room(target)
        parent = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return _export(client, tree, parent, target, kept)
        finally:
            os.close(parent)
    except OSError as error:
        raise DiskRefuses(f"{target}: {error.strerror}.") from error


def _export(client: Asks, tree: Tree, parent: int, target: Path, kept: KeptFiles | None) -> list[dict[str, Any]]:
    beside = f".{target.name}.{secrets.token_hex(4)}"
    os.mkdir(beside, 0o700, dir_fd=parent)
    top = os.open(beside, _FOLDER, dir_fd=parent)
    try:
        try:
            _require_ours(parent, beside, top, target)
            missing = _write(client, tree, top, kept)
            os.fchmod(top, _mode_of(target.name, parent))
            _require_ours(parent, beside, top, target)
            os.rename(beside, target.name, src_dir_fd=parent, dst_dir_fd=parent)  # may replace an empty folder
            beside = target.name
            _require_ours(parent, beside, top, target)
        except BaseException:
            _remove(parent, beside, top)
            raise
    finally:
        os.close(top)
    return missing


def _require_ours(parent: int, name: str, top: int, target: Path) -> None:
    try:
        same = os.path.samestat(os.stat(name, dir_fd=parent, follow_symlinks=False), os.fstat(top))
    except FileNotFoundError:
        same = False
    if not same or mount_of(top) != mount_of(parent):
        raise Unwritable(f"{target} was not written: another program moved what was made beside it; call again.")


def _mode_of(name: str, parent: int) -> int:
    try:
        return stat.S_IMODE(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return 0o777 & ~_umask()


def _require_room(target: Path) -> None:
    if os.path.lexists(target) and (target.is_symlink() or not target.is_dir() or any(target.iterdir())):
        raise Unwritable(f"{target} is there already; name a new folder, or an empty one.")
    if not target.parent.is_dir():
        raise Unwritable(f"{target.parent} is not a folder; make it first.")


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _remove(parent: int, name: str, top: int) -> None:
    with contextlib.suppress(OSError):
        os.fchmod(top, 0o700)
    _empty(top, mount_of(top))
    with contextlib.suppress(OSError):
        if os.path.samestat(os.stat(name, dir_fd=parent, follow_symlinks=False), os.fstat(top)):
            os.rmdir(name, dir_fd=parent)


def _empty(folder: int, mount: tuple[int, int]) -> None:
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=folder)
                continue
            inner = _opened(name, folder)
            try:
                if mount_of(inner) == mount:
                    _empty(inner, mount)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=folder)


def _opened(name: str, folder: int) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except PermissionError:
        if not hasattr(os, "O_PATH"):
            os.chmod(name, 0o700, dir_fd=folder, follow_symlinks=False)
            return os.open(name, _FOLDER, dir_fd=folder)
    seen = os.open(name, os.O_PATH | _FOLDER, dir_fd=folder)
    try:
        os.chmod(f"/proc/self/fd/{seen}", 0o700)
        return os.open(f"/proc/self/fd/{seen}", _FOLDER & ~os.O_NOFOLLOW)
    finally:
        os.close(seen)


def _write(client: Asks, tree: Tree, top: int, kept: KeptFiles | None) -> list[dict[str, Any]]:
    bare = repositories(shown_path(entry) for entry in tree.entries)
    kept_off = [is_reserved(path) or is_within(path, bare) for path in map(shown_path, tree.entries)]
    missing = [{**entry, "uncaptured": RESERVED} for entry, off in zip(tree.entries, kept_off, strict=True) if off]
    allowed = [entry for entry, off in zip(tree.entries, kept_off, strict=True) if not off]
    missing += [entry for entry in allowed if entry.get("uncaptured")]
    standing = [entry for entry in allowed if not entry.get("uncaptured")]
    writing = _Writing(top)
    wanted: dict[str, list[dict[str, Any]]] = {}
    for entry in standing:
        if entry["kind"] == "folder":
            with _naming(entry):
                writing.folder(entry)
        elif entry.get("sha256"):
            wanted.setdefault(entry["sha256"], []).append(entry)
    links: list[tuple[dict[str, Any], bytes]] = []
    if kept is not None:
        links += writing.clone(wanted, kept)
    for address, data in bytes_of(client, list(wanted)):
        if kept is not None and data is not None:
            kept.keep(address, data)
        for entry in wanted[address]:
            if data is None:
                missing.append({**entry, "uncaptured": "not_held"})
            elif entry["kind"] == "link":
                links.append((entry, data))
            else:
                with _naming(entry):
                    writing.file(entry, data)
    for entry, target in links:
        with _naming(entry):
            writing.link(entry, target)
    writing.finish()
    return missing


class KeptFiles:
    """Cache of the contents of exported trees, as files in a folder that are named by sha256; further trees are cloned
    from them.
    """

    def __init__(self, folder: Path) -> None:
        """`folder` must be on the file system of the exported trees."""
        self._folder = folder
        folder.mkdir(mode=0o700)

    def has(self, address: str) -> bool:
        return (self._folder / address).exists()

    @contextlib.contextmanager
    def opened(self, address: str) -> Iterator[int]:
        """Yield a file descriptor, open for reading, of the content with the sha256 `address`. Raises OSError if it is
        not cached.
        """
        file = os.open(self._folder / address, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            yield file
        finally:
            os.close(file)

    def keep(self, address: str, data: bytes) -> None:
        """Store `data` under its sha256 `address`; a failure of the disk is ignored, as the bytes can be had again."""
        path = self._folder / address
        try:
            path.write_bytes(data)
        except OSError:
            path.unlink(missing_ok=True)


FICLONE: Final = 0x40049409
"""ioctl of Linux that lets two files share their blocks (btrfs, XFS)."""


def _clone(source: int, out: BinaryIO) -> None:
    try:
        fcntl.ioctl(out.fileno(), FICLONE, source)
    except OSError:
        at = 0
        while part := os.pread(source, 1 << 20, at):
            at += out.write(part)


@contextlib.contextmanager
def _naming(entry: dict[str, Any]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DiskRefuses(
            f"{entry['path']} cannot be written there: {error.strerror}; nothing is left of it."
        ) from error


class _Writing:
    def __init__(self, top: int) -> None:
        self._top, self._mount = top, mount_of(top)
        self._modes: dict[tuple[str, ...], int] = {}  # of empty folders; set at the end

    def folder(self, entry: dict[str, Any]) -> None:
        names = _names(shown_path(entry))
        os.close(self._open(names))
        self._modes[names] = _mode(entry)

    def file(self, entry: dict[str, Any], data: bytes | int) -> None:
        """Write the file of a tree's entry. `data` is its bytes, or the descriptor of an open file that has them."""
        names = _names(shown_path(entry))
        folder = self._open(names[:-1])
        try:
            file = os.open(names[-1], _NEW_FILE, 0o600, dir_fd=folder)
        finally:
            os.close(folder)
        with os.fdopen(file, "wb") as out:
            if isinstance(data, int):
                _clone(data, out)
            else:
                out.write(data)
            os.fchmod(out.fileno(), _mode(entry))

    def clone(self, wanted: dict[str, list[dict[str, Any]]], kept: KeptFiles) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Write the cached ones of the `wanted` files (sha256 → entries), and remove them from `wanted`. Yield each
        cached symlink, which is not written here, with its target.
        """
        for address in filter(kept.has, [*wanted]):
            with kept.opened(address) as source:
                for entry in wanted.pop(address):
                    if entry["kind"] == "link":
                        yield entry, os.pread(source, 1 << 16, 0)
                    else:
                        with _naming(entry):
                            self.file(entry, source)

    def link(self, entry: dict[str, Any], target: bytes) -> None:
        names = _names(shown_path(entry))
        folder = self._open(names[:-1])
        try:
            os.symlink(target, os.fsencode(names[-1]), dir_fd=folder)
        finally:
            os.close(folder)

    def finish(self) -> None:
        for names, mode in sorted(self._modes.items(), reverse=True):
            folder = self._open(names)
            try:
                os.fchmod(folder, mode)
            finally:
                os.close(folder)

    def _open(self, names: Sequence[str]) -> int:
        at = os.dup(self._top)
        for name in names:
            try:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=at)
                below = os.open(name, _FOLDER, dir_fd=at)
            finally:
                os.close(at)
            at = below
            if mount_of(at) != self._mount:
                os.close(at)
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return at


def _names(path: str) -> tuple[str, ...]:
    if not leads_inside(path):
        raise Unwritable(f"{path!r} is not a path inside a folder; run `quire verify`.")
    return tuple(disk_path(path).split("/"))


def _mode(entry: dict[str, Any]) -> int:
    return int(str(entry.get("mode") or "0600"), 8) & 0o7777
