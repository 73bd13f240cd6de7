"""Checkouts for the real agents."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import agent_runs


@pytest.fixture
def at() -> Iterator[agent_runs.Checkout]:
    """A checkout that a daemon serves."""
    with agent_runs.checkout() as made:
        made.run("quire", "up")
        yield made
