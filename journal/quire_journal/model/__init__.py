"""Model: the journal's own words: ids, events, records, refusals, messages; plain values that everybody may import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.model import limits as limits, path_map as path_map
    from quire_journal.model.events import (
        BY_KIND as BY_KIND,
        EVENTS as EVENTS,
        FOLDER as FOLDER,
        LINK as LINK,
        REGULAR as REGULAR,
        BatchUndone as BatchUndone,
        BurstBegun as BurstBegun,
        BurstEnded as BurstEnded,
        BytesDisplaced as BytesDisplaced,
        BytesGone as BytesGone,
        CaptureFailed as CaptureFailed,
        CheckpointCommitted as CheckpointCommitted,
        CheckpointDropped as CheckpointDropped,
        CheckpointNamed as CheckpointNamed,
        CheckpointRolledBack as CheckpointRolledBack,
        CheckpointSaved as CheckpointSaved,
        EditRefused as EditRefused,
        Event as Event,
        FileDeleted as FileDeleted,
        FileMoved as FileMoved,
        FileWritten as FileWritten,
        GitRan as GitRan,
        JournalSalvaged as JournalSalvaged,
        LeaseBroken as LeaseBroken,
        LeaseExpired as LeaseExpired,
        LeaseGranted as LeaseGranted,
        LeaseReleased as LeaseReleased,
        LeaseRenewed as LeaseRenewed,
        ModeChanged as ModeChanged,
        OutsideDeleted as OutsideDeleted,
        OutsideModeChanged as OutsideModeChanged,
        OutsideMoved as OutsideMoved,
        OutsideWritten as OutsideWritten,
        Purged as Purged,
        ReadServed as ReadServed,
        RecordLost as RecordLost,
        ReplyKept as ReplyKept,
        RetentionApplied as RetentionApplied,
        TurnBegan as TurnBegan,
        WatchLost as WatchLost,
        WorkspaceOpened as WorkspaceOpened,
        WorkspaceScanned as WorkspaceScanned,
        WriteAttributed as WriteAttributed,
        WriterIntroduced as WriterIntroduced,
        WritesAbandoned as WritesAbandoned,
        WritesSettled as WritesSettled,
        path_after as path_after,
        paths_of as paths_of,
    )
    from quire_journal.model.evidence import (
        CAPTURED as CAPTURED,
        DISPLACED as DISPLACED,
        DURING as DURING,
        EXACT as EXACT,
        ISOLATED as ISOLATED,
        MARK as MARK,
        NAMING as NAMING,
        OVERLAP as OVERLAP,
        PROVED as PROVED,
        READ as READ,
        SCANNED as SCANNED,
        TRACED as TRACED,
        WATCHED as WATCHED,
    )
    from quire_journal.model.file_transport import (
        CALLER as CALLER,
        LOCK as LOCK,
        MAX_BYTES as MAX_BYTES,
        REQUEST as REQUEST,
        SPOOL_FOLDER as SPOOL_FOLDER,
        caller_file as caller_file,
        reply_file as reply_file,
        request_file as request_file,
        unfinished_file as unfinished_file,
    )
    from quire_journal.model.ids import (
        OUTSIDE as OUTSIDE,
        SETUP as SETUP,
        BatchId as BatchId,
        BlobId as BlobId,
        PathId as PathId,
        Seq as Seq,
        WriterId as WriterId,
        above as above,
        blob_id as blob_id,
        caller_name as caller_name,
        disk_path as disk_path,
        inside_escaped as inside_escaped,
        is_escaped as is_escaped,
        journal_path as journal_path,
        leads_inside as leads_inside,
        parse_version_token as parse_version_token,
        percent_escaped as percent_escaped,
        shown_path as shown_path,
        unescaped as unescaped,
        version_token as version_token,
        writer_name as writer_name,
    )
    from quire_journal.model.limits import NO_THREAD as NO_THREAD, NoProcess as NoProcess
    from quire_journal.model.line_ranges import (
        LineRange as LineRange,
        Ranges as Ranges,
        merge_ranges as merge_ranges,
        ranges_of as ranges_of,
        without as without,
    )
    from quire_journal.model.messages import (
        MAX_MESSAGE as MAX_MESSAGE,
        MOST_OP_BYTES as MOST_OP_BYTES,
        Caller as Caller,
        Reply as Reply,
        Request as Request,
        decode_reply as decode_reply,
        decode_request as decode_request,
        encode as encode,
    )
    from quire_journal.model.path_map import BadMap as BadMap, mapped as mapped, parsed as parsed
    from quire_journal.model.pause_points import paced as paced, pause as pause, pausing as pausing
    from quire_journal.model.phrasing import capitalised as capitalised, counted as counted, size as size
    from quire_journal.model.records import (
        GENESIS as GENESIS,
        HEAD_KEY as HEAD_KEY,
        LINKS as LINKS,
        JournalDamaged as JournalDamaged,
        Record as Record,
        decode_record as decode_record,
        encode_event as encode_event,
        encode_record as encode_record,
        head_row as head_row,
        link as link,
        read_record as read_record,
        record_hash as record_hash,
        seal as seal,
    )
    from quire_journal.model.refusals import (
        CODES as CODES,
        LONGEST_GUESS as LONGEST_GUESS,
        Refusal as Refusal,
        did_you_mean as did_you_mean,
    )
    from quire_journal.model.reserved_names import (
        RESERVED as RESERVED,
        disguised as disguised,
        fold as fold,
        is_reserved as is_reserved,
        is_within as is_within,
        repositories as repositories,
    )
    from quire_journal.model.sanitize import MOST_NAME as MOST_NAME, plain as plain, plain_name as plain_name
    from quire_journal.model.uncaptured import (
        HOLDS_SECRET as HOLDS_SECRET,
        IGNORED as IGNORED,
        NOT_A_FILE as NOT_A_FILE,
        PURGED as PURGED,
        SECRET as SECRET,
        TOO_LARGE as TOO_LARGE,
        UNREADABLE as UNREADABLE,
    )
    from quire_journal.model.upcast import parse_tag as parse_tag
else:
    __getattr__ = face(
        __name__,
        events=(
            "BY_KIND BatchUndone BurstBegun BurstEnded BytesDisplaced BytesGone CaptureFailed "
            "CheckpointCommitted CheckpointDropped CheckpointNamed CheckpointRolledBack CheckpointSaved "
            "EVENTS EditRefused Event FOLDER FileDeleted FileMoved FileWritten GitRan JournalSalvaged LINK "
            "LeaseBroken LeaseExpired LeaseGranted LeaseReleased LeaseRenewed ModeChanged OutsideDeleted "
            "OutsideModeChanged OutsideMoved OutsideWritten Purged REGULAR ReadServed RecordLost ReplyKept "
            "RetentionApplied TurnBegan WatchLost WorkspaceOpened WorkspaceScanned WriteAttributed "
            "WriterIntroduced WritesAbandoned WritesSettled path_after paths_of"
        ),
        evidence="CAPTURED DISPLACED DURING EXACT ISOLATED MARK NAMING OVERLAP PROVED READ SCANNED TRACED WATCHED",
        file_transport=(
            "CALLER LOCK MAX_BYTES REQUEST SPOOL_FOLDER caller_file reply_file request_file unfinished_file"
        ),
        ids=(
            "BatchId BlobId OUTSIDE PathId SETUP Seq WriterId above blob_id caller_name disk_path inside_escaped "
            "is_escaped journal_path leads_inside parse_version_token percent_escaped shown_path unescaped "
            "version_token writer_name"
        ),
        limits="NO_THREAD NoProcess",
        line_ranges="LineRange Ranges merge_ranges ranges_of without",
        messages="Caller MAX_MESSAGE MOST_OP_BYTES Reply Request decode_reply decode_request encode",
        path_map="BadMap mapped parsed",
        pause_points="paced pause pausing",
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
