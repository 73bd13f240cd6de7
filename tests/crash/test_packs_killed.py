"""Killed at any step of a compaction that links the packs of another journal: everything is there, and no more."""

from __future__ import annotations

import os
import random
import shutil
import signal
from pathlib import Path
from typing import Final

import pytest

from quire_journal.integrity.checker import check
from quire_journal.journal import Journal, NewRecord
from quire_journal.model.events import BytesGone, OutsideWritten
from quire_journal.model.ids import OUTSIDE, BatchId, blob_id
from quire_journal.storage import blobs, packs
from quire_journal.storage.blobs import codec
from quire_journal.storage.compaction import STEPS
from quire_journal.storage.lmdb import LmdbStore

ALIKE: Final = {f"f{n}": random.Random(n).randbytes(2500) for n in range(200)}
ALONE: Final = {f"g{n}": random.Random(n).randbytes(2500) for n in range(1000, 1150)}
"""Contents that both journals have, and those of the second, enough for packs."""


def captured(folder: Path, files: dict[str, bytes]) -> None:
    journal = Journal.open(LmdbStore.open(folder), 1)
    frames = {path: codec.compress(data) for path, data in files.items()}
    entries = [
        NewRecord(OutsideWritten(path, one.blob, one.size, 0o644, "captured"), OUTSIDE, 1, BatchId(seq))
        for seq, (path, one) in enumerate(frames.items(), 1)
    ]
    journal.append(entries, [(one, path) for path, one in frames.items()])
    journal.close()


def compact(folder: Path, shared: Path | None, last: str = "") -> None:
    def step(name: str) -> None:
        if name == last:
            os.kill(os.getpid(), signal.SIGKILL)

    journal = Journal.open(LmdbStore.open(folder), 1)
    compaction = journal.store.compacting(step)
    compaction.copy(shared=[str(shared / "db")] if shared is not None else ())
    compaction.finish()
    compaction.release()
    journal.close()


def killed(folder: Path, shared: Path, last: str) -> None:
    child = os.fork()
    if child == 0:
        try:
            compact(folder, shared, last)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def require_whole(folder: Path, files: dict[str, bytes]) -> set[bytes]:
    """All bytes are there, and no pack that nothing names; return the names of the packs."""
    journal = Journal.open(LmdbStore.open(folder), 2)
    assert list(check(journal.store)) == []
    with journal.store.reading() as r:
        assert all(blobs.get(r, blob_id(data)) == data for data in files.values())
        named = {name for _, name in r.scan("packs")}
    journal.close()
    assert packs.names(folder / "db") == named
    assert [path.name for path in folder.iterdir()] == ["db"]
    return named


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_each_step_leaves_both_journals_whole(tmp_path: Path, step: str) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    captured(first, ALIKE)
    compact(first, None)
    captured(second, ALIKE | ALONE)
    killed(second, first, step)
    theirs = require_whole(first, ALIKE)
    assert len(require_whole(second, ALIKE | ALONE)) == (2 if STEPS.index(step) >= STEPS.index("compact_moved") else 0)
    compact(second, first)
    assert require_whole(second, ALIKE | ALONE) > theirs
    shutil.rmtree(first)
    require_whole(second, ALIKE | ALONE)


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_while_packs_are_given_up_loses_nothing(tmp_path: Path, step: str) -> None:
    """The first journal leaves its pack, as most of it was dropped."""
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        captured(folder, ALIKE)
        compact(folder, first if folder is second else None)
    journal = Journal.open(LmdbStore.open(first), 1)
    left = dict([*ALIKE.items()][:80])
    gone = tuple(blob_id(data) for path, data in ALIKE.items() if path not in left)
    journal.append([NewRecord(BytesGone(gone, "dropped"), OUTSIDE, 1, BatchId(journal.head + 1))], dropped=gone)
    journal.close()
    killed(first, second, step)
    require_whole(first, left)
    require_whole(second, ALIKE)
