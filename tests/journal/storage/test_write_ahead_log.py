"""What was appended outlives the process before it is in the database; a log that does not fit is refused."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from power import lose_the_last_commit
from quire_journal.history.history import History
from quire_journal.integrity.checker import check
from quire_journal.journal import MOST_PENDING, Journal, NewRecord
from quire_journal.maintenance.purge import PurgeSurvey, PurgeTarget
from quire_journal.model.events import EditRefused, FileWritten, WritesSettled
from quire_journal.model.ids import OUTSIDE, BatchId, blob_id
from quire_journal.model.records import JournalDamaged
from quire_journal.storage import log_entry
from quire_journal.storage.blobs import blobs, codec
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.storage.log_entry import LogEntry
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import JournalUnseen, Store, StoreFailure, u64
from quire_journal.storage.write_ahead_log import (
    FIRST_BYTES,
    MOST_BYTES,
    NOWHERE,
    SEGMENT_BYTES,
    LogPosition,
    WriteAheadLog,
)
from quire_journal.text.text import Text

NOW = 1_790_000_000_000_000_000


def opened(folder: Path, repair: bool = False) -> Journal:
    store = LmdbStore.open(folder)
    try:
        return Journal.open(store, NOW, "0" * 32, repair)
    except JournalDamaged:
        store.close()
        raise


def keep(journal: Journal, path: str, data: bytes) -> None:
    """A version of `path`, with its bytes."""
    event = FileWritten(path, blob_id(data), len(data), 0o644)
    journal.append([NewRecord(event, OUTSIDE, NOW, BatchId(journal.head + 1))], [(data, path)])


def note(journal: Journal, count: int = 1) -> None:
    batch = BatchId(journal.head + 1)
    journal.append([NewRecord(WritesSettled(0), OUTSIDE, NOW, batch) for _ in range(count)])


def content(n: int) -> bytes:
    return b"".join(b"line %d of version %d\n" % (line, n if line == n % 200 else 0) for line in range(200))


def killed(folder: Path, into: Path) -> Path:
    """The files as a kill of the process that has the journal open would leave them."""
    shutil.copytree(folder, into)
    return into


def folded(folder: Path) -> int:
    """How many records the database holds."""
    store = LmdbStore.open(folder)
    with store.reading() as r:
        found = r.count("records")
    store.close()
    return found


def segments(folder: Path) -> list[Path]:
    return sorted((folder / "db").glob("log.*"))


def versions(journal: Journal, path: str) -> list[bytes]:
    with journal.store.reading() as r:
        return [History(r).bytes_of(one.blob) for one in History(r).versions(path)]


def test_what_was_appended_and_not_folded_is_there_after_a_kill(tmp_path: Path) -> None:
    journal = opened(tmp_path / "now")
    for n in range(40):
        keep(journal, f"{n % 3}", content(n))
    then = killed(tmp_path / "now", tmp_path / "then")
    assert (journal.pending, folded(then)) == (40, 0)
    again = opened(then)
    assert (again.head, again.last_hash) == (journal.head, journal.last_hash)
    assert versions(again, "1") == [content(n) for n in range(1, 40, 3)]
    assert list(check(again.store)) == []
    again.close()
    journal.close()


def test_a_log_that_is_ahead_by_a_thousand_records_is_folded(tmp_path: Path) -> None:
    journal = opened(tmp_path / "now")
    note(journal)
    journal.publish()
    while journal.pending < MOST_PENDING:
        note(journal)
    then = killed(tmp_path / "now", tmp_path / "then")
    assert folded(then) == 1
    again = opened(then)
    assert again.head == MOST_PENDING + 1
    assert list(check(again.store)) == []
    again.close()
    note(journal)  # no more than that wait
    assert journal.pending == 1
    journal.close()


def test_a_log_is_folded_again_where_a_power_cut_took_that_back(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    for n in range(3):
        keep(journal, "a", content(n))
        journal.publish()
    journal.store.close()
    lose_the_last_commit(tmp_path)
    assert folded(tmp_path) == 2
    again = opened(tmp_path)
    assert versions(again, "a") == [content(n) for n in range(3)]
    again.close()


def test_an_opening_that_is_killed_is_made_up_for_by_the_next(tmp_path: Path) -> None:
    """Opened and folded several times, whatever the one before began: nothing comes twice."""
    journal = opened(tmp_path / "0")
    keep(journal, "a", content(0))
    for n in range(1, 5):
        again = opened(killed(tmp_path / f"{n - 1}", tmp_path / f"{n}"))
        assert versions(again, "a") == [content(one) for one in range(n)]
        keep(again, "a", content(n))
    assert list(check(again.store)) == []


def test_an_entry_at_the_end_that_is_torn_is_cut_off(tmp_path: Path) -> None:
    journal = opened(tmp_path / "now")
    for n in range(3):
        keep(journal, "a", content(n))
    then = killed(tmp_path / "now", tmp_path / "then")
    (segment,) = segments(then)
    whole = segment.read_bytes()
    end = len(whole.rstrip(b"\0"))
    start = whole.rindex(b"quire-le")
    journal.close()
    for at in (start, start + 7, start + 12, start + 30, (start + end) // 2, end - 1):
        segment.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        again = opened(killed(then, tmp_path / f"torn{at}"))
        assert versions(again, "a") == [content(0), content(1)]
        keep(again, "a", b"goes on")
        assert versions(opened(killed(tmp_path / f"torn{at}", tmp_path / f"on{at}")), "a")[2:] == [b"goes on"]
        again.close()
    segment.write_bytes(whole[: start + 5])
    again = opened(killed(then, tmp_path / "cut off"))
    assert again.head == 2
    again.close()


def test_a_hole_in_the_log_is_refused_and_nothing_is_changed(tmp_path: Path) -> None:
    journal = opened(tmp_path / "now")
    for n in range(3):
        keep(journal, "a", content(n))
    then = killed(tmp_path / "now", tmp_path / "then")
    journal.close()
    (segment,) = segments(then)
    whole = segment.read_bytes()
    at = whole.index(b"quire-le") + 40
    segment.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    before = {path: path.read_bytes() for path in (*segments(then), then / "db" / "data.mdb")}
    with pytest.raises(JournalDamaged, match="before an entry that is whole"):
        opened(then)
    assert {path: path.read_bytes() for path in before} == before


def cut(folder: Path, before: Path) -> None:
    """The log ends before what the database holds of it."""
    (segment,) = segments(folder)
    whole = segment.read_bytes()
    segment.write_bytes(whole[: whole.rindex(b"quire-le")])


def remove(folder: Path, before: Path) -> None:
    for segment in segments(folder):
        segment.unlink()


def put_an_older_database(folder: Path, before: Path) -> None:
    shutil.copy(before / "db" / "data.mdb", folder / "db" / "data.mdb")


@pytest.mark.parametrize("wrong", [cut, remove, put_an_older_database])
def test_a_log_of_another_database_is_refused_until_a_repair(
    tmp_path: Path, wrong: Callable[[Path, Path], None]
) -> None:
    now = tmp_path / "now"
    journal = opened(now)
    keep(journal, "a", content(0))
    journal.publish()
    before = killed(now, tmp_path / "before")
    keep(journal, "a", content(1))
    journal.store.clear_log()
    for n in (2, 3):
        keep(journal, "a", content(n))
    journal.close()
    wrong(now, before)
    for _ in range(2):
        with pytest.raises(JournalDamaged, match=r"the database in .* (holds more than its log|is older than its log)"):
            opened(now)
    journal = opened(now, repair=True)
    assert list(check(journal.store)) == []
    assert versions(journal, "a") == [content(n) for n in range(1 if wrong is put_an_older_database else 4)]
    keep(journal, "a", b"goes on")
    journal.close()
    again = opened(now)
    assert versions(again, "a")[-1] == b"goes on"
    again.close()


def test_the_log_of_another_workspace_is_refused(tmp_path: Path) -> None:
    for name in ("ann", "ben"):
        journal = Journal.open(LmdbStore.open(tmp_path / name), NOW, name * 10 + "00")
        note(journal)
        killed(tmp_path / name, tmp_path / f"{name} killed")
        journal.close()
    shutil.copy(segments(tmp_path / "ben killed")[0], segments(tmp_path / "ann killed")[0])
    with pytest.raises(JournalDamaged, match="that of another workspace"):
        Journal.open(LmdbStore.open(tmp_path / "ann killed"), NOW)


def test_a_full_segment_or_one_of_an_earlier_process_is_replaced_by_a_new_one(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    assert segments(tmp_path) == [], "an opening changes nothing"
    for n in range(12):
        keep(journal, "a", os.urandom(SEGMENT_BYTES // 8))
        keep(journal, "a", content(n))
    assert len(segments(tmp_path)) == 1
    assert segments(tmp_path)[0].name > "log.00000001"
    assert segments(tmp_path)[0].stat().st_size == SEGMENT_BYTES
    journal.close()
    left = segments(tmp_path)
    opened(tmp_path).close()
    assert segments(tmp_path) == left
    journal = opened(tmp_path)
    note(journal)
    assert segments(tmp_path) != left
    assert journal.head == 25
    journal.close()


def test_the_first_segment_of_a_start_is_small_unless_its_first_entry_is_large(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    note(journal)
    assert [one.stat().st_size for one in segments(tmp_path)] == [FIRST_BYTES]
    keep(journal, "a", os.urandom(FIRST_BYTES // 2 + 4096))
    assert [one.stat().st_size for one in segments(tmp_path)] == [FIRST_BYTES]
    keep(journal, "b", os.urandom(FIRST_BYTES // 2))
    assert [one.stat().st_size for one in segments(tmp_path)] == [SEGMENT_BYTES]
    journal.close()
    journal = opened(tmp_path)
    keep(journal, "c", os.urandom(MOST_BYTES - 1024))
    assert [one.stat().st_size for one in segments(tmp_path)] == [SEGMENT_BYTES]
    assert journal.pending == 1
    journal.close()


def test_many_bytes_and_frames_and_what_drops_bytes_go_past_the_log(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    note(journal)
    keep(journal, "large", os.urandom(MOST_BYTES))
    assert (journal.pending, journal.head) == (0, 2)
    frame = codec.compress(content(1))
    event = FileWritten("frame", frame.blob, frame.size, 0o644)
    journal.append([NewRecord(event, OUTSIDE, NOW, BatchId(3))], [(frame, "frame")])
    assert journal.pending == 0
    note(journal)
    journal.append([NewRecord(WritesSettled(0), OUTSIDE, NOW, BatchId(5))], dropped=[blob_id(content(1))])
    assert (journal.pending, journal.head) == (0, 5)
    again = opened(killed(tmp_path, tmp_path.with_name(tmp_path.name + "-killed")))
    assert again.head == 5
    again.close()
    journal.close()
    shutil.rmtree(tmp_path.with_name(tmp_path.name + "-killed"))


def test_a_version_is_logged_as_what_tells_it_from_the_one_before(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    keep(journal, "a", content(0))
    journal.fold()
    sizes = []
    for n in range(1, 5):
        before = len(segments(tmp_path)[0].read_bytes().rstrip(b"\0"))
        keep(journal, "a", content(n))
        journal.fold()
        sizes.append(len(segments(tmp_path)[0].read_bytes().rstrip(b"\0")) - before)
    assert max(sizes) < 500 < len(content(0))
    journal.close()


def test_who_reads_on_the_thread_that_appends_sees_all_of_it_and_others_what_is_published(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    note(journal)
    seen = []

    def look() -> None:
        with journal.store.reading() as r:
            seen.append(r.count("records"))

    for act in (lambda: None, journal.fold, journal.publish):
        act()
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        look()
    assert seen == [0, 1, 0, 1, 1, 1]
    journal.close()


def test_a_purge_leaves_no_byte_of_what_was_logged(tmp_path: Path) -> None:
    journal, secret = opened(tmp_path), "x1y2z3 is the token"
    journal.append([NewRecord(EditRefused("edit", "a", "stale", secret), OUTSIDE, NOW, BatchId(1))])
    assert secret.encode() in segments(tmp_path)[0].read_bytes()
    survey = PurgeSurvey(PurgeTarget(matching=re.compile(b"x1y2z3")))
    with journal.store.reading() as r:
        survey.look(r)
        change = survey.change(r)
    entries = [NewRecord(event, OUTSIDE, NOW, BatchId(journal.head + 1)) for event in change.events]
    journal.append(entries, dropped=change.dropped, instead=change.rows)
    assert all(b"x1y2z3" not in segment.read_bytes() for segment in segments(tmp_path))
    journal.close()


def full_disk() -> None:
    raise StoreFailure("the disk is full", disk_full=True)


def broken_disk() -> None:
    raise StoreFailure("the disk is broken", for_good=True)


def test_what_cannot_be_folded_now_is_folded_by_the_next_who_reads(tmp_path: Path) -> None:
    store = MemoryStore(logs=True)
    journal = Journal.open(store, NOW)
    keep(journal, "a", b"answered")
    store.fold_fault = full_disk
    for _ in range(2):
        with pytest.raises(StoreFailure, match="full"):
            versions(journal, "a")
    store.fold_fault = None
    keep(journal, "a", b"answered, too")
    assert versions(journal, "a") == [b"answered", b"answered, too"]


def test_a_commit_that_cannot_be_folded_makes_the_journal_read_only_until_it_is_opened_again() -> None:
    store = MemoryStore(logs=True)
    journal = Journal.open(store, NOW)
    keep(journal, "a", b"folded")
    journal.publish()
    keep(journal, "a", b"answered")
    store.fold_fault = broken_disk
    with pytest.raises(StoreFailure, match=r"are in the write-ahead log only.*the disk is broken") as failed:
        journal.fold()
    assert (failed.value.for_good, failed.value.unsure) == (True, False)
    assert versions(journal, "a") == [b"folded"], "the past can be read"
    store.fold_fault = None
    with pytest.raises(StoreFailure, match="are in the write-ahead log only"):
        keep(journal, "a", b"refused")
    assert versions(Journal.open(store, NOW), "a") == [b"folded", b"answered"]


@pytest.mark.parametrize("on_disk", [False, True])
def test_what_was_folded_before_what_can_never_be_stays_and_is_not_lost_with_it(tmp_path: Path, on_disk: bool) -> None:
    store: Store = LmdbStore.open(tmp_path / "now") if on_disk else MemoryStore(logs=True)
    journal = Journal.open(store, NOW)
    keep(journal, "a", content(0))
    journal.fold()
    asked: list[bytes] = []

    def at_hand(blob: bytes) -> None:
        asked.append(blob)
        if len(asked) > 1:  # the log asks first
            raise ValueError("no fold can make that")

    event = FileWritten("a", blob_id(content(1)), len(content(1)), 0o644)
    entry = NewRecord(event, OUTSIDE, NOW, BatchId(journal.head + 1))
    journal.append([entry], [(content(1), "a")], at_hand)
    with pytest.raises(StoreFailure, match=r"are in the write-ahead log only.*no fold can make that"):
        journal.fold()
    assert versions(journal, "a") == [content(0)]
    if isinstance(store, LmdbStore):
        again = opened(killed(tmp_path / "now", tmp_path / "then"))
        assert versions(again, "a") == [content(0), content(1)]
        again.close()
        store.close()


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_fold_that_is_interrupted_is_done_again_with_the_folds_before_it(tmp_path: Path, on_disk: bool) -> None:
    store: Store = LmdbStore.open(tmp_path / "now") if on_disk else MemoryStore(logs=True)
    journal = Journal.open(store, NOW)
    keep(journal, "a", content(0))
    journal.fold()
    asked: list[bytes] = []

    def at_hand(blob: bytes) -> None:
        asked.append(blob)
        if len(asked) == 2:  # the log asks first
            raise KeyboardInterrupt

    event = FileWritten("a", blob_id(content(1)), len(content(1)), 0o644)
    entry = NewRecord(event, OUTSIDE, NOW, BatchId(journal.head + 1))
    journal.append([entry], [(content(1), "a")], at_hand)
    with pytest.raises(KeyboardInterrupt):
        journal.fold()
    keep(journal, "a", content(2))
    assert versions(journal, "a") == [content(0), content(1), content(2)]
    journal.publish()
    assert list(check(store)) == []
    journal.close()


def test_a_damaged_journal_that_cannot_be_folded_says_that_it_is_damaged() -> None:
    store = MemoryStore(logs=True)
    journal = Journal.open(store, NOW)
    keep(journal, "a", b"answered")

    def damaged() -> None:
        raise JournalDamaged("a page is not what it was")

    store.fold_fault = damaged
    with pytest.raises(JournalDamaged):
        journal.fold()
    with pytest.raises(StoreFailure, match="a page is not what it was"):
        note(journal)


def test_an_entry_that_cannot_be_written_goes_into_the_database(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path)
    journal = Journal.open(store, NOW)
    note(journal)
    os.ftruncate(store._log._file, 0)
    os.close(store._log._file)
    store._log._file = os.open("/dev/full", os.O_RDWR)  # nor can it be wiped: nobody knows what stands there
    with pytest.raises(StoreFailure, match="could not be written") as failed:
        note(journal)
    assert failed.value.unsure
    with pytest.raises(StoreFailure):
        note(journal)
    journal.close()


def test_a_disk_without_room_for_a_segment_is_asked_by_a_commit(small_disk: Path) -> None:
    journal = opened(small_disk)
    keep(journal, "a", b"first")
    journal.close()
    free = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(b"x" * (free.f_bavail * free.f_frsize - (512 << 10)))
    journal = opened(small_disk)
    keep(journal, "a", b"second")
    assert journal.pending == 0
    (small_disk / "ballast").unlink()
    keep(journal, "a", b"third")
    assert journal.pending == 1
    journal.close()
    again = opened(small_disk)
    assert versions(again, "a") == [b"first", b"second", b"third"]
    again.close()


def test_a_log_that_was_removed_under_its_process_takes_nothing(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    note(journal)
    segments(tmp_path)[0].unlink()
    with pytest.raises(StoreFailure, match="was removed or replaced"):
        note(journal)
    with pytest.raises(StoreFailure, match="was removed or replaced"):
        note(journal)
    journal.close()


def test_a_log_that_cannot_be_looked_at_after_an_entry_leaves_open_whether_a_start_finds_it(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    note(journal)
    log = segments(tmp_path)[0]
    log.rename(tmp_path / "elsewhere")
    log.symlink_to(log)  # to look at it fails, and not for want of a file
    with pytest.raises(JournalUnseen, match="could not be looked at after a commit") as failed:
        note(journal)
    assert failed.value.unsure
    with pytest.raises(StoreFailure):
        note(journal)
    journal.close()


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    assert WriteAheadLog(tmp_path).read(NOWHERE) == []
    (tmp_path / "log.00000001").write_bytes(b"not a segment")
    with pytest.raises(JournalDamaged, match="no segment"):
        WriteAheadLog(tmp_path).read(NOWHERE)
    with pytest.raises(JournalDamaged, match="does not say how much"):
        LogPosition.of(b"short")
    for stored in (b"", b"\xc1", b"\x91\x01"):
        with pytest.raises(JournalDamaged, match="cannot be decoded"):
            log_entry.decode(stored)


similar = st.tuples(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=20), st.booleans())


@given(similar, similar)
def test_bytes_come_out_of_the_log_as_they_went_in(one: tuple[bytes, ...], other: tuple[bytes, ...]) -> None:
    data, base = one[0] * 60 + one[2] + one[1] * 60, one[0] * 60 + other[2] + (one[1] if one[3] else other[1]) * 60
    said = log_entry.logged(data, blob_id(data), "a", blob_id(base), base)
    assert log_entry.bytes_of(said, {blob_id(base): base}.__getitem__) == data
    entry = LogEntry("w", 1, b"h", (b"r",), (said,))
    assert log_entry.decode(log_entry.encode(entry)) == entry


def test_bytes_that_the_log_does_not_give_are_damage() -> None:
    data, base = content(1), content(2)
    said = log_entry.logged(data, blob_id(data), "a", blob_id(base), base)
    assert len(said.middle) < 100 < said.behind
    with pytest.raises(JournalDamaged, match="does not give the bytes"):
        log_entry.bytes_of(said, lambda blob: content(3))


def test_bytes_of_which_the_ones_before_were_dropped_are_logged_whole(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    keep(journal, "a", content(0))
    journal.append([NewRecord(WritesSettled(0), OUTSIDE, NOW, BatchId(2))], dropped=[blob_id(content(0))])
    keep(journal, "a", content(1))
    killed(tmp_path, tmp_path / "then")
    again = opened(tmp_path / "then")
    with again.store.reading() as r:
        assert blobs.get(r, blob_id(content(1))) == content(1)
        assert r.get("records", u64(3)) is not None
    again.close()
    journal.close()


def test_a_version_that_follows_an_empty_one_is_there_after_a_kill() -> None:
    store = MemoryStore(logs=True)
    journal = Journal.open(store, NOW)
    saved = [b"", b"x" * 3000]
    for data in saved:
        event = FileWritten("a", blob_id(data), len(data), 0o644)
        entry = NewRecord(event, OUTSIDE, NOW, BatchId(journal.head + 1))
        journal.append([entry], [(data, "a")], {blob_id(one): Text.of(one) for one in saved}.get)
    assert journal.pending == 2
    assert versions(Journal.open(store.copy(), NOW), "a") == saved


def test_a_log_that_needs_bytes_which_the_database_lacks_is_damage() -> None:
    store = MemoryStore(logs=True)
    journal = Journal.open(store, NOW)
    keep(journal, "a", content(0))
    journal.publish()
    keep(journal, "a", content(1))
    damaged = store.copy()
    with damaged.writing() as w:
        blobs.drop(w, blob_id(content(0)))
    with pytest.raises(JournalDamaged, match=f"does not hold the bytes with sha256 {blob_id(content(0)).hex()}"):
        Journal.open(damaged, NOW)
