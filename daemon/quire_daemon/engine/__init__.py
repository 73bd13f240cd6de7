"""Path of a call from its request to its reply."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.engine.admission import *
    from quire_daemon.engine.announced_calls import *
    from quire_daemon.engine.burst_expiry import *
    from quire_daemon.engine.call_queue import *
    from quire_daemon.engine.decide import *
    from quire_daemon.engine.gather import *
    from quire_daemon.engine.health_report import *
    from quire_daemon.engine.lease_queue import *
    from quire_daemon.engine.long_decisions import *
    from quire_daemon.engine.perform import *
    from quire_daemon.engine.presence import *
    from quire_daemon.engine.request_files import *
    from quire_daemon.engine.rescued import *
    from quire_daemon.engine.respond import *
    from quire_daemon.engine.searches import *
    from quire_daemon.engine.stage import STAGERS as STAGERS, on_disk as on_disk
    from quire_daemon.engine.turn import *
else:
    __getattr__ = face(
        __name__,
        admission="Admission",
        announced_calls="AnnouncedCalls",
        burst_expiry="BurstExpiry",
        call_queue="CallQueue",
        decide="Decider",
        gather="Gatherer WatcherBarrier",
        health_report="CoverageReport SALVAGE_IS_TOLD_NS health reasons salvaged",
        lease_queue="LeaseQueue",
        long_decisions="LongDecisions",
        perform="IN_PART Performer",
        presence="Presence",
        request_files="RequestFiles",
        rescued="Withheld meant_for note_displaced note_theirs nothing_is_withheld",
        respond="Responder",
        searches="CommitAsker DeferredCommits DeferredSearches",
        stage="STAGERS on_disk",
        turn="Execution Step Turn",
    )
