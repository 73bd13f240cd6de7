"""Stories: which records make one, where it begins and ends, and that pages tell each record once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from diary import BEGAN_NS, SECOND, Diary
from quire_journal.history.authorship import LOCK_HELD
from quire_journal.history.history import History
from quire_journal.history.stories.fold import CROWD_PATHS, GRACE
from quire_journal.history.stories.story import WORK, Key, Story, StoryPage, folders_of, net_of
from quire_journal.model.events import (
    BurstBegun,
    CaptureFailed,
    CheckpointNamed,
    CommandRan,
    EditRefused,
    FileMoved,
    GitRan,
    OutsideMoved,
    OutsideWritten,
    WorkspaceScanned,
    WriteAttributed,
    WritesAbandoned,
    paths_of,
)
from quire_journal.model.uncaptured import IGNORED, TOO_LARGE
from quire_journal.text.text import Text
from quire_journal.views.indexes import term_index


def keys(stories: list[Story]) -> list[Key]:
    return [story.key for story in stories]


def test_a_turn_is_one_story_with_its_prompt_whatever_others_do_in_between() -> None:
    diary = Diary()
    ann = diary.turn("ann", "t1", "make it fast\nplease")
    diary.wrote("a.py", ann)
    ben = diary.turn("ben", "t9", "document it")
    diary.wrote("b.md", ben)
    diary.wrote("a.py", ann, after_s=900)
    first, second = diary.stories()
    assert (first.key, first.prompt) == (("turn", "ann", "ann-s", "t1"), "make it fast\nplease")
    assert (second.key, [run.path for run in second.runs]) == (("turn", "ben", "ben-s", "t9"), ["b.md"])
    assert (first.writes, first.closed) == (2, True)


def test_a_subagent_works_in_a_turn_of_its_parent() -> None:
    diary = Diary()
    diary.turn("ann", "t1", "go")
    diary.wrote("a.py", diary.writer("ann", "ann-s.sub", "t1", parent="ann-s"))
    (story,) = diary.stories()
    assert story.key == ("turn", "ann", "ann-s", "t1")


def test_an_agent_without_turns_has_a_story_for_each_time_that_it_is_at_work() -> None:
    diary = Diary()
    ann = diary.writer("ann", "s")
    diary.wrote("a.py", ann)
    diary.wrote("b.py", ann, after_s=60)
    diary.wrote("c.py", ann, after_s=7200)
    assert [story.writes for story in diary.stories()] == [1, 2]


def test_steady_work_of_an_agent_without_turns_is_a_story_for_each_hour() -> None:
    """An agent over MCP, which tells of no turns, had one story for a day."""
    diary = Diary()
    ann, turn = diary.writer("ann", "s"), diary.turn("ben", "t1", "go")
    for number in range(30):
        diary.wrote("a.py", ann, after_s=300)
        diary.wrote(f"{number}.md", turn)
    assert [(story.key[1], story.writes) for story in diary.stories()] == [
        ("ben", 30),
        ("ann", 12),
        ("ann", 12),
        ("ann", 6),
    ]


@pytest.mark.parametrize("of_path", [False, True])
def test_a_commit_by_an_agent_without_turns_ends_what_it_did_before(of_path: bool) -> None:
    diary = Diary()
    ann, ben = diary.writer("ann", "s"), diary.writer("ben", "s")
    for who, command, head in ((ann, "commit -m x", "2"), (ann, "add a.py", "1"), (ben, "commit -m y", "2")):
        diary.wrote("a.py", ann)
        diary.at_s += 1
        ended_ns = BEGAN_NS + int(diary.at_s * SECOND)
        diary.note(GitRan(command, ended_ns=ended_ns, head_before="main 1", head_after=f"main {head}"), who)
        diary.at_s += 1
    diary.wrote("a.py", ann)
    asked = {"fits": "a.py".__eq__, "admits": lambda record: "a.py" in paths_of(record.event())} if of_path else {}
    found = [story.writes for story in diary.page(**asked).stories if story.form == "turn"]
    assert found == [3, 1]


def test_quires_own_setup_is_no_agent() -> None:
    diary = Diary()
    diary.wrote("settings.json", diary.writer("quire", "setup"))
    assert [story.form for story in diary.stories()] == ["person"]
    assert diary.page(forms=frozenset({"turn"})).stories == []


def test_a_file_that_a_rule_ignores_now_was_written_by_nobody() -> None:
    diary = Diary()
    diary.outside("a.py", after_s=30)
    diary.note(CaptureFailed("b.py", IGNORED, 5, evidence="scanned"), after_s=1)
    diary.note(CaptureFailed("c.py", TOO_LARGE, 5, evidence="watched"), after_s=1)
    assert sorted(run.path for story in diary.stories() for run in story.runs) == ["a.py", "c.py"]


def test_consecutive_versions_of_a_story_are_one_run_unless_another_writer_interrupts() -> None:
    diary = Diary()
    ann, ben = diary.turn("ann", "t1", "x"), diary.turn("ben", "t2", "y")
    versions = [diary.wrote("a.py", writer) for writer in (ann, ann, ben, ann)]
    mine, theirs = diary.stories()
    assert [(run.first, run.last, run.base) for run in mine.runs] == [
        (versions[3], versions[3], versions[2]),
        (versions[0], versions[1], 0),
    ]
    assert [(run.first, run.last, run.base) for run in theirs.runs] == [(versions[2], versions[2], versions[1])]


def test_a_renamed_file_keeps_its_run() -> None:
    diary = Diary()
    diary.outside("old.py", "x\n")
    ann = diary.turn("ann", "t1", "rename")
    diary.wrote("old.py", ann, "y\n")
    blob = Text.of(b"y\n")
    diary.note(FileMoved("old.py", "new.py", blob.blob, 2, 0o644, diary.heads["old.py"]), ann)
    (run,) = diary.stories()[0].runs
    assert (run.path, run.base_path, run.base) == ("new.py", "old.py", 1)


def test_what_came_and_went_within_a_story_leaves_nothing() -> None:
    diary = Diary()
    diary.outside("kept.py", "one\n")
    diary.outside("scratch.py", "x\n", after_s=500)
    diary.outside("kept.py", "two\n")
    diary.removed("scratch.py")
    diary.outside("kept.py", "one\n")
    runs = diary.stories()[0].runs
    with diary.store.reading() as reading:
        assert [net_of(run, History(reading)) for run in runs] == [None, None]


def test_saves_of_an_editor_within_a_short_time_are_one_story() -> None:
    diary = Diary()
    for after_s in (0, 20, 90, 300):
        diary.outside("a.py", after_s=after_s)
    assert [story.writes for story in diary.stories()] == [1, 3]


def test_steady_saves_are_a_story_for_each_ten_minutes() -> None:
    diary = Diary()
    for number in range(25):
        diary.outside(f"{number % 3}.py", after_s=60)
    assert [story.writes for story in diary.stories()] == [11, 11, 3]


def test_what_agents_were_proved_to_have_written_is_in_their_turn_with_the_call() -> None:
    diary = Diary()
    diary.turn("ann", "t1", "go")
    call = diary.writer("ann", "ann-s", "t1", "call-1")
    burst = diary.note(BurstBegun("Bash", "native", 1 << 62, True, command="make fmt"), call)
    made = [diary.outside("a.py", hint="Bash"), diary.outside("b.py", hint="Bash")]
    diary.note(WriteAttributed((made[0],), call, "exact", burst))
    diary.note(WriteAttributed((made[1],), call, "during", burst))
    diary.outside("mine.py")
    diary.outside("mine.py", after_s=1)
    turn = diary.stories()[1]
    (told,) = turn.calls.values()
    assert (turn.key[0], turn.writes, turn.probable) == ("turn", 2, 1)
    assert (told.label, told.command, told.writes, [*told.paths]) == ("Bash", "make fmt", 2, ["b.py", "a.py"])


def test_what_several_may_have_written_is_nobodys_and_names_them() -> None:
    diary = Diary()
    burst = diary.note(BurstBegun("Bash", "native", 1 << 62, True), diary.turn("ann", "t1", "go"))
    made = diary.outside("a.py", hint="Bash (ann)")
    diary.note(WriteAttributed((made,), 0, "overlap", burst, (burst,)))
    saves, _ = diary.stories()
    assert (saves.key[0], saves.candidates, saves.hint) == ("saves", (burst,), "Bash (ann)")


def test_the_stories_of_a_path_name_the_calls_that_wrote_it() -> None:
    """`quire cat a.py@before:ruff` never found a formatter that an agent ran."""
    diary = Diary()
    ann = diary.turn("ann", "t1", "tidy up")
    call = diary.writer("ann", "ann-s", "t1", "call-1")
    burst = diary.note(BurstBegun("Bash", "call", 0, True, command="ruff format a.py"), call)
    made = diary.outside("a.py")
    diary.note(WriteAttributed((made,), call, "traced", burst))
    assert ann
    (story,) = diary.page(fits="a.py".__eq__).stories
    assert [(one.label, one.command) for one in story.calls.values()] == [("Bash", "ruff format a.py")]


def run(diary: Diary, writer: int, command: str, path: str, status: int | None = 0, hint: str = "") -> int:
    burst = diary.note(BurstBegun(command, "run", 1 << 62, True, command=command), writer)
    made = diary.outside(path, hint=hint)
    diary.note(WriteAttributed((made,), writer, "traced", burst))
    if status is not None:
        diary.note(CommandRan(burst, status, 2), writer)
    return burst


def test_a_command_that_a_person_ran_is_a_story_with_its_end() -> None:
    diary = Diary()
    user = diary.writer("", "", "", "")
    burst = run(diary, user, "make fmt", "a.py", 2)
    (story,) = diary.stories()
    assert (story.key, story.commands, story.status, story.by_others) == (("run", str(burst)), ["make fmt"], 2, 2)
    assert ([one.path for one in story.runs], story.writer) == (["a.py"], user)


def test_what_git_wrote_for_a_run_is_of_the_run() -> None:
    diary = Diary()
    run(diary, diary.writer("", "", "", ""), "git mv b.py a.py", "a.py", hint="git: index.lock was held")
    diary.outside("c.py", hint="git: index.lock was held")
    assert [(story.form, [one.path for one in story.runs]) for story in diary.stories()] == [
        ("git", ["c.py"]),
        ("run", ["a.py"]),
    ]


def test_two_runs_are_two_stories_and_a_killed_one_has_no_end() -> None:
    diary = Diary()
    user = diary.writer("", "", "", "")
    run(diary, user, "make a", "a.py", None)
    run(diary, user, "make b", "b.py")
    assert [(story.commands, story.status) for story in diary.stories()] == [(["make b"], 0), (["make a"], None)]


def test_what_an_isolated_command_changed_is_of_its_run() -> None:
    diary = Diary()
    user = diary.writer("", "", "", "")
    diary.wrote("before.py", user)
    burst = diary.note(BurstBegun("fmt", "run", 1 << 62, False, command="fmt"), user)
    diary.wrote("a.py", user)
    diary.outside("theirs.py")
    diary.note(CommandRan(burst, 0), user)
    diary.wrote("after.py", user)
    found = {story.form: [one.path for one in story.runs] for story in diary.stories()}
    assert found["run"] == ["a.py"]
    assert found["saves"] == ["theirs.py"]
    assert found["person"] == ["after.py", "before.py"]


def test_a_run_of_an_agent_in_its_turn_is_a_call_of_the_turn() -> None:
    diary = Diary()
    diary.turn("ann", "t1", "go")
    burst = run(diary, diary.writer("ann", "ann-s", "t1", "call-1"), "make fmt", "a.py", 1)
    (turn,) = diary.stories()
    assert [(call.number, call.command, call.status) for call in turn.calls.values()] == [(burst, "make fmt", 1)]


def test_the_stories_of_a_path_name_the_run_that_wrote_it_and_its_end() -> None:
    diary = Diary()
    run(diary, diary.writer("", "", "", ""), "make fmt", "a.py", 2)
    (story,) = diary.page(fits="a.py".__eq__).stories
    assert (story.commands, story.status) == (["make fmt"], 2)


def test_a_doubt_is_about_its_own_files_alone() -> None:
    """What a person saved seconds after two calls had ended was told as theirs, perhaps."""
    diary = Diary()
    call = diary.writer("ann", "ann-s", "t1", "call-1")
    burst = diary.note(BurstBegun("Bash", "native", 1 << 62, True), call)
    made = diary.outside("shared.txt")
    diary.note(WriteAttributed((made,), 0, "overlap", 0, (burst,)))
    diary.outside("mine.txt", after_s=8)
    mine, doubtful = (story for story in diary.stories() if story.form == "saves")
    assert ([run.path for run in mine.runs], mine.candidates) == (["mine.txt"], ())
    assert ([run.path for run in doubtful.runs], doubtful.candidates) == (["shared.txt"], (burst,))


def test_a_git_operation_is_one_story_with_its_command_and_where_head_went() -> None:
    diary = Diary()
    for number in range(30):
        diary.outside(f"src/{number}.py", hint="git checkout -q main (pid 7)")
    at = BEGAN_NS + int(diary.at_s * SECOND)
    diary.note(GitRan("checkout -q main", ended_ns=at, head_before="dev 1111111", head_after="main 2222222"))
    diary.outside("src/1.py", hint="git: index.lock was held", after_s=30)
    later, checkout = diary.stories()
    assert (later.form, later.writes, later.commands) == ("git", 1, [])
    assert (checkout.commands, checkout.writes) == (["checkout -q main"], 30)
    assert checkout.heads == ("dev 1111111", "main 2222222")


def test_a_git_command_ends_the_saves_before_it() -> None:
    diary = Diary()
    diary.outside("a.py")
    diary.at_s += 5
    diary.note(GitRan("stash", ended_ns=BEGAN_NS + int(diary.at_s * SECOND)))
    diary.at_s += 5
    diary.outside("b.py")
    assert [(story.form, story.writes) for story in diary.stories()] == [("saves", 1), ("git", 0), ("saves", 1)]


def test_a_git_command_ends_the_saves_before_it_on_a_page_without_git_commands_too() -> None:
    diary = Diary()
    diary.outside("a.py")
    diary.at_s += 5
    diary.note(GitRan("commit -m x", ended_ns=BEGAN_NS + int(diary.at_s * SECOND)))
    diary.at_s += 5
    diary.outside("a.py")
    diary.outside("b.py")
    diary.outside("a.py")
    found = diary.page(admits=lambda record: "a.py" in paths_of(record.event())).stories
    assert [(story.form, story.writes) for story in found] == [("saves", 2), ("saves", 1)]


def test_a_write_while_git_works_after_a_command_is_not_that_commands() -> None:
    """Four files that were made and committed after a reset were told as the reset's."""
    diary = Diary()
    diary.outside("a.py", hint="git: reset: moving to HEAD~15 (HEAD main 1 -> main 2)")
    at = BEGAN_NS + int(diary.at_s * SECOND)
    diary.note(GitRan("reset: moving to HEAD~15", ended_ns=at, evidence="head"))
    diary.outside("b.py", hint="git: index.lock was held", after_s=1)
    later, reset = diary.stories()
    assert (later.commands, later.writes) == ([], 1)
    assert (reset.commands, reset.writes) == (["reset: moving to HEAD~15"], 1)
    (alone,) = diary.page(fits="b.py".__eq__).stories
    assert alone.commands == []


