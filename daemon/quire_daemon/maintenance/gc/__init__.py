"""Garbage collection: deletes the contents of versions that no retention rule keeps."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.maintenance.gc.collector import *
else:
    __getattr__ = face(
        __name__,
        collector="CollectionOrder Collector",
    )
