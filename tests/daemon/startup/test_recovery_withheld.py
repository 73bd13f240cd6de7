"""What a kill left and the journal is not to hold: secrets, what was purged, what is too large. None of it is lost."""

from __future__ import annotations

import os
from contextlib import closing

import pytest
from recovering import BASE, LIMIT, NEW, Scene, written

from checkout import put
from quire_daemon.workspace.workspace import Workspace
from quire_journal.model.events import (
    BytesDisplaced,
    BytesGone,
    CaptureFailed,
    FileDeleted,
    FileMoved,
    FileWritten,
)
from quire_journal.model.ids import blob_id
from quire_journal.storage.blobs import blobs


def test_what_was_purged_and_a_kill_left_in_a_temporary_file_is_not_journaled_again(scene: Scene) -> None:
    """The file that an edit displaces stands there for a second, and a purge waits for that; a kill does not."""
    scene.recorder.note(BytesGone((blob_id(BASE),), "purged", ("f.txt",)))
    scene.recorder.commit()
    with scene.recorder.journal.store.writing() as w:
        blobs.drop(w, blob_id(BASE))
    (scene.root / ".quire/tmp/12.dead.0").write_bytes(BASE)
    scene.recover()
    assert not (scene.root / ".quire/tmp/12.dead.0").exists()
    with scene.recorder.history() as history:
        assert not history.holds(blob_id(BASE))


def test_a_secret_that_was_to_be_written_is_not_journaled_because_a_kill_left_it_in_a_temporary_file(
    scene: Scene,
) -> None:
    secret = b"KEY=5678\n"
    scene.promise(FileWritten(".env", blob_id(secret), len(secret), 0o600, uncaptured="secret"))
    left = scene.left()
    left.write_bytes(secret)
    scene.recover()
    assert not left.exists()
    with scene.recorder.history() as history:
        assert not history.holds(blob_id(secret))


def test_a_move_of_a_file_that_the_journal_does_not_hold_is_finished(scene: Scene) -> None:
    """It was left where it was, when others of its batch were made, and was then told as somebody's doing."""
    secret = b"KEY=5678\n"
    (scene.root / ".env").write_bytes(secret)
    (scene.root / ".env").chmod(0o600)
    base = scene.recorder.note(CaptureFailed(".env", "secret", len(secret), blob_id(secret), 0o600, "captured"))
    scene.recorder.commit()
    scene.promise(
        FileMoved(".env", "old.env", b"", len(secret), 0o600, base, inode=os.stat(scene.root / ".env").st_ino)
    )
    assert scene.recover() == 1
    assert not (scene.root / ".env").exists()
    assert (scene.root / "old.env").read_bytes() == secret
    assert scene.recover() == 0


def kept_aside(scene: Scene) -> list[tuple[str, str, bytes]]:
    """(path, why the journal does not have them, bytes) of what was displaced and put aside."""
    with scene.recorder.history() as history:
        events = [record.event() for record in history.records()]
        said = [event for event in events if isinstance(event, BytesDisplaced)]
        assert not any(history.holds(event.blob) for event in said)
    return [(event.path, event.uncaptured, (scene.root / event.kept).read_bytes()) for event in said]


def test_a_secret_that_somebody_saved_and_a_kill_left_in_a_temporary_file_is_put_aside_and_not_journaled(
    scene: Scene,
) -> None:
    """The only copy: nothing removes it, and the journal has its hash and says where it is."""
    base = scene.recorder.note(CaptureFailed(".env", "secret", 9, blob_id(b"KEY=1234\n"), 0o600))
    scene.promise(FileWritten(".env", blob_id(NEW), len(NEW), 0o600, base, inode=1, uncaptured="secret"))
    seq = scene.recorder.journal.head
    (scene.root / ".env").write_bytes(BASE)
    scene.left(".withheld").write_bytes(b"KEY=theirs\n")
    (scene.root / f".quire/tmp/{seq}.dead.1.old").write_bytes(b"key = AKIA\n")
    scene.recover()
    assert os.listdir(scene.root / ".quire/tmp") == []
    kept = [(".env", "secret", b"KEY=theirs\n"), (".env", "secret", b"key = AKIA\n")]
    assert kept_aside(scene) == kept
    assert {path.stat().st_mode & 0o777 for path in (scene.root / ".quire/displaced").iterdir()} == {0o600}
    scene.recover()
    assert kept_aside(scene) == kept


def test_a_secret_for_which_there_is_no_place_keeps_no_daemon_from_starting_and_stays_where_it_is(scene: Scene) -> None:
    left = scene.root / ".quire/tmp/1.dead.0.withheld"
    left.write_bytes(b"KEY=theirs\n")
    aside = scene.root / ".quire/displaced"
    aside.write_bytes(b"no folder")
    scene.promise(written(scene), NEW)
    assert scene.recover() == 1
    assert left.read_bytes() == b"KEY=theirs\n"
    assert kept_aside(scene) == []

    aside.unlink()
    scene.recover()
    assert [data for _, _, data in kept_aside(scene)] == [b"KEY=theirs\n"]
    assert not left.exists()


def test_what_was_written_late_into_a_secret_that_was_to_go_stays_where_there_is_no_place_for_it(scene: Scene) -> None:
    base = scene.recorder.note(CaptureFailed(".env", "secret", 4, blob_id(b"old\n"), 0o600))
    scene.recorder.commit()
    left = scene.root / f".quire/tmp/{base + 1}.dead.0"
    left.write_bytes(b"KEY=theirs\n")
    scene.promise(FileDeleted(".env", base, "delete", left.stat().st_ino))
    (scene.root / ".quire/displaced").write_bytes(b"no folder")
    scene.recover()
    assert left.read_bytes() == b"KEY=theirs\n"


