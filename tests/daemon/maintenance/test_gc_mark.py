"""Marks of a collection: what goes, in which order, and what is spared because something new needs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import given, strategies as st

from quire_daemon.maintenance.gc.mark import Chunk, Marks, NewerNeeds
from quire_journal.history.history import History
from quire_journal.integrity.checker import check
from quire_journal.journal import Journal, NewRecord
from quire_journal.maintenance.retention import Policy
from quire_journal.model.events import (
    BurstBegun,
    BytesGone,
    CheckpointNamed,
    CheckpointSaved,
    Event,
    FileMoved,
    FileWritten,
    LeaseGranted,
    ReadServed,
    WriterIntroduced,
    WritesAbandoned,
    WritesSettled,
)
from quire_journal.model.ids import BatchId, WriterId, blob_id
from quire_journal.shipment.ledger import keep_position
from quire_journal.shipment.segment import Position
from quire_journal.storage.blobs import blobs
from quire_journal.storage.memory import MemoryStore
from quire_journal.transparency.frontier import Frontier

DAY = 86_400 * 10**9
NOW = 1_795_132_800 * 10**9
LATER = NOW + 2 * DAY
LAST = Policy(keep_last=1)


def text(path: str, number: int) -> bytes:
    """Long enough, and alike enough, that a version is made from the one before."""
    return b"".join(b"%d %s\n" % (n if n % 40 else n * number, path.encode()) for n in range(120))


class Writing:
    """A journal of a few files."""

    def __init__(self) -> None:
        self.journal = Journal.open(MemoryStore(), NOW)
        self.note(WriterIntroduced(1, uid=1000, agent="ann", agent_session="s1"))

    def note(self, event: Event, data: Sequence[tuple[bytes, str | None]] = (), dropped: Sequence[bytes] = ()) -> int:
        seq = self.journal.head + 1
        self.journal.append([NewRecord(event, WriterId(1), NOW, BatchId(seq))], data, dropped=dropped)
        return seq

    def write(self, path: str, data: bytes) -> int:
        seq = self.note(FileWritten(path, blob_id(data), len(data), 0o644), [(data, path)])
        self.note(WritesSettled(seq))
        return seq

    def step(self, path: str, number: int, moved_from: str) -> None:
        """A write; or a move with edits, where there is a file to be moved, and none in its way."""
        data = text("shared", number)
        with self.journal.store.reading() as r:
            there = {name: head.seq for name, head in History(r).paths() if not head.gone}
        if path in there or moved_from not in there:
            self.write(path, data)
            return
        event = FileMoved(moved_from, path, blob_id(data), len(data), 0o644, there[moved_from])
        self.note(WritesSettled(self.note(event, [(data, path)])))

    def marks(self, policy: Policy = LAST) -> Marks:
        marks = Marks(self.journal.store, policy, LATER)
        marks.make(lambda: None)
        return marks

    def reasons(self, policy: Policy = LAST) -> dict[tuple[str, int], tuple[bool, str]]:
        """(path, seq) → whether the bytes stay, and why."""
        listed, more = self.marks(policy).listing(0, 1000, "", lambda: None)
        assert more is None
        return {(one.path, one.judged.version.seq): (one.keep, one.reason) for one in listed}

    def drop(self, chunk: Chunk, needed: NewerNeeds) -> tuple[bytes, ...]:
        """What the daemon does with a chunk."""
        with self.journal.store.reading() as r:
            needed.look(r)
            gone = needed.rest(r, chunk)
        self.note(BytesGone(gone, "dropped", chunk.paths), dropped=gone)
        return gone

    def holds(self, data: bytes) -> bool:
        with self.journal.store.reading() as r:
            return blobs.holds(r, blob_id(data))

    def sound(self) -> None:
        assert list(check(self.journal.store)) == []


def test_open_work_is_kept_whatever_the_policy_says() -> None:
    writing = Writing()
    seqs = [writing.write(path, text(path, n)) for n in range(1, 4) for path in "abcde"]
    first = dict(zip("abcde", seqs, strict=False))
    writing.note(LeaseGranted("a", "file", "exclusive", LATER + DAY, lines=(0, 2), version=first["a"]))
    writing.note(CheckpointSaved("b", first["b"]))
    writing.note(CheckpointNamed("before-lunch", first["c"]))
    burst = writing.note(BurstBegun("refactoring", "git", LATER + DAY))
    writing.write("d", text("d", 9))
    writing.write("d", text("d", 10))
    unsettled = writing.note(FileWritten("e", blob_id(b"new"), 3, 0o644, base=first["e"]), [(b"new", "e")])
    writing.note(FileWritten("e", blob_id(b"newer"), 5, 0o644, base=unsettled), [(b"newer", "e")])
    reasons = writing.reasons()
    assert reasons["a", first["a"]] == (True, "a lease on lines of it")
    assert reasons["b", first["b"]] == (True, "open checkpoint of an edit")
    assert reasons["c", first["c"]] == (True, "checkpoint before-lunch")
    assert [why for (path, _), (_, why) in reasons.items() if path == "d"][-3:] == [
        f"open burst {burst}",
        f"open burst {burst}",
        "head of d",
    ]
    assert reasons["e", first["e"]] == reasons["e", unsettled] == (True, "unsettled write")


def test_what_was_not_read_back_at_the_far_side_is_kept() -> None:
    writing = Writing()
    one, two, three, newest = (writing.write("a", text("a", n)) for n in range(4))
    with writing.journal.store.writing() as w:
        keep_position(w, Position("j", number=1, tree=Frontier(two, ())))
    marks = Marks(writing.journal.store, LAST, LATER, ships="j")
    marks.make(lambda: None)
    listed, _ = marks.listing(0, 1000, "", lambda: None)
    reasons = {found.judged.version.seq: found.reason for found in listed}
    assert reasons.pop(one) != "unshipped"
    assert reasons == {two: "unshipped", three: "unshipped", newest: "head of a"}, "two is the file as it was there"


def test_what_a_caller_was_shown_lately_is_kept_for_a_day() -> None:
    writing = Writing()
    read = writing.write("a", b"shown\n")
    writing.note(ReadServed("a", read, ((0, 1),)))
    writing.journal.append(
        [NewRecord(FileWritten("a", blob_id(b"x"), 1, 0o644), WriterId(0), NOW, BatchId(5))], [(b"x", "a")]
    )
    marks = Marks(writing.journal.store, LAST, NOW + DAY // 2)
    marks.make(lambda: None)
    assert [one.reason for one in marks.listing(0, 9, "kept", lambda: None)[0]] == ["read lately", "head of a"]
    assert writing.reasons()["a", read][0] is False


def test_bytes_that_a_kept_version_has_or_is_made_from_stay_and_say_so() -> None:
    writing = Writing()
    one = writing.write("a", text("a", 1))
    two = writing.write("a", text("a", 2))
    same = writing.write("b", b"same in both\n" * 20)
    writing.write("c", b"same in both\n" * 20)
    writing.write("b", b"and now another\n" * 20)
    reasons = writing.reasons()
    assert reasons["a", one] == (True, "others that are kept are made from it")
    assert reasons["a", two] == (True, "head of a")
    assert reasons["b", same] == (True, "another version keeps these bytes")
    totals = writing.marks().totals
    assert totals.dropped == 0
    assert totals.reasons == {"head": 3, "others are made from it": 1, "same bytes": 1}, "nothing is dropped"


def test_what_is_named_after_the_marks_were_made_stays_with_what_it_is_made_from() -> None:
    writing = Writing()
    for n in range(1, 6):
        writing.write("a", text("a", n))
    writing.write("a", b"".join(blob_id(b"%d" % n) for n in range(30)))  # made from no other
    marks = writing.marks()
    assert marks.totals.dropped == 5
    needed = NewerNeeds(marks)
    writing.write("b", text("a", 3))  # the same bytes again, under another name
    for chunk in marks.chunks(lambda: None):
        writing.drop(chunk, needed)
    assert [writing.holds(text("a", n)) for n in range(1, 6)] == [True, True, True, False, False]
    writing.sound()


def test_a_checkpoint_of_the_past_that_is_named_meanwhile_asks_for_new_marks() -> None:
    writing = Writing()
    first = writing.write("a", b"one\n" * 30)
    writing.write("a", b"two\n" * 30)
    marks = writing.marks()
    needed = NewerNeeds(marks)
    writing.note(CheckpointNamed("now", marks.head))
    with writing.journal.store.reading() as r:
        needed.look(r)
    assert not needed.look_again
    with writing.journal.store.reading() as r:
        needed.look(r, [CheckpointNamed("then", first)])
    assert "'then'" in needed.look_again


def test_what_came_while_the_marks_were_made_is_looked_at_in_slices() -> None:
    """The first look in the loop was at all of it, and everybody waited: a second after a minute of four clients."""
    writing = Writing()
    writing.write("a", text("a", 1))
    needed = NewerNeeds(writing.marks())
    for n in range(2, 132):
        writing.write("a", text("a", n))

    slices = 0

    def breathe() -> None:
        nonlocal slices
        slices += 1

    needed.catch_up(writing.journal.store, breathe)
    first, slices = slices, 0
    needed.catch_up(writing.journal.store, breathe)
    assert (first, slices) == (3, 1), "260 records, a hundred at once; then nothing is left"
    with writing.journal.store.reading() as r:
        assert needed.rest(r, Chunk((blob_id(text("a", 131)), blob_id(text("a", 1))), ("a",))) == ()


class Counted(Marks):
    """Marks that count how often the versions of a path are judged."""

    judged = 0

    def _judged(self, number: int, breathe: Callable[[], None]) -> Any:
        self.judged += 1
        return super()._judged(number, breathe)


def test_files_that_are_made_from_each_other_go_in_one_pass_over_all_of_them() -> None:
    """The one that was there first goes last, and had its versions judged again for each that was made from it."""
    writing = Writing()
    writing.write("0", text("shared", 1))
    for n in range(1, 9):
        writing.step(f"{n}", n + 1, f"{n - 1}")
    writing.write("8", b"".join(blob_id(b"%d" % n) for n in range(30)))  # made from no other
    marks = Counted(writing.journal.store, Policy(keep_within_ns=1), LATER)
    marks.make(lambda: None)
    assert marks.totals.dropped == 9
    marks.judged = 0
    assert sum(len(chunk.blobs) for chunk in marks.chunks(lambda: None)) == 9
    assert marks.judged == 9


Step = tuple[str, int, str]
NAMES = ["a/x.py", "b/x.py", "c/y.py", "d"]  # new ones are made from others of the name, or of the suffix
STEP = st.tuples(st.sampled_from(NAMES), st.integers(1, 12), st.sampled_from(["-", *NAMES]))


@given(st.lists(STEP, min_size=1, max_size=60), st.lists(STEP, max_size=8), st.integers(1, 3), st.integers(0, 4))
def test_wherever_a_collection_ends_everything_that_is_left_can_be_unpacked(
    before: list[Step], meanwhile: list[Step], keep: int, ended_after: int
) -> None:
    """Files share contents, so that a blob of one is made from a blob of another."""
    writing = Writing()
    for step in before:
        writing.step(*step)
    marks = writing.marks(Policy(keep_last=keep))
    needed = NewerNeeds(marks)
    small = [Chunk((blob,), chunk.paths) for chunk in marks.chunks(lambda: None) for blob in chunk.blobs]
    for at, chunk in enumerate(small):
        if at == len(small) - ended_after:
            break
        for step in meanwhile[at : at + 1]:
            writing.step(*step)
        writing.drop(chunk, needed)
    writing.sound()
    assert all(keep for keep, _ in writing.reasons(Policy(keep_last=-1)).values())


def abandoned(it: Writing, path: str, data: bytes) -> int:
    """A write that lost a race: no version names its bytes."""
    seq = it.note(FileWritten(path, blob_id(data), len(data), 0o644), [(data, path)])
    it.note(WritesAbandoned((seq,), "changed"))
    return seq


def test_bytes_of_writes_that_were_taken_back_go_as_displaced_ones_do() -> None:
    it = Writing()
    it.write("a", text("a", 1))
    data = text("a", 2)
    seq = it.note(FileWritten("a", blob_id(data), len(data), 0o644), [(data, "a")])
    it.write("a", text("a", 3))  # made from what is taken back
    it.note(WritesAbandoned((seq,), "changed"))
    alone = abandoned(it, "b", text("b", 1))
    within = it.reasons(Policy(keep_last=1, keep_within_ns=3 * DAY))
    assert within["b", alone] == (True, "within 3d")
    reasons = it.reasons()
    assert reasons["a", seq] == (True, "others that are kept are made from it")
    assert reasons["b", alone] == (False, "displaced bytes, and no rule keeps them")
    marks = it.marks()
    needed = NewerNeeds(marks)
    for chunk in marks.chunks(lambda: None):
        it.drop(chunk, needed)
    assert it.holds(text("a", 2))
    assert not it.holds(text("b", 1))
    assert list(check(it.journal.store)) == []
    assert it.marks().totals.dropped == 0


def test_bytes_of_a_write_that_was_taken_back_and_made_again_stay() -> None:
    it = Writing()
    abandoned(it, "a", text("a", 1))
    it.write("a", text("a", 1))
    assert it.marks().totals.dropped == 0
