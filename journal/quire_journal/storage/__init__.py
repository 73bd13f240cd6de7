"""Storage: the store port and its implementations, compaction, and durable files."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.storage import boot_mark as boot_mark, fsync as fsync, log_entry as log_entry, packs as packs
    from quire_journal.storage.compaction import *
    from quire_journal.storage.disk import *
    from quire_journal.storage.fsync import *
    from quire_journal.storage.log_entry import *
    from quire_journal.storage.lru import *
    from quire_journal.storage.memory import *
    from quire_journal.storage.port import *
    from quire_journal.storage.refcount import *
    from quire_journal.storage.stores import *
    from quire_journal.storage.threads import *
    from quire_journal.storage.write_ahead_log import *
else:
    __getattr__ = face(
        __name__,
        compaction="ByCopy Target Tee copy_pairs",
        disk=("FULL_BELOW_BYTES NO_ROOM free_bytes require_fit require_room takes_nothing"),
        fsync="sync_path",
        log_entry="LogEntry LoggedBytes",
        lru="Recent",
        memory="MemoryStore",
        port=(
            "Compaction CopyOrder JournalGone JournalUnseen KEY_BYTES OutOfOrder Outrun ReadTransaction RowChange "
            "Store StoreFailure TABLES WriteTransaction apply_changes checked_key last_number u32 u64"
        ),
        refcount="InUse RefCounted",
        stores="STORES UnfitFolder random_id",
        threads="Pool Thread side_by_side",
        write_ahead_log="LogPosition MOST_BYTES WriteAheadLog",
    )
