"""Agents, people, formatters and git in one checkout: what is proved is right, and an undo takes nobody else's line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import live

sys.path.insert(0, str(Path(__file__).parent))
from authorship import played

pytestmark = [pytest.mark.wide, pytest.mark.timeout(live.length(180, 3600))]


def test_no_line_is_proved_to_be_of_somebody_who_did_not_write_it(tmp_path: Path) -> None:
    """Short: 20 games. How much is right, and how much of what is probable is not, is told; that is no promise yet."""
    figures = played(range(live.length(20, 2000)), tmp_path)
    print(figures.told())
    assert figures.proved > 300
    assert (figures.proved_wrong, figures.taken) == ([], [])
