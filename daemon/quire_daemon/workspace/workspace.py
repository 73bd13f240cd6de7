"""The checkout: the only code that touches its files.

It knows no journal and keeps no thread; the engine decides the order of syncs.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from quire_daemon.config import Policy
from quire_daemon.core import Write
from quire_daemon.workspace import capabilities, quarantine, syscalls
from quire_daemon.workspace.confine import Beneath
from quire_daemon.workspace.context import WriteContext
from quire_daemon.workspace.displaced import DisplacedFile, DisplacedFiles, unlink
from quire_daemon.workspace.entries import finish
from quire_daemon.workspace.mkdirs import finish_made
from quire_daemon.workspace.read import FileReader, read_all
from quire_daemon.workspace.resolve import Places
from quire_daemon.workspace.stage import PART, WITHHELD, FileStager, StagedWrite, UnsyncedWrites
from quire_daemon.workspace.swap import Swapper
from quire_daemon.workspace.types import (
    DisplacedBytes,
    FileVanished,
    Image,
    LateBytes,
    Look,
    Place,
    Protection,
    Signature,
    SwapDone,
    SwapLost,
    UnreadFile,
)
from quire_journal.model import BlobId, Refusal

HOME: Final = ".quire"
TMP: Final = f"{HOME}/tmp"
COOKIES: Final = f"{HOME}/cookies"
ASIDE: Final = f"{HOME}/displaced"
_PROBE: Final = "probe-"
_CLOSED: Final = (errno.EROFS, errno.EACCES, errno.EPERM)

LONGEST_ASIDE: Final = 160
"""Maximum bytes of the original name in a quarantine file's name (at most 255)."""

OWNER_DIGITS: Final = 12


def _at_once(work: Callable[[], None]) -> None:
    work()


def _no_step(name: str) -> None: ...


