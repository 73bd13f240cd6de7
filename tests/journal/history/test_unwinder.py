"""Unwinding: what a file would be without some of its versions, where it is no text, or where that is not known."""

from __future__ import annotations

from scribe import ANN, BEN, BLOB, Scribe

from quire_journal.history.timeline import lives
from quire_journal.history.unwinder import Unwound, unwind
from quire_journal.model.events import (
    FOLDER,
    LINK,
    CaptureFailed,
    FileDeleted,
    FileMoved,
    OutsideDeleted,
    OutsideWritten,
)
from quire_journal.model.ids import blob_id


def without(scribe: Scribe, path: str, *undone: int) -> Unwound:
    """The file that record `undone[0]` left at `path`, without these records."""
    with scribe.history() as history:
        (life,) = lives(history, [(path, undone[0])], lambda version: version.seq in undone)
        return unwind(history, life)


def linked(scribe: Scribe, target: bytes, entry: int = LINK) -> int:
    """Another program makes a link, or has it lead elsewhere."""
    return scribe.note(OutsideWritten("a", scribe.hold(target), len(target), 0o777, "watched", entry=entry))


def moved(scribe: Scribe, target: bytes, base: int) -> int:
    return scribe.note(FileMoved("a", "b", blob_id(target), len(target), 0o777, base), writer=BEN)


def test_a_link_that_was_renamed_leads_where_it_did_under_its_new_name() -> None:
    scribe = Scribe().introduce()
    linked(scribe, b"here")
    led = linked(scribe, b"there")
    renamed = moved(scribe, b"there", led)
    found = without(scribe, "a", led)
    assert (found.present, found.path, found.blob, found.entry) == (True, "b", blob_id(b"here"), LINK)
    assert (found.kept, found.conflicts, found.missing, found.is_now) == ((renamed,), (), "", False)


def test_links_are_not_merged() -> None:
    scribe = Scribe().introduce()
    linked(scribe, b"here")
    led = linked(scribe, b"there")
    elsewhere = linked(scribe, b"elsewhere")
    found = without(scribe, "a", led)
    assert (found.missing, found.kept) == ("not_a_file", (elsewhere,))
    assert (found.present, found.path, found.mode, found.blob) == (True, "a", 0o777, blob_id(b"elsewhere"))


def test_a_link_of_which_it_is_not_known_where_it_led_is_no_file_to_be_made() -> None:
    scribe = Scribe().introduce()
    scribe.note(OutsideWritten("a", BLOB, 4, 0o777, "watched", entry=LINK))
    gone = scribe.note(FileDeleted("a", 3), writer=ANN)
    assert without(scribe, "a", gone).missing == "not_a_file"


def test_uncaptured_bytes_are_missing_only_where_an_undo_needs_them() -> None:
    scribe = Scribe().introduce()
    secret = scribe.note(CaptureFailed("a", "secret", 4, blob_id(b"key\n"), 0o600))
    first = scribe.write("a", b"1\n", base=secret)
    second = scribe.write("a", b"2\n", base=first)
    assert without(scribe, "a", first, second).missing == "uncaptured"
    found = without(scribe, "a", second)
    assert (found.missing, found.blob) == ("", blob_id(b"1\n"))


def test_an_empty_folder_that_stood_there_is_not_the_file_that_was_made_later() -> None:
    scribe = Scribe().introduce()
    linked(scribe, b"", FOLDER)
    scribe.note(OutsideDeleted("a", "watched"))
    made = scribe.write("a", b"1\n")
    found = without(scribe, "a", made)
    assert (found.present, found.missing, found.entry) == (False, "", 0)


def test_a_file_that_is_gone_as_it_would_be_anyway_is_so_already() -> None:
    scribe = Scribe().introduce()
    made = scribe.write("a", b"1\n")
    scribe.note(FileDeleted("a", made), writer=BEN)
    assert without(scribe, "a", made).is_now


def test_what_goes_on_after_a_folder_came_and_went_where_a_file_had_been() -> None:
    scribe = Scribe().introduce()
    first = scribe.write("a", b"1\n")
    second = scribe.write("a", b"2\n", base=first)
    scribe.note(FileDeleted("a", second), writer=BEN)
    linked(scribe, b"", FOLDER)
    scribe.note(OutsideDeleted("a", "watched"))
    scribe.write("a", b"2\n3\n", writer=BEN)
    found = without(scribe, "a", second)
    assert found.made is not None
    assert found.made.data == b"1\n3\n"
