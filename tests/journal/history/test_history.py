"""History: questions to the journal, and their answers."""

from __future__ import annotations

import msgspec
import pytest
from scribe import ANN, ANN_KEY, BEN, BEN_KEY, SECOND, Scribe

from quire_journal.history.history import History
from quire_journal.model.events import (
    FileDeleted,
    FileWritten,
    OutsideWritten,
    ReadServed,
    WriterIntroduced,
    WritesAbandoned,
)
from quire_journal.model.ids import blob_id
from quire_journal.model.records import JournalDamaged
from quire_journal.storage.blobs import blobs
from quire_journal.storage.blobs.blobs import NotHeld
from quire_journal.storage.port import u64
from quire_journal.text.text import Text
from quire_journal.views import Shown


def test_an_empty_journal_answers_every_question() -> None:
    with Scribe().history() as history:
        assert history.head() == 0
        assert history.file("a") is None
        assert history.version("a", 1) is None
        assert history.version_at("a", 9) is None
        assert list(history.versions("a")) == list(history.paths()) == list(history.records()) == []
        assert history.shown(ANN_KEY, "a") is None
        assert history.changed_since("a", 0, ANN_KEY) == []
        assert history.record(1) is None
        assert history.record(0) is None
        assert history.batch(1) == []
        assert history.seq_at(SECOND) == 0
        assert history.checkpoint("c") is None
        assert history.edit_checkpoint("a") is None
        assert history.kept_reply(ANN_KEY, "k") is None
        assert history.next_writer_id() == 1


def test_the_version_at_a_point_is_the_one_that_was_the_head_then() -> None:
    scribe = Scribe().introduce()
    one = scribe.outside("a", b"1")
    scribe.outside("b", b"1")
    two = scribe.write("a", b"2")
    with scribe.history() as history:
        at = [history.version_at("a", seq) for seq in range(one - 1, two + 2)]
    assert [None if v is None else v.seq for v in at] == [None, one, one, two, two]


def test_versions_are_cut_to_a_range_and_come_in_both_directions() -> None:
    scribe = Scribe()
    seqs = [scribe.outside(path, bytes([i])) for i in range(4) for path in ("a", "b")][::2]
    with scribe.history() as history:
        assert [v.seq for v in history.versions("a")] == seqs
        assert [v.seq for v in history.versions("a", reverse=True)] == seqs[::-1]
        assert [v.seq for v in history.versions("a", after=seqs[0], upto=seqs[2])] == seqs[1:3]
        assert [v.seq for v in history.versions("a", upto=0)] == []


def test_paths_are_listed_by_prefix_in_the_order_of_their_first_record() -> None:
    scribe = Scribe()
    for path in ("src/b", "doc/x", "src/a"):
        scribe.outside(path, b"1")
    with scribe.history() as history:
        assert [path for path, _ in history.paths()] == ["src/b", "doc/x", "src/a"]


def test_paths_are_listed_that_may_have_been_another_at_a_record() -> None:
    scribe = Scribe().introduce()
    scribe.outside("a", b"1")
    scribe.outside("b", b"1")
    then = scribe.outside("c", b"1")
    scribe.note(ReadServed("never written", 0, ()), writer=ANN)
    scribe.write("b", b"2")
    scribe.note(FileDeleted("c", then), writer=ANN)
    scribe.note(WritesAbandoned((scribe.write("a", b"2"),), "it lost a race"))
    scribe.outside("d", b"1")
    with scribe.history() as history:
        assert list(history.changed_after(then)) == ["b", "c", "d"]
        assert list(history.changed_after(0)) == ["a", "b", "c", "d"]
        assert list(history.changed_after(history.head())) == []


def test_to_list_all_paths_holds_none_of_their_versions() -> None:
    """Of a hundred thousand files they would take 66 MB."""
    scribe = Scribe().introduce()
    for path in ("a", "b", "c"):
        scribe.write(path, b"x")
    with scribe.store.reading() as r:
        assert len(list(History(r).paths())) == 3
        assert r.known == {}


def test_bytes_are_given_or_said_to_be_missing() -> None:
    scribe = Scribe()
    blob = scribe.hold(b"x\n")
    with scribe.history() as history:
        assert history.bytes_of(blob) == b"x\n"
        assert history.text_of(blob) == Text.of(b"x\n")
        assert history.holds(blob)
        assert not history.holds(blob_id(b"other"))
        with pytest.raises(NotHeld):
            history.bytes_of(blob_id(b"other"))


