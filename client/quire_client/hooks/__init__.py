"""Hooks: answers to the events that coding agents report about their tool calls, after a call to the daemon."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.hooks.dispatch import *
    from quire_client.hooks.relay import *
    from quire_client.hooks.resident import *
    from quire_client.hooks.shell import *
    from quire_client.hooks.table import *
else:
    __getattr__ = face(
        __name__,
        dispatch="GREETING",
        relay="Connected PATIENCE_S Surroundings answered",
        resident="Answerer serving",
        shell="TOLD exports variables_for",
        table="AGENTS agent",
    )
