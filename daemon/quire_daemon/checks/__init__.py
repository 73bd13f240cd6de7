"""Checks: whether an edit leaves a file with the syntax that it had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.checks import safety as safety
    from quire_daemon.checks.safety import Grammars as Grammars, no_grammars as no_grammars
    from quire_daemon.checks.syntax import SyntaxChecker as SyntaxChecker
else:
    __getattr__ = face(
        __name__,
        safety="Grammars no_grammars",
        syntax="SyntaxChecker",
    )
