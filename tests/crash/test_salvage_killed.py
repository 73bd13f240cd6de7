"""Killed between any two steps of a salvage: the next start ends it, and what the journal proves is there, once."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import live
from quire_daemon.integrity import verdict
from quire_daemon.integrity.verdict import JournalVerdict
from quire_journal.history.history import History
from quire_journal.integrity.checker import check
from quire_journal.journal import Journal, NewRecord
from quire_journal.model.events import FileWritten, WriterIntroduced
from quire_journal.model.ids import BatchId, WriterId, blob_id
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.storage.port import u64

NOW = 2_000_000_000
VERSIONS = 30


def content(number: int) -> bytes:
    return b"".join(b"%d %d\n" % (n, n * number) for n in range(50))


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal in which one record was overwritten."""
    folder = tmp_path_factory.mktemp("damaged") / "journal"
    store = LmdbStore.open(folder)
    journal = Journal.open(store, 1, "0" * 32)
    journal.append([NewRecord(WriterIntroduced(1, uid=1000, agent="ann"), WriterId(0), 1, BatchId(1))])
    for number in range(VERSIONS):
        seq, data = journal.head + 1, content(number)
        event = FileWritten("a", blob_id(data), len(data), 0o644)
        journal.append([NewRecord(event, WriterId(1), seq, BatchId(seq))], [(data, "a")])
    store.clear_log()
    with store.writing() as w:
        w.put("records", u64(12), b"not a record")
    journal.close()
    return folder


def start(folder: Path) -> JournalVerdict:
    return verdict.prepare(folder, "0" * 32, NOW, lambda doing: None)


def killed_at(call: int, folder: Path) -> bool:
    """A start that is killed before its n-th change of a name or sync of a folder; False when it came to its end."""
    child = os.fork()
    if child == 0:
        left, own = call, os.getpid()

        def counted(act: Callable[..., Any]) -> Callable[..., Any]:
            def step(*arguments: Any, **named: Any) -> Any:
                nonlocal left
                left -= os.getpid() == own  # and not of the process that salvages
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return act(*arguments, **named)

            return step

        verdict.sync_path = counted(verdict.sync_path)  # type: ignore[attr-defined]
        for module, name in ((os, "rename"), (shutil, "rmtree")):
            setattr(module, name, counted(getattr(module, name)))
        try:
            start(folder)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def check_salvaged(folder: Path) -> None:
    """Everything is there, and the damaged database stands beside, once."""
    assert [path.name for path in folder.glob("db*") if path.name != "db"] == [
        path.name for path in verdict.set_aside(folder)
    ]
    assert len(verdict.set_aside(folder)) == 1
    assert not (folder / "salvage").exists()
    store = LmdbStore.open(folder)
    try:
        assert list(check(store)) == []
        with store.reading() as r:
            history = History(r)
            held = [history.bytes_of(v.blob) for v in history.versions("a")]
            salvages = [record for record in history.records() if record.kind == "journal_salvaged"]
        assert held == [content(n) for n in range(VERSIONS)], "an older copy of the page proves the record"
        assert len(salvages) == 1
    finally:
        store.close()


def test_a_salvage_that_is_killed_anywhere_is_ended_by_the_next_start(damaged: Path, journals: Path) -> None:
    call = 0
    while True:
        folder = journals / f"{call}"
        shutil.copytree(damaged, folder)
        if not killed_at(call, folder):
            break
        start(folder)
        check_salvaged(folder)
        assert start(folder).salvaged == "", "it is sound now"
        shutil.rmtree(folder)
        call += live.length(3, 1)
    check_salvaged(folder)
    assert call > 5, "that many steps there are at least"


def test_a_repair_that_is_killed_is_still_asked_for(damaged: Path, journals: Path) -> None:
    folder = journals / "journal"
    shutil.copytree(damaged, folder)
    verdict.leave_mark(folder)
    verdict.ask_for_repair(folder)
    assert killed_at(1, folder)
    assert (folder / "repair").exists()
    assert start(folder).salvaged
    assert not (folder / "repair").exists()
    check_salvaged(folder)
