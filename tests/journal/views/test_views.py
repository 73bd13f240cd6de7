"""The views: what each fold makes of the log. Here those of paths, files and writers."""

from __future__ import annotations

import pytest
from scribe import ANN, ANN_KEY, BEN, BEN_KEY, BLOB, Scribe

from quire_journal.model.events import (
    FOLDER,
    LINK,
    BytesDisplaced,
    CaptureFailed,
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
    WriterIntroduced,
    WritesAbandoned,
)
from quire_journal.model.records import JournalDamaged
from quire_journal.storage.port import TABLES, u64
from quire_journal.views import callers, files, paths, table as views


def test_every_table_of_a_view_is_a_table_of_the_store_and_of_no_other_view() -> None:
    owned = views.TABLES
    assert len(owned) == len({*owned})
    assert {*owned} <= {*TABLES}
    assert {*TABLES} - {*owned} == {
        *("meta", "records", "blobs", "pieces", "packs", "addresses", "kin", "seen", "content_keys")
    }


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


def test_the_head_of_a_path_that_never_changed_is_made_from_its_record() -> None:
    scribe = Scribe().introduce()
    scribe.outside("a", b"1", "captured")
    scribe.outside("b", b"22", "captured")
    last = scribe.write("b", b"333")
    with scribe.store.reading() as r:
        rows = [row for _, row in r.scan("files")]
        first, then = files.head(r, 1), files.head(r, 2)
        assert first == files.version(r, 1, first.seq if first else 0)
        assert (files.made_by(r, 1), files.made_by(r, 2)) == ({"outside": 1}, {"outside": 1, "edit": 1})
    assert len(rows[0]) < 8 < len(rows[1])
    assert first is not None
    assert then is not None
    assert (first.size, first.evidence, first.index, then.seq, then.index) == (1, "captured", 0, last, 1)


def test_a_first_version_whose_record_is_gone_is_damage() -> None:
    scribe = Scribe()
    seq = scribe.outside("a", b"1")
    with scribe.store.writing() as w:
        w.delete("records", u64(seq))
    with scribe.store.reading() as r, pytest.raises(JournalDamaged, match=f"record {seq} "):
        files.head(r, 1)


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


@pytest.mark.parametrize("by_tool", [True, False])
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


# ── anchors ──────────────────────────────────────────────────────────────────


def test_a_reader_with_a_stale_read_costs_the_next_change_nothing() -> None:
    """An edit wrote a row for every agent session that had ever read the file: 18 ms with five thousand of them."""
    scribe = Scribe().introduce()
    one = scribe.outside("a", b"1")
    scribe.note(ReadServed("a", one, ((0, 1),)), writer=ANN)
    scribe.note(ReadServed("a", one, ((0, 1),)), writer=BEN)

    def told() -> tuple[list[str], list[str], int]:
        with scribe.history() as history, scribe.store.reading() as r:
            return list(history.stale_reads(ANN_KEY)), list(history.stale_reads(BEN_KEY)), r.count("readers")

    assert told() == ([], [], 2)
    two = scribe.write("a", b"2", writer=ANN)
    assert told() == ([], ["a"], 1)
    scribe.outside("a", b"3")
    assert told() == (["a"], ["a"], 0)
    four = scribe.outside("a", b"4")
    scribe.note(ReadServed("a", two, ((0, 1),)), writer=BEN)
    assert told() == (["a"], ["a"], 1)
    scribe.note(ReadServed("a", four, ((0, 1),)), writer=BEN)
    assert told() == (["a"], [], 1)
    scribe.outside("a", b"5")
    assert told() == (["a"], ["a"], 0)


def test_no_table_is_named_twice() -> None:
    assert len(TABLES) == len({*TABLES})