class Workspace:
    """One checkout. Only `stage`, `stage_all`, `sync` and `read` may run on other threads."""

    _tmp = -1  # `.quire/tmp`; not open

    def __init__(
        self,
        root: Path,
        *,
        steps: Callable[[str], None] = _no_step,
        protection: Protection | None = None,
        wall_ns: Callable[[], int] = time.time_ns,
        owner: str = "",
        most_bytes: int = sys.maxsize,
    ) -> None:
        """Open the folder `root`, make `.quire/{tmp,cookies}` and find the protections.

        `steps`: called with names of `STEPS`. `protection`: replaces the one found. `wall_ns`: clock of file
        timestamps. `owner`: the journal's id; other journals' temporary files are left alone. `most_bytes`: most bytes
        read of another program's file.

        Raises OSError; Refusal if `.quire` is not a plain folder. If nothing can be written, `read_only` has the
        reason, and reads rely on `RACY_NS`.
        """
        self.read_only = ""
        self.root = Path(os.path.abspath(root))
        self._step = steps
        self._owner = owner[:OWNER_DIGITS]
        self._token = self._owner + secrets.token_hex(4)
        fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._root_stat = os.fstat(fd)
        confined = capabilities.can_openat2(fd) if protection is None else protection.openat2
        self._beneath = Beneath(fd, confined)
        self._displaced_files = DisplacedFiles(-1, most_bytes=most_bytes)
        try:
            self._make_home()
            self._displaced_files.tmp = self._tmp = self._open_home(TMP)
            self._tmp_stat, self._tmp_path = os.fstat(self._tmp), os.fspath(self.root / TMP)
            prefix = f"{_PROBE}{self._token}"
            self.protection = protection or capabilities.find_protection(self._tmp, prefix, confined)
        except OSError as error:
            if error.errno not in _CLOSED:
                self.close()
                raise
            self._give_tmp_back()
            self.read_only = error.strerror or str(error)
            self.protection = protection or capabilities.none_but(confined)
        except BaseException:
            self.close()
            raise
        given = self.protection
        self._places = Places(self.root, self._beneath, given.folds_case)
        self._reading = FileReader(self._beneath, given, wall_ns)
        self._staging = FileStager(self.root, self._beneath, self._reading, self._tmp, given, self._token, steps)
        means = WriteContext(self._beneath, self._reading, self._tmp, given, self._displaced_files, steps)
        self._swapping = Swapper(means)

    def _make_home(self) -> None:
        self._make_folder(HOME, 0o755)
        self._make_folder(TMP, 0o700)
        self._make_folder(COOKIES, 0o700)
        home = self._open_home(HOME)
        try:
            fd = os.open(".gitignore", os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644, dir_fd=home)
        except FileExistsError:
            return
        finally:
            os.close(home)
        with os.fdopen(fd, "wb") as ignore:
            ignore.write(b"*\n")

    def _make_folder(self, path: str, mode: int) -> None:
        os.close(self._made_folder(path, mode))

    def _made_folder(self, path: str, mode: int = 0o700) -> int:
        with self._beneath.parent(path) as (folder, name), contextlib.suppress(FileExistsError):
            os.mkdir(name, mode, dir_fd=folder)
        return self._open_home(path)

    def _open_home(self, path: str) -> int:
        try:
            return self._beneath.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:  # a cloned repository may bring a link or a file of that name
            if error.errno in _CLOSED:
                raise  # another user's folder; the caller may only read
            message = f"{path} is not a folder of this workspace: {os.strerror(error.errno or 0)}."
            raise Refusal("permission_denied", message, path=path) from error

    # --- seeing ----------------------------------------------------------------------------------------------------

    def place(self, given: str, *, writing: bool, policy: Policy, followed: bool = True) -> Place:
        """Return the place that `given` means, with links followed inside the workspace.

        Not `followed`: the place of the link itself; for `writing`, also a link without a target. Raises Refusal
        (NoPath, outside_workspace, or permission_denied: protected, forbidden, too many links, below a link without a
        target).
        """
        return self._places.place(given, writing, policy, followed)

    def below(self, given: str, policy: Policy) -> str:
        """Return `given`, an absolute path, relative to the workspace. Raises Refusal (NoPath, outside_workspace)."""
        return self._places.below(given, policy)

    def look(self, path: str) -> Look:
        """Return kind and signature of `path`, following no link. Raises Refusal (a folder that cannot be entered)."""
        return self._beneath.look(path)

    def read(self, path: str, limit: int, *, unfinished_ok: bool = False) -> Image:
        """Read the file `path` consistently, up to `limit` bytes; with `unfinished_ok` also a file open for writing.

        Raises FileBusy, FileVanished, NotRegular, TooLarge, Refusal.
        """
        return self._reading.read(path, limit, unfinished_ok)

    def read_link(self, path: str) -> bytes:
        """Return the target of the link `path`. Raises FileVanished, NotRegular, Refusal."""
        return self._beneath.read_link(path)

    def verify_unchanged(self, path: str, signature: Signature) -> bool:
        """True if `path` still matches a *settled* `signature`; False when in doubt."""
        return self._reading.is_unchanged(path, signature)

    def finish_folder(self, path: str, mode: int) -> bool:
        """Set the mode of an empty folder that a kill left unfinished; return True if it was.

        Raises OSError, Refusal, FileVanished, NotRegular.
        """
        return finish(self._beneath, path, mode)

    def finish_made(self, path: str) -> bool:
        return finish_made(self._beneath, path)

    # --- writing ---------------------------------------------------------------------------------------------------

    def stage(self, write: Write) -> StagedWrite:
        """Prepare a write: its temporary file, complete and synced. For any thread. Raises Refusal, OSError."""
        return self._staging.stage((write,))[0]

    def stage_all(self, writes: Sequence[Write]) -> list[StagedWrite]:
        """Prepare the writes of one request, all or none. For any thread. Raises as `stage`."""
        return self._staging.stage(writes)

    def write(self, writes: Sequence[Write], with_: UnsyncedWrites | None = None) -> UnsyncedWrites:
        """First part of `stage_all`, on the loop's thread; `sync` and `name` must follow. Raises as `stage`, removing
        also the earlier files `with_`.
        """
        return self._staging.write(writes, with_)

    def sync(self, written: UnsyncedWrites) -> None:
        """Second part of `stage_all`: wait for the disk. For any thread. Raises as `stage` and removes `written`."""
        self._staging.sync(written)

    def name(self, written: UnsyncedWrites) -> list[StagedWrite]:
        """Last part of `stage_all`: name the files. Raises as `stage` and removes `written`."""
        return self._staging.name(written)

    def perform(self, staged: StagedWrite, *, pinned: bool = False) -> SwapDone | SwapLost:
        """Perform a staged write as a compare-and-swap; `SwapLost` if the path has changed.

        `pinned`: one of several writes that succeed or fail together; the displaced file stays until `release` or
        `revert`. Raises FileBusy (perform again, or `abandon`), Refusal or OSError (nothing changed), InDoubt (read the
        path again).
        """
        return self._swapping.perform(staged, pinned)

    def release(self, staged: Iterable[StagedWrite]) -> None:
        """Unpin the displaced files of these writes, which then cannot be reverted."""
        self._displaced_files.unpin({step.name for step in staged})

    def revert(self, staged: StagedWrite) -> SwapDone | SwapLost:
        """Undo a performed, pinned write if its result is still at the path, else return `SwapLost`. Raises as
        `perform`.
        """
        return self._swapping.revert(staged)

    def abandon(self, staged: StagedWrite) -> None:
        """Discard a write; no effect on a performed one."""
        self._swapping.abandon(staged)

    def discard(self, kept: Iterable[DisplacedBytes | LateBytes]) -> None:
        """Remove the files of `kept`, whose bytes are in the journal, now or at the next start."""
        for one in kept:
            item = self._displaced_files.find(one.name)
            if item is not None:
                item.owned = True  # a late writer may still have it open; removed when its time is over
            elif one.name:
                with contextlib.suppress(OSError):
                    unlink(self._tmp, one.name)
            self._step("discard.unlinked")

    def put_aside(self, path: str, data: bytes, blob: bytes) -> str:
        """Write bytes of `path` (sha256 `blob`) into a permanent file in `.quire/displaced`; return its path. Equal
        bytes share a file. Raises OSError, Refusal.
        """
        with self._aside(path) as (folder, begins):
            name = f"{begins}.{blob.hex()[:16]}"
            return f"{ASIDE}/{quarantine.put(folder, name, f'{name}.{self._token}.{PART}', data)}"

    def move_aside(self, path: str, name: str) -> str:
        """Give the file `name` of `.quire/tmp` a second name in `.quire/displaced`; return its path. Idempotent. Raises
        OSError, Refusal.
        """
        with self._aside(path) as (folder, begins):
            return f"{ASIDE}/{quarantine.link(self._tmp, name, folder, f'{begins}.{name}')}"

    @contextlib.contextmanager
    def _aside(self, path: str) -> Iterator[tuple[int, str]]:
        """Context manager: gives the folder `.quire/displaced`, synced at the end, and the beginning of a name for
        bytes of `path`.
        """
        folder = self._made_folder(ASIDE)
        try:
            yield folder, os.fsdecode(os.fsencode(path.rpartition("/")[2])[:LONGEST_ASIDE])
            os.fsync(folder)
        finally:
            os.close(folder)

    def read_at_most(self, most_bytes: int) -> None:
        self._displaced_files.most_bytes = most_bytes

    def remove_empty(self, folders: Iterable[str]) -> None:
        """Remove those folders that are empty."""
        for path in folders:
            with contextlib.suppress(OSError, FileVanished, Refusal), self._beneath.parent(path) as (above, name):
                os.rmdir(name, dir_fd=above)

    def sync_folder(self, path: str) -> None:
        """fsync the folder of `path`, if it exists. Raises OSError."""
        folder = path.rpartition("/")[0] or "."
        try:
            fd = self._beneath.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except (FileNotFoundError, NotADirectoryError):
            return
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    # --- what was displaced ----------------------------------------------------------------------------------------

    def sweep(self, mono_s: float, later: Callable[[Callable[[], None]], object] = _at_once) -> list[LateBytes]:
        """Let programs that wait for displaced files continue, release old ones, and return late writes: journal, then
        `discard` them. Called at a lease break, and periodically.

        `mono_s`: now, in monotonic seconds. `later` may unlink on another thread.
        """
        late = self._displaced_files.sweep(mono_s)
        if self._displaced_files.spent:
            later(self._displaced_files.drop_spent)
        return late

    def displaced_files(self) -> int:
        return len(self._displaced_files.items)

    def crowded(self) -> bool:
        """True if `sweep`, called again at once, would release more displaced files."""
        return self._displaced_files.crowded

    def stands(self) -> bool:
        """True if the workspace and its `.quire` are still the opened folders. Raises OSError if unknown."""
        try:
            root = os.stat(self.root)
            if self.read_only:
                return os.path.samestat(root, self._root_stat)
            tmp = os.lstat(self._tmp_path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return os.path.samestat(root, self._root_stat) and os.path.samestat(tmp, self._tmp_stat)

    def mended(self) -> bool:
        """True if a read-only workspace has become writable, which a trial shows."""
        if not self.read_only:
            return False
        try:
            self._make_home()
            tmp = self._open_home(TMP)
            try:
                name = f"{_PROBE}{self._token}"
                os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=tmp))
                os.unlink(name, dir_fd=tmp)
            finally:
                os.close(tmp)
        except (OSError, Refusal):
            return False
        return True

    def own(self) -> int | None:
        """Lock the workspace, unless it is read-only. Returns None, or the pid of the daemon that holds the lock (0:
        unknown).
        """
        if not self.read_only:
            try:
                fcntl.flock(self._tmp, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return syscalls.flock_holder(self._tmp)
        return None

    def leftovers(self, limit: int) -> list[DisplacedBytes]:
        """Return temporary files that earlier runs left: journal the bytes that the journal lacks, then `discard`.

        Incomplete files are removed; `sweep` reports files still being written. Files over `limit` bytes, or
        unreadable, stay (`unread`).
        """
        self._drop_parts_aside()
        return [kept for name, seq in self._of_dead_runs() for kept in self._left(name, seq, limit)]

    def unread(self) -> list[UnreadFile]:
        """Return the files that `leftovers` did not read, for `remove` or `move_aside`."""
        looks = ((name, seq, self.look(f"{TMP}/{name}").signature) for name, seq in self._of_dead_runs())
        files = ((name, seq, s) for name, seq, s in looks if s is not None and s.kind == "file")
        return [UnreadFile(name, seq, s.ino, s.size, self._is_written(name)) for name, seq, s in files]

    def _is_written(self, name: str) -> bool:
        if not self.protection.lease:
            return False
        try:
            held = self._swapping.hold_temporary(name)
        except PermissionError:  # not readable
            return False
        free = held.leased and held.stands()
        held.drop()
        return not free

    def address(self, name: str) -> BlobId:
        """Return the blob id (sha256) of a file in `.quire/tmp`, of any size. Raises OSError."""
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._tmp)
        with os.fdopen(fd, "rb") as file:
            return BlobId(hashlib.file_digest(file, "sha256").digest())

    def remove(self, name: str) -> None:
        """Remove a file of an ended run whose bytes must not be journaled."""
        unlink(self._tmp, name)

    def _drop_parts_aside(self) -> None:
        if self.read_only or self.look(ASIDE).kind != "folder":
            return
        with contextlib.suppress(OSError, Refusal):
            folder = self._open_home(ASIDE)
            try:
                for name in os.listdir(folder):
                    _, token, last = ("", "", *name.split("."))[-3:]
                    ours = token.startswith(self._owner) and len(token) == len(self._token)
                    if last == PART and ours and token != self._token:
                        unlink(folder, name)
            finally:
                os.close(folder)

    def _of_dead_runs(self) -> Iterator[tuple[str, int]]:
        for name in () if self.read_only else sorted(os.listdir(self._tmp)):
            words = name.split(".")
            if self._token in words:
                continue
            if words[-1] == PART or name.startswith(_PROBE):
                unlink(self._tmp, name)
            # another journal's files belong to its own daemon
            elif len(words) > 1 and words[1].startswith(self._owner):
                yield name, int(words[0]) if words[0].isdecimal() else 0

    def _left(self, name: str, seq: int, limit: int) -> list[DisplacedBytes]:
        path = f"{TMP}/{name}"
        look = self.look(path)
        if look.kind == "link":
            return [DisplacedBytes(name, "", self.read_link(path), seq)]
        if look.kind != "file" or look.signature is None or look.signature.size > limit:
            return []  # a folder that a race put there stays, too
        try:
            held = self._swapping.hold_temporary(name)
        except PermissionError:
            return []
        data = read_all(held.fd, held.signature.size)
        if self.protection.lease and not (held.leased and held.stands()):
            self._displaced_files.add(DisplacedFile("", name, held, None, owned=False, broken=True))
            return []
        held.drop()
        return [DisplacedBytes(name, "", data, seq, name.endswith("." + WITHHELD))]

    def close(self) -> None:
        self._give_tmp_back()
        if self._beneath.fd >= 0:
            os.close(self._beneath.fd)
            self._beneath.fd = -1

    def _give_tmp_back(self) -> None:
        if self._tmp >= 0:
            self._displaced_files.close()
            os.close(self._tmp)
            self._tmp = self._displaced_files.tmp = -1
