"""The contents view: it finds every version with given bytes, at whatever path."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from scribe import Scribe

from quire_journal.model.events import LINK, FileMoved, OutsideWritten, WorkspaceScanned, WritesAbandoned
from quire_journal.model.ids import blob_id
from quire_journal.model.records import JournalDamaged
from quire_journal.storage.port import u32
from quire_journal.views.replay import rebuild

WORDS = [b"a\n", b"b\n", b"c\n"]


def found(scribe: Scribe, wanted: set[bytes], before: int) -> list[tuple[str, int]]:
    """(path, version) of what has one of these bytes, in the view's order."""
    with scribe.history() as history:
        return [(path, version.seq) for path, version in history.with_bytes(wanted, before)]


@given(
    written=st.lists(st.tuples(st.sampled_from("fgh"), st.sampled_from(WORDS)), min_size=1, max_size=40),
    between=st.integers(0, 300),
    data=st.data(),
)
def test_it_names_exactly_the_versions_with_these_bytes_the_newest_first(
    written: list[tuple[str, bytes]], between: int, data: st.DataObject
) -> None:
    scribe = Scribe().introduce()
    for _ in range(between):  # so that the versions lie in several rows
        scribe.note(WorkspaceScanned("asked", 1, 0))
    made = [(path, scribe.write(path, word), word) for path, word in written]
    wanted = data.draw(st.sets(st.sampled_from([*WORDS, b"never\n"]), min_size=1))
    before = data.draw(st.integers(0, scribe.seq + 1))
    expected = [(path, seq) for path, seq, word in made if word in wanted and seq < before][::-1]
    assert found(scribe, {blob_id(word) for word in wanted}, before) == expected


def test_many_bytes_are_found_as_few_are() -> None:
    scribe = Scribe().introduce()
    made = [("f", scribe.write("f", b"%d\n" % n)) for n in range(30)]
    assert found(scribe, {blob_id(b"%d\n" % n) for n in range(30)}, scribe.seq + 1) == made[::-1]


def test_a_file_that_moved_stands_at_its_new_path_and_an_abandoned_write_nowhere() -> None:
    scribe = Scribe().introduce()
    first = scribe.write("f", b"a\n")
    moved = scribe.note(FileMoved("f", "g", blob_id(b"a\n"), 2, 0o644, first), writer=1)
    lost = scribe.write("h", b"a\n")
    scribe.note(WritesAbandoned((lost,), "race"))
    assert found(scribe, {blob_id(b"a\n")}, scribe.seq + 1) == [("g", moved), ("f", first)]


def test_links_and_empty_files_are_not_looked_for() -> None:
    scribe = Scribe().introduce()
    scribe.note(OutsideWritten("l", scribe.hold(b"a\n"), 2, 0o777, "watched", entry=LINK))
    scribe.write("e", b"")
    assert found(scribe, {blob_id(b"a\n"), blob_id(b"")}, scribe.seq + 1) == []


def test_a_row_that_makes_no_sense_is_damage() -> None:
    scribe = Scribe().introduce()
    scribe.write("f", b"a\n")
    with scribe.store.writing() as w:
        w.put("contents", u32(0), b"\x05" + blob_id(b"a\n"))
    with pytest.raises(JournalDamaged, match="quire verify"):
        found(scribe, {blob_id(b"a\n")}, scribe.seq + 1)


@pytest.mark.parametrize("size", [1, 1000])
def test_the_rows_are_the_same_however_they_are_folded(size: int) -> None:
    scribe = Scribe().introduce()
    for n in range(600):
        scribe.write("f", b"%d\n" % (n % 7))
    with scribe.store.reading() as r:
        before = list(r.scan("contents"))
    rebuild(scribe.store, size)
    with scribe.store.reading() as r:
        assert list(r.scan("contents")) == before
