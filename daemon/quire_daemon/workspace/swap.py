"""Compare-and-swap on a path: the overwritten file is exactly the planned one, or the exchange is undone.

The kernel exchanges path and temporary file in one step, so nothing is overwritten; the old file is then compared in
`.quire/tmp`. The swap is valid if that file is the base: the planned inode, under a lease unbroken since its bytes were
compared. Otherwise the other program's file is put back, and the file that comes out then must be the last one placed
here. Rejected: compare, then rename, which lost up to half of a busy program's saves.

The call is exchange(path, tmp): after (tmp, path) the last inotify event for the path is MOVED_FROM, which watchers
take for a deletion.

No step waits: a file open for writing raises FileBusy, and the staged write can be performed later. Readers never see a
torn, empty or missing file; after a lost race they see our version for some 10 us.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from quire_daemon.core import FileNow, Make, Move, Put
from quire_daemon.workspace import syscalls
from quire_daemon.workspace.confine import Beneath, refusal, temporary_removed
from quire_daemon.workspace.context import WriteContext
from quire_daemon.workspace.displaced import unlink
from quire_daemon.workspace.entries import clear, make
from quire_daemon.workspace.exchange import Exchanger
from quire_daemon.workspace.mkdirs import NewFolders
from quire_daemon.workspace.read import FileReader, Held, read_all
from quire_daemon.workspace.revert import Reverter
from quire_daemon.workspace.stage import StagedWrite, copy_identity
from quire_daemon.workspace.types import FileVanished, InDoubt, NotRegular, Signature, SwapDone, SwapLost
from quire_journal.model import Refusal


class ExpectedFiles:
    def __init__(self, beneath: Beneath, reading: FileReader) -> None:
        self._beneath = beneath
        self._reading = reading

    def hold(self, path: str, over: FileNow, staged: StagedWrite) -> Held | SwapLost:
        """Open and lease the file at `path` if it is the file that the decision saw; else return `SwapLost`. Raises
        FileBusy, FileVanished, NotRegular, Refusal, OSError.
        """
        if over.kind == "link":
            return self._hold_link(path, over)
        held = self._reading.hold(path)
        try:
            if is_base(held, over, staged):
                return held
        except BaseException:
            held.drop()
            raise
        held.drop()
        return SwapLost("changed")

    def _hold_link(self, path: str, over: FileNow) -> Held | SwapLost:
        try:
            fd = self._beneath.open(path, syscalls.O_PATH)
        except FileNotFoundError:
            return SwapLost("missing")
        held = Held(fd, Signature.of(os.fstat(fd)), leased=False)
        if held.signature.kind == "link" and over.inode in (0, held.signature.ino):
            return held
        held.drop()
        return SwapLost("changed")


def is_base(held: Held, over: FileNow, staged: StagedWrite) -> bool:
    """True if `held` is the file `over` that the decision saw. An uncaptured file (no `over.text`) is compared by inode
    and size.
    """
    if over.inode not in (0, held.signature.ino):
        return False
    if over.text is None:
        return held.signature.size == over.size
    if staged.proven and held.leased and held.signature == staged.base:
        return True
    if held.signature.size != len(over.text.data):
        return False
    return read_all(held.fd, held.signature.size) == over.text.data


STEPS: Final = (
    "stage.written",  # content, owner and mode are in the unnamed file
    "stage.synced",  # synced to disk
    "stage.named",  # named in .quire/tmp
    "perform.base_held",  # the base is leased and its bytes are compared
    "perform.folders_made",
    "perform.created",  # the new file is at its path
    "perform.made",  # the link or folder exists, the folder without its mode
    "perform.exchanged",  # path and temporary file are exchanged, nothing is checked yet
    "perform.verified",  # the displaced file is the base
    "perform.conflict",  # the displaced file is not the base; about to be put back
    "perform.put_back",  # the path has the other program's file
    "perform.removed",  # the file is in .quire/tmp, its path is empty
    "perform.moved",  # the file has its new path, nothing is checked yet
    "perform.cleared",  # the empty folder is gone
    "revert.base_held",  # our file at the path is leased and compared; the steps of a perform follow
    "discard.unlinked",
)
"""Fault points in the order of a write, for crash tests."""


class Swapper:
    """Performs staged writes. Only for the main loop's thread."""

    def __init__(self, means: WriteContext) -> None:
        self._beneath, reading, self._tmp, _, self._displaced_files, self._step = means
        self._bases = ExpectedFiles(means.beneath, reading)
        self._folders = NewFolders(means.beneath, means.step)
        self._trading = Exchanger(means)
        self._reverting = Reverter(means, (self._trading, self._folders))

    def perform(self, staged: StagedWrite, pinned: bool) -> SwapDone | SwapLost:
        """Perform a staged write; `SwapLost` if the path has changed. Raises FileBusy (try again, or `abandon`),
        Refusal or OSError (nothing changed), InDoubt.
        """
        result = self._guarded(staged, pinned)
        staged.performed = isinstance(result, SwapDone)
        if isinstance(result, SwapLost):
            if result.kept:  # the name in `.quire/tmp` now holds another program's bytes
                self._folders.remove(staged)
            else:
                self.abandon(staged)
        return result

    def revert(self, staged: StagedWrite) -> SwapDone | SwapLost:
        """Undo a performed, pinned write if its result is still at the path, else return `SwapLost`. Raises as
        `perform`.
        """
        return self._reverting.revert(staged)

    def abandon(self, staged: StagedWrite) -> None:
        """Discard a write that was not performed: remove its temporary file, now or at the next start."""
        if staged.performed:
            return
        with suppress(OSError):
            seen = self._trading.in_tmp(staged.name)
            if seen is not None and seen.st_ino and (seen.st_dev, seen.st_ino) == staged.inode:
                item = self._displaced_files.find(staged.name)
                if item is None:  # else the file was at the path for an instant, and is watched
                    unlink(self._tmp, staged.name)
        self._folders.remove(staged)

    def _guarded(self, staged: StagedWrite, pinned: bool) -> SwapDone | SwapLost:
        try:
            return _WAYS[staged.how](self, staged, pinned)
        except FileVanished:
            return SwapLost("missing")
        except NotRegular:
            return SwapLost("not_a_file")
        except Refusal:
            self.abandon(staged)
            raise
        except InDoubt:
            raise
        except OSError as error:
            self.abandon(staged)
            write = staged.write
            raise refusal(error, write.path, write.to if isinstance(write, Move) else "") from error

    def _swap(self, staged: StagedWrite, pinned: bool) -> SwapDone | SwapLost:
        write = staged.write
        assert isinstance(write, Put)
        base = self._bases.hold(write.path, write.over, staged)
        if isinstance(base, SwapLost):
            return base
        new: Held | None = None
        try:
            new = self._hold_new(staged)
            if base.signature != staged.base:  # chmod or touch since the metadata was copied
                copy_identity(base.fd, base.signature, new.fd, write)
            self._step("perform.base_held")
            before = base, write.over.data
            return self._trading.exchange(write.path, staged.name, before, (new, write.data), pinned)
        finally:
            base.drop()
            if new is not None:
                new.drop()

    def _create(self, staged: StagedWrite, pinned: bool) -> SwapDone | SwapLost:
        del pinned  # a new file displaces nothing
        path = staged.write.path
        self._folders.make(path, staged)
        new = self._hold_new(staged)
        try:
            with self._beneath.parent(path) as (folder, name):
                try:
                    syscalls.rename_new(self._tmp, staged.name, folder, name)
                except FileExistsError:
                    return SwapLost("exists")
                except FileNotFoundError as error:
                    if self._trading.in_tmp(staged.name) is None:
                        raise temporary_removed(path) from error
                    return SwapLost("missing")  # the folder was removed
            with suppress(OSError):
                self._step("perform.created")
            return self._trading.done(new)
        finally:
            new.drop()

    def _remove(self, staged: StagedWrite, pinned: bool) -> SwapDone | SwapLost:
        write = staged.write
        base = self._bases.hold(write.path, write.over, staged)
        if isinstance(base, SwapLost):
            return base
        self._step("perform.base_held")
        try:
            return self._trading.take_out(write.path, staged.name, base, write.over.data, pinned)
        finally:
            base.drop()

    def _move(self, staged: StagedWrite, pinned: bool) -> SwapDone | SwapLost:
        del pinned
        write = staged.write
        assert isinstance(write, Move)
        base = self._bases.hold(write.path, write.over, staged)
        if isinstance(base, SwapLost):
            return base
        self._step("perform.base_held")
        try:
            self._folders.make(write.to, staged)
            return self._trading.rename(write.path, write.to, staged.name, base, write.over.data)
        finally:
            base.drop()

    def _make(self, staged: StagedWrite, pinned: bool) -> SwapDone | SwapLost:
        del pinned  # a new entry displaces nothing
        write = staged.write
        assert isinstance(write, Make)
        self._folders.make(write.path, staged)
        return make(self._beneath, write, self._step)

    def _clear(self, staged: StagedWrite, pinned: bool) -> SwapDone | SwapLost:
        del pinned  # a folder is not displaced
        mode = clear(self._beneath, staged.write.path)
        if isinstance(mode, SwapLost):
            return mode
        staged.mode = mode
        with suppress(OSError):
            self._step("perform.cleared")
        return SwapDone(None)

    def _hold_new(self, staged: StagedWrite) -> Held:
        path = staged.write.path
        try:
            held = self._trading.hold_temporary(staged.name)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO):
                raise temporary_removed(path) from error
            raise
        if (held.signature.dev, held.signature.ino) != staged.inode:
            held.drop()
            raise temporary_removed(path)
        return held

    def hold_temporary(self, name: str) -> Held:
        return self._trading.hold_temporary(name)


_WAYS: Final[dict[str, Callable[[Swapper, StagedWrite, bool], SwapDone | SwapLost]]] = {
    "create": Swapper._create,
    "swap": Swapper._swap,
    "remove": Swapper._remove,
    "move": Swapper._move,
    "make": Swapper._make,
    "clear": Swapper._clear,
}