def test_a_write_while_git_works_is_not_of_a_branch_that_was_made_at_the_same_commit() -> None:
    """Of `git switch -c f; git add -A; git commit; git switch main`, which removes files, the first had some."""
    diary = Diary()
    diary.outside("a.py", hint="git: index.lock was held")
    diary.outside("b.py", hint="git: checkout: moving from f to main (HEAD f 2222222 -> main 1111111)")
    at = BEGAN_NS + int(diary.at_s * SECOND)
    made, left = "checkout: moving from main to f", "checkout: moving from f to main"
    for command, before, after in ((made, "main 1111111", "f 1111111"), (left, "f 2222222", "main 1111111")):
        diary.note(GitRan(command, ended_ns=at, evidence="head", head_before=before, head_after=after))
    told = [(story.commands, story.writes) for story in diary.stories()]
    assert told == [([left], 2), ([made], 0)]


def test_a_write_while_git_works_is_not_of_a_command_that_had_labelled_the_write_before() -> None:
    """A reset right after a checkout had none of its files, and the checkout wrote one twice."""
    diary = Diary()
    checkout, reset = "checkout: moving from main to f", "reset: moving to HEAD~1"
    diary.outside("a.py", hint=f"git: {checkout} (HEAD main 1111111 -> f 2222222)")
    checked_out = BEGAN_NS + int(diary.at_s * SECOND)
    diary.outside("a.py", hint="git: index.lock was held", after_s=0.004)
    diary.outside("b.py", hint="git: index.lock was held", after_s=0.001)
    was_reset = BEGAN_NS + int(diary.at_s * SECOND)
    for command, at, before, after in (
        (checkout, checked_out, "main 1111111", "f 2222222"),
        (reset, was_reset, "f 2222222", "f 3333333"),
    ):
        diary.note(GitRan(command, ended_ns=at, evidence="head", head_before=before, head_after=after))
    assert [(story.commands, story.writes) for story in diary.stories()] == [([reset], 2), ([checkout], 1)]


