"""The page of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from page_world import Page


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """`page(log={…reply…})`."""
    made: list[Page] = []

    def make(**answers: Any) -> Page:
        made.append(Page(tmp_path, answers))
        return made[-1]

    yield make
    for one in made:
        one.daemon.close()
