"""Bytes are dropped, records stay, and the views are what a replay makes of the log."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from quire_journal.history.history import History
from quire_journal.history.line_blame import blame
from quire_journal.history.missing_bytes import MissingBytes, missing
from quire_journal.integrity.checker import check
from quire_journal.journal import Journal, NewRecord
from quire_journal.model.events import (
    BytesGone,
    Event,
    FileMoved,
    FileWritten,
    ReadServed,
    RetentionApplied,
    WriterIntroduced,
    WritesAbandoned,
)
from quire_journal.model.ids import BatchId, WriterId, blob_id
from quire_journal.storage.blobs import blobs, index as blob_index
from quire_journal.storage.blobs.blobs import NotHeld
from quire_journal.storage.memory import MemoryStore
from quire_journal.text.line_hash import hash8
from quire_journal.views.replay import dump, rebuild

DAY = 86_400 * 10**9
NOW = 1_795_132_800 * 10**9  # 2026-11-20
WHO = WriterIntroduced(1, uid=1000, agent="ann", agent_session="s1")


class Writing:
    """A journal of a few files, in which bytes are dropped."""

    def __init__(self) -> None:
        self.journal = Journal.open(MemoryStore(), NOW)
        self.note(WHO)

    def note(
        self,
        *events: Event,
        data: Sequence[tuple[bytes, str | None]] = (),
        dropped: Sequence[bytes] = (),
        batch: int | None = None,
    ) -> int:
        """The events as one batch, or as part of another; the seq of the first."""
        first = self.journal.head + 1
        entries = [NewRecord(event, WriterId(1), NOW, BatchId(batch or first)) for event in events]
        self.journal.append(entries, data, dropped=dropped)
        return first

    def write(self, path: str, data: bytes) -> int:
        return self.note(FileWritten(path, blob_id(data), len(data), 0o644), data=[(data, path)])

    def drop(self, *data: bytes, paths: Sequence[str] = ("a",), policy: str = "keep-last 1") -> int:
        """What retention does: first the record that says by which policy, then the bytes."""
        gone = [blob_id(one) for one in data]
        batch = self.note(RetentionApplied(policy, len(gone), 100))
        return self.note(BytesGone(tuple(gone), "dropped", tuple(paths)), dropped=gone, batch=batch)

    def sound(self) -> None:
        """The check finds nothing, and a replay gives the same views."""
        assert list(check(self.journal.store)) == []
        with self.journal.store.reading() as r:
            before = dump(r)
        rebuild(self.journal.store)
        with self.journal.store.reading() as r:
            assert dump(r) == before


def text(number: int) -> bytes:
    return b"".join(b"line %d of %d\n" % (n, number if n == 3 else 0) for n in range(40))


def test_a_version_whose_bytes_were_dropped_says_when_and_by_which_policy() -> None:
    writing = Writing()
    first = writing.write("a", text(1))
    writing.write("a", b"something quite different\n" * 20)
    writing.drop(text(1))
    with writing.journal.store.reading() as r:
        history = History(r)
        version = history.version("a", first)
        assert version is not None
        with pytest.raises(NotHeld):
            history.text_of(version.blob)
        assert missing(history, version) == MissingBytes("dropped", "dropped by retention on 2026-11-20 (keep-last 1)")
        head = history.file("a")
        assert head is not None
        assert blame(history, "a", head).gap is not None
    writing.sound()


def test_the_bytes_are_in_no_table_and_come_back_when_they_are_written_again() -> None:
    writing = Writing()
    writing.write("a", b"once and again\n" * 9)
    writing.write("a", bytes(range(256)))
    writing.drop(b"once and again\n" * 9)
    with writing.journal.store.reading() as r:
        assert not any(b"once and again" in value for table in ("blobs", "kin") for _, value in r.scan(table))
    writing.sound()
    again = writing.write("a", b"once and again\n" * 9)
    with writing.journal.store.reading() as r:
        version = History(r).version("a", again)
        assert version is not None
        assert History(r).bytes_of(version.blob) == b"once and again\n" * 9
    writing.sound()


def test_the_number_of_a_blob_is_never_given_again() -> None:
    writing = Writing()
    writing.write("a", b"one\n")
    writing.write("b", b"two\n")
    with writing.journal.store.reading() as r:
        newest = blobs.number_of(r, blob_id(b"two\n"))
    writing.drop(b"two\n", b"one\n", paths=("a", "b"))
    writing.write("b", b"three\n")
    with writing.journal.store.reading() as r:
        assert blobs.number_of(r, blob_id(b"three\n")) == newest + 1
    writing.sound()


def test_a_chain_that_led_to_dropped_bytes_ends_and_the_next_version_begins_another() -> None:
    writing = Writing()
    for number in range(5):
        writing.write("a", text(number))
    writing.drop(*(text(number) for number in range(5)))
    writing.write("a", text(6))
    writing.write("a", text(7))
    with writing.journal.store.reading() as r:
        kinds = [blobs.stored_at(r, int.from_bytes(key, "big")).base for key, _ in r.scan("blobs")]
        assert kinds == [0, 6]
        assert blobs.get(r, blob_id(text(7))) == text(7)
    writing.sound()


def test_a_file_leaves_the_hash_index_with_its_bytes_and_joins_again_with_the_next_read() -> None:
    writing = Writing()
    first = writing.write("a", text(1))
    writing.note(ReadServed("a", first, ((0, 40),), anchors=True))
    other = writing.write("b", text(9))
    writing.note(ReadServed("b", other, ((0, 40),), anchors=True))
    writing.write("a", b"new\n")
    with writing.journal.store.reading() as r:
        rows = r.count("anchors")
    writing.drop(text(1))
    with writing.journal.store.reading() as r:
        assert 0 < r.count("anchors") < rows
    writing.sound()
    # The old bytes come back under another version; what is asked of the old one stays as it is in a replay.
    again = writing.write("a", text(1))
    writing.note(ReadServed("a", first, ((0, 40),), anchors=True))
    writing.note(ReadServed("a", again, ((0, 40),), anchors=True))
    writing.sound()


def test_a_file_that_was_moved_is_in_the_index_whether_or_not_bytes_from_before_are_held() -> None:
    """The file of before had joined with bytes that a replay has no more; `verify` told of damage."""
    writing = Writing()
    first = writing.write("a", b"x\n")
    writing.note(ReadServed("a", first, ((0, 1),), anchors=True))
    second = writing.write("a", text(2))
    writing.note(FileMoved("a", "b", blob_id(text(2)), len(text(2)), 0o644, second))
    writing.write("b", text(3))
    writing.drop(b"x\n")
    writing.sound()
    with writing.journal.store.reading() as r:
        trace = History(r).anchor("b", hash8(text(2).splitlines()[3]))
    assert trace is not None
    assert (trace.version, trace.line) == (5, 3)


WHAT = st.sampled_from(["write", "read", "drop", "read an old one", "move", "take back"])
STEP = st.tuples(WHAT, st.sampled_from("ab"), st.integers(0, 6))


@given(st.lists(STEP, max_size=40))
def test_views_equal_their_replay_whatever_is_written_read_and_dropped(
    steps: list[tuple[str, str, int]],
) -> None:
    writing = Writing()
    made: dict[str, list[int]] = {"a": [], "b": []}
    for what, path, number in steps:
        other = "ab"[path == "a"]
        if what == "write":
            made[path].append(writing.write(path, text(number)))
        elif what == "move":
            data = text(number)
            moved = FileMoved(path, other, blob_id(data), len(data), 0o644, 0)
            made[other].append(writing.note(moved, data=[(data, other)]))
        elif what == "take back":
            writing.note(WritesAbandoned(tuple(made[path][-number:]), "they lost a race"))
        elif what == "drop":
            with writing.journal.store.reading() as r:
                texts = sorted(blob_id(text(n)) for n in range(7))
                held = {blob: blobs.number_of(r, blob) for blob in texts if blobs.holds(r, blob)}
                bases = {blobs.stored_at(r, n).base for n in held.values()}
            free = [blob for blob, n in held.items() if n not in bases][: number + 1]
            writing.note(BytesGone(tuple(free), "dropped", ("a", "b") if number % 2 else ()), dropped=free)
        elif made[path]:
            seq = made[path][-1 if what == "read" else number % len(made[path])]
            writing.note(ReadServed(path, seq, ((0, 40),), anchors=True))
    with writing.journal.store.reading() as r:
        for blob_number in blob_index.numbers(r):
            blobs.unpack(r, blob_number)
    writing.sound()


def test_dropping_what_is_not_held_changes_nothing() -> None:
    writing = Writing()
    with writing.journal.store.writing() as w:
        assert blobs.drop(w, blob_id(b"never seen")) == 0
        assert blobs.drop(w, b"short") == 0
    writing.sound()
