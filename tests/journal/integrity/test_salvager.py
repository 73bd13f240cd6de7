"""Salvage: one damaged record costs one record, numbers are never given twice, and what is lost is said."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from power import lose_the_last_commit
from quire_journal import FORMAT, READS
from quire_journal.history.history import History
from quire_journal.history.missing_bytes import missing
from quire_journal.integrity.checker import check
from quire_journal.integrity.lmdb_pages import Pages
from quire_journal.integrity.salvager import salvage, sentence
from quire_journal.journal import Journal, NewRecord, OtherFormat
from quire_journal.maintenance.purge import PurgeSurvey, PurgeTarget
from quire_journal.model.events import (
    BurstBegun,
    BytesGone,
    CheckpointNamed,
    EditRefused,
    Event,
    FileWritten,
    JournalSalvaged,
    Purged,
    RecordLost,
    WriterIntroduced,
)
from quire_journal.model.ids import BatchId, WriterId, blob_id
from quire_journal.model.records import HEAD_KEY, decode_record, encode_event, encode_record, record_hash
from quire_journal.shipment.ledger import content_key, keep_keys
from quire_journal.storage.blobs import codec, row as blob_row
from quire_journal.storage.blobs.row import BlobRow
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import u64
from quire_journal.text.text import Text
from quire_journal.views import table as views, watermarks
from quire_journal.views.table import VIEWS


def content(n: int) -> bytes:
    return b"".join(b"line %d of version %d\n" % (line, n if line == n else 0) for line in range(30))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A journal of an introduction (record 1) and ten versions (records 2 to 11), closed."""
    journal = Journal.open(LmdbStore.open(tmp_path), 1, workspace_id="w")
    journal.append([NewRecord(WriterIntroduced(1, uid=1000, agent="ann"), WriterId(0), 1, BatchId(1))])
    for n in range(10):
        data = content(n)
        event = FileWritten("a.py", blob_id(data), len(data), 0o644, 0)
        journal.append([NewRecord(event, WriterId(1), n, BatchId(journal.head + 1))], [(data, "a.py")])
        journal.publish()
    journal.close()
    return tmp_path


def without_log(folder: Path) -> None:
    """The database alone: what it does not tell, the write-ahead log does not tell either."""
    for segment in (folder / "db").glob("log.*"):
        segment.unlink()


def damage(folder: Path, was: bytes, now: bytes) -> None:
    """The bytes change on the disk, also where older copies of them stand, and the log does not tell them."""
    without_log(folder)
    data = folder / "db" / "data.mdb"
    assert len(was) == len(now)
    assert was in data.read_bytes()
    data.write_bytes(data.read_bytes().replace(was, now))


def change_record(folder: Path, seq: int, was: bytes, now: bytes) -> None:
    record = stored(folder, "records", u64(seq))
    assert was in record
    damage(folder, record, record.replace(was, now))


def stored(folder: Path, table: str, key: bytes) -> bytes:
    store = LmdbStore.open(folder)
    with store.reading() as r:
        found = r.get(table, key)
    store.close()
    assert found is not None
    return found


def salvaged(folder: Path) -> tuple[MemoryStore, JournalSalvaged]:
    store = MemoryStore()
    with Pages(folder / "db" / "data.mdb") as source:
        event = salvage(source, store, "w", 100, "a test", "db.damaged-1")
    assert list(check(store)) == []
    return store, event


def test_of_a_sound_journal_nothing_is_lost(folder: Path) -> None:
    store, event = salvaged(folder)
    assert sentence(event) == "Nothing was lost: all of its 11 records could be read."
    with store.reading() as r:
        assert [History(r).bytes_of(v.blob) for v in History(r).versions("a.py")] == [content(n) for n in range(10)]


