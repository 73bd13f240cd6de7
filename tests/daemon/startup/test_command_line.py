"""The options of `quired`: what is said before there is a daemon."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from quire_daemon.__main__ import main
from quire_journal import VERSION


def quired(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """A daemon that ends by itself."""
    command = [sys.executable, "-m", "quire_daemon", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=30)


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_every_option_is_explained(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([option]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ("--workspace", "--state-dir", "--socket", "--check-settings", "--version"))


def test_the_version_is_told_without_a_workspace(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"quired {VERSION}\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "--workspace is missing"),
        (["--workspace", ""], "--workspace is missing"),
        (["--workspace"], "option --workspace requires argument"),
        (["--colour", "--workspace", "."], "option --colour not recognized"),
        (["here", "--workspace", "."], "'here' is not an option"),
    ],
)
def test_a_wrong_command_line_starts_nothing_and_is_told(
    words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith("usage: quired --workspace")
    assert said.endswith(f"quired: {reason}\n")


def test_the_settings_are_checked_without_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    file = tmp_path / ".quire.toml"
    asked = ["--workspace", str(tmp_path), "--check-settings"]
    assert (main(asked), capsys.readouterr().out) == (0, "none\n")
    file.write_text("[limits]\nedit_bytes = 1000\n")
    assert (main(asked), capsys.readouterr().out) == (0, f"{file}\n")
    file.write_text("[limits]\n\nedit_byte = 1000\n")
    assert main(asked) == 2
    said = f"quired: {file}: line 3: there is no key `limits.edit_byte`. Did you mean edit_bytes? `[limits]` takes "
    assert capsys.readouterr().err.startswith(said)
    file.unlink()
    file.mkdir()
    assert main(asked) == 2
    assert capsys.readouterr().err == f"quired: {file}: it cannot be read: Is a directory\n"
    assert sorted(tmp_path.iterdir()) == [file], "nothing was made"


def test_a_checkout_in_which_there_can_be_no_folder_of_ours_is_a_reason_and_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root = tmp_path / "checkout"
    (root / ".quire").mkdir(parents=True)
    (root / ".quire/tmp").write_text("no folder")
    ended = quired("--workspace", root, "--state-dir", tmp_path / "state")
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1] == "quired: .quire/tmp is not a folder of this workspace: Not a directory."


def test_a_daemon_that_is_refused_the_workspace_of_another_one_makes_no_journal_and_says_whose_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It left an empty journal behind, and its id in the workspace in place of the other's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root, state = tmp_path / "checkout", tmp_path / "state"
    (root / ".quire/tmp").mkdir(parents=True)
    (root / ".quire/workspace-id").write_text("0" * 32)
    holds = "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], 0), fcntl.LOCK_EX); print(); sys.stdin.read()"
    words = [sys.executable, "-uS", "-c", holds, root / ".quire/tmp", "--state-dir", "/an other"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == b"\n"
        ended = quired("--workspace", root, "--state-dir", state)
        other.stdin.close()
    assert ended.returncode == 3
    assert ended.stdout + ended.stderr == (
        f"quired: A daemon (pid {other.pid}) with another state folder, /an other, serves {root} already; "
        f"`quire down -C {root} --state-dir '/an other'` ends it.\n"
    )
    assert [path.name for path in state.iterdir()] == ["lock"]
    assert (root / ".quire/workspace-id").read_text() == "0" * 32
