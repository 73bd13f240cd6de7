"""The watcher on a real inotify: what others do becomes names to look at, and what was missed is said."""

from __future__ import annotations

import logging
import mmap
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from logging.handlers import QueueHandler
from pathlib import Path
from queue import SimpleQueue

import pytest
from watching import PATIENCE_S, Start, exchange, told_of

from quire_daemon.ops.daemon_log import Log
from quire_daemon.watch.hints import Batch
from quire_daemon.watch.ignore import Ignore
from quire_daemon.watch.watcher import Watcher

pytestmark = pytest.mark.real


# ── how files are saved ──────────────────────────────────────────────────────


def in_place(file: Path) -> None:
    with file.open("r+") as opened:
        opened.write("new")


def atomic(file: Path) -> None:
    temporary = file.with_name(".save-1")
    temporary.write_text("new")
    temporary.replace(file)


def as_vim_does(file: Path) -> None:
    probe = file.with_name("4913")
    probe.touch()
    probe.unlink()
    backup = file.with_name(file.name + "~")
    file.rename(backup)
    file.write_text("new")
    backup.unlink()


def as_sed_does(file: Path) -> None:
    subprocess.run(["sed", "-i", "s/old/new/", os.fspath(file)], check=True)


def through_a_mapping(file: Path) -> None:
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 3) as mapping:
        mapping[:3] = b"new"


def from_elsewhere(file: Path) -> None:
    other = file.parent.parent / "elsewhere"
    other.write_text("new")
    other.replace(file)


SAVES = [in_place, atomic, as_vim_does, as_sed_does, through_a_mapping, from_elsewhere]


@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize("path", ["f", "deep/er/f"])
def test_every_way_of_saving_names_the_file(
    tmp_path: Path, watch: Start, save: Callable[[Path], None], path: str
) -> None:
    root = tmp_path / "checkout"
    file = root / path
    file.parent.mkdir(parents=True)
    file.write_text("old")
    watched = watch(root)
    watched.catch_up()
    save(file)
    assert path in watched.catch_up().dirty


def test_an_exchange_with_an_ignored_folder_names_the_file(tmp_path: Path, watch: Start) -> None:
    (tmp_path / ".quire" / "tmp").mkdir(parents=True)
    (tmp_path / "f").write_text("old")
    (tmp_path / ".quire" / "tmp" / "new").write_text("new")
    watched = watch()
    watched.catch_up()
    exchange(tmp_path / "f", tmp_path / ".quire" / "tmp" / "new")
    batch = watched.catch_up()
    assert batch.dirty == {"f"}
    assert batch.moved == []
    assert batch.touched == set()  # the file itself is what it was under its other name


@pytest.mark.parametrize("save", [in_place, through_a_mapping, lambda file: file.chmod(0o600)])
def test_a_file_that_is_written_or_changes_its_mode_was_touched_also_when_it_came_just_before(
    tmp_path: Path, watch: Start, save: Callable[[Path], None]
) -> None:
    (tmp_path / ".quire" / "tmp").mkdir(parents=True)
    (tmp_path / "f").write_text("old")
    (tmp_path / ".quire" / "tmp" / "new").write_text("new")
    watched = watch()
    watched.catch_up()
    exchange(tmp_path / "f", tmp_path / ".quire" / "tmp" / "new")
    save(tmp_path / "f")
    assert watched.catch_up().touched == {"f"}


def test_mode_changes_and_removals_are_named(tmp_path: Path, watch: Start) -> None:
    (tmp_path / "mode").touch()
    (tmp_path / "gone").touch()
    (tmp_path / "folder").mkdir()
    watched = watch()
    (tmp_path / "mode").chmod(0o600)
    (tmp_path / "gone").unlink()
    (tmp_path / "folder").chmod(0o700)
    assert watched.catch_up().dirty >= {"mode", "gone", "folder"}


def test_names_that_are_not_utf8_come_back_as_surrogates(tmp_path: Path, watch: Start) -> None:
    (tmp_path / os.fsdecode(b"d\xe9")).mkdir()
    watched = watch()
    name = os.fsdecode(b"d\xe9/\xff\nx")
    (tmp_path / name).touch()
    assert name in watched.catch_up().dirty


def test_reading_is_not_an_event(tmp_path: Path, watch: Start) -> None:
    (tmp_path / "f").write_text("x")
    watched = watch()
    watched.catch_up()
    (tmp_path / "f").read_text()
    os.listdir(tmp_path)
    assert not watched.catch_up()


# ── folders ──────────────────────────────────────────────────────────────────


