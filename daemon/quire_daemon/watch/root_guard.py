"""Check that checkout and state folder are still those that the daemon opened; else the daemon ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from quire_daemon.commit import FailurePolicy, Recorder
from quire_daemon.ops import Log
from quire_daemon.watch.watcher import Watcher
from quire_daemon.workspace import Workspace
from quire_journal.model import Refusal, WatchLost


class RootGuard:
    def __init__(
        self,
        state_dir: Path,
        workspace: Workspace,
        watcher: Watcher,
        recorder: Recorder,
        failures: FailurePolicy,
        log: Log,
        stop: Callable[[], None],
        stopping: Callable[[], bool],
    ) -> None:
        self._state_dir, self._workspace, self._watcher, self._recorder = state_dir, workspace, watcher, recorder
        self._failures, self._log, self._stop, self._stopping = failures, log, stop, stopping
        self._lock = _file_id(state_dir / "lock")

    def check_root(self) -> None:
        """End the daemon if the workspace's folder was replaced, or a read-only workspace became writable."""
        if self._watcher.health().root_replaced or not self._workspace.stands():
            self._end_for_lost_root()
        elif self._workspace.mended():
            self._log.info("checkout_writable")
            self._stop()  # the next daemon finds its protections and finishes what was left

    def require_root(self) -> None:
        """Raise `Refusal` if the folder or its `.quire` was moved away."""
        try:
            stands = self._workspace.stands()
        except OSError as error:
            message = (
                f"The workspace's folder could not be looked at: {error.strerror}. Nothing was written; try again."
            )
            raise Refusal("busy", message, "retry", retry_after_ms=500) from error
        if not stands:
            self._end_for_lost_root()
            message = (
                "The workspace's folder, or .quire in it, was replaced; this daemon ends, call again for a new one."
            )
            raise Refusal("busy", message, "retry", retry_after_ms=500)

    def _end_for_lost_root(self) -> None:
        if not self._stopping():
            self._log.warning("root_replaced", root=os.fspath(self._workspace.root))
            self._recorder.note(WatchLost("root_replaced"))
            self._stop()

    def check_state(self) -> None:
        """End the daemon if the state folder was removed or replaced, as no client finds the daemon then. Nothing is
        written to a new folder.
        """
        if self._stopping() or _file_id(self._state_dir / "lock") == self._lock:  # raises if that is unknown
            return
        self._failures.sound = False
        self._log.warning("state_folder_gone", state_dir=os.fspath(self._state_dir))
        # The log has probably gone with its folder; systemd keeps stderr.
        print(f"quired: the state folder {self._state_dir} was removed or replaced; this daemon ends.", file=sys.stderr)
        self._stop()


def _file_id(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino
