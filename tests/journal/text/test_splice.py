"""Splices: what no splice names keeps its bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from quire_journal.model.ids import blob_id
from quire_journal.text.splice import Splice, apply, carry_ranges, clash, moved_ranges, shift_lines, trim
from quire_journal.text.text import BOM, HASHED_STEP, Text

CONTENT = st.sampled_from([b"", b"a", b"b", b"\x0c", b"\xff\xfe", "ä".encode()])
BREAK = st.sampled_from([b"\n", b"\r\n", b"\r"])


@st.composite
def texts(draw: st.DrawFn, endings: st.SearchStrategy[bytes] = BREAK) -> Text:
    """Files with any mixture of breaks, with and without a final one, with and without BOM."""
    lines = draw(st.lists(st.tuples(CONTENT, endings), max_size=9))
    data = b"".join(content + ending for content, ending in lines)
    return Text.of(draw(st.sampled_from([b"", BOM])) + data + draw(st.sampled_from([b"", b"end"])))


@st.composite
def plans(draw: st.DrawFn, base: Text) -> list[Splice]:
    """Sorted splices that do not overlap."""
    ends = sorted(draw(st.lists(st.integers(0, len(base)), max_size=6)))
    pairs = list(zip(ends[::2], ends[1::2], strict=False))
    return [Splice(a, b, tuple(draw(st.lists(CONTENT, max_size=3)))) for a, b in pairs]


@given(st.data())
def test_lines_outside_the_splices_keep_every_byte(data: st.DataObject) -> None:
    base = data.draw(texts(st.sampled_from([b"\n", b"\r\n"])))
    splices = data.draw(plans(base))
    result = apply(base, splices)
    assert result.bom == base.bom
    at = moved = 0
    for s in [*splices, Splice(len(base), len(base))]:
        for line in range(at, s.start):
            assert result.lines[line + moved] == base.lines[line]
            if line + 1 < len(base) and line + moved + 1 < len(result):
                assert result.breaks[line + moved] == base.breaks[line]
        assert tuple(result.lines[s.start + moved : s.start + moved + len(s.lines)]) == s.lines
        at, moved = s.stop, moved + s.shift


@given(st.data())
def test_the_result_is_what_its_bytes_say(data: st.DataObject) -> None:
    base = data.draw(texts())
    result = apply(base, data.draw(plans(base)))
    again = Text.of(result.data)
    assert (list(again.lines), list(again.breaks), again.bom) == (list(result.lines), list(result.breaks), result.bom)


@given(st.data())
def test_an_edited_text_knows_its_bytes_as_if_it_had_been_read(data: st.DataObject) -> None:
    base = data.draw(texts(st.just(b"\n")))
    for _ in range(2):  # the second edit begins to count where the first one was
        base = apply(base, data.draw(plans(base)))
        assert base.data == b"".join([BOM * base.bom, *(a + b for a, b in zip(base.lines, base.breaks, strict=True))])
        again = Text.of(base.data)
        assert (again.lines, again.breaks, again.bom) == (base.lines, base.breaks, base.bom)


@given(st.data())
def test_a_missing_final_break_is_kept_and_so_is_one_that_is_there(data: st.DataObject) -> None:
    base = data.draw(texts())
    result = apply(base, data.draw(plans(base)))
    assume(len(result))
    if len(base):
        assert result.final_break == base.final_break or result.data.endswith(b"\r\n")
    else:
        assert result.final_break


def test_nothing_to_do_gives_the_same_bytes() -> None:
    base = Text.of(BOM + b"a\r\nb\rc\nd\xff")
    assert apply(base, []).data == base.data


@pytest.mark.parametrize(
    ("data", "splice", "wanted"),
    [
        (b"a\r\nb\nc\r\n", Splice(1, 2, (b"B",)), b"a\r\nB\nc\r\n"),  # of the line it replaces
        (b"a\r\nb\n", Splice(0, 1, (b"x", b"y")), b"x\r\ny\r\nb\n"),  # beyond those: of the one before
        (b"a\r\nb\n", Splice(1, 1, (b"x",)), b"a\r\nx\r\nb\n"),  # inserted: of the one before
        (b"a\r\nb\n", Splice(0, 0, (b"x",)), b"x\r\na\r\nb\n"),  # at the top: of the one after
        (b"", Splice(0, 0, (b"x",)), b"x\n"),  # in an empty file: LF
        (BOM, Splice(0, 0, (b"x",)), BOM + b"x\n"),
        (b"a", Splice(1, 1, (b"x",)), b"a\nx"),
        (b"a\r\nb", Splice(2, 2, (b"x",)), b"a\r\nb\r\nx"),
        (b"a\nb", Splice(1, 2), b"a"),
        (b"a\nb\n", Splice(0, 2), b""),
    ],
)
def test_a_new_line_takes_its_break_from_its_place(data: bytes, splice: Splice, wanted: bytes) -> None:
    assert apply(Text.of(data), [splice]).data == wanted


@pytest.mark.parametrize(
    ("data", "splice", "wanted"),
    [
        (b"a\rb\nc\n", Splice(1, 2, (b"",)), b"a\r\rc\n"),  # a new blank line behind it: with its break
        (b"a\rb\r\nc\n", Splice(1, 2, (b"",)), b"a\r\r\nc\n"),  # which has none that could melt into it
        (b"a\rb\n", Splice(1, 2, (b"",)), b"a\r\r"),
        (b"a\rb\n\nc\n", Splice(0, 2, (b"x",)), b"x\n\nc\n"),  # a new line before an old blank one: with that's
        (b"a\rb\n\nc\n", Splice(1, 2), b"a\r\nc\n"),  # both are old
    ],
)
def test_a_line_behind_a_lone_cr_does_not_melt_into_it_unless_both_are_old(
    data: bytes, splice: Splice, wanted: bytes
) -> None:
    for before in ([], [Splice(0, 1, (b"p", b"q", b"r"))], [Splice(0, 2)]):  # wherever it stands by then
        lead = Text.of(b"0\n1\n")
        moved = Splice(splice.start + 2, splice.stop + 2, splice.lines)
        result = apply(Text.of(lead.data + data), [*before, moved, Splice(4, 4)])
        assert result.data == apply(lead, before).data + wanted
        assert list(result.lines) == list(Text.of(result.data).lines)


@pytest.mark.parametrize("rest", [b"b\n", b"b", b"b\r\n"])
def test_a_byte_order_mark_in_a_new_first_line_becomes_that_of_the_file_once(
    rest: bytes,
) -> None:
    first, other = Splice(0, 1, (BOM + b"x",)), Splice(1, 2, (BOM + b"x",))
    bare, marked = apply(Text.of(b"a\n" + rest), [first]), apply(Text.of(BOM + b"a\n" + rest), [first])
    assert (bare.bom, bare.lines[0], bare.data) == (True, b"x", BOM + b"x\n" + rest)
    assert (marked.bom, marked.lines[0], marked.data) == (True, BOM + b"x", BOM + BOM + b"x\n" + rest)
    assert not apply(Text.of(b"a\n" + rest), [other]).bom


def test_a_final_break_can_be_asked_for() -> None:
    assert apply(Text.of(b"a"), [], final_break=True).data == b"a\n"
    assert apply(Text.of(b"a\r\nb"), [], final_break=True).data == b"a\r\nb\r\n"
    assert apply(Text.of(b"a\r\n"), [], final_break=False).data == b"a"


def test_stated_breaks_are_used() -> None:
    assert apply(Text.of(b"a\nb\n"), [Splice(0, 1, (b"x",), (b"\r\n",))]).data == b"x\r\nb\n"


@pytest.mark.parametrize("splices", [[Splice(1, 2), Splice(0, 1)], [Splice(0, 2), Splice(1, 2)], [Splice(0, 9)]])
def test_splices_that_overlap_or_leave_the_text_are_a_mistake(splices: list[Splice]) -> None:
    with pytest.raises(ValueError, match="overlaps"):
        apply(Text.of(b"a\nb\n"), splices)


def test_trimming_leaves_only_what_changes() -> None:
    base = Text.of(b"a\nb\nc\n")
    assert trim(base, [Splice(0, 3, (b"a", b"X", b"c"))]) == (Splice(1, 2, (b"X",)),)
    assert trim(base, [Splice(1, 2, (b"b",)), Splice(3, 3, (b"d",))]) == (Splice(3, 3, (b"d",)),)
    assert trim(base, [Splice(0, 3, (b"X", b"b", b"c"))]) == (Splice(0, 1, (b"X",)),)
    assert trim(base, [Splice(0, 2, (b"b", b"b"))]) == (Splice(0, 1, (b"b",)),)


def test_a_line_whose_break_changes_is_not_trimmed() -> None:
    crlf = Splice(0, 3, (b"a", b"b", b"c"), (b"\n", b"\r\n", b"\n"))
    assert trim(Text.of(b"a\nb\nc\n"), [crlf]) == (Splice(1, 2, (b"b",), (b"\r\n",)),)
    unfinished = Text.of(b"x\na\nb")  # its last line would get a break, unless the file is to have none
    assert trim(unfinished, [Splice(1, 3, (b"a", b"b"))]) == (Splice(2, 3, (b"b",)),)
    assert trim(unfinished, [Splice(1, 3, (b"a", b"b"), (b"\n", b""))]) == ()


def test_splices_that_only_touch_do_not_clash() -> None:
    one = Splice(2, 4, (b"x",))
    assert not any(clash(one, other) or clash(other, one) for other in (Splice(0, 2), Splice(4, 5), Splice(2, 2)))
    assert all(clash(one, other) and clash(other, one) for other in (Splice(0, 3), Splice(3, 5), Splice(3, 3)))


def test_the_parts_of_a_range_that_survive_are_told_without_empty_ones() -> None:
    splices = [Splice(0, 1, (b"p", b"q")), Splice(3, 4), Splice(5, 5, (b"r",)), Splice(6, 8, (b"s", b"t"))]
    assert carry_ranges(splices, [(0, 9)]) == [(2, 4), (4, 5), (6, 7), (9, 10)]
    assert moved_ranges(splices, [(0, 9)]) == [(2, 4), (6, 7), (9, 10)]
    assert carry_ranges(splices, [(0, 1), (6, 8)]) == []


@given(st.data())
def test_trimming_does_not_change_the_result(data: st.DataObject) -> None:
    base = data.draw(texts(st.just(b"\n")))
    splices = data.draw(plans(base))
    assert apply(base, trim(base, splices)).data == apply(base, splices).data


def test_a_line_is_followed_through_splices() -> None:
    splices = [Splice(1, 1, (b"x", b"y")), Splice(2, 4, (b"z",)), Splice(5, 5, (b"w",))]
    assert shift_lines(splices, [0, None, *range(1, 6)]) == [0, None, 3, None, None, 5, 7]


@given(st.data())
def test_carried_ranges_hold_the_lines_that_survive(data: st.DataObject) -> None:
    base = data.draw(texts())
    splices = data.draw(plans(base))
    start = data.draw(st.integers(0, len(base)))
    stop = data.draw(st.integers(start, len(base)))
    carried = {line for a, b in carry_ranges(splices, [(start, stop)]) for line in range(a, b)}
    assert carried == {*shift_lines(splices, range(start, stop))} - {None}
    moved = {line for a, b in moved_ranges(splices, [(start, stop)]) for line in range(a, b)}
    there = zip(range(start, stop), shift_lines(splices, range(start, stop)), strict=True)
    assert moved == {now for line, now in there if now != line} - {None}, "those that have another number"


@given(st.data())
def test_several_ranges_are_carried_as_each_of_them_is(data: st.DataObject) -> None:
    base = data.draw(texts())
    splices = data.draw(plans(base))
    ends = sorted(data.draw(st.lists(st.integers(0, len(base)), max_size=8)))
    ranges = data.draw(st.permutations(list(zip(ends[::2], ends[1::2], strict=False))))
    for carry in (carry_ranges, moved_ranges):
        assert carry(splices, ranges) == [to for one in sorted(ranges) for to in carry(splices, [one])]


class Counted(list[Splice]):
    """Splices that count how often one of them is looked at."""

    looks = 0

    def __getitem__(self, at: Any) -> Any:
        self.looks += 1
        return super().__getitem__(at)

    def __iter__(self) -> Iterator[Splice]:
        for at in range(len(self)):
            yield self[at]


@pytest.mark.parametrize("carry", [carry_ranges, moved_ranges])
def test_many_ranges_are_carried_over_many_splices_in_one_walk(
    carry: Callable[[Sequence[Splice], Sequence[tuple[int, int]]], list[tuple[int, int]]],
) -> None:
    """A file of 20,000 lines that was formatted twice kept the daemon busy for seconds."""
    splices = Counted(Splice(5 * n + 1, 5 * n + 2, (b"a", b"b")) for n in range(1000))
    carry(splices, [(5 * n, 5 * n + 5) for n in range(1000)])
    assert splices.looks < 10 * len(splices)


@given(st.lists(st.tuples(st.integers(0, 999), st.integers(0, 2), st.integers(0, 2), st.booleans()), max_size=6))
def test_the_address_of_a_text_edited_again_and_again_is_that_of_its_bytes(
    edits: list[tuple[int, int, int, bool]],
) -> None:
    """Some addresses are asked for on the way and some are not: what is hashed is remembered in parts."""
    text = Text.of(BOM + b"".join(b"line %d of a file that is not short\n" % n for n in range(1000)))
    assert len(text.data) > 4 * HASHED_STEP
    for start, gone, come, asked in edits:
        start = min(start, len(text))
        text = apply(text, [Splice(start, min(start + gone, len(text)), (b"something else",) * come)])
        if asked:
            assert text.blob == blob_id(text.data)
    assert text.blob == blob_id(text.data) == Text.of(text.data).blob
