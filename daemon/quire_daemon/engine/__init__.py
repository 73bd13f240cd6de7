"""Engine: the way of a call from its request to its reply: admit, gather, decide, perform, respond."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.engine.admission import Admission as Admission
    from quire_daemon.engine.announced_calls import AnnouncedCalls as AnnouncedCalls
    from quire_daemon.engine.burst_expiry import BurstExpiry as BurstExpiry
    from quire_daemon.engine.call_queue import CallQueue as CallQueue
    from quire_daemon.engine.decide import Decider as Decider
    from quire_daemon.engine.gather import Gatherer as Gatherer, WatcherBarrier as WatcherBarrier
    from quire_daemon.engine.health_report import (
        SALVAGE_IS_TOLD_NS as SALVAGE_IS_TOLD_NS,
        CoverageReport as CoverageReport,
        health as health,
        reasons as reasons,
        salvaged as salvaged,
    )
    from quire_daemon.engine.lease_queue import LeaseQueue as LeaseQueue
    from quire_daemon.engine.long_decisions import LongDecisions as LongDecisions
    from quire_daemon.engine.perform import IN_PART as IN_PART, Performer as Performer
    from quire_daemon.engine.presence import Presence as Presence
    from quire_daemon.engine.request_files import RequestFiles as RequestFiles
    from quire_daemon.engine.rescued import (
        Withheld as Withheld,
        meant_for as meant_for,
        note_displaced as note_displaced,
        note_theirs as note_theirs,
        nothing_is_withheld as nothing_is_withheld,
    )
    from quire_daemon.engine.respond import Responder as Responder
    from quire_daemon.engine.searches import (
        CommitAsker as CommitAsker,
        DeferredCommits as DeferredCommits,
        DeferredSearches as DeferredSearches,
    )
    from quire_daemon.engine.stage import STAGERS as STAGERS, on_disk as on_disk
    from quire_daemon.engine.turn import Execution as Execution, Step as Step, Turn as Turn
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
