"""The command line of `quire mcp`, where it does not come to serving."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from quire_client.__main__ import main
from quire_journal.workspaces.identity import settle
from quire_journal.workspaces.layout import place_of


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, which is the current folder, with all its state below the test's own."""
    for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    root = tmp_path / "site"
    root.mkdir()
    settle(place_of(root))
    monkeypatch.chdir(root)
    return root


def test_without_the_sdk_it_says_what_to_install(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "anyio", None)
    assert main(["mcp"]) == 2
    assert "The MCP SDK (the package mcp) is not installed whole, anyio is missing: run" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert main(["mcp"]) == 2
    said = capsys.readouterr().err
    assert f"is not installed: run `{sys.executable} -m pip install 'mcp" in said
    assert "anyio" not in said


def test_a_port_is_for_http_and_has_to_be_free(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--port", "80"]) == 2
    assert main(["mcp", "--http", "--port", "70000"]) == 2
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["mcp", "--http", "--port", str(port)]) == 2
    said = capsys.readouterr()
    assert "--port goes with --http" in said.err
    assert f"Port {port} cannot be listened on" in said.err
    assert said.out == ""


def test_the_project_folder_of_the_agent_is_the_workspace(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(site / "nowhere"))
    assert main(["mcp"]) == 3
    assert "nowhere is not a folder" in capsys.readouterr().err
