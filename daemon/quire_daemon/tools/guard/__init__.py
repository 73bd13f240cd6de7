"""The guard: what a command line would take from the working tree. Pure."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools.guard.tool import GUARD_TOOL as GUARD_TOOL
else:
    __getattr__ = face(__name__, tool="GUARD_TOOL")
