"""A journal and a checkout as a daemon left them that was killed, and what the next one makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from clocks import SetClock

from quire_daemon.commit.recorder import Recorder
from quire_daemon.ops.daemon_log import Log
from quire_daemon.startup.recovery import recover
from quire_daemon.startup.recovery_context import RecoveryContext
from quire_daemon.workspace.workspace import Workspace
from quire_journal.journal import Journal
from quire_journal.model.events import FileDeleted, FileMoved, FileWritten, OutsideWritten
from quire_journal.model.ids import WriterId, blob_id
from quire_journal.storage.memory import MemoryStore

LIMIT = 1 << 20
BASE, NEW, THEIRS = b"base\n", b"new\n", b"theirs\n"


def withheld(path: str, data: bytes) -> str:
    """As the settings have it that call `.env` a secret."""
    return "secret" if path == ".env" else "holds_secret" if b"AKIA" in data else ""


@dataclass
class Scene:
    """A checkout with one file whose base is in the journal."""

    root: Path
    workspace: Workspace
    recorder: Recorder
    base_seq: int

    def promise(self, event: FileWritten | FileDeleted | FileMoved, data: bytes = b"") -> int:
        """The log promises a write that nobody has performed; its seq."""
        if data:
            self.recorder.note_blob(data, event.path)
        seq = self.recorder.note(event, WriterId(1))
        self.recorder.commit()
        return seq

    def left(self, ending: str = "") -> Path:
        """Where a kill leaves a temporary file of the write that was promised last."""
        return self.root / f".quire/tmp/{self.recorder.journal.head}.dead.0{ending}"

    def recover(self) -> int:
        return recover(RecoveryContext(self.recorder, self.workspace, Log(), LIMIT, withheld))

    def unsettled(self) -> list[int]:
        with self.recorder.history() as history:
            return list(history.unsettled())

    @property
    def inode(self) -> int:
        return (self.root / "f.txt").stat().st_ino


@contextmanager
def begun(root: Path) -> Iterator[Scene]:
    """The scene in this folder."""
    (root / "f.txt").write_bytes(BASE)
    workspace = Workspace(root)
    clock = SetClock()
    recorder = Recorder(Journal.open(MemoryStore(), clock.now_ns()), clock)
    recorder.note_blob(BASE, "f.txt")
    seq = recorder.note(OutsideWritten("f.txt", blob_id(BASE), len(BASE), 0o644, "captured"))
    recorder.commit()
    yield Scene(root, workspace, recorder, seq)
    workspace.close()


def written(scene: Scene, path: str = "f.txt") -> FileWritten:
    """The edit of a file with the base at which the scene begins."""
    return FileWritten(path, blob_id(NEW), len(NEW), 0o644, scene.base_seq, inode=scene.inode)