def test_a_write_that_names_a_move_of_head_is_of_that_move_though_it_is_noted_after_it() -> None:
    """A merge right after a checkout had all files of both."""
    diary = Diary()
    checkout, merge = "checkout: moving from main to f", "merge g: Merge made by the 'ort' strategy."
    at = BEGAN_NS + int(diary.at_s * SECOND)
    heads = ("main 1111111", "f 2222222", "f 3333333")
    diary.note(GitRan(checkout, ended_ns=at, evidence="head", head_before=heads[0], head_after=heads[1]))
    diary.outside("a.py", hint=f"git: {checkout} (HEAD {heads[0]} -> {heads[1]})", after_s=0.015)
    diary.outside("b.py", hint=f"git: {merge} (HEAD {heads[1]} -> {heads[2]})", after_s=0.001)
    at += SECOND // 200
    diary.note(GitRan(merge, ended_ns=at, evidence="head", head_before=heads[1], head_after=heads[2]), after_s=1)
    assert [(story.commands, story.writes) for story in diary.stories()] == [([merge], 1), ([checkout], 1)]


def test_a_write_that_is_noted_just_after_its_command_ended_is_that_commands() -> None:
    """A reset of one file was told as a reset of nothing, and git at work on one file."""
    diary = Diary()
    diary.outside("a.py", hint="git: index.lock was taken at that moment")
    at = BEGAN_NS + int(diary.at_s * SECOND) - SECOND // 1000
    diary.note(GitRan("reset: moving to HEAD", ended_ns=at, evidence="head"))
    (story,) = diary.stories()
    assert (story.commands, story.writes) == (["reset: moving to HEAD"], 1)
    (alone,) = diary.page(fits="a.py".__eq__).stories
    assert alone.commands == ["reset: moving to HEAD"]


