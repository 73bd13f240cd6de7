"""Which outside writes are labelled with git, by what it says and by what it leaves behind; by a clock that is set."""

from __future__ import annotations

import os
import shutil
import zlib
from pathlib import Path

import pytest
from clocks import SetClock
from test_trace2 import MS, Gits, lines

from quire_daemon.commit.recorder import Recorder
from quire_daemon.watch.git.attribution import NOTICED_NS, GitWriter
from quire_daemon.watch.git.head import EXPECTED_NS, GitHead
from quire_journal.history.authorship import LOCK_HELD, LOCK_TAKEN
from quire_journal.journal import Journal
from quire_journal.model.events import GitRan, WriterIntroduced
from quire_journal.model.ids import WriterId
from quire_journal.model.records import JournalDamaged
from quire_journal.storage.memory import MemoryStore
from quire_journal.workspaces.repository import git_folder

A, B = "a" * 40, "b" * 40


class Repository:
    """The files of a repository that git would change, and a clock that stamps them."""

    def __init__(self, root: Path) -> None:
        self.clock = SetClock()
        self.git = root / ".git"
        (self.git / "logs").mkdir(parents=True)
        self.root = root
        self.born: dict[str, int] = {}  # when files came
        self.commit = "0" * 40  # of HEAD
        self.writes("index", "")
        self.moves("main", A, "commit (initial): one")
        self.clock.pass_s(60)

    def writes(self, name: str, text: str) -> None:
        (self.git / name).write_text(text)
        os.utime(self.git / name, ns=(self.clock.ns, self.clock.ns))

    def moves(self, branch: str, commit: str, said: str) -> None:
        """HEAD moves, and its log says why."""
        self.points(branch)
        self.logs(commit, said)

    def points(self, branch: str) -> None:
        self.writes("HEAD", f"ref: refs/heads/{branch}\n")

    def logs(self, commit: str, said: str) -> None:
        log = self.git / "logs" / "HEAD"
        before = log.read_text() if log.exists() else ""
        second = self.clock.ns // 1_000_000_000
        self.writes("logs/HEAD", f"{before}{self.commit} {commit} A U <a@u> {second} +0000\t{said}\n")
        self.commit = commit

    def stashes(self, *entries: str) -> None:
        """The log of the stash has these entries; without one, git removes it."""
        folder = self.git / "logs" / "refs"
        folder.mkdir(exist_ok=True)
        if entries:
            self.writes("logs/refs/stash", "".join(f"{A} {B} A U <a@u> 1 +0000\t{said}\n" for said in entries))
        else:
            (folder / "stash").unlink()
            os.utime(folder, ns=(self.clock.ns, self.clock.ns))

    def unlocks(self, after_ns: int = 0) -> None:
        """Git writes the index; its lock came so long before."""
        self.writes("index.lock", "tree")
        self.born[str(self.git / "index")] = self.clock.ns - after_ns if after_ns else 0
        (self.git / "index.lock").rename(self.git / "index")


class Scene:
    """The part of the loop that has to do with git."""

    def __init__(self, root: Path) -> None:
        self.repository = Repository(root)
        self.clock = self.repository.clock
        self.recorder = Recorder(Journal.open(MemoryStore(), self.clock.ns), self.clock)
        self.gits = Gits()
        self.git = GitWriter(
            self.recorder,
            self.clock,
            GitHead(str(root), lambda path: self.repository.born.get(path, 0)),
            self.gits.commands,
        )

    def starts(self, number: int, said: list[bytes]) -> None:
        self.gits.starts(number, said, self.clock.ns)
        self.git.look()

    def ends(self, number: int) -> None:
        self.gits.ends(number, self.clock.ns)
        self.git.look()

    def hint(self, ago_s: float = 0.0, exact: bool = True) -> str:
        return self.git.hint("f.txt", self.clock.ns - int(ago_s * 1e9), exact)

    def ran(self) -> list[GitRan]:
        return [event for _, event in self.records() if isinstance(event, GitRan)]

    def records(self) -> list[tuple[int, object]]:
        self.recorder.commit()
        with self.recorder.history() as history:
            return [(record.writer, record.event()) for record in history.records()]


# ── heard ────────────────────────────────────────────────────────────────────


def test_a_write_is_labelled_with_the_one_command_that_runs_and_the_session_that_ran_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.starts(7, lines("checkout", "main", agent="ada", worktree="/w"))
    assert scene.hint() == "git checkout main (ada/s1, pid 7)"


