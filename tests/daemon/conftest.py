"""A workspace on the disk, for the tests of what writes to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from swapping import Steps

from quire_daemon.workspace import Workspace


@pytest.fixture
def steps() -> Steps:
    return Steps()


@pytest.fixture
def workspace(tmp_path: Path, steps: Steps) -> Iterator[Workspace]:
    opened = Workspace(tmp_path, steps=steps)
    yield opened
    opened.close()
