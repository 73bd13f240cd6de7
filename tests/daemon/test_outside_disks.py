"""Disks that come to folders of the checkout, and go from there: what they hide, or take along, is not deleted."""

from __future__ import annotations

import os

import msgspec
import pytest
from outside_turns import Turns

from quire_daemon.mounts import Mounts
from quire_daemon.noticed import Batch
from quire_daemon.scanning import FIRST_S
from quire_journal.events import OutsideDeleted, OutsideWritten
from quire_journal.ids import blob_id


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
    later.outside.scanning.open()
    later.turns(FIRST_S)
    return later


def deletions(turns: Turns) -> set[str]:
    return {event.path for event in turns.events() if isinstance(event, OutsideDeleted)}


def test_an_empty_folder_where_another_disk_was_mounted_is_not_taken_for_deletions(turns: Turns) -> None:
    """Every file was journaled as deleted, and came back as a new version with the disk."""
    later = emptied(turns, disks=1)
    assert (deletions(later), later.errors) == (set(), [])
    assert later.outside.idle(), "nobody waits for a disk"
    assert "another disk" in later.outside.scanning.progress()["waits_for"]
    assert "another disk" in later.outside.reasons()[-1]
    later.write("c", "new\n")
    later.turns(later.waits_s())
    assert deletions(later) == {"a", "b"}, "somebody works there"
    assert "another disk" not in str(later.outside.reasons())
    later.workspace.close()


@pytest.mark.parametrize(("disks", "left"), [(0, ""), (1, ".git")])
def test_a_folder_that_somebody_has_emptied_is(turns: Turns, disks: int, left: str) -> None:
    if left:
        (turns.root / left).mkdir()
    later = emptied(turns, disks)
    assert deletions(later) == {"a", "b"}
    later.workspace.close()


class Disk:
    """A folder of the checkout at which another disk can be mounted, as far as a table of mounts tells of that."""

    def __init__(self, turns: Turns, folder: str) -> None:
        self.turns, self.at, self.other = turns, turns.root / folder, turns.root / ".quire" / folder
        self.at.mkdir()
        self.other.mkdir()
        self.mounted, self.news = False, True
        turns.gather.mounts = Mounts(os.fspath(turns.root), self)

    def changed(self) -> bool:
        return self.news

    def read(self) -> bytes:
        self.news = False
        return f"1 1 0:1 / {self.at} rw - ext4 disk rw\n".encode() if self.mounted else b""

    def close(self) -> None:
        """As the kernel's."""

    def holds(self, *names: str) -> None:
        """It is mounted with these files when the daemon begins."""
        for name in names:
            (self.other / name).write_text(f"{name}\n")
        self.comes_or_goes()
        self.turns.opened()

    def comes_or_goes(self) -> None:
        """What was seen is elsewhere, and what was elsewhere is seen; the watcher tells of the folder."""
        between = self.other.with_name("between")
        self.at.rename(between)
        self.other.rename(self.at)
        between.rename(self.other)
        self.mounted, self.news = not self.mounted, True
        self.turns.watcher.batches.append(Batch(folders={self.at.name}, unseen={self.at.name}))
        self.turns.turns()


def hidden(turns: Turns) -> list[str]:
    """What `status` says of files that are hidden."""
    return [reason for reason in turns.outside.reasons() if "not taken for deleted" in reason]


def test_files_of_a_disk_that_is_unmounted_are_not_taken_for_deleted(turns: Turns) -> None:
    """Each was journaled as deleted, and as written anew when the disk came back."""
    disk = Disk(turns, "sub")
    disk.holds("a", "b", "gone")
    rewatched = turns.watcher.rewatched
    disk.comes_or_goes()
    (disk.other / "gone").unlink()
    assert deletions(turns) == set()
    assert [event for event in turns.events() if isinstance(event, OutsideWritten) and event.path == "sub"] == []
    assert hidden(turns) == [
        "3 files went with what was mounted at sub: not taken for deleted until it is mounted again, something is made "
        "there, or the folder is removed"
    ]
    assert turns.outside.idle(), "nobody waits for a disk"
    assert turns.files.file("sub/a", writing=False).kind == "missing"
    assert deletions(turns) == set(), "who looks for it changes nothing"
    disk.comes_or_goes()
    assert (deletions(turns), hidden(turns)) == ({"sub/gone"}, [])
    assert turns.watcher.rewatched == rewatched + 2, "other folders stand there"
    assert [turns.texts(f"sub/{name}") for name in ("a", "b")] == [["a\n"], ["b\n"]]


def test_who_works_in_the_folder_of_a_disk_that_went_goes_on_without_it(turns: Turns) -> None:
    disk = Disk(turns, "sub")
    disk.holds("a", "b", "c")
    disk.comes_or_goes()
    assert turns.files.file("sub/c", writing=True).kind == "missing"
    assert deletions(turns) == {"sub/c"}, "a tool is about to make it"
    turns.told("sub/new", "new\n")
    turns.turns()
    assert (deletions(turns), hidden(turns)) == ({"sub/a", "sub/b", "sub/c"}, [])


def test_a_tool_that_makes_a_file_in_the_folder_of_a_disk_that_went_goes_on_without_it(turns: Turns) -> None:
    """The watcher tells of what a tool wrote, but that is known, and nobody looks at it again."""
    disk = Disk(turns, "sub")
    disk.holds("a", "b")
    disk.comes_or_goes()
    turns.write("sub/new", "new\n")
    signature = turns.workspace.look("sub/new").signature
    turns.outside.landed("sub/new", signature, blob_id(b"new\n"))
    turns.turns()
    assert (deletions(turns), hidden(turns)) == ({"sub/a", "sub/b"}, [])


def test_behind_what_is_mounted_nothing_is_looked_for_whatever_is_written_there(turns: Turns) -> None:
    disk = Disk(turns, "sub")
    for name in ("a", "b", "c"):
        (disk.at / name).write_text(f"{name}\n")
    turns.opened()
    disk.comes_or_goes()
    looks = turns.gather.looks
    turns.told("sub/a", "another\n")
    turns.turns()
    assert turns.gather.looks == looks + 1
    assert hidden(turns) == [
        "what is mounted at sub hides 2 files of before: not taken for deleted until it is unmounted"
    ]


def test_files_that_a_mount_hides_are_not_taken_for_deleted_and_its_own_are(turns: Turns) -> None:
    disk = Disk(turns, "sub")
    for name in ("a", "b"):
        (disk.at / name).write_text(f"{name}\n")
    turns.opened()
    (disk.other / "own").write_text("own\n")
    disk.comes_or_goes()
    assert turns.texts("sub/own") == ["own\n"]
    (disk.at / "own").unlink()
    turns.outside.scanning.scan("overflow")
    turns.turns()
    assert deletions(turns) == {"sub/own"}
    assert hidden(turns) == [
        "what is mounted at sub hides 2 files of before: not taken for deleted until it is unmounted"
    ]
    (disk.other / "b").unlink()
    disk.comes_or_goes()
    assert (deletions(turns), hidden(turns)) == ({"sub/own", "sub/b"}, [])


def test_a_disk_that_went_together_with_its_folder_took_its_files_for_good(turns: Turns) -> None:
    disk = Disk(turns, "sub")
    disk.holds("a")
    disk.at.rename(disk.other.with_name("away"))
    disk.mounted, disk.news = False, True
    turns.turns()
    turns.turns()
    assert (deletions(turns), hidden(turns)) == ({"sub/a"}, [])
