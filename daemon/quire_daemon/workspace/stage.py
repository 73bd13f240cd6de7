"""Staging: new files are written, synced and named in `.quire/tmp` before their paths are touched.

A file gets its name only when content, owner, mode, ACL and attributes are synced: an exchange without that sync leaves
an empty file after a power cut (112 of 120 simulated ones on ext4 and XFS). Many files are synced together by syncfs if
that is reliable, as each fsync commits the file system's journal (1,000 files on ext4: 0.7 s, together 0.03 s). The
sync runs on a worker thread while the journal commits.

Rejected: swapping before the sync (saves a tenth of an edit, but readers find an empty file after a power cut); making
inodes ahead (an undo's longest turn grew by half).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Final

import msgspec

from quire_daemon.core import Clear, Make, Move, Put, Remove, Write
from quire_daemon.workspace import syscalls
from quire_daemon.workspace.confine import Beneath, refusal
from quire_daemon.workspace.displaced import unlink
from quire_daemon.workspace.read import FileReader, Held, read_all
from quire_daemon.workspace.types import FileBusy, FileVanished, NotRegular, Protection, Signature
from quire_journal.model import Refusal
from quire_journal.storage import side_by_side

PART: Final = "part"
"""Last part of the name of an incomplete temporary file."""

WITHHELD: Final = "withheld"
"""Last part of the name of a new file that must not be journaled, even if a kill leaves it without a record."""

TOGETHER: Final = 16
"""Number of files from which on they are synced together: syncfs also waits for other programs' data."""

MOST_DIRTY_BYTES: Final = 64 << 20
"""Dirty bytes of all programs from which on files are synced singly."""

SIDE_BY_SIDE: Final = 8
"""Number of files synced at a time when each is synced singly: one commit of the file system serves all waiting
fsyncs.
"""

_ACCESS_ACL: Final = "system.posix_acl_access"
_DEFAULT_ACL: Final = "system.posix_acl_default"
_ABOUT_CONTENT: Final = ("security.capability", "security.ima", "security.evm")
"""Attributes that vouch for the old bytes; a write drops or invalidates them."""


_HOW: Final[dict[type[Write], str]] = {Remove: "remove", Move: "move", Make: "make", Clear: "clear"}


class StagedWrite(msgspec.Struct, gc=False):
    write: Write
    name: str  # in `.quire/tmp`: the new file, after the swap the displaced one
    how: str  # "create", "swap", "remove", "move", "make", "clear"
    inode: tuple[int, int] = (0, 0)  # (dev, ino) of the new file
    base: Signature | None = None  # of the file whose owner, mode and attributes were copied
    proven: bool = False  # `base` proves the bytes that the decision saw
    folders: list[str] = msgspec.field(default_factory=list)  # made for this write, outermost first
    mode: int = 0  # mode of the removed folder
    performed: bool = False


class _Unnamed(msgspec.Struct, gc=False):
    """A new file with content and metadata, not synced or named yet."""

    staged: StagedWrite
    fd: int
    part: str  # temporary name, if O_TMPFILE is missing


class UnsyncedWrites(msgspec.Struct):
    """Written new files that wait for `FileStager.sync` and `FileStager.name`."""

    staged: list[StagedWrite]
    unnamed: list[_Unnamed]

    def close(self) -> None:
        for one in self.unnamed:
            os.close(one.fd)
        self.unnamed = []


class _Whole:
    """Context manager that removes all written files after an error; a generator takes twice as long."""

    __slots__ = ("_tmp", "_written")

    def __init__(self, tmp: int, written: UnsyncedWrites) -> None:
        self._tmp, self._written = tmp, written

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        if kind is not None:
            for one in self._written.unnamed:
                unlink(self._tmp, one.part)
                unlink(self._tmp, one.staged.name)
            self._written.close()


