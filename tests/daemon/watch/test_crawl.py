"""The crawl on real folders: what it tells, what it never does, and how it ends."""

from __future__ import annotations

import builtins
import os
import shutil
import socket
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import rights
from disks import deep
from quire_daemon.core.reconcile import StatEntry
from quire_daemon.watch.crawl import crawl, is_bare, names_in
from quire_daemon.watch.ignore import Ignore
from quire_daemon.workers.pool import Cancellation


class Nothing:
    """No rules."""

    def ignored(self, path: str, folder: bool) -> bool:
        return False


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def shown(root: Path, start: str = "") -> list[tuple[str, str]]:
    return [(entry.path, entry.kind) for entry in crawl(root, Ignore(root), start)]


def open_descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


# ── what it tells ────────────────────────────────────────────────────────────


def test_tells_everything_once_and_folders_before_what_is_in_them(tmp_path: Path) -> None:
    write(tmp_path, "b", "a/c/d", "a/b", "e/f")
    assert shown(tmp_path) == [
        ("b", "file"),
        ("a", "folder"),
        ("a/b", "file"),
        ("a/c", "folder"),
        ("a/c/d", "file"),
        ("e", "folder"),
        ("e/f", "file"),
    ]


def test_tells_what_lstat_says(tmp_path: Path) -> None:
    write(tmp_path, "f")
    os.link(tmp_path / "f", tmp_path / "g")
    (tmp_path / "f").chmod(0o640)
    found = (tmp_path / "f").lstat()
    entry = next(crawl(tmp_path, Nothing()))
    assert entry == StatEntry(
        "f",
        "file",
        found.st_dev,
        found.st_ino,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
        stat.S_IFREG | 0o640,
    )


def test_tells_links_and_special_files_without_touching_them(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    write(outside, "f")
    (root / "to_folder").symlink_to(outside)
    (root / "dangling").symlink_to("nowhere")
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(root / "socket"))
        assert shown(root) == [("dangling", "link"), ("fifo", "special"), ("socket", "special"), ("to_folder", "link")]


def test_names_that_are_not_utf8_go_there_and_back(tmp_path: Path) -> None:
    name = b"d\xe9\n/\xff"
    os.mkdir(os.fsencode(tmp_path) + b"/d\xe9\n")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).touch()
    paths = [entry.path for entry in crawl(tmp_path, Nothing())]
    assert os.fsencode(paths[-1]) == name


def test_leaves_out_what_is_ignored_and_every_journal_and_repository(tmp_path: Path) -> None:
    write(tmp_path, ".git/HEAD", ".quire/tmp/x", "sub/.git/HEAD", "sub/.quire/y", "sub/kept", "out/z", "a.log")
    (tmp_path / ".gitignore").write_text("out/\n*.log\n")
    assert shown(tmp_path) == [(".gitignore", "file"), ("sub", "folder"), ("sub/kept", "file")]


# ── where it starts ──────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ("a/c", [("a/c", "folder"), ("a/c/d", "file")]),
        ("a/b", [("a/b", "file")]),
        ("none", []),
        ("a/b/none", []),
        ("a/none", []),
        ("out", []),
        ("out/z", []),
        ("link", [("link", "link")]),
        ("link/c", []),
    ],
)
def test_starts_anywhere(tmp_path: Path, start: str, told: list[tuple[str, str]]) -> None:
    write(tmp_path, "a/c/d", "a/b", "b", "out/z")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / ".gitignore").write_text("out/\n")
    assert shown(tmp_path, start) == told


def test_a_missing_root_is_an_error_not_an_empty_tree(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(crawl(tmp_path / "none", Nothing()))


# ── what happens meanwhile ───────────────────────────────────────────────────


class Meddler:
    """Rules that ignore nothing, and do something when they are asked about a path."""

    def __init__(self, path: str, act: Callable[[], object]) -> None:
        self._path, self._act = path, act

    def ignored(self, path: str, folder: bool) -> bool:
        if path == self._path:
            self._act()
        return False


def test_what_vanishes_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "a", "b", "c/d")

    def act() -> None:
        (tmp_path / "b").unlink()
        shutil.rmtree(tmp_path / "c")

    told = [entry.path for entry in crawl(tmp_path, Meddler("a", act))]
    assert told == ["a"]


