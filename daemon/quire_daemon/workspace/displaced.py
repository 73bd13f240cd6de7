"""Displaced files, watched for late writers: programs that resolve a path before a swap and open the old inode after
it.

The daemon holds a read lease on the displaced inode, which a late open breaks. The program then hangs until a sweep
answers, at most /proc/sys/fs/lease-break-time (45 s). Bytes that it writes are returned as `LateBytes`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Container, Iterable
from contextlib import suppress
from itertools import islice
from typing import Final

import msgspec

from quire_daemon.workspace import syscalls
from quire_daemon.workspace.read import Held, read_all
from quire_daemon.workspace.types import LateBytes, Signature

GRACE_S: Final = 1.0
"""Seconds for which a displaced inode is watched: an open() takes microseconds, unless its process is not scheduled."""

MOST: Final = 256
"""Maximum number of watched files, each with a descriptor. The oldest are released first, except files open for
writing; pinned files do not count.
"""

AT_ONCE: Final = 128
"""Maximum number of surplus files released in one sweep, because callers wait meanwhile."""


def unlink(tmp: int, name: str) -> None:
    """Remove `name` from `.quire/tmp` if it exists; a folder stays."""
    try:
        os.unlink(name, dir_fd=tmp)
    except (FileNotFoundError, IsADirectoryError):
        return


class DisplacedFile(msgspec.Struct, eq=False, gc=False):
    path: str
    name: str  # in `.quire/tmp`
    held: Held
    expected: bytes | None  # its bytes when it was displaced; None: unknown, report any bytes
    # unlinked when released; False: its bytes were returned as `DisplacedBytes`, and `discard` decides
    owned: bool = True
    pinned: bool = False  # still needed to revert its batch
    since: float | None = None  # monotonic seconds of the first sweep that saw it
    broken: bool = False  # a program opened it for writing; the lease was given back


class DisplacedFiles(msgspec.Struct, eq=False):
    """All displaced files under watch. Only `drop_spent` may run on another thread than the loop's."""

    tmp: int
    items: dict[DisplacedFile, None] = msgspec.field(default_factory=dict)  # in order of addition
    named: dict[str, DisplacedFile] = msgspec.field(default_factory=dict)  # first file of each name
    spent: list[str] = msgspec.field(default_factory=list)  # names to unlink
    late: list[LateBytes] = msgspec.field(default_factory=list)  # found, not returned yet
    most_bytes: int = sys.maxsize  # most bytes read of one file
    crowded: bool = False  # over `MOST`; another sweep at once would release more

    def add(self, item: DisplacedFile, links: int | None = None) -> None:
        """Watch `item` and take over its descriptor; `links` is its link count, if known.

        A file with other names keeps no lease: writers through these names must not wait.
        """
        if item.held.leased and (os.fstat(item.held.fd).st_nlink if links is None else links) > 1:
            with suppress(OSError):  # the swap succeeded, and an error here must not make it look failed
                syscalls.give_lease_back(item.held.fd)
            item.held.leased = False
        self.items[item] = None
        self.named.setdefault(item.name, item)
        self.crowded = self.crowded or len(self.items) > MOST

    def find(self, name: str) -> DisplacedFile | None:
        return self.named.get(name)

    def unpin(self, names: Container[str]) -> None:
        """Let the pinned files `names` be released after their grace time."""
        for item in self.items:
            if item.name in names:
                item.pinned = False

    def release(self, item: DisplacedFile) -> None:
        del self.items[item]
        self._forget_name(item)
        item.held.drop()

    def _forget_name(self, item: DisplacedFile) -> None:
        if self.named.get(item.name) is item:
            del self.named[item.name]
            if len(self.named) < len(self.items):
                others = (other for other in self.items if other.name == item.name)
                self.named.update((other.name, other) for other in islice(others, 1))

    def sweep(self, mono_s: float) -> list[LateBytes]:
        """Answer lease breaks, release files whose time is over, and return late writes.

        Raises OSError, after all checks, if a file could not be read. That file stays for the next start; the next
        sweep returns the late writes.
        """
        before = _loose(self.items)
        surplus = min(before - MOST, AT_ONCE)
        rest: list[DisplacedFile] = []
        failed: OSError | None = None
        for item in self.items:
            if item.since is None:
                item.since = mono_s
            try:
                if item.held.leased and not syscalls.lease_stands(item.held.fd):
                    self._answer_break(item)
                grace_over = surplus > 0 or mono_s - item.since > GRACE_S
                if not grace_over and not item.broken:  # the usual case: each file is checked several times
                    rest.append(item)
                    continue
                if item.pinned or not self._is_quiet(item, grace_over) or not self._is_done(item, grace_over):
                    rest.append(item)
                else:
                    surplus -= 1
            except OSError as error:
                failed = error
                item.held.leased = False
                item.held.drop()
        if len(rest) < len(self.items):
            self.items, self.named = dict.fromkeys(rest), {item.name: item for item in reversed(rest)}
        self.crowded = MOST < _loose(rest) < before  # if this sweep released nothing, another one would not, either
        if failed is not None:
            raise failed
        late, self.late = self.late, []
        return late

    def drop_spent(self) -> None:
        """Unlink the released files, on any thread: unlink is an edit's slowest system call."""
        while True:
            try:
                name = self.spent.pop()
            except IndexError:
                return
            self._remove(name)

    def close(self) -> None:
        """Release everything. Files that are being written stay in `.quire/tmp` for the next start."""
        self.drop_spent()
        for item in self.items:
            self._answer_break(item)
            untouched = item.held.leased and not item.broken
            item.held.drop()
            if untouched and item.owned:
                self._remove(item.name)
        self.items.clear()
        self.named.clear()

    def _remove(self, name: str) -> None:
        with suppress(OSError):
            unlink(self.tmp, name)

    def _answer_break(self, item: DisplacedFile) -> None:
        held = item.held
        if held.leased and not syscalls.lease_stands(held.fd):
            syscalls.give_lease_back(held.fd)
            held.leased = False
            item.broken = True

    def _is_quiet(self, item: DisplacedFile, grace_over: bool) -> bool:
        if not item.broken:
            return grace_over
        # A lease can be taken again once the writer is done. None is impossible: this file had a lease before.
        item.held.leased = syscalls.take_lease(item.held.fd) is True
        return item.held.leased

    def _is_done(self, item: DisplacedFile, grace_over: bool) -> bool:
        held = item.held
        if item.broken or not held.leased:
            changed, data, large = self._difference(item)
            if held.leased and not syscalls.lease_stands(held.fd):
                self._answer_break(item)  # another writer opened it during the read
                return False
            if changed:
                held.drop()
                self.late.append(LateBytes(item.path, data, item.name, large))
                return True
            if not grace_over:
                item.broken = False  # opened, nothing written; another writer may still come
                return False
        held.drop()
        if item.owned:
            self.spent.append(item.name)
        return True

    def _difference(self, item: DisplacedFile) -> tuple[bool, bytes, int]:
        now = Signature.of(os.fstat(item.held.fd))
        # A link has no bytes to change. A hard link has another path, where the change is seen.
        if now.kind != "file" or now.nlink > 1:
            return False, b"", 0
        if now.size > self.most_bytes:
            was = item.held.signature
            return not item.owned or (now.size, now.mtime_ns) != (was.size, was.mtime_ns), b"", now.size
        data = read_all(item.held.fd, now.size)
        return data != item.expected, data, 0


def _loose(items: Iterable[DisplacedFile]) -> int:
    return sum(not item.pinned for item in items)