class FileStager:
    def __init__(
        self,
        root: Path,
        beneath: Beneath,
        reading: FileReader,
        tmp: int,
        protection: Protection,
        token: str,
        step: Callable[[str], None],
    ) -> None:
        """`token`: part of the name of every temporary file of this run."""
        self._root = root
        self._beneath = beneath
        self._reading = reading
        self._tmp = tmp
        self._protection = protection
        self._token = token
        self._step = step
        self._numbers: Iterator[int] = count(1)

    def stage(self, writes: Sequence[Write]) -> list[StagedWrite]:
        """Prepare `writes`, each with an open descriptor until synced. Raises Refusal or OSError, removing all
        temporary files.
        """
        written = self.write(writes)
        self.sync(written)
        return self.name(written)

    def write(self, writes: Sequence[Write], with_: UnsyncedWrites | None = None) -> UnsyncedWrites:
        """First part of `stage`: write the files; `sync` must follow. Raises as `stage`, removing also the earlier
        files `with_`.
        """
        written = with_ or UnsyncedWrites([], [])
        with self._whole(written):
            for write in writes:
                if isinstance(write, Put):
                    try:
                        written.unnamed.append(self._written(write))
                    except OSError as error:
                        raise refusal(error, write.path) from error
                    written.staged.append(written.unnamed[-1].staged)
                else:
                    written.staged.append(StagedWrite(write, self._new_name(write.seq, "old"), _HOW[type(write)]))
        return written

    def sync(self, written: UnsyncedWrites) -> None:
        """Second part of `stage`: wait for the disk. Raises as `stage`."""
        with self._whole(written):
            self._sync(written.unnamed)

    def name(self, written: UnsyncedWrites) -> list[StagedWrite]:
        """Last part of `stage`: name the files in `.quire/tmp`. Raises as `stage`."""
        with self._whole(written):
            for one in written.unnamed:
                self._name(one)
        written.close()
        return written.staged

    def _whole(self, written: UnsyncedWrites) -> _Whole:
        return _Whole(self._tmp, written)

    def _new_name(self, seq: int, word: str) -> str:
        return f"{seq}.{self._token}.{next(self._numbers)}.{word}"

    def _written(self, write: Put) -> _Unnamed:
        name = self._new_name(write.seq, WITHHELD if write.withheld else "new")
        if write.over.kind == "missing":
            return self._fill(write, None, StagedWrite(write, name, "create"))
        staged = StagedWrite(write, name, "swap")
        try:
            base = self._base(write, staged)
        except (FileVanished, NotRegular, FileBusy):
            return self._fill(write, None, staged)  # `perform` looks at the path again and decides
        try:
            self._plan_over(base, write, staged)
            return self._fill(write, base, staged)
        finally:
            base.drop()

    def _plan_over(self, base: Held, write: Put, staged: StagedWrite) -> None:
        self._check_writable(base, write.path)
        staged.base = base.signature
        staged.proven = staged.proven or self._proves(base, write)

    def _base(self, write: Put, staged: StagedWrite) -> Held:
        if write.over.proof and syscalls.HAS_PATH_FDS:
            fd = self._beneath.reach(write.path)
            seen = Signature.of(os.fstat(fd))
            if msgspec.structs.astuple(seen) == write.over.proof:
                staged.proven = True
                return Held(fd, seen, leased=False)
            os.close(fd)
        try:
            return self._reading.hold(write.path)
        except FileBusy:
            fd = self._beneath.open_file(write.path)
            return Held(fd, Signature.of(os.fstat(fd)), leased=False)

    def _check_writable(self, base: Held, path: str) -> None:
        ids = os.access in os.supports_effective_ids
        if syscalls.HAS_PATH_FDS:  # the inode itself: the path may be empty for an instant
            writable = os.access(syscalls.magic_link(base.fd), os.W_OK, effective_ids=ids)
        else:
            with self._beneath.parent(path) as (folder, name):
                writable = os.access(name, os.W_OK, dir_fd=folder, effective_ids=ids)
        if not writable:
            raise Refusal("permission_denied", f"{path} is read-only.", path=path)

    def _proves(self, base: Held, write: Put) -> bool:
        if write.over.text is None or not base.leased:
            return False
        same = read_all(base.fd, base.signature.size) == write.over.text.data
        return same and base.stands() and self._reading.settles(base.signature)

    def _fill(self, write: Put, base: Held | None, staged: StagedWrite) -> _Unnamed:
        part = staged.name.rpartition(".")[0] + "." + PART
        fd = -1
        try:
            fd = self._blank(part)
            write_all(fd, write.data)
            self._dress(fd, write, base)
        except BaseException:
            unlink(self._tmp, part)
            if fd >= 0:
                os.close(fd)
            raise
        self._step("stage.written")
        return _Unnamed(staged, fd, part)

    def _sync(self, written: Sequence[_Unnamed]) -> None:
        if self._protection.sync_many and len(written) >= TOGETHER and dirty_bytes() < MOST_DIRTY_BYTES:
            try:
                syscalls.sync_file_system(self._tmp)
                written = written[-1:]  # flushes the disk's own cache once more, after all files
            except OSError:  # may concern another program's file; fsync below checks ours
                pass
        sync_each(written)

    def _name(self, one: _Unnamed) -> None:
        staged = one.staged
        self._step("stage.synced")
        try:
            if self._protection.tmpfile:
                syscalls.name_unnamed(one.fd, self._tmp, staged.name)
            else:
                os.rename(one.part, staged.name, src_dir_fd=self._tmp, dst_dir_fd=self._tmp)
            self._step("stage.named")
            seen = os.fstat(one.fd)
        except OSError as error:
            if error.errno == errno.ENOENT:  # as after `git clean -x`; this daemon can make no more writes
                message = f"{staged.write.path} was not written: .quire was removed, and this daemon ends; call again."
                raise Refusal("busy", message, "retry", retry_after_ms=500) from error
            raise refusal(error, staged.write.path) from error
        staged.inode = (seen.st_dev, seen.st_ino)

    def _blank(self, part: str) -> int:
        if self._protection.tmpfile:
            return os.open(".", syscalls.O_TMPFILE | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self._tmp)
        return os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600, dir_fd=self._tmp)

    def _dress(self, fd: int, write: Put, base: Held | None) -> None:
        if base is not None:
            copy_identity(base.fd, base.signature, fd, write)
        elif write.over.kind == "missing":
            self._inherit(fd, write)

    def _inherit(self, fd: int, write: Put) -> None:
        folder = self._nearest_folder(write.path)
        try:
            above = os.fstat(folder)
            if above.st_mode & stat.S_ISGID:
                os.fchown(fd, -1, above.st_gid)
            acl = _attribute(folder, _DEFAULT_ACL)
        finally:
            os.close(folder)
        mode = stat.S_IMODE(write.mode)
        if acl is not None:
            os.setxattr(fd, _ACCESS_ACL, acl)
            mode &= stat.S_IMODE(os.fstat(fd).st_mode)  # the kernel's rule: the mode masks inherited entries
        os.fchmod(fd, mode)

    def _nearest_folder(self, path: str) -> int:
        while True:
            path = path.rpartition("/")[0]
            try:
                return self._beneath.open(path or ".", os.O_RDONLY | os.O_DIRECTORY)
            except (FileNotFoundError, NotADirectoryError):
                if not path:
                    raise


