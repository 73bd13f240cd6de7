"""Config: settings, the files they come from, globs, and errors in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.config import globs as globs
    from quire_daemon.config.errors import BadSettings as BadSettings
    from quire_daemon.config.files import SettingsFiles as SettingsFiles
    from quire_daemon.config.globs import is_glob as is_glob, linear as linear, matches as matches
    from quire_daemon.config.live import LiveSettings as LiveSettings
    from quire_daemon.config.settings import (
        WORKSPACE_FILE as WORKSPACE_FILE,
        EditDialect as EditDialect,
        Offerable as Offerable,
        Policy as Policy,
        Retention as Retention,
        Safety as Safety,
        Settings as Settings,
        policy_of as policy_of,
    )
else:
    __getattr__ = face(
        __name__,
        errors="BadSettings",
        files="SettingsFiles",
        globs="is_glob linear matches",
        live="LiveSettings",
        settings="EditDialect Offerable Policy Retention Safety Settings WORKSPACE_FILE policy_of",
    )
