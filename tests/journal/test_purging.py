"""What a purge finds, and what it leaves of the texts that told of it."""

from __future__ import annotations

import re

from scribe import Scribe

from quire_journal import purging
from quire_journal.check import check
from quire_journal.events import CheckpointNamed, EditRefused, Event, FileWritten, ReplyKept, WriterIntroduced
from quire_journal.ids import BatchId, WriterId, blob_id
from quire_journal.journal import Entry, Journal
from quire_journal.log import TABLES
from quire_journal.purging import Texts, Wanted
from quire_journal.records import decode_record
from quire_journal.stores.memory import MemoryStore
from quire_journal.views import VIEWS

KEY = b"-----BEGIN KEY-----\nabc\nMIIEvQIBADANBgkq\n-----END KEY-----\n"


def told(scribe: Scribe, wanted: Wanted) -> dict[int, str]:
    """What the records that a purge replaces say afterwards, in one string each."""
    with scribe.store.reading() as r:
        change = purging.change(r, wanted, purging.find(r, wanted))
    rows = [decode_record(row) for table, _, row in change.rows if table == "records"]
    return {record.seq: repr(record.event()) for record in rows}


def test_lines_of_a_file_that_goes_are_masked_wherever_they_stand() -> None:
    scribe = Scribe().introduce()
    scribe.write("key.pem", KEY)
    kept = scribe.note(ReplyKept("k", b"x" * 32, b"... MIIEvQIBADANBgkq ..."), writer=1)
    refused = scribe.note(EditRefused("edit", "a.py", "stale", "there is MIIEvQIBADANBgkq now, and abc"), writer=1)
    scribe.note(EditRefused("edit", "a.py", "stale", "there is something else"), writer=1)
    said = told(scribe, Wanted(path="key.pem"))
    assert set(said) == {kept, refused}
    assert "there is [purged] now, and abc" in said[refused]
    assert "MIIE" not in said[kept]


def test_the_key_of_a_kept_reply_is_masked_too() -> None:
    """The caller chose it, out of whatever it had."""
    scribe = Scribe().introduce()
    kept = scribe.note(ReplyKept("deploy token=x1y2z3", b"x" * 32, b"done"), writer=1)
    wanted = Wanted(matching=re.compile(rb"token=\w+"))
    assert "'deploy [purged]'" in told(scribe, wanted)[kept]
    with scribe.store.reading() as r:
        change = purging.change(r, wanted, purging.find(r, wanted))
    assert "batches" in change.views, "the row stands under another key then"


def test_what_matches_over_several_lines_goes_as_a_whole_and_its_lines_alone() -> None:
    """A line of it is too short to be looked for by itself; it goes where it stands within the match."""
    scribe = Scribe().introduce()
    scribe.write("key.pem", b"# mine\n" + KEY)
    whole = scribe.note(EditRefused("edit", "a.py", "stale", f"see {KEY.decode()}"), writer=1)
    line = scribe.note(EditRefused("edit", "a.py", "stale", "see MIIEvQIBADANBgkq, abc"), writer=1)
    wanted = Wanted(matching=re.compile(rb"-----BEGIN(?:.|\n)*END KEY-----"))
    with scribe.store.reading() as r:
        assert list(purging.find(r, wanted).blobs) == [blob_id(b"# mine\n" + KEY)]
    said = told(scribe, wanted)
    assert "'see [purged]\\n'" in said[whole]
    assert "see [purged], abc" in said[line]


def test_a_log_stays_as_long_as_it_is() -> None:
    texts = Texts(re.compile(rb"to[k]en=\w+"), re.compile(rb"secret"))
    assert purging.mask(b"a token=x1 secrets\n", texts) == b"a ******** ******s\n"
    assert purging.mask(b"nothing\n", Texts()) == b"nothing\n"


def test_rows_of_views_that_told_of_it_change_with_the_records_and_no_view_is_folded_again() -> None:
    """To fold one again holds everybody up for as long as the log is."""
    store = MemoryStore()
    journal = Journal.open(store, 1)

    def note(*events: Event, bytes_named: bytes = b"") -> None:
        first = journal.head + 1
        entries = [Entry(event, WriterId(1), first, BatchId(first)) for event in events]
        journal.append(entries, [(bytes_named, "a")] if bytes_named else [])

    note(WriterIntroduced(1, uid=1000, agent="ann", agent_session="s1"))
    note(FileWritten("a", blob_id(b"token=x1y2z3\n"), 13, 0o644, 0), bytes_named=b"token=x1y2z3\n")
    note(ReplyKept("k1", b"x" * 32, b"a holds token=x1y2z3"), ReplyKept("k2", b"x" * 32, b"nothing of it"))
    note(CheckpointNamed("one", 2, "before token=x1y2z3 came"), CheckpointNamed("two", 2, "other"))
    wanted = Wanted(matching=re.compile(rb"token=\w+"))
    with store.reading() as r:
        change = purging.change(r, wanted, purging.find(r, wanted))
    assert change.views == ()
    assert {table for table, _, _ in change.rows} == {"records", "replies", "checkpoints"}
    entries = [Entry(event, WriterId(1), 9, BatchId(journal.head + 1)) for event in change.events]
    journal.append(entries, dropped=change.dropped, instead=change.rows)
    assert [str(finding) for finding in check(store)] == []
    with store.reading() as r:
        assert not any(b"x1y2z3" in row for table in TABLES for _, row in r.scan(table))


def test_who_has_another_name_afterwards_has_the_views_folded_again() -> None:
    scribe = Scribe()
    scribe.note(WriterIntroduced(1, uid=1000, agent="token=x1y2z3"))
    wanted = Wanted(matching=re.compile(rb"token=\w+"))
    with scribe.store.reading() as r:
        change = purging.change(r, wanted, purging.find(r, wanted))
    assert set(change.views) == {view.name for view in VIEWS}
