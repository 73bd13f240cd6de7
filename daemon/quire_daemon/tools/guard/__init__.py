"""Guard: predicts which work in the working tree a command line would discard. Pure."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools.guard.tool import GUARD_TOOL as GUARD_TOOL
else:
    __getattr__ = face(__name__, tool="GUARD_TOOL")
