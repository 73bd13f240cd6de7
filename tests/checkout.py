"""What a decision needs to know about a file, gathered straight from a workspace: for tests without an app."""

from __future__ import annotations

from msgspec.structs import astuple

from quire_daemon.core.decision import FileNow, Move, Put, Remove
from quire_daemon.workspace.types import SwapDone, SwapLost
from quire_daemon.workspace.workspace import Workspace
from quire_journal.text.text import Text

LIMIT = 1 << 26


def file_now(workspace: Workspace, path: str) -> FileNow:
    """`path` as it is on disk. Raises what `Workspace.read` raises."""
    look = workspace.look(path)
    if look.kind != "file":
        return FileNow(path, look.kind, inode=look.signature.ino if look.signature else 0)
    image = workspace.read(path, LIMIT)
    seen = image.signature
    text = Text.of(image.data)
    proof = astuple(seen) if image.settled else ()
    size = len(image.data)
    return FileNow(path, "file", text, mode=seen.mode & 0o7777, inode=seen.ino, size=size, proof=proof)


def put(
    workspace: Workspace, path: str, data: bytes, seq: int = 1, over: FileNow | None = None, withheld: bool = False
) -> Put:
    """A decision to write `data` over what is there now, or over `over`; a new file gets 0644."""
    over = over or file_now(workspace, path)
    return Put(seq, path, data, over.mode, over, withheld=withheld)


def do(workspace: Workspace, write: Put | Remove | Move, pinned: bool = False) -> SwapDone | SwapLost:
    """Stage and perform."""
    return workspace.perform(workspace.stage(write), pinned=pinned)
