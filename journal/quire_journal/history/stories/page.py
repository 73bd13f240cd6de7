"""Pages of stories, completed with facts of records that the page did not read, such as a prompt."""

from __future__ import annotations

from itertools import islice
from typing import Final

from quire_journal.history import NAMELESS, NEAR_NS, History, command_name, command_of
from quire_journal.history.stories.fold import PAUSE_NS, StoryFold, key_hash
from quire_journal.history.stories.git_stories import LAG_NS
from quire_journal.history.stories.story import GIT, RUN, TURN, UNDO, Key, Story, StoryPage, StoryQuery, Straddler
from quire_journal.model import CommandRan, GitRan, TurnBegan
from quire_journal.views.indexes import of_kind

MOST_RUNS: Final = 50
"""Maximum number of `CommandRan` searched for the end of a run."""


def story_page(query: StoryQuery, history: History) -> StoryPage:
    fold = StoryFold(query, history)
    reached = fold.run()
    told, behind = fold.stories[: query.limit], fold.stories[query.limit :]
    if behind:
        following: int | None = max(story.newest for story in behind)
    else:
        following = None if reached is None else reached - 1
    if following is not None and following <= query.after:
        following = None
    straddlers = dict[int, Straddler]()
    here = [Straddler(key_hash(key), story.oldest, story.began_ns) for story in told for key in _keys(story)]
    for one in (*here, *query.straddlers):
        other = straddlers.setdefault(one.key, one)
        straddlers[one.key] = Straddler(one.key, min(one.reached, other.reached), min(one.began_ns, other.began_ns))
    for story in told:
        _complete(story, history)
    begun = () if following is None else (one for one in straddlers.values() if one.reached <= following)
    return StoryPage(told, following, tuple(begun))


def _keys(story: Story) -> set[Key]:
    """Return the keys under which a later page may find records of a story: a write by git may name no command."""
    return {story.key, (GIT, "")} if story.form == GIT else {story.key}


def _complete(story: Story, history: History) -> None:
    if story.form == UNDO and story.undoing is None:
        story.undoing = history.undoing(int(story.key[1]))
    if story.form == RUN:
        _complete_run(story, history)
    if story.form == GIT and not story.commands:
        _name_command(story, history)
    for call in story.calls.values():
        burst = history.burst(call.number) if call.native and not call.label else None
        if burst is not None:  # the page did not read its `BurstBegun`, which names none of the wanted paths
            call.label, call.command, call.at_ns = burst.label, burst.command, burst.began_ns
    if story.form != TURN or story.prompt or not story.key[3]:
        return
    from quire_journal.views.indexes import term_index

    wanted = [[term_index.of_turn(story.key[3])], [of_kind(TurnBegan.kind)]]
    for _, seqs in history.with_terms(wanted, 0, story.oldest, True):
        for seq in seqs:
            begun = history.event(seq)
            if isinstance(begun, TurnBegan):
                story.prompt, story.transcript = begun.prompt, begun.transcript
                return


def _complete_run(story: Story, history: History) -> None:
    burst = history.burst(int(story.key[1]))
    if burst is None:
        return
    story.commands, story.began_ns, story.writer = [burst.command or burst.label], burst.began_ns, burst.writer
    ends = history.with_terms([[of_kind(CommandRan.kind)]], burst.number, history.head(), False)
    for seq in islice((seq for _, seqs in ends for seq in seqs), MOST_RUNS):
        ended = history.event(seq)
        if isinstance(ended, CommandRan) and ended.burst == burst.number:
            story.status, story.by_others = ended.status, ended.by_others


def _name_command(story: Story, history: History) -> None:
    wanted = [[of_kind(GitRan.kind)]]
    near = [(story.oldest - 1, history.head(), False), (0, story.oldest - 1, True)]
    found = (islice((seq for _, seqs in history.with_terms(wanted, *ends) for seq in seqs), 3) for ends in near)
    ran = [event for seqs in found for seq in seqs if isinstance(event := history.event(seq), GitRan)]
    spans = range(story.began_ns - LAG_NS, story.ended_ns + PAUSE_NS[GIT]) if story.hint in NAMELESS else ()
    named = command_of(story.hint)
    ran = [
        one
        for one in ran
        if command_name(one.command) == named or (one.ended_ns in spans and one.started_ns <= story.began_ns)
    ]

    def away_ns(event: GitRan) -> int:
        return min(abs(event.ended_ns - story.began_ns), abs(event.ended_ns - story.ended_ns))

    nearest = min(ran, key=away_ns, default=None)
    if nearest is not None and away_ns(nearest) < NEAR_NS:
        story.commands, story.heads = [nearest.command], (nearest.head_before, nearest.head_after)
