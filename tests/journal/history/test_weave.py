"""The weave of a file: which batches brought and removed each line, and which lines stand without some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quire_journal.history.weave import BatchesInForce, Made, Weave, WovenLine, ended


class Woven:
    """A text that batches 1, 2, 3 … wrote, and what they undid."""

    def __init__(self, text: str, undid: Mapping[int, Sequence[int]] | None = None) -> None:
        self.undid = undid or {}
        self.weave = Weave(body(text), 0, BatchesInForce(self.undoers))
        self.batch = 0

    def undoers(self, batch: int) -> list[int]:
        return [by for by, undone in self.undid.items() if batch in undone]

    def types(self, text: str) -> None:
        self.batch += 1
        self.weave.take(body(text), Made(self.batch, self.batch))

    def undoes(self, text: str) -> None:
        self.batch += 1
        self.weave.take(body(text), Made(self.batch, self.batch, undoing=True, moving=True))

    def outside(self, text: str, again: bool = False) -> None:
        self.batch += 1
        self.weave.take(body(text), Made(self.batch, self.batch, moving=True, again=again))

    def authors(self) -> list[int]:
        return [0 if line is None else line.born for line in map(self.weave.line, range(self.weave.size))]

    def line(self, word: str) -> WovenLine:
        """The one that is there, else the last that went."""
        for number in range(self.weave.size):
            line = self.weave.line(number)
            if line is not None and line.key == word.encode() + b"\n":
                return line
        return self.weave.gone(word.encode() + b"\n")[-1]

    def stands(self, word: str, *without: int) -> bool:
        return self.line(word).stands(BatchesInForce(self.undoers, without).in_force)


def body(text: str) -> bytes:
    return "".join(f"{word}\n" for word in text.split()).encode()


def test_a_line_has_the_batch_that_typed_it() -> None:
    woven = Woven("a b c")
    woven.types("a x b c")
    woven.types("a x b y")
    assert woven.authors() == [0, 1, 0, 2]


def test_whoever_types_a_line_again_is_its_author() -> None:
    woven = Woven("a")
    woven.types("a x")
    woven.types("a")
    woven.types("a x")
    assert woven.authors() == [0, 3]
    assert woven.stands("x", 1)
    assert not woven.stands("x", 3)


def test_a_line_that_an_undo_brings_back_keeps_its_author() -> None:
    woven = Woven("a", {3: [2]})
    woven.types("a x")
    woven.types("a")
    woven.undoes("a x")
    assert woven.authors() == [0, 1]
    assert not woven.stands("x", 1)
    assert not woven.stands("x", 3)


def test_a_line_that_comes_back_takes_the_place_of_an_undone_one_with_the_same_bytes() -> None:
    woven = Woven("a x", {4: [3, 2]})
    woven.types("b x")
    woven.types("b")
    woven.types("c x d")
    woven.undoes("b x")
    assert woven.authors() == [1, 0]
    assert woven.stands("x")
    assert not woven.stands("x", 4)


def test_what_an_undo_removes_stands_again_without_it() -> None:
    woven = Woven("a", {2: [1]})
    woven.types("a x")
    woven.undoes("a")
    assert not woven.stands("x")
    assert woven.stands("x", 2)
    assert not woven.stands("x", 2, 1)


def test_what_no_undone_batch_explains_is_the_work_of_the_undo() -> None:
    woven = Woven("a b", {2: [1]})
    woven.types("a b x")
    woven.undoes("a y")
    assert woven.authors() == [0, 2]
    assert not woven.stands("b")
    assert woven.stands("b", 2)


def test_a_line_restored_by_another_program_keeps_its_author_unless_that_work_was_undone() -> None:
    woven = Woven("a", {4: [1]})
    woven.types("a x")
    woven.types("a")
    woven.outside("a x")
    assert woven.authors() == [0, 1]
    assert not woven.stands("x", 1)
    woven.undoes("a")
    woven.outside("a x")
    assert woven.authors() == [0, 5]


def test_a_checkout_there_and_back_is_nothing() -> None:
    woven = Woven("a old")
    woven.types("a new")
    woven.outside("a old", again=True)
    woven.outside("a new", again=True)
    assert woven.stands("old", 1)
    assert not woven.stands("new", 1)
    assert woven.stands("old", 3)
    assert not woven.stands("old", 2)


def test_who_puts_back_a_text_removes_what_no_removal_in_force_explains() -> None:
    woven = Woven("a x", {3: [1]})
    woven.types("a")
    woven.outside("a x")
    woven.undoes("a x")
    woven.outside("a", again=True)
    assert not woven.stands("x")
    assert woven.stands("x", 4)


def test_a_line_that_went_twice_comes_back_once() -> None:
    woven = Woven("a x b")
    woven.types("a b")
    woven.outside("a b x")
    woven.types("a b")
    assert len(woven.weave.gone(b"x\n")) == 1
    woven.outside("x a x b x")
    assert sorted(woven.authors()) == [0, 0, 0, 4, 4]


def test_lines_that_an_undo_brings_back_are_looked_for_where_they_stood() -> None:
    woven = Woven("a b", {5: [3]})
    woven.types("a } b")
    woven.types("a } b }")
    woven.types("a b }")
    woven.types("a b")
    woven.undoes("a } b")
    assert woven.authors() == [0, 1, 0]


def test_a_batch_is_in_force_when_what_undid_it_is_not() -> None:
    undid: dict[int, list[int]] = {2: [1], 3: [2], 4: [3]}
    standing = BatchesInForce(lambda batch: [by for by, undone in undid.items() if batch in undone])
    assert [standing.in_force(batch) for batch in (1, 2, 3, 4)] == [False, True, False, True]
    assert [standing.upto(upto)(1) for upto in (1, 2, 3, 4)] == [True, False, True, False]
    without = BatchesInForce(lambda batch: [by for by, undone in undid.items() if batch in undone], {4})
    assert [without.in_force(batch) for batch in (1, 2, 3, 4)] == [True, False, True, False]


def test_the_last_line_has_a_break_like_the_others() -> None:
    assert [ended(text) for text in (b"", b"a", b"a\n", b"a\r\nb", b"a\rb", b"a\r\nb\nc")] == [
        *(b"", b"a\n", b"a\n", b"a\r\nb\r\n", b"a\rb\r", b"a\r\nb\nc\n"),
    ]
