"""What the log shows as one line of other programs' writes is what an undo takes as one."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import example, given, strategies as st

from diary import BEGAN_NS, SECOND, Diary
from quire_daemon.core.decision import Who
from quire_daemon.tools.undo.batches import Batches
from quire_daemon.tools.undo.params import UndoParams
from quire_daemon.tools.undo.select import choose
from quire_journal.history.history import History
from quire_journal.history.stories.story import CROWD, GIT, SAVES, Story
from quire_journal.model.events import BatchUndone, GitRan
from quire_journal.model.ids import WriterId

COMMANDS = ("checkout main", "stash", "stash pop", "pull")
WHO = Who(WriterId(0), b"")
LOCK = "git: index.lock was held"


def now_ns(diary: Diary) -> int:
    return BEGAN_NS + int(diary.at_s * SECOND)


def runs_git(diary: Diary, command: str, paths: Sequence[str], seen: str, after_s: float) -> GitRan | None:
    """A command of git writes. It is `seen` by its report, by its move of HEAD, or only by its lock."""
    diary.at_s += after_s
    began_ns = now_ns(diary)
    hint = {"report": f"git {command} (pid 7)", "head": f"git: {command} (HEAD main 1 -> dev 2)", "lock": LOCK}[seen]
    for path in paths:
        diary.outside(path, hint=hint)
    if seen == "report":
        return GitRan(command, started_ns=began_ns, ended_ns=now_ns(diary))
    return GitRan(command, evidence="head", ended_ns=now_ns(diary)) if seen == "head" else None


@st.composite
def days(draw: st.DrawFn) -> Diary:
    """Commands of git, programs that write many files, and saves, in any order."""
    diary = Diary()
    late: list[GitRan] = []  # a command may be recorded after the writes of the next
    for _ in range(draw(st.integers(1, 12))):
        after_s = draw(st.sampled_from((0.005, 0.05, 0.5, 1.5, 3.0, 20.0, 40.0, 200.0)))
        doing = draw(st.sampled_from(("git", "git", "burst", "save", "commit", "undo", "edit")))
        if doing == "git":
            paths = [f"src/{n}.py" for n in draw(st.sets(st.integers(0, 5), min_size=1))]
            command, seen = draw(st.sampled_from(COMMANDS)), draw(st.sampled_from(("report", "head", "lock")))
            ran = runs_git(diary, command, paths, seen, after_s)
            late += [] if ran is None else [ran]
        elif doing == "burst":
            hint = draw(st.sampled_from(("", "Bash (ann)")))
            for number in range(draw(st.integers(10, 20))):
                diary.outside(f"out/{number}.o", after_s=0.01 if number else after_s, hint=hint)
        elif doing == "commit":
            diary.at_s += after_s
            diary.note(GitRan("commit -m x", evidence="trace2", ended_ns=now_ns(diary)))
        elif doing == "undo":
            diary.note(BatchUndone(()), after_s=after_s)
        elif doing == "edit":
            diary.wrote("ann.py", diary.writer("ann", "s"), after_s=after_s)
        else:
            diary.outside(f"mine{draw(st.integers(0, 2))}.py", after_s=after_s)
        if late and draw(st.booleans()):
            diary.note(late.pop(0))
    return diary


def batches_of(story: Story) -> tuple[int, ...]:
    return tuple(sorted(story.seqs, reverse=True))


@given(days())
def test_an_undo_of_a_version_takes_what_its_story_of_git_or_burst_shows(diary: Diary) -> None:
    stories = diary.page(200).stories
    with diary.store.reading() as reading:
        history = History(reading)
        for story in (one for one in stories if one.form in (GIT, CROWD, SAVES)):
            for seq in story.seqs:
                taken = choose(UndoParams(batch=f"v{seq}"), Batches(history), WHO).batches
                assert taken == (batches_of(story) if story.form != SAVES else (seq,))
        wrote = [one for one in stories if one.form == GIT and one.writes]
        if wrote:
            assert choose(UndoParams(git="last"), Batches(history), WHO).batches == batches_of(wrote[0])


def two_commands() -> Diary:
    """Two commands of git whose reports come after the writes of both."""
    diary = Diary()
    reports = [runs_git(diary, command, [f"{command}.py"], "report", 0.05) for command in ("stash", "pull")]
    for report in reports:
        assert report is not None
        diary.note(report)
    return diary


@given(days())
@example(two_commands())
def test_an_undo_of_git_between_the_ends_of_a_command_takes_that_command(diary: Diary) -> None:
    stories = diary.page(200).stories
    with diary.store.reading() as reading:
        history = History(reading)
        for story in (one for one in stories if one.form == GIT and one.writes):
            wanted = UndoParams(git="last", from_=f"seq:{story.oldest - 1}", to=f"seq:{story.newest}")
            assert choose(wanted, Batches(history), WHO).batches == batches_of(story)
