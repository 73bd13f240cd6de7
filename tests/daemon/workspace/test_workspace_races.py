"""Writing where the path is not what was planned on, or becomes something else meanwhile."""

from __future__ import annotations

import mmap
import os
import resource
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from swapping import Steps, in_tmp, settle

from checkout import do, file_now, put
from quire_daemon.config.settings import Policy
from quire_daemon.core.decision import FileNow, Make, Move, Put, Remove
from quire_daemon.workspace import quarantine
from quire_daemon.workspace.displaced import AT_ONCE, GRACE_S, MOST, DisplacedFile, DisplacedFiles
from quire_daemon.workspace.read import Held
from quire_daemon.workspace.types import DisplacedBytes, FileBusy, Signature, SwapDone, SwapLost
from quire_daemon.workspace.workspace import Workspace
from quire_journal.model.events import LINK
from quire_journal.model.ids import blob_id
from quire_journal.model.refusals import Refusal


def test_nothing_is_created_over_what_exists(workspace: Workspace) -> None:
    """A file, a folder, a link to nothing; the folders that were made for it go again."""
    missing = FileNow("x", "missing")
    for make in (Path.touch, Path.mkdir, lambda path: path.symlink_to("nowhere")):
        path = workspace.root / "x"
        make(path)
        assert do(workspace, put(workspace, "x", b"new", over=missing)) == SwapLost("exists")
        path.rmdir() if path.is_dir() else path.unlink()
    (workspace.root / "f").write_bytes(b"")
    (workspace.root / "g").write_bytes(b"")
    assert do(workspace, Move(1, "f", "g", file_now(workspace, "f"))) == SwapLost("exists")
    assert in_tmp(workspace) == []


def test_folders_made_in_vain_are_removed(workspace: Workspace, steps: Steps) -> None:
    """Unless somebody uses them."""
    write = put(workspace, "a/b/c", b"new")
    steps.at("perform.folders_made", lambda: (workspace.root / "a/b/c").write_bytes(b"theirs"))
    assert do(workspace, write) == SwapLost("exists")
    assert (workspace.root / "a/b/c").read_bytes() == b"theirs"
    staged = workspace.stage(Move(1, "a/b/c", "d/e/f", file_now(workspace, "a/b/c")))
    steps.at("perform.folders_made", (workspace.root / "a/b/c").unlink)
    assert workspace.perform(staged) == SwapLost("missing")
    assert not (workspace.root / "d").exists()


@pytest.mark.parametrize("kind", ["put", "remove", "move"])
def test_a_changed_base_is_noticed_before_anything_happens(workspace: Workspace, kind: str) -> None:
    """Other bytes, other inode with the same bytes, gone, or another kind of thing."""
    path = workspace.root / "f"

    def attempt(change: Callable[[], object]) -> SwapDone | SwapLost:
        path.write_bytes(b"old")
        over = file_now(workspace, "f")
        writes = {"put": put(workspace, "f", b"new"), "remove": Remove(1, "f", over), "move": Move(1, "f", "g", over)}
        staged = workspace.stage(writes[kind])
        change()
        return workspace.perform(staged)

    assert attempt(lambda: path.write_bytes(b"odd")) == SwapLost("changed")
    assert path.read_bytes() == b"odd"
    other = workspace.root / "other"
    other.write_bytes(b"old")
    assert attempt(lambda: os.replace(other, path)) == SwapLost("changed")
    assert attempt(path.unlink) == SwapLost("missing")
    assert attempt(lambda: (path.unlink(), path.mkdir())) == SwapLost("not_a_file")
    path.rmdir()
    assert not (workspace.root / "g").exists()
    assert in_tmp(workspace) == []


def test_equal_bytes_by_another_hand_are_the_same_base(workspace: Workspace) -> None:
    """A save without a change, in place: the inode and the bytes are what the decision saw."""
    (workspace.root / "f").write_bytes(b"old")
    staged = workspace.stage(put(workspace, "f", b"new"))
    (workspace.root / "f").write_bytes(b"old")
    assert isinstance(workspace.perform(staged), SwapDone)


