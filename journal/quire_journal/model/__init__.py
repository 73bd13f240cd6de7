"""Model: ids, events, records, refusals and messages; plain values that every room may import."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.model import limits as limits, path_map as path_map
    from quire_journal.model.events import *
    from quire_journal.model.evidence import *
    from quire_journal.model.file_transport import *
    from quire_journal.model.ids import *
    from quire_journal.model.limits import *
    from quire_journal.model.line_ranges import *
    from quire_journal.model.messages import *
    from quire_journal.model.path_map import *
    from quire_journal.model.pause_points import *
    from quire_journal.model.phrasing import *
    from quire_journal.model.records import *
    from quire_journal.model.refusals import *
    from quire_journal.model.reserved_names import *
    from quire_journal.model.sanitize import *
    from quire_journal.model.uncaptured import *
    from quire_journal.model.upcast import *
else:
    __getattr__ = face(
        __name__,
        events=(
            "BY_KIND BatchUndone BurstBegun BurstEnded BytesDisplaced BytesGone CaptureFailed "
            "CheckpointCommitted CheckpointDropped CheckpointNamed CheckpointRolledBack CheckpointSaved CommandRan "
            "EVENTS EditRefused Event FOLDER FileDeleted FileMoved FileWritten GitRan HeadSigned JournalForked "
            "JournalSalvaged LINK "
            "LeaseBroken LeaseExpired LeaseGranted LeaseReleased LeaseRenewed ModeChanged OutsideDeleted "
            "OutsideModeChanged OutsideMoved OutsideWritten Purged REGULAR ReadServed RecordLost RejectionEnded "
            "ReplyKept RetentionApplied TurnBegan WatchLost WorkAccepted WorkRejected WorkspaceOpened WorkspaceScanned "
            "WriteAttributed WrittenApart "
            "WriterIntroduced WritesAbandoned WritesSettled path_after paths_of"
        ),
        evidence="CAPTURED DISPLACED DURING EXACT ISOLATED MARK NAMING OVERLAP PROVED READ SCANNED TRACED WATCHED",
        file_transport=(
            "CALLER LOCK MAX_BYTES REQUEST SPOOL_FOLDER caller_file reply_file request_file unfinished_file"
        ),
        ids=(
            "BatchId BlobId OUTSIDE PathId SETUP Seq WriterId above blob_id caller_name disk_path inside_escaped "
            "is_agent is_escaped journal_path leads_inside parse_version_token percent_escaped shown_path unescaped "
            "version_token writer_name"
        ),
        limits="NO_THREAD NoProcess",
        line_ranges="LineRange Ranges merge_ranges ranges_of without",
        messages="Caller MAX_MESSAGE MOST_OP_BYTES Reply Request decode_reply decode_request encode",
        path_map="BadMap mapped parsed",
        pause_points="cached_property paced pause pausing",
        phrasing="capitalised counted size",
        records=(
            "GENESIS HEAD_KEY JournalDamaged LINKS Record decode_record encode_event encode_record head_row link "
            "read_record record_hash seal"
        ),
        refusals="CODES LONGEST_GUESS Refusal did_you_mean",
        reserved_names="RESERVED disguised fold is_reserved is_within repositories",
        sanitize="MOST_NAME plain plain_name",
        uncaptured="HOLDS_SECRET IGNORED NOT_A_FILE PURGED SECRET TOO_LARGE UNREADABLE",
        upcast="parse_tag",
    )
