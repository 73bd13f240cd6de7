"""The typed calls of `api.Client`, by what they are about; what all their replies share is said in `api`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.calls.base import (
        TIMEOUT_S as TIMEOUT_S,
        Answer as Answer,
        Line as Line,
        Opens as Opens,
        waits_s as waits_s,
    )
    from quire_client.calls.edits import Edits as Edits, WriteArguments as WriteArguments
    from quire_client.calls.leases import Leases as Leases
    from quire_client.calls.maintenance import Maintenance as Maintenance
    from quire_client.calls.queries import Queries as Queries
    from quire_client.calls.undo import Choice as Choice, UndoCalls as UndoCalls
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
