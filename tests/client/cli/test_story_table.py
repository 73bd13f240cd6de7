"""Stories as lines: the time, who, what, and the files below."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from quire_client.cli.human_time import point
from quire_client.cli.render import Palette
from quire_client.cli.story_table import View, signs_explained, story_lines, when

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
THERE = ZoneInfo("Europe/Zurich")
VIEW = View(NOW, Palette(False, {}), zone=THERE)
OUTSIDE = {"id": "outside", "type": "outside", "agent": "", "agent_session": "", "uid": None}
ADA = {**OUTSIDE, "id": "w3", "agent": "ada", "agent_session": "0f0e1151-662e"}


def file(path: str, **told: Any) -> dict[str, Any]:
    """A file of a story."""
    return {"path": path, "status": "changed", "version": "v7", "added": 1, "removed": 0, **told}


def story(form: str, files: list[dict[str, Any]], **told: Any) -> dict[str, Any]:
    """A story."""
    base = {
        "form": form,
        "seq": 9,
        "at": "2026-03-02T11:30:00Z",
        "ended_at": "2026-03-02T11:30:00Z",
        "writer": OUTSIDE,
        "whole": True,
        "writes": 1,
    }
    return {**base, "files": files, "files_count": len(files), **told}


def shown(one: dict[str, Any], view: View = VIEW) -> list[str]:
    """Its lines, without the time and the version in front."""
    first, *rest = story_lines([one], view)
    return [first.split("  ", 2)[2], *rest]


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("2026-03-02T11:59:48Z", "12s ago"),
        ("2026-03-02T11:30:10Z", "29m ago"),
        ("2026-03-02T09:05:00Z", "10:05"),
        ("2026-03-01T23:30:00Z", "00:30"),
        ("2026-03-01T20:00:00Z", "2026-03-01 21:00"),
        ("2026-03-02T12:00:05Z", "2026-03-02 13:00"),
    ],
)
def test_a_time_is_local_and_relative_when_it_is_recent(at: str, said: str) -> None:
    assert when(at, NOW, THERE) == said


@pytest.mark.parametrize("at", ["2026-03-02T11:30:00Z", "2026-03-02T09:05:00Z", "2026-03-01T20:00:00Z"])
def test_a_time_that_is_shown_can_be_typed(at: str) -> None:
    assert point(when(at, NOW, THERE), NOW, THERE) == at.replace("Z", ".000000Z")


def test_a_file_alone_stands_in_the_line_of_its_story() -> None:
    assert shown(story("saves", [file("a.py", symbols=["f"])])) == ["outside  M a.py  +1  f"]
    mine = story("saves", [file("a.py", status="removed", added=0, removed=3)], unclaimed=True)
    assert shown(mine, VIEW._replace(person=True)) == ["~you  D a.py  -3"]
    undo = story("undo", [file("a.py")], writer=ADA, how="undo", undone=[4])
    assert shown(undo) == ["ada  undo of 4  M a.py  +1"]


def test_files_outside_of_folders_are_at_the_top() -> None:
    """It said `4 files in src/, ./`."""
    git = story("git", [], files_count=4, folders=["src/", "./", "docs/"], commands=["checkout -q main"])
    assert shown(git) == ["git  git checkout -q main  4 files in src/, docs/ and at the top"]


def test_equal_refusals_are_one_line() -> None:
    """The same line stood there five times."""
    again, once = {"path": "a.py", "code": "stale_base"}, {"path": "b.py", "code": "not_found"}
    lines = shown(story("turn", [], writer=ADA, prompt="go", refused=[again, once, again], refused_count=9))
    assert lines[1:] == [
        "    ! refused: a.py (stale base) ×2",
        "    ! refused: b.py (not found)",
        "    ! and 6 more refused",
    ]


def test_a_story_that_is_cut_is_marked_though_it_has_one_file() -> None:
    """It stood in one line as if it were whole."""
    lines = shown(story("turn", [file("a.py")], writer=ADA, whole=False))
    assert lines == ["ada  1 file  (began earlier)  +1", "    M a.py  +1"]


def test_a_change_of_mode_is_told_without_lines() -> None:
    only = file("run.sh", status="mode", added=0, removed=0)
    assert shown(story("saves", [only])) == ["outside  M run.sh  mode change"]


def test_a_file_whose_bytes_are_not_kept_is_marked() -> None:
    left = {**file("leak.txt", status="added", uncaptured="holds_secret")}
    del left["added"], left["removed"]
    assert shown(story("saves", [left])) == ["outside  A leak.txt  [not captured: holds secret]"]


def test_many_files_are_cut_and_counted() -> None:
    files = [file(f"src/{number}.py") for number in range(7)]
    lines = shown(story("turn", files, writer=ADA, prompt="go", files_count=20, files_more=13, folders=["src/"]))
    assert lines[0] == "ada  “go”  20 files"
    assert (len(lines), lines[-1]) == (7, "    … and 15 files more, in src/")


def test_a_crowd_and_a_git_operation_are_one_line() -> None:
    crowd = story("crowd", [], files_count=510, folders=["out/"], hint="git: index.lock was held")
    assert shown(crowd) == ["outside  while git ran  510 files in out/"]
    removed = story("crowd", [], files_count=30, folders=["out/"], gone_count=30)
    assert shown(removed) == ["outside  many files removed by other programs  30 files in out/"]
    some = story("crowd", [], files_count=30, folders=["out/"], gone_count=3)
    assert shown(some) == ["outside  many files by other programs  30 files in out/  3 of them removed"]
    git = story("git", [], files_count=3, folders=["src/"], commands=["checkout -q main"], failed=True)
    git |= {"head_before": "dev 1111111aaaa", "head_after": "main 2222222aaaa"}
    assert shown(git) == ["git  git checkout -q main  3 files in src/  dev → main  (failed)"]


@pytest.mark.parametrize("hint", ["git: index.lock was held", "git: index.lock was taken at that moment", "git"])
def test_git_of_which_no_command_is_known_is_a_git_command(hint: str) -> None:
    assert shown(story("git", [file("a.py")], hint=hint)) == ["git  a git command  M a.py  +1"]


def test_git_is_told_by_its_command_however_it_was_seen() -> None:
    """The log said `git reset: moving to HEAD~1` where blame said `git reset`."""
    reset = "git: reset: moving to HEAD~1 (HEAD main 2 -> main 1)"
    assert shown(story("git", [file("a.py")], hint=reset)) == ["git  git reset HEAD~1  M a.py  +1"]
    steps = ["rebase (finish): returning to refs/heads/main", "rebase (pick): two", "pull --rebase", "x"]
    assert shown(story("git", [], commands=steps)) == ["git  git rebase after git pull --rebase and 1 more"]


def test_a_run_that_let_git_write_is_not_told_as_one_that_changed_nothing() -> None:
    run = story("run", [], writer=ADA, commands=["git checkout side"], status=0, by_git=4)
    assert shown(run) == ["ada  $ git checkout side  git wrote 4 files  exit 0"]


def test_a_persons_burst_is_told_by_its_name_and_as_probable() -> None:
    """A formatter that a person ran within a burst stood there as a use of Quire's tools."""
    person = {**OUTSIDE, "id": "w2", "uid": 1000}
    told = shown(story("person", [file("z.py"), file("y.py")], writer=person, hint="format it", probable=True))
    assert told[0] == "~user  “format it”  2 files  +2"
    assert shown(story("person", [file("z.py")], writer={**person, "agent": "quire"})) == ["quire  set-up  M z.py  +1"]


