"""The view of anchors: which version a line was last seen in, and what removed it."""

from __future__ import annotations

import hashlib

from hypothesis import given, strategies as st
from scribe import ANN, BEN, Scribe

from quire_journal.model.events import (
    CaptureFailed,
    FileMoved,
    OutsideDeleted,
    ReadServed,
    WritesAbandoned,
)
from quire_journal.text.line_hash import hash8
from quire_journal.text.text import BOM, Text
from quire_journal.views import anchors


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
        assert anchors.newest(r, 1) is None
        assert list(anchors.rows(r, 1)) == []


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
def test_removed_and_added_lines_turn_the_old_lines_into_the_new_ones(
    old: bytes, new: bytes, around: bytes, times: int
) -> None:
    start, end = (around + b"\n") * times, (b"\n" + around) * times
    old, new = start + old + end, start + new + end
    lines = anchors.compare(old, new)
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
    back = anchors.compare(new, old)
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
    assert rows[three] == anchors.compare(new, old, two)
    assert rows[four] == anchors.compare(old, later, three)


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
