"""Conflict markers: where two sides dispute a place of a text, and how it is written with both."""

from __future__ import annotations

from hypothesis import given, strategies as st

from quire_journal.text.conflict_markers import Dispute, MarkedDispute, disputed, mark, place_after
from quire_journal.text.splice import Along, Splice
from quire_journal.text.text import Text
from quire_journal.text.transform import changes, three_way


def text(*said: str) -> Text:
    return Text.of("".join(f"{line}\n" for line in said).encode())


def marks(base: Text, mine: Text, theirs: Text) -> Text:
    """`theirs` with what `mine` changed, and markers where both changed the same."""
    merged, carried = three_way(base, mine, theirs)
    places = disputed(base, [b.splice for b in carried.blocked], changes(base, theirs))
    since = Along(changes(theirs, merged))
    marked = []
    for place in places:
        if place is not None:
            start, stop = place_after(since, place.start, place.stop)
            marked.append(MarkedDispute(Dispute(start, stop, place.lines, place.breaks), "mine", "theirs"))
    return mark(merged, marked)


def sides(marked: Text) -> tuple[bytes, bytes]:
    """What the marked text is when each place is settled for the one or the other side."""
    mine, theirs, inside = [], [], ""
    for line, ending in zip(marked.lines, marked.breaks, strict=True):
        if line == b"<<<<<<< mine":
            inside = "mine"
        elif line == b"=======":
            inside = "theirs"
        elif line == b">>>>>>> theirs":
            inside = ""
        else:
            mine += [line + ending] if inside != "theirs" else []
            theirs += [line + ending] if inside != "mine" else []
    return b"".join(mine), b"".join(theirs)


def test_both_sides_of_a_changed_line_stand_between_markers() -> None:
    marked = marks(text("a", "b", "c"), text("a", "mine", "c"), text("a", "theirs", "c"))
    assert marked == text("a", "<<<<<<< mine", "mine", "=======", "theirs", ">>>>>>> theirs", "c")


def test_a_side_without_lines_is_an_empty_one() -> None:
    assert marks(text("a", "b", "c"), text("a", "c"), text("a", "B", "c")) == text(
        "a", "<<<<<<< mine", "=======", "B", ">>>>>>> theirs", "c"
    )
    assert marks(text("a", "b", "c"), text("a", "B", "c"), text("a", "c")) == text(
        "a", "<<<<<<< mine", "B", "=======", ">>>>>>> theirs", "c"
    )


def test_changes_that_clash_with_one_change_share_its_place() -> None:
    base = text("a", "b", "c", "d", "e")
    marked = marks(base, text("a", "B", "c", "D", "e"), text("a", "x", "e"))
    assert marked == text("a", "<<<<<<< mine", "B", "c", "D", "=======", "x", ">>>>>>> theirs", "e")


def test_changes_of_one_side_elsewhere_come_without_markers() -> None:
    marked = marks(text("a", "b", "c", "d"), text("A", "b", "c", "mine"), text("a", "b", "new", "c", "theirs"))
    assert marked == text("A", "b", "new", "c", "<<<<<<< mine", "mine", "=======", "theirs", ">>>>>>> theirs")


def test_markers_take_the_break_of_the_lines_around() -> None:
    made = marks(Text.of(b"a\r\nb"), Text.of(b"a\r\nmine"), Text.of(b"a\r\ntheirs"))
    assert made.data == b"a\r\n<<<<<<< mine\r\nmine\r\n=======\r\ntheirs\r\n>>>>>>> theirs"


def test_an_empty_text_can_be_marked() -> None:
    place = MarkedDispute(Dispute(0, 0, (b"x",), (b"\n",)), "mine", "theirs")
    assert mark(Text.of(b""), [place]).lines == [b"<<<<<<< mine", b"x", b"=======", b">>>>>>> theirs"]


def test_places_that_overlap_become_one() -> None:
    places = [
        MarkedDispute(Dispute(0, 2, (b"x",), (b"\n",)), "m", "t"),
        MarkedDispute(Dispute(1, 3, (b"y",), (b"\n",)), "m", "t"),
    ]
    assert mark(text("a", "b", "c"), places) == text("<<<<<<< m", "x", "y", "=======", "a", "b", "c", ">>>>>>> t")


def test_a_place_grows_with_what_replaced_a_part_of_it() -> None:
    assert place_after(Along([Splice(0, 0, (b"new",))]), 1, 2) == (2, 3)
    assert place_after(Along([Splice(0, 2, (b"x", b"y", b"z"))]), 1, 3) == (0, 4)
    assert place_after(Along([Splice(5, 6)]), 1, 3) == (1, 3)
    assert place_after(Along([Splice(0, 3)]), 1, 1) == (0, 0)


texts = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f"]), max_size=8).map(lambda said: text(*said))


@given(texts, texts, texts)
def test_taking_theirs_at_every_marker_gives_the_merge_and_no_line_is_lost(
    base: Text, mine: Text, theirs: Text
) -> None:
    marked = marks(base, mine, theirs)
    assert sides(marked)[1] == three_way(base, mine, theirs)[0].data
    new = [line for splice in changes(base, mine) for line in splice.lines]
    assert all(line in marked.lines for line in new)
