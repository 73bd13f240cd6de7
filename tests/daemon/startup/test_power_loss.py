"""After an end of the machine: what the file system forgot is made again, what somebody did stays."""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from quire_daemon.commit.recorder import Recorder
from quire_daemon.ops.daemon_log import Log
from quire_daemon.startup.power_loss import UNWRITTEN_NS, bring_back
from quire_daemon.startup.recovery import recover
from quire_daemon.startup.recovery_context import RecoveryContext
from quire_daemon.workspace.workspace import Workspace
from quire_journal.journal import Journal
from quire_journal.model.events import (
    FOLDER,
    LINK,
    BytesDisplaced,
    CaptureFailed,
    Event,
    FileDeleted,
    FileMoved,
    FileWritten,
    JournalSalvaged,
    ModeChanged,
    OutsideWritten,
    WritesAbandoned,
    WritesSettled,
)
from quire_journal.model.ids import Seq, WriterId, blob_id
from quire_journal.storage.memory import MemoryStore

LIMIT = 1 << 20
V0, V1, V2, THEIRS = b"v0\n", b"v1\n", b"v2\n", b"theirs\n"


@dataclass
class Clock:
    """Hardly moves until a test moves it: what is on the disk is from before, unless the test says otherwise."""

    ns: int = field(default_factory=lambda: time.time_ns() + 1_000_000_000)

    def now_ns(self) -> int:
        self.ns += 1
        return self.ns

    def mono_s(self) -> float:
        return 0.0


@dataclass
class Scene:
    """A checkout, and a log that tells of writes whose names never came to the disk."""

    root: Path
    workspace: Workspace
    recorder: Recorder
    clock: Clock

    def told(self, event: Event, data: bytes = b"", settled: bool = True) -> Seq:
        """The log tells of it, and calls it settled."""
        if data:
            self.recorder.note_blob(data, getattr(event, "path", None))
        seq = self.recorder.note(event, WriterId(1))
        if settled:
            self.recorder.note(WritesSettled(seq))
        self.recorder.commit()
        return seq

    def stood(self, path: str, data: bytes = V0) -> Seq:
        """A file that is on the disk and in the log."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(data)
        return self.told(OutsideWritten(path, blob_id(data), len(data), 0o644, "captured"), data)

    def written(self, path: str, data: bytes, base: int, inode: int | None = None, settled: bool = True) -> Seq:
        """A tool wrote `data` over what stands on the disk."""
        found = self.inode(path) if inode is None else inode
        return self.told(FileWritten(path, blob_id(data), len(data), 0o644, base, inode=found), data, settled)

    def inode(self, path: str) -> int:
        return (self.root / path).stat().st_ino

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def later(self) -> None:
        """Whoever does something to the disk now does it after all records."""
        self.clock.ns = time.time_ns() - 1_000_000_000

    def recover(self) -> int:
        return recover(RecoveryContext(self.recorder, self.workspace, Log(), LIMIT))

    def bring_back(self) -> int:
        return bring_back(RecoveryContext(self.recorder, self.workspace, Log(), LIMIT))


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    workspace, clock = Workspace(tmp_path), Clock()
    yield Scene(tmp_path, workspace, Recorder(Journal.open(MemoryStore(), clock.now_ns()), clock), clock)
    workspace.close()


def test_a_file_that_went_back_gets_the_bytes_of_its_newest_version(scene: Scene) -> None:
    v0 = scene.stood("f.txt")
    scene.written("f.txt", V1, v0)
    assert scene.bring_back() == 1
    assert scene.read("f.txt") == V1
    assert scene.bring_back() == 0


def test_of_several_writes_that_were_forgotten_the_last_counts(scene: Scene) -> None:
    v0 = scene.stood("f.txt")
    v1 = scene.written("f.txt", V1, v0)
    scene.written("f.txt", V2, v1, inode=1)  # of a file that never came to the disk under this name
    assert scene.bring_back() == 1
    assert scene.read("f.txt") == V2


def test_of_several_writes_that_nobody_called_settled_the_last_counts(scene: Scene) -> None:
    """The first was made again, over which the last could not be told from somebody's doing."""
    v0 = scene.stood("f.txt")
    v1 = scene.written("f.txt", V1, v0, settled=False)
    scene.written("f.txt", V2, v1, inode=1, settled=False)
    assert (scene.recover(), scene.bring_back()) == (0, 1)
    assert scene.read("f.txt") == V2