def test_what_happens_while_events_are_held_back_is_told_afterwards(tmp_path: Path, watch: Start) -> None:
    watched = watch()
    watched.catch_up()
    with watched.watcher.quiet():
        for n in range(300):
            (tmp_path / f"{n}.txt").write_text("x")
            assert not watched.watcher.has_news()
    assert {f"{n}.txt" for n in range(300)} <= watched.catch_up().dirty


def test_a_new_tree_is_covered_down_to_its_last_file(tmp_path: Path, watch: Start) -> None:
    watched = watch()
    for n in range(40):
        file = tmp_path / f"n{n}" / "a" / "b" / "c" / "f"
        file.parent.mkdir(parents=True)
        file.write_text("x")
    batch = watched.catch_up()
    assert [n for n in range(40) if not told_of(batch, f"n{n}/a/b/c/f")] == []
    assert watched.health().watched == 1 + 40 * 4
    for n in range(40):
        (tmp_path / f"n{n}" / "a" / "b" / "c" / "f").write_text("y")
    again = watched.catch_up()  # by name, or by a folder to be crawled whose watch is young
    assert [n for n in range(40) if not told_of(again, f"n{n}/a/b/c/f")] == []


def test_a_tree_moved_in_is_crawled_and_watched(tmp_path: Path, watch: Start) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    (outside / "sub").mkdir(parents=True)
    watched = watch(root)
    outside.rename(root / "inside")
    assert watched.catch_up().folders == {"inside"}
    (root / "inside" / "sub" / "f").touch()
    assert "inside/sub/f" in watched.catch_up().dirty


def test_a_tree_moved_out_is_named_and_let_go(tmp_path: Path, watch: Start) -> None:
    root = tmp_path / "root"
    (root / "inside" / "sub").mkdir(parents=True)
    watched = watch(root)
    (root / "inside").rename(tmp_path / "outside")
    assert watched.catch_up().folders == {"inside"}
    assert watched.health().watched == 1
    (tmp_path / "outside" / "sub" / "f").touch()
    assert not watched.catch_up()


def test_a_tree_moved_inside_is_watched_under_its_new_name(tmp_path: Path, watch: Start) -> None:
    (tmp_path / "old" / "sub").mkdir(parents=True)
    watched = watch()
    (tmp_path / "old").rename(tmp_path / "new")
    batch = watched.catch_up()
    assert batch.folders == {"old", "new"}
    assert batch.moved == [("old", "new")]
    (tmp_path / "new" / "sub" / "f").touch()
    batch = watched.catch_up()
    assert batch.dirty == {"new/sub/f"}
    assert watched.health().watched == 3


def test_renames_of_files_are_hinted(tmp_path: Path, watch: Start) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a").touch()
    watched = watch()
    (tmp_path / "a").rename(tmp_path / "b")
    (tmp_path / "b").rename(tmp_path / "sub" / "c")
    batch = watched.catch_up()
    assert batch.moved == [("a", "b"), ("b", "sub/c")]
    assert batch.dirty == {"a", "b", "sub/c"}


def test_whoever_is_told_of_a_rename_is_told_to_look_at_both_names(tmp_path: Path) -> None:
    """Also where what was told before, with the old name, is taken away between the two halves."""
    (tmp_path / "old").mkdir()
    (tmp_path / "file").touch()
    batches: list[Batch] = []
    woken = threading.Event()

    def take() -> None:
        batches.append(watcher.drain())
        woken.set()

    watcher = Watcher(tmp_path, Ignore(tmp_path).ignored, take)
    watcher.start()
    (tmp_path / "old").rename(tmp_path / "new")
    (tmp_path / "file").rename(tmp_path / "renamed")
    token = watcher.cookie()
    while not watcher.seen(token):
        assert woken.wait(PATIENCE_S)
        woken.clear()
    watcher.stop()
    assert [(batch.moved, batch.dirty | batch.folders) for batch in batches if batch] == [
        ([], {"old"}),
        ([("old", "new")], {"old"}),
        ([], {"new"}),
        ([], {"file"}),
        ([("file", "renamed")], {"file", "renamed"}),
    ]


def test_a_removed_tree_is_named(tmp_path: Path, watch: Start) -> None:
    (tmp_path / "t" / "a" / "b").mkdir(parents=True)
    (tmp_path / "t" / "a" / "b" / "f").touch()
    watched = watch()
    shutil.rmtree(tmp_path / "t")
    batch = watched.catch_up()
    assert told_of(batch, "t/a/b/f")
    assert "t" in batch.folders
    watched.until(lambda: watched.health().watched == 1)


