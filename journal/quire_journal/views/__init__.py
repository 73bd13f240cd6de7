"""Views: folds over the log with results in tables, so that queries need not read the log."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.views import (
        anchors as anchors,
        batches as batches,
        bursts as bursts,
        callers as callers,
        checkpoints as checkpoints,
        clock as clock,
        files as files,
        leases as leases,
        lost_bytes as lost_bytes,
        paths as paths,
        reads as reads,
        replay as replay,
        stale_reads as stale_reads,
        uncaptured as uncaptured,
        watermarks as watermarks,
        writers as writers,
    )
    from quire_journal.views.anchors import AnchorTrace as AnchorTrace
    from quire_journal.views.batches import ABANDONED as ABANDONED
    from quire_journal.views.bursts import (
        BELONGING as BELONGING,
        NAMED as NAMED,
        ONLY_OUTSIDE as ONLY_OUTSIDE,
        OWN as OWN,
        PROCESS as PROCESS,
        RUN as RUN,
        SEVERAL_OPEN as SEVERAL_OPEN,
        UNREPORTED as UNREPORTED,
        Burst as Burst,
        claiming as claiming,
    )
    from quire_journal.views.callers import KnownCaller as KnownCaller
    from quire_journal.views.checkpoints import Checkpoint as Checkpoint, EditCheckpoint as EditCheckpoint
    from quire_journal.views.clock import SetBack as SetBack, dated as dated, over as over
    from quire_journal.views.files import (
        OUTSIDE_TYPE as OUTSIDE_TYPE,
        OUTSIDE_WRITES as OUTSIDE_WRITES,
        TOOL_WRITES as TOOL_WRITES,
        Version as Version,
        abandoned_writes as abandoned_writes,
        record_before as record_before,
        standing as standing,
        version_in_row as version_in_row,
    )
    from quire_journal.views.leases import EXCLUSIVE as EXCLUSIVE, INTENT as INTENT, SHARED as SHARED, Lease as Lease
    from quire_journal.views.lost_bytes import Gone as Gone, LostStretch as LostStretch
    from quire_journal.views.paths import (
        key_of as key_of,
        path_id as path_id,
        path_id_by as path_id_by,
        path_of as path_of,
    )
    from quire_journal.views.reads import Shown as Shown
    from quire_journal.views.shadow import (
        ShadowViews as ShadowViews,
        ViewsElsewhere as ViewsElsewhere,
        differing as differing,
    )
    from quire_journal.views.table import (
        TABLES as TABLES,
        VIEWS as VIEWS,
        View as View,
        told_by as told_by,
        with_needed as with_needed,
    )
    from quire_journal.views.writers import caller_key as caller_key
else:
    __getattr__ = face(
        __name__,
        anchors="AnchorTrace",
        batches="ABANDONED",
        bursts="BELONGING Burst NAMED ONLY_OUTSIDE OWN PROCESS RUN SEVERAL_OPEN UNREPORTED claiming",
        callers="KnownCaller",
        checkpoints="Checkpoint EditCheckpoint",
        clock="SetBack dated over",
        files=(
            "OUTSIDE_TYPE OUTSIDE_WRITES TOOL_WRITES Version abandoned_writes record_before standing version_in_row"
        ),
        leases="EXCLUSIVE INTENT Lease SHARED",
        lost_bytes="Gone LostStretch",
        paths="key_of path_id path_id_by path_of",
        reads="Shown",
        shadow="ShadowViews ViewsElsewhere differing",
        table="TABLES VIEWS View told_by with_needed",
        writers="caller_key",
    )
