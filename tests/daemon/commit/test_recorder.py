"""The recorder: which reads are worth a record, and what a question within a question sees."""

from __future__ import annotations

import re
from contextlib import suppress

import msgspec
import pytest
from clocks import SetClock

from quire_daemon.commit.disk_space import FULL_S
from quire_daemon.commit.recorder import Recorder
from quire_daemon.commit.repeats import REFUSALS, REFUSALS_A_SECOND, REPEAT_S
from quire_daemon.commit.writer_ids import MOST_CALLERS
from quire_journal.history.path_cache import PathNames
from quire_journal.history.points import to_the_second
from quire_journal.integrity.checker import check
from quire_journal.journal import Journal
from quire_journal.maintenance.purge import PurgeSurvey, PurgeTarget
from quire_journal.model.events import BytesGone, FileWritten, OutsideWritten, ReadServed, WriterIntroduced
from quire_journal.model.ids import WriterId, blob_id
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import TABLES, StoreFailure
from quire_journal.views.writers import caller_key

READ = ReadServed("a.txt", 3, ((0, 10),), anchors=True)


def recording(store: MemoryStore | None = None) -> tuple[Recorder, SetClock, WriterId]:
    """A recorder over an empty journal, in which Ann has written version 3 of a.txt."""
    clock = SetClock()
    recorder = Recorder(Journal.open(store or MemoryStore(), clock.now_ns()), clock)
    ann = writer(recorder, "turn 1")
    recorder.note_blob(b"zero\n", "a.txt")
    recorder.note_blob(b"one\n", "a.txt")
    recorder.note(FileWritten("a.txt", blob_id(b"zero\n"), 5, 0o644, 0), ann)
    recorder.note(FileWritten("a.txt", blob_id(b"one\n"), 4, 0o644, 2), ann)
    recorder.commit()
    assert recorder.next_seq == READ.version + 1
    return recorder, clock, ann


def writer(recorder: Recorder, turn: str) -> WriterId:
    """Ann, introduced, in this turn."""
    found = recorder.writer(WriterIntroduced(0, uid=1000, agent="ann", turn=turn))
    recorder.introduce(found)
    return found


def test_a_caller_that_is_refused_over_and_over_is_noted_less_and_less() -> None:
    recorder, clock, ann = recording()
    assert all(recorder.takes_refusal(ann) for _ in range(REFUSALS))
    assert not recorder.takes_refusal(ann)
    assert not recorder.takes_refusal(writer(recorder, "turn 2"))  # the same caller
    ben = recorder.writer(WriterIntroduced(0, uid=1000, agent="ben"))
    assert recorder.takes_refusal(ben)
    clock.pass_s(3 / REFUSALS_A_SECOND)
    assert [recorder.takes_refusal(ann) for _ in range(4)] == [True, True, True, False]
    clock.pass_s(10 * REFUSALS / REFUSALS_A_SECOND)
    assert [recorder.takes_refusal(ann) for _ in range(REFUSALS + 1)].count(True) == REFUSALS


def test_a_read_that_is_repeated_is_told_already_for_a_minute() -> None:
    recorder, clock, ann = recording()
    assert not recorder.told(READ, ann)
    recorder.note(READ, ann)
    assert recorder.told(READ, ann)
    recorder.commit()
    clock.pass_s(REPEAT_S - 1)
    assert recorder.told(READ, ann)
    clock.pass_s(1)
    assert not recorder.told(READ, ann)


@pytest.mark.parametrize("changed", [{"path": "b.txt"}, {"version": 2}, {"shown": ((0, 11),)}, {"anchors": False}])
def test_another_read_is_not(changed: dict[str, object]) -> None:
    recorder, _, ann = recording()
    recorder.note(READ, ann)
    assert not recorder.told(msgspec.structs.replace(READ, **changed), ann)


def test_what_a_read_tells_is_known_before_it_is_committed() -> None:
    recorder, _, ann = recording()
    recorder.note(msgspec.structs.replace(READ, moved=((4, 6),)), ann)
    with recorder.history() as history:
        shown = history.shown(caller_key(1000, "ann", ""), "a.txt")
    assert shown is not None
    assert (shown.version, shown.lines, shown.moved) == (3, ((0, 10),), ((4, 6),))


def test_the_same_read_in_another_turn_is_not() -> None:
    recorder, _, ann = recording()
    recorder.note(READ, ann)
    assert not recorder.told(READ, writer(recorder, "turn 2"))