def test_a_link_to_a_folder_is_a_name_not_a_folder(tmp_path: Path, watch: Start) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "root"
    root.mkdir()
    watched = watch(root)
    (root / "link").symlink_to(outside)
    assert watched.catch_up().dirty == {"link"}
    (outside / "f").touch()
    assert not watched.catch_up()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_checkout_of_another_branch_is_covered(tmp_path: Path, watch: Start) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=n", "-c", "user.email=e", *arguments],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )

    def commit(text: str, names: range) -> None:
        for n in names:
            file = tmp_path / f"d{n % 7}" / f"e{n % 3}" / f"f{n}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        git("add", "-A")
        git("commit", "-qm", text)

    git("init", "-q", "-b", "one")
    commit("one", range(100))
    git("checkout", "-q", "-b", "two")
    git("rm", "-qr", "d0")
    commit("two", range(50, 200))
    watched = watch()
    watched.catch_up()
    before = {f: f.read_text() for f in tmp_path.glob("d*/e*/f*")}
    git("checkout", "-q", "one")
    batch = watched.catch_up()
    after = {f: f.read_text() for f in tmp_path.glob("d*/e*/f*")}
    differing = [f for f in before.keys() | after.keys() if before.get(f) != after.get(f)]
    assert len(differing) > 100
    assert [f for f in differing if not told_of(batch, f.relative_to(tmp_path).as_posix())] == []
    assert not any(path.startswith(".git") for path in batch.dirty | batch.folders)


@pytest.mark.parametrize("comes", ["before the watcher", "after it"])
def test_what_changes_only_while_the_index_is_locked_is_told_apart(tmp_path: Path, watch: Start, comes: str) -> None:
    git = tmp_path / ".git"
    if comes == "before the watcher":
        git.mkdir()
    watched = watch()
    moves: list[int] = []
    watched.watcher.watch_git(".git", lambda: moves.append(1))
    git.mkdir(exist_ok=True)
    watched.catch_up()

    def save(*names: str) -> None:
        for name in names:
            (tmp_path / name).write_text("x")

    save("before", "around")
    (git / "index.lock").touch()
    save("during", "around", "during and after")
    (git / "index.lock").rename(git / "index")
    save("between", "during and after")
    (git / "index.lock").touch()
    save("during a second", "during")
    (git / "index.lock").unlink()
    save("after")
    (git / "index.lock").touch()
    (git / "COMMIT_EDITMSG").write_text("")
    save("while git waits for the editor of a commit")
    (git / "index.lock").unlink()
    batch = watched.catch_up()
    assert batch.locked == {"during", "during a second"}
    assert batch.unlocked == {"before", "between", "after", "while git waits for the editor of a commit"}
    assert batch.locked | batch.unlocked < batch.dirty
    assert not moves
    (git / "HEAD.lock").touch()
    (git / "HEAD.lock").rename(git / "HEAD")
    watched.until(lambda: len(moves) == 1)
    assert watched.health().full


# ── ignored folders ──────────────────────────────────────────────────────────


def test_ignored_folders_are_not_watched_and_ignored_files_not_named(tmp_path: Path, watch: Start) -> None:
    for folder in (".git/objects", "node_modules/x/y", "src", ".quire/tmp"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / ".gitignore").write_text("node_modules/\n*.log\n")
    watched = watch()
    assert watched.health().watched == 2  # the root and src
    for path in ("node_modules/x/y/f", ".git/index", "src/a.log", ".quire/tmp/t", "src/a"):
        (tmp_path / path).write_text("x")
    (tmp_path / "src" / "node_modules").mkdir()
    (tmp_path / "src" / "node_modules" / "f").touch()
    batch = watched.catch_up()
    assert batch.dirty == {"src/a"}
    assert batch.folders == set()


def test_changed_rules_are_watched_anew(tmp_path: Path, watch: Start) -> None:
    (tmp_path / "made" / "sub").mkdir(parents=True)
    (tmp_path / "src").mkdir()
    (tmp_path / ".gitignore").write_text("made/\n")
    ignore = Ignore(tmp_path)
    watched = watch(tmp_path, ignore.ignored)
    assert watched.health().watched == 2
    (tmp_path / ".gitignore").write_text("src/\n")
    assert ".gitignore" in watched.catch_up().dirty
    ignore.forget("")
    watched.watcher.rewatch()
    assert watched.health().watched == 3
    (tmp_path / "made" / "sub" / "f").touch()
    (tmp_path / "src" / "f").touch()
    assert watched.catch_up().dirty == {"made/sub/f"}


# ── cookies ──────────────────────────────────────────────────────────────────


def test_a_cookie_comes_back_and_leaves_no_file(tmp_path: Path, watch: Start) -> None:
    watched = watch()
    token = watched.watcher.cookie()
    watched.until(lambda: watched.watcher.seen(token))
    assert os.listdir(tmp_path / ".quire" / "cookies") == []
    assert watched.watcher.seen(token)
    assert not watched.watcher.seen("another")
    assert not watched.catch_up()