def test_a_folder_that_becomes_a_link_leads_nowhere(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    write(outside, "private")
    write(root, "c/d", "z")

    def act() -> None:
        (root / "c").rename(tmp_path / "aside")
        (root / "c").symlink_to(outside)

    told = [entry.path for entry in crawl(root, Meddler("z", act))]
    assert told == ["z"]


def test_a_cancelled_crawl_raises_and_closes_what_it_opened(tmp_path: Path) -> None:
    write(tmp_path, "a/b/c/d", "x")
    before = open_descriptors()
    asked: list[None] = []

    def cancelled() -> bool:
        asked.append(None)
        return len(asked) > 4

    with pytest.raises(Cancellation):
        list(crawl(tmp_path, Nothing(), cancelled=cancelled))
    assert open_descriptors() == before


def test_a_crawl_that_nobody_finishes_closes_what_it_opened(tmp_path: Path) -> None:
    write(tmp_path, "a/b/c/d", "a/b/e")
    before = open_descriptors()
    walk = crawl(tmp_path, Nothing())
    next(entry for entry in walk if entry.path == "a/b/e")
    assert open_descriptors() != before
    walk.close()  # type: ignore[attr-defined]
    assert open_descriptors() == before


def test_a_complete_crawl_leaves_nothing_open(tmp_path: Path) -> None:
    write(tmp_path, "a/b/c/d", "e/f")
    before = open_descriptors()
    list(crawl(tmp_path, Nothing()))
    assert open_descriptors() == before


def test_opens_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a/f", "g")
    flags: list[int] = []
    real = os.open

    def watched(path: str, how: int, *args: int, dir_fd: int | None = None) -> int:
        flags.append(how)
        return real(path, how, *args, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", watched)
    monkeypatch.setattr(builtins, "open", None)
    list(crawl(tmp_path, Nothing()))
    assert flags
    assert all(how & os.O_DIRECTORY for how in flags)


def test_what_cannot_be_listed_is_told_as_unreadable(tmp_path: Path) -> None:
    write(tmp_path, "locked/in/f", "names_only/g", "z")
    (tmp_path / "locked").chmod(0)
    (tmp_path / "names_only").chmod(0o444)

    def say() -> None:
        print([(e.path, e.kind) for e in crawl(tmp_path, Nothing())])
        print([(e.path, e.kind) for e in crawl(tmp_path, Nothing(), "locked/in")])

    try:
        said = rights.printed(rights.be_anybody, say)
    finally:
        (tmp_path / "locked").chmod(0o755)
        (tmp_path / "names_only").chmod(0o755)
    assert said.splitlines() == [
        "[('z', 'file'), ('locked', 'unreadable'), ('names_only', 'folder'), ('names_only/g', 'unreadable')]",
        "[('locked/in', 'unreadable')]",
    ]


def test_a_tree_deeper_than_a_path_may_be_long(tmp_path: Path) -> None:
    depth, name = 120, "n" * 50
    deep(tmp_path, name, depth)
    assert sum(1 for _ in crawl(tmp_path, Nothing())) == depth
    subprocess.run(["rm", "-rf", name], cwd=tmp_path, check=True)


def test_a_folder_that_hides_itself_is_no_empty_folder(tmp_path: Path) -> None:
    """As ruff, pytest and `python -m venv` make theirs."""
    (tmp_path / ".gitignore").write_text("*.o\n")
    write(tmp_path, "out/a.o", ".ruff_cache/0.1/data")
    (tmp_path / ".ruff_cache" / ".gitignore").write_text("*\n")
    (tmp_path / "bare").mkdir()
    rules = Ignore(tmp_path)
    assert [name for name in ("bare", "out", ".ruff_cache") if is_bare(tmp_path, rules, name)] == ["bare", "out"]


# ── what a caller is shown of a folder ───────────────────────────────────────


def test_a_folder_is_shown_two_levels_deep_without_hidden_names_and_what_is_ignored(tmp_path: Path) -> None:
    write(tmp_path, "z", ".hidden", ".d/x", "src/a.py", "src/deep/er/b.py", "build/out/o")
    (tmp_path / ".gitignore").write_text("/build/\n")
    (tmp_path / "bare").mkdir()
    whole = ["bare/", "build/", "src/", "src/a.py", "src/deep/", "z"]
    assert names_in(tmp_path, Ignore(tmp_path), "", 99) == (whole, False)
    assert names_in(tmp_path, Ignore(tmp_path), "", 6) == (whole, False)
    assert names_in(tmp_path, Ignore(tmp_path), "src", 99) == (["src/a.py", "src/deep/", "src/deep/er/"], False)


def test_without_room_a_folder_is_listed_closed_and_never_in_part(tmp_path: Path) -> None:
    write(tmp_path, "a/1", "a/2", "a/3", "b/1", "c")
    assert names_in(tmp_path, Nothing(), "", 5) == (["a/", "b/", "b/1", "c"], True)
    assert names_in(tmp_path, Nothing(), "", 3) == (["a/", "b/", "c"], True)
    assert names_in(tmp_path, Nothing(), "", 2) == (["a/", "b/"], True)


def test_nothing_is_shown_of_what_is_behind_a_link(tmp_path: Path) -> None:
    write(tmp_path / "out", "secret")
    write(tmp_path / "in", "d/a")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")
    before = open_descriptors()
    assert names_in(tmp_path / "in", Nothing(), "", 9) == (["d/", "d/a", "link"], False)
    assert names_in(tmp_path / "in", Nothing(), "link", 9) == ([], False)
    assert open_descriptors() == before
