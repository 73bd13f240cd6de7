"""The list of stories: page by page, with what is new, and only what a filter admits."""

from __future__ import annotations

from ui_samples import CODEX, GONE, SAVE, STORIES, TURN, FakeDaemon, story

from quire_client.ui.filters import Filter
from quire_client.ui.story_list import A_PAGE, StoryList, load_newer, load_older

ALL = Filter()


def seqs(found: StoryList) -> list[int]:
    return [one["seq"] for one in found.stories]


def test_older_stories_are_added_behind_those_that_are_there() -> None:
    daemon = FakeDaemon([story(seq) for seq in range(300, 0, -3)])
    found = load_older(daemon.ask, ALL, StoryList(), 20)
    assert seqs(found) == [*range(300, 300 - 3 * 2 * A_PAGE, -3)]
    more = load_older(daemon.ask, ALL, found, 1000)
    assert seqs(more) == [*range(300, 0, -3)]
    assert not more.cursor


def test_what_is_new_is_put_in_front_and_a_story_that_grew_is_there_once() -> None:
    stories = [story(seq) for seq in range(300, 0, -3)]
    daemon = FakeDaemon(stories)
    known = load_older(daemon.ask, ALL, StoryList(), 40)
    grown = {**stories.pop(5), "seq": 310}
    daemon.stories[:0] = [story(320), grown]
    daemon.asked.clear()
    found = load_newer(daemon.ask, ALL, known)
    assert seqs(found)[:4] == [320, 310, 300, 297]
    assert len(found.stories) == len(known.stories) + 1
    assert found.cursor == known.cursor
    assert len(daemon.asked) == 1


def test_a_git_command_that_is_recorded_late_stays_where_a_load_ends_before_it() -> None:
    """It has a higher number than the save in front of it, which is the last of what is loaded again."""
    stories = [story(seq) for seq in (*range(100, 100 - A_PAGE + 1, -1), 17, 18, 12, 10)]
    daemon = FakeDaemon(stories)
    known = load_older(daemon.ask, ALL, StoryList(), 18)
    assert seqs(load_newer(daemon.ask, ALL, known)) == [one["seq"] for one in stories]


def test_where_more_is_new_than_is_looked_through_the_list_begins_anew() -> None:
    daemon = FakeDaemon([story(3)])
    known = load_older(daemon.ask, ALL, StoryList(), 5)
    daemon.stories = [story(seq) for seq in range(3000, 0, -3)]
    found = load_newer(daemon.ask, ALL, known)
    assert seqs(found) == [*range(3000, 3000 - 3 * len(found.stories), -3)]
    assert found.cursor
    assert seqs(load_older(daemon.ask, ALL, found, 10_000)) == [*range(3000, 3000 - 3 * (len(found.stories) + 225), -3)]


def test_a_refusal_is_told_and_a_lost_daemon_is_another_thing() -> None:
    daemon = FakeDaemon(STORIES)
    refused = load_older(daemon.ask, Filter(writer="nobody"), StoryList(), 5)
    assert (refused.refusal, refused.lost) == ("Nobody is called nobody.", False)
    daemon.runs = False
    assert load_older(daemon.ask, ALL, StoryList(), 5) == StoryList(refusal=GONE["message"], lost=True)


def test_words_of_a_filter_are_sought_in_what_was_loaded() -> None:
    daemon = FakeDaemon(STORIES)
    for words, expected in (("RENAME why", [TURN]), ("b.py", [TURN]), ("codex", [CODEX]), ("no such", [])):
        found = load_older(daemon.ask, Filter.typed(words), StoryList(), 5)
        assert [*found.stories] == expected


def test_a_filter_is_read_as_it_is_typed() -> None:
    typed = Filter.typed("w:codex p:src/* rename  it")
    assert typed == Filter("codex", "src/*", "rename it")
    assert typed.line == "w:codex p:src/* rename it"
    assert typed.arguments() == {"writer": "codex", "path": "src/*"}
    assert Filter.typed("writer:codex path:src") == Filter("codex", "src"), "as on the page"
    assert Filter.typed("http://x w:").text == "http://x w:"
    assert Filter(agents=True).words == "agents only"
    assert Filter().words == ""
    assert Filter.typed("saves").admits(SAVE) is False
