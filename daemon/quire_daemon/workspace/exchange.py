"""System calls that swap, remove and rename files, each undone if it met another program's file.

`swap` has the theory of operation.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from quire_daemon.workspace import syscalls
from quire_daemon.workspace.confine import temporary_removed
from quire_daemon.workspace.context import WriteContext
from quire_daemon.workspace.displaced import DisplacedFile, unlink
from quire_daemon.workspace.read import Held, read_all
from quire_daemon.workspace.types import DisplacedBytes, InDoubt, Signature, SwapDone, SwapLost

_HOPS: Final = 100
"""Maximum number of consecutive conflicting writers that are put back."""


class Exchanger:
    """Swaps, removes and renames files. `pinned` as in `Workspace.perform`. Raises OSError (nothing changed), InDoubt,
    and as `Beneath.parent`. Only for the main loop's thread.
    """

    def __init__(self, means: WriteContext) -> None:
        self._beneath, self._reading, self._tmp, self._protection, self._displaced_files, self._step = means

    def exchange(
        self,
        path: str,
        tmp_name: str,
        base: tuple[Held, bytes | None],
        new: tuple[Held, bytes | None],
        pinned: bool,
    ) -> SwapDone | SwapLost:
        """Exchange the file at `path` for `new`, named `tmp_name` in `.quire/tmp`. If the old file is not `base`, put
        it back and return `SwapLost`. Both are given with their bytes.
        """
        planned, before = base
        with self._beneath.parent(path) as (folder, name):
            try:
                if not self._trade(folder, name, tmp_name, planned):
                    return SwapLost("changed")
            except FileNotFoundError:
                return SwapLost("missing")
            fault: OSError | None = None
            try:
                self._step("perform.exchanged")
                came = self._in_tmp(tmp_name)
                same = came.same_inode(planned.signature) and self._still(planned, before)
                if same:
                    self._step("perform.verified")
                    self._follow_chmod(planned.signature, came, new[0])
            except OSError as error:
                fault, same = error, False
            if not same:
                return self._undone(fault, lambda: self._put_back((folder, name, path), tmp_name, planned, new))
        others = came.nlink > 1
        self._displaced_files.add(DisplacedFile(path, tmp_name, planned.hand_over(), before, pinned=pinned), came.nlink)
        done = self.done(new[0])
        return SwapDone(done.signature, done.settled, hard_link_broken=others)

    def _undone(self, fault: OSError | None, undo: Callable[[], SwapLost]) -> SwapLost:
        """Run `undo` and return its result. Raises `fault`, if there is one, unless `undo` left another program's bytes
        in `.quire/tmp`; InDoubt if `undo` fails.
        """
        try:
            lost = undo()
        except OSError as error:
            raise InDoubt(*(fault or error).args) from error
        if fault is not None and not lost.kept:
            raise fault
        return lost

    def take_out(self, path: str, tmp_name: str, base: Held, before: bytes | None, pinned: bool) -> SwapDone | SwapLost:
        """Rename the file at `path` to `tmp_name`. If it is not `base` with the bytes `before`, put it back:
        `SwapLost`.
        """
        with self._beneath.parent(path) as (folder, name):
            try:
                syscalls.rename_new(folder, name, self._tmp, tmp_name)
            except FileNotFoundError as error:
                if self._stat_at(folder, name) is not None:  # so `.quire/tmp` is missing
                    raise temporary_removed(path) from error
                return SwapLost("missing")
            fault: OSError | None = None
            try:
                self._step("perform.removed")
                came = self._in_tmp(tmp_name)
                same = came.same_inode(base.signature) and self._still(base, before)
            except OSError as error:
                fault, same = error, False
            if not same:
                return self._undone(fault, lambda: self._bring_back(folder, name, tmp_name, path))
            self._displaced_files.add(
                DisplacedFile(path, tmp_name, base.hand_over(), before, pinned=pinned), came.nlink
            )
            return SwapDone(None)

    def rename(self, path: str, to: str, tmp_name: str, base: Held, before: bytes | None) -> SwapDone | SwapLost:
        """Rename `path` to `to`. If the file is not `base`, move it back: `SwapLost`."""
        with self._beneath.parent(path) as (folder, name), self._beneath.parent(to) as (to_folder, to_name):
            try:
                syscalls.rename_new(folder, name, to_folder, to_name)
            except FileExistsError:
                return SwapLost("exists")
            except FileNotFoundError:
                return SwapLost("missing")
            fault: OSError | None = None
            try:
                self._step("perform.moved")
                moved = self._stat_at(to_folder, to_name)
                if moved is not None and moved.same_inode(base.signature) and self._still(base, before):
                    return self.done(base)
            except OSError as error:
                fault = error
            where, back = (folder, name, path), (to_folder, to_name, to)
            return self._undone(fault, lambda: self._move_back(where, back, tmp_name))

    def _move_back(self, where: tuple[int, str, str], to: tuple[int, str, str], tmp_name: str) -> SwapLost:
        moved = self._stat_at(*to[:2])
        self._step("perform.conflict")
        try:
            syscalls.rename_new(*to[:2], self._tmp, tmp_name)
        except FileNotFoundError:  # another program removed it
            return SwapLost("changed")
        # another program's file came from `to`, and goes back there
        if moved is None or not self._in_tmp(tmp_name).same_inode(moved):
            where = to
        folder, name, path = where
        return self._give_back(folder, name, tmp_name, path)

    def hold_temporary(self, name: str) -> Held:
        """Open our temporary file under a read lease: a program that opens its path waits until the swap is
        verified.
        """
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._tmp)
        leased = syscalls.take_lease(fd) if self._protection.lease else None
        return Held(fd, Signature.of(os.fstat(fd)), leased is True)

    def in_tmp(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(name, dir_fd=self._tmp, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def done(self, new: Held) -> SwapDone:
        """Return the result of a successful swap; a stat error leaves the signature unsettled."""
        try:
            signature = new.refresh()
            settled = new.leased and self._reading.settles(signature) and new.stands()
        except OSError:
            return SwapDone(new.signature)
        return SwapDone(signature, settled)

    def _trade(self, folder: int, name: str, tmp_name: str, planned: Held | None) -> bool:
        """Swap the file at `name` in `folder` with the temporary file; return True.

        Without RENAME_EXCHANGE: return False if the file is not `planned` (None: any file). A save between that check
        and the rename is lost, and `InDoubt` is raised if only the first of two renames succeeds.
        """
        if self._protection.exchange:
            syscalls.rename_flags(folder, name, self._tmp, tmp_name, syscalls.EXCHANGE)
            return True
        backup = tmp_name + ".backup"
        os.link(name, backup, src_dir_fd=folder, dst_dir_fd=self._tmp, follow_symlinks=False)
        os.fsync(self._tmp)  # without it, a crash after the rename could leave neither name
        seen = Signature.of(os.stat(backup, dir_fd=self._tmp, follow_symlinks=False))
        if planned is not None and not (seen.same_inode(planned.signature) and planned.stands()):
            unlink(self._tmp, backup)
            return False
        os.rename(tmp_name, name, src_dir_fd=self._tmp, dst_dir_fd=folder)
        try:
            os.rename(backup, tmp_name, src_dir_fd=self._tmp, dst_dir_fd=self._tmp)
        except OSError as error:
            raise InDoubt(*error.args) from error
        return True

    def _put_back(
        self,
        where: tuple[int, str, str],
        tmp_name: str,
        planned: Held,
        new: tuple[Held, bytes | None],
    ) -> SwapLost:
        came, placed = self._in_tmp(tmp_name), new[0].signature
        with ExitStack() as held:
            for _ in range(_HOPS):
                self._step("perform.conflict")
                # Keeps the inode number from reuse by the next save while it is compared.
                held.callback(os.close, self._open_in_tmp(tmp_name))
                try:
                    self._trade(where[0], where[1], tmp_name, None)
                except FileNotFoundError:
                    # Another program deleted the path after the exchange: keep the deletion, and the bytes.
                    return SwapLost("missing", self._keep(tmp_name, where[2]))
                planned.drop()  # a writer that waits for the base can open it at its path again
                now = self._in_tmp(tmp_name)
                if now.same_inode(placed):
                    break
                came, placed = now, came
            self._step("perform.put_back")
            return SwapLost("changed", self._after_putting_back(where[2], tmp_name, placed, new))

    def _after_putting_back(
        self, path: str, tmp_name: str, last: Signature, new: tuple[Held, bytes | None]
    ) -> tuple[DisplacedBytes, ...]:
        if not last.same_inode(new[0].signature):
            return self._keep(tmp_name, path)
        if self._displaced_files.find(tmp_name) is None:  # a revert's file is already watched
            self._displaced_files.add(DisplacedFile(path, tmp_name, new[0].hand_over(), new[1]))
        return ()

    def _bring_back(self, folder: int, name: str, tmp_name: str, path: str) -> SwapLost:
        self._step("perform.conflict")
        return self._give_back(folder, name, tmp_name, path)

    def _give_back(self, folder: int, name: str, tmp_name: str, path: str) -> SwapLost:
        try:
            syscalls.rename_new(self._tmp, tmp_name, folder, name)
        except (FileExistsError, FileNotFoundError):  # a newer file is there, or the folder is gone
            return SwapLost("changed", self._keep(tmp_name, path))
        self._step("perform.put_back")
        return SwapLost("changed")

    def _follow_chmod(self, planned: Signature, came: Signature, new: Held) -> None:
        if stat.S_IMODE(came.mode) != stat.S_IMODE(planned.mode):
            os.fchmod(new.fd, stat.S_IMODE(came.mode))

    def _still(self, held: Held, before: bytes | None) -> bool:
        if not held.stands():
            return False
        if held.leased or before is None or held.signature.kind != "file":
            return True
        return read_all(held.fd, held.signature.size) == before

    def _keep(self, tmp_name: str, path: str) -> tuple[DisplacedBytes, ...]:
        """Return the bytes of another program's file in `.quire/tmp`; () if it is being written, and a later sweep
        reports it.
        """
        seen = os.stat(tmp_name, dir_fd=self._tmp, follow_symlinks=False)
        if not stat.S_ISREG(seen.st_mode):
            return (DisplacedBytes(tmp_name, path, b""),)
        held = self.hold_temporary(tmp_name)
        if held.signature.size > self._displaced_files.most_bytes:
            held.drop()
            return (DisplacedBytes(tmp_name, path, b"", large=held.signature.size),)
        data = read_all(held.fd, held.signature.size)
        if self._protection.lease and not (held.leased and held.stands()):
            self._displaced_files.add(DisplacedFile(path, tmp_name, held, None, owned=False, broken=True))
            return ()
        self._displaced_files.add(DisplacedFile(path, tmp_name, held, data, owned=False))
        return (DisplacedBytes(tmp_name, path, data),)

    def _in_tmp(self, name: str) -> Signature:
        return Signature.of(os.stat(name, dir_fd=self._tmp, follow_symlinks=False))

    def _open_in_tmp(self, name: str) -> int:
        return os.open(name, syscalls.O_PATH | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._tmp)

    def _stat_at(self, folder: int, name: str) -> Signature | None:
        try:
            return Signature.of(os.stat(name, dir_fd=folder, follow_symlinks=False))
        except FileNotFoundError:
            return None
