"""The image of the file after the last commit: what shows that nobody touched it, and what does not."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from quire_journal.journal import Journal, NewRecord
from quire_journal.model.events import CheckpointNamed, WriterIntroduced
from quire_journal.model.ids import BatchId, WriterId
from quire_journal.storage import afterimage
from quire_journal.storage.afterimage import Afterimage, Image, Looks, fits
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.storage.port import u64

BOOT = "874529f5-8c2b-4daf-8dc7-c7e94c5a7b00"
THEN = 1_795_132_800_000_000_000
SECOND = 1_000_000_000
LOOKS = Looks(1, 2, 40960, THEN)
STILL = Image(BOOT, False, 0, LOOKS)
IN_COMMIT = Image(BOOT, False, THEN + 5 * SECOND, LOOKS)


def changed(seconds: float, size: int = 40960) -> Looks:
    return LOOKS._replace(mtime_ns=THEN + int(seconds * SECOND), size=size)


@pytest.mark.parametrize(
    ("image", "boot", "now", "believed"),
    [
        (STILL, BOOT, LOOKS, True),
        (STILL, "another", LOOKS, False),  # the machine was started anew: pages may be lost or torn
        (STILL._replace(boot=""), "", LOOKS, False),  # the system does not say
        (STILL, BOOT, changed(0.001), False),  # somebody wrote to it
        (STILL, BOOT, LOOKS._replace(size=4096), False),
        (STILL, BOOT, LOOKS._replace(inode=3), False),  # another file stands there
        (IN_COMMIT, BOOT, LOOKS, True),  # killed before the commit wrote
        (IN_COMMIT, BOOT, changed(5.02, 81920), True),  # and while it did
        (IN_COMMIT, BOOT, changed(4.99), True),  # the kernel's clock goes in steps
        (IN_COMMIT, BOOT, changed(5.02, 4096), False),  # a commit cuts nothing off
        (IN_COMMIT, BOOT, changed(600), False),  # long after it
        (IN_COMMIT, BOOT, changed(2), False),  # not in it
    ],
)
def test_a_file_is_believed_when_it_is_as_its_daemon_left_it_on_the_same_boot(
    image: Image, boot: str, now: Looks, believed: bool
) -> None:
    assert fits(image, boot, now) is believed


def note(journal: Journal, name: str) -> None:
    seq = journal.head + 1
    journal.append([NewRecord(CheckpointNamed(name, 1), WriterId(1), seq, BatchId(seq))])


def test_the_image_follows_every_commit_and_a_change_by_others_shows(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path)
    store.leave_image(unproven=False)
    journal = Journal.open(store, 1)
    journal.append([NewRecord(WriterIntroduced(1, uid=1000, agent="ann"), WriterId(0), 1, BatchId(1))])
    data, path = tmp_path / "db" / "data.mdb", tmp_path / afterimage.NAME
    for n in range(5):
        note(journal, f"c{n}")
        journal.publish()
        image = afterimage.read(path)
        assert image is not None
        assert (image.boot, image.unproven, image.begun_ns) == (afterimage.boot_id(), False, 0)
        assert image.looks == Looks.of(data)
    with store.writing() as w:
        w.put("seen", u64(1), b"x")
        assert afterimage.read(path) == image, "nothing is written before the commit"
    compaction = store.compacting()
    compaction.copy()
    compaction.finish()
    compaction.release()
    image = afterimage.read(path)
    assert image is not None
    assert image.looks == Looks.of(data), "the file that a compaction puts in its place"
    journal.close()
    assert afterimage.read(path) == image
    before = os.stat(data)
    os.utime(data, ns=(before.st_atime_ns, time.time_ns()))
    assert not fits(image, afterimage.boot_id(), Looks.of(data))


def test_an_image_that_is_damaged_cut_off_or_dropped_is_none(tmp_path: Path) -> None:
    data, path = tmp_path / "data", tmp_path / "image"
    data.write_bytes(b"x" * 100)
    image = Afterimage(path, data, unproven=True)
    image.committing()
    found = afterimage.read(path)
    assert found is not None
    assert found.unproven
    assert found.begun_ns
    sound = path.read_bytes()
    for at in range(len(sound)):
        path.write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
        assert afterimage.read(path) is None
    path.write_bytes(sound[:-1])
    assert afterimage.read(path) is None
    path.write_bytes(sound)
    assert afterimage.read(path) == found
    image.drop()
    image.committed()
    assert not path.exists()
