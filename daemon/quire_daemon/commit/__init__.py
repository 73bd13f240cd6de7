"""Commit: events on their way into the log: the recorder, in-flight writes, and what happens when a commit fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.commit.disk_space import Reserve as Reserve
    from quire_daemon.commit.failures import FailurePolicy as FailurePolicy
    from quire_daemon.commit.flush_timer import FlushTimer as FlushTimer
    from quire_daemon.commit.inflight import InFlight as InFlight, InFlightWrite as InFlightWrite
    from quire_daemon.commit.provisional_seqs import ProvisionalSeqs as ProvisionalSeqs
    from quire_daemon.commit.record_chunks import RecordChunks as RecordChunks
    from quire_daemon.commit.recorder import Recorder as Recorder
else:
    __getattr__ = face(
        __name__,
        disk_space="Reserve",
        failures="FailurePolicy",
        flush_timer="FlushTimer",
        inflight="InFlight InFlightWrite",
        provisional_seqs="ProvisionalSeqs",
        record_chunks="RecordChunks",
        recorder="Recorder",
    )
