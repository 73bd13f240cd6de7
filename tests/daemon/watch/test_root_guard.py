"""Whether the daemon's folders are at their paths: what cannot be told is not taken for a folder that is gone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from daemon_turns import Daemon, write


@contextmanager
def unseen(folder: Path) -> Iterator[None]:
    """A block in which to look at the folder fails, and not because there is none."""
    away = folder.with_name("away")
    folder.rename(away)
    folder.symlink_to(folder)
    try:
        yield
    finally:
        folder.unlink()
        away.rename(folder)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    it = Daemon(tmp_path)
    yield it
    it.app.close()


def test_a_checkout_that_cannot_be_looked_at_is_not_written_and_ends_no_daemon(daemon: Daemon) -> None:
    with unseen(daemon.root):
        refused = daemon.turn(ann=write("a"))["ann"]
    assert (refused["error"], refused["outcome"]) == ("busy", "not_applied")
    assert "could not be looked at" in refused["message"]
    assert (daemon.app.stopping, daemon.text("a")) == (False, None)
    assert daemon.turn(ann=write("a"))["ann"]["ok"]


def test_a_state_folder_that_cannot_be_looked_at_ends_no_daemon(daemon: Daemon) -> None:
    with unseen(daemon.state):
        daemon.clock.passed_s += 2.0
        daemon.app.turn([])
    assert (daemon.app.stopping, daemon.app.failures.sound) == (False, True)


def test_a_checkout_that_was_moved_away_ends_its_daemon(daemon: Daemon) -> None:
    daemon.root.rename(daemon.root.with_name("elsewhere"))
    assert daemon.turn(ann=write("a"))["ann"]["error"] == "busy"
    assert daemon.app.stopping
    daemon.root.with_name("elsewhere").rename(daemon.root)
