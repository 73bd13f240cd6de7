"""Checks: find edits that break the syntax of a file."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.checks import safety as safety
    from quire_daemon.checks.safety import *
    from quire_daemon.checks.syntax import *
else:
    __getattr__ = face(
        __name__,
        safety="Grammars no_grammars",
        syntax="SyntaxChecker",
    )
