"""What the workspace says about the disk, as values, and the three ways in which a file cannot be had just now."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

import msgspec

from quire_journal.model import Refusal


class Signature(msgspec.Struct, frozen=True, gc=False):
    """What fstat said about an inode. Two equal signatures mean equal bytes only where the first was `settled`."""

    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int
    mode: int  # the whole st_mode
    nlink: int

    @classmethod
    def of(cls, seen: os.stat_result) -> Signature:
        """The signature in a stat result."""
        return cls(
            seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_mode, seen.st_nlink
        )

    @property
    def kind(self) -> str:
        """ "file", "folder", "link" or "special"."""
        if stat.S_ISREG(self.mode):
            return "file"
        if stat.S_ISDIR(self.mode):
            return "folder"
        return "link" if stat.S_ISLNK(self.mode) else "special"

    def same_inode(self, other: Signature) -> bool:
        """Whether both are of one inode."""
        return (self.dev, self.ino) == (other.dev, other.ino)


class Look(msgspec.Struct, frozen=True, gc=False):
    """What is at a path. `kind` is "file", "missing", "folder", "link" or "special" (FIFO, socket, device)."""

    kind: str
    signature: Signature | None


class Image(msgspec.Struct, frozen=True, gc=False):
    """The bytes of a file, read as one whole.

    `settled`: any later change moves the signature, so that an equal signature proves these bytes. It holds for
    a read under an unbroken read lease (a mapping that is already dirty takes stores without moving mtime, and
    a lease is refused while a writable mapping exists), on a file system that stamps the first store into a
    mapping and gives every change a stamp of its own; where stamps are as coarse as the kernel's tick, only if
    the last change is older than `read.RACY_NS`. Without leases that age is all there is to go by, and a
    mapping that stays open can deceive it.

    `finished`: False if another program had the file open for writing (only with `unfinished_ok`).
    """

    data: bytes
    signature: Signature
    settled: bool
    finished: bool


class Place(msgspec.Struct, frozen=True, gc=False):
    """A path that is inside the workspace and not protected."""

    path: str  # workspace-relative, "/" between names, as the disk spells it; bytes outside UTF-8 as surrogates
    resolved_from: str = ""  # the path that the caller named, when a link in it led to `path`
    look: Look | None = None  # what was there a moment ago, where that had to be looked at


class DisplacedBytes(msgspec.Struct, frozen=True):
    """Bytes that a swap brought out and that belong to somebody else; they stay in `.quire/tmp/<name>` until `discard`.

    From `leftovers` (temporary files of a dead run) `path` is "" and `seq` leads to the intent in the journal.
    `withheld`: the journal was not to have what was to be written. `large`: how many bytes it has, where those are more
    than may be read; `data` is empty then.
    """

    name: str
    path: str
    data: bytes
    seq: int = 0
    withheld: bool = False
    large: int = 0


class LateBytes(msgspec.Struct, frozen=True):
    """What a program wrote into a displaced file, through a path that it had resolved before the swap."""

    path: str
    data: bytes
    name: str = ""  # in `.quire/tmp`, "" if it has no name any more
    large: int = 0  # as in `DisplacedBytes`


class UnreadFile(NamedTuple):
    """A temporary file of a dead run that was not read: it is too large, closed to us, or is being written."""

    name: str
    seq: int  # of the intent, as in `DisplacedBytes`
    ino: int
    size: int
    written: bool = False  # a program has it open for writing, or nobody can tell


class SwapDone(msgspec.Struct, frozen=True, gc=False):
    """Done. `signature` is of what is now at the path (of a move: at the new one), None after a removal."""

    signature: Signature | None
    settled: bool = False  # as in `Image`: an equal signature proves the bytes that were put there
    hard_link_broken: bool = False  # the other names of the displaced inode still hold the old bytes


class SwapLost(msgspec.Struct, frozen=True):
    """The path was not what was planned on; it is as the others left it.

    `why`: "missing", "changed", "exists" (the destination), "not_a_file". `kept` are bytes that nobody has at a
    path any more, because several writers replaced the file within the microseconds of the swap.
    """

    why: str
    kept: tuple[DisplacedBytes, ...] = ()


class Protection(msgspec.Struct, frozen=True):
    """Which protections the kernel and the file system of the workspace give. All true on local Linux disks."""

    lease: bool  # F_SETLEASE: writers are seen; else a quiet time of `read.RACY_NS` has to do
    exchange: bool  # renameat2 EXCHANGE (renamex_np SWAP); else backup link, check, rename: a window of microseconds
    openat2: bool  # RESOLVE_BENEATH and NO_XDEV in the kernel; else a walk from folder to folder that checks each
    tmpfile: bool  # O_TMPFILE; else named temporary files, swept at the next start
    stamps: bool  # the first store into a mapping moves mtime (tmpfs: not always); else no signature proves anything
    fine_stamps: bool  # every change has a stamp of its own (multigrain stamps, Linux 6.13); else see `Image.settled`
    sync_many: bool = False  # syncfs syncs all that was written, and tells errors; else each file is synced by itself
    folds_case: bool = False  # names that differ in case or Unicode form are one file


class NoPath(Refusal):
    """What was given can be the name of nothing, whatever is there. The argument that it was given in is `path`, unless
    somebody knows better.
    """

    def __init__(self, problem: str, argument: str = "path") -> None:
        super().__init__("schema_invalid", f"`{argument}` {problem}.", argument=argument)
        self.problem = problem


class FileBusy(Exception):
    """Another program has the file open for writing. Nothing was changed; try again shortly."""


class InDoubt(OSError):
    """The disk failed behind a step that changed a path, and again when that was to be taken back: what stands at the
    path may be ours. The name in `.quire/tmp` stays, for a start to find.
    """


class FileVanished(Exception):
    """There is nothing at the path (any more)."""


class NotRegular(Exception):
    """The path is a folder, a link, a FIFO, a socket or a device; it was not opened."""


class TooLarge(Exception):
    """The file has more than the allowed number of bytes; `size` is how many."""

    def __init__(self, path: str, size: int) -> None:
        super().__init__(f"{path}: {size} bytes")
        self.size = size
