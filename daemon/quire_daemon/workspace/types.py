"""Values about files on disk, and the errors of a file that cannot be read now."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

import msgspec

from quire_journal.model import Refusal


class Signature(msgspec.Struct, frozen=True, gc=False):
    """fstat values of an inode. Equal signatures prove equal bytes only if the first was `settled`."""

    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int
    mode: int  # the whole st_mode
    nlink: int

    @classmethod
    def of(cls, seen: os.stat_result) -> Signature:
        return cls(
            seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_mode, seen.st_nlink
        )

    @property
    def kind(self) -> str:
        """Kind of the path: "file", "folder", "link" or "special"."""
        if stat.S_ISREG(self.mode):
            return "file"
        if stat.S_ISDIR(self.mode):
            return "folder"
        return "link" if stat.S_ISLNK(self.mode) else "special"

    def same_inode(self, other: Signature) -> bool:
        return (self.dev, self.ino) == (other.dev, other.ino)


class Look(msgspec.Struct, frozen=True, gc=False):
    """Kind of a path ("missing", or as in `Signature`; "special" is a FIFO, socket or device) and its signature."""

    kind: str
    signature: Signature | None


class Image(msgspec.Struct, frozen=True, gc=False):
    """Bytes of a file, read consistently.

    `settled`: an equal signature proves these bytes. That needs a read under an unbroken lease (a dirty mapping takes
    stores without moving mtime), a file system that stamps the first store into a mapping, and a stamp for every change
    or a last change older than `read.RACY_NS`. Without leases that age is the only evidence.

    `finished`: False if another program had the file open for writing (only with `unfinished_ok`).
    """

    data: bytes
    signature: Signature
    settled: bool
    finished: bool


class Place(msgspec.Struct, frozen=True, gc=False):
    """A path, resolved from a caller's, that is inside the workspace and not protected."""

    path: str  # workspace-relative, "/" between names, as the disk spells it; bytes outside UTF-8 as surrogates
    resolved_from: str = ""  # the caller's path, if a link in it led to `path`
    look: Look | None = None  # what was there a moment ago, if it was looked at


class DisplacedBytes(msgspec.Struct, frozen=True):
    """Bytes of another program that a swap displaced; they stay in `.quire/tmp/<name>` until `discard`.

    For a file left by an earlier run, `path` is "", and `seq` that of the write's record. `withheld`: must not be
    journaled. `large`: size of a file too large to read; 0: `data` is complete.
    """

    name: str
    path: str
    data: bytes
    seq: int = 0
    withheld: bool = False
    large: int = 0


class LateBytes(msgspec.Struct, frozen=True):
    """Bytes that a program wrote into a displaced file that it had found before the swap."""

    path: str
    data: bytes
    name: str = ""  # in `.quire/tmp`, "" if the file is unlinked
    large: int = 0  # as in `DisplacedBytes`


class UnreadFile(NamedTuple):
    """A temporary file of an earlier run that is too large, not readable, or being written."""

    name: str
    seq: int  # of the intent, as in `DisplacedBytes`
    ino: int
    size: int
    written: bool = False  # open for writing by a program, or unknown


class SwapDone(msgspec.Struct, frozen=True, gc=False):
    """A successful write. `signature`: of the file now at the (new) path; None after a removal."""

    signature: Signature | None
    settled: bool = False  # as in `Image`: an equal signature proves the written bytes
    hard_link_broken: bool = False  # other names of the displaced inode still have the old bytes


class SwapLost(msgspec.Struct, frozen=True):
    """A write not made: the path did not have the planned file, and keeps the other program's.

    `why`: "missing", "changed", "exists" (the destination), "not_a_file". `kept`: bytes that lost their path because
    several writers met the swap.
    """

    why: str
    kept: tuple[DisplacedBytes, ...] = ()


class Protection(msgspec.Struct, frozen=True):
    """Protections and properties of the kernel and the workspace's file system."""

    lease: bool  # F_SETLEASE: writers are seen; else a quiet time of `read.RACY_NS`
    exchange: bool  # renameat2 EXCHANGE (renamex_np SWAP); else backup link, check, rename: a window of microseconds
    openat2: bool  # RESOLVE_BENEATH and NO_XDEV in the kernel; else a walk that checks each folder
    tmpfile: bool  # O_TMPFILE; else named temporary files, removed at the next start
    stamps: bool  # the first store into a mapping moves mtime (tmpfs: not always); else no signature proves bytes
    # every change has its own timestamp (multigrain timestamps, Linux 6.13); else see `Image.settled`
    fine_stamps: bool
    sync_many: bool = False  # syncfs is reliable and reports errors; else each file is synced by itself
    folds_case: bool = False  # names that differ in case or Unicode form are one file


class NoPath(Refusal):
    """The path in `argument` cannot name any file."""

    def __init__(self, problem: str, argument: str = "path") -> None:
        super().__init__("schema_invalid", f"`{argument}` {problem}.", argument=argument)
        self.problem = problem


class FileBusy(Exception):
    """Another program has the file open for writing; try again shortly."""


class InDoubt(OSError):
    """The disk failed after a step that changed a path, and again during its undo: our file may be at the path. The
    name in `.quire/tmp` stays for recovery.
    """


class FileVanished(Exception):
    """Raised if no file is at the path."""


class NotRegular(Exception):
    """Raised if the path is no file, which is then not opened."""


class TooLarge(Exception):
    """The file exceeds the allowed bytes; `size` is its size."""

    def __init__(self, path: str, size: int) -> None:
        super().__init__(f"{path}: {size} bytes")
        self.size = size
