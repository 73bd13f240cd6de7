"""The options of `quired`: what is said before there is a daemon."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import pytest

import live
from quire_daemon.__main__ import main
from quire_journal import VERSION


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

    def start() -> int:
        with contextlib.redirect_stderr(sys.stdout):
            return main(["--workspace", str(root), "--state-dir", str(tmp_path / "state")])

    with contextlib.closing(live.Fork(start)) as fork, fork.stdin, fork.stdout:
        said = fork.stdout.read().splitlines()
        assert fork.wait(20) == 2
    assert said[-1] == "quired: .quire/tmp is not a folder of this workspace: Not a directory."
