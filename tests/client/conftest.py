"""Every test of the client has a home, a state home and a runtime folder of its own, and nobody's name."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from quire_journal.places import Place, place_of


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # A socket's path is short, and a test's own folder can use up most of it.
    runtime = tempfile.mkdtemp(prefix="quire-")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    for name in ("QUIRE_AGENT", "QUIRE_SESSION", "QUIRE_TRACEBACK", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()
    yield
    shutil.rmtree(runtime)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A workspace that exists, with a state folder that does not."""
    (tmp_path / "site").mkdir()
    return place_of(tmp_path / "site", tmp_path / "state")