def test_a_file_that_is_held_open_is_left_alone(workspace: Workspace) -> None:
    """At once, without waiting; the staged write can be performed later, or be abandoned."""
    path = workspace.root / "f"
    path.write_bytes(b"old")
    staged = workspace.stage(put(workspace, "f", b"new"))
    other = workspace.stage(put(workspace, "f", b"other"))
    with path.open("r+b"):
        for _ in range(3):
            with pytest.raises(FileBusy):
                workspace.perform(staged)
    with path.open("r+b") as opened, mmap.mmap(opened.fileno(), 3):
        opened.close()
        with pytest.raises(FileBusy):
            workspace.perform(staged)
    assert isinstance(workspace.perform(staged), SwapDone)
    workspace.abandon(other)
    workspace.abandon(staged)
    settle(workspace)
    assert in_tmp(workspace) == []
    assert path.read_bytes() == b"new"


def test_a_save_by_rename_between_check_and_swap_wins(workspace: Workspace, steps: Steps) -> None:
    """It came out of the exchange, and is put back; nothing of it needs keeping."""
    path = workspace.root / "f"
    path.write_bytes(b"old")
    theirs = workspace.root / "theirs"
    theirs.write_bytes(b"theirs")
    inode = theirs.stat().st_ino
    steps.at("perform.base_held", lambda: os.replace(theirs, path))
    assert do(workspace, put(workspace, "f", b"new")) == SwapLost("changed")
    assert (path.read_bytes(), path.stat().st_ino) == (b"theirs", inode)
    settle(workspace)
    assert in_tmp(workspace) == []


def test_two_saves_within_one_swap_are_both_kept(workspace: Workspace, steps: Steps) -> None:
    """The first came out of our exchange, the second replaced our version at the path: it stays, the first is told."""
    path = workspace.root / "f"
    path.write_bytes(b"old")
    first, second = workspace.root / "first", workspace.root / "second"
    first.write_bytes(b"first")
    second.write_bytes(b"second")
    steps.at("perform.base_held", lambda: os.replace(first, path))
    steps.at("perform.exchanged", lambda: os.replace(second, path))
    result = do(workspace, put(workspace, "f", b"new"))
    assert isinstance(result, SwapLost)
    assert [(kept.path, kept.data) for kept in result.kept] == [("f", b"first")]
    assert path.read_bytes() == b"second"
    assert in_tmp(workspace) == [result.kept[0].name]
    workspace.discard(result.kept)
    settle(workspace)
    assert in_tmp(workspace) == []


def test_a_deletion_within_the_swap_stands(workspace: Workspace, steps: Steps) -> None:
    """What it did not mean to delete is kept."""
    path = workspace.root / "f"
    path.write_bytes(b"old")
    theirs = workspace.root / "theirs"
    theirs.write_bytes(b"theirs")
    steps.at("perform.base_held", lambda: os.replace(theirs, path))
    steps.at("perform.exchanged", path.unlink)
    result = do(workspace, put(workspace, "f", b"new"))
    assert isinstance(result, SwapLost)
    assert (result.why, [kept.data for kept in result.kept]) == ("missing", [b"theirs"])
    assert not path.exists()


def test_a_folder_that_takes_the_place_of_the_file_is_put_back(workspace: Workspace, steps: Steps) -> None:
    """An exchange moves whole folders."""
    path = workspace.root / "f"
    path.write_bytes(b"old")

    def become_a_folder() -> None:
        path.unlink()
        path.mkdir()
        (path / "inside").write_bytes(b"x")

    steps.at("perform.base_held", become_a_folder)
    assert do(workspace, put(workspace, "f", b"new")) == SwapLost("changed")
    assert (path / "inside").read_bytes() == b"x"
    steps.at("perform.base_held", lambda: (path / "inside").unlink())


@pytest.mark.parametrize("kind", ["remove", "move"])
def test_a_save_between_check_and_removal_wins(workspace: Workspace, steps: Steps, kind: str) -> None:
    """And if there is a third by then, the second is kept."""
    path = workspace.root / "f"
    for third in (False, True):
        path.write_bytes(b"old")
        first, second = workspace.root / "first", workspace.root / "second"
        first.write_bytes(b"first")
        second.write_bytes(b"second")
        over = file_now(workspace, "f")
        steps.at("perform.base_held", lambda: os.replace(first, path))  # noqa: B023
        if third:
            steps.at("perform.conflict", lambda: os.replace(second, path))  # noqa: B023
        result = do(workspace, Remove(1, "f", over) if kind == "remove" else Move(1, "f", "g", over))
        assert isinstance(result, SwapLost)
        assert [kept.data for kept in result.kept] == ([b"first"] if third else [])
        assert path.read_bytes() == (b"second" if third else b"first")
        assert not (workspace.root / "g").exists()
        workspace.discard(result.kept)
    settle(workspace)
    assert in_tmp(workspace) == []


