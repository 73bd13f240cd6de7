"""`repair`: a plan that changes nothing, and a deed that says what was lost."""

from __future__ import annotations

import pytest

from live import Live, caught_up, eventually, ok, refused, verified
from quire_daemon.integrity.verdict import leave_mark
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.storage.port import u64

pytestmark = [pytest.mark.real, pytest.mark.timeout(60)]


def stopped(at: Live) -> LmdbStore:
    """The journal, of which the daemon has been stopped in good order."""
    ok(at.connect().call("shutdown", {}))
    eventually("the daemon has stopped", lambda: not at.pids())
    return LmdbStore.open(at.state_dir / "journal")


def looks_clean(at: Live, store: LmdbStore) -> None:
    """Whoever damaged it left no trace of that: the mark of a good end fits."""
    store.close()
    leave_mark(at.state_dir / "journal")


def test_damaged_bytes_are_found_planned_for_and_marked_as_lost(at: Live) -> None:
    client = at.connect()
    first = ok(client.call("write_file", {"path": "a.txt", "content": "one\n" * 50}))["version"]
    ok(client.call("write_file", {"path": "a.txt", "content": "two " * 200, "base": first}))
    assert ok(client.repair())["message"] == "The journal is sound; there is nothing to repair."
    store = stopped(at)
    with store.reading() as r:
        frame = next(value for _, value in r.scan("blobs"))
    store.close()
    data = at.state_dir / "journal" / "db" / "data.mdb"
    data.write_bytes(data.read_bytes().replace(frame, frame[:-4] + bytes(4)))  # its older copies, too
    looks_clean(at, store)

    refused(client.call("read_file", {"path": "a.txt", "at": first}), "journal_damaged", "fault")
    plan = ok(client.repair())
    assert plan["findings"]
    assert "set aside" in plan["plan"]
    assert not plan["executed"]
    assert ok(client.repair(execute=True))["executed"]
    eventually("the daemon has ended", lambda: not at.pids())
    assert "Lost: the bytes of" in ok(client.call("status", {}))["salvaged"]
    caught_up(client)
    verified(client)
    gone = refused(client.call("read_file", {"path": "a.txt", "at": first}), "uncaptured")
    assert "lost to damage" in gone["message"]
    assert ok(client.call("read_file", {"path": "a.txt"}))["content"] == "two " * 200


def test_views_that_differ_are_folded_again_and_nothing_is_lost(at: Live) -> None:
    client = at.connect()
    ok(client.call("write_file", {"path": "a.txt", "content": "one\n"}))
    store = stopped(at)
    with store.writing() as w:
        w.put("checkpoints", u64(7) + u64(7), b"nothing that the log makes")
    looks_clean(at, store)
    plan = ok(client.repair())
    assert "rebuilt from the log" in plan["plan"]
    assert ok(client.repair(execute=True))["executed"]
    eventually("the daemon has ended", lambda: not at.pids())
    verified(client)
    assert "salvaged" not in ok(client.call("status", {}))


def test_a_journal_that_was_damaged_after_a_good_end_is_salvaged_at_the_first_start(at: Live) -> None:
    client = at.connect()
    ok(client.call("write_file", {"path": "a.txt", "content": "one\n"}))
    stopped(at).close()
    file = at.state_dir / "journal" / "db" / "data.mdb"
    data = bytearray(file.read_bytes())
    data[2 * 4096 :] = bytes(len(data) - 2 * 4096)  # every table
    file.write_bytes(data)
    leave_mark(at.state_dir / "journal")  # as if nothing had touched it since the end

    assert ok(client.call("status", {}))["salvaged"]
    (warning,) = ok(client.call("log", {}))["warnings"]  # whoever asks first may not ask how the journal is
    assert (warning["type"], "has been salvaged at" in warning["message"]) == ("journal_salvaged", True)
    assert "warnings" not in ok(client.call("log", {}))
    caught_up(client)
    assert ok(client.call("read_file", {"path": "a.txt"}))["content"] == "one\n"
    verified(client)
    assert '"damaged"' in at.log_tail()
