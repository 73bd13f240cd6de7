"""After a stop that was not clean: what the log promised is finished, confirmed, or left to whoever wrote after it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from clocks import SetClock
from hypothesis import given
from hypothesis import strategies as st
from swapping import Steps

from cases import every
from checkout import file_now, put
from quire_daemon.finishing import Finishing
from quire_daemon.handlers.base import Put
from quire_daemon.logfile import Log
from quire_daemon.recorder import Recorder
from quire_daemon.recovery import is_mixture, recover
from quire_daemon.workspace import Swapped, Workspace
from quire_journal import blobs
from quire_journal.events import (
    FOLDER,
    BytesDisplaced,
    BytesGone,
    CaptureFailed,
    FileDeleted,
    FileMoved,
    FileWritten,
    OutsideWritten,
)
from quire_journal.ids import WriterId, blob_id
from quire_journal.journal import Journal
from quire_journal.stores.memory import MemoryStore

LIMIT = 1 << 20
BASE, NEW, THEIRS = b"base\n", b"new\n", b"theirs\n"


def withheld(path: str, data: bytes) -> str:
    """As the settings have it that call `.env` a secret."""
    return "secret" if path == ".env" else "holds_secret" if b"AKIA" in data else ""


@dataclass
class Scene:
    """A checkout with one file whose base is in the journal."""

    root: Path
    workspace: Workspace
    recorder: Recorder
    base_seq: int

    def promise(self, event: FileWritten | FileDeleted | FileMoved, data: bytes = b"") -> None:
        """The log promises a write that nobody has performed."""
        if data:
            self.recorder.note_blob(data, event.path)
        self.recorder.note(event, WriterId(1))
        self.recorder.commit()

    def recover(self) -> int:
        return recover(Finishing(self.recorder, self.workspace, Log(), LIMIT, withheld))

    def unsettled(self) -> list[int]:
        with self.recorder.history() as history:
            return list(history.unsettled())

    @property
    def inode(self) -> int:
        return (self.root / "f.txt").stat().st_ino


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    (tmp_path / "f.txt").write_bytes(BASE)
    workspace = Workspace(tmp_path)
    clock = SetClock()
    recorder = Recorder(Journal.open(MemoryStore(), clock.now_ns()), clock)
    recorder.note_blob(BASE, "f.txt")
    seq = recorder.note(OutsideWritten("f.txt", blob_id(BASE), len(BASE), 0o644, "captured"))
    recorder.commit()
    yield Scene(tmp_path, workspace, recorder, seq)
    workspace.close()


def _written(scene: Scene, path: str = "f.txt") -> FileWritten:
    return FileWritten(path, blob_id(NEW), len(NEW), 0o644, scene.base_seq, inode=scene.inode)


def test_a_write_that_never_began_is_finished(scene: Scene) -> None:
    scene.promise(_written(scene), NEW)
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
    scene.promise(_written(scene), NEW)
    scene.promise(FileMoved("f.txt", "to/g.txt", blob_id(NEW), len(NEW), 0o644, scene.base_seq + 1))
    with closing(Noting(scene.root)) as workspace:
        assert recover(Finishing(scene.recorder, workspace, Log(), LIMIT)) == 2
        assert sorted(workspace.lasting) == ["f.txt", "to/g.txt"]


def test_a_write_that_was_done_is_confirmed_and_not_done_again(scene: Scene) -> None:
    scene.promise(_written(scene), NEW)
    (scene.root / "swapped").write_bytes(NEW)
    (scene.root / "swapped").rename(scene.root / "f.txt")
    inode = scene.inode
    assert scene.recover() == 0
    assert scene.inode == inode
    assert scene.unsettled() == []


def test_what_somebody_wrote_meanwhile_stays(scene: Scene) -> None:
    scene.promise(_written(scene), NEW)
    (scene.root / "f.txt").write_bytes(THEIRS)
    assert scene.recover() == 0
    assert (scene.root / "f.txt").read_bytes() == THEIRS
    assert scene.unsettled() == []


def test_a_base_that_somebody_put_back_after_our_write_stays(scene: Scene) -> None:
    scene.promise(_written(scene), NEW)
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
    scene.promise(_written(scene), NEW)
    scene.recover()
    with scene.recorder.history() as history:
        head = history.file("f.txt")
    assert head is not None
    scene.promise(FileWritten("f.txt", blob_id(THEIRS), len(THEIRS), 0o644, head.seq, inode=scene.inode), THEIRS)
    assert scene.recover() == 1
    assert (scene.root / "f.txt").read_bytes() == THEIRS


def test_recovering_twice_is_recovering_once(scene: Scene) -> None:
    scene.promise(_written(scene), NEW)
    scene.recover()
    inode = scene.inode
    assert scene.recover() == 0
    assert scene.inode == inode


def test_a_save_that_came_out_of_a_swap_is_put_back(scene: Scene) -> None:
    scene.promise(_written(scene), NEW)
    seq = scene.recorder.journal.head
    (scene.root / "f.txt").write_bytes(NEW)
    (scene.root / f".quire/tmp/{seq}.dead.0").write_bytes(THEIRS)
    scene.recover()
    assert (scene.root / "f.txt").read_bytes() == THEIRS
    with scene.recorder.history() as history:
        head = history.file("f.txt")
    assert head is not None
    assert (head.blob, head.type) == (blob_id(THEIRS), "outside")
    assert scene.unsettled() == []


def test_a_save_that_came_out_of_a_removal_is_put_back(scene: Scene) -> None:
    scene.promise(FileDeleted("f.txt", scene.base_seq, inode=scene.inode))
    seq = scene.recorder.journal.head
    (scene.root / f".quire/tmp/{seq}.dead.0").write_bytes(THEIRS)
    (scene.root / "f.txt").unlink()
    scene.recover()
    assert (scene.root / "f.txt").read_bytes() == THEIRS
    with scene.recorder.history() as history:
        head = history.file("f.txt")
    assert head is not None
    assert (head.blob, head.type) == (blob_id(THEIRS), "outside")
    assert scene.unsettled() == []


def test_what_a_late_writer_put_into_the_replaced_file_never_takes_an_edit_back(scene: Scene) -> None:
    scene.promise(_written(scene), NEW)
    seq = scene.recorder.journal.head
    (scene.root / "f.txt").rename(scene.root / f".quire/tmp/{seq}.dead.0.old")
    (scene.root / f".quire/tmp/{seq}.dead.0.old").write_bytes(THEIRS)
    (scene.root / "f.txt").write_bytes(NEW)
    scene.recover()
    assert (scene.root / "f.txt").read_bytes() == NEW
    with scene.recorder.history() as history:
        assert history.bytes_of(blob_id(THEIRS)) == THEIRS


@every(
    ("data", "is_one"),
    [(b"oldold", True), (b"newold", True), (b"ne", True), (b"new", True), (b"newer", False), (b"theirs", False)],
)
def test_only_a_mixture_of_ours_and_the_base_is_a_torn_write(data: bytes, is_one: bool) -> None:
    assert is_mixture(data, b"oldold", b"new") is is_one


@given(st.data())
def test_whichever_pages_a_power_cut_keeps_it_is_a_torn_write(data: st.DataObject) -> None:
    old, new = data.draw(st.binary(max_size=12)), data.draw(st.binary(max_size=12))
    size = max(len(old), len(new)) if data.draw(st.booleans()) else len(new)
    before, after = old.ljust(size, b"\0")[:size], (new + old[len(new) :]).ljust(size, b"\0")[:size]
    kept = data.draw(st.lists(st.booleans(), min_size=6, max_size=6))
    pages = [(after if is_kept else before)[2 * n : 2 * n + 2] for n, is_kept in enumerate(kept)]
    assert is_mixture(b"".join(pages), old, new)


class Killed(BaseException):
    """In the place of a kill: nothing handles it."""


@pytest.mark.parametrize("new", [b"new\n", b"a longer one\n", b"base"], ids=["shorter", "longer", "cut"])
@pytest.mark.parametrize("taken_back", [False, True])
def test_a_kill_in_a_write_into_the_file_itself_leaves_no_mixture(scene: Scene, new: bytes, taken_back: bool) -> None:
    """It has two names. Taken back it is where another program was faster at another file of the same request."""
    os.link(scene.root / "f.txt", scene.root / "g.txt")
    scene.promise(msgspec.structs.replace(_written(scene), blob=blob_id(new), size=len(new)), new)
    steps = Steps()
    dying = Workspace(scene.root, steps=steps)
    staged = dying.stage(Put(scene.recorder.journal.head, "f.txt", new, 0o644, file_now(dying, "f.txt")))

    def kill() -> None:
        raise Killed

    if taken_back:
        result = dying.perform(staged, pinned=True)
        assert isinstance(result, Swapped)
        assert result.in_place
    steps.at("in_place.half", kill)
    with pytest.raises(Killed):
        dying.revert(staged) if taken_back else dying.perform(staged)
    dying.close()
    scene.recover()
    assert (scene.root / "g.txt").read_bytes() == new
    assert scene.unsettled() == []
    assert os.listdir(scene.root / ".quire/tmp") == []


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
    seq = scene.recorder.journal.head
    (scene.root / f".quire/tmp/{seq}.dead.0").write_bytes(secret)
    scene.recover()
    assert not (scene.root / f".quire/tmp/{seq}.dead.0").exists()
    with scene.recorder.history() as history:
        assert not history.holds(blob_id(secret))


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
    (scene.root / f".quire/tmp/{seq}.dead.0.withheld").write_bytes(b"KEY=theirs\n")
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
    scene.promise(_written(scene), NEW)
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
    seq = scene.recorder.journal.head
    (scene.root / f".quire/tmp/{seq}.dead.0").write_bytes(b"KEY=theirs\n")
    scene.recover()
    assert (scene.root / ".env").read_bytes() == b"KEY=theirs\n"
    with scene.recorder.history() as history:
        head = history.file(".env")
        assert head is not None
        assert (head.blob, head.uncaptured) == (blob_id(b"KEY=theirs\n"), "secret")
        assert not history.holds(head.blob)


def test_a_mixture_that_holds_a_secret_is_put_aside_and_not_journaled(scene: Scene) -> None:
    """Of two versions that hold none: `AK` of the one, `IA` of the other."""
    old, new = b"xxIA\n", b"AKyy\n"
    scene.recorder.note_blob(old, "g")
    base = scene.recorder.note(OutsideWritten("g", blob_id(old), 5, 0o644, "captured"))
    (scene.root / "g").write_bytes(b"AKIA\n")
    inode = (scene.root / "g").stat().st_ino
    scene.promise(FileWritten("g", blob_id(new), 5, 0o644, base, inode=inode), new)
    (scene.root / f".quire/tmp/{scene.recorder.journal.head}.dead.0.inplace").write_bytes(new)
    scene.recover()
    assert (scene.root / "g").read_bytes() == new
    assert kept_aside(scene) == [("g", "holds_secret", b"AKIA\n")]


def test_what_the_journal_was_not_to_hold_is_not_journaled_because_a_kill_left_it_in_a_temporary_file(
    scene: Scene,
) -> None:
    """Who wrote over it was told that there is no undo (`allow_uncaptured`)."""
    secret = b"KEY=1234\n"
    base = scene.recorder.note(CaptureFailed(".env", "secret", len(secret), blob_id(secret), 0o600))
    scene.promise(FileWritten(".env", blob_id(NEW), len(NEW), 0o600, base), NEW)
    seq = scene.recorder.journal.head
    (scene.root / ".env").write_bytes(NEW)
    (scene.root / f".quire/tmp/{seq}.dead.0").write_bytes(secret)
    scene.recover()
    assert (scene.root / ".env").read_bytes() == NEW
    with scene.recorder.history() as history:
        assert not history.holds(blob_id(secret))


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
    """Somebody ran `chmod 000` on a file, or a folder, after the kill."""
    (scene.root / "folder").mkdir()
    scene.promise(_written(scene), NEW)
    scene.promise(FileWritten("folder/made.txt", blob_id(NEW), len(NEW), 0o640), NEW)
    (scene.root / closed).chmod(0)
    with without_root(scene):
        assert scene.recover() == 1
    assert scene.unsettled() == []
    assert (scene.root / "f.txt").read_bytes() == (BASE if closed == "f.txt" else NEW)
    assert (scene.root / "folder/made.txt").exists() == (closed == "f.txt")


def test_a_save_whose_place_is_closed_by_now_is_in_the_journal(scene: Scene) -> None:
    scene.promise(_written(scene), NEW)
    seq = scene.recorder.journal.head
    (scene.root / "f.txt").write_bytes(NEW)
    (scene.root / f".quire/tmp/{seq}.dead.0").write_bytes(THEIRS)
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
    left = scene.root / f".quire/tmp/{scene.recorder.journal.head}.dead.0"
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
    scene.promise(_written(scene), NEW)
    left = scene.root / f".quire/tmp/{scene.recorder.journal.head}.dead.0"
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
    left = scene.root / f".quire/tmp/{scene.recorder.journal.head}.dead.0"
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
