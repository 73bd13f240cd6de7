"""Config: the settings files, and glob patterns."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.config import globs as globs
    from quire_daemon.config.errors import *
    from quire_daemon.config.files import *
    from quire_daemon.config.globs import *
    from quire_daemon.config.live import *
    from quire_daemon.config.settings import *
else:
    __getattr__ = face(
        __name__,
        errors="BadSettings",
        files="SettingsFiles",
        globs="is_glob linear matches",
        live="LiveSettings",
        settings="EditDialect Policy Retention Safety Settings WORKSPACE_FILE policy_of",
    )
