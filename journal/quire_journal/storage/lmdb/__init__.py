"""Store on disk: one LMDB environment in the state folder. The only package that imports `lmdb`.

Choices, with reasons:

* engine 0.9, by name: an environment variable could choose a format that the other engine cannot read;
* a map of 1 TiB, never resized: growing it would end every open transaction; the file grows only as it is used;
* a commit that folds the write-ahead log syncs only its pages: if a power cut reverts it, the database is whole, and
  the log repeats it. Any other commit is synced twice;
* the log is in the folder of the database (`log.00000001`); a row in `meta` says up to which place it is folded;
* no `writemap`: on a full disk it kills the process with SIGBUS; without it the commit fails;
* appends are checked: LMDB answers an out-of-order append with False and stores nothing;
* values are bytes: a buffer stays readable after its transaction and can then show other content;
* the lock file gets its blocks before LMDB maps it, or a full disk would kill the process;
* a new database is made under another name and renamed when complete and synced;
* packs (`packs`) are in that folder, too; one that the database does not name goes at a start, or when the last reader
  of a replaced database ends;
* only a copy (`compaction`) frees pages and erases their bytes: its file replaces the old file, whose environment stays
  open until its last reader has ended;
* before and after each commit the file must be at its path: commits to a removed journal would be lost, and a moved
  journal must not hold refused records;
* a failed commit ends all writing, unless the disk is full: after a failed fsync the kernel may have dropped pages, and
  a retry would report success for lost bytes.

Nothing in the process may open the files of an open environment: closing such a descriptor drops LMDB's locks.
"""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.storage.lmdb.environment import *
    from quire_journal.storage.lmdb.store import *
else:
    __getattr__ = face(
        __name__,
        environment="walk",
        store="Copy LmdbStore",
    )
