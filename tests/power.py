"""A power cut: what of the database's files comes to the disk, and a program whose commits are cut off.

`python tests/power.py FOLDER COPY COUNT` makes commits in a store in FOLDER, some before its files are copied to COPY
and COUNT after that, and says `begun` and then the number of each on its output.
"""

from __future__ import annotations

import os
import random
import shutil
import struct
import sys
from pathlib import Path
from typing import Final

from quire_journal.storage.port import Store

PAGE: Final = 4096
TABLES: Final = ("meta", "blobs", "paths", "records")
BEFORE: Final = 10
"""Commits of the program before its files are copied."""

_NUMBER_AT: Final = 16 + 4 + 4 + 8 + 8 + 48 + 48 + 8
"""Of a meta page: where the number of its transaction stands."""

Rows = list[tuple[str, bytes, bytes]]


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
    """Everything in the tables that `commit` writes."""
    with store.reading() as r:
        return [(table, key, value) for table in TABLES for key, value in r.scan(table)]


def commit(store: Store, chance: random.Random, n: int, large: float = 0.1) -> None:
    """Commit `n` of the program: some pairs come, change and go; how likely there are many bytes says `large`."""
    with store.writing() as w:
        w.put("meta", b"head", b"%d" % n)
        for _ in range(chance.randint(0, 10)):
            table, key = chance.choice(TABLES), b"%d" % chance.randint(0, 60)
            if chance.random() < 0.3:
                w.delete(table, key)
            else:
                w.put(table, key, chance.randbytes(chance.choice((1, 60, 300, 2500))))
        if chance.random() < 0.05:
            w.clear("blobs")
        if chance.random() < large:
            w.put("blobs", b"large", chance.randbytes(100_000))
        w.put_all("paths", [(b"a", b"%d" % n), (b"b", b"%d" % n)])


def main(folder: Path, copy: Path, count: int) -> None:
    """See the top."""
    from quire_journal.storage.lmdb import LmdbStore

    store, chance = LmdbStore.open(folder), random.Random(1)
    for n in range(BEFORE):
        commit(store, chance, n)
    shutil.copytree(folder / "db", copy)
    os.write(1, b"begun\n")
    for n in range(BEFORE, BEFORE + count):
        commit(store, chance, n)
        os.write(1, b"%d\n" % n)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
