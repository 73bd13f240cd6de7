"""Blame: each line's version is the one that a plain replay of the very splices names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest
from hypothesis import given, strategies as st
from scribe import Scribe

from quire_journal.history.history import History
from quire_journal.history.line_blame import Blame, blame
from quire_journal.history.line_past import Gap
from quire_journal.model.events import (
    FOLDER,
    LINK,
    BytesDisplaced,
    CaptureFailed,
    FileDeleted,
    FileMoved,
    FileWritten,
    ModeChanged,
    OutsideDeleted,
    OutsideMoved,
    OutsideWritten,
    WritesAbandoned,
)
from quire_journal.model.ids import blob_id
from quire_journal.model.records import JournalDamaged
from quire_journal.storage.blobs import blobs
from quire_journal.storage.blobs.blobs import NotHeld
from quire_journal.text.text import BOM, Text


def blamed(scribe: Scribe, path: str, at: int | None = None, most_bytes: int = 1 << 30) -> Blame:
    """Blame of `path` as it is, or as it was after record `at`."""
    with scribe.history() as history:
        version = history.file(path) if at is None else history.version_at(path, at)
        assert version is not None
        return blame(history, path, version, most_bytes)


def seqs(scribe: Scribe, path: str, at: int | None = None) -> list[int]:
    """The record that wrote each line."""
    return [origin.version.seq for origin in blamed(scribe, path, at).origins]


def move(scribe: Scribe, path: str, to: str, data: bytes, outside: bool = False) -> int:
    """A tool, or somebody else, renames; the bytes are then `data`."""
    blob = scribe.hold(data)
    if outside:
        return scribe.note(OutsideMoved(path, to, blob, len(data), 0o644, "watched"))
    return scribe.note(FileMoved(path, to, blob, len(data), 0o644, scribe.seq), writer=1)


# ── lines ────────────────────────────────────────────────────────────────────


def test_each_line_is_of_the_version_that_brought_it() -> None:
    scribe = Scribe().introduce()
    first = scribe.outside("f", b"a\nb\nc\nd\n")
    changed = scribe.write("f", b"a\nB\nc\nd\n", writer=1)
    added = scribe.write("f", b"0\na\nB\nc\nd\ne\n", writer=2)
    removed = scribe.write("f", b"0\na\nB\nd\ne\n", writer=1)
    assert seqs(scribe, "f") == [added, first, changed, first, added]
    assert [o.version.writer for o in blamed(scribe, "f").origins] == [2, 0, 1, 0, 2]
    assert removed not in seqs(scribe, "f")


def test_a_point_in_the_past_is_blamed_as_it_was() -> None:
    scribe = Scribe().introduce()
    first = scribe.outside("f", b"a\nb\n")
    second = scribe.write("f", b"a\nB\n")
    scribe.write("f", b"x\n")
    assert seqs(scribe, "f", at=first) == [first, first]
    assert seqs(scribe, "f", at=second) == [first, second]


def test_lines_that_moved_within_a_file_are_new_where_they_stand() -> None:
    scribe = Scribe().introduce()
    first = scribe.outside("f", b"a\nb\nc\nd\ne\n")
    second = scribe.write("f", b"b\nc\nd\ne\na\n")
    assert seqs(scribe, "f") == [first, first, first, first, second]


def test_of_equal_lines_those_at_the_end_of_the_run_are_the_new_ones() -> None:
    scribe = Scribe().introduce()
    first = scribe.outside("f", b"a\n}\n}\n")
    second = scribe.write("f", b"a\n}\n}\n}\n")
    assert seqs(scribe, "f") == [first, first, first, second]


def test_several_places_changed_at_once_are_told_apart() -> None:
    scribe = Scribe().introduce()
    first = scribe.outside("f", b"".join(b"%d\n" % n for n in range(12)))
    second = scribe.write("f", b"0\nx\n1\n2\n4\n5\ny\n7\n8\n9\nz\nz\n11\n")
    assert seqs(scribe, "f") == [second if c in "xyz" else first for c in "0x1245y789zz#"]


def test_who_changes_the_breaks_wrote_the_lines() -> None:
    scribe = Scribe().introduce()
    first = scribe.outside("f", b"a\nb\nc\n")
    second = scribe.write("f", b"a\nb\r\nc\n")
    assert seqs(scribe, "f") == [first, second, first]
    third = scribe.write("f", b"a\rb\rc\r")
    fourth = scribe.write("f", b"a\rB\rc\rd\r")
    assert seqs(scribe, "f") == [third, fourth, third, fourth]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_who_appends_behind_an_unfinished_line_did_not_write_that_one(ending: bytes) -> None:
    scribe = Scribe().introduce()
    first = scribe.outside("f", b"a" + ending + b"b")
    second = scribe.write("f", b"a" + ending + b"b" + ending + b"c")
    third = scribe.write("f", b"a" + ending + b"b" + ending + b"c" + ending)
    assert seqs(scribe, "f") == [first, first, second]
    assert third not in seqs(scribe, "f")
    scribe.write("f", b"c")
    assert seqs(scribe, "f") == [second]


def test_a_byte_order_mark_comes_and_goes_without_a_trace() -> None:
    scribe = Scribe().introduce()
    first = scribe.outside("f", b"a\nb\n")
    scribe.write("f", BOM + b"a\nb\n")
    third = scribe.write("f", b"a\nB\n")
    assert seqs(scribe, "f") == [first, third]


def test_an_empty_file_has_nobody_to_blame() -> None:
    scribe = Scribe().introduce()
    scribe.outside("f", b"a\n")
    scribe.write("f", b"")
    assert seqs(scribe, "f") == []
    again = scribe.write("f", b"a\n")
    assert seqs(scribe, "f") == [again]


def test_a_change_of_mode_and_the_same_bytes_again_change_no_line() -> None:
    scribe = Scribe().introduce()
    first = scribe.outside("f", b"a\n")
    scribe.note(ModeChanged("f", blob_id(b"a\n"), 2, 0o755, first), writer=1)
    scribe.write("f", b"a\n")
    assert seqs(scribe, "f") == [first]


def test_the_lines_of_binary_bytes_in_between_are_replayed_as_any_others() -> None:
    scribe = Scribe().introduce()
    first = scribe.outside("f", b"a\nb\n")
    scribe.outside("f", b"a\n\0\xff\n")
    third = scribe.write("f", b"a\nb\n")
    assert seqs(scribe, "f") == [first, third]


# ── what happens to files ────────────────────────────────────────────────────


@pytest.mark.parametrize("outside", [False, True])
def test_renames_are_followed(outside: bool) -> None:
    scribe = Scribe().introduce()
    first = scribe.outside("f", b"a\nb\n")
    move(scribe, "f", "g", b"a\nb\n", outside)
    third = scribe.write("g", b"a\nB\n")
    moved = move(scribe, "g", "dir/h", b"a\nB\nc\n", outside)
    assert seqs(scribe, "dir/h") == [first, third, moved]
    assert blamed(scribe, "dir/h").names == ("f", "g", "dir/h")
    assert seqs(scribe, "g", at=third) == [first, third]


def test_a_file_that_returns_to_its_path_is_followed_and_another_one_there_is_not() -> None:
    scribe = Scribe().introduce()
    first = scribe.outside("f", b"a\nb\n")
    move(scribe, "f", "g", b"a\nb\n")
    scribe.write("f", b"a\nb\nother\n")
    scribe.note(FileDeleted("f", scribe.seq), writer=1)
    back = move(scribe, "g", "f", b"a\nb\nother\n")
    assert seqs(scribe, "f") == [first, first, back]
    assert blamed(scribe, "f").names == ("g", "f")


@pytest.mark.parametrize("outside", [False, True])
def test_a_file_that_was_gone_and_is_written_again_begins_anew(outside: bool) -> None:
    scribe = Scribe().introduce()
    first = scribe.outside("f", b"a\nb\n")
    if outside:
        scribe.note(OutsideDeleted("f", "watched"))
    else:
        scribe.note(FileDeleted("f", first), writer=1)
    again = scribe.write("f", b"a\nb\n")
    later = scribe.write("f", b"a\nb\nc\n")
    assert seqs(scribe, "f") == [again, again, later]
    assert blamed(scribe, "f").gap is None


@pytest.mark.parametrize("entry", [LINK, FOLDER])
def test_a_file_that_was_something_else_begins_anew(entry: int) -> None:
    scribe = Scribe().introduce()
    scribe.outside("f", b"a\n")
    scribe.note(OutsideWritten("f", scribe.hold(b"a\n"), 2, 0o777, "watched", entry=entry))
    again = scribe.write("f", b"a\n")
    assert seqs(scribe, "f") == [again]


def test_writes_that_were_abandoned_and_bytes_that_were_displaced_wrote_nothing() -> None:
    scribe = Scribe().introduce()
    first = scribe.outside("f", b"a\n")
    lost = scribe.write("f", b"a\nlost\n")
    scribe.note(WritesAbandoned((lost,), "race"))
    scribe.note(BytesDisplaced("f", scribe.hold(b"a\nlost\nlate\n"), 12, "late"))
    last = scribe.write("f", b"a\nlost\nlate\n")
    assert seqs(scribe, "f") == [first, last, last]


# ── what is not known ────────────────────────────────────────────────────────


def test_beyond_a_version_that_was_not_captured_nothing_is_known_and_that_is_said() -> None:
    scribe = Scribe().introduce()
    scribe.outside("f", b"a\nb\n")
    failed = scribe.note(CaptureFailed("f", "too_large", 1 << 40))
    after = scribe.outside("f", b"a\nb\nc\n")
    last = scribe.write("f", b"a\nB\nc\n")
    assert seqs(scribe, "f") == [after, last, after]
    assert blamed(scribe, "f").gap == Gap(failed, "too_large", after)


def test_beyond_bytes_that_are_not_held_nothing_is_known() -> None:
    scribe = Scribe().introduce()
    lost = scribe.note(FileWritten("f", blob_id(b"gone"), 4, 0o644))
    after = move(scribe, "f", "g", b"a\n")
    assert blamed(scribe, "g").gap == Gap(lost, "not_held", after)
    assert blamed(scribe, "g").names == ("g",)


def test_a_version_without_bytes_cannot_be_blamed() -> None:
    scribe = Scribe().introduce()
    scribe.hold(b"TOKEN=1\n")
    scribe.note(CaptureFailed("f", "secret", 8, blob_id(b"TOKEN=1\n")))
    scribe.note(FileWritten("g", blob_id(b"gone"), 4, 0o644))
    for path in ("f", "g"):
        with pytest.raises(NotHeld):
            blamed(scribe, path)


def test_so_much_past_is_gone_through_and_no_more() -> None:
    scribe = Scribe().introduce()
    old, middle, last = (scribe.write("f", b"a\nb\n" + b"c%d\n" % n) for n in range(3))
    assert blamed(scribe, "f", most_bytes=14).gap == Gap(old, "too_long", middle)
    assert [o.version.seq for o in blamed(scribe, "f", most_bytes=14).origins] == [middle, middle, last]
    assert blamed(scribe, "f", most_bytes=0).gap == Gap(middle, "too_long", last)
    assert blamed(scribe, "f", most_bytes=21).gap is None


def test_versions_that_do_not_lead_to_the_one_asked_about_are_damage() -> None:
    scribe = Scribe().introduce()
    scribe.outside("f", b"a\n")
    with scribe.store.reading() as reading:
        history = History(reading, text_of=lambda blob: Text.of(b"other\n"))
        version = history.file("f")
        assert version is not None
        with pytest.raises(JournalDamaged, match="quire verify"):
            blame(history, "f", version)


# ── the model ────────────────────────────────────────────────────────────────

BREAKS = (b"\n", b"\n", b"\r\n", b"\r")
EDITS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.floats(0, 1), st.integers(0, 6), st.integers(0, 4)), min_size=1, max_size=3),
        st.integers(1, 8),  # writer
        st.sampled_from(["edit", "edit", "edit", "outside", "move", "edit and move"]),
        st.booleans(),  # has the last line a break?
        st.booleans(),  # byte order mark?
        st.integers(0, 3),  # the break of new lines
    ),
    min_size=1,
    max_size=30,
)
Edit = tuple[Sequence[tuple[float, int, int]], int, str, bool, bool, int]


class Model:
    """Lines, each with the record that wrote it; and whether a break is missing at the end."""

    def __init__(self) -> None:
        self.lines: list[tuple[bytes, bytes, int]] = []
        self.made = 0

    def splice(self, where: float, removed: int, added: int, ending: bytes, seq: int) -> None:
        """Replace some lines by others, which are like no line that there was."""
        at = round(where * len(self.lines))
        fresh = [(b"line %d" % (self.made + n), ending, seq) for n in range(added)]
        self.made += added
        self.lines[at : at + removed] = fresh

    def data(self, final_break: bool, bom: bool) -> bytes:
        """The bytes of the file."""
        whole = b"".join(line + ending for line, ending, _ in self.lines)
        if self.lines and not final_break:
            whole = whole[: -len(self.lines[-1][1])]
        return BOM + whole if bom else whole


@given(EDITS)
def test_blame_is_what_a_plain_replay_of_the_splices_says(edits: Sequence[Edit]) -> None:
    scribe, model, path, blob = Scribe().introduce(), Model(), "f0", b""
    cache = blobs.BlobCache(1 << 20)
    uniform = len({ending for *_, ending in edits}) == 1  # else the break of an unfinished last line is a guess
    for number, (splices, writer, how, final_break, bom, ending) in enumerate(edits):
        seq = scribe.seq + 1
        if how != "move" or number == 0:
            for where, removed, added in splices:
                model.splice(where, removed, added, BREAKS[ending], seq)
        data = model.data(final_break or not uniform, bom)
        with scribe.store.writing() as w:
            blob = blobs.put(w, data, cache, before=partial(bytes, blob))  # as a delta, as the daemon does
        if "move" in how and number:
            to = f"f{number}"
            scribe.note(FileMoved(path, to, blob, len(data), 0o644, seq - 1), writer=writer)
            path = to
        elif how == "outside":
            scribe.note(OutsideWritten(path, blob, len(data), 0o644, "watched"))
        else:
            scribe.note(FileWritten(path, blob, len(data), 0o644, seq - 1), writer=writer)
    found = blamed(scribe, path)
    assert [origin.version.seq for origin in found.origins] == [seq for *_, seq in model.lines]
    assert list(found.text.lines) == [line for line, *_ in model.lines]
