"""The settings that hold now: what the files said when they were read last and could be used."""

from __future__ import annotations

from quire_daemon.config.errors import BadSettings
from quire_daemon.config.files import SettingsFiles
from quire_daemon.config.settings import Settings, in_force


class LiveSettings:
    """The settings of a running daemon. Its parts ask for `now` each time, for they may have changed."""

    def __init__(self, settings: Settings, files: SettingsFiles | None = None) -> None:
        """Without `files` they stay as they are."""
        self.now = settings
        self.wrong = ""  # why a file that changed was not taken; "": it was
        self.waiting: tuple[str, ...] = ()  # what of it holds from the next start on
        self._begun_with, self._files = settings, files

    def may_change(self) -> bool:
        """Are the files not as they were when they were read last?"""
        return self._files is not None and self._files.changed()

    def read_again(self) -> bool:
        """Take what the files say; False where that cannot be used (`wrong` says why), and all stays as it is."""
        if self._files is None:
            return True
        try:
            self.now, self.waiting = in_force(self._files.read(), self._begun_with)
        except BadSettings as error:
            self.wrong = str(error)
            return False
        self.wrong = ""
        return True
