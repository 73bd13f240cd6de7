"""Displaced files, watched for a while: a program may have resolved the path before the swap and open it after.

It then writes into an inode that has no path any more. The read lease is kept on that inode, so such an open
waits and breaks the lease. The kernel tells that by a signal, and the next sweep answers it: at once, or the program
would hang for up to /proc/sys/fs/lease-break-time, 45 s. When it is done, what it wrote is handed out as `LateBytes`.
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
"""How long a displaced inode is watched. An open() takes microseconds; a second covers a process that lost its core."""

MOST: Final = 256
"""At most so many (each is a descriptor); beyond, the oldest are let go before their time, but for those that somebody
has open for writing. Those that a batch may still want back are not counted: they stay, and others need their time."""

AT_ONCE: Final = 128
"""Of those beyond, so many are let go in one sweep: after a write of a thousand files others are waiting by then."""


def unlink(tmp: int, name: str) -> None:
    """Remove `name` from `.quire/tmp` if it is there and a file. A folder that a swap brought out stays."""
    try:
        os.unlink(name, dir_fd=tmp)
    except (FileNotFoundError, IsADirectoryError):
        return


class DisplacedFile(msgspec.Struct, eq=False, gc=False):
    """One displaced inode."""

    path: str
    name: str  # in `.quire/tmp`
    held: Held
    expected: bytes | None  # its bytes when it was displaced; None: not known, and any are worth reporting
    owned: bool = True  # ours to unlink; False: its bytes were handed out as `Kept`, and `discard` says when
    pinned: bool = False  # a batch may still want it back
    since: float | None = None  # monotonic seconds of the first sweep that saw it
    broken: bool = False  # a program opened it for writing; the lease was given back


class DisplacedFiles(msgspec.Struct, eq=False):
    """All displaced inodes. For the loop's thread only, but for `drop_spent`."""

    tmp: int
    items: dict[DisplacedFile, None] = msgspec.field(default_factory=dict)  # in the order in which they came
    named: dict[str, DisplacedFile] = msgspec.field(default_factory=dict)  # the first of each name, mostly the only one
    spent: list[str] = msgspec.field(default_factory=list)  # names that are to be unlinked
    late: list[LateBytes] = msgspec.field(default_factory=list)  # what has been found and is not handed out
    most_bytes: int = sys.maxsize  # that are read of one of them
    crowded: bool = False  # too many, and a sweep that follows at once lets more of them go

    def add(self, item: DisplacedFile, links: int | None = None) -> None:
        """Watch `item`; its descriptor is taken over. `links`: how many names it has, where that has just been seen.

        A file with other names keeps no lease: writers who come by those are not late, and must not wait for a sweep.
        """
        if item.held.leased and (os.fstat(item.held.fd).st_nlink if links is None else links) > 1:
            with suppress(OSError):  # of a swap that stands: nothing may take it for one that failed
                syscalls.give_lease_back(item.held.fd)
            item.held.leased = False
        self.items[item] = None
        self.named.setdefault(item.name, item)
        self.crowded = self.crowded or len(self.items) > MOST

    def find(self, name: str) -> DisplacedFile | None:
        """The watched file that is called `name`."""
        return self.named.get(name)

    def unpin(self, names: Container[str]) -> None:
        """Those that are called so may go when their time is over."""
        for item in self.items:
            if item.name in names:
                item.pinned = False

    def release(self, item: DisplacedFile) -> None:
        """Stop watching `item` and close it; its name stays."""
        del self.items[item]
        self._forget_name(item)
        item.held.drop()

    def _forget_name(self, item: DisplacedFile) -> None:
        """It is watched no more; another of that name may be: of what came out of a swap that was undone."""
        if self.named.get(item.name) is item:
            del self.named[item.name]
            if len(self.named) < len(self.items):
                others = (other for other in self.items if other.name == item.name)
                self.named.update((other.name, other) for other in islice(others, 1))

    def sweep(self, mono_s: float) -> list[LateBytes]:
        """Answer lease breaks, let go what was watched long enough, and say what was written late.

        Raises OSError where one could not be looked at, after all others were: it is watched no more, and stays for the
        next start. What was written late is said by the next sweep then.
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
                if not grace_over and not item.broken:  # each is looked at several times, and mostly that is all
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
        self.crowded = MOST < _loose(rest) < before  # where nothing could go, nothing would at once
        if failed is not None:
            raise failed
        late, self.late = self.late, []
        return late

    def drop_spent(self) -> None:
        """Unlink what the sweeps let go of. For any thread: it takes longer than the other system calls of an edit."""
        while True:
            try:
                name = self.spent.pop()
            except IndexError:
                return
            self._remove(name)

    def close(self) -> None:
        """Let everything go, whatever its time. What is being written stays in `.quire/tmp` for the next start."""
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
        """What the disk does not let go of stays for the next start."""
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
        # The writer is done when a lease can be had again; None cannot come, there was one before.
        item.held.leased = syscalls.take_lease(item.held.fd) is True
        return item.held.leased

    def _is_done(self, item: DisplacedFile, grace_over: bool) -> bool:
        """Close a quiet item and add to `late` what was written into it. False: it has to be watched further."""
        held = item.held
        if item.broken or not held.leased:
            changed, data, large = self._difference(item)
            if held.leased and not syscalls.lease_stands(held.fd):
                self._answer_break(item)  # the next writer came while we read
                return False
            if changed:
                held.drop()
                self.late.append(LateBytes(item.path, data, item.name, large))
                return True
            if not grace_over:
                item.broken = False  # opened and nothing written; another may still come
                return False
        held.drop()
        if item.owned:
            self.spent.append(item.name)
        return True

    def _difference(self, item: DisplacedFile) -> tuple[bool, bytes, int]:
        """Was something written into it, what is in it, and how many bytes, where they are too many to be read."""
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
    """How many of them no batch may want back."""
    return sum(not item.pinned for item in items)
