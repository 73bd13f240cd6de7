"""Garbage collection: marks versions that no rule keeps, and drops their bytes."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.maintenance.gc.collector import *
else:
    __getattr__ = face(
        __name__,
        collector="CollectionOrder Collector",
    )
