"""Reads and writes for `recovery` and `power_loss`. Paths are as in the log."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import msgspec

from quire_daemon.commit import Recorder
from quire_daemon.config import Policy
from quire_daemon.core import Clear, FileNow, Write, names
from quire_daemon.engine import Withheld, note_theirs, nothing_is_withheld, on_disk
from quire_daemon.ops import Log
from quire_daemon.watch import MOST_LISTED, all_in
from quire_daemon.workspace import FileBusy, FileVanished, Image, NotRegular, SwapLost, TooLarge, Workspace
from quire_journal.history import History
from quire_journal.model import LINK, Refusal, blob_id, disk_path, journal_path
from quire_journal.text import Text
from quire_journal.views import Version, standing


class RecoveryContext(msgspec.Struct, frozen=True):
    """Journal and workspace as a start uses them. Files over `limit` bytes are not read."""

    recorder: Recorder
    workspace: Workspace
    log: Log
    limit: int
    withheld: Withheld = nothing_is_withheld

    def is_free(self, path: str) -> bool:
        return self.workspace.look(disk_path(path)).kind == "missing"

    def read(self, path: str, *, unfinished_ok: bool = False) -> Image | None:
        try:
            return self.workspace.read(disk_path(path), self.limit, unfinished_ok=unfinished_ok)
        except (FileVanished, NotRegular, TooLarge, FileBusy):
            return None

    def base_there(self, path: str, base: int, inode: int, history: History) -> FileNow | None:
        """Return the state of `path` if it is still version `base` in this inode (0: any), or is missing and `base` is
        no file; else None.
        """
        look = self.workspace.look(disk_path(path))
        version = standing(history.version(path, base)) if base else None
        if look.kind == "missing":
            return FileNow(path, "missing") if version is None else None
        if look.kind != "file" or look.signature is None or version is None:
            return None
        if inode and look.signature.ino != inode:
            return None  # equal bytes in another inode: written by another program after us
        image = self.read(path, unfinished_ok=True)
        if image is None or blob_id(image.data) != version.blob:
            return None
        return as_read(path, image, version)

    def link_there(self, path: str, base: int, inode: int, history: History) -> FileNow | None:
        """Return the link at `path` if it is still version `base` in this inode (0: any); else None."""
        look = self.workspace.look(disk_path(path))
        version = standing(history.version(path, base)) if base else None
        if look.signature is None or look.kind != "link" or version is None or version.entry != LINK:
            return None
        if inode not in (0, look.signature.ino):
            return None
        with contextlib.suppress(FileVanished, NotRegular):
            if blob_id(self.workspace.read_link(disk_path(path))) == version.blob:
                return FileNow(path, "link", version=version, inode=look.signature.ino)
        return None

    def make_room(self, path: str, seq: int) -> bool:
        """Remove the folder at `path`, which record `seq` replaces; return False if it holds anything but folders."""
        inside, cut = all_in(self.workspace.root, disk_path(path), MOST_LISTED)
        if cut or not all(name.endswith("/") for name in inside):
            return False
        folders = [*(journal_path(name[:-1]) for name in inside), path]
        return all(self.perform(Clear(seq, folder, FileNow(folder, "folder"))) for folder in folders)

    def perform(self, step: Write) -> bool:
        """Perform a logged write; return False if it is refused or another program's file is there."""
        try:
            for path in names(step):  # an imported journal may hold writes that no tool would be allowed
                self.workspace.place(disk_path(path), writing=True, policy=Policy(), followed=False)
            staged = self.workspace.stage(on_disk(step))
            result = self.workspace.perform(staged)
        except (Refusal, FileBusy):
            return False
        if isinstance(result, SwapLost):
            noted = []
            for kept in result.kept:
                # a secret that finds no place in quarantine stays for the next start
                with contextlib.suppress(OSError, Refusal):
                    note_theirs(self.recorder, self.workspace, step.path, kept, "swap", self.withheld)
                    noted.append(kept)
            self.recorder.commit()
            self.workspace.discard(noted)
            return False
        return True

    def write_down(self, paths: Sequence[str]) -> None:
        """Sync the folders of these paths as far as possible, because at another power cut their records may be too old
        for `power_loss`.
        """
        for path in {path.rpartition("/")[0]: path for path in paths}.values():
            with contextlib.suppress(OSError):
                self.workspace.sync_folder(disk_path(path))


def as_read(path: str, image: Image, version: Version | None = None) -> FileNow:
    s = image.signature
    text = Text.of(image.data)
    return FileNow(path, "file", text, version, s.mode & 0o7777, s.ino, len(image.data))
