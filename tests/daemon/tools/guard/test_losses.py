"""What a command line would take from the tree."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from quire_daemon.tools.guard.losses import losses

ROOT = "/w"


def told(command: str, **aliases: str) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.command, one.folder, one.paths) for one in losses(command, ROOT, aliases).losses]


EVERYTHING = [
    "git reset --hard",
    "git reset --hard HEAD~1",
    "git reset --har",
    "/usr/bin/git reset -q --hard",
    "sudo git reset --hard",
    "env A=1 git reset --hard",
    "GIT_DIR=.git git reset --hard",
    "sh -c 'git reset --hard'",
    'bash -lc "cd /w && git reset --hard"',
    "eval 'git reset --hard'",
    "(git reset --hard)",
    "{ git reset --hard; }",
    "if true; then git reset --hard; fi",
    "x=$(git reset --hard)",
    "! git reset --hard || true",
    "bash <<'E'\ngit reset --hard\nE\n",
    "cd sub && cd .. && git reset --hard",
    "git -c alias.z='reset --hard' z",
    "git --no-pager -C /w reset --hard",
]


@pytest.mark.parametrize("command", EVERYTHING)
def test_a_reset_takes_everything_however_it_is_written(command: str) -> None:
    assert told(command) == [("git reset --hard", "/w", ())]


@pytest.mark.parametrize(
    ("command", "program", "paths"),
    [
        ("git checkout -- a b", "git checkout", ("/w/a", "/w/b")),
        ("git checkout HEAD~1 src", "git checkout", ("/w/HEAD~1", "/w/src")),
        ("git checkout -f main", "git checkout --force", ()),
        ("git checkout -qfb new", "git checkout --force", ()),
        ("git switch --discard-changes main", "git switch --discard-changes", ()),
        ("git restore --source HEAD~2 -SW a", "git restore", ("/w/a",)),
        ("git clean -fdx", "git clean", ()),
        ("git clean -ffd -e keep lib", "git clean", ("/w/lib",)),
        ("git stash", "git stash", ()),
        ("git stash -u -m 'a b'", "git stash", ()),
        ("git stash push -- src", "git stash", ("/w/src",)),
        ("git stash save some words", "git stash", ()),
        ("git read-tree --reset -u HEAD", "git read-tree --reset -u", ()),
        ("git rebase main", "git rebase", ()),
        ("git rebase --abort", "git rebase --abort", ()),
        ("git am --skip", "git am --skip", ()),
        ("git worktree remove --force ../other", "git worktree remove --force", ("/other",)),
        ("git rm -rf src", "git rm --force", ("/w/src",)),
        ("git mv -f a b", "git mv --force", ("/w/b", "/w/b/a")),
        ("git checkout-index -fa", "git checkout-index --force", ()),
        ("git pull --rebase", "git pull --rebase", ()),
        ("rm -rf src/*.py", "rm", ("/w/src/*.py",)),
        ("cd src && rm a", "rm", ("/w/src/a",)),
        ("find . -name '*.py' -delete", "find -delete", ("/w/**/*.py",)),
        ("find src -type f -exec rm {} +", "rm", ("/w/src",)),
        ("git ls-files -m | xargs git checkout --", "git checkout", ("/w",)),
        ("for f in a b; do git restore $f; done", "git restore", ("/w/a", "/w/b")),
        ("mv a b", "mv", ("/w/b", "/w/b/a")),
        ("cp -t lib a", "cp", ("/w/lib", "/w/lib/a")),
        ("rsync -a --delete x/ y/", "rsync --delete", ("/w/y",)),
        ("rm -rf $(git rev-parse --show-toplevel)/src", "rm", (":/src",)),
        ("git checkout :/src", "git checkout", (":/src",)),
    ],
)
def test_a_command_takes_what_it_names(command: str, program: str, paths: tuple[str, ...]) -> None:
    assert [(name, taken) for name, _, taken in told(command)] == [(program, paths)]


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git stash list",
        "git stash pop",
        "git checkout -b new",
        "git checkout -",
        "git switch main",
        "git switch -c new",
        "git reset HEAD a",
        "git reset --soft HEAD~1",
        "git restore --staged a",
        "git clean -n",
        "git clean -nfd",
        "git rebase --continue",
        "git read-tree -u -m HEAD",
        "git rm --cached a",
        "git rm a",
        "git mv a b",
        "git pull",
        "git merge main",
        "git worktree remove ../other",
        "git commit -m 'git reset --hard'",
        "echo git reset --hard",
        "grep -rn 'rm -rf' .",
        "mv -n a b",
        "rsync -a x/ y/",
        "find . -name '*.py'",
        "rm -rf $X",
        "ls # git reset --hard",
    ],
)
def test_what_discards_nothing_takes_nothing(command: str) -> None:
    assert told(command) == []


def test_an_alias_is_asked_for_and_followed() -> None:
    assert losses("git nuke", ROOT, {}).unknown == ["nuke"]
    assert told("git nuke", nuke="reset --hard") == [("git reset --hard", "/w", ())]
    assert told("git nuke a", nuke="co --", co="checkout") == [("git checkout", "/w", ("/w/a",))]
    assert told("git nuke", nuke="!git stash -u && git clean -fd") == [("git stash", "/w", ()), ("git clean", "/w", ())]
    assert told("git nuke", nuke="") == []


def test_an_alias_that_names_itself_has_an_end() -> None:
    assert told("git a", a="b", b="a") == []


def test_a_clean_says_which_files_it_takes() -> None:
    (plain,) = losses("git clean -f", ROOT, {}).losses
    (only,) = losses("git clean -fdX", ROOT, {}).losses
    assert (plain.changed, plain.untracked, plain.ignored, plain.new_folders) == (False, True, False, False)
    assert (only.changed, only.untracked, only.ignored, only.new_folders) == (False, False, True, True)


def taken_of(command: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """(program, which files, paths) of each loss."""
    kinds = ("changed", "added", "untracked", "ignored")
    found = losses(command, ROOT, {"a": "add"}).losses
    return [(one.command, " ".join(kind for kind in kinds if getattr(one, kind)), one.paths) for one in found]


@pytest.mark.parametrize(
    ("command", "program", "paths"),
    [
        ("git add -A && git stash", "git stash", ()),
        ("git add . && git reset --hard", "git reset --hard", ("/w",)),
        ("git add new; git checkout -f main", "git checkout --force", ("/w/new",)),
        ("git stage new && git switch -f main", "git switch --discard-changes", ("/w/new",)),
        ("git a new && git stash", "git stash", ("/w/new",)),
        ("git add src && git stash push -- src/new", "git stash", ("/w/src/new",)),
        ("git add src/new && git stash push src", "git stash", ("/w/src/new",)),
        ("git add '*.py' && git rm -f new.py", "git rm --force", ("/w/new.py",)),
        ("git add -N new && git restore -SW .", "git restore", ("/w/new",)),
        ("git add -A && git merge --abort", "git merge --abort", ()),
    ],
)
def test_an_untracked_file_goes_with_the_index_to_which_the_same_line_adds_it(
    command: str, program: str, paths: tuple[str, ...]
) -> None:
    assert taken_of(command)[-1] == (program, "untracked", paths)


@pytest.mark.parametrize(
    "command",
    [
        "git stash && git add -A",
        "git add -n . && git stash",
        "git add -u && git stash",
        "git add -A && git commit -qm x && git stash",
        "git add lib && git stash push -- src",
        "git add -A && git checkout -- src",
        "git add -A && git restore src",
    ],
)
def test_an_untracked_file_stays_where_no_staged_one_goes(command: str) -> None:
    assert [files for _, files, _ in taken_of(command)] == ["changed added"]


def test_a_forced_add_stages_ignored_files_too() -> None:
    assert taken_of("git add -f data && git stash")[-1] == ("git stash", "untracked ignored", ("/w/data",))


def test_a_clean_takes_what_the_same_line_takes_out_of_the_index() -> None:
    assert taken_of("git rm --cached a && git clean -fd")[-1] == ("git clean", "changed added", ("/w/a",))
    assert taken_of("git reset && git clean -fd")[-1] == ("git clean", "added", ())
    assert taken_of("git restore --staged src && git clean -fd")[-1] == ("git clean", "added", ("/w/src",))
    assert taken_of("git reset --soft HEAD~1 && git clean -fd") == [("git clean", "untracked", ())]


@given(st.text(max_size=60), st.sampled_from(["git reset --hard; ", "git stash | ", "rm a && ", ""]))
def test_no_command_line_is_too_odd_to_be_read(text: str, before: str) -> None:
    losses(before + text, ROOT, {})
