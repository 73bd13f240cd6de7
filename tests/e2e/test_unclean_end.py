"""How a daemon ended decides what is checked before the next one serves: little after a kill, else everything."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

import pytest

from live import Live, caught_up, eventually, ok, verified
from power import lose_the_last_commit
from quire_client import NoDaemon
from quire_daemon.integrity import verdict
from quire_journal.journal import Journal
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.views import table as views, watermarks
from quire_journal.views.table import VIEWS

pytestmark = [pytest.mark.real, pytest.mark.timeout(60)]


def checks(at: Live) -> list[dict[str, Any]]:
    """What the starts so far looked at."""
    lines = [json.loads(line) for line in (at.state_dir / "daemon.log").read_text().splitlines()]
    return [line for line in lines if line["event"] == "journal_checked"]


def edited(at: Live, times: int = 5) -> str:
    """A file with some versions; what stands in it."""
    content = ""
    with at.connect() as client:
        version = None
        for n in range(times):
            content = f"{n} {os.urandom(4).hex()}\n" * 50
            base = {"base": version} if version else {}
            version = ok(client.call("write_file", {"path": "a.txt", "content": content, **base}))["version"]
    return content


def started_again(at: Live, content: str) -> dict[str, Any]:
    """What the next start looked at, and that the journal is whole."""
    (at.state_dir / "journal" / "boot").unlink(missing_ok=True)  # as one from before the machine was started anew
    before = len(checks(at)) if at.state_dir.exists() else 0
    with at.connect() as client:
        caught_up(client)
        assert ok(client.call("read_file", {"path": "a.txt"}))["content"] == content
        verified(client)
    assert len(checks(at)) == before + 1
    return checks(at)[-1]


def test_after_kills_nothing_is_checked_and_after_an_end_of_the_machine_everything(at: Live) -> None:
    content = edited(at)
    for _ in range(2):
        at.kill()
        with at.connect() as client:
            assert ok(client.call("read_file", {"path": "a.txt"}))["content"] == content
    assert checks(at) == []
    at.kill()
    looked = started_again(at, content)
    assert (looked["whole"], looked["found"]) == (True, [])


def test_a_journal_whose_views_were_being_built_when_the_machine_ended_is_not_taken_for_a_damaged_one(at: Live) -> None:
    """It was set aside and salvaged, as after a power cut in the minute that an update or a purge of a name takes."""
    content = edited(at)
    with at.connect(agent="token-of-ann") as client:
        ok(client.call("write_file", {"path": "b.txt", "content": "token-of-ben\n"}))
        assert ok(client.call("purge", {"matching": "token-of-[a-z]+"}))["records"]
    at.kill()
    store = LmdbStore.open(at.state_dir / "journal")
    with store.writing() as w:
        for table in views.TABLES:
            w.clear(table)
        watermarks.write(w, {view.name: (view.version, 0) for view in VIEWS})
    store.close()
    looked = started_again(at, content)
    assert looked["found"]
    assert (looked["views_differ"], looked["salvaged"]) == (True, "")


def files_of(at: Live) -> dict[str, tuple[bytes, int]]:
    """What stands in the journal's folder, but for the lock file of the database."""
    journal = at.state_dir / "journal"
    files = [path for path in journal.rglob("*") if path.is_file() and path.name != "lock.mdb"]
    return {str(path.relative_to(journal)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


NEWER = pytest.mark.wide


@pytest.mark.parametrize(
    "ended", ["killed", pytest.param("stopped", marks=NEWER), pytest.param("unknown", marks=NEWER)]
)
@pytest.mark.parametrize("format", [6, 99])
def test_of_a_journal_of_another_format_nothing_is_touched(at: Live, ended: str, format: int) -> None:
    edited(at, 2)
    at.kill()
    journal = at.state_dir / "journal"
    if ended == "unknown":
        (journal / "boot").unlink()
    store = LmdbStore.open(journal)
    with store.writing() as w:
        w.put("meta", b"format", b"%d" % format)
    store.close()
    if ended == "stopped":
        verdict.leave_mark(journal)
    if ended != "unknown":
        (journal / "crashed").unlink()  # the killed daemon's, and empty
    before = files_of(at)
    with pytest.raises(NoDaemon, match=rf"format {format}.*nothing was changed"), at.connect() as client:
        client.call("status", {})
    after = files_of(at)
    if ended == "stopped":  # the mark was taken away and left again: it says the same
        assert after.pop("clean")[0] == before.pop("clean")[0]
    assert after == before


def test_the_journal_of_another_workspace_is_not_served(at: Live) -> None:
    edited(at, 2)
    at.kill()
    file = at.state_dir / "journal" / "db" / "data.mdb"
    Journal.open(LmdbStore.open(at.top / "other"), 1, workspace_id="1" * 32).close()
    strange = (at.top / "other" / "db" / "data.mdb").read_bytes()
    file.write_bytes(strange)
    with pytest.raises(NoDaemon, match="that of another workspace"), at.connect() as client:
        client.call("status", {})
    assert file.read_bytes() == strange


@pytest.mark.wide
def test_an_edit_that_was_answered_outlives_a_power_cut_that_takes_the_last_commit_back(at: Live) -> None:
    """The journal's pages were synced, what leads to them was not: the log is folded again."""
    content = edited(at)
    at.kill()
    lose_the_last_commit(at.state_dir / "journal")
    assert started_again(at, content)["found"] == []
    with at.connect() as client:
        (newest,) = ok(client.call("log", {"path": "a.txt", "limit": 1}))["records"]
    assert newest["kind"] == "file_written"


def test_a_journal_without_its_log_is_refused_until_somebody_asks_for_a_repair(at: Live) -> None:
    """What was answered last may have stood there only: nobody goes on as if nothing was missing."""
    content = edited(at)
    at.kill()
    (log,) = (at.state_dir / "journal" / "db").glob("log.*")
    log.rename(at.state_dir / log.name)
    for _ in range(2):
        with pytest.raises(NoDaemon, match="holds more than its log does") as refused, at.connect() as client:
            client.call("status", {})
    repair = at.state_dir / "journal" / "repair"
    assert str(repair) in str(refused.value)
    (at.state_dir / log.name).rename(log)
    assert started_again(at, content)["found"] == []
    at.kill()
    for log in (at.state_dir / "journal" / "db").glob("log.*"):
        log.unlink()
    repair.touch()
    with at.connect() as client:
        assert ok(client.call("read_file", {"path": "a.txt"}))["content"] == content
        ok(client.call("write_file", {"path": "b.txt", "content": "b\n"}))
        assert ok(client.call("verify"))["findings"] == []


def test_what_a_start_after_an_end_of_the_machine_did_not_get_to_is_left_to_the_next(at: Live) -> None:
    """It was killed while it finished the writes: what the file system forgot would never have been asked again."""
    edited(at)
    at.kill()
    with at.fault("after_commit"), at.connect() as doomed:
        assert doomed.call("write_file", {"path": "b.txt", "content": "b\n"})["outcome"] == "unknown"
    eventually("the daemon has died", lambda: not at.pids())
    (at.state_dir / "journal" / "boot").unlink()  # as one from before the machine was started anew
    before = len(checks(at))
    with at.fault("perform.created"), contextlib.suppress(NoDaemon), at.connect() as doomed:
        doomed.call("status", {})
    with at.connect() as client:
        assert ok(client.call("read_file", {"path": "b.txt"}))["content"] == "b\n"
    assert [found["machine_ran"] for found in checks(at)[before:]] == [False, False]