def test_of_a_story_the_files_that_are_only_probable_are_marked_and_the_mark_is_explained() -> None:
    mixed = story("turn", [file("a.py"), file("b.py", probable=True)], writer=ADA, prompt="go")
    assert shown(mixed)[1:] == ["    M a.py  +1", "    M b.py  +1  ~"]
    assert [*signs_explained([mixed], person=False)] == [
        "~ is probable: it was written while a command of theirs ran that accounts for it."
    ]


def test_a_commit_tells_the_commits() -> None:
    git = story("git", [], commands=["commit -m x"], head_before="main 1111111aaaa", head_after="main 2222222aaaa")
    assert shown(git) == ["git  git commit -m x  main 1111111 → 2222222"]


def test_an_opened_turn_lists_its_calls_with_their_numbers() -> None:
    calls = [
        {"at": "2026-03-02T11:30:00Z", "label": "Bash", "command": "make\nfmt", "burst": 5, "writes": 1, "paths": []},
        {"at": "2026-03-02T11:31:00Z", "label": "edit", "batch": 8, "writes": 1, "paths": []},
    ]
    turn = story("turn", [file("a.py")], writer=ADA, prompt="go", calls=calls)
    assert shown(turn, VIEW._replace(everything=True))[1:] == [
        "    30m ago  $ make fmt  (burst 5)",
        "    29m ago  edit  (batch 8)",
        "    M a.py  +1",
    ]


