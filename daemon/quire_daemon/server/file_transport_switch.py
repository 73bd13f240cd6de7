"""Switch of the file transport (requests and replies as files), driven by the setting `spool.enabled`."""

from __future__ import annotations

from pathlib import Path

from quire_daemon.clock import Clock
from quire_daemon.config import LiveSettings
from quire_daemon.ops import Log
from quire_daemon.server.file_transport import Spool
from quire_daemon.server.socket import Server
from quire_daemon.watch import Watcher
from quire_journal.model import SPOOL_FOLDER


class SpoolSwitch:
    def __init__(
        self, root: Path, server: Server, watcher: Watcher, in_force: LiveSettings, clock: Clock, log: Log
    ) -> None:
        self._root, self._server, self._watcher = root, server, watcher
        self._in_force, self._clock, self._log = in_force, clock, log
        self._none = ""  # why it could not be opened

    def follow(self) -> None:
        spool, wanted = self._server.spool, self._in_force.now.spool.enabled
        if spool is not None and wanted and spool.stands():
            if spool.look():
                self._server.wake()
            return
        if spool is not None:
            self._server.spool = None
            spool.close()
        if wanted:
            self._open()

    def _open(self) -> None:
        try:
            spool = self._server.spool = Spool(self._root, self._server.epoch, self._clock.now_ns)
        except OSError as error:
            if str(error) != self._none:  # tried again each second
                self._none = str(error)
                self._log.warning("no_spool", error=str(error))
            return
        self._none = ""
        self._watcher.tell("/".join(SPOOL_FOLDER), ".request", spool.ring)
