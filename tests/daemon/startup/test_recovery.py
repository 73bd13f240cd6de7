"""After a stop that was not clean: what the log promised is finished, confirmed, or left to whoever wrote after it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from recovering import BASE, LIMIT, NEW, THEIRS, Scene, written

from quire_daemon.engine.perform import IN_PART
from quire_daemon.ops.daemon_log import Log
from quire_daemon.startup.recovery import recover
from quire_daemon.startup.recovery_context import RecoveryContext
from quire_daemon.workspace.workspace import Workspace
from quire_journal.model.events import (
    FOLDER,
    BatchUndone,
    FileDeleted,
    FileMoved,
    FileWritten,
    OutsideDeleted,
    OutsideMoved,
    OutsideWritten,
    WritesAbandoned,
)
from quire_journal.model.ids import WriterId, blob_id


def test_a_write_that_never_began_is_finished(scene: Scene) -> None:
    scene.promise(written(scene), NEW)
    assert scene.recover() == 1
    assert (scene.root / "f.txt").read_bytes() == NEW
    assert scene.unsettled() == []


@pytest.mark.parametrize("there", [b"", THEIRS], ids=["free", "taken"])
def test_a_file_that_was_to_come_back_under_another_name_comes_back(scene: Scene, there: bytes) -> None:
    """Whatever stands under the name by which it went."""
    gone = scene.base_seq + 1
    scene.promise(FileDeleted("f.txt", scene.base_seq, inode=scene.inode))
    if there:
        (scene.root / "f.txt").write_bytes(there)
    else:
        (scene.root / "f.txt").unlink()
    scene.promise(FileMoved("f.txt", "g.txt", blob_id(NEW), len(NEW), 0o640, gone), NEW)
    assert scene.recover() == 1
    assert (scene.root / "g.txt").read_bytes() == NEW
    assert (scene.root / "g.txt").stat().st_mode & 0o777 == 0o640
    assert not there or (scene.root / "f.txt").read_bytes() == there
    assert scene.recover() == 0


def test_a_move_that_was_to_change_the_mode_too_is_finished_with_it(scene: Scene) -> None:
    moved = FileMoved("f.txt", "g.txt", blob_id(BASE), len(BASE), 0o755, scene.base_seq, inode=scene.inode)
    scene.promise(moved)
    assert scene.recover() == 1
    assert not (scene.root / "f.txt").exists()
    assert (scene.root / "g.txt").read_bytes() == BASE
    assert (scene.root / "g.txt").stat().st_mode & 0o777 == 0o755
    assert scene.recover() == 0


class Noting(Workspace):
    """Notes of which names it was asked to make them last."""

    def sync_folder(self, path: str) -> None:
        self.lasting = [*getattr(self, "lasting", []), path]
        super().sync_folder(path)


def test_a_folder_that_a_kill_left_without_its_mode_gets_it(scene: Scene) -> None:
    scene.promise(FileWritten("a/b/new.txt", blob_id(NEW), len(NEW), 0o644), NEW)
    scene.root.chmod(0o2755)
    (scene.root / "a").mkdir(0o700)
    assert scene.recover() == 1
    assert [(scene.root / name).stat().st_mode & 0o7777 for name in ("a", "a/b")] == [0o2755] * 2
    assert (scene.root / "a/b/new.txt").read_bytes() == NEW


@pytest.mark.parametrize("known", [True, False])
def test_a_folder_that_somebody_keeps_to_himself_stays_so(scene: Scene, known: bool) -> None:
    scene.promise(FileWritten("a/new.txt", blob_id(NEW), len(NEW), 0o644), NEW)
    (scene.root / "a").mkdir(0o700)
    if known:
        scene.recorder.note(OutsideWritten("a", b"", 0, 0o700, "captured", entry=FOLDER))
        scene.recorder.commit()
    else:
        (scene.root / "a/theirs.txt").write_bytes(THEIRS)
    assert scene.recover() == 1
    assert (scene.root / "a").stat().st_mode & 0o7777 == 0o700


def test_what_was_finished_is_written_down_at_once(scene: Scene) -> None:
    """A power cut that follows finds no reason to ask for writes of an hour ago, which are called settled then."""
    batch = scene.recorder.next_seq
    scene.recorder.note_blob(NEW, "f.txt")
    scene.recorder.note(written(scene), WriterId(1), batch)
    scene.recorder.note(FileMoved("f.txt", "to/g.txt", blob_id(NEW), len(NEW), 0o644, batch), WriterId(1), batch)
    scene.recorder.commit()
    with closing(Noting(scene.root)) as workspace:
        assert recover(RecoveryContext(scene.recorder, workspace, Log(), LIMIT)) == 2
        assert sorted(workspace.lasting) == ["f.txt", "to/g.txt"]


def test_a_write_that_was_done_is_confirmed_and_not_done_again(scene: Scene) -> None:
    scene.promise(written(scene), NEW)
    (scene.root / "swapped").write_bytes(NEW)
    (scene.root / "swapped").rename(scene.root / "f.txt")
    inode = scene.inode
    assert scene.recover() == 0
    assert scene.inode == inode
    assert scene.unsettled() == []


def test_what_somebody_wrote_meanwhile_stays(scene: Scene) -> None:
    scene.promise(written(scene), NEW)
    (scene.root / "f.txt").write_bytes(THEIRS)
    assert scene.recover() == 0
    assert (scene.root / "f.txt").read_bytes() == THEIRS
    assert scene.unsettled() == []


def test_a_base_that_somebody_put_back_after_our_write_stays(scene: Scene) -> None:
    scene.promise(written(scene), NEW)
    (scene.root / "again").write_bytes(BASE)
    (scene.root / "again").rename(scene.root / "f.txt")
    assert scene.recover() == 0
    assert (scene.root / "f.txt").read_bytes() == BASE


def test_a_creation_is_finished_unless_something_stands_there(scene: Scene) -> None:
    event = FileWritten("folder/made.txt", blob_id(NEW), len(NEW), 0o640)
    scene.promise(event, NEW)
    assert scene.recover() == 1
    made = scene.root / "folder/made.txt"
    assert (made.read_bytes(), made.stat().st_mode & 0o777) == (NEW, 0o640)


def test_a_file_that_somebody_removed_after_it_was_made_stays_away_where_the_log_tells_of_that(scene: Scene) -> None:
    """Nobody had said yet that the write was on disk."""
    scene.promise(FileWritten("g.txt", blob_id(NEW), len(NEW), 0o644), NEW)
    scene.recorder.note(OutsideDeleted("g.txt", "watched"))
    scene.recorder.commit()
    assert scene.recover() == 0
    assert not (scene.root / "g.txt").exists()


def test_a_file_that_somebody_moved_back_stays_there_where_the_log_tells_of_that(scene: Scene) -> None:
    moved = FileMoved("f.txt", "g.txt", blob_id(BASE), len(BASE), 0o644, scene.base_seq, inode=scene.inode)
    scene.promise(moved)
    scene.recorder.note(OutsideMoved("g.txt", "f.txt", blob_id(BASE), len(BASE), 0o644, "watched"))
    scene.recorder.commit()
    assert scene.recover() == 0
    assert (scene.root / "f.txt").read_bytes() == BASE


def test_a_creation_gives_way_to_a_file_that_came_first(scene: Scene) -> None:
    scene.promise(FileWritten("made.txt", blob_id(NEW), len(NEW), 0o644), NEW)
    (scene.root / "made.txt").write_bytes(THEIRS)
    assert scene.recover() == 0
    assert (scene.root / "made.txt").read_bytes() == THEIRS


def test_a_removal_is_finished(scene: Scene) -> None:
    scene.promise(FileDeleted("f.txt", scene.base_seq, inode=scene.inode))
    assert scene.recover() == 1
    assert not (scene.root / "f.txt").exists()


def test_a_removal_spares_what_was_written_meanwhile(scene: Scene) -> None:
    scene.promise(FileDeleted("f.txt", scene.base_seq, inode=scene.inode))
    (scene.root / "f.txt").write_bytes(THEIRS)
    assert scene.recover() == 0
    assert (scene.root / "f.txt").read_bytes() == THEIRS


def test_a_move_is_finished_unless_the_new_name_is_taken(scene: Scene) -> None:
    moved = FileMoved("f.txt", "g.txt", blob_id(BASE), len(BASE), 0o644, scene.base_seq, inode=scene.inode)
    scene.promise(moved)
    assert scene.recover() == 1
    assert (scene.root / "g.txt").read_bytes() == BASE
    assert not (scene.root / "f.txt").exists()


def test_a_move_never_overwrites(scene: Scene) -> None:
    moved = FileMoved("f.txt", "g.txt", blob_id(BASE), len(BASE), 0o644, scene.base_seq, inode=scene.inode)
    scene.promise(moved)
    (scene.root / "g.txt").write_bytes(THEIRS)
    assert scene.recover() == 0
    assert (scene.root / "g.txt").read_bytes() == THEIRS
    assert (scene.root / "f.txt").read_bytes() == BASE


def test_an_undo_of_which_the_log_has_only_a_part_was_never_begun(scene: Scene) -> None:
    """Its records come in portions, and what ends it (`BatchUndone`) with the last; before that no file is written."""
    batch = scene.recorder.next_seq
    written = FileWritten("f.txt", blob_id(NEW), len(NEW), 0o644, scene.base_seq, "undo", scene.inode)
    scene.recorder.note_blob(NEW, "f.txt")
    scene.recorder.note(written, WriterId(1), batch)
    scene.recorder.commit()
    assert scene.recover() == 0
    assert (scene.root / "f.txt").read_bytes() == BASE
    with scene.recorder.history() as history:
        head = history.file("f.txt")
        assert head is not None
        assert (head.seq, history.batch_state(batch), history.unsettled()) == (scene.base_seq, "abandoned", [])
    assert scene.recover() == 0


@pytest.mark.parametrize("done", range(4))
def test_files_that_go_round_in_a_circle_are_moved_on_from_where_they_were(scene: Scene, done: int) -> None:
    """Each waits for the name of another to be free, which it was not when the process died."""
    (scene.root / "g.txt").write_bytes(THEIRS)
    scene.recorder.note_blob(THEIRS, "g.txt")
    other = scene.recorder.note(OutsideWritten("g.txt", blob_id(THEIRS), len(THEIRS), 0o644, "captured"))
    scene.recorder.commit()
    inode, others = scene.inode, (scene.root / "g.txt").stat().st_ino
    batch = scene.recorder.next_seq
    moves = [("f.txt", "aside"), ("g.txt", "f.txt"), ("aside", "g.txt")]
    for (path, to), data, base, moved in zip(
        moves, (BASE, THEIRS, BASE), (scene.base_seq, other, batch), (inode, others, inode), strict=True
    ):
        event = FileMoved(path, to, blob_id(data), len(data), 0o644, base, "undo", moved)
        scene.recorder.note(event, WriterId(1), batch)
    scene.recorder.note(BatchUndone((1,)), WriterId(1), batch)
    scene.recorder.commit()
    for path, to in moves[:done]:
        (scene.root / path).rename(scene.root / to)
    assert scene.recover() == 3 - done
    assert {path.name: path.read_bytes() for path in scene.root.iterdir() if path.is_file()} == {
        "f.txt": THEIRS,
        "g.txt": BASE,
    }
    assert scene.unsettled() == []
    assert scene.recover() == 0


def test_two_promises_in_a_row_end_with_the_second(scene: Scene) -> None:
    scene.promise(written(scene), NEW)
    scene.recover()
    with scene.recorder.history() as history:
        head = history.file("f.txt")
    assert head is not None
    scene.promise(FileWritten("f.txt", blob_id(THEIRS), len(THEIRS), 0o644, head.seq, inode=scene.inode), THEIRS)
    assert scene.recover() == 1
    assert (scene.root / "f.txt").read_bytes() == THEIRS


@pytest.mark.parametrize("later", ["an edit", "a removal", "a new file behind a move"])
def test_a_write_on_which_a_later_one_was_decided_was_on_disk_and_is_not_made_again(scene: Scene, later: str) -> None:
    """Nobody had said so of either. What the first replaced seems to stand there: its number was given away again."""
    if later == "a new file behind a move":
        moved = FileMoved("f.txt", "g.txt", blob_id(BASE), len(BASE), 0o644, scene.base_seq, inode=scene.inode)
        scene.promise(moved)
        first = scene.recorder.journal.head
        scene.promise(FileWritten("f.txt", blob_id(BASE), len(BASE), 0o644, first))
        scene.promise(FileDeleted("g.txt", first, inode=scene.inode + 1))
        left = [("f.txt", BASE)]
    else:
        scene.promise(written(scene), NEW)
        first, inode = scene.recorder.journal.head, scene.inode + 1
        if later == "an edit":
            scene.promise(FileWritten("f.txt", blob_id(BASE), len(BASE), 0o644, first, inode=inode))
        else:
            scene.promise(FileDeleted("f.txt", first, inode=inode))
            scene.promise(FileWritten("f.txt", blob_id(BASE), len(BASE), 0o644, scene.recorder.journal.head))
        left = [("f.txt", BASE)]
    assert scene.recover() == 0
    assert [(path.name, path.read_bytes()) for path in scene.root.iterdir() if path.is_file()] == left
    assert scene.unsettled() == []


def test_recovering_twice_is_recovering_once(scene: Scene) -> None:
    scene.promise(written(scene), NEW)
    scene.recover()
    inode = scene.inode
    assert scene.recover() == 0
    assert scene.inode == inode


def test_a_save_that_came_out_of_a_swap_is_put_back(scene: Scene) -> None:
    scene.promise(written(scene), NEW)
    (scene.root / "f.txt").write_bytes(NEW)
    scene.left().write_bytes(THEIRS)
    puts_theirs_back(scene)


def test_a_save_that_came_out_of_a_removal_is_put_back(scene: Scene) -> None:
    scene.promise(FileDeleted("f.txt", scene.base_seq, inode=scene.inode))
    scene.left().write_bytes(THEIRS)
    (scene.root / "f.txt").unlink()
    puts_theirs_back(scene)


def puts_theirs_back(scene: Scene) -> None:
    scene.recover()
    assert (scene.root / "f.txt").read_bytes() == THEIRS
    with scene.recorder.history() as history:
        head = history.file("f.txt")
    assert head is not None
    assert (head.blob, head.type) == (blob_id(THEIRS), "outside")
    assert scene.unsettled() == []


def test_a_base_whose_record_is_lost_is_not_taken_for_a_save_that_came_out_of_a_swap(scene: Scene) -> None:
    """A salvage has lost the record. The checkout comes from a copy, so that the base has another inode by now."""
    lost = scene.base_seq + 100
    scene.promise(FileWritten("f.txt", blob_id(NEW), len(NEW), 0o644, lost, inode=scene.inode + 1), NEW)
    (scene.root / "f.txt").write_bytes(NEW)
    scene.left().write_bytes(THEIRS)
    scene.recover()
    assert (scene.root / "f.txt").read_bytes() == NEW
    with scene.recorder.history() as history:
        assert history.holds(blob_id(THEIRS))


def test_a_base_whose_record_is_lost_is_not_taken_for_a_save_that_came_out_of_a_removal(scene: Scene) -> None:
    lost = scene.base_seq + 100
    scene.promise(FileDeleted("f.txt", lost, inode=scene.inode + 1))
    (scene.root / "f.txt").unlink()
    scene.left().write_bytes(THEIRS)
    scene.recover()
    assert not (scene.root / "f.txt").exists()
    with scene.recorder.history() as history:
        assert history.holds(blob_id(THEIRS))


def test_what_a_late_writer_put_into_the_replaced_file_never_takes_an_edit_back(scene: Scene) -> None:
    scene.promise(written(scene), NEW)
    (scene.root / "f.txt").rename(scene.left(".old"))
    scene.left(".old").write_bytes(THEIRS)
    (scene.root / "f.txt").write_bytes(NEW)
    scene.recover()
    assert (scene.root / "f.txt").read_bytes() == NEW
    with scene.recorder.history() as history:
        assert history.bytes_of(blob_id(THEIRS)) == THEIRS


def test_bytes_that_only_a_temporary_file_holds_are_journaled_before_it_goes(scene: Scene) -> None:
    (scene.root / ".quire/tmp/12.dead.0").write_bytes(THEIRS)
    scene.recover()
    assert not (scene.root / ".quire/tmp/12.dead.0").exists()
    with scene.recorder.history() as history:
        assert history.bytes_of(blob_id(THEIRS)) == THEIRS


def test_a_temporary_file_with_a_number_that_no_record_can_have_keeps_no_daemon_from_starting(scene: Scene) -> None:
    name = f"{'9' * 30}.dead.0"
    (scene.root / ".quire/tmp" / name).write_bytes(THEIRS)
    scene.recover()
    assert os.listdir(scene.root / ".quire/tmp") == []
    with scene.recorder.history() as history:
        assert history.bytes_of(blob_id(THEIRS)) == THEIRS


@contextmanager
def without_root(scene: Scene) -> Iterator[None]:
    """Modes count for all but root: in the block the owner of the checkout is who runs the tests, or nobody."""
    if os.geteuid() != 0:
        yield
        return
    for path in (scene.root, *scene.root.rglob("*")):
        os.chown(path, 65534, -1)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("closed", ["f.txt", "folder"])
def test_what_is_closed_to_the_daemon_by_now_keeps_it_from_nothing_else(scene: Scene, closed: str) -> None:
    """Somebody ran `chmod 000` on a file, or a folder, after the kill. It was said to be on disk, which nobody knew."""
    (scene.root / "folder").mkdir()
    first = scene.promise(written(scene), NEW)
    second = scene.promise(FileWritten("folder/made.txt", blob_id(NEW), len(NEW), 0o640), NEW)
    (scene.root / closed).chmod(0)
    with without_root(scene):
        assert scene.recover() == 1
    assert scene.unsettled() == ([first, second] if closed == "f.txt" else [second])
    assert (scene.root / "f.txt").read_bytes() == (BASE if closed == "f.txt" else NEW)
    assert (scene.root / "folder/made.txt").exists() == (closed == "f.txt")
    (scene.root / closed).chmod(0o700)
    assert scene.recover() == 1
    assert scene.unsettled() == []
    assert {(scene.root / name).read_bytes() for name in ("f.txt", "folder/made.txt")} == {NEW}


def test_a_write_that_a_start_cannot_make_is_not_said_to_have_been_made(scene: Scene) -> None:
    """Its file is read-only by now: the log called the write settled, and `op_status` said `applied`."""
    seq = scene.promise(written(scene), NEW)
    (scene.root / "f.txt").chmod(0o400)
    with without_root(scene):
        assert scene.recover() == 0
    assert (scene.root / "f.txt").read_bytes() == BASE
    with scene.recorder.history() as history:
        assert (history.batch_state(seq), history.unsettled()) == ("abandoned", [])


def test_a_write_that_was_taken_back_alone_is_not_made_by_a_start(scene: Scene) -> None:
    """Others of its batch could not be taken back, and stand."""
    (scene.root / "g.txt").write_bytes(NEW)
    recorder = scene.recorder
    recorder.note_blob(NEW, "f.txt")
    batch = recorder.note(written(scene), WriterId(1))
    stands = recorder.note(FileWritten("g.txt", blob_id(NEW), len(NEW), 0o644), WriterId(1), batch)
    recorder.note(WritesAbandoned((batch,), IN_PART))
    recorder.commit()
    assert scene.recover() == 0
    assert (scene.root / "f.txt").read_bytes() == BASE
    with recorder.history() as history:
        assert (history.batch_writes(batch), history.unsettled()) == ([stands], [])


def test_a_save_whose_place_is_closed_by_now_is_in_the_journal(scene: Scene) -> None:
    scene.promise(written(scene), NEW)
    (scene.root / "f.txt").write_bytes(NEW)
    scene.left().write_bytes(THEIRS)
    (scene.root / "f.txt").chmod(0)
    with without_root(scene):
        scene.recover()
    with scene.recorder.history() as history:
        assert history.bytes_of(blob_id(THEIRS)) == THEIRS
    assert os.listdir(scene.root / ".quire/tmp") == []


def test_a_temporary_file_that_cannot_be_read_stays(scene: Scene) -> None:
    """It was closed before it was displaced, or in the second after it."""
    left = scene.root / ".quire/tmp/12.dead.0"
    left.write_bytes(THEIRS)
    left.chmod(0)
    with without_root(scene):
        scene.recover()
    assert left.read_bytes() == THEIRS


@pytest.mark.parametrize("path", [".quire.toml", "sub/.quire.toml", ".git/hooks/pre-commit", "bare/hooks/post-update"])
def test_a_promise_of_a_protected_file_is_not_kept(scene: Scene, path: str) -> None:
    """No tool makes one; a journal that was imported may hold it."""
    for name in ("HEAD", "objects/x", "refs/x"):
        (scene.root / "bare" / name).parent.mkdir(parents=True, exist_ok=True)
        (scene.root / "bare" / name).write_bytes(b"")
    scene.promise(FileWritten(path, blob_id(NEW), len(NEW), 0o755), NEW)
    assert scene.recover() == 0
    assert not (scene.root / path).exists()
    assert scene.unsettled() == []
