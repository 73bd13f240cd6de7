"""Gathering: what a look at a path makes of a file that has changed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from quire_daemon.clock import SystemClock
from quire_daemon.config import Settings
from quire_daemon.gather import Gather
from quire_daemon.ignore import Ignore
from quire_daemon.recorder import Recorder
from quire_daemon.workspace import Workspace
from quire_journal.journal import Journal
from quire_journal.stores.memory import MemoryStore

TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6"
LINES = "".join(f"line {n}\n" for n in range(100))


@pytest.fixture
def gather(tmp_path: Path) -> Iterator[Gather]:
    clock, settings, workspace = SystemClock(), Settings(), Workspace(tmp_path)
    ignore = Ignore(tmp_path, settings.capture.ignore, settings.capture.secret_globs)
    yield Gather(workspace, Recorder(Journal.open(MemoryStore(), time.time_ns()), clock), ignore, settings)
    workspace.close()


def saved(gather: Gather, text: str) -> str:
    """Another program saves; why the journal does not hold what it saved, "" when it does."""
    (gather.workspace.root / "a.py").write_text(text)
    return gather.file("a.py", writing=False).uncaptured


def test_a_secret_is_found_in_the_first_version_and_in_what_a_later_one_changes(gather: Gather) -> None:
    assert saved(gather, LINES + TOKEN) == "holds_secret"
    assert saved(gather, LINES) == ""
    assert saved(gather, f"begin\n{LINES}") == ""
    assert saved(gather, f"begin\n{LINES}key = '{TOKEN}'\n") == "holds_secret"
    assert saved(gather, f"begin\n{LINES}key = '{TOKEN}'\nmore\n") == "holds_secret"
    assert saved(gather, f"begin\n{LINES}key = ''\nmore\n") == ""
    half = len(TOKEN) // 2
    assert saved(gather, f"{LINES}key = '{TOKEN[:half]}\n{TOKEN[half:]}'\n") == ""
    assert saved(gather, f"{LINES}key = '{TOKEN}'\n") == "holds_secret"  # a line break is gone, no more