def test_what_the_reply_to_a_write_showed_does_not_stand_for_a_read() -> None:
    recorder, _, ann = recording()
    batch = recorder.next_seq
    recorder.note(FileWritten("a.txt", blob_id(b"one\n"), 4, 0o644, 3), ann, batch)
    shown = ReadServed("a.txt", batch, ((0, 1),), anchors=True)
    recorder.note(shown, ann, batch)
    assert not recorder.told(shown, ann)


def test_a_path_of_which_bytes_are_dropped_can_join_the_hash_index_again() -> None:
    recorder, _, ann = recording()
    recorder.note(READ, ann)
    recorder.commit()
    recorder.commit(BytesGone("dropped", (blob_id(b"one\n"),), ("a.txt",)), recorder.next_seq)
    assert not recorder.told(READ, ann)


def test_a_read_that_could_not_be_committed_is_told_by_nothing() -> None:
    store = MemoryStore()
    recorder, _, ann = recording(store)
    recorder.note(READ, ann)

    def full() -> None:
        raise StoreFailure("the disk is full", disk_full=True)

    store.fault = full
    with pytest.raises(StoreFailure):
        recorder.commit()
    assert not recorder.told(READ, ann)


def test_a_full_disk_is_told_until_the_journal_takes_something_again() -> None:
    store = MemoryStore()
    recorder, clock, ann = recording(store)
    assert recorder.takes_nothing() == ""

    def full() -> None:
        raise StoreFailure("the disk is full", disk_full=True)

    store.fault = full
    began = to_the_second(clock.now_ns())
    for _ in range(2):
        recorder.note(READ, ann)
        with pytest.raises(StoreFailure):
            recorder.commit()
        assert f"has taken nothing since {began}, when its disk was full" in recorder.takes_nothing()
        clock.pass_s(60)
    store.fault = None
    recorder.commit()  # of nothing: that tells nothing
    assert recorder.takes_nothing()
    recorder.note(READ, ann)
    recorder.commit()
    assert recorder.takes_nothing() == ""


def test_a_writer_whose_introduction_could_not_be_committed_is_introduced_with_what_it_does_next() -> None:
    store = MemoryStore()
    recorder, _, _ = recording(store)
    ben = recorder.writer(WriterIntroduced(0, 1000, agent="ben"))
    recorder.introduce(ben)

    def full() -> None:
        raise StoreFailure("the disk is full", disk_full=True)

    store.fault = full
    with pytest.raises(StoreFailure):
        recorder.commit()
    store.fault = None
    recorder.introduce(ben)
    recorder.note(READ, ben)
    recorder.commit()
    with recorder.history() as history:
        told = history.writer(ben)
    assert told is not None
    assert told.agent == "ben"


def test_of_writers_that_only_ask_those_are_remembered_that_somebody_may_have_to_introduce() -> None:
    """Each process of an agent is one, and there are thousands in a day: they were all kept until the daemon ended."""
    recorder, _, _ = recording()
    waiting, gone = (recorder.writer(WriterIntroduced(0, 1000, pid, agent="ben")) for pid in (1, 2))
    held = recorder.stranger(waiting)
    for pid in range(3, MOST_CALLERS + 3):
        recorder.writer(WriterIntroduced(0, 1000, pid, agent="ben"))
    assert recorder.stranger(gone) is None
    assert recorder.stranger(waiting) is held
    assert all(recorder.takes_refusal(waiting) for _ in range(REFUSALS))
    assert not recorder.takes_refusal(recorder.writer(WriterIntroduced(0, 1000, 9, agent="ben")))  # the same caller
    recorder.introduce(waiting)
    recorder.note(READ, waiting)
    recorder.commit()
    with recorder.history() as history:
        told = history.writer(waiting)
    assert told is not None
    assert (told.agent, told.pid) == ("ben", 1)
    assert recorder.writer(WriterIntroduced(0, 1000, 1, agent="ben")) == waiting
    assert recorder.stranger(waiting) is None


