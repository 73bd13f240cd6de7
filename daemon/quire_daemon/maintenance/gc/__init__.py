"""Garbage collection: finds versions that no retention rule keeps, and deletes their contents."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.maintenance.gc.collector import *
else:
    __getattr__ = face(
        __name__,
        collector="CollectionOrder Collector",
    )
