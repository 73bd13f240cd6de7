"""Storage: the port that a store implements, the stores behind it, compaction, and bytes made durable on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.storage import afterimage as afterimage, fsync as fsync, log_entry as log_entry
    from quire_journal.storage.afterimage import NAME as NAME, Afterimage as Afterimage, Looks as Looks
    from quire_journal.storage.compaction import (
        ByCopy as ByCopy,
        Target as Target,
        Tee as Tee,
        copy_pairs as copy_pairs,
    )
    from quire_journal.storage.disk import (
        FULL_BELOW_BYTES as FULL_BELOW_BYTES,
        NO_ROOM as NO_ROOM,
        free_bytes as free_bytes,
        require_fit as require_fit,
        require_room as require_room,
        takes_nothing as takes_nothing,
    )
    from quire_journal.storage.fsync import sync_path as sync_path
    from quire_journal.storage.fsync_thread import Sync as Sync, Syncer as Syncer
    from quire_journal.storage.log_entry import LogEntry as LogEntry
    from quire_journal.storage.lru import Recent as Recent
    from quire_journal.storage.memory import MemoryStore as MemoryStore
    from quire_journal.storage.port import (
        TABLES as TABLES,
        Compaction as Compaction,
        JournalGone as JournalGone,
        JournalUnseen as JournalUnseen,
        OutOfOrder as OutOfOrder,
        Outrun as Outrun,
        ReadTransaction as ReadTransaction,
        RowChange as RowChange,
        Store as Store,
        StoreFailure as StoreFailure,
        WriteTransaction as WriteTransaction,
        apply_changes as apply_changes,
        last_number as last_number,
        u32 as u32,
        u64 as u64,
    )
    from quire_journal.storage.refcount import InUse as InUse, RefCounted as RefCounted
    from quire_journal.storage.stores import (
        KEY_BYTES as KEY_BYTES,
        STORES as STORES,
        UnfitFolder as UnfitFolder,
        checked_key as checked_key,
        random_id as random_id,
    )
    from quire_journal.storage.threads import Pool as Pool, Thread as Thread, side_by_side as side_by_side
    from quire_journal.storage.write_ahead_log import (
        MOST_BYTES as MOST_BYTES,
        LogPosition as LogPosition,
        WriteAheadLog as WriteAheadLog,
    )
else:
    __getattr__ = face(
        __name__,
        afterimage="Afterimage Looks NAME",
        compaction="ByCopy Target Tee copy_pairs",
        disk=("FULL_BELOW_BYTES NO_ROOM free_bytes require_fit require_room takes_nothing"),
        fsync="sync_path",
        fsync_thread="Sync Syncer",
        log_entry="LogEntry",
        lru="Recent",
        memory="MemoryStore",
        port=(
            "Compaction JournalGone JournalUnseen OutOfOrder Outrun ReadTransaction RowChange "
            "Store StoreFailure TABLES WriteTransaction apply_changes last_number u32 u64"
        ),
        refcount="InUse RefCounted",
        stores="KEY_BYTES STORES UnfitFolder checked_key random_id",
        threads="Pool Thread side_by_side",
        write_ahead_log="LogPosition MOST_BYTES WriteAheadLog",
    )
