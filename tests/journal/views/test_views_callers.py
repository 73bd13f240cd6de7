"""The views of what callers have read and done: reads, batches, checkpoints."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st
from scribe import ANN, ANN_KEY, BEN, BEN_KEY, BLOB, Scribe

from quire_journal.model.events import (
    BatchUndone,
    CheckpointCommitted,
    CheckpointDropped,
    CheckpointNamed,
    CheckpointRolledBack,
    CheckpointSaved,
    FileMoved,
    FileWritten,
    ModeChanged,
    ReadServed,
    ReplyKept,
    WritesAbandoned,
    WritesSettled,
)
from quire_journal.views.batches import newest_of

# ── reads ────────────────────────────────────────────────────────────────────


def test_a_caller_is_remembered_with_the_version_and_lines_it_was_shown() -> None:
    scribe = Scribe().introduce()
    made = scribe.outside("a", b"1\n2\n")
    at = scribe.note(ReadServed("a", made, ((0, 2),)), writer=ANN)
    with scribe.history() as history:
        shown = history.shown(ANN_KEY, "a")
        assert shown is not None
        assert (shown.version, shown.lines, shown.at_ns, shown.news_after) == (made, ((0, 2),), at * 10**9, made)
        assert history.shown(BEN_KEY, "a") is None


def test_the_callers_own_write_moves_its_base_along_and_leaves_the_others() -> None:
    scribe = Scribe().introduce()
    made = scribe.outside("a", b"1\n")
    scribe.note(ReadServed("a", made, ((0, 1),)), writer=ANN)
    scribe.note(ReadServed("a", made, ((0, 1),)), writer=BEN)
    written = scribe.write("a", b"2\n", ANN, base=made)
    with scribe.history() as history:
        ann, ben = history.shown(ANN_KEY, "a"), history.shown(BEN_KEY, "a")
    assert ann is not None
    assert ben is not None
    assert (ann.version, ann.lines) == (written, ())
    assert (ben.version, ben.lines) == (made, ((0, 1),))


def test_what_others_did_stays_news_after_the_callers_own_write_until_it_reads_again() -> None:
    scribe = Scribe().introduce()
    made = scribe.outside("a", b"1\n")
    scribe.note(ReadServed("a", made, ((0, 1),)), writer=ANN)
    others = scribe.write("a", b"2\n", BEN)
    blob = scribe.hold(b"3\n")
    seq = scribe.seq + 1
    scribe.note(FileWritten("a", blob, 2, 0o644, others), ReadServed("a", seq, ((0, 1),)), writer=ANN)
    with scribe.history() as history:
        shown = history.shown(ANN_KEY, "a")
        assert shown is not None
        assert (shown.version, shown.lines, shown.news_after) == (seq, ((0, 1),), made)
        assert [v.seq for v in history.changed_since("a", shown.news_after, ANN_KEY)] == [others]
    scribe.note(ReadServed("a", seq, ((0, 1),)), writer=ANN)
    with scribe.history() as history:
        shown = history.shown(ANN_KEY, "a")
        assert shown is not None
        assert shown.news_after == seq


def test_a_move_and_a_change_of_mode_keep_the_lines_that_were_shown() -> None:
    scribe = Scribe().introduce()
    made = scribe.outside("a", b"1\n")
    scribe.note(ReadServed("a", made, ((0, 1),)), writer=ANN)
    blob = scribe.hold(b"1\n")
    mode = scribe.note(ModeChanged("a", blob, 2, 0o600, made), writer=ANN)
    moved = scribe.note(FileMoved("a", "b", blob, 2, 0o600, mode), writer=ANN)
    with scribe.history() as history:
        old, new = history.shown(ANN_KEY, "a"), history.shown(ANN_KEY, "b")
    assert old is not None
    assert new is not None
    assert (old.version, old.lines) == (moved, ())
    assert (new.version, new.lines) == (moved, ((0, 1),))


def test_an_abandoned_write_gives_the_caller_its_base_back() -> None:
    scribe = Scribe().introduce()
    made = scribe.outside("a", b"1\n")
    scribe.note(ReadServed("a", made, ((0, 1),)), writer=ANN)
    first = scribe.write("a", b"2\n", ANN)
    second = scribe.write("a", b"3\n", ANN)
    scribe.note(WritesAbandoned((first,), "raced"))
    scribe.note(WritesAbandoned((second,), "raced"))
    with scribe.history() as history:
        shown = history.shown(ANN_KEY, "a")
        assert shown is not None
        assert (shown.version, shown.lines) == (made, ((0, 1),))
    made = scribe.write("new", b"1", ANN)
    scribe.note(WritesAbandoned((made,), "raced"))
    with scribe.history() as history:
        assert history.shown(ANN_KEY, "new") is None


def test_nothing_is_kept_for_taking_back_once_the_writes_are_settled() -> None:
    scribe = Scribe().introduce()
    first = scribe.write("a", b"1")
    second = scribe.write("a", b"2")
    scribe.note(WritesSettled(first))
    with scribe.store.reading() as r:
        assert r.count("reads_before") == 1
    scribe.note(WritesSettled(second))
    with scribe.store.reading() as r:
        assert r.count("reads_before") == 0


# ── batches ──────────────────────────────────────────────────────────────────


def test_a_batch_is_unsettled_until_all_its_writes_are_on_disk() -> None:
    scribe = Scribe().introduce()
    one = scribe.note(FileWritten("a", BLOB, 1, 0o644), FileWritten("b", BLOB, 1, 0o644), writer=ANN, op=b"op-1")
    two = scribe.write("c", b"1")
    scribe.note(WritesSettled(one))
    with scribe.history() as history:
        assert history.unsettled() == [one, two]
        assert history.op(b"op-1") == one
        assert history.op(b"op-2") is None
        assert history.op(b"") is None
    scribe.note(WritesSettled(one + 1))
    with scribe.history() as history:
        assert (history.batch_state(one), history.batch_state(two)) == ("applied", "unsettled")
        assert [record.seq for record in history.batch(one)] == history.batch_writes(one) == [one, one + 1]


def test_a_batch_is_abandoned_when_none_of_its_writes_stands() -> None:
    scribe = Scribe().introduce()
    kept = scribe.write("z", b"1")
    lost = scribe.note(FileWritten("a", BLOB, 1, 0o644), FileWritten("b", BLOB, 1, 0o644), writer=ANN)
    scribe.note(WritesAbandoned((lost,), "disk full"))
    with scribe.history() as history:
        assert history.batch_state(lost) == "unsettled"
        assert history.batch_writes(lost) == [lost + 1]
        assert history.last_batches(ANN_KEY, 5) == [lost, kept]
    scribe.note(WritesAbandoned((lost + 1,), "disk full"))
    with scribe.history() as history:
        assert history.batch_state(lost) == "abandoned"
        assert history.unsettled() == [kept]
        assert history.last_batches(ANN_KEY, 5) == [kept]


def test_a_batch_of_many_writes_takes_one_short_row_with_each_abandoned_write() -> None:
    scribe = Scribe().introduce()
    written = [FileWritten(f"f{n}", BLOB, 1, 0o644) for n in range(40)]
    batch = scribe.note(*written, writer=ANN)
    lost = (batch, batch + 3, batch + 4, batch + 17, batch + 39)
    scribe.note(WritesAbandoned(lost, "raced"))
    with scribe.history() as history:
        assert history.batch_writes(batch) == [seq for seq in range(batch, batch + 40) if seq not in lost]
    with scribe.store.reading() as r:
        (row,) = (value for key, value in r.scan("batches"))
        assert len(row) < 60
    scribe.note(WritesAbandoned(tuple(range(batch, batch + 40)), "raced"))
    with scribe.history() as history:
        assert (history.batch_state(batch), history.batch_writes(batch)) == ("abandoned", [])


@given(st.lists(st.integers(0, 23), unique=True, min_size=1), st.lists(st.integers(0, 23), unique=True))
@settings(max_examples=25, deadline=None)
def test_writes_that_are_taken_back_together_are_those_taken_back_one_by_one(first: list[int], then: list[int]) -> None:
    together, single = Scribe().introduce(), Scribe().introduce()
    for scribe in (together, single):
        for writer in (ANN, BEN, ANN):
            scribe.note(*(FileWritten(f"{writer}{n}", BLOB, 1, 0o644) for n in range(8)), writer=writer)
    begun = together.seq - 23
    for lost in (first, then):
        together.note(WritesAbandoned(tuple(begun + at for at in lost), "raced"))
        for at in lost:
            single.note(WritesAbandoned((begun + at,), "raced"))
    tables = ("batches", "batches_by", "unsettled")
    with together.store.reading() as a, single.store.reading() as b:
        assert {table: [*a.scan(table)] for table in tables} == {table: [*b.scan(table)] for table in tables}


def test_the_newest_batches_of_a_caller_come_first_and_only_its_own() -> None:
    scribe = Scribe().introduce()
    mine = [scribe.write("a", b"1"), scribe.write("b", b"2")]
    scribe.write("a", b"3", BEN)
    scribe.outside("a", b"4")
    with scribe.history() as history:
        assert history.last_batches(ANN_KEY) == mine[1:]
        assert history.last_batches(ANN_KEY, 9) == mine[::-1]
        assert history.last_batches(b"\xff" * 8, 9) == []
    with scribe.store.reading() as r:
        assert list(newest_of(r, ANN_KEY)) == [(mine[1], ANN), (mine[0], ANN)]


def test_the_batches_of_a_caller_are_told_newest_first_across_all_rows_that_have_them() -> None:
    scribe = Scribe().introduce()
    mine: list[int] = []
    for n in range(700):
        if n % 7 == 0:
            mine.append(scribe.note(FileWritten("a", BLOB, 1, 0o644), writer=ANN))
        elif n % 300 == 1:
            scribe.note(*[WritesSettled(0)] * 300)  # no batch of Ann's begins among these
        else:
            scribe.note(FileWritten("b", BLOB, 1, 0o644), writer=BEN)
    lost = {mine[0], mine[50], mine[-1]}
    scribe.note(WritesAbandoned(tuple(lost), "raced"))
    left = [batch for batch in mine if batch not in lost]
    with scribe.history() as history:
        assert history.last_batches(ANN_KEY, 999) == left[::-1]
        assert history.last_batches(ANN_KEY, 3) == left[:-4:-1]
    with scribe.store.reading() as r:
        assert r.count("batches_by") < 20


def test_a_batch_is_undone_until_its_undoing_is_undone() -> None:
    scribe = Scribe().introduce()
    done = scribe.write("a", b"1")
    undo = scribe.note(BatchUndone((done,)), FileWritten("a", BLOB, 1, 0o644, done, "undo"), writer=ANN)
    with scribe.history() as history:
        assert history.undone_by(done) == undo
    redo = scribe.note(BatchUndone((undo,), "redo"), FileWritten("a", BLOB, 1, 0o644, undo, "undo"), writer=ANN)
    with scribe.history() as history:
        assert history.undone_by(done) is None
        assert history.undone_by(undo) == redo
    scribe.note(WritesAbandoned((redo + 1,), "raced"))
    with scribe.history() as history:
        assert history.undone_by(done) == undo


def test_a_batch_that_says_it_undid_itself_or_a_later_one_undid_nothing() -> None:
    scribe = Scribe().introduce()
    one = scribe.note(BatchUndone((3, 4)), writer=ANN)
    two = scribe.write("a", b"1")
    with scribe.history() as history:
        assert (one, two) == (3, 4)
        assert history.undone_by(one) is None
        assert history.undone_by(two) is None


def test_a_kept_reply_is_its_callers_and_ends_with_its_batch() -> None:
    scribe = Scribe().introduce()
    seq = scribe.note(FileWritten("a", BLOB, 1, 0o644), ReplyKept("k" * 900, b"args", b"reply"), writer=ANN)
    with scribe.history() as history:
        assert history.kept_reply(ANN_KEY, "k" * 900) == (b"args", b"reply", (seq + 1) * 10**9, seq)
        assert history.kept_reply(BEN_KEY, "k" * 900) is None
        assert history.kept_reply(ANN_KEY, "k") is None
    scribe.note(WritesAbandoned((seq,), "raced"))
    with scribe.history() as history:
        assert history.kept_reply(ANN_KEY, "k" * 900) is None


# ── checkpoints ──────────────────────────────────────────────────────────────


def test_a_checkpoint_is_found_by_its_name_until_it_is_dropped() -> None:
    scribe = Scribe().introduce()
    name = "before the big change, " * 50
    scribe.note(CheckpointNamed(name, 1), writer=ANN)
    scribe.note(CheckpointNamed("b", 2, "why"), writer=ANN)
    scribe.note(CheckpointNamed(name, 2), writer=ANN)
    with scribe.history() as history:
        assert history.checkpoint(name) == 2
        assert [(c.name, c.note) for c in history.checkpoints()] == [("b", "why"), (name, "")]
    scribe.note(CheckpointDropped(name))
    with scribe.history() as history:
        assert history.checkpoint(name) is None


def test_the_checkpoint_of_an_edit_says_what_became_of_it() -> None:
    scribe = Scribe().introduce()
    made = scribe.write("a", b"1")
    scribe.note(CheckpointSaved("a", made), CheckpointRolledBack("a", made, "unbalanced"), writer=ANN)
    with scribe.history() as history:
        found = history.edit_checkpoint("a")
        assert found is not None
        assert (found.version, found.state, found.why) == (made, "rolled_back", "unbalanced")
    scribe.note(CheckpointCommitted("a", made), writer=ANN)
    with scribe.history() as history:
        found = history.edit_checkpoint("a")
        assert found is not None
        assert found.state == "committed"