def test_a_write_while_git_works_is_not_of_a_command_long_after_it() -> None:
    """What `git checkout HEAD~1 -- a.py` did was told as the reset's three seconds later."""
    diary = Diary()
    diary.outside("a.py", hint="git: index.lock was held")
    diary.outside("a.py", hint="git: reset: moving to HEAD~1 (HEAD main 2 -> main 1)", after_s=3)
    at = BEGAN_NS + int(diary.at_s * SECOND)
    diary.note(GitRan("reset: moving to HEAD~1", ended_ns=at, evidence="head"))
    assert [story.commands for story in diary.stories()] == [["reset: moving to HEAD~1"], []]


@pytest.mark.parametrize("fits", [None, "b.py".__eq__])
def test_a_write_while_git_works_is_not_of_a_command_that_began_after_it(fits: Callable[[str], bool] | None) -> None:
    """A `git mv` a second before a checkout was told as the checkout's, and its undo brought the old name back."""
    diary = Diary()
    diary.outside("b.py", hint="git: index.lock was held")
    diary.outside("a.py", hint="git: index.lock was held", after_s=1)
    checkout = "checkout: moving from f to main"
    diary.outside("b.py", hint=f"git: {checkout} (HEAD f 2222222 -> main 1111111)", after_s=0.01)
    at = BEGAN_NS + int(diary.at_s * SECOND)
    heads = {"head_before": "f 2222222", "head_after": "main 1111111"}
    diary.note(GitRan(checkout, started_ns=at - SECOND // 50, ended_ns=at, evidence="head", **heads))
    told = [(story.commands, story.writes) for story in diary.page(fits=fits).stories]
    assert told == [([checkout], 2 if fits is None else 1), ([], 1)]


@pytest.mark.parametrize("after_s", [0.01, 0.03, 0.08])
def test_a_save_just_before_a_stash_is_none_of_its_writes(after_s: float) -> None:
    """An undo of the stash took the save back, too."""
    diary = Diary()
    saved = diary.outside("notes.md", "mine\n")
    hint = "git: stash (HEAD main 1 -> main 1)"
    diary.outside("app.py", hint=hint, after_s=after_s)
    diary.outside("notes.md", "as committed\n", hint=hint)
    diary.note(GitRan("stash", ended_ns=BEGAN_NS + int(diary.at_s * SECOND), evidence="head"))
    git, save = diary.page(joint=True).stories
    assert (git.form, save.form, save.seqs) == ("git", "saves", [saved])


@pytest.mark.parametrize("command", ["restore -SW src", "stash pop"])
def test_a_save_before_the_start_of_a_traced_command_is_none_of_its_writes(command: str) -> None:
    diary = Diary()
    saved = diary.outside("notes.md")
    started_ns = BEGAN_NS + int((diary.at_s + 0.005) * SECOND)
    diary.outside("src/app.py", hint=f"git {command} (claude-code/s1, pid 7)", after_s=0.015)
    ended_ns = BEGAN_NS + int(diary.at_s * SECOND)
    diary.note(GitRan(command, started_ns=started_ns, ended_ns=ended_ns, evidence="trace2"))
    git, save = diary.page(joint=True).stories
    assert (git.form, save.form, save.seqs) == ("git", "saves", [saved])


def test_untracked_files_that_a_stash_brings_back_before_git_shows_are_its() -> None:
    """A third of three hundred were told as files by other programs."""
    diary = Diary()
    for number in range(100):
        diary.outside(f"out/{number}.txt")
    hint = "git: stash pop (HEAD main 1 -> main 1)"
    for number in range(100, 150):
        diary.outside(f"out/{number}.txt", hint=hint)
    diary.note(GitRan("stash pop", ended_ns=BEGAN_NS + int(diary.at_s * SECOND), evidence="head"))
    (story,) = diary.stories()
    assert (story.form, story.writes, story.commands) == ("git", 150, ["stash pop"])


def test_the_git_story_of_one_path_has_the_command_that_the_whole_story_has() -> None:
    diary = Diary()
    diary.outside("a.py", hint="git: index.lock was held")
    diary.outside("b.py", hint="git: index.lock was held")
    diary.note(GitRan("merge side", ended_ns=BEGAN_NS + int(diary.at_s * SECOND), evidence="head"))
    (story,) = diary.page(fits="a.py".__eq__).stories
    assert (story.form, story.commands) == ("git", ["merge side"])


def test_a_commit_that_wrote_no_file_is_a_story() -> None:
    diary = Diary()
    diary.note(GitRan("commit -m x", exit_code=1))
    (story,) = diary.stories()
    assert (story.form, story.commands, story.failed) == ("git", ["commit -m x"], True)


def test_git_commands_that_follow_each_other_closely_are_stories_of_their_own() -> None:
    diary = Diary()

    def ran(command: str, began_s: float, head: str = "") -> None:
        ended = BEGAN_NS + int(diary.at_s * SECOND)
        diary.note(GitRan(command, started_ns=BEGAN_NS + int(began_s * SECOND), ended_ns=ended, head_after=head))

    diary.note(CheckpointNamed("here", 1))
    for command in ("commit -m x", "checkout dev"):
        began_s = diary.at_s + 0.1
        if command != "commit -m x":
            diary.outside("a.py", hint=f"git {command} (pid 7)", after_s=0.2)
        else:
            diary.at_s += 0.2
        ran(command, began_s)
    began_s = diary.at_s + 0.1
    diary.outside("b.py", hint="git pull (pid 8)", after_s=0.2)
    ran("merge origin", began_s + 0.05)  # which the next one ran
    diary.at_s += 0.1
    ran("pull", began_s)
    commands = [story.commands for story in diary.stories() if story.form == "git"]
    assert commands == [["pull", "merge origin"], ["checkout dev"], ["commit -m x"]]


def test_commands_that_are_recorded_after_the_writes_of_the_next_have_their_own_writes() -> None:
    """A stash had the writes of its pop, whose name begins with its own, and the time of it."""
    diary = Diary()
    ran = list[GitRan]()
    for command, path in (("stash", "a.py"), ("stash pop", "b.py"), ("stash", "c.py")):
        diary.outside(path, hint=f"git: {command} (HEAD main 1 -> main 1)", after_s=1.5)
        ran.append(GitRan(command, evidence="head", ended_ns=BEGAN_NS + int(diary.at_s * SECOND)))
    for one in ran:
        diary.note(one)
    stories = diary.stories()
    assert [(one.commands, [run.path for run in one.runs]) for one in stories] == [
        (["stash"], ["c.py"]),
        (["stash pop"], ["b.py"]),
        (["stash"], ["a.py"]),
    ]
    assert [(one.ended_ns - BEGAN_NS) / SECOND for one in stories] == [4.5, 3.0, 1.5]


def test_a_command_that_is_recorded_after_a_later_save_is_told_before_it() -> None:
    """A checkout stood above the save half a second later, under a time before its."""
    diary = Diary()
    diary.outside("mine.py")
    diary.at_s += 5
    hint, ran = "git: checkout: moving from main to side (HEAD main 1 -> side 2)", list[GitRan]()
    for path, later in (("a.py", "new.py"), ("", "newer.py")):
        if path:
            diary.outside(path, hint=hint)
        ended_ns = BEGAN_NS + int(diary.at_s * SECOND)
        ran.append(GitRan("checkout: moving from main to side", evidence="head", ended_ns=ended_ns))
        diary.outside(later, after_s=0.3)
        diary.at_s += 0.3
    for one in ran:
        diary.note(one)
    told = [(story.form, [run.path for run in story.runs]) for story in diary.stories()]
    assert told == [
        ("saves", ["newer.py"]),
        ("git", []),
        ("saves", ["new.py"]),
        ("git", ["a.py"]),
        ("saves", ["mine.py"]),
    ]


def test_the_steps_of_a_rebase_are_one_story() -> None:
    diary = Diary()
    steps = ("rebase (start): checkout main", "rebase (pick): two", "rebase (finish): returning to refs/heads/side")
    ran = list[GitRan]()
    for step in steps:
        diary.outside("a.py", hint=f"git: {step} (HEAD side 1 -> side 2)", after_s=0.3)
        ran.append(GitRan(step, evidence="head", ended_ns=BEGAN_NS + int(diary.at_s * SECOND)))
    for one in ran:
        diary.note(one)
    (story,) = diary.stories()
    assert (story.writes, story.commands) == (3, [*reversed(steps)])


def test_a_write_without_a_sign_of_git_at_the_moment_of_its_writes_is_gits() -> None:
    diary = Diary()
    diary.outside("mine.py")
    diary.at_s += 1
    diary.outside("a.py", hint="git: index.lock was held")
    diary.outside("b.py")
    diary.outside("c.py", hint="git: index.lock was held")
    assert [[run.path for run in story.runs] for story in diary.stories()] == [["c.py", "b.py", "a.py"], ["mine.py"]]


def test_a_save_at_the_moment_of_gits_writes_is_not_gits_if_the_index_was_not_locked() -> None:
    """A script that saved just after `git switch` lost its line to an undo of git's last command."""
    diary = Diary()
    diary.outside("a.py", hint="git: index.lock was held")
    diary.note(OutsideWritten("mine.py", b"x" * 32, 1, 0o644, "watched", unlocked=True), after_s=0.001)
    diary.outside("c.py", hint="git: index.lock was held", after_s=0.001)
    assert [[run.path for run in story.runs] for story in diary.stories()] == [["c.py", "a.py"], ["mine.py"]]


@pytest.mark.parametrize(("hint", "form"), [(LOCK_HELD, "turn"), ("git: merge x (HEAD a 1 -> a 2)", "git")])
def test_what_a_call_of_an_agent_moved_by_git_is_in_its_turn_and_what_a_merge_did_is_not(hint: str, form: str) -> None:
    """`git mv` in a turn was a line of its own: a git command of one file."""
    diary = Diary()
    diary.outside("a.py")
    diary.at_s += 60
    ann = diary.turn("ann", "t1", "move it")
    moved = diary.note(OutsideMoved("a.py", "b.py", b"x" * 32, 1, 0o644, "watched", diary.heads["a.py"], hint=hint))
    diary.note(WriteAttributed((moved,), ann, "traced"))
    assert next(one.form for one in diary.stories() if one.writes) == form


def test_two_set_ups_are_two_stories() -> None:
    """They were one line, named after the last, with the files of both."""
    diary = Diary()
    me = diary.writer("quire", "")
    for name in ("claude-code", "codex"):
        burst = diary.note(BurstBegun(f"quire setup {name}", "set-up", 1 << 62), me)
        wrote = diary.outside(f"{name}.json", after_s=1)
        diary.note(WriteAttributed((wrote,), me, "exact", burst))
    diary.wrote("a.py", me, after_s=1)
    told = [(story.hint, [run.path for run in story.runs]) for story in diary.stories() if story.form == "person"]
    assert told == [
        ("", ["a.py"]),
        ("quire setup codex", ["codex.json"]),
        ("quire setup claude-code", ["claude-code.json"]),
    ]


@pytest.mark.parametrize("filtered", [False, True])
def test_a_save_of_a_file_that_others_changed_meanwhile_is_no_part_of_later_saves(filtered: bool) -> None:
    """A file that a run had removed stood as added in the newest line."""
    diary = Diary()
    ann = diary.writer("ann", "s1")
    diary.outside("n.txt", "one")
    diary.outside("a.py", "one", after_s=1)
    diary.wrote("n.txt", ann, "two", after_s=1)
    diary.outside("a.py", "two", after_s=1)
    wanted = {"wanted": [[term_index.OUTSIDE_TERM]], "admits": lambda record: record.writer == 0}
    saves = [one for one in diary.page(**(wanted if filtered else {})).stories if one.form == "saves"]
    assert [[run.path for run in story.runs] for story in saves] == [["a.py"], ["n.txt"]]


def test_a_build_is_counted_in_one_piece_for_a_writer_too() -> None:
    diary = Diary()
    for _ in range(1500):
        diary.outside("out/a.o", after_s=0.001)
    wanted, admits = [[term_index.OUTSIDE_TERM]], lambda record: record.writer == 0
    page = diary.page(work=800, wanted=wanted, admits=admits)
    assert [(story.form, story.writes) for story in page.stories] == [("crowd", 1500)]


def test_many_files_at_once_are_a_burst_and_a_save_before_it_is_not_part_of_it() -> None:
    diary = Diary()
    diary.outside("README.md")
    for number in range(CROWD_PATHS + 1):
        diary.outside(f"out/{number}.o", after_s=5 if number == 0 else 0.01)
    assert keys(diary.stories()) == [("crowd", ""), ("saves", "", "")]


def test_a_save_amid_a_burst_is_no_part_of_it_where_their_hints_differ() -> None:
    diary = Diary()
    for number in range(CROWD_PATHS + 1):
        diary.outside(f"build/{number}.o", hint="Bash (ann/s)")
    diary.outside("a.py", hint="Edit a.py (ann/s)")
    assert [story.form for story in diary.stories()] == ["saves", "crowd"]


def test_a_refusal_that_names_no_file_is_not_told() -> None:
    diary = Diary()
    ann = diary.writer("ann", "s")
    diary.wrote("a.py", ann)
    diary.note(EditRefused("undo", "", "not_found"), ann)
    (story,) = diary.stories()
    assert story.refused == []


def test_a_large_build_is_counted_without_reading_every_record() -> None:
    diary = Diary()
    diary.outside("a.py", "x\n")
    ann = diary.turn("ann", "t1", "go")
    for number in range(1500):
        diary.outside(f"out/{number}.o", after_s=5 if number == 0 else 0.001)
    diary.wrote("b.py", ann, after_s=9)
    page = diary.page(work=800)
    assert page.following is None
    assert [(story.form, story.writes) for story in page.stories] == [("turn", 1), ("crowd", 1500), ("saves", 1)]


@pytest.mark.parametrize("files", [40, 300, 1000])
def test_what_is_saved_soon_after_a_build_is_no_part_of_it(files: int) -> None:
    diary = Diary()
    diary.outside("before.py")
    for number in range(files):
        diary.outside(f"out/{number}.o", after_s=6 if number == 0 else 0.001)
    diary.outside("after.py", after_s=4)
    diary.outside("later.py", after_s=20)
    saves, build = diary.stories()
    assert (build.form, build.writes) == ("crowd", files)
    assert [run.path for run in saves.runs] == ["later.py", "after.py", "before.py"]


def test_a_slow_build_is_one_story() -> None:
    diary = Diary()
    for number in range(600):
        diary.outside(f"out/{number}.o", after_s=3 if number % 50 == 0 else 0.05)
    assert [(story.form, story.writes) for story in diary.stories()] == [("crowd", 600)]


def test_an_agents_write_amid_a_build_stays_the_agents() -> None:
    diary = Diary()
    ann = diary.turn("ann", "t1", "go")
    burst = diary.note(BurstBegun("Edit a.py", "native", 1 << 62, True, paths=("a.py",)), ann)
    made = 0
    for number in range(1000):
        diary.outside(f"out/{number}.o", after_s=0.001)
        if number == 500:
            made = diary.outside("a.py", after_s=0.001)
    diary.note(WriteAttributed((made,), ann, "exact", burst))
    told = {story.form: story for story in diary.stories()}
    assert (told["crowd"].writes, told["turn"].writes, told["turn"].runs[0].path) == (1000, 1, "a.py")


def test_the_first_capture_is_one_story_and_what_an_agent_did_meanwhile_is_another() -> None:
    diary = Diary()
    for number in range(40):
        diary.outside(f"{number}.py", found="captured")
    ann = diary.turn("ann", "t1", "go")
    diary.wrote("0.py", ann)
    diary.note(WorkspaceScanned("start", 41, 40))
    diary.outside("1.py")
    stories = diary.stories()
    assert keys(stories) == [("saves", "", ""), ("capture",), ("turn", "ann", "ann-s", "t1")]
    assert (stories[1].files, stories[2].writes) == (41, 1)


def test_refusals_and_checkpoints_are_told_and_writes_that_did_not_happen_are_not() -> None:
    diary = Diary()
    ann = diary.turn("ann", "t1", "go")
    diary.note(EditRefused("edit", "a.py", "anchor_stale"), ann)
    lost = diary.wrote("a.py", ann)
    diary.note(WritesAbandoned((lost,), "race"))
    diary.note(CheckpointNamed("lunch", lost), ann)
    checkpoint, turn = diary.stories()
    assert (checkpoint.name, turn.refused, turn.writes) == ("lunch", [("a.py", "anchor_stale")], 0)


@st.composite
def days(draw: st.DrawFn) -> Diary:
    """Two agents, an editor, git, whose commands may be recorded late, and a build, in any order."""
    diary = Diary()
    doings = st.lists(st.tuples(st.integers(0, 7), st.sampled_from((0.01, 0.3, 1.0, 40.0, 400.0))), max_size=40)
    turns = {"ann": 0, "ben": 0}
    late = list[GitRan]()
    for doing, after_s in draw(doings):
        agent = "ann" if doing % 2 else "ben"
        if doing < 2:
            turns[agent] += 1
            diary.turn(agent, f"{agent}-{turns[agent]}", "go")
        elif doing < 4:
            turn = f"{agent}-{turns[agent]}" if turns[agent] else ""
            diary.wrote(f"{agent}.py", diary.writer(agent, f"{agent}-s", turn), after_s=after_s)
        elif doing == 4:
            diary.outside("mine.py", after_s=after_s)
        elif doing > 5:
            hint = "git: checkout: moving from main to side (HEAD main 1 -> side 2)"
            diary.outside("a.py", after_s=after_s, hint=hint if doing == 6 else "git: index.lock was held")
            ended_ns = BEGAN_NS + int(diary.at_s * SECOND)
            late.append(GitRan("checkout: moving from main to side", evidence="head", ended_ns=ended_ns))
            continue
        else:
            for number in range(3):
                diary.outside(f"{number}.py", after_s=after_s if number == 0 else 0.01, hint="git pull")
            diary.note(GitRan("pull", ended_ns=BEGAN_NS + int(diary.at_s * SECOND)))
        while late and late[0].ended_ns < BEGAN_NS + (diary.at_s - 0.5) * SECOND:
            diary.note(late.pop(0))
    for one in late:
        diary.note(one)
    return diary


def shape(stories: list[Story]) -> list[tuple[Key, int, int, int]]:
    return [(story.key, story.newest, story.oldest, story.writes) for story in stories]


def test_a_page_does_not_end_before_what_was_saved_while_an_agent_worked_is_whole() -> None:
    diary = Diary()
    diary.outside("mine.py")
    diary.turn("ben", "t1", "go")
    ben = diary.turn("ben", "t2", "go")
    diary.at_s += 5
    diary.wrote("ben.py", ben)
    diary.outside("mine.py", after_s=0.01)
    assert [(story.form, story.writes) for story in diary.page(1).stories] == [("saves", 2)]


@given(days(), st.integers(1, 4))
def test_pages_tell_the_same_stories_as_one_page_does(diary: Diary, limit: int) -> None:
    upto: int | None = diary.journal.head
    told: list[Story] = []
    page = StoryPage([], upto)
    while page.following:
        page = diary.page(limit, upto=page.following, straddlers=page.straddlers)
        assert len(page.stories) <= limit
        told += page.stories
    assert shape(told) == shape(diary.stories())


@given(days(), st.integers(5, 40))
def test_pages_with_little_work_tell_every_write_once(diary: Diary, work: int) -> None:
    told: list[Story] = []
    page = StoryPage([], diary.journal.head)
    while page.following:
        page = diary.page(3, upto=page.following, straddlers=page.straddlers, work=work)
        told += page.stories
    assert sum(story.writes for story in told) == sum(story.writes for story in diary.stories())


@pytest.mark.parametrize(
    ("paths", "told"), [(["a/b", "a/c", "d", "e/f/g"], ["a/", "./", "e/"]), ([], []), (["x", "y"], [])]
)
def test_folders_are_named_by_how_many_files_are_in_them(paths: list[str], told: list[str]) -> None:
    assert folders_of(paths) == told


def interrupted(turn: str, between: int) -> Diary:
    """Hal writes two files, others `between` records, hal a third."""
    diary = Diary()
    if turn:
        diary.turn("hal", turn, "go")
    hal, ben = diary.writer("hal", "hal-s", turn), diary.turn("ben", "b1", "go")
    diary.wrote("f1.py", hal)
    diary.wrote("f2.py", hal)
    for _ in range(between):
        diary.wrote("ben.py", ben)
    diary.wrote("f3.py", hal)
    return diary


@pytest.mark.parametrize("turn", ["", "t1"])
@pytest.mark.parametrize("limit", [1, 2, 50])
@pytest.mark.parametrize("between", [GRACE + 50, WORK + GRACE])
def test_an_agents_story_has_all_its_writes_whatever_the_page_has_room_for(turn: str, limit: int, between: int) -> None:
    """It was cut where the page had read enough, and told fewer files."""
    hals = interrupted(turn, between).page(limit).stories[0]
    assert (hals.key[1], hals.writes, hals.closed) == ("hal", 3, True)


def test_the_stories_of_a_path_have_all_writes_there_whatever_the_page_has_room_for() -> None:
    diary = Diary()
    hal, ben = diary.writer("hal", "hal-s"), diary.turn("ben", "b1", "go")
    for path in ("a/1.py", "b/1.py", "a/2.py"):
        diary.wrote(path, hal)
    for _ in range(GRACE + 50):
        diary.wrote("a/ben.py", ben)
    diary.wrote("a/3.py", hal)
    with diary.store.reading() as reading:
        numbers = History(reading).path_numbers("a/", lambda path: path.startswith("a/"), "a/")
    hals = diary.page(1, fits=lambda path: path.startswith("a/"), numbers=numbers).stories[0]
    assert (hals.key[1], hals.writes, hals.closed) == ("hal", 3, True)


def test_a_story_of_which_the_page_read_all_is_whole() -> None:
    """An agent that was new on the page was told to have begun earlier."""
    diary = Diary()
    ben = diary.turn("ben", "b1", "go")
    for _ in range(GRACE + 50):
        diary.wrote("ben.py", ben)
    diary.wrote("new.py", diary.writer("hal", "hal-s"))
    hals = diary.page(1).stories[0]
    assert (hals.key[1], hals.writes, hals.closed) == ("hal", 1, True)


def test_a_turn_that_paused_is_whole_only_with_its_first_write() -> None:
    diary = interrupted("t1", GRACE + 50)
    for _ in range(2):
        diary.at_s += 7200
        diary.wrote("ben.py", diary.writer("ben", "b2"))
    diary.wrote("f4.py", diary.writer("hal", "hal-s", "t1"))
    assert [(story.writes, story.closed) for story in diary.page(1).stories] == [(4, True)]


def test_a_story_of_more_writes_than_a_page_reads_is_cut_and_not_whole() -> None:
    diary = Diary()
    hal = diary.turn("hal", "t1", "go")
    for _ in range(WORK + 2 * GRACE):
        diary.wrote("f.py", hal)
    page = diary.page()
    assert [(story.writes < WORK + 2 * GRACE, story.closed) for story in page.stories] == [(True, False)]
    rest = diary.page(upto=page.following, straddlers=page.straddlers).stories
    assert sum(story.writes for story in (*page.stories, *rest)) == WORK + 2 * GRACE
