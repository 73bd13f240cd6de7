"""Isolation: runs a command on a copy-on-write view of the checkout, and copies its changes into the checkout."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.isolation.overlay import *
    from quire_client.isolation.survivor import *
    from quire_client.isolation.transfer import *
else:
    __getattr__ = face(
        __name__,
        transfer="NotLanded Transfer",
        survivor="outliving",
        overlay="CannotIsolate CopyOnWriteView",
    )
