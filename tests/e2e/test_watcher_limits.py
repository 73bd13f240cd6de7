"""What cannot be watched is said, in a process with lower limits or fewer rights; and a root that goes away."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from watching import PATIENCE_S, Start

import rights
from disks import deep
from quire_daemon.watch.watcher import Watcher

pytestmark = pytest.mark.real

BEFORE = """
import json, os, sys, threading
from msgspec.structs import asdict
from pathlib import Path
from quire_daemon.watch.watcher import Watcher

root = Path(sys.argv[1])
woken = threading.Event()

def start():
    watcher = Watcher(root, lambda path, folder: path.startswith(".quire"), woken.set)
    watcher.start()
    return watcher

def allow(what, number):
    Path("/proc/sys/user/max_inotify_" + what).write_text(str(number))

def tell(watcher):
    print(json.dumps(asdict(watcher.health()) | {"full": watcher.health().full}))

def noticed(watcher, path):
    (root / path).touch()
    seen = set()
    while path not in seen and woken.wait(10):
        woken.clear()
        seen |= watcher.drain().dirty
    print(json.dumps(path in seen))
"""


def elsewhere(become: Callable[[], None], root: Path, script: str) -> list[Any]:
    """What `script` prints behind `BEFORE` in a fork that has become so; skips where that is not to be had."""

    def act() -> None:
        sys.argv[1:] = [os.fspath(root)]
        exec(BEFORE + script, {})

    return [json.loads(line) for line in rights.printed(become, act, PATIENCE_S).splitlines()]


def test_folders_beyond_the_watch_limit_are_told_and_watched_once_it_is_raised(tmp_path: Path) -> None:
    for n in range(20):
        (tmp_path / f"d{n:02}").mkdir()
    script = """
allow("watches", 11)
watcher = start()
tell(watcher)
left = list(watcher.health().unwatched)
print(json.dumps(watcher.cover(left) == len(left) and not watcher.drain()))
allow("watches", 1000)
print(json.dumps(watcher.cover(left) == len(left) and watcher.drain().folders == set(left)))
tell(watcher)
noticed(watcher, left[0] + "/f")
noticed(watcher, "d00/f")
"""
    limited, quiet, covered, raised, *seen = elsewhere(rights.have_own_limits, tmp_path, script)
    assert limited["reasons"] == ["watch_limit"]
    assert not limited["full"]
    assert (limited["watched"], limited["expected"], len(limited["unwatched"])) == (10, 21, 11)
    assert quiet  # nothing to crawl again: that would go round for ever
    assert covered
    assert raised["full"]
    assert raised["watched"] == 21
    assert seen == [True, True]


def test_no_inotify_instance_is_told(tmp_path: Path) -> None:
    (health,) = elsewhere(rights.have_own_limits, tmp_path, 'allow("instances", 0)\ntell(start())\n')
    assert not health["alive"]
    assert any("no inotify instance" in reason for reason in health["reasons"])


def test_a_folder_that_may_not_be_read_is_told_until_it_may(tmp_path: Path) -> None:
    (tmp_path / "locked" / "in").mkdir(parents=True)
    (tmp_path / "locked").chmod(0)
    script = """
watcher = start()
tell(watcher)
woken.clear()
(root / "locked").chmod(0o755)
woken.wait(10)
print(json.dumps(sorted(watcher.drain().folders)))
tell(watcher)
noticed(watcher, "locked/in/f")
"""
    try:
        locked, crawl, readable, seen = elsewhere(rights.be_anybody, tmp_path, script)
    finally:
        (tmp_path / "locked").chmod(0o755)
    assert locked["unwatched"] == {"locked": "unreadable_folder"}
    assert locked["reasons"] == ["unreadable_folder"]
    assert crawl == ["locked"]
    assert readable["full"]
    assert seen is True


def test_a_folder_whose_path_is_too_long_is_told_until_it_is_removed(tmp_path: Path, watch: Start) -> None:
    name, levels = "k" * 200, 4096 // 200 + 1
    deep(tmp_path, name, levels)
    watched = watch(tmp_path)
    assert watched.health().reasons == ("not watchable: File name too long",)
    shutil.rmtree(tmp_path / name)
    watched.catch_up()
    assert watched.health().full


# ── the root ─────────────────────────────────────────────────────────────────


def test_a_renamed_root_is_noticed_and_so_is_one_that_takes_its_place(tmp_path: Path, watch: Start) -> None:
    root = tmp_path / "root"
    root.mkdir()
    watched = watch(root)
    assert not watched.health().root_replaced
    root.rename(tmp_path / "moved")
    assert watched.health().root_replaced
    watched.until(lambda: watched.told.overflowed)
    root.mkdir()
    assert watched.health().root_replaced
    assert "root_replaced" in watched.health().reasons


def test_a_removed_root_is_noticed(tmp_path: Path, watch: Start) -> None:
    root = tmp_path / "root"
    root.mkdir()
    watched = watch(root)
    shutil.rmtree(root)
    assert watched.health().root_replaced


def test_a_missing_root_cannot_be_watched(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Watcher(tmp_path / "none", lambda path, folder: False, lambda: None).start()