def test_the_bytes_of_many_blobs_come_in_the_order_that_was_asked_for() -> None:
    scribe = Scribe()
    said = [b"".join(b"line %d of %d\n" % (n, n // (1 + v % 7)) for n in range(40)) for v in range(60)]
    with scribe.store.writing() as w:
        held: list[bytes] = [blobs.put(w, said[0])]
        for data in said[1:]:
            held.append(blobs.put(w, data, before=lambda: held[-1]))
    order = [*range(60), *range(59, -1, -13), 5, 5]
    with scribe.history() as history:
        assert list(history.bytes_in_turn(held[i] for i in order)) == [said[i] for i in order]
        with pytest.raises(NotHeld):
            list(history.bytes_in_turn([held[0], blob_id(b"other")]))


def test_texts_come_from_the_cache_that_was_passed() -> None:
    cached = Text.of(b"cached")
    with Scribe().store.reading() as reading:
        assert History(reading, lambda blob: cached).text_of(b"") is cached


def test_a_read_that_is_not_committed_is_what_the_caller_was_last_shown() -> None:
    scribe = Scribe().introduce()
    one = scribe.outside("a", b"1\n")
    two = scribe.outside("a", b"2\n")
    committed = scribe.note(ReadServed("a", one, ((0, 1),)), writer=ANN) * SECOND
    recent = Shown(two, ((0, 1),), committed + 1)
    with scribe.store.reading() as reading:
        history = History(reading, recent={(ANN_KEY, "a"): recent, (BEN_KEY, "unseen"): recent})
        assert history.shown(ANN_KEY, "a") == msgspec.structs.replace(recent, first=one)
        assert history.shown(BEN_KEY, "unseen") == recent
        assert history.shown(BEN_KEY, "a") is None
        late = History(reading, recent={(ANN_KEY, "a"): Shown(two, (), committed - 1)}).shown(ANN_KEY, "a")
        assert late is not None
        assert late.version == one


def test_what_changed_since_a_version_leaves_out_the_asker_whatever_its_turn() -> None:
    scribe = Scribe().introduce()
    one = scribe.outside("a", b"1")
    mine = scribe.write("a", b"2", ANN)
    bens = scribe.write("a", b"3", BEN)
    outside = scribe.outside("a", b"4")
    with scribe.history() as history:
        assert [v.seq for v in history.changed_since("a", one, ANN_KEY)] == [bens, outside]
        assert [v.seq for v in history.changed_since("a", one, BEN_KEY)] == [mine, outside]
        assert [v.seq for v in history.changed_since("a", one, b"")] == [mine, bens, outside]


def test_a_writer_is_shown_with_what_is_known_of_it() -> None:
    with Scribe().introduce().history() as history:
        assert history.writer_json(1, "edit") == {
            "id": "w1",
            "type": "edit",
            "agent": "ann",
            "agent_session": "s1",
            "turn": "t1",
            "tool_call": "",
            "model": "",
            "uid": 1000,
            "pid": 11,
        }
        outside = history.writer_json(0)
        assert (outside["id"], outside["type"], outside["uid"], outside["pid"]) == ("outside", "outside", None, None)
        assert history.writer_json(99)["id"] == "w99"
        assert (history.named(1), history.named(0)) == ("ann/s1", "outside")
    scribe = Scribe()
    scribe.note(WriterIntroduced(1, uid=1000, pid=11))
    with scribe.history() as history:
        assert history.named(1) == "the user"  # of a refusal: a number alone tells nobody who that is


def test_the_records_of_a_batch_are_those_of_its_request() -> None:
    scribe = Scribe().introduce()
    one = scribe.outside("a", b"1")
    batch = scribe.note(FileWritten("a", bytes(32), 1, 0o644), ReadServed("a", one + 1, ((0, 1),)), writer=ANN)
    scribe.outside("a", b"3")
    with scribe.history() as history:
        assert [record.seq for record in history.batch(batch)] == [batch, batch + 1]
        assert [record.kind for record in history.batch(one)] == ["outside_written"]


def test_a_time_is_found_by_the_record_that_was_newest_then() -> None:
    scribe = Scribe()
    for _ in range(20):
        scribe.note(OutsideWritten("a", bytes(32), 1, 0o644, "watched"))
    with scribe.history() as history:
        assert [history.seq_at(at * SECOND) for at in range(23)] == [*range(21), 20, 20]
        assert history.seq_at(7 * SECOND + 1) == 7
        assert history.seq_at(7 * SECOND - 1) == 6


def test_records_are_read_in_ranges_and_a_damaged_one_is_named() -> None:
    scribe = Scribe().introduce()
    scribe.outside("a", b"1")
    with scribe.history() as history:
        assert [record.seq for record in history.records(after=1, upto=2)] == [2]
        assert [record.seq for record in history.records(reverse=True)] == [3, 2, 1]
    with scribe.store.writing() as w:
        w.put("records", u64(2), b"nonsense")
    with scribe.store.reading() as reading, pytest.raises(JournalDamaged, match="record 2"):
        History(reading).record(2)


def test_the_version_at_a_point_is_the_last_before_it_and_none_before_the_first() -> None:
    scribe = Scribe().introduce()
    first = scribe.write("a", b"1")
    second = scribe.write("a", b"2")
    scribe.write("b", b"3")
    with scribe.history() as history:
        at = {seq: version.seq if (version := history.version_at("a", seq)) else None for seq in range(second + 2)}
        assert at == {seq: None if seq < first else min(seq, second) for seq in range(second + 2)}
        assert history.version_at("c", second) is None
