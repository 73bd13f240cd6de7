"""Hard links: the bytes are written in place, the inode stays, all its names show them.

Under a write lease, so that even readers wait: no torn read of 47,784 (5,262 of 63,627 without). Where there
are no leases the file is swapped instead, and its links are broken. A crash in the middle leaves a
mixture; the temporary file carries a mark until the bytes are synced, and recovery writes them again.
"""

from __future__ import annotations

import os

from quire_daemon.handlers.base import Put
from quire_daemon.workspace import kernel
from quire_daemon.workspace.bases import is_base
from quire_daemon.workspace.confine import temporary_removed
from quire_daemon.workspace.lingering import unlink
from quire_daemon.workspace.means import Means
from quire_daemon.workspace.reading import Held, read_all
from quire_daemon.workspace.staging import IN_PLACE, Staged, write_all
from quire_daemon.workspace.values import HeldOpen, Lost, Signature, Swapped


class InPlace:
    """Writes into files that have several names. For the loop's thread only."""

    def __init__(self, means: Means) -> None:
        self._beneath, self._reading, self._tmp, self._protection, _, self._step = means

    def write(self, staged: Staged) -> Swapped | Lost | None:
        """The bytes change, the inode stays. None where there are no leases: nothing was done."""
        write = staged.write
        assert isinstance(write, Put)
        held = self._hold_alone(write.path)
        if held is None:
            return None
        try:
            if not is_base(held, write.over, staged):
                return Lost("changed")
            return self._overwrite(held, staged, write.data)
        finally:
            held.drop()

    def unwrite(self, staged: Staged) -> Swapped | Lost:
        """Put the bytes of before back, where ours are what is there."""
        write = staged.write
        assert isinstance(write, Put)
        held = self._hold_alone(write.path)
        if held is None or write.over.text is None:
            return Lost("changed")
        try:
            same = (held.signature.dev, held.signature.ino) == staged.inode
            if not same or read_all(held.fd, held.signature.size) != write.data:
                return Lost("changed")
            return self._overwrite(held, staged, write.over.text.data)
        finally:
            held.drop()

    def _hold_alone(self, path: str) -> Held | None:
        """The file open for writing under a write lease; None where there are no leases. Raises HeldOpen."""
        fd = self._beneath.open_file(path, os.O_RDWR)
        leased = kernel.take_lease(fd, write=True) if self._protection.lease else None
        if leased:
            return Held(fd, Signature.of(os.fstat(fd)), leased=True)
        os.close(fd)
        if leased is False:
            raise HeldOpen(path)
        return None

    def _overwrite(self, held: Held, staged: Staged, data: bytes) -> Swapped:
        self._mark(staged, data)
        before = read_all(held.fd, held.signature.size)
        try:
            if len(data) > len(before):
                os.posix_fallocate(held.fd, 0, len(data))  # a full disk shows before a byte has changed
            half = len(data) // 2
            write_all(held.fd, data[:half])
            self._step("in_place.half")
            write_all(held.fd, data[half:], half)
            os.ftruncate(held.fd, len(data))
            self._step("in_place.written")
        except OSError:
            write_all(held.fd, before)
            os.ftruncate(held.fd, len(before))
            raise
        os.fsync(held.fd)
        self._step("in_place.synced")
        unlink(self._tmp, staged.name)
        seen = Signature.of(os.fstat(held.fd))
        staged.inode = (seen.dev, seen.ino)
        return Swapped(seen, self._reading.settles(seen), in_place=True)

    def _mark(self, staged: Staged, data: bytes) -> None:
        marked = staged.name.rpartition(".")[0] + "." + IN_PLACE
        if staged.name != marked:
            try:
                os.rename(staged.name, marked, src_dir_fd=self._tmp, dst_dir_fd=self._tmp)
            except FileNotFoundError as error:
                raise temporary_removed(staged.write.path) from error
            staged.name = marked
        else:  # a write is taken back, and its temporary file has gone
            fd = os.open(marked, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=self._tmp)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
        os.fsync(self._tmp)
        self._step("in_place.marked")
