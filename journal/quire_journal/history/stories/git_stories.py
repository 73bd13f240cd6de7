"""Stories of git: the story to which a write by git, or the record of a git command, belongs.

The hint of a write names its command, or only says that git was at work; the record of a command has its time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container
from typing import Final

from quire_journal.history import History, command_name, command_of, keeps_tree
from quire_journal.history.stories.story import SECOND, Key, Story
from quire_journal.model import Event, GitRan, Record, paths_of

LAG_NS: Final = SECOND // 10
"""Maximum delay of the record of a write after the end of its git command, in ns."""

BESIDE_NS: Final = SECOND // 50
"""Maximum time between a write by git and one for which git was not seen to run, in ns."""

RESTORING: Final = ("stash pop", "stash apply", "stash branch")
"""Commands that restore the files of a stash."""

UNTRACKED_NS: Final = 2 * SECOND
"""Maximum time in ns in which `git stash` restores many untracked files before git is seen to run."""


BY_HEAD: Final = "git: "
"""Beginning of a hint that names a move of HEAD by its text in the log, which `GitRan` has as well."""

NEAR_RECORDS: Final = 16
"""Maximum number of records before a write that are searched for a command that had ended before it."""


def ended_before(record: Record, history: History) -> str:
    """Return the git command that a write just before `record` names with its move of HEAD, and which had ended by
    then; "" if there is none.
    """
    for seq in range(record.seq - 1, max(record.seq - NEAR_RECORDS, 0), -1):
        one = history.record(seq)
        if one is None or record.at_ns - one.at_ns > SECOND:
            break
        hint = str(getattr(one.event(), "hint", ""))
        if hint.startswith(BY_HEAD) and (command := command_of(hint)):
            return command
    return ""


class GitStories:
    """The open stories of git, newest first."""

    def __init__(self, ends: Callable[[Story, int], bool]) -> None:
        """`ends` returns True if a story can have no record as old as a time in ns."""
        self._ends = ends
        self._open: list[Story] = []

    def add(self, story: Story) -> None:
        self._open.append(story)

    def has(self, command: str, at_ns: int) -> bool:
        return any(command in map(command_name, story.commands) for story in self._near(at_ns))

    def of_write(
        self, hint: str, at_ns: int, named: Collection[str] = (), ended: Callable[[], str] = str
    ) -> Key | None:
        """Return the key of the open story of the git command that wrote the files `named`; None for a new story.
        `ended` returns a command that had ended before git was seen to write, else "".
        """
        command = command_of(hint)
        near = [story for story in self._near(at_ns) if not story.keeps_tree]
        if not command and len(near) > 1:
            over = ended()
            near = [story for story in near if over not in map(command_name, story.commands)] or near
        for story in near if command else ():
            if command in (command_of(story.hint), *map(command_name, story.commands)):
                return story.key
        for story in near:
            again = not story.commands and not story.paths.isdisjoint(named)
            within = not story.commands or story.started_ns <= at_ns <= story.ended_ns + LAG_NS
            if not command and not again and within:
                return story.key
            if not command or (story.commands and hint.startswith(BY_HEAD)):
                continue
            if at_ns >= story.began_ns if story.commands else not (again or command_of(story.hint)):
                return story.key
        return None

    def of_command(self, event: GitRan, at_ns: int) -> Key | None:
        """Return the key of the open story that has the writes of a command, or the command that ran it; None for a new
        story.
        """
        command = command_name(event.command)
        if keeps_tree(event):
            return None
        for story in self._near(at_ns):
            if not story.commands:
                named = command_of(story.hint)
                if named == command or (not named and at_ns + LAG_NS >= story.began_ns):
                    return story.key
            elif event.evidence == "trace2":
                if at_ns >= story.began_ns:
                    return story.key
            elif command != event.command and command in map(command_name, story.commands):
                return story.key
        return None

    def at(self, record: Record, event: Event) -> Key | None:
        """Return the key of the story of git that wrote other files at the time of this write, which has no hint; None
        if no story did.
        """
        here = (
            story
            for story in self._open
            if story.wrote_ns
            and record.at_ns >= story.started_ns
            and is_beside(record, event, story.wrote_ns, story.paths)
        )
        return next((story.key for story in here), None)

    def stash_before(self, newest_ns: int, of_many: bool) -> Key | None:
        """Return the key of the story of a command that restored a stash just after writes up to `newest_ns`, or None.
        Git restores untracked files before it is seen to run; `of_many`: many files, which take longer.
        """
        for story in self._open:
            if story.commands and story.commands[-1].startswith(RESTORING):
                within_ns = UNTRACKED_NS if of_many else LAG_NS
                earliest_ns = story.started_ns or story.began_ns - within_ns
                if earliest_ns <= newest_ns <= story.ended_ns:
                    return story.key
        return None

    def _near(self, at_ns: int) -> list[Story]:
        self._open = [story for story in self._open if not story.closed and not self._ends(story, at_ns)]
        return self._open[::-1]


def is_beside(record: Record, event: Event, at_ns: int, named: Container[str]) -> bool:
    """True for a write at the moment `at_ns` of a write by git, without a hint, of none of the files `named`; False if
    it came while git's index was watched and not locked.
    """
    return (
        not getattr(event, "hint", "")
        and not getattr(event, "unlocked", False)
        and abs(record.at_ns - at_ns) <= BESIDE_NS
        and not any(path in named for path in paths_of(event))
    )
