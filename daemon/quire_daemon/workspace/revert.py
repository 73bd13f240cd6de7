"""Revert of performed writes when another write of the same request failed.

Another program's file at the path stays.
"""

from __future__ import annotations

from quire_daemon.core import FileNow, Make, Move, Put
from quire_daemon.workspace import syscalls
from quire_daemon.workspace.confine import refusal
from quire_daemon.workspace.context import WriteContext
from quire_daemon.workspace.entries import make, unmake
from quire_daemon.workspace.exchange import Exchanger
from quire_daemon.workspace.mkdirs import NewFolders
from quire_daemon.workspace.read import Held, read_all
from quire_daemon.workspace.stage import StagedWrite
from quire_daemon.workspace.types import FileVanished, InDoubt, NotRegular, SwapDone, SwapLost
from quire_journal.model import FOLDER


class Reverter:
    """Reverts performed writes. Only for the main loop's thread."""

    def __init__(self, means: WriteContext, parts: tuple[Exchanger, NewFolders]) -> None:
        self._beneath, self._reading, self._tmp, _, self._displaced_files, self._step = means
        self._trading, self._folders = parts

    def revert(self, staged: StagedWrite) -> SwapDone | SwapLost:
        """Undo a performed, pinned write if its result is still at the path, else return `SwapLost`. Raises as
        `Swapper.perform`.
        """
        ways = {
            "create": self._uncreate,
            "swap": self._unswap,
            "remove": self._unremove,
            "move": self._unmove,
            "make": self._unmake,
            "clear": self._unclear,
        }
        try:
            result = ways[staged.how](staged)
        except FileVanished:
            return SwapLost("missing")
        except NotRegular:
            return SwapLost("not_a_file")
        except InDoubt:
            raise
        except OSError as error:
            raise refusal(error, staged.write.path) from error
        if isinstance(result, SwapDone):
            staged.performed = False
            self._folders.remove(staged)
        return result

    def _ours(self, staged: StagedWrite, path: str) -> Held | SwapLost:
        write = staged.write
        held = self._reading.hold(path)
        if isinstance(write, Put):
            inode = staged.inode
            data: bytes | None = write.data
        else:
            inode = (held.signature.dev, write.over.inode or held.signature.ino)
            data = write.over.data
        same = (held.signature.dev, held.signature.ino) == inode
        if same and (data is None or read_all(held.fd, held.signature.size) == data) and held.stands():
            self._step("revert.base_held")
            return held
        held.drop()
        return SwapLost("changed")

    def _unswap(self, staged: StagedWrite) -> SwapDone | SwapLost:
        write = staged.write
        assert isinstance(write, Put)
        item = self._displaced_files.find(staged.name)
        if item is None:
            return SwapLost("changed")  # not pinned, and already released
        ours = self._ours(staged, write.path)
        if isinstance(ours, SwapLost):
            return ours
        try:
            before = item.held, item.expected
            result = self._trading.exchange(write.path, staged.name, (ours, write.data), before, False)
        finally:
            ours.drop()
        if isinstance(result, SwapDone):
            self._displaced_files.release(item)
        return result

    def _uncreate(self, staged: StagedWrite) -> SwapDone | SwapLost:
        write = staged.write
        assert isinstance(write, Put)
        ours = self._ours(staged, write.path)
        if isinstance(ours, SwapLost):
            return ours
        try:
            return self._trading.take_out(write.path, staged.name, ours, write.data, False)
        finally:
            ours.drop()

    def _unremove(self, staged: StagedWrite) -> SwapDone | SwapLost:
        item = self._displaced_files.find(staged.name)
        if item is None:
            return SwapLost("changed")
        with self._beneath.parent(staged.write.path) as (folder, name):
            try:
                syscalls.rename_new(self._tmp, staged.name, folder, name)
            except FileExistsError:
                return SwapLost("exists")
        self._displaced_files.release(item)
        return SwapDone(item.held.signature)

    def _unmove(self, staged: StagedWrite) -> SwapDone | SwapLost:
        write = staged.write
        assert isinstance(write, Move)
        ours = self._ours(staged, write.to)
        if isinstance(ours, SwapLost):
            return ours
        try:
            return self._trading.rename(write.to, write.path, staged.name, ours, write.over.data)
        finally:
            ours.drop()

    def _unmake(self, staged: StagedWrite) -> SwapDone | SwapLost:
        write = staged.write
        assert isinstance(write, Make)
        return unmake(self._beneath, write)

    def _unclear(self, staged: StagedWrite) -> SwapDone | SwapLost:
        write = staged.write
        again = Make(write.seq, write.path, FOLDER, b"", staged.mode, FileNow(write.path, "missing"))
        return make(self._beneath, again, self._step)
