"""The names of all paths, kept by the one who asks often."""

from __future__ import annotations

from scribe import Scribe

from quire_journal.path_names import PathNames


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
