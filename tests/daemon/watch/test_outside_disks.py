"""Disks that come to folders of the checkout, and go from there: what they hide stays, and theirs is not captured."""

from __future__ import annotations

import msgspec
import pytest
from outside_turns import Turns

from disks import mounted
from quire_daemon.watch.hints import Batch
from quire_daemon.watch.outside import LONGEST_S
from quire_daemon.watch.scan import FIRST_S
from quire_journal.model.events import OutsideDeleted
from quire_journal.model.refusals import Refusal


def emptied(turns: Turns, disks: int) -> Turns:
    """Another daemon over the journal of two files, in a folder where nothing is; so many disks further than before."""
    for path in ("a", "b"):
        turns.write(path, "one\n")
    turns.opened()
    for path in ("a", "b"):
        seen = turns.recorder.seen.get(path)
        assert seen is not None
        turns.recorder.seen.tell({path: msgspec.structs.replace(seen, dev=seen.dev + disks)})
        (turns.root / path).unlink()
    turns.recorder.seen.save()
    later = turns.again()
    later.outside.scanner.open()
    later.turns(FIRST_S)
    return later


def deletions(turns: Turns) -> set[str]:
    return {event.path for event in turns.events() if isinstance(event, OutsideDeleted)}


def test_an_empty_folder_where_another_disk_was_mounted_is_not_taken_for_deletions(turns: Turns) -> None:
    """Every file was journaled as deleted, and came back as a new version with the disk."""
    later = emptied(turns, disks=1)
    assert (deletions(later), later.errors) == (set(), [])
    assert later.outside.idle(), "nobody waits for a disk"
    assert "another disk" in later.outside.scanner.progress()["waits_for"]
    assert "another disk" in later.outside.reasons()[-1]
    later.write("c", "new\n")
    later.turns(later.waits_s())
    assert deletions(later) == {"a", "b"}, "somebody works there"
    assert "another disk" not in str(later.outside.reasons())
    later.workspace.close()


@pytest.mark.parametrize(("disks", "left"), [(0, ""), (1, ".git")])
def test_an_emptied_folder_on_its_own_disk_counts_as_deletions(turns: Turns, disks: int, left: str) -> None:
    if left:
        (turns.root / left).mkdir()
    later = emptied(turns, disks)
    assert deletions(later) == {"a", "b"}
    later.workspace.close()


def unseen(turns: Turns) -> list[str]:
    """What `status` says of paths that cannot be looked at."""
    return [reason for reason in turns.outside.reasons() if "cannot be looked at" in reason]


@pytest.mark.parametrize("bind", [False, True])
def test_files_that_a_mount_hides_are_not_taken_for_deleted_and_its_own_are_not_captured(
    turns: Turns, tmp_path_factory: pytest.TempPathFactory, bind: bool
) -> None:
    """A bind mount has the device of the checkout: only the number of the mount tells them apart."""
    other = tmp_path_factory.mktemp("other")
    (other / "own").write_text("own\n")
    (turns.root / "sub").mkdir()
    turns.write("sub/a", "a\n")
    turns.write("sub/b", "b\n")
    turns.opened()
    what = ("--bind", other) if bind else ("-t", "tmpfs", "tmpfs")
    with mounted(turns.root / "sub", *what):
        (turns.root / "sub/own").write_text("changed\n")
        turns.watcher.batches.append(Batch(dirty={"sub/own"}, touched={"sub/own"}))
        turns.outside.scanner.scan("periodic")
        turns.turns()
        assert (deletions(turns), turns.texts("sub/own")) == (set(), [])
        (told,) = unseen(turns)
        assert "sub" in told
        assert "neither reads, writes nor records what is mounted below it" in told
        assert turns.outside.idle(), "nobody waits for a disk"
        for path in ("sub/a", "sub/own", "sub"):
            with pytest.raises(Refusal, match="another file system or mount"):
                turns.files.file(path, writing=False)
    turns.write("sub/a", "A\n")
    turns.outside.scanner.scan("periodic")
    turns.turns(LONGEST_S)
    assert (deletions(turns), unseen(turns)) == (set(), [])
    assert [turns.texts(f"sub/{name}") for name in ("a", "b")] == [["a\n", "A\n"], ["b\n"]]


def test_a_disk_that_is_mounted_from_the_start_is_told_as_not_captured(turns: Turns) -> None:
    (turns.root / "sub").mkdir()
    with mounted(turns.root / "sub", "-t", "tmpfs", "tmpfs"):
        (turns.root / "sub/own").write_text("own\n")
        turns.opened()
        assert turns.texts("sub/own") == []
        assert unseen(turns)[0].startswith("1 path cannot be looked at; the first: sub is on another file system")
        assert deletions(turns) == set()


def test_a_file_at_which_another_is_mounted_is_not_read(turns: Turns, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other") / "secret"
    other.write_text("secret\n")
    turns.write("a", "one\n")
    turns.opened()
    with mounted(turns.root / "a", "--bind", other):
        turns.outside.scanner.scan("overflow")
        turns.turns()
        with pytest.raises(Refusal, match="another file system or mount"):
            turns.files.file("a", writing=True)
    turns.turns()
    assert turns.texts("a") == ["one\n"]


def test_a_mount_in_an_ignored_folder_is_of_no_interest(turns: Turns) -> None:
    turns.write(".gitignore", "build/\n")
    (turns.root / "build").mkdir()
    with mounted(turns.root / "build", "-t", "tmpfs", "tmpfs"):
        (turns.root / "build/own").write_text("own\n")
        turns.opened()
        assert unseen(turns) == []
