"""Lives: which records are those of one file, wherever it goes, and of which the name only is the same."""

from __future__ import annotations

from scribe import ANN, BEN, Scribe

from quire_journal.history.timeline import lives
from quire_journal.model.events import FOLDER, FileDeleted, FileMoved, OutsideDeleted, OutsideMoved, OutsideWritten
from quire_journal.model.ids import blob_id

ONE, TWO = b"one\n", b"two\n"


def steps(scribe: Scribe, path: str, seq: int) -> list[tuple[str, int]]:
    """Which records the file has that record `seq` left at `path`, from that one on, and where they left it."""
    with scribe.history() as history:
        (life,) = lives(history, [(path, seq)], lambda version: True)
    return [(step.after.path, step.seq) for step in life.steps]


def deleted(scribe: Scribe, path: str, base: int) -> int:
    return scribe.note(FileDeleted(path, base), writer=ANN)


def moved(scribe: Scribe, path: str, to: str, data: bytes, base: int) -> int:
    """A tool renames, or brings back elsewhere what went from `path` with record `base`."""
    return scribe.note(FileMoved(path, to, blob_id(data), len(data), 0o644, base), writer=BEN)


def renamed(scribe: Scribe, path: str, to: str, data: bytes, base: int) -> int:
    """Another program renames, and both ends are seen together."""
    return scribe.note(OutsideMoved(path, to, blob_id(data), len(data), 0o644, "watched", base))


def test_a_file_made_where_another_was_deleted_continues_it_without_a_folder_in_between() -> None:
    scribe = Scribe().introduce()
    made = scribe.write("a", ONE)
    gone = deleted(scribe, "a", made)
    scribe.note(OutsideWritten("a", b"", 0, 0o755, "watched", entry=FOLDER))
    scribe.note(OutsideDeleted("a", "watched"))
    again = scribe.outside("a", TWO)
    assert steps(scribe, "a", made) == [("a", made), ("a", gone), ("a", again)]


def test_a_file_moved_to_the_path_of_a_deleted_one_does_not_continue_it() -> None:
    scribe = Scribe().introduce()
    made = scribe.write("a", ONE)
    gone = deleted(scribe, "a", made)
    other = scribe.write("b", ONE)  # with the same bytes, but it is known whence it came
    came = moved(scribe, "b", "a", ONE, other)
    went = moved(scribe, "a", "c", ONE, came)
    scribe.outside("a", TWO)
    assert steps(scribe, "a", made) == [("a", made), ("a", gone)]
    assert steps(scribe, "b", other) == [("b", other), ("a", came), ("c", went)]


def test_an_outside_rename_to_the_path_of_a_deleted_file_restores_it_if_the_bytes_are_equal() -> None:
    for data, others, goes_on in ((ONE, False, True), (TWO, False, False), (ONE, True, False)):
        scribe = Scribe().introduce()
        made = scribe.write("a", ONE)
        gone = deleted(scribe, "a", made)
        if others:
            came = moved(scribe, "b", "a", TWO, scribe.write("b", TWO))
            moved(scribe, "a", "d", TWO, came)
        back = renamed(scribe, "c", "a", data, scribe.outside("c", data))
        followed = [("a", back)] if goes_on else []
        assert steps(scribe, "a", made) == [("a", made), ("a", gone), *followed]


def test_a_file_that_was_renamed_and_stands_again_where_it_was_is_followed_there() -> None:
    """One end of the second rename was seen before the watcher told of the other."""
    scribe = Scribe().introduce()
    made = scribe.write("a", ONE)
    there = renamed(scribe, "a", "c", ONE, made)
    again = scribe.outside("a", ONE)
    scribe.note(OutsideDeleted("c", "watched"))
    assert steps(scribe, "a", made) == [("a", made), ("c", there), ("a", again)]


def test_a_file_that_was_renamed_is_not_taken_for_another_at_its_old_name() -> None:
    for name in ("other bytes", "of a tool", "removed by a tool", "still there"):
        scribe = Scribe().introduce()
        made = scribe.write("a", ONE)
        there = renamed(scribe, "a", "c", ONE, made)
        if name == "of a tool":
            scribe.write("a", ONE)
        else:
            scribe.outside("a", TWO if name == "other bytes" else ONE)
        if name == "removed by a tool":
            end = deleted(scribe, "c", there)
        else:
            end = scribe.outside("c", TWO) if name == "still there" else scribe.note(OutsideDeleted("c", "watched"))
        assert steps(scribe, "a", made) == [("a", made), ("c", there), ("c", end)], name


def test_files_deleted_at_one_path_and_restored_elsewhere_are_kept_apart() -> None:
    scribe = Scribe().introduce()
    first = scribe.write("a", ONE)
    first_gone = deleted(scribe, "a", first)
    second = scribe.write("b", TWO)
    came = moved(scribe, "b", "a", TWO, second)
    second_gone = deleted(scribe, "a", came)
    third = scribe.write("c", b"three\n")
    standing = moved(scribe, "c", "a", b"three\n", third)
    second_back = moved(scribe, "a", "h", TWO, second_gone)
    first_back = moved(scribe, "a", "g", ONE, first_gone)
    assert steps(scribe, "a", first) == [("a", first), ("a", first_gone), ("g", first_back)]
    assert steps(scribe, "b", second) == [("b", second), ("a", came), ("a", second_gone), ("h", second_back)]
    assert steps(scribe, "c", third) == [("c", third), ("a", standing)]
