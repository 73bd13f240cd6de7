"""The views: what each fold makes of the log."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st
from scribe import ANN, ANN_KEY, BEN, BEN_KEY, Scribe

from cases import every
from quire_journal.events import (
    FOLDER,
    LINK,
    BatchUndone,
    BytesDisplaced,
    CaptureFailed,
    CheckpointCommitted,
    CheckpointDropped,
    CheckpointNamed,
    CheckpointRolledBack,
    CheckpointSaved,
    EditRefused,
    FileDeleted,
    FileMoved,
    FileWritten,
    ModeChanged,
    OutsideDeleted,
    OutsideModeChanged,
    OutsideMoved,
    OutsideWritten,
    ReadServed,
    ReplyKept,
    WriterIntroduced,
    WritesAbandoned,
    WritesSettled,
)
from quire_journal.line_hash import hash8
from quire_journal.log import TABLES
from quire_journal.text import BOM, Text
from quire_journal.views import VIEWS, anchors, callers, paths

BLOB = bytes(32)


def test_every_table_of_a_view_is_a_table_of_the_store_and_of_no_other_view() -> None:
    owned = [table for view in VIEWS for table in view.tables]
    assert len(owned) == len({*owned})
    assert {*owned} <= {*TABLES}
    assert {*TABLES} - {*owned} == {"meta", "records", "blobs", "pieces", "addresses", "chains", "seen"}


# ── paths ────────────────────────────────────────────────────────────────────


def test_paths_are_numbered_in_the_order_in_which_the_log_names_them() -> None:
    scribe = Scribe()
    scribe.outside("b", b"1")
    scribe.note(FileMoved("b", "a", BLOB, 1, 0o644, 1), writer=1)
    scribe.outside("b", b"2")
    with scribe.store.reading() as r:
        assert [paths.path_id(r, name) for name in ("b", "a", "c")] == [1, 2, None]
        assert [paths.path_of(r, number) for number in (1, 2, 3)] == ["b", "a", None]


def test_a_path_may_be_longer_than_a_key_of_the_store() -> None:
    scribe = Scribe()
    name = "ä/" * 2000 + "x"
    seq = scribe.outside(name, b"1")
    with scribe.history() as history:
        head = history.file(name)
        assert head is not None
        assert head.seq == seq


def test_a_refused_edit_gives_no_number_to_what_it_was_asked_for() -> None:
    scribe = Scribe().introduce()
    scribe.note(EditRefused("edit", "../../etc/passwd", "outside_workspace"), writer=ANN)
    with scribe.history() as history:
        assert history.path_id("../../etc/passwd") is None


# ── files ────────────────────────────────────────────────────────────────────


def test_the_head_is_the_newest_version_and_earlier_ones_stay() -> None:
    scribe = Scribe().introduce()
    first = scribe.outside("a", b"1", "captured")
    second = scribe.write("a", b"22", base=first)
    with scribe.history() as history:
        head = history.file("a")
        assert head is not None
        assert (head.seq, head.size, head.base, head.writer, head.type) == (second, 2, first, ANN, "edit")
        assert [(v.seq, v.index, v.evidence, v.kind) for v in history.versions("a")] == [
            (first, 0, "captured", "outside_written"),
            (second, 1, "", "file_written"),
        ]


def test_a_removed_path_has_a_head_that_says_it_is_gone() -> None:
    scribe = Scribe().introduce()
    made = scribe.write("a", b"1")
    scribe.note(FileDeleted("a", made), writer=ANN)
    scribe.outside("b", b"1")
    scribe.note(OutsideDeleted("b", "watched"))
    with scribe.history() as history:
        heads = dict(history.paths())
    assert all(heads[name].gone and not heads[name].blob for name in "ab")
    assert (heads["a"].type, heads["b"].type, heads["b"].evidence) == ("edit", "outside", "watched")


@every("by_tool", [True, False])
def test_a_move_ends_one_path_and_begins_another_in_one_record(by_tool: bool) -> None:
    scribe = Scribe().introduce()
    made = scribe.outside("old", b"1")
    blob = scribe.hold(b"1")
    if by_tool:
        seq = scribe.note(FileMoved("old", "new", blob, 1, 0o600, made), writer=ANN)
    else:
        seq = scribe.note(OutsideMoved("old", "new", blob, 1, 0o600, "watched", made))
    with scribe.history() as history:
        old, new = history.file("old"), history.file("new")
    assert old is not None
    assert new is not None
    assert (old.seq, old.gone, old.moved_to) == (seq, True, "new")
    assert (new.seq, new.gone, new.moved_from, new.blob, new.mode, new.index) == (seq, False, "old", blob, 0o600, 0)


def test_a_change_of_mode_keeps_what_kind_of_entry_it_is() -> None:
    scribe = Scribe().introduce()
    scribe.note(OutsideWritten("l", BLOB, 1, 0o777, "scanned", entry=LINK))
    scribe.note(OutsideWritten("f", b"", 0, 0o755, "scanned", entry=FOLDER))
    scribe.note(ModeChanged("f", b"", 0, 0o700, 4), writer=ANN)
    scribe.note(OutsideModeChanged("l", BLOB, 1, 0o700, "scanned", 3))
    with scribe.history() as history:
        heads = dict(history.paths())
    assert (heads["f"].entry, heads["f"].mode, heads["f"].type) == (FOLDER, 0o700, "undo")
    assert (heads["l"].entry, heads["l"].mode, heads["l"].type) == (LINK, 0o700, "outside")


def test_a_file_that_could_not_be_captured_is_a_version_that_says_why() -> None:
    scribe = Scribe()
    made = scribe.outside("a", b"1")
    scribe.note(CaptureFailed("a", "too_large", 10**9, mode=0o600))
    with scribe.history() as history:
        head = history.file("a")
    assert head is not None
    assert (head.uncaptured, head.blob, head.size, head.base, head.gone) == ("too_large", b"", 10**9, made, False)


def test_displaced_bytes_are_listed_for_who_asks_and_are_never_the_head() -> None:
    scribe = Scribe().introduce()
    made = scribe.write("a", b"1")
    lost = scribe.note(BytesDisplaced("a", scribe.hold(b"late"), 4, "late"))
    after = scribe.write("a", b"2", base=made)
    with scribe.history() as history:
        assert [v.seq for v in history.versions("a")] == [made, after]
        assert [(v.seq, v.displaced, v.evidence) for v in history.versions("a", displaced=True)] == [
            (made, False, ""),
            (lost, True, "late"),
            (after, False, ""),
        ]
        at = history.version_at("a", lost)
        assert at is not None
        assert at.seq == made
        assert [v.index for v in history.versions("a")] == [0, 1]


def test_an_abandoned_write_leaves_the_version_before_as_the_head() -> None:
    scribe = Scribe().introduce()
    made = scribe.outside("a", b"1")
    lost = scribe.note(
        FileWritten("a", BLOB, 1, 0o644, made), FileMoved("a", "b", BLOB, 1, 0o644, made + 1), writer=ANN
    )
    scribe.note(WritesAbandoned((lost, lost + 1), "raced"))
    with scribe.history() as history:
        head = history.file("a")
        assert head is not None
        assert (head.seq, head.gone) == (made, False)
        assert history.file("b") is None
        assert history.version("a", lost) is None
        assert [path for path, _ in history.paths()] == ["a"]


def test_a_version_that_came_on_top_of_an_abandoned_one_moves_up() -> None:
    scribe = Scribe().introduce()
    scribe.outside("a", b"1")
    lost = scribe.write("a", b"2")
    above = scribe.outside("a", b"3")
    scribe.note(WritesAbandoned((lost,), "raced"))
    scribe.note(WritesAbandoned((lost,), "said twice"))
    with scribe.history() as history:
        head = history.file("a")
        assert head is not None
        assert (head.seq, head.index) == (above, 1)
        assert [v.index for v in history.versions("a")] == [0, 1]
        assert history.continuity("a", "outside") == "clean"


def test_only_tool_writes_before_it_can_be_abandoned() -> None:
    scribe = Scribe().introduce()
    made = scribe.outside("a", b"1")
    scribe.note(WritesAbandoned((made, made + 2, 999), "nonsense"))
    later = scribe.write("a", b"2")
    with scribe.history() as history:
        assert [v.seq for v in history.versions("a")] == [made, later]


# ── continuity ───────────────────────────────────────────────────────────────


def test_the_first_version_does_not_count_when_it_came_from_outside() -> None:
    scribe = Scribe().introduce()
    scribe.outside("a", b"1")
    scribe.write("a", b"2")
    with scribe.history() as history:
        assert history.continuity("a", "edit") == "clean"
        assert history.continuity("a", "write_file") == "mixed"
        assert history.continuity("unseen", "edit") == "clean"
    scribe.outside("a", b"3")
    with scribe.history() as history:
        assert history.continuity("a", "edit") == "mixed"


def test_an_outside_version_after_the_first_counts() -> None:
    scribe = Scribe().introduce()
    scribe.write("a", b"1")
    scribe.outside("a", b"2")
    with scribe.history() as history:
        assert history.continuity("a", "edit") == "mixed"


def test_a_writer_type_whose_only_version_was_abandoned_did_not_write() -> None:
    scribe = Scribe().introduce()
    scribe.write("a", b"1")
    lost = scribe.write("a", b"2", by="write_file")
    scribe.note(WritesAbandoned((lost,), "raced"))
    with scribe.history() as history:
        assert history.continuity("a", "edit") == "clean"


# ── writers ──────────────────────────────────────────────────────────────────


def test_a_writer_is_found_by_its_identity_and_by_its_number() -> None:
    scribe = Scribe().introduce()
    ann = WriterIntroduced(0, uid=1000, pid=11, agent="ann", agent_session="s1", turn="t1")
    with scribe.history() as history:
        assert history.writer_id(ann) == ANN
        assert history.writer_id(WriterIntroduced(0, uid=1000, pid=11, agent="ann", agent_session="s1")) is None
        assert history.next_writer_id() == 3
        assert history.writer(0) is None


def test_a_caller_is_the_same_through_its_turns_and_processes() -> None:
    scribe = Scribe().introduce()
    scribe.note(WriterIntroduced(3, uid=1000, pid=99, agent="ann", agent_session="s1", turn="t2"))
    scribe.note(WriterIntroduced(4, uid=1001, pid=99, agent="ann", agent_session="s1", turn="t2"))
    with scribe.history() as history:
        assert history.caller_of(1) == history.caller_of(3) == ANN_KEY
        assert history.caller_of(4) not in (ANN_KEY, b"")
        assert history.caller_of(0) == b""


def test_a_caller_is_listed_once_with_its_newest_writers_and_who_came_last_is_first() -> None:
    scribe = Scribe().introduce()
    for number in range(3, 30):
        scribe.note(WriterIntroduced(number, uid=1000, pid=99, agent="ann", agent_session="s1", turn=f"t{number}"))
    with scribe.history() as history:
        ann, ben = map(history.caller, history.callers())
        assert history.count_callers() == 2
        assert (ann.key, ann.writers, ann.ids) == (ANN_KEY, 28, tuple(range(29, 29 - callers.MOST_IDS, -1)))
        assert (ben.writers, ben.ids) == (1, (2,))
        scribe.note(WriterIntroduced(30, uid=1000, pid=99, agent="ben", agent_session="s2", turn="t9"))
    with scribe.history() as history:
        assert [history.caller(key).ids[0] for key in history.callers()] == [30, 29]


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


def test_a_batch_of_many_writes_takes_one_short_row_and_knows_each_that_was_taken_back() -> None:
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


def test_the_newest_batches_of_a_caller_come_first_and_only_its_own() -> None:
    scribe = Scribe().introduce()
    mine = [scribe.write("a", b"1"), scribe.write("b", b"2")]
    scribe.write("a", b"3", BEN)
    scribe.outside("a", b"4")
    with scribe.history() as history:
        assert history.last_batches(ANN_KEY) == mine[1:]
        assert history.last_batches(ANN_KEY, 9) == mine[::-1]
        assert list(history.batches_of(ANN_KEY)) == [(mine[1], ANN), (mine[0], ANN)]
        assert history.last_batches(b"\xff" * 8, 9) == []


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
        assert history.kept_reply(ANN_KEY, "k" * 900) == (b"args", b"reply", (seq + 1) * 10**9)
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


# ── anchors ──────────────────────────────────────────────────────────────────


def _hash(line: str) -> str:
    return hashlib.md5(line.encode()).hexdigest()[:8]


def test_a_line_that_is_gone_is_traced_to_its_last_version_and_what_removed_it() -> None:
    scribe = Scribe().introduce()
    one = scribe.outside("a", b"x\ny\nz\n")
    scribe.note(ReadServed("a", one, ((0, 3),), anchors=True), writer=ANN)
    two = scribe.write("a", b"w\nx\ny\nz\n", BEN)
    three = scribe.write("a", b"w\nx\nz\n", BEN)
    scribe.write("a", b"v\nx\nz\n", BEN)
    with scribe.history() as history:
        trace = history.anchor("a", _hash("y")[:6])
        assert trace is not None
        assert (trace.version, trace.line, trace.removed_by) == (two, 2, three)
        assert history.anchor("a", _hash("never")) is None
        assert history.anchor("a", _hash("x")) is None
        assert history.anchor("a", "") is None
        assert history.anchor("b", _hash("y")) is None


def test_a_path_that_nobody_read_with_anchors_is_not_indexed() -> None:
    scribe = Scribe().introduce()
    one = scribe.outside("a", b"x\n")
    scribe.note(ReadServed("a", one, ((0, 1),)), writer=ANN)
    scribe.write("a", b"y\n")
    with scribe.store.reading() as r:
        assert r.count("anchors") == 0


def test_versions_between_the_one_read_and_the_record_of_the_read_are_indexed_too() -> None:
    scribe = Scribe().introduce()
    one = scribe.outside("a", b"x\ny\n")
    two = scribe.write("a", b"x\n")
    scribe.note(ReadServed("a", one, ((0, 2),), anchors=True), writer=ANN)
    with scribe.history() as history:
        trace = history.anchor("a", _hash("y"))
    assert trace is not None
    assert (trace.version, trace.line, trace.removed_by) == (one, 1, two)


def test_a_deletion_and_a_version_without_text_do_not_cut_the_trace() -> None:
    scribe = Scribe().introduce()
    one = scribe.outside("a", b"x\ny\n")
    scribe.note(ReadServed("a", one, ((0, 2),), anchors=True), writer=ANN)
    scribe.note(CaptureFailed("a", "unreadable"))
    three = scribe.outside("a", b"x\n")
    four = scribe.note(OutsideDeleted("a", "watched"))
    with scribe.history() as history:
        trace, gone = history.anchor("a", _hash("y")), history.anchor("a", _hash("x"))
    assert trace is not None
    assert gone is not None
    assert (trace.version, trace.removed_by) == (one, three)
    assert (gone.version, gone.line, gone.removed_by) == (three, 0, four)


def test_the_index_follows_a_move_and_remembers_what_was_before_it() -> None:
    scribe = Scribe().introduce()
    one = scribe.outside("a", b"x\ny\n")
    scribe.note(ReadServed("a", one, ((0, 2),), anchors=True), writer=ANN)
    two = scribe.write("a", b"x\n", base=one)
    moved = scribe.note(FileMoved("a", "b", scribe.hold(b"x\n"), 2, 0o644, two), writer=ANN)
    last = scribe.write("b", b"", base=moved)
    with scribe.history() as history:
        before, after = history.anchor("b", _hash("y")), history.anchor("b", _hash("x"))
    assert before is not None
    assert after is not None
    assert (before.version, before.removed_by) == (one, two)
    assert (after.version, after.removed_by) == (moved, last)


def test_an_abandoned_version_removes_no_line() -> None:
    scribe = Scribe().introduce()
    one = scribe.outside("a", b"x\ny\nz\n")
    scribe.note(ReadServed("a", one, ((0, 3),), anchors=True), writer=ANN)
    lost = scribe.write("a", b"x\n")
    above = scribe.outside("a", b"x\ny\n")
    scribe.note(WritesAbandoned((lost,), "raced"))
    with scribe.history() as history:
        assert history.anchor("a", _hash("y")) is None
        trace = history.anchor("a", _hash("z"))
    assert trace is not None
    assert (trace.version, trace.line, trace.removed_by) == (one, 2, above)


def test_two_versions_abandoned_at_once_leave_the_one_on_top_compared_with_what_is_left() -> None:
    scribe = Scribe().introduce()
    one = scribe.outside("a", b"x\ny\nz\n")
    scribe.note(ReadServed("a", one, ((0, 3),), anchors=True), writer=ANN)
    lost = [scribe.write("a", b"x\n"), scribe.write("a", b"")]
    above = scribe.outside("a", b"y\nx\n")
    scribe.note(WritesAbandoned(tuple(lost), "raced"))
    with scribe.history() as history:
        assert history.anchor("a", _hash("y")) is None
        trace = history.anchor("a", _hash("z"))
    assert trace is not None
    assert (trace.version, trace.line, trace.removed_by) == (one, 2, above)


def test_the_version_after_an_abandoned_newest_one_is_compared_with_the_one_before() -> None:
    scribe = Scribe().introduce()
    one = scribe.outside("a", b"x\ny\n")
    scribe.note(ReadServed("a", one, ((0, 2),), anchors=True), writer=ANN)
    two = scribe.write("a", b"w\nx\ny\n")
    scribe.note(WritesAbandoned((scribe.write("a", b"x\n"),), "raced"))
    three = scribe.write("a", b"w\nx\n")
    with scribe.history() as history:
        trace = history.anchor("a", _hash("y"))
    assert trace is not None
    assert (trace.version, trace.line, trace.removed_by) == (two, 2, three)


def test_a_path_whose_only_indexed_version_was_abandoned_is_not_indexed() -> None:
    scribe = Scribe().introduce()
    lost = scribe.write("a", b"x\n")
    scribe.note(ReadServed("a", lost, ((0, 1),), anchors=True), writer=ANN)
    scribe.note(WritesAbandoned((lost,), "raced"))
    with scribe.store.reading() as r:
        assert r.count("anchors") == 0


def test_a_read_of_a_version_from_long_ago_begins_the_index_at_the_head() -> None:
    scribe = Scribe().introduce()
    one = scribe.outside("a", b"x\n0\n")
    for i in range(anchors.MAX_CATCH_UP + 1):
        head = scribe.write("a", b"%d\n" % i)
    scribe.note(ReadServed("a", one, ((0, 2),), anchors=True), writer=ANN)
    after = scribe.write("a", b"")
    with scribe.history() as history:
        assert history.anchor("a", _hash("x")) is None
        trace = history.anchor("a", _hash(str(anchors.MAX_CATCH_UP)))
    assert trace is not None
    assert (trace.version, trace.line, trace.removed_by) == (head, 0, after)


def test_bytes_that_are_not_held_make_the_next_version_list_every_line() -> None:
    scribe = Scribe().introduce()
    one = scribe.outside("a", b"x\ny\n")
    scribe.note(ReadServed("a", one, ((0, 2),), anchors=True), writer=ANN)
    scribe.outside("a", b"x\n")
    with scribe.store.writing() as w:
        w.clear("addresses")
    two = scribe.outside("a", b"z\n")
    with scribe.history() as history:
        trace = history.anchor("a", _hash("x"))
    assert trace is not None
    assert (trace.version, trace.line, trace.removed_by) == (one, 0, two)


LINES = st.lists(st.sampled_from([b"", b"a", b"b", b"  c", b"{", BOM, b"\xff"]), max_size=8)
BREAKS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    body = b"".join(line + draw(BREAKS) for line in draw(LINES))
    return draw(st.sampled_from([b"", BOM])) + body + draw(st.sampled_from([b"", b"end"]))


@given(old=texts(), new=texts(), around=texts(), times=st.integers(0, 30))
def test_what_a_version_took_away_and_brought_leads_from_one_bag_of_lines_to_the_other(
    old: bytes, new: bytes, around: bytes, times: int
) -> None:
    start, end = (around + b"\n") * times, (b"\n" + around) * times
    old, new = start + old + end, start + new + end
    lines, mark = anchors.compare(old, new)
    assert mark[1] == len(Text.of(old[: mark[0]])) == len(Text.of(new[: mark[0]]))
    near = old.rfind(b"\n", 0, len(old) // 2) + 1
    assert anchors.compare(old, new, 0, (near, len(Text.of(old[:near])))) == (lines, mark)
    was = [bytes.fromhex(hash8(line)) for line in Text.of(old).lines]
    now = [bytes.fromhex(hash8(line)) for line in Text.of(new).lines]
    removed = [lines.removed[i : i + 4] for i in range(0, len(lines.removed), 4)]
    added = [lines.added[i : i + 4] for i in range(0, len(lines.added), 4)]
    for index, hashed in enumerate(removed):
        assert was[anchors.place(lines.removed_at, index)] == hashed
        assert anchors.find(lines.removed, hashed.hex()) is not None
    left = list(was)
    for hashed in removed:
        left.remove(hashed)
    assert sorted(left + added) == sorted(now)
    assert not {*removed} & {*added}
    assert [now[anchors.place(lines.added_at, index)] for index in range(len(added))] == added
    back, _ = anchors.compare(new, old)
    assert back == anchors.Lines(0, lines.added, lines.added_at, lines.removed, lines.removed_at)


@given(old=texts(), new=texts(), later=texts())
def test_a_version_that_brings_back_the_bytes_before_has_the_row_that_comparing_gives(
    old: bytes, new: bytes, later: bytes
) -> None:
    scribe = Scribe().introduce()
    one = scribe.outside("a", old)
    scribe.note(ReadServed("a", one, ((0, 1),), anchors=True), writer=ANN)
    two = scribe.write("a", new, base=one)
    three = scribe.write("a", old, base=two)
    four = scribe.write("a", later, base=three)
    with scribe.store.reading() as r:
        rows = dict(anchors.rows(r, 1))
    assert rows[three] == anchors.compare(new, old, two)[0]
    assert rows[four] == anchors.compare(old, later, three)[0]


def test_the_lines_of_an_edit_that_was_undone_are_traced_through_the_undo() -> None:
    scribe = Scribe().introduce()
    one = scribe.outside("a", b"x\ny\nz\n")
    scribe.note(ReadServed("a", one, ((0, 3),), anchors=True), writer=ANN)
    two = scribe.write("a", b"x\nw\nz\n", base=one)
    undone = scribe.write("a", b"x\ny\nz\n", base=two)
    with scribe.history() as history:
        trace = history.anchor("a", _hash("w"))
        assert trace is not None
        assert (trace.version, trace.line, trace.removed_by) == (two, 1, undone)
        assert history.anchor("a", _hash("y")) is None


def test_a_hash_is_found_only_where_one_begins() -> None:
    assert anchors.find(bytes.fromhex("1234567834567890"), "3456") == 1
    assert anchors.find(bytes.fromhex("1234567834567890"), "2345") is None
    assert anchors.find(b"", "1234") is None


def test_no_table_is_named_twice() -> None:
    assert len(TABLES) == len({*TABLES})
