"""History: questions to one state of the journal: versions, blame, the timeline of a file, and what an undo makes of
it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.history.authorship import (
        UNDOING as UNDOING,
        CommitFile as CommitFile,
        CommitFileLines as CommitFileLines,
        CommitLine as CommitLine,
        LineOrigin as LineOrigin,
        is_by_git as is_by_git,
    )
    from quire_journal.history.commit_tree import (
        CommitBlobs as CommitBlobs,
        CommitBytes as CommitBytes,
        CommitEntries as CommitEntries,
        CommitEntry as CommitEntry,
        CommitTree as CommitTree,
        commit_of as commit_of,
        in_git as in_git,
        is_named as is_named,
        unanswered as unanswered,
        version_of as version_of,
    )
    from quire_journal.history.delta_base import DeltaBases as DeltaBases
    from quire_journal.history.gaps import (
        RECORD_LOST as RECORD_LOST,
        gaps_after as gaps_after,
        gaps_at as gaps_at,
        gaps_before as gaps_before,
        gaps_json as gaps_json,
        gaps_of as gaps_of,
        is_lost as is_lost,
        lost_version as lost_version,
        named as named,
        require_known as require_known,
        require_not_lost as require_not_lost,
        version_then as version_then,
        warning as warning,
    )
    from quire_journal.history.history import History as History
    from quire_journal.history.line_blame import (
        Blame as Blame,
        CommitAnswers as CommitAnswers,
        LineTrails as LineTrails,
        blame as blame,
    )
    from quire_journal.history.missing_bytes import (
        MissingBytes as MissingBytes,
        missing as missing,
        missing_blob as missing_blob,
    )
    from quire_journal.history.path_cache import PathNames as PathNames
    from quire_journal.history.points import (
        MAX_NAME as MAX_NAME,
        is_name as is_name,
        no_checkpoint as no_checkpoint,
        parse_point as parse_point,
        parse_rfc3339 as parse_rfc3339,
        rfc3339 as rfc3339,
        time_of as time_of,
        to_the_second as to_the_second,
    )
    from quire_journal.history.rebase_steps import Conflict as Conflict
    from quire_journal.history.stories import (
        CAPTURE as CAPTURE,
        CHECKPOINT as CHECKPOINT,
        CROWD as CROWD,
        FORMS as FORMS,
        GIT as GIT,
        PERSON as PERSON,
        SAVES as SAVES,
        STORY_KINDS as STORY_KINDS,
        TURN as TURN,
        UNDO as UNDO,
        FileRun as FileRun,
        Story as Story,
        StoryQuery as StoryQuery,
        Straddler as Straddler,
        first_of as first_of,
        folders_of as folders_of,
        net_of as net_of,
        story_page as story_page,
    )
    from quire_journal.history.timeline import (
        FileTimeline as FileTimeline,
        State as State,
        TimelineStep as TimelineStep,
        lives as lives,
    )
    from quire_journal.history.typed_times import (
        AGO as AGO,
        CLOCK as CLOCK,
        DATE as DATE,
        DAYS as DAYS,
        NOW as NOW,
        PART as PART,
        is_typed_time as is_typed_time,
    )
    from quire_journal.history.undo_guard import GuardedUndo as GuardedUndo, guard as guard
    from quire_journal.history.unwinder import Unwound as Unwound, unwind as unwind
    from quire_journal.history.weave import BatchesInForce as BatchesInForce
else:
    __getattr__ = face(
        __name__,
        authorship="CommitFile CommitFileLines CommitLine LineOrigin UNDOING is_by_git",
        commit_tree=(
            "CommitBlobs CommitBytes CommitEntries CommitEntry CommitTree commit_of in_git is_named "
            "unanswered version_of"
        ),
        delta_base="DeltaBases",
        gaps=(
            "RECORD_LOST gaps_after gaps_at gaps_before gaps_json gaps_of is_lost lost_version named "
            "require_known require_not_lost version_then warning"
        ),
        history="History",
        line_blame="Blame CommitAnswers LineTrails blame",
        missing_bytes="MissingBytes missing missing_blob",
        path_cache="PathNames",
        points="MAX_NAME is_name no_checkpoint parse_point parse_rfc3339 rfc3339 time_of to_the_second",
        rebase_steps="Conflict",
        stories=(
            "CAPTURE CHECKPOINT CROWD FORMS FileRun GIT PERSON SAVES STORY_KINDS Story StoryQuery Straddler "
            "TURN UNDO first_of folders_of net_of story_page"
        ),
        timeline="FileTimeline State TimelineStep lives",
        typed_times="AGO CLOCK DATE DAYS NOW PART is_typed_time",
        undo_guard="GuardedUndo guard",
        unwinder="Unwound unwind",
        weave="BatchesInForce",
    )