@pytest.mark.parametrize(
    ("end", "writes", "said"),
    [
        ("open", 0, "asked or running"),
        ("open", 1, "running"),
        ("unreported", 0, "denied, or its end was not reported"),
        ("unreported", 1, "its end was not reported"),
    ],
)
def test_a_call_without_a_reported_end_is_told_so(end: str, writes: int, said: str) -> None:
    call = {"at": "2026-03-02T11:30:00Z", "label": "Bash", "burst": 5, "end": end, "writes": writes, "paths": []}
    turn = story("turn", [file("a.py")], writer=ADA, prompt="go", calls=[call])
    assert shown(turn, VIEW._replace(everything=True))[1] == f"    30m ago  Bash  {said}  (burst 5)"


def test_refusals_and_turns_that_changed_nothing_are_told() -> None:
    refused = [{"path": "a.py", "code": "anchor_stale"}]
    turn = story("turn", [], writer=ADA, prompt="go", refused=refused, refused_count=3, writes=0)
    assert shown(turn) == [
        "ada  “go”  changed nothing  3 refused",
        "    ! refused: a.py (anchor stale)",
        "    ! and 2 more refused",
    ]


def test_a_short_session_is_named_and_one_file_without_a_prompt_is_one_line() -> None:
    assert shown(story("turn", [file("a.py")], writer={**ADA, "agent_session": "s1"})) == ["ada/s1  M a.py  +1"]


def test_sessions_are_named_where_an_agent_has_several() -> None:
    other = {**ADA, "agent_session": "77aa8899-0000"}
    turns = [story("turn", [file("a.py")], writer=who, prompt="go") for who in (ADA, other)]
    lines = [*story_lines(turns, VIEW._replace(one_line=True))]
    assert [line.split("  ")[2].strip() for line in lines] == ["ada/0f0e1151", "ada/77aa8899"]


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_line_is_no_wider_than_the_terminal(width: int) -> None:
    git = {"commands": ['revert: Revert "a long subject"', "checkout: moving from a long branch to another one"]}
    heads = {"head_before": "feature/with-a-long-name 1234567", "head_after": "another/branch-of-a-long-name 2345678"}
    many = [file(f"src/package/module{number}.py", symbols=["Class.method"] * 9) for number in range(3)]
    stories = [
        story("git", [], files_count=40, folders=["documentation/", "sources/"], **git, **heads),
        story("turn", many, writer=ADA, prompt="a prompt that goes on " * 9),
        story("saves", many),
    ]
    assert max(map(len, story_lines(stories, VIEW._replace(width=width)))) <= width


def test_sessions_that_begin_alike_are_named_until_they_differ() -> None:
    """As those are whose ids begin with the time."""
    sessions = ("019ab3c4-1111-7a4a", "019ab3c4-1199-7b4b", "019ab3c4-1199-7b4b")
    turns = [story("turn", [file("a.py")], writer={**ADA, "agent_session": one}, prompt="go") for one in sessions]
    lines = [*story_lines(turns, VIEW._replace(one_line=True))]
    named = [line.split("  ")[2].strip() for line in lines]
    assert named == ["ada/019ab3c4-111", "ada/019ab3c4-119", "ada/019ab3c4-119"]


def test_what_agents_and_files_are_called_moves_no_cursor() -> None:
    turn = story("turn", [file("a\x1b[2J.py")], writer={**ADA, "agent": "a\x1b[1m"}, prompt="x\x1b]0;y\x07")
    assert not [line for line in story_lines([turn], VIEW) if "\x1b" in line or "\x07" in line]
