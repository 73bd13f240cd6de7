"""Commands that connect agents: setup, unsetup, hook, mcp, manual."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.commands.agents.setup import *
else:
    __getattr__ = face(
        __name__,
        setup="entry_point",
    )