def test_the_cookies_of_a_dead_run_are_swept(tmp_path: Path, watch: Start) -> None:
    cookies = tmp_path / ".quire" / "cookies"
    cookies.mkdir(parents=True)
    (cookies / "1f-0123456789abcdef").touch()
    (cookies / "not ours").touch()
    watch()
    assert os.listdir(cookies) == ["not ours"]


def test_a_removed_cookie_folder_is_made_again(tmp_path: Path, watch: Start) -> None:
    watched = watch()
    watched.catch_up()
    shutil.rmtree(tmp_path / ".quire")
    watched.catch_up()


def test_a_cookie_is_not_written_through_a_link(tmp_path: Path, watch: Start) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "root"
    root.mkdir()
    (root / ".quire").symlink_to(outside)
    watched = watch(root)
    token = watched.watcher.cookie()
    assert not watched.watcher.seen(token)
    assert os.listdir(outside) == []
    assert any("cookie" in reason for reason in watched.health().reasons)


def test_a_cookie_folder_that_can_be_made_again_is_told_as_missing_no_more(tmp_path: Path, watch: Start) -> None:
    watched = watch()
    (tmp_path / ".quire" / "cookies").rmdir()
    (tmp_path / ".quire" / "cookies").symlink_to(tmp_path)
    watched.watcher.cookie()
    assert watched.health().reasons
    (tmp_path / ".quire" / "cookies").unlink()
    watched.catch_up()
    assert watched.health().reasons == ()


def test_a_cookie_that_cannot_be_written_is_told_until_one_can(watch: Start) -> None:
    """On a disk that is full, or only read by now, every question waits for nothing; it said that all is well."""
    watched = watch()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        watched.watcher.cookie()
        assert any("cookie" in reason for reason in watched.health().reasons)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert watched.health().reasons == (), "also where nobody has asked for one since"


def test_after_the_end_no_cookie_is_seen(watch: Start) -> None:
    watched = watch()
    watched.watcher.stop()
    watched.watcher.stop()
    token = watched.watcher.cookie()
    assert not watched.watcher.seen(token)
    assert not watched.health().alive
    assert watched.health().reasons == ("stopped",)


# ── load ─────────────────────────────────────────────────────────────────────


def test_what_a_crawl_finds_unwatched_is_watched(tmp_path: Path, watch: Start) -> None:
    (tmp_path / "hidden").mkdir()
    hidden = True

    def ignored(path: str, folder: bool) -> bool:
        return path == ".quire" or (hidden and path == "hidden")

    watched = watch(tmp_path, ignored)
    hidden = False
    assert watched.watcher.cover(["hidden"]) == 1
    assert watched.watcher.cover(["hidden"]) == 0
    assert watched.drain().folders == {"hidden"}


# ── the thread ───────────────────────────────────────────────────────────────


def test_a_fault_in_the_rules_is_told_and_the_thread_goes_on(tmp_path: Path, watch: Start) -> None:
    def ignored(path: str, folder: bool) -> bool:
        if path == "poison":
            raise ValueError(path)
        return path == ".quire"

    said: SimpleQueue[logging.LogRecord] = SimpleQueue()
    watched = watch(tmp_path, ignored, Log(QueueHandler(said)))
    (tmp_path / "poison").touch()
    (tmp_path / "good").touch()
    batch = watched.catch_up()
    assert batch.overflowed
    assert "ValueError: poison" in said.get_nowait().getMessage(), "the daemon's own log has where it happened"
    assert "good" in batch.dirty
    assert any("poison" in reason for reason in watched.health().reasons)
    assert watched.health().alive


def test_descriptors_are_not_inherited_and_are_given_back(tmp_path: Path, watch: Start) -> None:
    before = set(os.listdir("/proc/self/fd"))
    watched = watch()
    watched.catch_up()
    listing = "import os; print(*[os.path.realpath('/proc/self/fd/' + f) for f in os.listdir('/proc/self/fd')])"
    shown = subprocess.run([sys.executable, "-c", listing], close_fds=False, capture_output=True, text=True, check=True)
    assert "inotify" not in shown.stdout
    watched.watcher.stop()
    assert set(os.listdir("/proc/self/fd")) == before


def test_the_reader_is_woken_once_for_what_it_has_not_taken(tmp_path: Path) -> None:
    wakes: list[None] = []
    watcher = Watcher(tmp_path, Ignore(tmp_path).ignored, lambda: wakes.append(None))
    watcher.start()
    try:
        for n in range(50):
            (tmp_path / f"f{n}").touch()
        token = watcher.cookie()
        end = time.monotonic() + PATIENCE_S
        while not watcher.seen(token) and time.monotonic() < end:
            time.sleep(0.001)
        assert len(wakes) == 2  # the first file, and the cookie
        assert len(watcher.drain().dirty) == 50
    finally:
        watcher.stop()