def sync_each(written: Sequence[_Unnamed]) -> None:
    """Sync each file, `SIDE_BY_SIDE` at a time. Raises Refusal, OSError; some files may then be unsynced."""
    if len(written) < TOGETHER:
        for one in written:
            _sync_one(one)
        return
    side_by_side(_sync_one, written, SIDE_BY_SIDE, "fsync")


def _sync_one(one: _Unnamed) -> None:
    try:
        os.fsync(one.fd)
    except OSError as error:
        raise refusal(error, one.staged.write.path) from error


def dirty_bytes() -> int:
    """Return the bytes that the kernel has not yet written to its disks; 0 if unknown."""
    try:
        with open("/proc/meminfo", "rb") as told:
            words = [line.split() for line in told]
    except OSError:
        return 0
    return sum(int(size) << 10 for name, size, *_ in words if name in (b"Dirty:", b"Writeback:"))


def write_all(fd: int, data: bytes, at: int = 0) -> None:
    rest = memoryview(data)
    while rest:
        done = os.pwrite(fd, rest, at)
        at += done
        rest = rest[done:]


def copy_identity(source: int, seen: Signature, target: int, write: Put) -> None:
    """Copy owner, mode, ACL and attributes of the file `source` (may be O_PATH) to `target`.

    Raises Refusal if the owner cannot be copied; OSError.
    """
    _copy_owner(source, target, write.path)
    # Keep the mode on disk unless the decision changes it: a program may have run chmod meanwhile.
    asked = stat.S_IMODE(write.mode)
    mode = stat.S_IMODE(seen.mode) if asked == stat.S_IMODE(write.over.mode) else asked
    os.fchmod(target, mode)
    if not hasattr(os, "listxattr"):  # macOS: no such calls in Python
        return
    named = syscalls.magic_link(source) if syscalls.HAS_PATH_FDS else source  # listxattr refuses an O_PATH descriptor
    for name in os.listxattr(named):
        if name in _ABOUT_CONTENT:
            continue
        value = _attribute(named, name)
        if value is not None:
            _set_attribute(target, name, value)
    if mode != stat.S_IMODE(seen.mode):
        os.fchmod(target, mode)  # the ACL restored the old mode


def _copy_owner(source: int, target: int, path: str) -> None:
    theirs, ours = os.fstat(source), os.fstat(target)
    if (theirs.st_uid, theirs.st_gid) == (ours.st_uid, ours.st_gid):
        return
    try:
        os.fchown(target, theirs.st_uid, theirs.st_gid)
    except PermissionError as error:
        message = f"{path} belongs to another user or group, which replacing it would change."
        raise Refusal("permission_denied", message, path=path) from error


def _attribute(file: int | str, name: str) -> bytes | None:
    try:
        return os.getxattr(file, name)
    except OSError as error:
        if error.errno in (errno.ENODATA, errno.ENOTSUP, errno.EPERM, errno.EACCES):
            return None
        raise


def _set_attribute(fd: int, name: str, value: bytes) -> None:
    try:
        os.setxattr(fd, name, value)
    except OSError as error:
        # only the system may set labels and trusted attributes; a lost ACL would open the file
        if name == _ACCESS_ACL or error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EACCES):
            raise
