"""Records of many writes, noted in portions; the reply gets their real numbers portion by portion, too."""

from __future__ import annotations

from clocks import SetClock

from quire_daemon.commit.provisional_seqs import ProvisionalSeqs
from quire_daemon.commit.record_chunks import PORTION, RecordChunks
from quire_daemon.commit.recorder import Recorder
from quire_daemon.core.decision import Decision
from quire_journal.journal import Journal
from quire_journal.model.events import BatchUndone, Event, FileDeleted
from quire_journal.model.ids import WriterId, version_token
from quire_journal.storage.memory import MemoryStore

FILES = 3 * PORTION


def portions() -> RecordChunks:
    """Of a request that deletes so many files, in a journal that has ten records."""
    clock = SetClock()
    recorder = Recorder(Journal.open(MemoryStore(), clock.now_ns()), clock)
    for n in range(10):
        recorder.note(FileDeleted(f"other{n}", 0, "undo"))
    numbers = ProvisionalSeqs.drawn()
    events: list[Event] = [FileDeleted(f"f{n}", 0, "undo") for n in range(FILES)]
    files = [{"path": f"f{n}", "version": version_token(numbers.first + n)} for n in range(FILES)]
    reply = {"ok": True, "batch": numbers.first, "files": files, "message": "m"}
    return RecordChunks(
        Decision(reply, [*events, BatchUndone((1,), "undo", (), ())]), numbers, recorder, WriterId(1), b"", None
    )


def test_the_files_of_a_reply_get_their_numbers_as_far_as_they_are_noted() -> None:
    some = portions()
    assert not some.settle_some()
    some.note()
    assert some.settle_some()
    assert len(some.files) == len(some.seqs) <= PORTION
    assert not some.settle_some()
    assert some.files[-1]["version"] == version_token(some.seqs[-1])


def test_no_step_settles_more_files_than_a_portion_has() -> None:
    some, steps = portions(), []
    while not some.all_noted:
        some.note()
    while some.settle_some():
        steps.append(len(some.files))
    assert steps == [PORTION, 2 * PORTION, FILES]


def test_the_reply_is_as_if_it_had_been_settled_at_once() -> None:
    parts, whole = portions(), portions()
    while not parts.all_noted:
        parts.note()
        while parts.settle_some():
            pass
    while not whole.all_noted:
        whole.note()
    assert parts.settled.reply == whole.settled.reply == whole.numbers.reply(whole.decision.reply, whole.seqs)
    assert [*parts.settled.reply] == [*parts.decision.reply]


def test_portions_are_about_as_large_as_each_other() -> None:
    some, sizes = portions(), []
    while not some.all_noted:
        before = len(some.seqs)
        some.note()
        sizes.append(len(some.seqs) - before)
    assert max(sizes) <= PORTION
    assert max(sizes) - min(sizes) <= 1
