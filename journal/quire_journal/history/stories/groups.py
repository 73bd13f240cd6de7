"""Writes that other programs made together: a command of git, or a program that wrote many files.

Such writes are one story, so that an undo takes back together what the log shows together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from quire_journal.history import History
from quire_journal.history.stories.fold import CROWD_PAUSE_NS, StoryFold
from quire_journal.history.stories.git_stories import RESTORING, UNTRACKED_NS
from quire_journal.history.stories.page import story_page
from quire_journal.history.stories.story import CROWD, GIT, SAVES, Story, StoryQuery
from quire_journal.model import GitRan, Record, pause
from quire_journal.views import OUTSIDE_WRITES, Version
from quire_journal.views.indexes import of_kind

MOST_RECORDS: Final = 20_000
"""Maximum number of records after a write, and of those before, that are read for writes made together with it."""

MOST_COMMANDS: Final = 10
"""Maximum number of git commands recorded after a write that are looked at."""

GIT_STORIES: Final = 50
"""Maximum number of git commands that are looked through for one that wrote."""

_FORMS: Final = frozenset({GIT, CROWD, SAVES})
_TERMS: Final = [of_kind(event.kind) for event in (*OUTSIDE_WRITES, GitRan)]


def joint_writes(record: Record, history: History) -> list[Sequence[int]]:
    """Return the seqs of writes made together, newest first: those with `record`, a write by another program, and
    groups that were found on the way. A save is a group of its own.
    """
    query = StoryQuery(0, _end(record, history), MOST_RECORDS, forms=_FORMS, work=MOST_RECORDS, joint=True)
    fold = StoryFold(query, history)
    fold.run_to(record.seq)
    found: list[Sequence[int]] = []
    for story in fold.stories:
        if story.form == SAVES:
            found += [(seq,) for seq in story.seqs]
        elif story.newest >= record.seq or fold.is_over(story):
            found.append(sorted(story.seqs, reverse=True))
    return found


def stash_restored(version: Version, history: History) -> str:
    """Return the command that restored a stash just after a write without a hint: `git stash pop`; "" if none did.
    Git restores untracked files before it is seen to run.
    """
    for _, seqs in history.with_terms([[of_kind(GitRan.kind)]], version.seq, history.head()):
        for seq in seqs:
            ran = history.event(seq)
            if isinstance(ran, GitRan):
                name = next((name for name in RESTORING if ran.command.startswith(name)), "")
                is_near = (ran.started_ns or ran.ended_ns - UNTRACKED_NS) <= version.at_ns <= ran.ended_ns
                return f"git {name}" if name and is_near else ""
    return ""


def last_of_git(after: int, upto: int, history: History, work: int) -> Sequence[int]:
    """Return the seqs of the writes with after < seq <= upto of the git command whose newest record is `upto`; if there
    is no such command, of the last git command that wrote there. `work`: maximum number of records to read.
    """
    last = history.record(upto)
    end = upto if last is None else max(_end(last, history), upto)  # the next commands tell which writes are theirs
    query = StoryQuery(after, end, GIT_STORIES, forms=frozenset({GIT}), work=work)
    told = _last_within(after, upto, story_page(query, history).stories)
    if told is not None and told.unread:
        query = StoryQuery(told.oldest - 1, end, GIT_STORIES, forms=frozenset({GIT}), work=work, joint=True)
        told = _last_within(after, upto, story_page(query, history).stories)
    return () if told is None else [seq for seq in told.seqs if after < seq <= upto]


def _last_within(after: int, upto: int, stories: Sequence[Story]) -> Story | None:
    wrote = [story for story in stories if any(after < seq <= upto for seq in story.seqs)]
    return next((story for story in wrote if story.newest == upto), wrote[0] if wrote else None)


def _end(record: Record, history: History) -> int:
    """Return the last record that may belong to the writes made together with `record`."""
    end, last_ns = _last_command(record, history), record.at_ns
    later = (seq for _, seqs in history.with_terms([_TERMS], record.seq, history.head()) for seq in seqs)
    for seq in islice(later, MOST_RECORDS):
        pause()
        one = history.record(seq)
        if one is None:
            continue
        if one.at_ns - last_ns > CROWD_PAUSE_NS and seq > end:
            break
        end, last_ns = max(seq, end), one.at_ns
    return end


def _last_command(record: Record, history: History) -> int:
    """Return the last record of a git command at the time of a write; one may be recorded long after it ended."""
    later = history.with_terms([[of_kind(GitRan.kind)]], record.seq, history.head())
    end = int(record.seq)
    for seq in islice((seq for _, seqs in later for seq in seqs), MOST_COMMANDS):
        ran = history.event(seq)
        if isinstance(ran, GitRan) and (ran.started_ns or ran.ended_ns) - record.at_ns <= CROWD_PAUSE_NS:
            end = seq
    return end
