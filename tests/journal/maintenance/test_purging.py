"""What a purge finds, and what it leaves of the texts that told of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec
import pytest
from hypothesis import given, strategies as st
from scribe import Scribe, to_purge

from quire_journal.export import jsonl
from quire_journal.export.importer import NotAnExport, import_lines
from quire_journal.export.source import Source, Stretch
from quire_journal.history.history import History
from quire_journal.integrity.checker import check
from quire_journal.journal import Journal, NewRecord
from quire_journal.maintenance import purge
from quire_journal.maintenance.multi_search import AnyOf
from quire_journal.maintenance.purge import PurgeSurvey, PurgeTarget, PurgeTransaction, Texts
from quire_journal.model.events import (
    BatchUndone,
    BurstBegun,
    CaptureFailed,
    CheckpointNamed,
    EditRefused,
    Event,
    FileMoved,
    FileWritten,
    LeaseGranted,
    OutsideWritten,
    Purged,
    ReadServed,
    ReplyKept,
    WriterIntroduced,
    WritesAbandoned,
)
from quire_journal.model.ids import BatchId, WriterId, blob_id
from quire_journal.model.records import JournalDamaged, decode_record
from quire_journal.storage.blobs import blobs
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import TABLES, Store, u64
from quire_journal.views import table as views
from quire_journal.views.shadow import ViewsElsewhere
from quire_journal.views.table import VIEWS
from quire_journal.views.writers import caller_of

KEY = b"-----BEGIN KEY-----\nabc\nMIIEvQIBADANBgkq\n-----END KEY-----\n"


def told(scribe: Scribe, wanted: PurgeTarget) -> dict[int, str]:
    """What the records that a purge replaces say afterwards, in one string each."""
    rows = [decode_record(row) for table, _, row in looked(scribe.store, wanted).rows if table == "records" and row]
    return {record.seq: repr(record.event()) for record in rows}


def looked(store: Store, wanted: PurgeTarget) -> PurgeTransaction:
    with store.reading() as r:
        return to_purge(r, wanted)


def test_lines_of_a_file_that_goes_are_masked_wherever_they_stand() -> None:
    scribe = Scribe().introduce()
    scribe.write("key.pem", KEY)
    kept = scribe.note(ReplyKept("k", b"x" * 32, b"... MIIEvQIBADANBgkq ..."), writer=1)
    refused = scribe.note(EditRefused("edit", "a.py", "stale", "there is MIIEvQIBADANBgkq now, and abc"), writer=1)
    scribe.note(EditRefused("edit", "a.py", "stale", "there is something else"), writer=1)
    said = told(scribe, PurgeTarget(path="key.pem"))
    assert set(said) == {kept, refused}
    assert "there is [purged] now, and abc" in said[refused]
    assert "MIIE" not in said[kept]


def test_words_of_quires_own_stay_though_a_line_of_what_goes_is_one_of_them() -> None:
    """Else every file that a tool wrote would have been written by nobody knows what."""
    scribe = Scribe().introduce()
    scribe.write("notes", b"write_file\noverlapping_edits\nwatched\ntoo_large\n")
    scribe.write("a.py", b"a\n", by="write_file")
    scribe.outside("b.py", b"b\n")
    scribe.note(CaptureFailed("large", "too_large", 1 << 40))
    refused = scribe.note(EditRefused("write_file", "a.py", "overlapping_edits", "write_file is told"), writer=1)
    said = told(scribe, PurgeTarget(path="notes"))
    assert set(said) == {refused}
    assert "'write_file', path='a.py', code='overlapping_edits', why='[purged] is told'" in said[refused]


def test_the_key_of_a_kept_reply_is_masked_too() -> None:
    """The caller chose it, out of whatever it had."""
    scribe = Scribe().introduce()
    kept = scribe.note(ReplyKept("deploy token=x1y2z3", b"x" * 32, b"done"), writer=1)
    wanted = PurgeTarget(matching=re.compile(rb"token=\w+"))
    assert "'deploy [purged]'" in told(scribe, wanted)[kept]
    replies = [row for table, _, row in looked(scribe.store, wanted).rows if table == "replies"]
    assert replies[0] is None or replies[1] is None, "the row stands under another key then"


def test_what_matches_over_several_lines_goes_as_a_whole_and_its_lines_alone() -> None:
    """A line of it is too short to be looked for by itself; it goes where it stands within the match."""
    scribe = Scribe().introduce()
    scribe.write("key.pem", b"# mine\n" + KEY)
    whole = scribe.note(EditRefused("edit", "a.py", "stale", f"see {KEY.decode()}"), writer=1)
    line = scribe.note(EditRefused("edit", "a.py", "stale", "see MIIEvQIBADANBgkq, abc"), writer=1)
    wanted = PurgeTarget(matching=re.compile(rb"-----BEGIN(?:.|\n)*END KEY-----"))
    with scribe.store.reading() as r:
        assert list(PurgeSurvey(wanted).look(r).blobs) == [blob_id(b"# mine\n" + KEY)]
    said = told(scribe, wanted)
    assert "'see [purged]\\n'" in said[whole]
    assert "see [purged], abc" in said[line]


def test_a_log_stays_as_long_as_it_is() -> None:
    texts = Texts(re.compile(rb"to[k]en=\w+"), AnyOf([b"secret"]))
    assert purge.mask(b"a token=x1 secrets\n", texts) == b"a ******** ******s\n"
    assert purge.mask(b"nothing\n", Texts()) == b"nothing\n"


def test_a_purge_changes_the_rows_of_views_without_a_rebuild() -> None:
    """To fold one again holds everybody up for as long as the log is."""
    store = MemoryStore()
    journal = Journal.open(store, 1)

    def note(*events: Event, bytes_named: bytes = b"") -> None:
        first = journal.head + 1
        entries = [NewRecord(event, WriterId(1), first, BatchId(first)) for event in events]
        journal.append(entries, [(bytes_named, "a")] if bytes_named else [])

    note(WriterIntroduced(1, uid=1000, agent="ann", agent_session="s1"))
    note(FileWritten("a", blob_id(b"token=x1y2z3\n"), 13, 0o644, 0), bytes_named=b"token=x1y2z3\n")
    note(ReplyKept("k1", b"x" * 32, b"a holds token=x1y2z3"), ReplyKept("k2", b"x" * 32, b"nothing of it"))
    note(CheckpointNamed("one", 2, "before token=x1y2z3 came"), CheckpointNamed("two", 2, "other"))
    wanted = PurgeTarget(matching=re.compile(rb"token=\w+"))
    change = looked(store, wanted)
    assert {table for table, _, _ in change.rows} == {"records", "replies", "checkpoints"}
    entries = [NewRecord(event, WriterId(1), 9, BatchId(journal.head + 1)) for event in change.events]
    journal.append(entries, dropped=change.dropped, instead=change.rows)
    assert [str(finding) for finding in check(store)] == []
    with store.reading() as r:
        assert not any(b"x1y2z3" in row for table in TABLES for _, row in r.scan(table))


NAMED: Final = PurgeTarget(matching=re.compile(rb"token=\w+"))


def lived(journal: Journal, rounds: range) -> None:
    """Agents, one with a secret for its name, who read, write, undo, lease, keep replies and name checkpoints."""
    for n in rounds:
        ann, turn = WriterId(2 * n + 1), f"t{n}"
        bob = WriterId(2 * n + 2)
        first = journal.head + 1
        data = f"line {n}\n".encode()
        told = ReplyKept(f"k{n}", bytes(32), b"done"), EditRefused("edit", "a", "stale", "token=x1y2z3 is there")
        events: list[tuple[Event, int]] = [
            (WriterIntroduced(ann, uid=1, agent="token=x1y2z3", agent_session="s", turn=turn), ann),
            (WriterIntroduced(bob, uid=1, agent="bob", turn=turn), bob),
            (FileWritten("a", blob_id(data), len(data), 0o644, 0), ann),
            (ReadServed("a", first + 2, ((0, 1),), anchors=True), bob),
            (FileWritten("b", blob_id(data), len(data), 0o644, 0), bob),
            (ReadServed("b", first + 4, ((0, 1),), anchors=True), ann),
            (LeaseGranted("a", "file", "exclusive", 60, "for token=x1y2z3"), ann),
            (BurstBegun("of token=x1y2z3", "formatter", 60), bob),
            *((one, ann) for one in told),
            (CheckpointNamed(f"one {n}", first, "before token=x1y2z3"), bob),
            (BatchUndone((first + 4,)), ann),
        ]
        entries = [NewRecord(e, WriterId(w), first + n, BatchId(first + at)) for at, (e, w) in enumerate(events)]
        journal.append(entries, [(data, "a"), (data, "b")])


def purged(journal: Journal, change: PurgeTransaction) -> None:
    batch = BatchId(journal.head + 1)
    entries = [NewRecord(event, WriterId(1), journal.head + 1, batch) for event in change.events]
    journal.append(entries, dropped=change.dropped, instead=change.rows)


def changed_by_the_disk(store: Store, seq: int, was: bytes, now: bytes) -> None:
    with store.writing() as w:
        stored = w.get("records", u64(seq)) or b""
        assert was in stored
        w.put("records", u64(seq), stored.replace(was, now))


def test_a_record_that_a_purge_replaced_is_vouched_for_as_it_stands_now() -> None:
    """The next one holds the hash of before: whatever still was a record passed."""
    store = MemoryStore()
    journal = Journal.open(store, 1)
    lived(journal, range(2))
    purged(journal, looked(store, NAMED))
    assert list(check(store)) == []
    with store.reading() as r:
        refused, by = 10, journal.head
        assert isinstance(decode_record(r.get("records", u64(refused)) or b"").event(), EditRefused)
    changed_by_the_disk(store, refused, b" is there", b" is where")
    assert f"Record {refused} is not what record {by} put there." in map(str, check(store))


def test_of_two_purges_of_a_record_the_last_one_vouches_for_it() -> None:
    store = MemoryStore()
    journal = Journal.open(store, 1)
    lived(journal, range(2))
    purged(journal, looked(store, NAMED))
    purged(journal, looked(store, PurgeTarget(matching=re.compile(rb"is there"))))
    assert list(check(store)) == []
    changed_by_the_disk(store, 10, b"[purged] ", b"[purged]_")
    assert [finding.seq for finding in check(store) if finding.table == "records"] == [10]


def test_a_purge_by_an_older_quire_without_links_is_accepted() -> None:
    store = MemoryStore()
    journal = Journal.open(store, 1)
    lived(journal, range(2))
    purged(journal, looked(store, NAMED))
    change = looked(store, PurgeTarget(matching=re.compile(rb"is there")))
    change.events = [msgspec.structs.replace(e, standing=()) for e in change.events if isinstance(e, Purged)]
    purged(journal, change)
    assert list(check(store)) == []


def test_an_export_with_another_record_than_a_purge_left_is_no_export() -> None:
    store, new = MemoryStore(), MemoryStore()
    journal = Journal.open(store, 1)
    lived(journal, range(2))
    purged(journal, looked(store, NAMED))

    def lines() -> Iterator[bytes]:
        yield from jsonl.export(Source(store, Stretch(0, journal.head), journal.workspace_id), "")

    Journal.open(new, 1)
    import_lines(lines(), new)
    assert list(check(new)) == []
    changed_by_the_disk(store, 10, b" is there", b" is where")
    Journal.open(again := MemoryStore(), 1)
    with pytest.raises(NotAnExport, match=f"record {journal.head} put another record 10 there than the one that came"):
        import_lines(lines(), again)


def test_who_has_another_name_afterwards_has_it_in_every_view_at_once() -> None:
    """Views were folded again once the log had been changed: everybody waited, and a reader saw them halfway."""
    store = MemoryStore()
    journal = Journal.open(store, 1)
    lived(journal, range(3))
    with store.reading() as r:
        caller = caller_of(r, 1)
        assert History(r).shown(caller, "b") is not None
    purged(journal, looked(store, NAMED))
    assert [str(finding) for finding in check(store)] == []
    with store.reading() as r:
        assert not any(b"x1y2z3" in key + row for table in TABLES for key, row in r.scan(table))
        assert History(r).shown(caller, "b") is None
        assert History(r).shown(caller_of(r, 1), "b") is not None
        assert [writer.agent for n in (1, 2) if (writer := History(r).writer(n))] == ["[purged]", "bob"]
    journal.append([NewRecord(ReadServed("a", 3, ((0, 1),)), WriterId(1), 99, BatchId(journal.head + 1))])
    assert [str(finding) for finding in check(store)] == []


@given(cuts=st.lists(st.integers(0, 2), max_size=3), bytes_too=st.booleans())
def test_several_looks_find_what_one_at_the_end_does(cuts: list[int], bytes_too: bool) -> None:
    """What came meanwhile is all that a later look goes through, unless it brings more of what is to go."""
    store = MemoryStore()
    journal = Journal.open(store, 1)
    several, at = PurgeSurvey(NAMED), 0
    for more in cuts:
        lived(journal, range(at, at + more))
        at += more
        if bytes_too and more % 2:
            data = f"token=x1y2z3 {at}\nand a line of it\n".encode()
            event = FileWritten("c", blob_id(data), len(data), 0o644, 0)
            journal.append([NewRecord(event, WriterId(0), 1, BatchId(journal.head + 1))], [(data, "c")])
        with store.reading() as r:
            several.look(r)
            change = several.change(r)
    if cuts:
        at_once = looked(store, NAMED)
        assert {row[:2]: row for row in change.rows} == {row[:2]: row for row in at_once.rows}
        assert (change.events, change.dropped) == (at_once.events, at_once.dropped)
        purged(journal, change)
    assert [str(finding) for finding in check(store)] == []


def test_a_file_that_was_moved_with_edits_does_not_depend_on_what_is_purged() -> None:
    """No version of it names that blob."""
    store = MemoryStore()
    journal = Journal.open(store, 1)

    def note(event: Event, data: bytes, path: str) -> None:
        journal.append([NewRecord(event, WriterId(1), 1, BatchId(journal.head + 1))], [(data, path)])

    rest = b"".join(b"line %d of it\n" % n for n in range(100))
    for before, path, data in (("", "a", b"token=x1y2z3\n" + rest), ("a", "b", b"nothing\n" + rest)):
        named = blob_id(data), len(data), 0o644, journal.head
        note(FileMoved(before, path, *named) if before else FileWritten(path, *named), data, path)
    with store.reading() as r:
        assert blobs.stored_at(r, 2).base == 1
    purged(journal, looked(store, NAMED))
    assert [str(finding) for finding in check(store)] == []


def test_a_file_whose_write_was_taken_back_leaves_the_index_with_the_bytes_of_that_write() -> None:
    """No version has them, and a replay, which has them no more, came to another row: `verify` told of damage."""
    store = MemoryStore()
    journal = Journal.open(store, 1)

    def note(*events: Event, data: bytes) -> None:
        batch = BatchId(journal.head + 1)
        journal.append([NewRecord(event, WriterId(1), 1, batch) for event in events], [(data, "a")])

    lines = [b"line %d\n" % n for n in range(9)]
    first, second, lost = b"".join(lines), b"".join([*lines[:5], b"new\n", *lines[5:]]), b"token=x1y2z3\n"
    journal.append([NewRecord(WriterIntroduced(1, agent="ann"), WriterId(0), 1, BatchId(1))])
    note(OutsideWritten("a", blob_id(first), len(first), 0o644, "watched"), data=first)
    note(ReadServed("a", 2, ((0, 9),), anchors=True), data=first)
    note(OutsideWritten("a", blob_id(second), len(second), 0o644, "watched"), data=second)
    note(FileWritten("a", blob_id(lost), len(lost), 0o644, 4), data=lost)
    note(WritesAbandoned((5,), "it lost a race"), data=second)
    assert [str(finding) for finding in check(store)] == []
    purged(journal, looked(store, NAMED))
    assert [str(finding) for finding in check(store)] == []


def test_findings_of_a_purge_are_outdated_by_a_new_blob_without_a_record() -> None:
    """As those of a version that the journal had lost, and that stand on the disk again: they were not looked at."""
    scribe = Scribe().introduce()
    scribe.write("a", b"token=x1y2z3\n")
    with scribe.store.reading() as r:
        stood = purge.stand(r)
        assert purge.stand(r) == stood
    scribe.hold(b"token=a1b2c3\n")
    with scribe.store.reading() as r:
        assert purge.stand(r) != stood
        assert len(PurgeSurvey(NAMED).look(r).blobs) == 2


def test_bytes_that_a_collection_drops_between_two_looks_are_not_told_as_purged() -> None:
    scribe = Scribe().introduce()
    scribe.write("a", b"token=x1y2z3\n")
    looking = PurgeSurvey(NAMED)
    with scribe.store.reading() as r:
        assert len(looking.look(r).blobs) == 1
    with scribe.store.writing() as w:
        blobs.drop(w, blob_id(b"token=x1y2z3\n"))
    with scribe.store.reading() as r:
        assert looking.look(r).blobs == {}
        assert looking.change(r).dropped == []


@pytest.mark.parametrize("words", [b"edit", b"watched|exclusive|file|undo|formatter|session|s", b"a|b"])
def test_an_expression_that_matches_our_own_words_leaves_a_sound_journal(words: bytes) -> None:
    store = MemoryStore()
    journal = Journal.open(store, 1)
    lived(journal, range(2))
    purged(journal, looked(store, PurgeTarget(matching=re.compile(words))))
    assert [str(finding) for finding in check(store)] == []


def test_a_view_says_whether_its_rows_depend_on_who_the_writers_are() -> None:
    """Else a purge of a name would leave them as they were."""
    journal = Journal.open(MemoryStore(), 1)
    lived(journal, range(2))
    asking: dict[str, set[str]] = {view.name: set() for view in VIEWS}

    class Told(ViewsElsewhere):
        view = ""

        def get(self, table: str, key: bytes) -> bytes | None:
            asking[self.view].add(table)
            return super().get(table, key)

    with journal.store.reading() as r, MemoryStore().writing() as again:
        told = Told(r, again, views.TABLES)
        for _, row in r.scan("records"):
            record = decode_record(row)
            for view in VIEWS:
                again.known.clear()
                told.view = view.name
                view.apply(told, record, record.event())
    assert {name for name, tables in asking.items() if "writers" in tables} == {v.name for v in VIEWS if v.who}


def test_a_purge_that_meets_a_row_that_is_no_blob_tells_of_damage() -> None:
    """The process that looks ended of it, and who asked was told to ask again."""
    scribe = Scribe().introduce()
    scribe.write("key.pem", KEY)
    scribe.write("a.py", b"nothing of that kind\n" * 5)
    with scribe.store.writing() as w:
        w.put("blobs", u64(2), b"nonsense")
    with pytest.raises(JournalDamaged, match="blob 2 is not a blob"):
        looked(scribe.store, PurgeTarget(path="key.pem"))


def test_a_purge_by_expression_reports_damaged_bytes() -> None:
    """Those that are in the file may still be the secret, but for a letter; they were passed over."""
    scribe = Scribe().introduce()
    scribe.write("a.py", b"token=x1y2z3")
    with scribe.store.writing() as w:
        row = w.get("blobs", u64(1)) or b""
        w.put("blobs", u64(1), row.replace(b"token", b"tokem"))
        assert w.get("blobs", u64(1)) != row
    with pytest.raises(JournalDamaged, match="blob 1 does not have the bytes that it had"):
        looked(scribe.store, PurgeTarget(matching=re.compile(rb"token=\w+")))