def test_what_an_outside_program_wrote_on_top_comes_back_with_it(scene: Scene) -> None:
    v0 = scene.stood("f.txt")
    v1 = scene.written("f.txt", V1, v0)
    scene.told(OutsideWritten("f.txt", blob_id(THEIRS), len(THEIRS), 0o644, "noticed", v1), THEIRS)
    scene.bring_back()
    assert scene.read("f.txt") == THEIRS


def test_a_file_in_a_new_folder_is_made_again(scene: Scene) -> None:
    scene.told(FileWritten("new/er/f.txt", blob_id(V1), len(V1), 0o755), V1)
    assert scene.bring_back() == 1
    assert scene.read("new/er/f.txt") == V1
    assert scene.root.joinpath("new/er/f.txt").stat().st_mode & 0o777 == 0o755


def test_a_file_in_a_folder_that_took_the_place_of_a_file_is_made_again(scene: Scene) -> None:
    v0 = scene.stood("a")
    scene.told(FileDeleted("a", v0, inode=scene.inode("a")))
    scene.told(FileWritten("a/b/f.txt", blob_id(V1), len(V1), 0o644), V1)
    assert scene.bring_back() == 2
    assert scene.read("a/b/f.txt") == V1


def test_a_file_that_took_the_place_of_a_folder_is_made_again(scene: Scene) -> None:
    """What was in there has gone, and so has the file from where that was."""
    inner, outer = scene.stood("d/in/x", V0), scene.stood("z", V1)
    scene.told(FileMoved("d/in/x", "y", blob_id(V0), len(V0), 0o644, inner, inode=scene.inode("d/in/x")))
    scene.told(FileMoved("z", "d", blob_id(V1), len(V1), 0o644, outer, inode=scene.inode("z")))
    assert scene.bring_back() == 4
    assert (scene.read("d"), scene.read("y")) == (V1, V0)
    assert not (scene.root / "z").exists()
    assert scene.bring_back() == 0


def test_a_folder_that_somebody_has_used_since_stays_where_a_file_was_to_be(scene: Scene) -> None:
    inner, outer = scene.stood("d/x", V0), scene.stood("z", V1)
    scene.told(FileMoved("d/x", "y", blob_id(V0), len(V0), 0o644, inner, inode=scene.inode("d/x")))
    scene.told(FileMoved("z", "d", blob_id(V1), len(V1), 0o644, outer, inode=scene.inode("z")))
    (scene.root / "d/theirs").write_bytes(THEIRS)
    scene.bring_back()
    assert scene.read("d/theirs") == THEIRS


def test_a_link_and_an_empty_folder_are_made_again(scene: Scene) -> None:
    scene.told(FileWritten("empty", blob_id(b""), 0, 0o750, entry=FOLDER))
    scene.told(FileWritten("link", blob_id(b"empty"), 5, 0o777, entry=LINK), b"empty")
    assert scene.bring_back() == 2
    assert os.readlink(scene.root / "link") == "empty"
    assert (scene.root / "empty").stat().st_mode & 0o777 == 0o750


def test_a_file_that_is_there_again_is_removed_again(scene: Scene) -> None:
    v0 = scene.stood("f.txt")
    scene.told(FileDeleted("f.txt", v0, inode=scene.inode("f.txt")))
    assert scene.bring_back() == 1
    assert not (scene.root / "f.txt").exists()


@pytest.mark.parametrize("same", [True, False])
def test_a_link_that_is_there_again_is_removed_again(scene: Scene, same: bool) -> None:
    (scene.root / "l").symlink_to("nowhere")
    there = scene.told(OutsideWritten("l", blob_id(b"nowhere"), 7, 0o777, "watched", entry=LINK), b"nowhere")
    scene.told(FileDeleted("l", there, inode=(scene.root / "l").lstat().st_ino))
    if not same:
        (scene.root / "l").unlink()
        (scene.root / "l").symlink_to("elsewhere")
    assert scene.bring_back() == same
    assert os.path.lexists(scene.root / "l") != same


