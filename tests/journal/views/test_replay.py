"""Replay: the views are nothing but the log folded, however and whenever that is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from scribe import ANN, SECOND, Scribe

from quire_journal.model.events import (
    BatchUndone,
    BurstBegun,
    BurstEnded,
    BytesDisplaced,
    CaptureFailed,
    CheckpointDropped,
    CheckpointNamed,
    CheckpointRolledBack,
    CheckpointSaved,
    Event,
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
    WatchLost,
    WorkspaceOpened,
    WorkspaceScanned,
    WriterIntroduced,
    WritesAbandoned,
    WritesSettled,
)
from quire_journal.model.ids import blob_id
from quire_journal.model.records import JournalDamaged, decode_record
from quire_journal.storage.port import OutOfOrder, ReadTransaction, WriteTransaction, u64
from quire_journal.storage.stores import STORES
from quire_journal.views import watermarks
from quire_journal.views.bulk_load import WORTH, Newcomers
from quire_journal.views.files import TOOL_WRITES
from quire_journal.views.replay import catch_up, dump, fold_all, rebuild
from quire_journal.views.table import VIEWS, of_kind

TEXTS = (b"", b"x\n", b"x\ny\n", b"y\r\nx\n", b"z\ny\nx", b"z\n" * 3)
NOT_HELD = b"nobody kept this\n"

paths = st.sampled_from(["a", "b", "c/ä"])
new_paths = st.integers(0, 40).map("new {}".format)
seqs = st.integers(0, 45)
contents = st.sampled_from([*TEXTS, NOT_HELD])
bys = st.sampled_from(["edit", "write_file", "undo"])
evidence = st.sampled_from(["watched", "scanned"])


def _written(make: Callable[..., Event]) -> Callable[..., Event]:
    def made(first: tuple[object, ...], content: bytes, *rest: object) -> Event:
        return make(*first, blob_id(content), len(content), 0o644, *rest)

    return made


one_path = st.tuples(paths)
two_paths = st.tuples(paths, paths)
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(_written(FileWritten), one_path, contents, seqs, bys),
    st.builds(_written(FileWritten), one_path, contents, seqs, bys),
    st.builds(_written(OutsideWritten), one_path, contents, evidence),
    st.builds(_written(FileMoved), two_paths, contents, seqs),
    st.builds(_written(OutsideMoved), two_paths, contents, evidence),
    st.builds(_written(ModeChanged), one_path, contents, seqs),
    st.builds(_written(OutsideModeChanged), one_path, contents, evidence),
    st.builds(FileDeleted, paths, seqs),
    st.builds(OutsideDeleted, paths, evidence),
    st.builds(CaptureFailed, paths, st.just("too_large")),
    st.builds(BytesDisplaced, paths, contents.map(blob_id), st.just(1), st.just("swap")),
    st.builds(ReadServed, paths, seqs, st.just(((0, 2),)), st.booleans()),
    st.builds(ReadServed, paths, seqs, st.just(((0, 2),)), st.just(True)),
    st.builds(WritesSettled, seqs),
    st.builds(WritesAbandoned, st.lists(seqs, max_size=6).map(tuple), st.just("raced")),
    st.builds(WritesAbandoned, st.lists(seqs, max_size=6).map(tuple), st.just("raced")),
    st.builds(BatchUndone, st.lists(seqs, max_size=2).map(tuple)),
    st.builds(ReplyKept, st.sampled_from(["k1", "k2"]), st.just(b"args"), st.just(b"reply")),
    st.builds(CheckpointNamed, st.sampled_from(["n1", "n2"]), seqs),
    st.builds(CheckpointDropped, st.sampled_from(["n1", "n2"])),
    st.builds(CheckpointSaved, paths, seqs),
    st.builds(CheckpointRolledBack, paths, seqs, st.just("unbalanced")),
    st.builds(BurstBegun, st.just("label"), st.just("git"), seqs.map(lambda s: s * SECOND), st.booleans()),
    st.builds(BurstEnded, seqs, st.sampled_from(["owner", "ttl"])),
    st.builds(WorkspaceScanned, st.just("start"), st.just(3), st.just(1)),
    st.builds(WatchLost, st.just("overflow")),
    st.builds(WorkspaceOpened, st.just("/w"), st.just("e"), st.just("v")),
)
batches = st.tuples(st.lists(events, min_size=1, max_size=3), st.sampled_from([0, 1, 1, 2, 3]), st.binary(max_size=1))
logs = st.lists(st.one_of(batches, st.none()), max_size=14)
Log = list[tuple[list[Event], int, bytes] | None]


def written(log: Log, folding: bool) -> Scribe:
    """A scribe that wrote the log; None stands for a record of a kind that this version does not know."""
    scribe = Scribe(folding=folding)
    for text in TEXTS:
        scribe.hold(text)
    scribe.introduce()
    scribe.note(WriterIntroduced(3, uid=1000, pid=13, agent="ann", agent_session="s1", turn="t9"))
    for batch in log:
        if batch is None:
            scribe.note_unknown()
        else:
            scribe.note(*batch[0], writer=batch[1], op=batch[2])
    return scribe


def views_of(scribe: Scribe) -> dict[str, list[tuple[bytes, bytes]]]:
    with scribe.store.reading() as r:
        return dump(r)


def mark(w: WriteTransaction, view: str, version: int, seq: int) -> None:
    """Say that a view stands there."""
    watermarks.write(w, {**watermarks.read(w), view: (version, seq)})


@given(log=logs, chunk=st.integers(1, 7))
def test_views_that_follow_each_record_equal_views_folded_afterwards(log: Log, chunk: int) -> None:
    followed, afterwards = written(log, folding=True), written(log, folding=False)
    assert catch_up(followed.store) == 0
    assert catch_up(afterwards.store, chunk) == afterwards.seq
    assert views_of(followed) == views_of(afterwards)


@given(log=logs, chunk=st.integers(1, 7))
def test_views_come_back_as_they_were_when_all_are_thrown_away(log: Log, chunk: int) -> None:
    scribe = written(log, folding=True)
    before = views_of(scribe)
    assert rebuild(scribe.store, chunk) == scribe.seq
    assert views_of(scribe) == before


@given(
    noted=st.lists(
        st.one_of(events, st.builds(_written(OutsideWritten), st.tuples(new_paths), contents, evidence)), min_size=WORTH
    )
)
def test_many_records_folded_at_once_give_what_each_for_itself_does(noted: list[Event]) -> None:
    one_by_one, at_once = Scribe().introduce(), Scribe(folding=False).introduce()
    for scribe in (one_by_one, at_once):
        for text in TEXTS:
            scribe.hold(text)
        scribe.note(*noted, op=b"an operation")
    with at_once.store.reading() as r:
        records = [decode_record(stored) for _, stored in r.scan("records")]
    with at_once.store.writing() as w:
        fold_all(w, [(record, record.event()) for record in records])
    assert views_of(one_by_one) == views_of(at_once)


def test_files_of_a_first_capture_are_folded_together_except_a_second_version() -> None:
    noted: list[Event] = [OutsideWritten(f"f{n % 30}", blob_id(b"x\n"), 2, 0o644, "captured") for n in range(40)]
    plain, together = Scribe(), Scribe(folding=False)
    for scribe in (plain, together):
        scribe.note(*noted)
    with together.store.reading() as r:
        records = [decode_record(stored) for _, stored in r.scan("records")]
    with together.store.writing() as w:
        newcomers = Newcomers(w)
        assert [newcomers.take(record, record.event()) for record in records] == [True] * 30 + [False] * 10
    with together.store.writing() as w:
        fold_all(w, [(record, record.event()) for record in records])
    assert views_of(plain) == views_of(together)


def test_new_files_are_not_folded_together_while_a_burst_is_open() -> None:
    begun = BurstBegun("checkout", "git", 1000 * SECOND, outside=True)
    noted = [begun, *(OutsideWritten(f"f{n}", blob_id(b"x\n"), 2, 0o644, "watched") for n in range(WORTH))]
    plain, together = Scribe().introduce(), Scribe(folding=False).introduce()
    for scribe in (plain, together):
        scribe.note(*noted)
    with together.store.reading() as r:
        records = [decode_record(stored) for _, stored in r.scan("records")]
    with together.store.writing() as w:
        fold_all(w, [(record, record.event()) for record in records])
        assert w.count("burst_batches") == 1
    assert views_of(plain) == views_of(together)


@given(log=logs, name=st.sampled_from([view.name for view in VIEWS]), data=st.data())
def test_one_view_built_by_another_version_comes_back_as_it_was(log: Log, name: str, data: st.DataObject) -> None:
    scribe = written(log, folding=True)
    before = views_of(scribe)
    view = next(view for view in VIEWS if view.name == name)
    with scribe.store.writing() as w:
        mark(w, name, view.version + 1, data.draw(st.integers(0, scribe.seq)))
        for table in view.tables:
            w.put(table, b"left over", b"from then")
    catch_up(scribe.store, 5)
    assert views_of(scribe) == before


@given(log=logs)
def test_a_view_has_no_business_with_records_of_other_kinds_than_it_names(log: Log) -> None:
    scribe = written(log, folding=True)
    before = views_of(scribe)
    with scribe.store.writing() as w:
        for _, stored in list(w.scan("records")):
            record = decode_record(stored)
            event = record.event()
            for view in VIEWS:
                if view.apply_all is None and view not in of_kind(type(event) if event is not None else None):
                    view.apply(w, record, event)
    assert views_of(scribe) == before


@given(log=logs, more=logs)
def test_a_log_folded_in_two_goes_gives_the_same_views(log: Log, more: Log) -> None:
    scribe = written(log, folding=False)
    catch_up(scribe.store)
    for batch in more:
        if batch is not None:
            scribe.note(*batch[0], writer=batch[1], op=batch[2])
    catch_up(scribe.store, 2)
    before = views_of(scribe)
    rebuild(scribe.store)
    assert views_of(scribe) == before


@given(log=logs)
def test_abandoned_writes_leave_no_trace_in_what_is_shown_as_state(log: Log) -> None:
    scribe = written(log, folding=True)
    with scribe.history() as history:
        abandoned = {
            seq
            for record in history.records()
            if isinstance(event := record.event(), WritesAbandoned)
            for seq in event.seqs
            if seq < record.seq and (was := history.record(seq)) is not None and isinstance(was.event(), TOOL_WRITES)
        }
        for path, head in history.paths():
            versions = list(history.versions(path))
            assert versions[-1] == head
            assert [v.index for v in versions] == list(range(len(versions)))
            assert not abandoned & {v.seq for v in versions}
            kinds = {v.type for v in versions[1:]} | {v.type for v in versions[:1] if v.type != "outside"}
            for type in ("edit", "outside"):
                assert history.continuity(path, type) == ("mixed" if kinds - {type} else "clean")
        for batch in history.unsettled():
            assert {*history.batch_writes(batch)} - abandoned == {*history.batch_writes(batch)} != set()


@given(log=logs)
def test_a_version_names_the_record_that_made_it(log: Log) -> None:
    scribe = written(log, folding=True)
    with scribe.history() as history:
        for path, _ in history.paths():
            for version in history.versions(path, displaced=True):
                record = history.record(version.seq)
                assert record is not None
                assert (record.kind, record.writer, record.batch) == (version.kind, version.writer, version.batch)
                assert path in (getattr(record.event(), "path", ""), getattr(record.event(), "to", ""))


def test_the_same_log_gives_the_same_bytes_in_another_store(tmp_path: Path) -> None:
    store = STORES["lmdb"](tmp_path)
    try:
        here, there = Scribe(), Scribe(store)
        for scribe in (here, there):
            scribe.introduce()
            one = scribe.outside("a", b"x\ny\n")
            scribe.note(ReadServed("a", one, ((0, 2),), anchors=True), writer=ANN)
            lost = scribe.write("a", b"x\n", base=one)
            scribe.outside("b" * 600, b"z\n")
            scribe.note(WritesAbandoned((lost,), "raced"), CheckpointNamed("n" * 600, one), writer=ANN)
            scribe.note(ReplyKept("k" * 600, b"args", b"reply"), writer=ANN, op=bytes(16))
            kept = scribe.write("a", b"", base=one)
            scribe.note(WritesSettled(kept))
        assert views_of(here) == views_of(there)
        before = views_of(there)
        rebuild(store, 3)
        assert views_of(there) == before
    finally:
        store.close()


def test_records_of_an_unknown_kind_change_only_the_terms_view() -> None:
    scribe = Scribe().introduce()
    scribe.write("a", b"1")
    before = views_of(scribe)
    unknown = scribe.note_unknown()
    found_by = {"terms": None, "term_spans": None}
    assert {**views_of(scribe), **found_by} == {**before, **found_by}
    with scribe.history() as history:
        record = history.record(unknown)
        assert record is not None
        assert (record.kind, record.event()) == ("file_painted", None)
        assert history.head() == unknown
    scribe.write("a", b"2")
    after = views_of(scribe)
    rebuild(scribe.store)
    assert views_of(scribe) == after


def test_views_that_lack_records_refuse_to_be_folded_past_them() -> None:
    scribe = Scribe(folding=False).introduce()
    scribe.folding = True
    with pytest.raises(OutOfOrder, match="catch up"):
        scribe.write("a", b"1")


def test_folding_two_records_with_a_gap_between_them_is_refused() -> None:
    scribe = Scribe(folding=False).introduce()
    scribe.write("a", b"1")
    with scribe.history() as history:
        records = [record for record in history.records() if record.seq != 2]
    rebuilt = Scribe()
    with pytest.raises(OutOfOrder), rebuilt.store.writing() as w:
        fold_all(w, [(record, record.event()) for record in records])


def test_folding_nothing_changes_nothing() -> None:
    scribe = Scribe().introduce()
    with scribe.store.writing() as w:
        fold_all(w, ())
    assert catch_up(scribe.store) == 0


def test_a_view_that_is_built_again_takes_what_it_needs_along() -> None:
    scribe = Scribe().introduce()
    text = b"".join(b"line %d\n" % i for i in range(100))
    one = scribe.outside("a", text)
    scribe.note(ReadServed("a", one, ((0, 100),), anchors=True), writer=ANN)
    lost = scribe.write("a", text.replace(b"line 50\n", b"").replace(b"line 9\n", b"line nine\n"))
    scribe.outside("a", text.replace(b"line 50\n", b""))
    scribe.note(WritesAbandoned((lost,), "raced"))
    before = views_of(scribe)
    with scribe.store.writing() as w:
        w.clear("anchors")
        mark(w, "anchors", 99, scribe.seq)
    assert catch_up(scribe.store) == scribe.seq
    assert views_of(scribe) == before


def test_a_fold_does_not_look_at_records_that_come_later() -> None:
    def wrote(folding: bool) -> Scribe:
        scribe = Scribe(folding=folding).introduce()
        one = scribe.outside("a", b"1\n")
        scribe.note(ReadServed("a", one, ((0, 1),)), writer=ANN)
        scribe.write("a", b"2\n", base=one)
        ahead = scribe.seq + 2
        event = FileWritten("a", scribe.hold(b"3\n"), 2, 0o644, one)
        scribe.note(ReadServed("a", ahead, ((0, 1),)), event, writer=ANN)
        return scribe

    afterwards = wrote(folding=False)
    catch_up(afterwards.store)
    assert views_of(wrote(folding=True)) == views_of(afterwards)


def test_a_view_ahead_of_the_log_is_built_again() -> None:
    scribe = Scribe().introduce()
    scribe.write("a", b"1")
    before = views_of(scribe)
    with scribe.store.writing() as w:
        mark(w, "files", 1, 99)
    assert catch_up(scribe.store) == scribe.seq
    assert views_of(scribe) == before


def test_a_view_of_which_no_watermark_is_known_is_built_again() -> None:
    """Another version of Quire, which has no such view, wrote the row meanwhile."""
    scribe = Scribe().introduce()
    scribe.write("a", b"1")
    before = views_of(scribe)
    with scribe.store.writing() as w:
        watermarks.write(w, {name: mark for name, mark in watermarks.read(w).items() if name != "files"})
        w.put("files", b"left over", b"from then")
    assert catch_up(scribe.store) == scribe.seq
    assert views_of(scribe) == before


def test_watermarks_that_make_no_sense_have_everything_folded_again() -> None:
    scribe = Scribe().introduce()
    scribe.write("a", b"1")
    before = views_of(scribe)
    with scribe.store.writing() as w:
        w.put("meta", watermarks.KEY, b"\xc1")
    assert catch_up(scribe.store) == scribe.seq
    assert catch_up(scribe.store) == 0
    assert views_of(scribe) == before


def test_a_record_that_cannot_be_read_stops_the_replay_and_is_named() -> None:
    scribe = Scribe(folding=False).introduce()
    with scribe.store.writing() as w:
        w.put("records", u64(2), b"\xc1")
    with pytest.raises(JournalDamaged, match="record 2"):
        catch_up(scribe.store)


def test_bytes_come_from_where_the_caller_of_the_fold_says() -> None:
    scribe = Scribe().introduce()
    one = scribe.outside("a", b"x\ny\n")
    scribe.note(ReadServed("a", one, ((0, 2),), anchors=True), writer=ANN)
    asked: list[bytes] = []

    def bytes_of(r: ReadTransaction, blob: bytes) -> bytes:
        asked.append(blob)
        return {blob_id(b"x\ny\n"): b"x\ny\n", blob_id(b"x\n"): b"x\n"}[blob]

    scribe.bytes_of = bytes_of
    scribe.write("a", b"x\n")
    assert {*asked} == {blob_id(b"x\ny\n"), blob_id(b"x\n")}
    asked.clear()
    scribe.write("not read with anchors", b"x\n")
    assert not asked


def test_records_folded_in_the_same_transaction_do_not_see_an_abandoned_version() -> None:
    scribe = Scribe().introduce()
    scribe.write("f", b"a\nb\nc\n")
    second = scribe.write("f", b"a\nx\nc\n")
    scribe.note(WritesAbandoned((second,), "failed"))
    scribe.note(ReadServed("f", second, ((1, 3),), anchors=True), writer=ANN)
    scribe.note(WritesAbandoned((second,), "failed"))
    followed = views_of(scribe)
    for chunk in (1, 1000):
        rebuild(scribe.store, chunk)
        assert views_of(scribe) == followed