def test_a_write_during_two_concurrent_commands_has_no_known_writer(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.starts(7, lines("checkout", agent="ada", sid="a"))
    scene.starts(8, lines("merge", agent="ben", sid="b"))
    assert scene.hint() == "git"


def test_a_change_without_a_stamp_may_have_been_noticed_a_moment_later(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.starts(7, lines("checkout"))
    scene.ends(7)
    scene.clock.ns += NOTICED_NS
    assert scene.hint() == ""
    assert scene.hint(exact=False) == "git checkout (pid 7)"
    scene.clock.ns += MS
    assert scene.hint(exact=False) == ""


def test_each_command_is_recorded_once_though_one_of_them_cannot_be(tmp_path: Path) -> None:
    """What cannot be read of the journal is told; the commands before it were noted again at each look."""
    scene = Scene(tmp_path)
    for number in (7, 8, 9):
        scene.starts(number, lines("checkout", sid=str(number)))
    for number in (7, 8, 9):
        scene.gits.ends(number, scene.clock.ns)
    known = scene.recorder.writer

    def writer(who: WriterIntroduced) -> WriterId:
        if who.pid == 8:
            raise JournalDamaged("a row cannot be read")
        return known(who)

    scene.recorder.writer = writer  # type: ignore[method-assign]
    with pytest.raises(JournalDamaged):
        scene.git.look()
    scene.git.look()
    pids = {event.id: event.pid for _, event in scene.records() if isinstance(event, WriterIntroduced)}
    assert [pids[number] for number, event in scene.records() if isinstance(event, GitRan)] == [7, 9]


def test_a_command_that_ended_is_recorded_by_a_writer_whose_process_the_kernel_attests(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.starts(7, lines("checkout", "side", agent="ada"))
    scene.clock.pass_s(1)
    scene.repository.moves("side", B, "checkout: moving from main to side")
    scene.ends(7)
    (ran,) = scene.ran()
    assert (ran.command, ran.agent, ran.agent_session, ran.exit_code) == ("checkout side", "ada", "s1", 0)
    assert (ran.ended_ns - ran.started_ns, ran.evidence) == (1_000 * MS, "trace2")
    assert (ran.head_before, ran.head_after) == (f"main {A[:12]}", f"side {B[:12]}")
    (number,) = (writer for writer, event in scene.records() if isinstance(event, GitRan))
    (who,) = (event for _, event in scene.records() if isinstance(event, WriterIntroduced))
    assert (who.id, who.uid, who.pid, who.agent) == (number, 1000, 7, "ada")


def test_the_move_of_head_by_a_command_that_was_heard_labels_nothing_else(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.starts(7, lines("checkout", "side"))
    scene.repository.moves("side", B, "checkout: moving from main to side")
    scene.ends(7)
    scene.clock.ns += MS
    assert scene.hint() == ""
    scene.git.tidy()
    assert len(scene.ran()) == 1


# ── unheard ──────────────────────────────────────────────────────────────────


def test_a_write_just_before_a_move_of_head_is_labelled_with_its_target_and_the_move_is_recorded(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path)
    scene.repository.moves("side", B, "checkout: moving from main to side")
    moved = f"git: checkout: moving from main to side (HEAD main {A[:12]} -> side {B[:12]})"
    assert scene.hint(ago_s=0.5) == moved
    assert scene.hint(ago_s=1.5) == ""
    scene.clock.pass_s(0.2)
    assert scene.hint() == ""
    scene.git.tidy()
    scene.git.tidy()
    (ran,) = scene.ran()
    assert (ran.command, ran.evidence) == ("checkout: moving from main to side", "head")
    assert (ran.head_before, ran.head_after) == (f"main {A[:12]}", f"side {B[:12]}")


def test_each_command_of_a_chain_between_two_looks_is_recorded(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    moves = scene.repository.moves
    moves("side", A, "checkout: moving from main to side")
    moves("side", B, "commit: two")
    moves("main", A, "checkout: moving from side to main")
    scene.clock.pass_s(1.5)
    moves("main", B, "merge side: Fast-forward")
    assert scene.hint(ago_s=0.1).startswith("git: merge side: Fast-forward (HEAD main aaaa")
    scene.git.tidy()
    assert [(ran.command, ran.head_before, ran.head_after) for ran in scene.ran()] == [
        ("checkout: moving from main to side", f"main {A[:12]}", f"side {A[:12]}"),
        ("checkout: moving from side to main", f"side {B[:12]}", f"main {A[:12]}"),
        ("merge side: Fast-forward", f"main {A[:12]}", f"main {B[:12]}"),
    ]


def test_a_branch_that_head_left_before_its_move_was_seen_is_named_by_the_log(tmp_path: Path) -> None:
    """A new branch whose next command had moved HEAD, not yet its log, was `main → main`."""
    scene = Scene(tmp_path)
    scene.repository.moves("side", B, "checkout: moving from main to side")
    scene.clock.ns += MS
    scene.repository.points("main")
    moved = f"git: checkout: moving from main to side (HEAD main {A[:12]} -> side {B[:12]})"
    assert scene.hint(ago_s=0.001) == moved
    scene.repository.logs(A, "checkout: moving from side to main")
    assert scene.hint().endswith(f"(HEAD side {B[:12]} -> main {A[:12]})")
    scene.git.tidy()
    assert [(ran.head_before, ran.head_after) for ran in scene.ran()] == [
        (f"main {A[:12]}", f"side {B[:12]}"),
        (f"side {B[:12]}", f"main {A[:12]}"),
    ]


def test_a_commit_after_which_head_is_leaving_its_branch_is_of_that_branch(tmp_path: Path) -> None:
    """`main` was told to have left a commit that it never was at."""
    scene = Scene(tmp_path)
    scene.repository.moves("side", A, "checkout: moving from main to side")
    scene.repository.moves("side", B, "commit: two")
    scene.clock.ns += MS
    scene.repository.points("main")
    assert scene.hint() == ""
    scene.repository.logs(A, "checkout: moving from side to main")
    assert scene.hint().endswith(f"(HEAD side {B[:12]} -> main {A[:12]})")


def test_moves_of_head_while_it_is_read_are_told_as_the_log_has_them(tmp_path: Path) -> None:
    """The branch of one move stood beside the command of the next."""
    repository = Repository(tmp_path)
    to_come: list[tuple[str, str, str]] = []

    def born_ns(path: str) -> int:
        while to_come:
            repository.moves(*to_come.pop(0))
        return 0

    head = GitHead(str(tmp_path), born_ns)
    repository.moves("side", B, "checkout: moving from main to side")
    to_come.append(("main", A, "checkout: moving from side to main"))
    repository.clock.ns += MS
    repository.unlocks()
    head.hint(repository.clock.ns, 0, repository.clock.ns)
    assert [str(move.after) for move in head.finished(repository.clock.ns)] == [f"side {B[:12]}", f"main {A[:12]}"]


def test_a_log_of_head_that_git_wrote_anew_tells_no_move(tmp_path: Path) -> None:
    """`git gc` shortens the log; the last move was told a second time."""
    scene = Scene(tmp_path)
    scene.repository.moves("main", B, "reset: moving to HEAD~1")
    assert scene.hint() != ""
    scene.git.tidy()
    scene.clock.pass_s(60)
    log = scene.repository.git / "logs" / "HEAD"
    kept = log.read_text().splitlines(keepends=True)[-1]
    scene.repository.writes("logs/HEAD.lock", kept)
    (scene.repository.git / "logs" / "HEAD.lock").rename(log)
    assert scene.hint() == ""
    scene.git.tidy()
    assert len(scene.ran()) == 1


def test_a_write_that_two_commands_of_a_chain_may_have_made_is_labelled_with_neither(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.repository.moves("side", "c" * 40, "checkout: moving from main to side")
    scene.repository.moves("side", B, "merge other: Fast-forward")
    assert scene.hint() == "git"


@pytest.mark.parametrize("second", ["checkout: moving from side to main", "merge other: Fast-forward"])
def test_a_write_between_two_commands_that_were_seen_apart_is_the_seconds(tmp_path: Path, second: str) -> None:
    """A write before the end of the first is the first's, though it is looked at after both."""
    scene = Scene(tmp_path)
    scene.repository.moves("side", B, "checkout: moving from main to side")
    assert "moving from main to side" in scene.hint()
    scene.clock.ns += 200 * MS
    scene.repository.moves("main", A, second)
    assert second in scene.hint(ago_s=0.1)
    assert "moving from main to side" in scene.hint(ago_s=0.25)


@pytest.mark.parametrize("second", ["checkout: moving from side to main", "merge other: Fast-forward"])
def test_a_write_before_the_lock_of_the_last_of_two_commands_that_were_seen_at_once_is_the_firsts(
    tmp_path: Path, second: str
) -> None:
    """The log of HEAD has seconds only, but the index tells when its lock came."""
    scene = Scene(tmp_path)
    scene.clock.ns += 50 * MS
    scene.repository.moves("side", B, "checkout: moving from main to side")
    scene.clock.ns += 60 * MS
    scene.repository.unlocks(after_ns=40 * MS)
    scene.repository.moves("main", "c" * 40, second)
    assert "moving from main to side" in scene.hint(ago_s=0.07)
    assert second in scene.hint(ago_s=0.02)
    scene.git.tidy()
    assert len(scene.ran()) == 2


@pytest.mark.parametrize(("command", "began"), [("checkout: moving from f to main", -40), ("merge g: Merge", -900)])
def test_a_command_is_recorded_with_the_time_before_which_it_wrote_nothing(
    tmp_path: Path, command: str, began: int
) -> None:
    """That of its only lock, else of the move of HEAD before."""
    scene = Scene(tmp_path)
    scene.repository.moves("f", B, "commit: two")
    scene.clock.ns += 860 * MS
    assert scene.hint() == ""
    scene.clock.ns += 40 * MS
    scene.repository.unlocks(after_ns=40 * MS)
    scene.repository.moves("main", A, command)
    assert command in scene.hint(ago_s=0.01)
    assert (command in scene.hint(ago_s=0.1)) == (began == -900)
    scene.git.tidy()
    (ran,) = scene.ran()
    assert ran.started_ns - ran.ended_ns == began * MS


def test_a_command_long_after_the_last_move_of_head_has_no_known_beginning(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.repository.moves("main", B, "merge g: Merge made")
    assert "merge g" in scene.hint()
    scene.git.tidy()
    assert [ran.started_ns for ran in scene.ran()] == [0]


def test_a_removal_between_two_commands_that_were_seen_apart_is_the_seconds(tmp_path: Path) -> None:
    """It may have been noticed late, but not as late as after the second command had run."""
    scene = Scene(tmp_path)
    scene.repository.moves("side", B, "checkout: moving from main to side")
    assert "moving from main to side" in scene.hint()
    scene.clock.ns += 20 * MS
    scene.repository.moves("main", A, "checkout: moving from side to main")
    scene.clock.ns += 5 * MS
    assert "moving from side to main" in scene.hint(ago_s=0.01, exact=False)
    assert "moving from side to main" in scene.hint(exact=False)


def test_the_moves_of_one_rebase_are_one_label(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.repository.moves("side", A, "rebase (start): checkout main")
    scene.repository.moves("side", B, "rebase (pick): two")
    scene.repository.moves("side", B, "rebase (finish): returning to refs/heads/side")
    assert scene.hint().startswith("git: rebase (finish): returning to refs/heads/side")


def test_the_reset_of_a_stash_is_called_a_stash(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.repository.stashes("WIP on main")
    assert scene.hint(ago_s=30) == ""
    scene.repository.moves("main", A, "reset: moving to HEAD")
    assert scene.hint() == f"git: stash (HEAD main {A[:12]} -> main {A[:12]})"
    scene.git.tidy()
    assert [ran.command for ran in scene.ran()] == ["stash"]
    scene.clock.pass_s(60)
    scene.repository.moves("main", A, "reset: moving to HEAD")
    assert scene.hint().startswith("git: reset: moving to HEAD"), "of the person, who stashed a minute ago"


def test_what_goes_between_the_entry_of_a_stash_and_its_reset_is_the_stashs(tmp_path: Path) -> None:
    """`git stash -u` removes untracked files first; a third of three hundred were told as removed by other programs."""
    scene = Scene(tmp_path)
    scene.repository.stashes("one")
    scene.clock.ns += 100 * MS
    assert scene.hint(exact=False).startswith("git: stash (HEAD main")
    scene.repository.moves("main", A, "reset: moving to HEAD")
    scene.clock.pass_s(2)
    assert scene.hint(exact=False) == ""
    scene.git.tidy()
    assert [ran.command for ran in scene.ran()] == ["stash"]


def test_what_is_saved_after_a_stash_of_some_paths_is_not_the_stashs(tmp_path: Path) -> None:
    """It moves no HEAD; for five seconds all that anybody saved was git's, and no undo of `outside` took it."""
    scene = Scene(tmp_path)
    scene.repository.stashes("one")
    scene.clock.ns += 10 * MS
    scene.repository.writes("index.lock", "")
    assert scene.hint().startswith("git: stash (HEAD main")
    scene.repository.unlocks()
    assert scene.hint().startswith("git: stash (HEAD main")
    scene.clock.ns += 100 * MS
    assert scene.hint() == ""


def test_what_is_saved_while_a_commit_waits_for_its_editor_is_not_gits(tmp_path: Path) -> None:
    """`git commit -a` keeps the index locked until the editor ends; its hooks write before the message is there."""
    scene = Scene(tmp_path)
    scene.repository.writes("index.lock", "")
    scene.clock.pass_s(1)
    assert scene.hint() == "git: index.lock was held"
    scene.repository.writes("COMMIT_EDITMSG", "")
    scene.clock.pass_s(1)
    assert scene.hint() == ""
    assert scene.hint(ago_s=1.5) == "git: index.lock was held"


def test_a_stash_of_some_paths_has_ended_though_the_commit_after_it_locks_the_index(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.repository.stashes("one")
    scene.clock.ns += 10 * MS
    scene.repository.unlocks()
    scene.clock.pass_s(1)
    scene.repository.writes("index.lock", "")
    scene.clock.ns += 10 * MS
    scene.repository.writes("COMMIT_EDITMSG", "")
    scene.clock.ns += 100 * MS
    assert scene.hint() == ""


@pytest.mark.parametrize("left", [(), ("one",)])
def test_a_stash_that_goes_when_git_wrote_was_popped(tmp_path: Path, left: tuple[str, ...]) -> None:
    scene = Scene(tmp_path)
    scene.repository.stashes(*left, "two")
    assert scene.hint(ago_s=30) == ""
    scene.clock.pass_s(60)
    scene.repository.writes("index.lock", "")
    assert scene.hint() == "git: index.lock was held"
    scene.repository.unlocks()
    scene.clock.ns += MS
    scene.repository.stashes(*left)
    scene.git.tidy()
    assert [ran.command for ran in scene.ran()] == ["stash pop"]


def test_a_pop_is_recorded_once_though_git_empties_the_log_of_the_stash_before_it_removes_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.repository.stashes("one")
    assert scene.hint(ago_s=30) == ""
    scene.clock.pass_s(60)
    scene.repository.unlocks()
    scene.clock.ns += MS
    scene.repository.writes("logs/refs/stash", "")
    assert scene.hint().startswith("git: stash pop")
    scene.clock.ns += MS
    scene.repository.stashes()
    assert scene.hint(ago_s=0.001).startswith("git: stash pop")
    scene.git.tidy()
    assert [ran.command for ran in scene.ran()] == ["stash pop"]


def test_a_stash_and_its_pop_that_are_seen_together_are_told_in_order(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.repository.stashes("one")
    assert scene.hint().startswith("git: stash (HEAD main")
    scene.repository.moves("main", A, "reset: moving to HEAD")
    scene.clock.ns += 300 * MS
    scene.repository.writes("index.lock", "")
    scene.repository.unlocks()
    scene.clock.ns += MS
    scene.repository.stashes()
    assert scene.hint() != ""
    scene.git.tidy()
    assert [ran.command for ran in scene.ran()] == ["stash", "stash pop"]


def test_a_stash_that_is_dropped_changes_no_tree(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.repository.stashes("two")
    assert scene.hint(ago_s=30) == ""
    scene.clock.pass_s(60)
    scene.repository.stashes()
    assert scene.hint(ago_s=30) == ""


def test_a_stash_that_is_dropped_just_after_it_was_made_was_not_popped(tmp_path: Path) -> None:
    """The index that the stash's own reset had written was taken for the pop's."""
    scene = Scene(tmp_path)
    scene.repository.stashes("one")
    scene.repository.writes("index.lock", "")
    scene.repository.unlocks()
    scene.repository.moves("main", A, "reset: moving to HEAD")
    assert scene.hint().startswith("git: stash (HEAD main")
    scene.clock.ns += 100 * MS
    scene.repository.stashes()
    assert scene.hint(ago_s=0.05) == ""
    scene.git.tidy()
    assert [ran.command for ran in scene.ran()] == ["stash"]


@pytest.mark.parametrize(("parents", "told"), [(2, []), (3, ["stash pop"])])
def test_a_stash_that_goes_just_after_a_save_was_popped_if_it_had_untracked_files(
    tmp_path: Path, parents: int, told: list[str]
) -> None:
    """A stash has a third parent for untracked files: to bring them back alone, git does not write the index."""
    scene = Scene(tmp_path)
    scene.repository.stashes("one")
    commit = b"commit 99\0tree " + A.encode() + b"\n" + b"parent %b\n" % A.encode() * parents
    (scene.repository.git / "objects" / B[:2]).mkdir(parents=True)
    (scene.repository.git / "objects" / B[:2] / B[2:]).write_bytes(zlib.compress(commit))
    assert scene.hint(ago_s=30) == ""
    scene.clock.pass_s(60)
    assert scene.hint() == ""
    scene.clock.ns += MS
    scene.repository.stashes()
    scene.git.tidy()
    assert [ran.command for ran in scene.ran()] == told


def test_a_stash_whose_reset_comes_after_a_look_is_recorded(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.repository.stashes("one")
    assert scene.hint().startswith("git: stash (HEAD main")
    scene.git.tidy()
    scene.clock.ns += 100 * MS
    scene.repository.moves("main", A, "reset: moving to HEAD")
    scene.git.tidy()
    assert [ran.command for ran in scene.ran()] == ["stash"]


def test_a_head_whose_log_does_not_say_yet_why_it_moved_has_not_moved(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.repository.writes("HEAD", "ref: refs/heads/side\n")
    assert scene.hint() == ""
    scene.repository.moves("side", B, "checkout: moving from main to side")
    assert scene.hint() == f"git: checkout: moving from main to side (HEAD main {A[:12]} -> side {B[:12]})"


def test_a_repository_that_keeps_no_log_of_head_still_tells_that_it_moved(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    (repository.git / "logs" / "HEAD").unlink()
    head = GitHead(str(tmp_path))
    repository.writes("HEAD", "ref: refs/heads/side\n")
    assert head.hint(repository.clock.ns, 0, repository.clock.ns) == "git: HEAD moved (HEAD main -> side)"


def test_a_commit_changes_no_tree(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.repository.moves("main", B, "commit: checkout: two")
    assert scene.hint() == ""
    scene.git.tidy()
    assert scene.ran() == []


def test_a_move_that_no_write_was_labelled_by_is_not_recorded(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.repository.moves("side", B, "checkout: moving from main to side")
    scene.clock.pass_s(5)
    assert scene.hint() == ""
    scene.git.tidy()
    assert scene.ran() == []


def test_a_new_branch_is_recorded_when_head_moves_though_no_file_changes(tmp_path: Path) -> None:
    """It was recorded minutes later, with the next command, or never; and what was saved around it was one story."""
    scene = Scene(tmp_path)
    scene.git.moved()
    scene.repository.points("side")
    scene.git.tidy()
    assert (scene.ran(), scene.git.awaits_name()) == ([], True), "its log does not say yet why"
    scene.repository.logs(A, "checkout: moving from main to side")
    moved_ns = scene.clock.ns
    scene.clock.ns += 100 * MS
    scene.git.tidy()
    (ran,) = scene.ran()
    assert (ran.command, ran.ended_ns) == ("checkout: moving from main to side", moved_ns)
    assert (ran.head_before, ran.head_after) == (f"main {A[:12]}", f"side {A[:12]}")
    assert not scene.git.awaits_name()


def test_a_new_branch_by_a_command_that_is_heard_is_recorded_once(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.starts(7, lines("checkout", "-b", "side"))
    scene.git.moved()
    scene.repository.moves("side", A, "checkout: moving from main to side")
    scene.git.tidy()
    scene.clock.ns += 100 * MS
    scene.git.tidy()
    scene.ends(7)
    scene.git.tidy()
    assert [ran.evidence for ran in scene.ran()] == ["trace2"]


def test_writes_under_the_index_lock_are_labelled_and_the_following_move_of_head_is_recorded(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path)
    assert scene.hint() == ""
    scene.repository.writes("index.lock", "")
    scene.clock.pass_s(0.1)
    assert scene.hint() == "git: index.lock was held"
    assert scene.hint(ago_s=0.2) == "", "before the lock"
    scene.git.tidy()
    assert scene.ran() == []
    scene.repository.unlocks()
    scene.clock.pass_s(0.1)
    assert scene.hint(ago_s=0.15) == "git: index.lock was held", "looked at late"
    assert scene.hint() == ""
    scene.repository.moves("side", B, "reset: moving to HEAD~1")
    scene.git.tidy()
    assert [ran.command for ran in scene.ran()] == ["reset: moving to HEAD~1"]


def test_a_lock_that_nobody_saw_is_told_by_the_index(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.clock.ns += 30 * MS
    scene.repository.unlocks()
    assert scene.hint(ago_s=0.02) == "git: index.lock was held"
    assert scene.hint(ago_s=0.2) == ""


def test_what_was_saved_before_the_lock_of_an_unseen_command_is_not_gits(tmp_path: Path) -> None:
    """`echo >f; git add f; git commit` was told as git's work, in one try of seven."""
    scene = Scene(tmp_path)
    scene.clock.ns += 30 * MS
    scene.repository.unlocks(after_ns=8 * MS)
    assert scene.hint(ago_s=0.009) == ""
    assert scene.hint(ago_s=0.008) == LOCK_TAKEN, "in the same tick of the clock"
    assert scene.hint(ago_s=0.007) == LOCK_HELD


def test_a_lock_that_was_seen_and_another_that_was_not_are_two(tmp_path: Path) -> None:
    """What was saved between two commits was told as git's."""
    scene = Scene(tmp_path)
    scene.repository.writes("index.lock", "")
    assert scene.hint() == LOCK_HELD
    scene.repository.unlocks()
    scene.clock.pass_s(0.3)
    scene.repository.unlocks(after_ns=8 * MS)
    assert scene.hint(ago_s=0.1) == ""


@pytest.mark.parametrize(("after_ms", "told"), [(5, LOCK_HELD), (9, "")])
def test_a_lock_that_came_after_a_commit_is_the_next_commands(tmp_path: Path, after_ms: int, told: str) -> None:
    """The files of `git commit; git reset --hard HEAD~1`, seen before HEAD went back, were saves."""
    scene = Scene(tmp_path)
    scene.repository.moves("main", B, "commit: two")
    scene.clock.ns += 8 * MS
    scene.repository.unlocks(after_ns=after_ms * MS)
    assert scene.hint(ago_s=0.002) == told


def test_a_checkout_of_the_same_commit_changes_no_tree(tmp_path: Path) -> None:
    """What a person removed right after `git checkout -b` was told as the checkout's."""
    scene = Scene(tmp_path)
    scene.repository.moves("side", A, "checkout: moving from main to side")
    assert scene.hint(exact=False) == ""


BEFORE_COMMIT = [
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick:"),
    ("REBASE_HEAD", "rebase:"),
    ("REVERT_HEAD", "revert:"),
]


@pytest.mark.parametrize(("file", "command"), BEFORE_COMMIT)
def test_a_command_that_stops_at_a_conflict_labels_what_it_wrote(tmp_path: Path, file: str, command: str) -> None:
    """HEAD stays, and the checkout before was told of the files with conflicts."""
    scene = Scene(tmp_path)
    assert scene.hint() == ""
    scene.clock.pass_s(4)
    scene.repository.unlocks()
    scene.repository.writes(file, f"{B}\n")
    said = f"{command} {B[:7]}"
    assert scene.hint(ago_s=0.01) == f"git: {said} (HEAD main {A[:12]} -> main {A[:12]})"
    scene.git.tidy()
    assert [ran.command for ran in scene.ran()] == [said]
    scene.clock.pass_s(4)
    assert scene.hint() == ""


@pytest.mark.parametrize(("file", "command"), BEFORE_COMMIT)
@pytest.mark.parametrize("told", [True, False])
def test_a_command_that_is_seen_before_its_commit_is_one_command(
    tmp_path: Path, file: str, command: str, told: bool
) -> None:
    """A merge whose message was edited, or whose hook was slow, was two, and the first was told as not committed."""
    scene = Scene(tmp_path)
    scene.repository.moves("main", "d" * 40, "commit: mine")
    scene.clock.pass_s(4)
    scene.repository.writes(file, f"{B}\n")
    assert scene.hint(ago_s=0.01).startswith(f"git: {command} {B[:7]} (")
    if told:
        scene.git.tidy()
    scene.clock.pass_s(0.5)
    scene.repository.moves("main", "c" * 40, f"{command.rstrip(':')} t1: Merge made by the 'ort' strategy.")
    (scene.repository.git / file).unlink()
    assert scene.hint() == "", "after the command wrote"
    scene.git.tidy()
    (ran,) = scene.ran()
    assert ran.command == f"{command} {B[:7]}"
    assert ran.head_after == ("" if told else f"main {'c' * 12}")


def test_the_command_of_a_write_that_only_a_lock_labels_is_awaited_until_it_is_recorded(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    assert not scene.git.awaits_name()
    scene.repository.writes("index.lock", "")
    assert scene.hint() == LOCK_HELD
    scene.git.tidy()
    assert scene.git.awaits_name()
    scene.repository.writes("MERGE_HEAD", f"{B}\n")
    scene.git.tidy()
    assert ([ran.command for ran in scene.ran()], scene.git.awaits_name()) == ([f"merge {B[:7]}"], False)
    scene.hint()
    scene.clock.pass_s(3)
    assert not scene.git.awaits_name()


def test_a_squash_labels_what_it_wrote_and_names_the_commit_that_it_merged(tmp_path: Path) -> None:
    """Only git's lock was seen, and a command that ran before was taken for it."""
    scene = Scene(tmp_path)
    assert scene.hint() == ""
    scene.clock.pass_s(4)
    scene.repository.unlocks()
    scene.repository.writes("SQUASH_MSG", f"Squashed commit of the following:\n\ncommit {B}\nAuthor: U\n\ncommit {A}\n")
    said = f"merge --squash {B[:7]}"
    assert scene.hint(ago_s=0.01) == f"git: {said} (HEAD main {A[:12]} -> main {A[:12]})"
    scene.git.tidy()
    scene.clock.pass_s(4)
    scene.repository.moves("main", "c" * 40, "merge other: Merge made by the 'ort' strategy.")
    assert scene.hint().startswith("git: merge other: Merge made")
    scene.git.tidy()
    assert [ran.command for ran in scene.ran()] == [said, "merge other: Merge made by the 'ort' strategy."]


@pytest.mark.parametrize("file", ["MERGE_HEAD", "CHERRY_PICK_HEAD", "SQUASH_MSG", "REVERT_HEAD"])
def test_a_command_that_is_heard_and_stops_before_its_commit_names_what_it_merged(tmp_path: Path, file: str) -> None:
    """A branch that it names may be elsewhere later."""
    scene = Scene(tmp_path)
    for number, merged in ((7, B[:12] if file != "REVERT_HEAD" else ""), (8, "")):
        scene.starts(number, lines("merge", "feat"))
        if number == 7:
            scene.repository.writes(file, f"{B}\n")
        scene.clock.pass_s(1)
        scene.ends(number)
        assert scene.ran()[-1].merged == merged
        scene.clock.pass_s(4)


def test_the_message_of_a_fixup_is_no_squash(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    (scene.repository.git / "rebase-merge").mkdir()
    scene.repository.writes("SQUASH_MSG", f"# This is a combination of 2 commits.\nOf {B}\n")
    assert scene.hint(ago_s=0.01) == ""


def test_a_file_of_a_merge_that_git_has_not_filled_yet_is_looked_at_again(tmp_path: Path) -> None:
    """The merge was recorded twice, the first time without its commit."""
    scene = Scene(tmp_path)
    scene.repository.writes("MERGE_HEAD", "")
    assert scene.hint(ago_s=0.01) == ""
    scene.repository.writes("MERGE_HEAD", f"{B}\n")
    assert scene.hint(ago_s=0.01).startswith(f"git: merge {B[:7]} (")
    scene.git.tidy()
    assert [ran.command for ran in scene.ran()] == [f"merge {B[:7]}"]


def test_a_merge_whose_file_outlives_its_commit_for_a_moment_is_one_command(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.repository.writes("MERGE_HEAD", f"{B}\n")
    scene.repository.moves("main", "c" * 40, "merge t1: Merge made by the 'ort' strategy.")
    assert scene.hint().startswith("git: merge t1: Merge made")
    scene.git.tidy()
    assert len(scene.ran()) == 1


def test_a_pick_of_a_rebase_is_the_rebases(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    (scene.repository.git / "rebase-merge").mkdir()
    scene.repository.writes("CHERRY_PICK_HEAD", f"{B}\n")
    assert scene.hint(ago_s=0.01).startswith(f"git: rebase: {B[:7]} (")


def test_a_rebase_that_is_aborted_after_a_conflict_changes_the_tree_again(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.repository.writes("REBASE_HEAD", f"{B}\n")
    assert scene.hint(ago_s=0.01).startswith(f"git: rebase: {B[:7]} (")
    scene.clock.pass_s(4)
    scene.repository.moves("side", B, "rebase (abort): returning to refs/heads/side")
    assert scene.hint().startswith("git: rebase (abort)")


def test_a_merge_after_one_that_was_given_up_is_another(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.repository.writes("MERGE_HEAD", f"{B}\n")
    assert scene.hint(ago_s=0.01) != ""
    scene.git.tidy()
    (scene.repository.git / "MERGE_HEAD").unlink()
    scene.clock.pass_s(4)
    assert scene.hint() == ""
    scene.repository.moves("main", B, "merge side: Fast-forward")
    assert scene.hint().startswith("git: merge side: Fast-forward")
    scene.git.tidy()
    assert [ran.command for ran in scene.ran()] == [f"merge {B[:7]}", "merge side: Fast-forward"]


def test_a_lock_that_was_left_behind_labels_nothing_for_ever(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.repository.writes("index.lock", "")
    scene.clock.pass_s(3600)
    assert scene.hint() == ""


def test_a_move_long_after_the_lock_is_another_matter(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.repository.writes("index.lock", "")
    scene.hint()
    scene.clock.ns += EXPECTED_NS + MS
    scene.repository.moves("side", B, "checkout: moving from main to side")
    scene.git.tidy()
    assert scene.ran() == []


def test_a_repository_that_is_removed_moves_no_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files HEAD and logs/HEAD of the folder in which the daemon runs were read in its place."""
    scene = Scene(tmp_path)
    assert scene.hint() == ""
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "logs").mkdir(parents=True)
    (elsewhere / "HEAD").write_text("ref: refs/heads/other\n")
    (elsewhere / "logs" / "HEAD").write_text(f"{A} {B} A U <a@u> 1 +0000\tcheckout: moving from main to other\n")
    monkeypatch.chdir(elsewhere)
    shutil.rmtree(tmp_path / ".git")
    assert (scene.hint(), scene.git.head()) == ("", "")


def test_where_there_is_no_repository_git_is_at_rest(tmp_path: Path) -> None:
    head = GitHead(str(tmp_path))
    assert head.hint(1, 0, 1) == ""
    assert git_folder(str(tmp_path)) == ""
    (tmp_path / ".git").write_text("gitdir: elsewhere/worktrees/w\n")
    assert git_folder(str(tmp_path)) == str(tmp_path / "elsewhere/worktrees/w")
    (tmp_path / ".git").unlink()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".git").symlink_to("elsewhere")
    assert git_folder(str(tmp_path)) == str(tmp_path / ".git")  # git follows that link, too