def test_a_file_that_has_its_old_name_again_gets_the_new_one(scene: Scene) -> None:
    v0 = scene.stood("old.txt")
    scene.told(FileMoved("old.txt", "new.txt", blob_id(V0), len(V0), 0o644, v0, inode=scene.inode("old.txt")))
    assert scene.bring_back() == 2
    assert not (scene.root / "old.txt").exists()
    assert scene.read("new.txt") == V0


@pytest.mark.parametrize("free", [True, False])
def test_a_file_whose_bytes_the_journal_does_not_hold_is_moved_again_or_stays(scene: Scene, free: bool) -> None:
    """It has its old name again, and where it was removed there would be no copy of it anywhere."""
    (scene.root / ".env").write_bytes(V0)
    v0 = scene.told(CaptureFailed(".env", "secret", len(V0), blob_id(V0), 0o644))
    scene.told(FileMoved(".env", ".env.old", blob_id(V0), len(V0), 0o644, v0, inode=scene.inode(".env")))
    if not free:
        (scene.root / ".env.old").write_bytes(THEIRS)
    assert scene.bring_back() == free
    assert scene.read(".env.old" if free else ".env") == V0


def test_a_file_that_was_removed_and_whose_bytes_the_journal_does_not_hold_stays(scene: Scene) -> None:
    (scene.root / ".env").write_bytes(V0)
    v0 = scene.told(CaptureFailed(".env", "secret", len(V0), blob_id(V0), 0o644))
    scene.told(FileDeleted(".env", v0, inode=scene.inode(".env")))
    assert scene.bring_back() == 0
    assert scene.read(".env") == V0


def test_permissions_that_went_back_are_set_again(scene: Scene) -> None:
    v0 = scene.stood("f.txt")
    scene.told(ModeChanged("f.txt", blob_id(V0), len(V0), 0o755, v0))
    assert scene.bring_back() == 1
    assert (scene.root / "f.txt").stat().st_mode & 0o777 == 0o755


def test_equal_bytes_that_somebody_put_there_stay(scene: Scene) -> None:
    v0 = scene.stood("f.txt")
    scene.written("f.txt", V1, v0)
    (scene.root / "again").write_bytes(V0)
    (scene.root / "again").rename(scene.root / "f.txt")
    assert scene.bring_back() == 0
    assert scene.read("f.txt") == V0


def test_a_file_that_somebody_touched_after_the_write_stays(scene: Scene) -> None:
    """Its number alone proves little: a file system gives numbers anew."""
    scene.later()
    v0 = scene.stood("f.txt")
    scene.written("f.txt", V1, v0)
    assert scene.bring_back() == 0
    assert scene.read("f.txt") == V0


def test_what_somebody_removed_after_it_was_made_stays_away(scene: Scene) -> None:
    scene.later()
    (scene.root / "folder").mkdir()
    scene.told(FileWritten("folder/f.txt", blob_id(V1), len(V1), 0o644), V1)
    assert scene.bring_back() == 0
    assert not (scene.root / "folder/f.txt").exists()


@pytest.mark.parametrize(("took_s", "brought_back"), [(1, 1), (60, 0)])
def test_of_a_batch_that_was_forgotten_in_part_the_rest_is_made(scene: Scene, took_s: int, brought_back: int) -> None:
    """Its files come one after the other, each into a folder that the one before has changed, until all are there."""
    scene.clock.ns = time.time_ns() - took_s * 1_000_000_000
    batch = [FileWritten(f"folder/{name}", blob_id(V1), len(V1), 0o644) for name in "ab"]
    scene.recorder.note_blob(V1, "folder/a")
    last = [scene.recorder.note(event, WriterId(1)) for event in batch][-1]
    scene.recorder.commit()
    (scene.root / "folder").mkdir()
    (scene.root / "folder/a").write_bytes(V1)
    (scene.root / "folder/a").chmod(0o644)
    scene.clock.ns = time.time_ns() + 1_000_000_000
    scene.recorder.note(WritesSettled(last))
    scene.recorder.commit()
    assert scene.bring_back() == brought_back
    assert (scene.root / "folder/b").exists() == bool(brought_back)


def test_a_write_that_was_taken_back_is_not_made(scene: Scene) -> None:
    v0 = scene.stood("f.txt")
    v1 = scene.written("f.txt", V1, v0)
    scene.told(WritesAbandoned((v1,), "overtaken"))
    assert scene.bring_back() == 0
    assert scene.read("f.txt") == V0


