"""What several files of tests begin with: a workspace on the disk, turns of a daemon, and what a kill left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from daemon_turns import Daemon
from outside_turns import Turns
from recovering import Scene, begun
from swapping import Steps

from quire_daemon.workspace.workspace import Workspace


@pytest.fixture
def steps() -> Steps:
    return Steps()


@pytest.fixture
def workspace(tmp_path: Path, steps: Steps) -> Iterator[Workspace]:
    opened = Workspace(tmp_path, steps=steps)
    yield opened
    opened.close()


@pytest.fixture
def turns(tmp_path: Path) -> Iterator[Turns]:
    one = Turns(tmp_path)
    yield one
    one.workspace.close()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    one = Daemon(tmp_path)
    yield one
    one.store.fault = None
    one.app.close()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with begun(tmp_path) as one:
        yield one
