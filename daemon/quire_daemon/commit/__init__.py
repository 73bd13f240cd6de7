"""Commit: writes records to the journal, tracks writes until their files are on disk, handles failed commits."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.commit.disk_space import *
    from quire_daemon.commit.failures import *
    from quire_daemon.commit.flush_timer import *
    from quire_daemon.commit.inflight import *
    from quire_daemon.commit.provisional_seqs import *
    from quire_daemon.commit.record_chunks import *
    from quire_daemon.commit.recorder import *
    from quire_daemon.commit.write_states import *
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
        write_states="AtStart LIFE WriteState",
    )
