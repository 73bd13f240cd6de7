"""Together: present callers, and leases."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.commands.together import claim as claim, who as who
else:
    __getattr__ = face(
        __name__,
    )
