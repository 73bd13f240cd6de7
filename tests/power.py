"""A power cut: what of the journal's files comes to the disk, and a program whose commits are cut off.

`python tests/power.py FOLDER COPY COUNT` appends to a journal in FOLDER, sometimes before its files are copied to COPY
and COUNT times after that, and says `begun` and then the number of each on its output.
"""

from __future__ import annotations

import os
import random
import shutil
import struct
import sys
from pathlib import Path
from typing import Final

from quire_journal.journal import Journal, NewRecord
from quire_journal.model.events import FileDeleted, FileWritten, ReadServed, WriterIntroduced
from quire_journal.model.ids import BatchId, WriterId, blob_id
from quire_journal.storage.port import Store
from quire_journal.storage.write_ahead_log import MOST_BYTES
from quire_journal.views import replay, table

PAGE: Final = 4096
BEFORE: Final = 10
"""Appends of the program before its files are copied."""

WORKSPACE: Final = "0" * 32

_NUMBER_AT: Final = 16 + 4 + 4 + 8 + 8 + 48 + 48 + 8
"""Of a meta page: where the number of its transaction stands."""

Rows = dict[str, list[tuple[bytes, bytes]]]


def lose_the_last_commit(folder: Path) -> None:
    """Take the newest commit of the journal in `folder` back: the page that leads to it never came to the disk.

    Nobody has it open.
    """
    with open(folder / "db" / "data.mdb", "r+b") as file:
        numbers: list[int] = []
        for page in (0, PAGE):
            file.seek(page + _NUMBER_AT)
            numbers.append(struct.unpack("=Q", file.read(8))[0])
        newest = numbers.index(max(numbers))
        assert numbers[newest] == numbers[1 - newest] + 1
        file.seek(newest * PAGE + _NUMBER_AT)
        file.write(struct.pack("=Q", max(0, numbers[newest] - 2)))


def rows(store: Store) -> Rows:
    """The records of a journal, and all that its views tell."""
    with store.reading() as r:
        return replay.dump(r, ["records", *table.TABLES])


def append(journal: Journal, chance: random.Random, n: int) -> None:
    """Append number `n` of the program: a version of a file, small or large, more of them, a deletion, or a read."""
    batch, writer = BatchId(journal.head + 1), WriterId(1)
    if n == 0:
        journal.append([NewRecord(WriterIntroduced(1, uid=1000, agent="ann"), WriterId(0), 1, batch)])
        return
    entries: list[NewRecord] = []
    contents: list[tuple[bytes, str]] = []
    for _ in range(chance.choice((1, 1, 1, 3))):
        path = f"{chance.randint(0, 5)}.txt"
        kind = chance.random()
        if kind < 0.1:
            entries.append(NewRecord(FileDeleted(path, 0), writer, n, batch))
        elif kind < 0.2:
            entries.append(NewRecord(ReadServed(path, 1, ((1, 2),)), writer, n, batch))
        else:
            lines = chance.choice((3, 50, 400)) if kind < 0.95 else 0
            data = b"".join(b"%d %d\n" % (line, n if line % 40 == n % 40 else 0) for line in range(lines))
            data += chance.randbytes(MOST_BYTES) if not lines else b""  # which no log takes
            entries.append(NewRecord(FileWritten(path, blob_id(data), len(data), 0o644), writer, n, batch))
            contents.append((data, path))
    journal.append(entries, contents)


def run(journal: Journal, chance: random.Random, n: int) -> None:
    """Append number `n`, and fold."""
    append(journal, chance, n)
    fold(journal, n)


def fold(journal: Journal, n: int) -> None:
    """Now and then what was logged is folded, as after each turn of a daemon, and now and then published, too."""
    if n % 3:
        (journal.fold if n % 2 else journal.publish)()


def main(folder: Path, copy: Path, count: int) -> None:
    """See the top."""
    from quire_journal.storage.lmdb import LmdbStore

    journal, chance = Journal.open(LmdbStore.open(folder), 1, WORKSPACE), random.Random(1)
    for n in range(BEFORE):
        run(journal, chance, n)
    journal.publish()
    journal.store.sync()
    shutil.copytree(folder / "db", copy)
    os.write(1, b"begun\n")
    for n in range(BEFORE, BEFORE + count):
        append(journal, chance, n)
        os.write(1, b"%d\n" % n)
        fold(journal, n)
        if n % 25 == 0:
            journal.store.clear_log()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
