"""History: queries to one state of the journal about versions, line authors, timelines and undo."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.history.authorship import *
    from quire_journal.history.commit_tree import *
    from quire_journal.history.delta_base import *
    from quire_journal.history.gaps import *
    from quire_journal.history.git_moves import *
    from quire_journal.history.history import *
    from quire_journal.history.line_blame import *
    from quire_journal.history.line_past import backwards as backwards
    from quire_journal.history.missing_bytes import *
    from quire_journal.history.path_cache import *
    from quire_journal.history.points import *
    from quire_journal.history.rebase_steps import *
    from quire_journal.history.timeline import *
    from quire_journal.history.typed_times import *
    from quire_journal.history.undo_guard import *
    from quire_journal.history.unwinder import *
    from quire_journal.history.weave import *
else:
    __getattr__ = face(
        __name__,
        authorship=(
            "CommitFile CommitFileLines CommitLine LOCK_HELD LOCK_TAKEN LineOrigin UNDOING is_author is_by_git is_met"
        ),
        commit_tree=(
            "CommitBlobs CommitBytes CommitEntries CommitEntry CommitTree at_commit commit_of in_git is_named "
            "unanswered version_of"
        ),
        delta_base="DeltaBases",
        gaps=(
            "RECORD_LOST gaps_after gaps_at gaps_before gaps_json gaps_of is_lost lost_version named "
            "require_known require_not_lost version_then warning"
        ),
        git_moves="GitMoves NAMELESS NEAR_NS STEPS command_name command_of first_word keeps_tree short_command",
        history="History",
        line_blame="Blame CommitAnswers LineTrails blame origins_in_git",
        line_past="backwards",
        missing_bytes="MissingBytes missing missing_blob",
        path_cache="PathNames",
        points="MAX_NAME is_name no_checkpoint parse_point parse_rfc3339 rfc3339 time_of to_the_second",
        rebase_steps="Conflict",
        timeline="FileTimeline State TimelineStep lives",
        typed_times="AGO CLOCK DATE DAYS NOW PART is_typed_time",
        undo_guard="GuardedUndo guard",
        unwinder="Unwound unwind",
        weave="BatchesInForce",
    )
