"""The store on disk: one LMDB environment in the state folder. The only package that imports `lmdb`.

`environment` opens the files, `transaction` reads and writes the tables, `store` is what the journal asks of both.

What is done here, and why:

* engine 0.9, asked for by name: an environment variable could otherwise choose a format that the other cannot read;
* a map of 1 TiB, never resized: growing it would end every open transaction; the file grows only as it is used;
* a commit that folds the write-ahead log syncs only its pages, and what leads to them with the next one: where a power
  cut takes it back, the database is whole, and the log tells it again. Any other commit is synced twice;
* the log stands beside the database (`log.00000001`), and a row in `meta` says up to which place it is folded;
* no `writemap`: on a full disk it kills the process with SIGBUS, without it the commit fails cleanly;
* appends are checked: LMDB itself answers an out-of-order append with False and stores nothing;
* values are bytes: a buffer stays readable after its transaction and can show other content later;
* the lock file gets its blocks before LMDB maps it: on a full disk the process would be killed otherwise;
* a new database is made under another name and renamed when it is complete and synced;
* freed pages are given back, and their bytes made to disappear, by a copy only (`compaction`): the file that it
  makes takes the place of the old one, whose environment stays open until its last reader has ended;
* before and after each commit the file must stand at its path: that of a removed journal ends with the process, and
  one that was moved away tells of nothing that was refused, should it come back;
* a commit that failed for anything but a full disk ends all writing: after a failed fsync the kernel may have
  dropped the pages, so that trying again would report success for bytes that are gone.

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