@pytest.mark.parametrize(("commits", "killed"), [(commits, killed) for commits in range(5) for killed in (False, True)])
def test_a_purge_of_a_name_changes_the_log_and_the_views_or_neither_whenever_it_ends(
    commits: int, killed: bool
) -> None:
    """It ended between the two, and no other purge found the name that the views told: the log had it no more."""
    store = MemoryStore()
    recorder, _, ann = recording(store)
    recorder.introduce(recorder.writer(WriterIntroduced(0, 1000, agent="token=x1y2z3")))
    recorder.commit()
    gatherer = PurgeSurvey(PurgeTarget(matching=re.compile(rb"token=\w+")))
    with store.reading() as r:
        gatherer.look(r)
        change = gatherer.change(r)
    left = iter(range(commits))

    def full() -> None:
        if next(left, None) is None:
            raise StoreFailure("the disk is full", disk_full=True)

    store.fault = full
    with suppress(StoreFailure):
        recorder.purge(change, ann)
    store.fault = None
    if killed:
        Journal.open(store, 1)
    else:
        recorder.note(READ, ann)
        recorder.commit()
    with store.reading() as r:
        told = {table for table in TABLES for _, row in r.scan(table) if b"token=x1y2z3" in row}
    assert ("records" in told) == bool(told), told
    assert [str(finding) for finding in check(store)] == []


def test_questions_within_a_question_share_its_snapshot() -> None:
    """A call about a thousand files need not begin thousands of transactions."""
    recorder, _, _ = recording()
    with recorder.history() as outer:
        with recorder.history() as inner:
            assert inner is outer
        with recorder.history() as again:
            assert again is outer
    with recorder.history() as later:
        assert later is not outer


def test_what_is_committed_meanwhile_is_seen_by_the_next_question() -> None:
    """Records, and bytes that came without a record."""
    recorder, _, ann = recording()
    with recorder.history() as outer:
        recorder.note(FileWritten("b.txt", blob_id(b"one\n"), 4, 0o644, 0), ann)
        with recorder.history() as before:
            assert before.file("b.txt") is None
        recorder.commit()
        with recorder.history() as after:
            assert after.file("b.txt") is not None
            recorder.note_blob(b"two\n", None)
            recorder.commit()
            with recorder.history() as bytes_too:
                assert bytes_too.holds(blob_id(b"two\n"))
        assert outer.file("b.txt") is None


def test_names_that_another_thread_has_read_are_taken_unless_more_are_known() -> None:
    recorder, _, _ = recording()
    read = PathNames()
    with recorder.journal.store.reading() as reading:
        assert list(read.all(reading)) == ["a.txt"]
    recorder.know_names(read)
    recorder.note(OutsideWritten("b.txt", blob_id(b""), 0, 0o644, "watched"))
    recorder.note_blob(b"", "b.txt")
    recorder.commit()
    with recorder.history() as history:
        assert list(history.path_numbers("all", lambda path: True)) == [1, 2]
    assert len(read) == 2  # they were taken, and go on from there
    late = PathNames()
    recorder.know_names(late)
    with recorder.history() as history:
        assert list(history.path_numbers("again", lambda path: path == "b.txt")) == [2]
    assert len(late) == 0


def test_a_purge_that_finds_the_disk_full_says_so_as_any_commit() -> None:
    store = MemoryStore()
    recorder, _, ann = recording(store)
    with store.reading() as r:
        gatherer = PurgeSurvey(PurgeTarget(path="a.txt"))
        gatherer.look(r)
        change = gatherer.change(r)

    def full() -> None:
        raise StoreFailure("the disk is full", disk_full=True)

    store.fault = full
    with pytest.raises(StoreFailure):
        recorder.purge(change, ann)
    assert recorder.takes_nothing()
    store.fault = None
    recorder.purge(change, ann)
    assert recorder.takes_nothing() == ""


def test_a_disk_on_which_only_small_records_find_room_is_told_as_full_all_the_time() -> None:
    """With each of them it was well again, and full with the next file: whoever asked in between was told nothing."""
    store = MemoryStore()
    recorder, clock, ann = recording(store)

    def full() -> None:
        raise StoreFailure("the disk is full", disk_full=True)

    def file() -> None:
        recorder.note_blob(b"large\n", "b.txt")
        recorder.note(OutsideWritten("b.txt", blob_id(b"large\n"), 6, 0o644, "watched"))
        recorder.commit()

    store.fault = full
    with pytest.raises(StoreFailure):
        file()
    store.fault = None
    recorder.note(READ, ann)
    recorder.commit()
    assert "has taken nothing but a few records since" in recorder.takes_nothing()
    file()
    assert recorder.takes_nothing() == ""
    store.fault = full
    with pytest.raises(StoreFailure):
        file()  # it is removed then, and never comes again
    store.fault = None
    clock.pass_s(FULL_S + 1)
    recorder.note(READ, ann)
    recorder.commit()
    assert recorder.takes_nothing() == ""
