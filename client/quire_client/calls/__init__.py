"""The methods of `quire_client.api.Client`, by topic. `quire_client.api` describes what all replies share."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.calls.base import *
    from quire_client.calls.edits import *
    from quire_client.calls.leases import *
    from quire_client.calls.maintenance import *
    from quire_client.calls.queries import *
    from quire_client.calls.undo import *
else:
    __getattr__ = face(
        __name__,
        base="Answer Line Opens TIMEOUT_S waits_s",
        edits="Edits WriteArguments",
        leases="Leases",
        maintenance="Maintenance",
        queries="Queries",
        undo="Choice UndoCalls",
    )
