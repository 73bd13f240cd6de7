"""How a start knows that the disk is as the last daemon left it, and that it need not ask what the disk forgot."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import rights
from quire_daemon.integrity import verdict
from quire_daemon.integrity.verdict import JournalVerdict
from quire_journal.journal import Journal
from quire_journal.model.records import JournalDamaged
from quire_journal.storage import boot_mark
from quire_journal.storage.lmdb import LmdbStore

needs_boot_id = pytest.mark.skipif(not boot_mark.boot_id(), reason="the system does not say when it was started")


def closed(folder: Path) -> None:
    """A daemon served the journal, and ended in good order."""
    Journal.open(LmdbStore.open(folder), 1, "0" * 32).close()
    verdict.leave_mark(folder)


def start(folder: Path) -> JournalVerdict:
    return verdict.prepare(folder, "0" * 32, 2_000_000_000, lambda doing: None)


@needs_boot_id
def test_after_a_good_end_the_machine_has_run_on(journals: Path) -> None:
    closed(journals / "journal")
    assert start(journals / "journal") == JournalVerdict(trusted=True, machine_ran=True)


@pytest.mark.parametrize("boot", ["another", "", None])
def test_after_a_good_end_the_machine_may_have_ended_all_the_same(journals: Path, boot: str | None) -> None:
    """The last writes were answered, and the file system had some seconds left to write their names down."""
    closed(journals / "journal")
    mark = journals / "journal" / "clean"
    said = json.loads(mark.read_bytes())
    del said["boot"]
    mark.write_text(json.dumps(said if boot is None else {**said, "boot": boot}))
    assert start(journals / "journal") == JournalVerdict(trusted=True, machine_ran=False)


@needs_boot_id
@pytest.mark.parametrize("starts", [1, 2])
def test_after_a_kill_the_mark_of_the_boot_tells_that_the_machine_has_run_on(journals: Path, starts: int) -> None:
    Journal.open(LmdbStore.open(journals / "journal"), 1, "0" * 32).close()
    boot_mark.leave(journals / "journal")
    for _ in range(starts):  # also where the next daemon is killed before it serves
        assert start(journals / "journal") == JournalVerdict(trusted=True, machine_ran=True)


@pytest.mark.parametrize(
    "of",
    ["another boot", "no boot", "a copy", "a fatal signal", "an unreadable stack trace", "a store that found damage"],
)
def test_after_a_kill_a_mark_that_proves_nothing_is_not_believed(journals: Path, of: str) -> None:
    store = LmdbStore.open(journals / "journal")
    Journal.open(store, 1, "0" * 32)
    boot_mark.leave(journals / "journal")
    if of == "a fatal signal":
        (journals / "journal" / "crashed").write_text("Fatal Python error: Bus error")
    elif of == "an unreadable stack trace":
        (journals / "journal" / "crashed").symlink_to("crashed")
    elif of == "a store that found damage":
        store.mistrust()
    elif of == "a copy":  # of files that a daemon may have been writing
        shutil.copytree(journals / "journal", journals / "copy")
        (journals / "journal").rename(journals / "original")
        (journals / "copy").rename(journals / "journal")
    else:
        mark = journals / "journal" / boot_mark.NAME
        mark.write_text(mark.read_text().replace(boot_mark.boot_id(), "0" * 36) if of == "another boot" else "")
    store.close()
    assert start(journals / "journal") == JournalVerdict(checked=True)


def test_where_the_system_does_not_name_its_boot_every_kill_is_followed_by_a_check(
    journals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boot_mark, "_BOOT_ID", journals / "no such file")
    Journal.open(LmdbStore.open(journals / "journal"), 1, "0" * 32).close()
    boot_mark.leave(journals / "journal")
    assert start(journals / "journal") == JournalVerdict(checked=True)


@needs_boot_id
def test_a_mark_that_did_not_hold_is_gone_before_what_a_check_found_is_put_right(journals: Path) -> None:
    """A daemon killed in between would leave a journal that nobody checks again."""
    closed(journals / "journal")
    boot_mark.leave(journals / "journal")
    (journals / "journal" / "crashed").write_text("Fatal Python error: Bus error")
    (journals / "journal" / "clean").unlink()
    for _ in range(2):
        assert start(journals / "journal") == JournalVerdict(checked=True)


@needs_boot_id
def test_a_file_that_another_program_wrote_after_a_good_end_is_checked(journals: Path) -> None:
    journal = Journal.open(LmdbStore.open(journals / "journal"), 1, "0" * 32)
    boot_mark.leave(journals / "journal")
    journal.close()
    verdict.leave_mark(journals / "journal")
    os.utime(journals / "journal" / "db" / "data.mdb", ns=(1, 1))
    assert start(journals / "journal") == JournalVerdict(checked=True)


def test_without_marks_nothing_is_known(journals: Path) -> None:
    Journal.open(LmdbStore.open(journals / "journal"), 1, "0" * 32).close()
    assert not start(journals / "journal").machine_ran


def test_a_journal_whose_file_is_gone_is_told_as_that_and_left_alone(journals: Path) -> None:
    """It was `[Errno 2] No such file or directory`."""
    closed(journals)
    (journals / "db/data.mdb").unlink()
    with pytest.raises(JournalDamaged, match=r"db/data\.mdb is not in .*; put it back, or move db away to begin anew"):
        start(journals)
    assert (journals / "clean").exists()


def test_a_journal_that_may_not_be_looked_at_is_not_told_as_gone(journals: Path) -> None:
    """Whoever did what is told of one that is would begin a new one."""
    closed(journals)
    (journals / "db").chmod(0)

    def say() -> None:
        try:
            start(journals)
        except (JournalDamaged, OSError) as error:
            print(error)

    try:
        assert "Permission denied" in rights.printed(rights.be_anybody, say)
    finally:
        (journals / "db").chmod(0o700)