WRITE_LATE = "import sys; f = open(sys.argv[1], 'r+b'); f.write(b'late'); f.close()"


def test_a_save_into_the_displaced_file_is_told(workspace: Workspace, steps: Steps) -> None:
    """A program resolved the path before the swap and opens after: it is let go at the next sweep, and heard."""
    if not workspace.protection.lease:
        pytest.skip("no leases here")
    path = workspace.root / "f"
    path.write_bytes(b"old!")
    staged = workspace.stage(put(workspace, "f", b"new"))
    workspace.perform(staged)
    displaced = workspace.root / ".quire/tmp" / staged.name
    writer = subprocess.Popen([sys.executable, "-ISc", WRITE_LATE, os.fspath(displaced)])
    late = []
    while writer.poll() is None or not late:
        late.extend(workspace.sweep(1.0))
        time.sleep(0.001)  # a program begins meanwhile
    assert [(one.path, one.data) for one in late] == [("f", b"late")]
    assert path.read_bytes() == b"new"
    assert in_tmp(workspace) == [staged.name]
    workspace.discard(late)
    assert in_tmp(workspace) == []
    assert workspace.displaced_files() == 0


def test_a_removed_name_leaves_the_file_to_its_other_names_and_tells_what_is_written_when_they_have_gone(
    workspace: Workspace,
) -> None:
    path, other = workspace.root / "f", workspace.root / "g"
    path.write_bytes(b"old")
    other.hardlink_to(path)
    assert isinstance(do(workspace, Remove(1, "f", file_now(workspace, "f"))), SwapDone)
    other.write_bytes(b"more")
    other.unlink()
    workspace.sweep(0.0)
    assert [(late.path, late.data) for late in workspace.sweep(GRACE_S + 0.1)] == [("f", b"more")]


class Compared(str):
    """A name that counts how often it is compared with another."""

    __slots__ = ()
    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_a_displaced_file_is_found_and_let_go_of_without_a_look_at_all_others() -> None:
    """To take back a write of thousands looked at half of them for each."""
    displaced_files = DisplacedFiles(-1)
    held = Held(-1, Signature(0, 0, 0, 0, 0, 0, 1), leased=False)
    for number in range(300):
        displaced_files.add(DisplacedFile("f", f"{number}.old", held, None))
    twice = DisplacedFile("f", "7.old", held, None)  # came out of a swap that was undone
    displaced_files.add(twice)
    Compared.times = 0
    for number in reversed(range(300)):
        item = displaced_files.find(Compared(f"{number}.old"))
        assert item is not None
        displaced_files.release(item)
    assert Compared.times <= 600
    assert displaced_files.find("7.old") is twice
    displaced_files.release(twice)
    assert (displaced_files.find("7.old"), len(displaced_files.items)) == (None, 0)


def test_a_displaced_file_that_cannot_be_read_keeps_no_other_from_being_looked_at(tmp_path: Path) -> None:
    """As on a disk that fails: each sweep ended at it, late writes were not found, and no lease break was answered."""
    tmp = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    displaced_files = DisplacedFiles(tmp)
    for name, flags in (("0.old", os.O_RDONLY), ("1.old", os.O_WRONLY), ("2.old", os.O_RDONLY)):
        (tmp_path / name).write_bytes(b"late\n")
        fd = os.open(tmp_path / name, flags)  # what can only be written fails when it is read
        held = Held(fd, Signature.of(os.fstat(fd)), leased=False)
        displaced_files.add(DisplacedFile(name[0], name, held, b"before\n"))
    assert displaced_files.sweep(0.0) == []
    with pytest.raises(OSError, match="Bad file descriptor"):
        displaced_files.sweep(GRACE_S + 1)
    late = displaced_files.sweep(GRACE_S + 1)
    assert {(one.name, one.data) for one in late} == {("0.old", b"late\n"), ("2.old", b"late\n")}
    assert displaced_files.sweep(GRACE_S + 2) == []
    assert len(displaced_files.items) == 0
    assert (tmp_path / "1.old").exists(), "the next start tries it again"
    os.close(tmp)


def test_a_displaced_file_that_cannot_be_removed_keeps_no_daemon_from_its_end(tmp_path: Path) -> None:
    """As on a disk that was mounted anew, for reading only: the journal was not closed, and nobody got an answer."""
    tmp = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    displaced_files = DisplacedFiles(tmp)
    (tmp_path / "0.old").write_bytes(b"")
    displaced_files.spent += ["0.old", 300 * "x"]  # longer than a name can be
    displaced_files.close()
    assert os.listdir(tmp_path) == []
    os.close(tmp)