def test_a_secret_that_was_to_be_written_is_not_journaled_where_a_kill_came_before_its_record(scene: Scene) -> None:
    """The file of a large one is written while its record is committed, and only its name tells what it is."""
    with closing(Workspace(scene.root)) as dying:
        dying.stage(put(dying, ".env", b"KEY=5678\n", seq=99, withheld=True))
    scene.recover()
    assert [(why, data) for _, why, data in kept_aside(scene)] == [("secret", b"KEY=5678\n")]


def test_a_secret_that_came_out_of_a_removal_is_put_back_and_not_journaled(scene: Scene) -> None:
    base = scene.recorder.note(CaptureFailed(".env", "secret", 9, blob_id(b"KEY=1234\n"), 0o600))
    scene.promise(FileDeleted(".env", base))
    scene.left().write_bytes(b"KEY=theirs\n")
    scene.recover()
    assert (scene.root / ".env").read_bytes() == b"KEY=theirs\n"
    with scene.recorder.history() as history:
        head = history.file(".env")
        assert head is not None
        assert (head.blob, head.uncaptured) == (blob_id(b"KEY=theirs\n"), "secret")
        assert not history.holds(head.blob)


def test_what_the_journal_was_not_to_hold_is_not_journaled_because_a_kill_left_it_in_a_temporary_file(
    scene: Scene,
) -> None:
    """Who wrote over it was told that there is no undo (`allow_uncaptured`)."""
    secret = b"KEY=1234\n"
    base = scene.recorder.note(CaptureFailed(".env", "secret", len(secret), blob_id(secret), 0o600))
    scene.promise(FileWritten(".env", blob_id(NEW), len(NEW), 0o600, base), NEW)
    (scene.root / ".env").write_bytes(NEW)
    scene.left().write_bytes(secret)
    scene.recover()
    assert (scene.root / ".env").read_bytes() == NEW
    with scene.recorder.history() as history:
        assert not history.holds(blob_id(secret))


@pytest.mark.parametrize("is_base", [True, False])
def test_of_what_is_larger_than_what_is_captured_only_the_very_file_that_was_to_go_is_removed(
    scene: Scene, is_base: bool
) -> None:
    """Gigabytes that nobody sees would lie there for good."""
    large = scene.root / "large"
    with large.open("wb") as file:
        file.truncate(LIMIT + 1)
    base = scene.recorder.note(CaptureFailed("large", "too_large", LIMIT + 1, b"", 0o644))
    inode = large.stat().st_ino if is_base else 1
    scene.promise(FileDeleted("large", base, inode=inode))
    left = scene.left()
    large.rename(left)
    scene.recover()
    assert not left.exists()
    aside = [event.kept for event in displaced(scene)]
    assert [(scene.root / kept).stat().st_size for kept in aside] == ([] if is_base else [LIMIT + 1])
    with scene.recorder.history() as history:
        assert not history.holds(blob_id(bytes(LIMIT + 1)))


def displaced(scene: Scene) -> list[BytesDisplaced]:
    with scene.recorder.history() as history:
        events = [record.event() for record in history.records()]
    return [event for event in events if isinstance(event, BytesDisplaced)]


@pytest.mark.parametrize("moved", [False, True])
def test_a_large_file_of_others_that_a_kill_left_is_put_aside_unread_and_the_log_tells_of_it(
    scene: Scene, moved: bool
) -> None:
    """A kill before the record of it left it where nobody looks, and nothing told of it."""
    scene.promise(written(scene), NEW)
    left = scene.left()
    with left.open("wb") as file:
        file.truncate(LIMIT + 1)
    inode = left.stat().st_ino
    if moved:
        scene.workspace.move_aside("f.txt", left.name)
    for _ in range(2):
        scene.recover()
        (told,) = displaced(scene)
        assert (told.path, told.size, told.why, told.uncaptured) == ("f.txt", LIMIT + 1, "swap", "too_large")
        assert (scene.root / told.kept).stat().st_ino == inode
        assert len(os.listdir(scene.root / ".quire/displaced")) == 1
        assert not left.exists()
    with scene.recorder.history() as history:
        assert not history.holds(blob_id(bytes(LIMIT + 1)))


@pytest.mark.parametrize("written", [False, True])
def test_a_large_file_that_a_kill_left_and_whose_bytes_the_journal_has_is_put_nowhere_unless_it_is_written(
    scene: Scene, written: bool
) -> None:
    """`max_bytes` was larger when it was captured."""
    large = b"large\n" * LIMIT
    scene.promise(FileWritten("new", blob_id(large), len(large), 0o644), large)
    left = scene.left()
    left.write_bytes(large)
    with left.open("ab") as late:
        if not written:
            late.close()
        scene.recover()
        if written:
            late.write(b"late\n")
    assert not left.exists()
    aside = [(scene.root / told.kept).read_bytes()[-5:] for told in displaced(scene)]
    assert aside == ([b"late\n"] if written else [])


def test_the_part_of_a_secret_that_a_kill_left_in_the_folder_of_what_is_put_aside_is_removed(scene: Scene) -> None:
    aside = scene.root / ".quire/displaced"
    aside.mkdir(0o700)
    for name in (".env.0011.deadbeef.part", "notes.part", "x"):
        (aside / name).write_bytes(b"KEY=12")
    scene.recover()
    assert sorted(os.listdir(aside)) == ["notes.part", "x"]
