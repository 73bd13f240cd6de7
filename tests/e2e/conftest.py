"""What several tests need: a checkout of a test's own, and a watcher."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from watching import Start, Watch

from live import Live
from quire_daemon.ops.daemon_log import Log


@pytest.fixture
def at(daemon: Callable[[], Live]) -> Live:
    return daemon()


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Start]:
    started: list[Watch] = []

    def start(
        root: Path = tmp_path, ignored: Callable[[str, bool], bool] | None = None, log: Log | None = None
    ) -> Watch:
        started.append(Watch(root, ignored, log))
        return started[-1]

    yield start
    for each in started:
        each.watcher.stop()
