"""What several tests of the journal need: a disk that is soon full."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import disks
import live


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    with disks.small_disk(tmp_path / "small", 4) as disk:
        yield disk


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A scratch folder, in memory where that can be: journals are synced again and again."""
    with live.folder_for_journals() as folder:
        yield folder