def test_a_changed_record_costs_that_record_and_its_number_stays_taken(folder: Path) -> None:
    change_record(folder, 5, b"a.py", b"b.py")
    store, event = salvaged(folder)
    assert event.lost == ((5, 5),)
    assert sentence(event) == "Lost: 1 record (5); 10 records could be kept."
    with store.reading() as r:
        history = History(r)
        lost, kept = history.record(5), history.record(6)
        assert lost is not None
        assert lost.event() == RecordLost()
        assert kept is not None
        assert history.version("b.py", 5) is None
        assert [v.seq for v in history.versions("a.py")] == [2, 3, 4, 6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize("lost", [6, 7])
def test_of_many_stretches_the_first_are_named_and_the_others_counted(lost: int) -> None:
    event = JournalSalvaged("why", "aside", 9, tuple((2 * n, 2 * n) for n in range(1, lost + 1)))
    more = "1 more stretch" if lost == 6 else "2 more stretches"
    assert sentence(event) == f"Lost: {lost} records (2, 4, 6, 8, 10 and {more}); 9 records could be kept."


def test_of_two_changed_records_that_follow_each_other_neither_is_kept(folder: Path) -> None:
    """What is left of the second tells that the first is not what it was, and nothing else does: it was believed."""
    change_record(folder, 5, b"a.py", b"b.py")
    change_record(folder, 6, b"a.py", b"b.py")
    _, event = salvaged(folder)
    assert event.lost == ((5, 6),)


def test_a_record_that_nothing_vouches_for_is_not_believed(folder: Path) -> None:
    """The next one is gone, with all that it told, and it stands nowhere else."""
    store = LmdbStore.open(folder)
    compaction = store.compacting()
    compaction.copy()
    compaction.finish()
    compaction.release()
    store.close()
    change_record(folder, 5, b"a.py", b"b.py")
    record = stored(folder, "records", u64(6))
    damage(folder, record, b"\xff" * len(record))
    _, event = salvaged(folder)
    assert event.lost == ((5, 6),)


def test_a_misplaced_page_is_not_part_of_the_newest_tree(folder: Path) -> None:
    """An older copy said that the log ended earlier, and nothing was told as lost."""
    data = folder / "db" / "data.mdb"
    without_log(folder)  # which may know where it ended
    said: dict[bool, list[int]] = {True: [], False: []}
    with Pages(data) as source:
        for page, rows in source.rows():
            for row in rows:
                if row.key == HEAD_KEY:
                    said[row.live].append(page)
    now, earlier = said[True][0] * 4096, said[False][0] * 4096
    held = bytearray(data.read_bytes())
    held[now : now + 4096], held[earlier : earlier + 4096] = (
        held[earlier : earlier + 4096],
        held[now : now + 4096],
    )
    data.write_bytes(held)
    _, event = salvaged(folder)
    assert event.lost[-1][1] == 0


def test_a_salvage_of_meta_pages_older_than_the_log_does_not_claim_a_whole_file(folder: Path) -> None:
    """Both pages that tell of the newest commit are old ones, and the log knows of later commits."""
    data = folder / "db" / "data.mdb"
    old = data.read_bytes()
    journal = Journal.open(LmdbStore.open(folder), 1)
    for n in range(4):
        event = EditRefused("edit", "a.py", "x", f"no {n}")
        journal.append([NewRecord(event, WriterId(1), 100, BatchId(journal.head + 1))])
    journal.close()
    data.write_bytes(old)
    _, event_of_it = salvaged(folder)
    assert sentence(event_of_it) == "Lost: whatever came after record 15, if anything did; 15 records could be kept."


def test_outdated_pages_of_the_tree_do_not_hide_the_last_records(folder: Path) -> None:
    """The disk had not written them last: the log seemed to end earlier, and nothing was told as lost."""
    data = folder / "db" / "data.mdb"
    now: dict[str, int] = {}
    earlier: dict[str, int] = {}
    with Pages(data) as source:
        for page, rows in source.rows():
            here = {row.key: source.value(row) for row in rows}
            live = any(row.live for row in rows)
            if HEAD_KEY in here:
                (now if live else earlier)["meta"] = page
            elif u64(1) in here and b"ann" in here[u64(1)] and (live or u64(10) not in here):
                (now if live else earlier)["records"] = page
    held = bytearray(data.read_bytes())
    for table, page in now.items():
        old = earlier[table] * 4096
        held[page * 4096 + 8 : (page + 1) * 4096] = held[old + 8 : old + 4096]  # but for its number
    data.write_bytes(held)
    _, event = salvaged(folder)
    assert not sentence(event).startswith("Nothing")
    assert event.records == 11, "the log tells of them, too"


def test_a_blob_based_on_a_duplicate_that_was_left_out_is_reported_as_lost(folder: Path) -> None:
    """The second one was left out, and what was made of it kept, for its bytes were still at hand."""
    whole = content(0) + b"more\n"
    frame = codec.compress(content(0))
    journal = Journal.open(LmdbStore.open(folder), 1)
    event = FileWritten("z", blob_id(whole), len(whole), 0o644, 0)
    journal.append([NewRecord(event, WriterId(1), 100, BatchId(12))])
    stretch = codec.delta(whole, content(0), codec.Whole(whole))
    assert stretch is not None
    with journal.store.writing() as w:
        w.put("blobs", u64(11), blob_row.row(11, BlobRow(0, 0, frame.size, frame.kind, frame.body)))
        w.put("blobs", u64(12), blob_row.row(12, BlobRow(11, 1, len(whole), *stretch)))
    journal.close()
    store, _ = salvaged(folder)
    with store.reading() as r:
        version = History(r).version("z", 12)
        assert version is not None
        assert missing(History(r), version).why == "lost"


def test_a_changed_last_record_is_known_by_the_hash_that_the_journal_keeps_of_it(folder: Path) -> None:
    change_record(folder, 11, b"a.py", b"b.py")
    store, event = salvaged(folder)
    assert event.lost == ((11, 11),)
    assert Journal.open(store, 101).head == 12


def test_a_commit_that_a_power_cut_took_back_is_salvaged_with_the_rest(folder: Path) -> None:
    """Only the log tells of it: its number would have been given a second time."""
    change_record(folder, 5, b"a.py", b"b.py")
    store = LmdbStore.open(folder)
    store.forget_log()
    journal = Journal.open(store, 1)
    data = content(10)
    event = FileWritten("a.py", blob_id(data), len(data), 0o644, 0)
    journal.append([NewRecord(event, WriterId(1), 100, BatchId(12))], [(data, "a.py")])
    journal.close()
    lose_the_last_commit(folder)
    again, found = salvaged(folder)
    assert (found.records, found.lost) == (11, ((5, 5), (13, 0)))
    with again.reading() as r:
        assert History(r).version("a.py", 12) is not None
        assert History(r).bytes_of(blob_id(data)) == data


def test_without_a_log_no_row_comes_from_beyond_the_pages(folder: Path) -> None:
    without_log(folder)
    with Pages(folder / "db" / "data.mdb") as source:
        assert all(page < source.count for page, _ in source.rows())


@pytest.mark.parametrize("published", [1, 2, 3])
def test_bytes_that_only_the_log_holds_are_salvaged(tmp_path: Path, published: int) -> None:
    """The log has the first version whole, and of each later one what tells it from the version before."""
    saved = [
        b"".join(b"line %d of version %d\n" % (line, n if line == n else 0) for line in range(200)) for n in range(4)
    ]
    journal = Journal.open(LmdbStore.open(tmp_path / "now"), 1)
    for n, data in enumerate(saved):
        event = FileWritten("a.py", blob_id(data), len(data), 0o644, 0)
        journal.append(
            [NewRecord(event, WriterId(0), n, BatchId(journal.head + 1))],
            [(data, "a.py")],
            {blob_id(one): Text.of(one) for one in saved[:n]}.get,
        )
        if n < published:
            journal.publish()
    assert journal.pending == len(saved) - published
    shutil.copytree(tmp_path / "now", tmp_path / "killed")
    journal.close()
    store, event_of_it = salvaged(tmp_path / "killed")
    assert (event_of_it.blobs, event_of_it.versions) == (0, 0)
    with store.reading() as r:
        assert [History(r).bytes_of(one.blob) for one in History(r).versions("a.py")] == saved


def test_purged_bytes_do_not_come_back_from_the_log_and_versions_logged_against_them_do(folder: Path) -> None:
    secret = b"token=x1y2z3\n" + b"line\n" * 600
    clean = secret.removeprefix(b"token=x1y2z3\n")
    journal = Journal.open(LmdbStore.open(folder), 1)
    for data in (secret, clean):
        event = FileWritten("b.py", blob_id(data), len(data), 0o644, 0)
        journal.append(
            [NewRecord(event, WriterId(1), 100, BatchId(journal.head + 1))],
            [(data, "b.py")],
            {blob_id(secret): Text.of(secret)}.get,
        )
    gone = BytesGone((blob_id(secret),), "purged")
    journal.append([NewRecord(gone, WriterId(1), 100, BatchId(journal.head + 1))])
    shutil.copytree(folder, folder / "killed")
    journal.close()
    store, event_of_it = salvaged(folder / "killed")
    assert event_of_it.blobs == 0
    with store.reading() as r:
        assert [History(r).holds(blob_id(one)) for one in (secret, clean)] == [False, True]


@pytest.mark.parametrize("page", [0, 1])
def test_without_the_newest_meta_page_a_salvage_does_not_claim_that_nothing_was_lost(folder: Path, page: int) -> None:
    """There are two, and each commit is told by the one that does not tell of the one before."""
    data = folder / "db" / "data.mdb"
    was = data.read_bytes()
    data.write_bytes(was[: page * 4096] + bytes(4096) + was[(page + 1) * 4096 :])
    store, event = salvaged(folder)
    assert event.lost[-1][1] == 0
    assert sentence(event).startswith("Lost: whatever came after record ")
    with store.reading() as r:
        kept = [v.seq for v in History(r).versions("a.py")]
    assert kept in ([*range(2, 11)], [*range(2, 12)])


def test_lost_bytes_and_the_blobs_based_on_them_are_reported(folder: Path) -> None:
    keyframe = stored(folder, "blobs", u64(1))
    damage(folder, keyframe, keyframe[:20] + bytes(len(keyframe) - 20))
    store, event = salvaged(folder)
    assert (event.blobs, event.versions) == (10, 10)
    assert sentence(event) == "Lost: the bytes of 10 versions; 11 records could be kept."
    with store.reading() as r:
        history = History(r)
        version = history.version("a.py", 2)
        assert version is not None
        assert missing(history, version).why == "lost"


def test_a_long_frame_is_put_together_again_and_one_that_lacks_a_piece_is_lost(folder: Path) -> None:
    noise = [random.Random(n).randbytes(20_000 + n) for n in range(3)]
    journal = Journal.open(LmdbStore.open(folder), 1)
    for n, data in enumerate(noise):
        event = FileWritten(f"noise{n}", blob_id(data), len(data), 0o644, 0)
        journal.append([NewRecord(event, WriterId(1), n, BatchId(journal.head + 1))], [(data, f"noise{n}")])
    journal.close()
    store, event = salvaged(folder)
    assert (event.lost, event.blobs) == ((), 0)
    piece = stored(folder, "pieces", u64(12) + b"\x02")
    damage(folder, piece, bytes(len(piece)))
    store, event = salvaged(folder)
    assert (event.lost, event.blobs, event.versions) == ((), 1, 1)
    with store.reading() as r:
        history = History(r)
        held = [history.holds(blob_id(data)) for data in noise]
        assert held == [True, False, True]
        assert [history.bytes_of(blob_id(data)) == data for data in noise if history.holds(blob_id(data))] == [True] * 2


@pytest.mark.parametrize("table", ["replaced", ""])
def test_purged_records_are_proved_by_the_log_where_the_view_lacks_them(tmp_path: Path, table: str) -> None:
    """They were taken for changed ones, and those from before the purge, on pages that were free, for the true ones."""
    store = LmdbStore.open(tmp_path)
    journal = Journal.open(store, 1, workspace_id="w")

    def note(*events: Event, **purged: Any) -> None:
        first = journal.head + 1
        journal.append([NewRecord(event, WriterId(0), 1, BatchId(first)) for event in events], **purged)

    note(WriterIntroduced(1, uid=1000, agent="token=x1y2z3"))
    note(CheckpointNamed("one", 1))
    with store.reading() as r:
        looking = PurgeSurvey(PurgeTarget(matching=re.compile(rb"token=\w+")))
        looking.look(r)
        change = looking.change(r)
    note(*change.events, instead=change.rows)
    with store.writing() as w:  # the power fails while the views are built again
        for name in [table] if table else views.TABLES:
            w.clear(name)
        watermarks.write(w, {view.name: (-1, 0) for view in VIEWS})
    assert {finding.table for finding in check(store)} <= {*views.TABLES}
    journal.close()
    new, event = salvaged(tmp_path)
    assert event.lost == ()
    with new.reading() as r:
        assert not any(b"x1y2z3" in row for _, row in r.scan("records"))


def test_a_lost_record_after_a_purged_one_is_chained_to_the_original(folder: Path) -> None:
    """The record of the purge is kept, and tells the hash of before: the chain ended at what came in the lost place."""
    journal = Journal.open(LmdbStore.open(folder), 1)
    with journal.store.reading() as r:
        was = r.get("records", u64(5)) or b""
    event = EditRefused("edit", "a.py", "x", "no")
    journal.append([NewRecord(event, WriterId(1), 100, BatchId(12))])
    masked = encode_record(msgspec.structs.replace(decode_record(was), body=encode_event(event), kind=event.kind))
    purge = Purged("matching", (), 0, ((5, record_hash(was)),))
    journal.append([NewRecord(purge, WriterId(1), 100, BatchId(13))], instead=[("records", u64(5), masked)])
    journal.close()
    change_record(folder, 6, b"a.py", b"b.py")
    _, salvage_of_it = salvaged(folder)
    assert salvage_of_it.lost == ((6, 6),)


def purge(journal: Journal, wanted: PurgeTarget) -> None:
    """As the daemon does, but for the compaction."""
    with journal.store.reading() as r:
        looking = PurgeSurvey(wanted)
        looking.look(r)
        change = looking.change(r)
    entries = [NewRecord(event, WriterId(1), 100, BatchId(journal.head + 1)) for event in change.events]
    journal.append(entries, dropped=change.dropped, instead=change.rows)


def test_bytes_that_were_purged_do_not_come_back_from_the_pages_on_which_they_stood(folder: Path) -> None:
    """The records go on naming them; until the journal is compacted, the file has them on pages that are free."""
    secret = content(9)
    journal = Journal.open(LmdbStore.open(folder), 1)
    purge(journal, PurgeTarget(blob=blob_id(secret)))
    journal.close()
    store, event = salvaged(folder)
    assert (event.lost, event.blobs) == ((), 0)
    with store.reading() as r:
        history = History(r)
        version = history.version("a.py", 11)
        assert version is not None
        assert missing(history, version).why == "purged"
        assert [history.holds(blob_id(content(n))) for n in range(10)] == [n < 9 for n in range(10)]


def test_keys_of_what_was_shipped_are_kept_and_destroyed_ones_do_not_come_back(folder: Path) -> None:
    """Without its key nobody reads a content at the far side again."""
    kept, secret = blob_id(content(3)), blob_id(content(9))
    journal = Journal.open(LmdbStore.open(folder), 1)
    with journal.store.writing() as w:
        keep_keys(w, {kept: b"k" * 32, secret: b"s" * 32})
    journal.publish()
    purge(journal, PurgeTarget(blob=secret))
    journal.close()
    store, _ = salvaged(folder)
    with store.reading() as r:
        assert (content_key(r, kept), content_key(r, secret)) == (b"k" * 32, None)


def without_token(folder: Path) -> Journal:
    """A journal that goes on with a record that tells a secret (12), and has it purged; not compacted."""
    journal = Journal.open(LmdbStore.open(folder), 1)
    told = EditRefused("edit", "a.py", "stale", "there is token=x1y2z3 now")
    journal.append([NewRecord(told, WriterId(1), 100, BatchId(journal.head + 1))])
    purge(journal, PurgeTarget(matching=re.compile(rb"token=\w+")))
    return journal


@pytest.mark.parametrize("was", [b"[purged] now", b"[purged]"], ids=["changed", "no record any more"])
def test_a_record_that_a_purge_replaced_does_not_come_back_as_it_was_before(folder: Path, was: bytes) -> None:
    """Where the newer one is damaged: the next record holds the hash of the one on a page that is free."""
    without_token(folder).close()
    record = stored(folder, "records", u64(12))
    now = b"[purged] not" if was != b"[purged]" else b"\xff" * len(was)
    damage(folder, record, record.replace(was, now))
    store, event = salvaged(folder)
    assert event.lost == ((12, 12),)
    with store.reading() as r:
        assert not any(b"x1y2z3" in row for _, row in r.scan("records"))


def test_what_a_second_purge_took_does_not_come_back_where_its_record_is_lost(folder: Path) -> None:
    """The first one vouches for the record as it was before the second, which a free page has."""
    without_token(folder).close()  # 12, by 13
    journal = Journal.open(LmdbStore.open(folder), 1)
    purge(journal, PurgeTarget(matching=re.compile(rb"there is")))
    last = journal.head
    journal.close()
    data = folder / "db" / "data.mdb"
    assert b"there is [purged]" in data.read_bytes()
    change_record(folder, last, b"matching", b"watching")
    store, event = salvaged(folder)
    assert event.lost == ((12, 12), (last, last))
    with store.reading() as r:
        assert not any(b"there is" in row for _, row in r.scan("records"))


def test_one_that_stands_for_another_is_not_believed_about_the_record_before(folder: Path) -> None:
    """A purge had replaced that one, too, and tells of its hash: what was salvaged was damaged again."""
    journal = Journal.open(LmdbStore.open(folder), 1)
    for text in ("there is alpha now", "there is beta now"):
        told = EditRefused("edit", "a.py", "stale", text)
        journal.append([NewRecord(told, WriterId(1), 100, BatchId(journal.head + 1))])  # 12 and 13
    for wanted in (b"alpha", b"beta"):
        purge(journal, PurgeTarget(matching=re.compile(wanted)))
    last = journal.head
    journal.close()
    change_record(folder, last, b"matching", b"watching")
    before = decode_record(stored(folder, "records", u64(13))).prev
    change_record(folder, 13, before, bytes([before[0] ^ 1]) + before[1:])
    _, event = salvaged(folder)
    assert event.lost == ((13, 13), (last, last))


def test_two_that_follow_each_other_and_a_purge_had_replaced_can_be_lost(folder: Path) -> None:
    """What the purge says of the first counts no more, though the chain does not tell that."""
    journal = Journal.open(LmdbStore.open(folder), 1)
    told = EditRefused("edit", "a.py", "stale", "there is token=x1y2z3 now")
    journal.append([NewRecord(told, WriterId(1), 100, BatchId(12))])
    journal.close()
    without_token(folder).close()  # 12 and 13
    for seq in (12, 13):
        change_record(folder, seq, b"[purged] now", b"[purged] not")
    _, event = salvaged(folder)
    assert event.lost == ((12, 13),)


def test_what_comes_in_the_place_of_a_lost_record_is_vouched_for(folder: Path) -> None:
    change_record(folder, 5, b"a.py", b"b.py")
    store, _ = salvaged(folder)
    with store.writing() as w:
        row = decode_record(w.get("records", u64(5)) or b"")
        w.put("records", u64(5), encode_record(msgspec.structs.replace(row, writer=1)))
    assert "Record 5 is not what record 12 put there." in map(str, check(store))


def test_bytes_that_were_purged_stay_so_though_the_record_that_says_it_is_lost(folder: Path) -> None:
    """A view tells it, too: they came back from a page that was free."""
    secret = content(9)
    journal = Journal.open(LmdbStore.open(folder), 1)
    purge(journal, PurgeTarget(blob=blob_id(secret)))
    journal.append([NewRecord(EditRefused("edit", "a.py", "x", "no"), WriterId(1), 100, BatchId(14))])
    journal.close()
    record = stored(folder, "records", u64(13))
    damage(folder, record, record.replace(b"purged", b"burned"))
    store, event = salvaged(folder)
    assert (event.lost, event.blobs, event.versions) == (((13, 13),), 0, 0)
    with store.reading() as r:
        history = History(r)
        version = history.version("a.py", 11)
        assert version is not None
        assert missing(history, version).why == "purged"


@pytest.mark.parametrize("left", [0, 5_000, 9_000])
def test_where_everything_is_lost_no_number_is_given_out_a_second_time(folder: Path, tmp_path: Path, left: int) -> None:
    """Callers remember numbers as versions: one that is lost must not be answered with another."""
    journal = Journal.open(LmdbStore.open(folder), 1)
    journal.store.clear_log()
    journal.append([NewRecord(BurstBegun("format", "git", 10**18), WriterId(1), 100, BatchId(12))])
    killed = tmp_path / "killed"
    shutil.copytree(folder / "db", killed / "db")
    journal.close()
    data = killed / "db" / "data.mdb"
    data.write_bytes(data.read_bytes()[:left])
    store, event = salvaged(killed)
    assert event.records == 1, "which the log tells"
    assert event.lost[0] == (1, 11)
    assert Journal.open(store, 1).head == 13, "the salvage is the first record after them"


def test_a_row_without_a_value_at_the_very_end_of_the_file_is_read_as_one(folder: Path) -> None:
    """A page is filled from its end, and keys are all that some tables have: such a file could not be salvaged."""
    journal = Journal.open(LmdbStore.open(folder), 1)
    begun = BurstBegun("format", "git", 10**18)
    journal.append([NewRecord(begun, WriterId(1), 100, BatchId(12))])  # that it is open a row tells by its key alone
    journal.close()
    data = folder / "db" / "data.mdb"
    with Pages(data) as source:
        ends = [
            n
            for n, rows in source.rows()
            if any((len(row.key), row.size, row.at) == (8, 0, (n + 1) * 4096) for row in rows)
        ]
    data.write_bytes(data.read_bytes()[: (ends[-1] + 1) * 4096])
    _, event = salvaged(folder)
    assert event.records > 0


def test_nobody_gets_the_number_of_a_writer_whose_introduction_is_lost(folder: Path) -> None:
    change_record(folder, 1, b"ann", b"bob")
    store, event = salvaged(folder)
    assert event.lost == ((1, 1),)
    with store.reading() as r:
        assert History(r).next_writer_id() == 2
        who = History(r).writer(1)
        assert who is not None
        assert who.agent == "lost"


def test_a_salvaged_journal_can_be_damaged_and_salvaged_again(folder: Path, tmp_path: Path) -> None:
    change_record(folder, 5, b"a.py", b"b.py")
    again = tmp_path / "again"
    store = LmdbStore.open(again)
    with Pages(folder / "db" / "data.mdb") as source:
        salvage(source, store, "w", 100, "a test", "db.damaged-1")
    store.close()
    change_record(again, 8, b"a.py", b"b.py")
    _, event = salvaged(again)
    assert event.lost == ((8, 8),)


@pytest.mark.parametrize("format", [READS[0] - 1, FORMAT + 1])
def test_a_damaged_journal_of_another_format_is_left_to_the_version_that_reads_it(folder: Path, format: int) -> None:
    store = LmdbStore.open(folder)
    with store.writing() as w:
        w.put("meta", b"format", str(format).encode())
    store.close()
    with pytest.raises(OtherFormat), Pages(folder / "db" / "data.mdb") as source:
        salvage(source, MemoryStore(), "w", 100, "a test", "db.damaged-1")


@pytest.mark.parametrize("said", [1 << 30, (1 << 60) + 11])
def test_an_end_of_the_log_that_no_such_file_could_hold_is_not_believed(folder: Path, said: int) -> None:
    row = stored(folder, "meta", HEAD_KEY)
    damage(folder, row, u64(said) + row[8:])
    _, event = salvaged(folder)
    assert sentence(event) == "Lost: whatever came after record 11, if anything did; 11 records could be kept."
