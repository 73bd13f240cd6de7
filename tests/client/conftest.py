"""Every test of the client has a home, a state home and a runtime folder of its own, and nobody's name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Quire, Ran
from fake_line import FakeOpener

import live
from quire_client.__main__ import main
from quire_journal.workspaces.identity import settle
from quire_journal.workspaces.layout import Place, place_of


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A scratch folder with a short name, in memory where that can be: nothing here asks what a disk does."""
    with live.folder_for_journals() as folder:
        yield folder


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "home" / "run"))
    for name in ("QUIRE_AGENT", "QUIRE_SESSION", "CODEX_SESSION_ID", "CODEX_THREAD_ID", "QUIRE_TRACEBACK", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home" / "run").mkdir(mode=0o700, parents=True)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A workspace that exists, with a state folder that does not."""
    (tmp_path / "site").mkdir()
    return place_of(tmp_path / "site", tmp_path / "state")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a journal, which is the current folder."""
    root = tmp_path / "site"
    (root / "src").mkdir(parents=True)
    settle(place_of(root))
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def quire(site: Path, capsys: pytest.CaptureFixture[str]) -> Quire:
    """`quire("log", "src", log={…reply…})`."""

    def run(*words: str, runs: bool = True, **answers: Any) -> Ran:
        opener = FakeOpener(answers, runs)
        status = main(words, opener)
        said = capsys.readouterr()
        return Ran(status, said.out, said.err, opener)

    return run