def test_nothing_is_left_of_what_could_not_be_put_aside(workspace: Workspace) -> None:
    """Half of a secret, one more with each start on a full disk, which nothing would ever remove."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            workspace.put_aside(".env", b"secret", blob_id(b"secret"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(workspace.root / ".quire/displaced") == []


def test_what_is_put_aside_replaces_nothing_that_is_called_so(workspace: Workspace) -> None:
    """Somebody may have looked at the file, and put the secret right in it; it was overwritten."""
    first = workspace.root / workspace.put_aside(".env", b"secret", blob_id(b"secret"))
    assert workspace.root / workspace.put_aside(".env", b"secret", blob_id(b"secret")) == first
    first.write_bytes(b"noted: secret")
    second = workspace.root / workspace.put_aside(".env", b"secret", blob_id(b"secret"))
    assert (first.read_bytes(), second.read_bytes()) == (b"noted: secret", b"secret")
    second.unlink()
    second.mkdir()
    third = workspace.root / workspace.put_aside(".env", b"secret", blob_id(b"secret"))
    assert third.read_bytes() == b"secret"
    assert len(os.listdir(first.parent)) == 3


def test_a_large_file_that_is_put_aside_is_called_as_before_too_until_it_is_let_go(workspace: Workspace) -> None:
    left, aside = workspace.root / ".quire/tmp/7.mine.0", workspace.root / ".quire/displaced"
    left.write_bytes(b"large")
    aside.mkdir()
    (aside / "f.7.mine.0").write_bytes(b"another's")
    kept = workspace.root / workspace.move_aside("d/f", left.name)
    assert kept.samefile(left)
    assert workspace.root / workspace.move_aside("d/f", left.name) == kept
    workspace.discard([DisplacedBytes(left.name, "d/f", b"", large=5)])
    assert (left.exists(), kept.read_bytes(), len(os.listdir(aside))) == (False, b"large", 2)


def _open_files(root: Path) -> list[str]:
    """What this process has open of `root`."""
    links = (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
    found = (os.readlink(link) for link in links if os.path.islink(link))
    return sorted(path for path in found if path.startswith(f"{root}/"))


def test_what_a_large_write_displaced_is_let_go_in_several_sweeps(workspace: Workspace) -> None:
    """But a sweep that can let nothing go is not followed by another at once: each looks at all of them, and of some
    hundred that others held open the loop took all of a processor.
    """
    open_files = _open_files(workspace.root)
    writes = []
    for number in range(MOST + AT_ONCE + 50):
        path = f"{number}.txt"
        (workspace.root / path).write_bytes(b"before\n")
        writes.append(put(workspace, path, b"after\n"))
    staged = workspace.stage_all(writes)
    for one in staged:
        assert isinstance(workspace.perform(one, pinned=True), SwapDone)
    assert workspace.crowded()
    workspace.sweep(0.0)
    assert (workspace.displaced_files(), workspace.crowded()) == (MOST + AT_ONCE + 50, False)
    workspace.release(staged[30:])  # those that came first stay, and hold up no others
    left = []
    for _ in range(2):
        workspace.sweep(0.0)
        left.append((workspace.displaced_files(), workspace.crowded()))
    workspace.release(staged)
    for _ in range(2):
        workspace.sweep(0.0)
        left.append((workspace.displaced_files(), workspace.crowded()))
    assert left == [(MOST + 50, True), (MOST + 30, False), (MOST, False), (MOST, False)]
    assert len(in_tmp(workspace)) == MOST
    workspace.sweep(GRACE_S + 1)
    assert (workspace.displaced_files(), in_tmp(workspace)) == (0, [])
    assert _open_files(workspace.root) == open_files


def test_beside_a_large_write_what_another_displaced_is_watched_for_its_whole_time(workspace: Workspace) -> None:
    """Who opens it late would lose what it writes."""
    writes = []
    for number in range(MOST + 10):
        (workspace.root / f"{number}.txt").write_bytes(b"before\n")
        writes.append(put(workspace, f"{number}.txt", b"after\n"))
    staged = workspace.stage_all(writes)
    for one in staged:
        assert isinstance(workspace.perform(one, pinned=True), SwapDone)
    (workspace.root / "beside").write_bytes(b"before\n")
    do(workspace, put(workspace, "beside", b"after\n"))
    left = []
    for at_s in (0.0, GRACE_S / 2, GRACE_S + 0.1):
        workspace.sweep(at_s)
        left.append(workspace.displaced_files())
    assert left == [MOST + 11, MOST + 11, MOST + 10]
    workspace.release(staged)
    settle(workspace)


def test_lingering_is_bounded(workspace: Workspace) -> None:
    """Each costs a descriptor; the oldest go first."""
    (workspace.root / "f").write_bytes(b"")
    for turn in range(MOST + 20):
        do(workspace, put(workspace, "f", b"%d" % turn))
        workspace.sweep(0.0)
        assert workspace.displaced_files() <= MOST
    settle(workspace)
    assert in_tmp(workspace) == []


def test_another_file_in_place_of_the_temporary_one_stays_as_it_is(workspace: Workspace, tmp_path: Path) -> None:
    """Its owner and mode would have become those of the path, and the journal would have told other bytes."""
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.write_bytes(b"not ours")
    outside.chmod(0o600)
    (workspace.root / "f").write_bytes(b"old")
    (workspace.root / "f").chmod(0o644)
    staged = workspace.stage(put(workspace, "f", b"new"))
    temporary = workspace.root / ".quire/tmp" / staged.name
    temporary.unlink()
    temporary.hardlink_to(outside)
    (workspace.root / "f").chmod(0o640)
    with pytest.raises(Refusal) as caught:
        workspace.perform(staged)
    assert caught.value.code == "busy"
    assert (workspace.root / "f").read_bytes() == b"old"
    assert (outside.read_bytes(), stat.S_IMODE(outside.stat().st_mode)) == (b"not ours", 0o600)


def test_bytes_are_put_aside_into_a_new_file(workspace: Workspace, tmp_path: Path) -> None:
    """A file that stands in its place already may be another name of one outside."""
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.write_bytes(b"not ours")
    folder = os.open(workspace.root, os.O_RDONLY)
    os.link(outside, workspace.root / "f.part")
    assert quarantine.put(folder, "f", "f.part", b"kept") == "f"
    os.close(folder)
    assert (outside.read_bytes(), (workspace.root / "f").read_bytes()) == (b"not ours", b"kept")


def turning(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, turn: Callable[[], object]) -> None:
    """Somebody acts between our look at a link and our reading of it."""
    read = os.readlink

    def raced(path: Any, *, dir_fd: int | None = None) -> Any:
        monkeypatch.undo()
        turn()
        return read(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "readlink", raced)


@pytest.mark.parametrize("becomes", ["folder", "file"])
def test_a_link_that_becomes_something_else_while_it_is_followed_is_looked_at_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, becomes: str
) -> None:
    link = workspace.root / "way"
    (workspace.root / "to").mkdir()
    link.symlink_to("to")

    def turn() -> None:
        link.unlink()
        link.mkdir() if becomes == "folder" else link.touch()

    turning(workspace, monkeypatch, turn)
    assert workspace.place("way/f", writing=True, policy=Policy()).path == "way/f"


def test_a_folder_that_becomes_a_link_before_a_write_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (workspace.root / "d").symlink_to(outside)
    for write in (
        Put(1, "d/new", b"new", 0o644, FileNow("d/new", "missing")),
        Make(1, "d/l", LINK, b"x", 0o777, FileNow("d/l", "missing")),
    ):
        with pytest.raises(Refusal) as caught:
            workspace.perform(workspace.stage(write))
        assert caught.value.code in ("busy", "not_a_file")
    assert (os.listdir(outside), in_tmp(workspace)) == ([], [])


def test_a_process_without_descriptors_refuses_and_changes_nothing(workspace: Workspace) -> None:
    (workspace.root / "f").write_bytes(b"old")
    write = put(workspace, "f", b"new")
    staged = workspace.stage(put(workspace, "f", b"newer"))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    acts: list[Callable[[], object]] = [
        lambda: workspace.read("f", 10),
        lambda: workspace.look("f"),
        lambda: workspace.place("deep/f", writing=True, policy=Policy()),
        lambda: workspace.stage(write),
        lambda: workspace.perform(staged),
    ]
    for act in acts:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            with pytest.raises(Refusal, match="no file descriptors are left") as caught:
                act()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert caught.value.code == "busy"
    assert ((workspace.root / "f").read_bytes(), in_tmp(workspace)) == (b"old", [])
