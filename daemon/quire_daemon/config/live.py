"""Settings of a running daemon, reloaded when a file changes."""

from __future__ import annotations

from quire_daemon.config.errors import BadSettings
from quire_daemon.config.files import SettingsFiles
from quire_daemon.config.settings import Settings, in_force


class LiveSettings:
    """The settings of the last valid read, in `now`; a reload replaces `now`."""

    def __init__(self, settings: Settings, files: SettingsFiles | None = None) -> None:
        self.now = settings
        self.wrong = ""  # why a changed file was rejected; "": accepted
        self.waiting: tuple[str, ...] = ()  # changes that need a restart
        self._begun_with, self._files = settings, files

    def may_change(self) -> bool:
        return self._files is not None and self._files.changed()

    def read_again(self) -> bool:
        """Read the settings files again; return True. If a file is invalid, keep the settings in force, put the reason
        into `wrong`, and return False.
        """
        if self._files is None:
            return True
        try:
            self.now, self.waiting = in_force(self._files.read(), self._begun_with)
        except BadSettings as error:
            self.wrong = str(error)
            return False
        self.wrong = ""
        return True
