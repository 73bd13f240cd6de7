"""Loads the timeline's entries ("stories": a turn, git operation, series of saves, or burst) page by page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from quire_client.ui.filters import Filter
from quire_client.ui.timeline_page import Story, story_key

A_PAGE: Final = 15
"""Maximum number of timeline entries in one call, for which the daemon still counts changed lines."""

A_SEARCH: Final = 200
MOST_PAGES: Final = 15
Answers = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]


class StoryList(NamedTuple):
    """The loaded timeline entries (stories), newest first."""

    stories: tuple[Story, ...] = ()
    cursor: str = ""  # cursor of the next, older page; "" at the end
    newest: int = 0  # newest record of all stories, including those that the filter excludes
    refusal: str = ""  # message of a refusal; `stories` is then empty
    lost: bool = False  # the daemon did not answer


def load_older(ask: Answers, wanted: Filter, known: StoryList, count: int) -> StoryList:
    """Return `known` with at least `count` more timeline entries that are older, if as many exist."""
    return _load(ask, wanted, known, lambda found, _: len(found) >= count, known.cursor)


def load_newer(ask: Answers, wanted: Filter, known: StoryList) -> StoryList:
    """Return `known` with newer timeline entries; only the newer entries if one load does not reach back to `known`."""
    top = _load(ask, wanted, StoryList(), lambda _, oldest: oldest <= known.newest, "")
    if top.refusal:
        return top
    oldest = top.stories[-1]["seq"] if top.stories else 0
    met = not top.cursor or any(story["seq"] <= known.newest for story in top.stories)
    before = {(story_key(story), story["seq"]): story for story in known.stories}
    stories = [before.get((story_key(story), story["seq"]), story) for story in top.stories]
    if not met and not wanted.text:
        return top
    have = {story_key(story) for story in stories}
    both = max((at for at, one in enumerate(known.stories) if story_key(one) in have), default=len(known.stories))
    behind = [
        one
        for at, one in enumerate(known.stories)
        if story_key(one) not in have and (at > both or one["seq"] < oldest or not stories)
    ]
    return StoryList((*stories, *behind), known.cursor if behind or known.stories else top.cursor, top.newest)


def _load(
    ask: Answers,
    wanted: Filter,
    known: StoryList,
    enough: Callable[[list[Story], int], bool],
    cursor: str,
) -> StoryList:
    found: list[Story] = []
    newest = known.newest
    for _ in range(MOST_PAGES):
        limit = A_SEARCH if wanted.text else A_PAGE
        page = ask("stories", {**wanted.arguments(), "limit": limit, **({"cursor": cursor} if cursor else {})})
        if not page.get("ok"):
            lost = page.get("error") in ("no_daemon", "unknown", "expired")
            return StoryList(refusal=str(page.get("message") or "The daemon did not answer."), lost=lost)
        stories = page.get("stories") or ()
        newest = max([newest, *(story["seq"] for story in stories)])
        have = {story_key(story) for story in (*known.stories, *found)}
        found += [story for story in stories if wanted.admits(story) and story_key(story) not in have]
        cursor = page.get("next") or ""
        if not cursor or enough(found, min((story["seq"] for story in stories), default=newest + 1)):
            break
    return StoryList((*known.stories, *found), cursor, newest)
