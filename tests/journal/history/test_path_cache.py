"""The names of all paths, kept by the one who asks often."""

from __future__ import annotations

import pytest
from scribe import Scribe

from quire_journal.history.history import History
from quire_journal.history.path_cache import PathNames
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import u32


def test_paths_that_come_later_are_found_and_an_older_state_does_not_know_them() -> None:
    scribe, names = Scribe(), PathNames()
    scribe.outside("a.py", b"1")
    scribe.outside("b.md", b"1")
    with scribe.store.reading() as before:
        assert names.matching(before, "py", lambda path: path.endswith("py")) == [1]
        scribe.outside("c.py", b"1")
        with scribe.store.reading() as now:
            assert names.matching(now, "py", lambda path: path.endswith("py")) == [1, 3]
        assert names.matching(before, "py", lambda path: path.endswith("py")) == [1]


def test_the_same_question_is_not_thought_about_again_and_another_is() -> None:
    scribe, names, asked = Scribe(), PathNames(), list[str]()
    scribe.outside("a", b"1")

    def fits(path: str) -> bool:
        asked.append(path)
        return True

    with scribe.store.reading() as r:
        assert names.matching(r, "one", fits) == names.matching(r, "one", fits) == [1]
        assert asked == ["a"]
        assert names.matching(r, "other", lambda path: False) == []


def test_names_that_are_no_utf_8_come_out_as_they_went_in_whatever_stands_beside_them() -> None:
    store, names, seen = MemoryStore(), PathNames(), list[str]()
    stored = [b"caf\xe9", b"\xa9 beside", "über".encode(), b"\xc3"]
    with store.writing() as w:
        for number, path in enumerate(stored, 1):
            w.append("paths", u32(number), path)
    with store.reading() as r:
        names.matching(r, "all", seen.append)
    assert seen == [path.decode("utf-8", "surrogateescape") for path in stored]


def test_a_search_stops_after_one_path_too_many_and_tests_only_paths_with_the_part() -> None:
    scribe, names, asked = Scribe(), PathNames(), list[str]()
    for path in ("a.md", "b.py", "c.py", "d.py", "e.py"):
        scribe.outside(path, b"1")

    def fits(path: str) -> bool:
        asked.append(path)
        return True

    with scribe.store.reading() as r:
        assert names.matching(r, "two", fits, ".py", 1) == [2, 3]
        assert asked == ["b.py", "c.py"]


@pytest.mark.parametrize("count", [1, 1023, 1024, 1025, 2048, 3000])
def test_every_path_is_read_once_however_many_there_are(count: int) -> None:
    store, names = MemoryStore(), PathNames()
    stored = [f"file {number}" for number in range(count + 1)]
    with store.writing() as w:
        w.append_all("paths", [(u32(n), path.encode()) for n, path in enumerate(stored[:-1], 1)])
    with store.reading() as r:
        assert list(names.all(r)) == stored[:-1]
    with store.writing() as w:
        w.append("paths", u32(count + 1), stored[-1].encode())
    with store.reading() as r:
        assert list(names.all(r)) == list(names.all(r)) == stored


def test_names_are_read_before_anybody_asks_where_they_are_few() -> None:
    scribe, names = Scribe(), PathNames()
    scribe.outside("a", b"1")
    scribe.outside("b", b"1")
    with scribe.store.reading() as r:
        history = History(r, names=names)
        assert not history.read_names(1)
        assert len(names) == 0
        assert history.read_names(2)
        assert len(names) == 2