def test_a_write_whose_bytes_were_never_kept_is_left(scene: Scene) -> None:
    v0 = scene.stood(".env")
    scene.told(FileWritten(".env", blob_id(V1), len(V1), 0o644, v0, inode=scene.inode(".env"), uncaptured="secret"))
    assert scene.bring_back() == 0
    assert scene.read(".env") == V0


def test_what_is_older_than_any_file_system_waits_is_not_asked(scene: Scene) -> None:
    v0 = scene.stood("f.txt")
    scene.written("f.txt", V1, v0)
    scene.clock.ns += UNWRITTEN_NS + 1
    scene.stood("later.txt")
    assert scene.bring_back() == 0
    assert scene.read("f.txt") == V0


def test_what_this_start_noted_before_does_not_make_the_last_writes_old(scene: Scene) -> None:
    """The machine was off for an hour; what the write path had left open is settled first, now."""
    v0 = scene.stood("f.txt")
    v1 = scene.written("f.txt", V1, v0)
    scene.clock.ns += 3_600_000_000_000
    scene.told(JournalSalvaged("a page", "db.damaged-T", v1, ()))
    scene.told(WritesAbandoned((v1 + 100,), "overtaken"))
    scene.told(BytesDisplaced("g.txt", blob_id(THEIRS), len(THEIRS), "swap"), THEIRS)
    assert scene.bring_back() == 1
    assert scene.read("f.txt") == V1


def test_nothing_is_known_of_what_was_told_at_a_time_that_is_still_to_come(scene: Scene) -> None:
    """The clock was set back: whatever was done since looks as if it had been before."""
    v0 = scene.stood("f.txt")
    scene.written("f.txt", V1, v0)
    scene.told(FileWritten("made.txt", blob_id(V1), len(V1), 0o644), V1)
    scene.clock.ns = time.time_ns() - 1_000_000_000
    assert scene.bring_back() == 0
    assert scene.read("f.txt") == V0
    assert not (scene.root / "made.txt").exists()


def test_nothing_is_known_of_what_was_told_while_the_clock_was_before_an_earlier_record(scene: Scene) -> None:
    """Such a record has the time of that one, which may be hours after the write."""
    v0 = scene.stood("f.txt")
    scene.clock.ns -= 500_000_000
    scene.written("f.txt", V1, v0)
    scene.told(FileWritten("made.txt", blob_id(V1), len(V1), 0o644), V1)
    scene.clock.ns += 500_000_000
    assert scene.bring_back() == 0
    assert scene.read("f.txt") == V0
    assert not (scene.root / "made.txt").exists()


class Noting(Workspace):
    """Notes of which names it was asked to make them last."""

    def sync_folder(self, path: str) -> None:
        self.lasting = [*getattr(self, "lasting", []), path]
        super().sync_folder(path)


def test_what_was_brought_back_is_written_down_at_once(tmp_path: Path) -> None:
    """The power may go again while it comes back, and the writes are too old by then to be asked for."""
    workspace, clock = Noting(tmp_path), Clock()
    scene = Scene(tmp_path, workspace, Recorder(Journal.open(MemoryStore(), clock.now_ns()), clock), clock)
    v0 = scene.stood("f.txt")
    scene.written("f.txt", V1, v0)
    scene.told(FileWritten("new/g.txt", blob_id(V1), len(V1), 0o644), V1)
    assert scene.bring_back() == 2
    assert sorted(workspace.lasting) == ["f.txt", "new/g.txt"]
    workspace.close()


def test_not_all_that_was_forgotten_is_held_in_memory_at_once(scene: Scene) -> None:
    """Of each file there are the old bytes and the new ones; two minutes can have seen any number of them."""
    size, files = 1 << 16, 8
    scene.clock.ns += 60_000_000_000
    written = {f"f{n}": os.urandom(size // 2).hex().encode() for n in range(files)}
    for path, data in written.items():
        scene.written(path, data, scene.stood(path, data[::-1]))
    tracemalloc.start()
    try:
        assert scene.bring_back() == files
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * files * size, "displaced files are compared with what they held for a second"
    assert {path: scene.read(path) for path in written} == written
