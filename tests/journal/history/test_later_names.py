"""Later names: what a file is called after renames, and which of its names another file has now."""

from __future__ import annotations

from scribe import Scribe

from quire_journal.history.renames import LaterNames
from quire_journal.model.events import OutsideDeleted, OutsideMoved, OutsideWritten
from quire_journal.model.ids import blob_id

ONE, TWO = b"one\n", b"two\n"


def renamed(scribe: Scribe, path: str, to: str, data: bytes = ONE) -> int:
    return scribe.note(OutsideMoved(path, to, blob_id(data), len(data), 0o644, "watched"))


def names(scribe: Scribe, path: str, seq: int) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """(all names, those that no other file has, the newest)."""
    with scribe.history() as history:
        later = LaterNames(history)
        return later.of(path, seq), later.own(path, seq), later.now(path, seq)


def test_a_file_has_its_name_then_and_those_after() -> None:
    scribe = Scribe().introduce()
    made = scribe.write("a", ONE)
    first = renamed(scribe, "a", "b")
    renamed(scribe, "b", "c")
    assert names(scribe, "a", made) == (("a", "b", "c"), ("a", "b", "c"), "c")
    assert names(scribe, "b", first) == (("b", "c"), ("b", "c"), "c")
    assert names(scribe, "x", made) == (("x",), ("x",), "x")


def test_a_name_that_another_file_has_now_is_not_its_own() -> None:
    scribe = Scribe().introduce()
    made = scribe.write("a", ONE)
    renamed(scribe, "a", "b")
    new = scribe.write("a", TWO)
    assert names(scribe, "a", made) == (("a", "b"), ("b",), "b")
    assert names(scribe, "a", new) == (("a",), ("a",), "a")


def test_names_that_two_files_have_swapped() -> None:
    scribe = Scribe().introduce()
    one, two = scribe.write("a", ONE), scribe.write("b", TWO)
    for path, to, data in (("a", "c", ONE), ("b", "a", TWO), ("c", "b", ONE)):
        renamed(scribe, path, to, data)
    assert names(scribe, "a", one)[1:] == (("c", "b"), "b")
    assert names(scribe, "b", two)[1:] == (("a",), "a")


def test_what_git_puts_back_in_the_place_of_a_file_is_that_file() -> None:
    scribe = Scribe().introduce()
    made = scribe.write("a", ONE)
    renamed(scribe, "a", "b")
    scribe.note(OutsideWritten("a", blob_id(ONE), len(ONE), 0o644, "watched", hint="git stash"))
    scribe.note(OutsideDeleted("b", "watched", hint="git stash"))
    assert names(scribe, "a", made)[1] == ("a", "b")
