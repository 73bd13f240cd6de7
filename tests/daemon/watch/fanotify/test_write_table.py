"""The table of who wrote which file lately."""

from __future__ import annotations

from quire_daemon.watch.fanotify.write_table import WriteTable

LONG_AGO = 0.0


class Table(WriteTable[str]):
    """With the question in short."""

    def writers(self, path: str, since_s: float, now_s: float) -> dict[str | None, tuple[float, float]] | None:
        """Process → its first and last event."""
        found = self.writes(path, since_s, now_s)
        return None if found is None else {one.who: (one.first_s, one.last_s) for one in found}


def table(kept_s: float = 100.0, most: int = 100) -> Table:
    return Table(kept_s, most)


def test_the_writers_of_a_file_since_a_time_have_the_times_of_their_first_and_last_event() -> None:
    one = table()
    one.note("f", b"1", "vim", 1.0)
    one.note("f", b"1", "sed", 2.0)
    one.note("f", b"1", "sed", 3.0)
    assert one.writers("f", 1.5, 4.0) == {"sed": (2.0, 3.0)}
    assert one.writers("f", LONG_AGO, 4.0) == {"vim": (1.0, 1.0), "sed": (2.0, 3.0)}


def test_an_unwritten_file_has_no_writers() -> None:
    one = table()
    one.note("f", b"1", "vim", 1.0)
    assert one.writers("g", LONG_AGO, 2.0) == {}
    assert one.writers("f", 1.5, 2.0) == {}


def test_a_write_under_a_temporary_name_counts_for_the_final_name() -> None:
    one = table()
    one.note("sedXY", b"2", "sed", 1.0)
    one.note("sedXY", b"2", "mv", 2.0)
    one.note("f", b"2", "mv", 2.0)
    assert one.writers("f", LONG_AGO, 3.0) == {"sed": (1.0, 1.0), "mv": (2.0, 2.0)}


def test_what_is_written_by_another_name_of_the_same_file_counts() -> None:
    one = table()
    one.note("f", b"1", "sed", 1.0)
    one.note("", b"1", "vim", 2.0)
    assert one.writers("f", LONG_AGO, 3.0) == {"sed": (1.0, 1.0), "vim": (2.0, 2.0)}


def test_a_folder_that_was_renamed_counts_for_all_that_is_in_it() -> None:
    one = table()
    one.note("old", b"9", "mv", 1.0, "new")
    one.note("new", b"9", "mv", 1.0, "old")
    assert one.writers("new/deep/f", LONG_AGO, 2.0) == {"mv": (1.0, 1.0)}
    assert one.writers("newer/f", LONG_AGO, 2.0) == {}


def test_what_was_written_before_its_folder_was_renamed_counts() -> None:
    one = table()
    one.note("old/deep/f", b"1", "vim", 1.0)
    for path, other in (("old", "new"), ("new", "old")):
        one.note(path, b"9", "mv", 2.0, other)
    assert one.writers("new/deep/f", LONG_AGO, 3.0) == {"vim": (1.0, 1.0), "mv": (2.0, 2.0)}
    assert one.writers("new/deep/f", 1.5, 3.0) == {"mv": (2.0, 2.0)}


def test_a_folder_that_was_made_says_nothing_of_what_is_in_it() -> None:
    one = table()
    one.note("new", b"9", "mkdir", 1.0)
    assert one.writers("new", LONG_AGO, 2.0) == {"mkdir": (1.0, 1.0)}
    assert one.writers("new/f", LONG_AGO, 2.0) == {}


def test_a_writer_that_ended_unread_is_unknown() -> None:
    one = table()
    one.note("f", b"1", "sed", 1.0)
    one.note("f", b"1", None, 2.0)
    assert one.writers("f", LONG_AGO, 3.0) == {"sed": (1.0, 1.0), None: (2.0, 2.0)}
    assert one.writers("f", 2.5, 3.0) == {}


def test_each_write_is_told_with_the_name_under_which_it_was_made() -> None:
    one = table()
    one.note("old", b"1", "sed", 1.0)
    one.note("old", b"1", "mv", 2.0)
    one.note("new", b"1", "mv", 2.0)
    assert {(write.path, write.who) for write in one.writes("new", LONG_AGO, 3.0) or ()} == {
        ("old", "sed"),
        ("old", "mv"),
        ("new", "mv"),
    }


def test_lost_events_make_everything_unknown_that_began_before() -> None:
    one = table()
    one.note("f", b"1", "sed", 1.0)
    one.lose(2.0)
    one.note("f", b"1", "sed", 3.0)
    assert one.writers("f", 1.5, 4.0) is None
    assert one.writers("f", 2.5, 4.0) == {"sed": (1.0, 3.0)}


def test_events_lost_before_the_kept_time_do_not_matter() -> None:
    one = table(kept_s=10.0)
    one.lose(1.0)
    assert one.writers("f", LONG_AGO, 10.0) is None
    assert one.writers("f", LONG_AGO, 12.0) == {}


def test_what_is_old_is_dropped_and_makes_nothing_unknown() -> None:
    one = table(kept_s=10.0)
    one.note("f", b"1", "sed", 1.0)
    one.note("g", b"2", "sed", 20.0)
    assert len(one) == 1
    assert one.writers("f", LONG_AGO, 20.0) == {}
    assert one.writers("g", LONG_AGO, 20.0) == {"sed": (20.0, 20.0)}


def test_dropped_entries_make_older_questions_unknown() -> None:
    one = table(most=3)
    for number in range(5):
        one.note(f"f{number}", bytes([number]), "git", float(number))
    assert len(one) == 3
    assert one.writers("f4", 0.5, 5.0) is None
    assert one.writers("f4", 1.5, 5.0) == {"git": (4.0, 4.0)}


def test_a_process_that_writes_all_the_time_is_one_entry_and_stays() -> None:
    one = table(kept_s=10.0)
    for second in range(100):
        one.note("log", b"1", "server", float(second))
        one.note("f", b"2", f"sed{second}", float(second))
    assert len(one) == 11
    assert one.writers("log", 95.0, 99.0) == {"server": (0.0, 99.0)}
