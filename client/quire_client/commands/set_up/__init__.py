"""Set-up: the service, the shell's environment and completion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.commands.set_up.env import exports as exports, variables_for as variables_for
else:
    __getattr__ = face(
        __name__,
        env="exports variables_for",
    )
