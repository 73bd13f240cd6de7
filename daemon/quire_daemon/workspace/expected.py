"""Comparison of the file at a path with the file that the decision saw."""

from __future__ import annotations

import os

from quire_daemon.core import FileNow
from quire_daemon.workspace import syscalls
from quire_daemon.workspace.confine import Beneath
from quire_daemon.workspace.read import FileReader, Held, read_all
from quire_daemon.workspace.stage import StagedWrite
from quire_daemon.workspace.types import Signature, SwapLost


class ExpectedFiles:
    """Opens and compares the file at a path before a write."""

    def __init__(self, beneath: Beneath, reading: FileReader) -> None:
        self._beneath = beneath
        self._reading = reading

    def hold(self, path: str, over: FileNow, staged: StagedWrite) -> Held | SwapLost:
        """The file at `path`, leased, if it is the one that the decision saw."""
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
    """True if `held` is the file that the decision saw. An uncaptured file (no `over.text`) is compared by inode and
    size.
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
